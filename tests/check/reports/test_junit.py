"""JUnit XML, read back with the parser that CI tools use."""

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from failwell.check.report import Report
from failwell.check.reports import junit
from tests.check.reports import samples


def read_back(report: Report) -> JUnitXml:
    return JUnitXml.fromstring(junit.write(report).encode())


def cases(report: Report) -> dict[str, TestCase]:
    return {case.name: case for suite in read_back(report) for case in suite if isinstance(suite, TestSuite)}


def test_each_tool_is_a_suite_and_each_call_a_test() -> None:
    found = read_back(samples.MIXED)

    assert [suite.name for suite in found] == ["tasks.read_task", "tasks.write_task"]
    assert [[case.name for case in suite] for suite in found] == [
        ["missing_field/task_id", "wrong_type/task_id", "null/task_id", "unknown_field"],
        ["empty", "unknown_field", "wrong_format/due"],
    ]
    assert {case.classname for suite in found for case in suite} == {"tasks.read_task", "tasks.write_task"}


def test_counts_are_those_of_the_tests() -> None:
    found = read_back(samples.MIXED)

    assert (found.tests, found.failures, found.errors, found.skipped) == (7, 2, 1, 2)
    assert [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in found] == [
        (4, 2, 0, 0),
        (3, 0, 1, 2),
    ]
    written = [suite.time for suite in found]
    assert written == [1.0, 0.25]


def test_a_failure_says_what_counts_most_first_and_shows_both_texts() -> None:
    [finding] = cases(samples.MIXED)["missing_field/task_id"].result

    assert isinstance(finding, Failure)
    assert finding.message == "names_field: the text does not name task_id"
    assert finding.type == "refused"
    assert finding.text == (
        'Call:\nthe required field task_id is left out\n{\n  "task_di": 1\n}\n\n'
        "Fell short:\n- names_field: the text does not name task_id\n"
        "- retry_flag: only plain text: a program has to guess\n\n"
        "The server said:\ninvalid input\n\n"
        'It should have said:\n{"type":"VALIDATION","message":"task_id is required"}\n'
    )


def test_a_call_without_an_answer_is_an_error() -> None:
    [finding] = cases(samples.MIXED)["empty"].result

    assert isinstance(finding, Error)
    assert (finding.type, finding.message) == ("hung", "speed: there was no answer in time")
    assert "The server said:\n(nothing)" in (finding.text or "")


def test_what_was_not_probed_is_skipped_with_its_reason() -> None:
    [finding] = cases(samples.MIXED)["wrong_format/due"].result

    assert isinstance(finding, Skipped)
    assert finding.message == "it would run the tool"


def test_a_call_that_fails_well_passes() -> None:
    assert not cases(samples.MIXED)["null/task_id"].result
    assert not cases(samples.MIXED)["unknown_field"].result[1:]
    assert read_back(samples.PERFECT).failures == 0


def test_with_a_baseline_only_what_got_worse_fails() -> None:
    found = cases(samples.COMPARED)

    assert [name for name, case in found.items() if case.result] == ["missing_field/task_id"]
    assert (
        found["wrong_type/task_id"].system_out
        == "Not worse than the baseline:\nflagged: the error is sent as a success"
    )


def test_the_scores_are_properties() -> None:
    [suite] = read_back(samples.PERFECT)

    assert [(one.name, one.value) for one in suite.properties()] == [
        ("failwell.score", "100"),
        ("failwell.server.score", "100"),
        ("failwell.server.grade", "A"),
    ]


@pytest.mark.parametrize("report", samples.ALL.values(), ids=samples.ALL)
def test_hostile_text_is_only_text(report: Report) -> None:
    written = junit.write(report)

    found = JUnitXml.fromstring(written.encode())
    assert {case.tag for suite in found._elem for case in suite} <= {"properties", "testcase"}
    assert "\u202e" not in written
    assert "hunter2hunter2" not in written
    assert written == junit.write(report)
