"""Error texts in other languages: nine meanings in each, in wordings that servers use; data in `tests/data`."""

import pytest

import failwell as fw
from failwell.phrases.translations import LANGUAGES, TRANSLATIONS
from tests.reading import corpus

ROWS = corpus.translations()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['language']}: {row['text']}")
def test_a_common_wording_is_understood(row: dict[str, str]) -> None:
    for said in (row["text"], f"Error: {row['text']}", f"Error executing tool x: {row['text']}"):
        found = fw.read({"content": [{"type": "text", "text": said}], "isError": True})

        assert found is not None
        assert found.type == row["type"]
        assert found.confidence is not None
        assert found.confidence >= 0.7


def test_every_meaning_has_wordings_in_every_language() -> None:
    languages = {row["language"] for row in ROWS} - {"any"}
    meanings = {(row["language"], row["meaning"]) for row in ROWS}

    assert len(languages) == 10
    assert [(one, meaning) for one in languages for meaning in corpus.MEANINGS if (one, meaning) not in meanings] == []


def test_every_translation_is_of_a_language_with_a_name() -> None:
    assert {row.language for row in TRANSLATIONS} == set(LANGUAGES)


@pytest.mark.parametrize(
    "text",
    [
        "Das Wetter in Bonn ist heute schön.",
        "Le rapport du mois de mai",
        "El informe de ventas",
        "O relatório de vendas",
        "Il rapporto sulle vendite",
        "今日は晴れです",
        "오늘은 맑습니다",
        "今天是晴天",
    ],
)
def test_a_text_that_says_nothing_of_this_is_not_understood(text: str) -> None:
    found = fw.read({"content": [{"type": "text", "text": text}], "isError": True})

    assert found is not None
    assert found.confidence == 0
