"""The compact contract: six types, a flag and data, as JSON in the text of the error."""

import json
import socket
from typing import Any

import pytest

import failwell as fw
from tests.contracts.differences import differs

SAFE = {"readOnlyHint": True}


def text(failure: fw.Failure | fw.ToolFailure) -> str:
    result = fw.encode(failure, "compact")
    assert result["isError"] is True
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize(
    ("failure", "wire"),
    [
        (
            fw.Failure(type="NOT_FOUND", message='agent "fd-safety" not registered'),
            {"type": "NOT_FOUND", "message": 'agent "fd-safety" not registered', "recoverable": False},
        ),
        (
            fw.Failure(
                type="CONFLICT",
                message="reservation conflict: 2 conflicts",
                details={"conflicts": [{"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"}]},
            ),
            {
                "type": "CONFLICT",
                "message": "reservation conflict: 2 conflicts",
                "recoverable": True,
                "data": {"conflicts": [{"agent_id": "agent-2", "pattern": "src/*.go", "held_by": "agent-2"}]},
            },
        ),
        (
            fw.Failure(type="TRANSIENT", message="rate limited", retry_after=30),
            {"type": "TRANSIENT", "message": "rate limited", "recoverable": True, "data": {"retry_after": 30}},
        ),
    ],
    ids=["plain", "with data", "with a delay"],
)
def test_the_examples_are_written_as_printed_and_read_back(failure: fw.Failure, wire: dict[str, Any]) -> None:
    found = fw.read({"content": [{"type": "text", "text": json.dumps(wire)}], "isError": True})

    assert json.loads(text(failure)) == wire
    assert found is not None
    assert (found.type, found.message, found.recoverable) == (failure.type, failure.message, failure.recoverable)
    assert (found.details, found.retry_after) == (failure.details, failure.retry_after)


@pytest.mark.parametrize(
    ("type_", "action"),
    [
        ("TRANSIENT", "retry"),
        ("VALIDATION", "fix_input"),
        ("NOT_FOUND", "stop"),
        ("CONFLICT", "wait"),
        ("PERMISSION", "escalate"),
        ("INTERNAL", "stop"),
    ],
)
def test_each_type_is_one_reaction_of_an_agent(type_: Any, action: str) -> None:
    assert fw.decide(fw.Failure(type=type_, message="x"), SAFE).action == action


def test_a_missing_resource_with_alternatives_is_worked_around() -> None:
    decision = fw.decide(fw.NotFound("x", actions=["list_agents"]))

    assert (decision.action, decision.actions) == ("use", ("list_agents",))


@pytest.mark.parametrize("code", ["RATE_LIMITED", "SERVICE_UNAVAILABLE"])
def test_finer_codes_do_not_make_finer_types(code: str) -> None:
    assert json.loads(text(fw.Failure(code=code, message="x")))["type"] == "TRANSIENT"


def test_the_schema_is_the_published_one_with_words_for_each_property() -> None:
    schema = fw.dialects.get("compact").json_schema()  # type: ignore[attr-defined]  # not every dialect has one
    bare = {
        name: {key: value for key, value in property_.items() if key != "description"}
        for name, property_ in schema["properties"].items()
    }

    assert bare == {
        "type": {
            "type": "string",
            "enum": ["NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"],
        },
        "message": {"type": "string"},
        "recoverable": {"type": "boolean"},
        "data": {"type": "object", "additionalProperties": True},
    }
    assert schema["required"] == ["type", "message", "recoverable"]
    assert schema["additionalProperties"] is False
    assert all(property_["description"] for property_ in schema["properties"].values())


def test_a_text_that_is_no_json_is_an_internal_error() -> None:
    found = fw.read({"content": [{"type": "text", "text": "blorp"}], "isError": True})

    assert found is not None
    assert found.type == "INTERNAL"
    assert fw.decide(found).action == "stop"


@differs("compact", "A text that isn't JSON is INTERNAL only if its words suggest nothing else.")
def test_a_text_that_is_no_json_is_read_where_its_words_are_clear() -> None:
    found = fw.read({"content": [{"type": "text", "text": "rate limit exceeded"}], "isError": True})

    assert found is not None
    assert found.type == "TRANSIENT"


def test_a_transient_error_is_tried_three_times_after_the_delay_that_it_names() -> None:
    slept: list[float] = []
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise fw.RateLimited("x", retry_after=30)

    with pytest.raises(fw.RateLimited):
        fw.call(fail, hints=SAFE, sleep=slept.append)

    assert (len(calls), slept) == (3, [30, 30])


@differs(
    "compact", "A TRANSIENT error is not retried if the call may have taken effect and the tool is not safe to repeat."
)
def test_a_transient_error_of_a_tool_that_may_have_acted_is_checked_first() -> None:
    assert fw.decide(fw.Failure(type="TRANSIENT", message="x")).action == "verify"


def test_the_holders_of_a_conflict_are_asked_and_others_waited_for() -> None:
    held = fw.decide(fw.Conflict("x", details={"conflicts": [{"held_by": "agent-2"}]}))
    free = fw.decide(fw.Conflict("x"))

    assert (held.action, free.action) == ("wait", "wait")
    assert "Ask the holders" in held.reason
    assert "Ask the holders" not in free.reason


def test_an_error_is_made_where_it_happens() -> None:
    found = json.loads(text(fw.NotFound(f"not found: {KeyError('x')}")))

    assert (found["type"], found["message"]) == ("NOT_FOUND", "not found: 'x'")


def test_error_types_of_a_domain_are_mapped_by_one_function() -> None:
    class LockedError(Exception):
        pass

    with fw.rule(LockedError, {"type": "CONFLICT", "code": "LOCKED"}):
        assert fw.from_exception(LockedError()).type == "CONFLICT"


@pytest.mark.parametrize(
    ("statuses", "type_"),
    [
        ((400, 422), "VALIDATION"),
        ((403,), "PERMISSION"),
        ((404,), "NOT_FOUND"),
        ((409,), "CONFLICT"),
        ((429, 500, 502, 503, 504), "TRANSIENT"),
    ],
)
def test_http_statuses_become_the_published_types(statuses: tuple[int, ...], type_: str) -> None:
    assert {fw.from_http(status).type for status in statuses} == {type_}


@differs("compact", "501 is INTERNAL and not retryable.")
def test_what_is_not_implemented_is_not_transient() -> None:
    assert fw.from_http(501).type == "INTERNAL"


@pytest.mark.parametrize("exc", [ConnectionRefusedError(111, "x"), TimeoutError(), socket.gaierror(-3, "x")], ids=repr)
def test_network_failures_are_transient(exc: OSError) -> None:
    assert fw.from_exception(exc).type == "TRANSIENT"


@differs("compact", "A host name that does not exist is NOT_FOUND; a name server that does not answer is TRANSIENT.")
def test_a_name_that_does_not_exist_is_not_transient() -> None:
    assert fw.from_exception(socket.gaierror(socket.EAI_NONAME, "x")).type == "NOT_FOUND"
