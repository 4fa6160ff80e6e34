"""The phrase language, on texts and on names."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tools import phrase_index

import failwell as fw
from failwell.phrases import language, names, texts
from failwell.phrases.index import PATH
from failwell.phrases.language import Rule, Table, make_index, plain, plain_name, words_of
from failwell.phrases.translations import TRANSLATIONS


def fits(phrase: str, text: str) -> bool:
    rule = Rule(name="n", code="NOT_FOUND", phrases=phrase, evidence="None.")
    return Table([rule]).first(plain(text)) is not None


WORDS = [
    ("Datei nicht gefunden", {"datei", "nicht", "gefunden"}),
    ("ZEITÜBERSCHREITUNG: größer", {"zeitüberschreitung", "grösser"}),
    ("доступ ЗАПРЕЩЁН", {"доступ", "запрещён"}),
    ("accès_refusé", {"accès", "refusé"}),
    ("DateiÖffnenFehler", {"datei", "öffnen", "fehler"}),
    ("HTTP 404 – 找不到文件", {"http", "404"}),
    ("it’s naïve", {"it", "s", "naïve"}),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_of_any_alphabet_are_told_apart(text: str, words: set[str], form: str) -> None:
    assert words_of(plain(unicodedata.normalize(form, text))) == words  # type: ignore[arg-type]  # one of two forms


FITTING = [
    ("not found", "File not found."),
    ("not found", "FileNotFound"),
    ("not found", "not-found"),
    ("does not exist", "It doesn't exist"),
    ("rate limit*", "rate limiting"),
    ("(missing|no) token", "no token"),
    ("no (more)? space", "no space"),
    ("no (more)? space", "no more space"),
    ("(for)? security reasons", "security reasons"),
    ("file ~ missing", "file /a/b.txt is missing"),
    ("file ~ missing", "file missing"),
    ("file ~ (is)? missing", "file a is missing"),
    ("throttl*", "Throttled"),
    ("zeitüberschreitung", "Zeitüberschreitung"),
    ("zeitüberschreitung", unicodedata.normalize("NFD", "Zeitüberschreitung")),
    (unicodedata.normalize("NFD", "ungültig*"), "UNGÜLTIGE Eingabe"),
    ("größe ~ fehlt", "Grösse der Datei fehlt"),
    ("доступ запрещён", "Доступ запрещён!"),
    ("не найден*", "Файл не найдены"),
    ("ファイルが見つかりません", "エラー ファイルが見つかりません。"),
    ("ファイル ~ 見つかりません", "ファイル a.txt が見つかりません"),
    ("找不到文件", "错误找不到文件a.txt"),
    ("找不到 文件", "找不到文件"),
    ("timeout", "发生timeout错误"),
    ("(找不到|没有) 文件", "没有文件"),
]


@pytest.mark.parametrize(("phrase", "text"), FITTING)
def test_a_phrase_fits(phrase: str, text: str) -> None:
    assert fits(phrase, text)


MISFITTING = [
    ("not found", "foundation not laid"),
    ("not found", "cannot founder"),
    ("rate limit", "rate limiting"),
    ("rate limit*", "corporate limit"),
    ("file ~ missing", "profile is missing"),
    ("file ~ missing", "no file, but its filename: amissing"),
    ("no ~ found", "nothing found, or no"),
    ("file ~ missing", "file\nmissing"),
    ("fehlt", "gefehlt"),
    ("über", "Zeitüberschreitung"),
    ("berschreitung", "Zeitüberschreitung"),
    ("не", "неверный"),
    ("找不到文件", "找到文件"),
]


@pytest.mark.parametrize(("phrase", "text"), MISFITTING)
def test_a_phrase_does_not_fit(phrase: str, text: str) -> None:
    assert not fits(phrase, text)


NAMES = [
    ("HTTPNotFound", "http not found"),
    ("rate_limit_exceeded", "rate limit exceeded"),
    ("S3UploadFailedError", "s3 upload failed error"),
    ("AWS.SimpleQueue.NonExistent", "aws simple queue non existent"),
    ("ZeitüberschreitungFehler", "zeitüberschreitung fehler"),
    (unicodedata.normalize("NFD", "Zeitüberschreitung"), "zeitüberschreitung"),
]


@pytest.mark.parametrize(("name", "text"), NAMES)
def test_a_name_is_taken_apart_into_its_words(name: str, text: str) -> None:
    assert plain_name(name) == text


def test_the_first_rule_that_fits_decides() -> None:
    rows = [("b", "disk full"), ("a", "disk, full")]
    table = Table([Rule(name=name, code="DISK_FULL", phrases=phrases, evidence="None.") for name, phrases in rows])

    assert [match.rule.name for match in table.all("disk full")] == ["b", "a", "a"]
    assert [match.rule.name for match in table.all("full")] == ["a"]


@pytest.mark.parametrize("phrase", ["(any)?", "~", "(any)? ~", "*"])
def test_a_phrase_without_anything_that_is_always_there_is_refused(phrase: str) -> None:
    rule = Rule(name="n", code="NOT_FOUND", phrases=phrase, evidence="None.")

    with pytest.raises(ValueError, match="needs a word"):
        Table([rule])


@pytest.mark.parametrize("rules", [texts.RULES, names.RULES], ids=["texts", "names"])
def test_every_rule_stands_for_a_code_of_the_catalog_under_a_name_of_its_own(rules: tuple[Rule, ...]) -> None:
    assert [rule.name for rule in rules if rule.code and fw.codes.get(rule.code) is None] == []
    assert len({rule.name for rule in rules}) == len(rules)


def test_every_translation_is_of_a_rule_for_texts() -> None:
    known = {rule.name: rule for rule in texts.RULES}

    assert [row for row in TRANSLATIONS if row.phrases not in getattr(known.get(row.rule), "phrases", "")] == []
    assert len({(row.rule, row.language) for row in TRANSLATIONS}) == len(TRANSLATIONS)


GERMAN = [
    ("Datei oder Verzeichnis nicht gefunden", "FILE_NOT_FOUND"),
    ("Das System kann die angegebene Datei nicht finden.", "FILE_NOT_FOUND"),
    ("Keine Berechtigung", "FORBIDDEN"),
    ("Zeitüberschreitung der Anforderung", "TIMEOUT"),
    ("Verbindungsaufbau abgelehnt", "CONNECTION_REFUSED"),
    ("Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "DISK_FULL"),
    ("Ungültige Eingabe", "INVALID_ARGUMENT"),
]


@pytest.mark.parametrize(("text", "code"), GERMAN)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_german_texts_are_read(text: str, code: str, form: str) -> None:
    text = unicodedata.normalize(form, text)  # type: ignore[arg-type]  # one of two forms
    found = fw.read({"content": [{"type": "text", "text": text}], "isError": True})

    assert found is not None
    assert found.code == code


@given(st.text(max_size=200))
def test_no_text_and_no_name_is_too_odd(text: str) -> None:
    for match in texts.table().all(plain(text)):
        assert match.rule in texts.RULES
    assert names.code_of(text) is None or fw.codes.get(names.code_of(text)) is not None


def test_the_stored_index_is_current() -> None:
    assert Path(PATH).read_bytes() == phrase_index.content(), "write it anew: python -m tools.phrase_index"


def test_tables_are_ready_without_work_at_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(rules: object) -> None:
        raise AssertionError("the index was made anew")

    monkeypatch.setattr(language, "make_index", too_late)

    for module in (texts, names):
        module.table.cache_clear()
        assert module.table().rules == module.RULES


def test_a_table_whose_index_is_out_of_date_makes_its_own() -> None:
    old, new = (Rule(name="n", code="NOT_FOUND", phrases=words, evidence="None.") for words in ("gone", "vanished"))

    assert Table([new], make_index([old])).first("it vanished") is not None
