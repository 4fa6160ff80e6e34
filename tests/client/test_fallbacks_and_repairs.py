"""What is done after the last try, if the caller wants it: one corrected call, or something in place of a result."""

import json
from typing import Any

import pytest

import failwell as fw
from failwell.client import approved
from tests.client.scripted import BUSY, FINE, LOST, Scripted
from tests.client.test_wrap import ask, is_error, meta, run, text
from tests.matrix import sdks

DENIED = fw.encode(fw.Unauthenticated("Log in first.", outcome="rejected"))
CRASHED = {"content": [{"type": "text", "text": "KeyError: 'x'"}], "isError": True}
COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
WRONG = fw.encode(
    fw.Invalid("count must be an integer.", fields=[fw.FieldProblem(path="count", kind="type", expected="integer")])
)


def cached(failure: fw.Failure, arguments: dict[str, Any]) -> Any:
    return {"city": arguments["city"], "because": failure.code}


async def cached_later(failure: fw.Failure, arguments: dict[str, Any]) -> Any:
    return cached(failure, arguments)


@pytest.mark.parametrize("fallback", [cached, cached_later])
def test_a_fallback_answers_after_the_last_try_and_is_marked_as_one(fallback: Any) -> None:
    server = Scripted()
    server.tool("weather", BUSY)

    result = ask(server, "weather", {"city": "Oslo"}, fallbacks={"weather": fallback})

    note, value = text(result).split("\n")
    assert note == "weather failed (RATE_LIMITED). This is a fallback value, not a result:"
    assert json.loads(value) == {"city": "Oslo", "because": "RATE_LIMITED"}
    assert (result.is_fallback, result.failure.code, server.count("weather")) == (True, "RATE_LIMITED", 3)
    assert not is_error(result)
    assert meta(result)["dev.failwell/fallback"]["code"] == "RATE_LIMITED"
    assert fw.read(result) is None


def test_a_fallback_may_give_a_result_of_the_sdk() -> None:
    server = Scripted()
    server.tool("weather", DENIED)
    stored = sdks.result({"content": [{"type": "text", "text": "sun"}, {"type": "text", "text": "wind"}]})

    result = ask(server, "weather", fallbacks={"weather": lambda failure, arguments: stored})

    texts = [block.text for block in result.content]
    assert texts == ["weather failed (UNAUTHORIZED). This is a fallback value, not a result:", "sun", "wind"]


@pytest.mark.parametrize(
    ("answer", "hints", "due"),
    [
        (BUSY, {}, True),
        (DENIED, {}, True),
        (LOST, {}, False),
        (LOST, {"readOnlyHint": True}, True),
        (CRASHED, {}, False),
        (CRASHED, {"readOnlyHint": True}, True),
        (fw.encode(fw.NotFound("No.")), {}, False),
        (fw.encode(fw.Invalid("No.")), {}, False),
        (fw.encode(fw.Conflict("No.")), {}, False),
        (fw.encode(fw.Internal("It ran, then broke.", outcome="executed")), {"readOnlyHint": True}, False),
    ],
    ids=["busy", "denied", "lost", "lost, safe", "crash", "crash, safe", "not found", "invalid", "conflict", "ran"],
)
def test_a_fallback_is_due_only_if_the_tool_could_not_do_its_work_and_did_not(
    answer: Any, hints: Any, due: bool
) -> None:
    server = Scripted()
    server.tool("send", answer, annotations=hints)

    result = ask(server, "send", fallbacks={"send": lambda failure, arguments: "instead"})

    assert result.is_fallback is due
    assert is_error(result) is not due


def test_a_fallback_that_fails_leaves_the_failure_of_the_tool() -> None:
    server = Scripted()
    server.tool("send", BUSY)

    result = ask(server, "send", fallbacks={"send": lambda failure, arguments: 1 / 0})

    assert (result.is_fallback, result.failure.code) == (False, "RATE_LIMITED")
    assert "division" not in text(result)


def test_a_corrected_call_is_made_once_if_it_is_wanted() -> None:
    server, events = Scripted(), list[Any]()
    server.tool("take", WRONG, FINE, inputSchema=COUNT)

    result = ask(server, "take", {"count": "5"}, repair=True, hook=events.append)

    assert server.calls == [("take", {"count": "5"}), ("take", {"count": 5})]
    assert result.content[0].text == "fine"
    assert meta(result)["dev.failwell/repair"] == {
        "changes": [{"path": "count", "reason": "the number itself, not its text"}]
    }
    assert [event.kind for event in events] == ["failure", "repaired"]


READ_ONLY = {"readOnlyHint": True}
ORDER = {"type": "string", "enum": ["asc", "desc"]}
SEARCH = {"type": "object", "properties": {"max_count": {"type": "integer"}, "filter": {"type": "object"}, "by": ORDER}}


