"""What is graded is what an agent can do with an error; what cannot be judged is said, and not graded."""

import sys
from pathlib import Path
from typing import Any

import pytest

from failwell.check import report
from failwell.check.evidence import Evidence, ProbeAnswer, read_evidence
from failwell.check.grades import GRADES, grade_call
from failwell.check.probes.names import UNKNOWN_TOOL
from failwell.check.probes.probe import CheckedTool, Probe
from tests.check.reports import samples
from tests.check.servers import checked, graded, odd

DOCS = Path(__file__).parents[2] / "docs"


def probe(tool: str = "book", **more: Any) -> Probe:
    values: dict[str, Any] = {
        "id": f"{tool}/wrong_type/hours",
        "row": "wrong_type",
        "tool": tool,
        "arguments": {"hours": "two"},
        "violates": "hours is a string",
        "keys": ("hours",),
        "named": ("hours",),
        "expected": ("integer",),
    }
    return Probe(**{**values, **more})


def evidence(text: str, one: Probe | None = None) -> Evidence:
    response = {"jsonrpc": "2.0", "id": 1, "result": {"isError": True, "content": [{"type": "text", "text": text}]}}
    return read_evidence(one or probe(), ProbeAnswer(response=response, seconds=0.1), fields=("hours",))


def grades(text: str, one: Probe | None = None) -> dict[str, bool]:
    return {result.grade: result.passed for result in grade_call(evidence(text, one))}


def answer_of_unknown_tool(text: str) -> Evidence:
    one = probe(UNKNOWN_TOOL, id="(server)/unknown_tool", row="unknown_tool", arguments={}, keys=None, named=())
    response = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}
    return read_evidence(one, ProbeAnswer(response=response, seconds=0.1), tools=("book",))


def test_what_a_tool_that_does_not_exist_is_called_hides_no_error() -> None:
    assert answer_of_unknown_tool("Error: Missing arguments").ending == "unflagged"


def test_an_answer_for_a_tool_that_does_not_exist_is_not_said_to_break_a_schema() -> None:
    [flagged] = [result for result in grade_call(answer_of_unknown_tool("")) if result.grade == "flagged"]

    assert flagged.reason == "the call succeeded, though there is no such tool"


@pytest.mark.parametrize(
    ("text", "has_step"),
    [
        ("hours must be an integer, not 'two'", True),
        ("Something about the booking is wrong. Call list_slots to see what is free.", True),
        ("Invalid booking. Please check the value of hours.", True),
        ("Slow down: retry after 30 seconds", True),
        ('{"error": {"code": "BAD_THING", "message": "It did not work"}}', False),
        ('{"type": "VALIDATION", "message": "It did not work", "recoverable": true}', False),
        ("Invalid use of call in a set of values", False),
        ("Internal Server Error", False),
        ("Validation failed", False),
    ],
)  # fmt: skip
def test_a_next_step_needs_one_whatever_the_format(text: str, has_step: bool) -> None:
    assert grades(text)["next_step"] is has_step


@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("hours must be an integer, not 'two'", True),
        ("Validation error: hours must be an integer. Do not retry unchanged.", True),
        ("hours must be an integer. Correct it and try again.", True),
        ("Booking failed. Please try again later.", False),
        ("hours must be an integer. The service is temporarily unavailable for you, retry later.", False),
        ('{"error": {"code": "TIMEOUT", "message": "hours must be an integer", "retryable": true}}', False),
    ],
)
def test_what_is_said_about_retrying_must_be_true(text: str, is_true: bool) -> None:
    assert grades(text)["says_retry"] is is_true


@pytest.mark.parametrize("text", ["hours must be an integer", "Validation failed", "Please try again later", "boom"])
def test_the_same_text_is_graded_the_same_in_every_tool_and_probe(text: str) -> None:
    others = [probe("pay"), probe("read_task", id="x"), probe("a_tool", row="null", arguments={"hours": None})]

    assert all(grades(text, other) == grades(text) for other in others)


@pytest.mark.parametrize(
    "text",
    [
        "connect ECONNREFUSED 127.0.0.1:5432",
        "getaddrinfo ENOTFOUND api.example.com",
        "HTTP error 503: Service Unavailable",
    ],
)
def test_a_backend_that_is_out_of_reach_is_counted_and_not_graded(text: str) -> None:
    assert grade_call(evidence(text)) == ()
    assert evidence(text).is_backend_away


def tool_reports(tools: int, probed: int, calls: int) -> list[report.ToolReport]:
    call = samples.probe("empty", samples.FLAGGED)
    made = [samples.tool(f"t{number}", *[call] * calls, score=50.0) for number in range(probed)]
    left = [samples.tool(f"u{number}", score=None, grade=None) for number in range(tools - probed)]
    return [*made, *left, samples.tool(report.SERVER, call, call)]


@pytest.mark.parametrize(
    ("tools", "probed", "calls", "doubt"),
    [
        (9, 1, 2, "2 graded calls to 1 of 9 tools: not enough for a grade"),
        (9, 0, 0, "0 graded calls to 0 of 9 tools: not enough for a grade"),
        (9, 2, 20, "40 graded calls to 2 of 9 tools: not enough for a grade"),
        (1, 1, 1, "1 graded call to 1 of 1 tools: not enough for a grade"),
        (9, 3, 1, None),
        (1, 1, 3, None),
    ],
)
def test_a_grade_needs_enough_evidence(tools: int, probed: int, calls: int, doubt: str | None) -> None:
    assert report.doubt(tool_reports(tools, probed, calls)) == doubt


def test_what_the_proxy_would_give_is_measured_on_the_server_s_own_answers() -> None:
    found = checked(odd("bad"))

    assert found.proxied is not None
    assert found.score is not None
    assert found.proxied.gain == round(found.proxied.score - found.score, 1) > 20
    through = checked([sys.executable, "-m", "failwell", *found.proxied.command.split()[1:], "--", *odd("bad")])
    assert through.score is not None
    assert abs(through.score - found.proxied.score) <= 5


def test_nothing_is_said_of_the_proxy_where_it_gives_nothing() -> None:
    assert checked(graded("none")).proxied is None


@pytest.mark.parametrize(
    ("description", "is_passed_on"),
    [
        ("Create a pet.\n\nPOST /pets", True),
        ("Create a pet (`POST /pets/{id}`)", True),
        ("Create a pet\n\n**Responses:**\n- 200: ok", True),
        ("Delete a file at /srv", False),
        ("GET the answer. Responses are short.", False),
    ],
)
def test_tools_made_from_an_http_api_are_recognised(description: str, is_passed_on: bool) -> None:
    assert CheckedTool({"name": "t", "description": description}).is_passed_on is is_passed_on


def test_every_grade_is_explained_on_its_page() -> None:
    page = (DOCS / "reference" / "grades.md").read_text(encoding="utf-8")

    assert [line[4:] for line in page.splitlines() if line.startswith("### ")] == [grade.name for grade in GRADES]
