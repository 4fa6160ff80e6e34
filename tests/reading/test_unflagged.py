"""Errors that nobody flagged: found where they are, and never where a result only speaks of errors."""

import json
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from tests.reading import corpus
from tests.reading.corpus import Row

_DATA = Path(__file__).parents[1] / "data"


def _rows(name: str) -> list[Row]:
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


def unflagged(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": False}


def seen(tool: str, arguments: Any, text: str) -> fw.Failure | None:
    return fw.read(unflagged(text), tool=tool, arguments=arguments, unflagged=True)


HARD = _rows("unflagged.jsonl")
HONEST = [row for row in HARD if not row["failed"]]
FAILED = [row for row in HARD if row["failed"]]
RECORDED = [row for name in ("dev", "dev2") for row in _rows(f"corpus/{name}.jsonl") if corpus.is_unflagged(row)]
SUCCESSES = _rows("corpus/successes.jsonl")


def _is_called_failure(row: Row, *, asked: bool = True) -> bool:
    return fw.read(row["raw"], **corpus.known(row), unflagged=asked) is not None


def test_results_that_speak_of_errors_are_not_called_failures() -> None:
    wrong = [row for row in HONEST if seen(row["tool"], row["arguments"], row["text"])]

    assert len(HONEST) >= 250
    assert len(wrong) <= 0.01 * len(HONEST), wrong


def test_errors_of_every_style_are_found() -> None:
    missed = [row for row in FAILED if seen(row["tool"], row["arguments"], row["text"]) is None]

    assert len(FAILED) >= 150
    assert len(missed) <= 0.05 * len(FAILED), missed


def test_recorded_successes_are_not_called_failures() -> None:
    wrong = [row["id"] for row in SUCCESSES if _is_called_failure(row)]

    assert len(SUCCESSES) == 714
    assert len(wrong) <= 0.01 * len(SUCCESSES), wrong


def test_recorded_errors_that_nobody_flagged_are_found() -> None:
    missed = [row["id"] for row in RECORDED if not _is_called_failure(row)]

    assert len(RECORDED) == 158
    assert len(missed) <= 0.10 * len(RECORDED), missed


def test_no_recorded_success_is_called_a_failure_unless_asked_for() -> None:
    assert [row["id"] for row in SUCCESSES if _is_called_failure(row, asked=False)] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "text", "is_failure"),
    [
        ("get_note", {"key": "a"}, "Error: connection refused", False),
        ("send_note", {"key": "a"}, "Error: connection refused", True),
        ("get_note", {"key": "a-17"}, "Error: a-17 does not exist", True),
        ("note_exists", {"key": "a-17"}, "Note a-17 does not exist", False),
        ("delete_note", {"key": "a-17"}, "Note a-17 does not exist", True),
        ("search_notes", {"query": "zebra"}, "Note not found: zebra", False),
        ("search_notes", {"query": "zebra"}, "Error searching notes: index is locked", True),
    ],
)
def test_what_a_tool_is_for_decides_what_its_text_proves(
    tool: str, arguments: Any, text: str, is_failure: bool
) -> None:
    assert (seen(tool, arguments, text) is not None) is is_failure


@pytest.mark.parametrize(
    ("output", "is_failure"),
    [
        ("cat: a.txt: No such file or directory\nexit code: 1", True),
        ("cat: a.txt: No such file or directory\nexit code: 0", False),
        ("Exit code: 2\nusage: tool [-h]", True),
        ("2 failed, 7 passed\nexit code: 1", False),
        ("\nexit code: 1", False),
    ],
)
def test_the_exit_code_tells_what_came_of_a_command(output: str, is_failure: bool) -> None:
    assert (seen("run_command", {"command": "cat a.txt"}, output) is not None) is is_failure


@pytest.mark.parametrize(
    ("items", "is_failure"),
    [
        (
            [{"id": "a", "result": "error", "message": "locked"}, {"id": "b", "result": "error", "message": "gone"}],
            True,
        ),
        ([{"id": "a", "result": "error", "message": "locked"}, {"id": "b", "result": "ok"}], False),
    ],
)
def test_a_batch_has_failed_only_if_every_item_has(items: list[Any], is_failure: bool) -> None:
    for answer in (items, {"results": items}):
        assert (seen("update_items", {"ids": ["a", "b"]}, json.dumps(answer)) is not None) is is_failure


SCHEMA = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["count"],
}


@pytest.mark.parametrize(
    "text",
    [
        "count must be an integer",
        "Error: 'count' has to be a number",
        "Invalid value for count: expected a number",
        "1 validation error for Order\ncount\n  Input should be a valid integer [type=int_parsing, input_value='five']",
        "Input validation error: 'five' is not of type 'integer'",
        '{"error": "count is not a number"}',
        "Error",
        "❌ Error.",
        "An unexpected error occurred",
    ],
)
def test_an_error_about_a_call_that_the_schema_proves_wrong_counts_without_being_asked_for(text: str) -> None:
    found = fw.read(unflagged(text), tool="order", arguments={"count": "five"}, input_schema=SCHEMA)

    assert found is not None
    assert found.outcome == "unknown"
    assert fw.read(unflagged(text), tool="order", arguments={"count": 5}, input_schema=SCHEMA) is None


@pytest.mark.parametrize(
    "text",
    [
        "Ordered. The count was rounded.",
        '{"count": 5, "ok": true}',
        '{"count": "five", "city": "Bonn"}',
        "The city is unknown",
        "five",
        "Your order has a count of five.",
        "",
        "Errors are human. The count of them is not.",
    ],
)
def test_a_server_that_takes_what_its_schema_forbids_has_not_failed(text: str) -> None:
    assert fw.read(unflagged(text), tool="order", arguments={"count": "five"}, input_schema=SCHEMA) is None


@pytest.mark.parametrize(
    "text",
    [
        "Unauthorized",
        "Internal server error",
        "Rate limit exceeded. Try again in 60 seconds.",
        "Something went wrong. Please try again later.",
        "The requested resource was not found.",
        "Invalid input: 'limit' must be a number",
        "Missing required parameter: query",
        "bash: kubctl: command not found",
    ],
)
def test_what_services_answer_with_is_an_error_whatever_the_tool(text: str) -> None:
    assert fw.read(unflagged(text), unflagged=True) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Unauthorized biography of a banker, 312 pages",
        "Rate limit exceeded\nby 3 clients today:\n- alpha\n- beta",
        "Invalid parameters: 0 of 12",
        "Forbidden City, Beijing",
        "The requested resource was not found in 12 of 40 pages, see the list:\n| page | status |",
    ],
)
def test_a_text_that_begins_like_such_an_answer_and_goes_on_is_none(text: str) -> None:
    assert fw.read(unflagged(text), unflagged=True) is None