@pytest.mark.parametrize(
    ("sent", "corrected"),
    [
        ({"max_count": "5"}, {"max_count": 5}),
        ({"filter": '{"city": "Oslo"}'}, {"filter": {"city": "Oslo"}}),
        ({"maxCount": 5}, {"max_count": 5}),
    ],
    ids=["number", "JSON", "name"],
)
def test_what_needs_no_guess_is_corrected_on_a_read_only_tool_and_the_model_is_told(sent: Any, corrected: Any) -> None:
    server, events = Scripted(), list[Any]()
    schema = {**SEARCH, "additionalProperties": False}
    server.tool("search", fw.encode(fw.Invalid("Wrong arguments.")), FINE, inputSchema=schema, annotations=READ_ONLY)

    result = ask(server, "search", sent, hook=events.append)

    assert [arguments for _, arguments in server.calls] == [sent, corrected]
    fine, note = (block.text for block in result.content)
    assert fine == "fine"
    assert note.startswith("Note: the call was made with corrected arguments (")
    assert [event.kind for event in events] == ["failure", "repaired"]


WRONG_SEARCH = fw.Invalid("Wrong arguments.")
UNSURE_SEARCH = fw.Invalid("Wrong arguments.", outcome="unknown")


@pytest.mark.parametrize(
    ("sent", "annotations", "wrong", "options"),
    [
        ({"max_count": "5"}, {}, WRONG_SEARCH, {}),
        ({"max_count": "5"}, {"idempotentHint": True}, WRONG_SEARCH, {}),
        ({"max_count": "5"}, READ_ONLY, WRONG_SEARCH, {"trust": False}),
        ({"max_count": "5"}, READ_ONLY, WRONG_SEARCH, {"repair": False}),
        ({"max_count": "5"}, READ_ONLY, UNSURE_SEARCH, {}),
        ({"by": "ASC"}, READ_ONLY, WRONG_SEARCH, {}),
        ({"by": "desk"}, READ_ONLY, WRONG_SEARCH, {}),
        ({"max_count": 5}, READ_ONLY, WRONG_SEARCH, {}),
    ],
    ids=["writes", "idempotent", "not trusted", "off", "may have run", "option", "misspelt option", "schema agrees"],
)
def test_nothing_else_is_corrected_unless_it_is_wanted(sent: Any, annotations: Any, wrong: Any, options: Any) -> None:
    server = Scripted()
    server.tool("search", fw.encode(wrong), FINE, inputSchema=SEARCH, annotations=annotations)

    result = ask(server, "search", sent, **options)

    assert (result.failure.type, server.count("search")) == ("VALIDATION", 1)


@pytest.mark.parametrize("repair", ["lossless", True])
def test_arguments_that_a_person_approved_are_never_corrected(repair: Any) -> None:
    server = Scripted()
    server.tool("take", WRONG, FINE, inputSchema=COUNT, annotations=READ_ONLY)

    async def steps(session: Any) -> Any:
        with approved():
            return await session.call_tool("take", {"count": "5"})

    result = run(server, steps, repair=repair)

    assert (result.failure.type, server.count("take")) == ("VALIDATION", 1)


def test_a_corrected_call_that_fails_says_what_was_corrected() -> None:
    server = Scripted()
    server.tool("take", WRONG, DENIED, inputSchema=COUNT, annotations=READ_ONLY)

    result = ask(server, "take", {"count": "5"})

    assert result.failure.code == "UNAUTHORIZED"
    assert text(result).endswith("corrected arguments (count: the number itself, not its text).")


def test_a_correction_that_does_not_help_leaves_the_first_complaint() -> None:
    other = fw.encode(fw.Invalid("count must be odd."))
    server = Scripted()
    server.tool("take", WRONG, other, inputSchema=COUNT)

    result = ask(server, "take", {"count": "5"}, repair=True)

    assert (result.failure.message, server.count("take")) == ("count must be an integer.", 2)


@pytest.mark.parametrize(("hints", "calls"), [({}, 1), ({"idempotentHint": True}, 2)])
def test_no_correction_is_sent_if_the_tool_may_have_run(hints: Any, calls: int) -> None:
    unsure = fw.encode(fw.Invalid("count must be an integer.", outcome="unknown"))
    server = Scripted()
    server.tool("take", unsure, FINE, inputSchema=COUNT, annotations=hints)

    ask(server, "take", {"count": "5"}, repair=True)

    assert server.count("take") == calls


def test_a_corrected_call_without_effect_does_not_undo_what_an_earlier_try_may_have_done() -> None:
    server, events = Scripted(), list[Any]()
    server.tool("take", LOST, WRONG, BUSY, inputSchema=COUNT, annotations={"idempotentHint": True})

    result = ask(server, "take", {"count": "5"}, repair=True, hook=events.append)

    assert (result.failure.code, result.failure.outcome, server.count("take")) == ("RATE_LIMITED", "unknown", 3)
    assert [(event.kind, event.failure.outcome) for event in events] == [
        ("retry", "unknown"),
        ("failure", "unknown"),
        ("repaired", "unknown"),
    ]


def test_an_unsure_correction_is_not_sent() -> None:
    server = Scripted()
    server.tool(
        "take", fw.encode(fw.Invalid("unknown key")), FINE, inputSchema={**COUNT, "additionalProperties": False}
    )

    ask(server, "take", {"count": 5, "zzz": 1}, repair=True)

    assert server.count("take") == 1
