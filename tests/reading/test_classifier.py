"""The type by all words together: how often it is right on unseen texts, and where it claims nothing."""

import time

import pytest

import failwell as fw
from failwell.reading import classifier
from tests.reading import corpus
from tests.reading.corpus import CERTAIN, Row


def read(text: str, **known: object) -> fw.Failure:
    found = fw.read({"content": [{"type": "text", "text": text}], "isError": True}, **known)
    assert found is not None
    return found


def claimed_type(row: Row) -> str | None:
    found = read(row["text"], tool=row["tool"], arguments=row.get("arguments"))
    return found.type if (found.confidence or 0.0) >= CERTAIN else None


def test_most_texts_of_servers_nobody_has_seen_are_understood_and_few_are_misread() -> None:
    rows = corpus.unseen_texts()
    right = sum(claimed_type(row) in (row["type"] or [None]) for row in rows)
    wrong = sum(claimed_type(row) not in (*row["type"], None) for row in rows)

    assert len(rows) >= 800
    assert right >= 0.8 * len(rows)
    assert wrong <= 0.06 * len(rows)


def test_no_unseen_failure_that_stays_is_called_retryable() -> None:
    final = [row for row in corpus.unseen_texts() if row["retryable"] is False]

    assert len(final) >= 500
    assert [row["text"] for row in final if read(row["text"], tool=row["tool"]).retryable] == []


def test_an_answer_on_unseen_texts_is_right_as_often_as_it_claims() -> None:
    answers = [(read(row["text"], tool=row["tool"]), row["type"]) for row in corpus.unseen_texts()]

    for at_least, below in ((CERTAIN, 0.9), (0.9, 1.0)):
        given = [found.type in right for found, right in answers if at_least <= (found.confidence or 0.0) < below]
        assert len(given) >= 50
        assert sum(given) >= at_least * len(given)


@pytest.mark.table
def test_the_weights_are_learned_from_the_texts_as_they_are() -> None:
    from tools import train_classifier

    assert classifier.model().fingerprint == train_classifier.fingerprint(train_classifier.rows())


def test_nothing_was_learned_from_the_texts_that_examine_it() -> None:
    learned = {row["text"] for row in (*corpus.labelled_texts(), *corpus.error_texts(), *corpus.failures())}

    assert [row["text"] for row in corpus.unseen_texts() if row["text"] in learned] == []


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Nobody by that name works here", "NOT_FOUND"),
        ("Somebody else grabbed this slot a moment ago", "CONFLICT"),
        ("The bridge is rebooting, give it a minute", "TRANSIENT"),
        ("Only the owner of the board can do that", "PERMISSION"),
    ],
)
def test_words_that_no_rule_knows_tell_the_type_and_no_code(text: str, type_: str) -> None:
    found = read(text)

    assert (found.type, found.code, found.origin) == (type_, None, "inferred")


def test_that_waiting_helps_is_not_claimed_by_likeness() -> None:
    found = read("The bridge is rebooting, give it a minute")

    assert (found.type, found.retryable, found.outcome) == ("TRANSIENT", None, "unknown")


@pytest.mark.parametrize(
    "text", ["Nobody by that name works here", "Only the owner of the board can do that", "This seat just went"]
)
def test_that_a_call_had_no_effect_is_not_claimed_by_likeness(text: str) -> None:
    assert read(text).outcome == "unknown"


def test_nothing_is_claimed_by_likeness_of_a_call_that_says_what_it_did() -> None:
    text = "The document was saved although two tags are not allowed"

    assert classifier.classify(text.lower()) is not None
    assert read(text).confidence == 0


def test_a_rule_is_one_witness_among_all_words() -> None:
    text = "the bridge is rebooting, give it a minute"
    alone, doubted = classifier.classify(text), classifier.classify(text, "CONFLICT", 0.75)
    agreed = classifier.classify(text, "TRANSIENT", 0.75)

    assert alone is not None
    assert doubted is not None
    assert agreed is not None
    assert {alone.type, agreed.type} == {"TRANSIENT"}
    assert agreed.confidence > alone.confidence > doubted.confidence


@pytest.mark.parametrize(
    "text", ["xqzt wvvk plorf", "42", "'a' \"b\"", "今天天气很好 order", "<>", "\ud800 order", "order"]
)
def test_of_words_that_say_nothing_nothing_is_claimed(text: str) -> None:
    assert read(text).confidence == 0


def test_the_time_grows_with_the_length_of_a_text_and_no_more() -> None:
    def seconds(length: int) -> float:
        start = time.process_time()
        classifier.classify("the parcel is 'not' here 7 " * length)
        return time.process_time() - start

    seconds(10)

    assert min(seconds(20_000) for _ in range(3)) <= 30 * max(min(seconds(2_000) for _ in range(5)), 1e-4)


def test_a_result_that_is_no_failure_is_not_classified() -> None:
    result = {"content": [{"type": "text", "text": "Only the owner of the board can do that"}], "isError": False}

    assert fw.read(result, unflagged=True) is None


def test_what_is_almost_sure_is_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    almost = classifier.Guess("TRANSIENT", CERTAIN - 0.001)
    monkeypatch.setattr("failwell.reading.flat_text.classify", lambda *_: almost)

    found = read("fetch failed")

    assert (found.code, found.retryable) == (None, None)
    assert (found.confidence or 0.0) < CERTAIN
