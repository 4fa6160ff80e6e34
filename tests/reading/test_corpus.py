"""Figures on real servers: failures labelled by two readers, successes that speak of errors, repaired calls."""

import pytest

import failwell as fw
from tests.reading import corpus
from tests.reading.corpus import Row

SERVERS = sorted({row["server"] for row in corpus.failures()})
FLAGGED = [row for row in corpus.failures() if not corpus.is_unflagged(row)]


def test_the_category_is_right_and_surely_so() -> None:
    score = corpus.score(corpus.failures())

    assert score.right >= 0.97
    assert score.answered >= 0.95


def test_what_is_blamed_is_at_fault_and_what_is_at_fault_is_blamed() -> None:
    score = corpus.score(corpus.failures())

    assert score.precision >= 0.97
    assert score.recall >= 0.90


def test_no_failure_that_stays_is_called_retryable() -> None:
    unsafe = [row["id"] for row in corpus.failures() if corpus.is_unsafe(row, corpus.answer(row) or corpus.Answer())]

    assert unsafe == []


@pytest.mark.slow  # the classifier is trained anew, without each server
def test_answers_are_right_as_often_as_they_claim() -> None:
    """On servers left out: of the answers at 0.9, at least nine in ten."""
    buckets = corpus.calibration()

    assert sum(bucket.answers for bucket in buckets) >= 400
    assert [bucket for bucket in buckets if bucket.answers >= 20 and bucket.share < bucket.at_least] == []


def test_failures_that_nobody_flagged_are_found_when_asked_for() -> None:
    assert corpus.score(corpus.failures()).found >= 0.90


def test_failures_that_nobody_flagged_are_let_through_when_not_asked_for_unless_the_schema_proves_them() -> None:
    unflagged = [row for row in corpus.failures() if corpus.is_unflagged(row)]

    found = [(row, failure) for row in unflagged if (failure := fw.read(row["raw"], **corpus.known(row)))]

    assert len(found) < 10
    assert {failure.outcome for _, failure in found} == {"unknown"}
    for row, _ in found:
        wrong = fw.check_arguments(row["arguments"], row["inputSchema"])
        assert wrong is not None
        assert any(problem.kind != "unknown" for problem in wrong.fields)


@pytest.mark.slow  # the classifier is trained anew, without each server
def test_rules_hold_for_servers_they_were_not_written_for() -> None:
    score = corpus.cross_validated()

    assert score.right >= 0.90
    assert score.unsafe == 0
    assert score.precision >= 0.97


def test_the_labels_are_not_looked_at() -> None:
    """A reader that always says VALIDATION would be right on half of them: the measure can tell it from ours."""
    guess = corpus.score(corpus.failures(), lambda row: corpus.Answer("VALIDATION", None, 1.0))

    assert guess.right < 0.75


def test_successes_that_speak_of_errors_are_not_called_failures() -> None:
    rows = corpus.successes()
    wrong = [
        row for row in rows if fw.read(row["result"], tool=row["tool"], arguments=row["arguments"], unflagged=True)
    ]

    assert len(rows) >= 500
    assert len({row["server"] for row in rows}) >= 10
    assert len(wrong) <= 0.01 * len(rows)


def test_successes_are_told_from_failures_by_the_text_alone_too() -> None:
    rows = corpus.successes()

    assert sum(fw.read(row["result"], unflagged=True) is not None for row in rows) <= 0.01 * len(rows)


def test_a_success_is_never_a_failure_unless_asked_for() -> None:
    rows = corpus.successes()

    assert len(rows) >= 500
    assert [row for row in rows if fw.read(row["result"]) is not None] == []


@pytest.mark.parametrize(
    "row", [*FLAGGED, *filter(corpus.is_unflagged, corpus.first_failures())], ids=lambda row: row["id"]
)
def test_every_answer_names_its_rule(row: Row) -> None:
    from failwell.reading.reader import explain

    reading = explain(row["raw"], **corpus.known(row), unflagged=corpus.is_unflagged(row))

    assert reading is not None
    assert reading.rule or reading.failure.origin == "read" or reading.failure.confidence == 0


def test_no_rule_names_a_server() -> None:
    from failwell.phrases import texts

    names = {name.rpartition("/")[2].lower() for name in SERVERS}
    said = " ".join(f"{rule.name} {rule.phrases} {rule.evidence}" for rule in texts.RULES).lower()

    assert [name for name in names if name in said] == []


def test_repairs_that_a_real_server_accepted_are_proposed_again() -> None:
    rows = corpus.repairs()
    proposals = []
    for row in rows:
        failure = fw.read(
            row["answer"], tool=row["tool"], arguments=row["arguments"], input_schema=row["schema"], unflagged=True
        )
        found = failure and fw.repair(failure, row["arguments"], row["schema"])
        proposals.append(found.arguments if found else None)

    assert len({row["server"] for row in rows if row.get("accepted")}) >= 6
    assert proposals == [row.get("proposal") for row in rows]


def test_every_likely_repair_was_accepted_by_its_server() -> None:
    likely = [row for row in corpus.repairs() if row.get("confidence", 0) >= corpus.CERTAIN]

    assert len(likely) >= 300
    assert [row for row in likely if not row["accepted"]] == []
