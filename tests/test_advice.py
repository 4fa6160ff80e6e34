"""What an agent does next follows from the failure, the tool and the attempt alone."""

from typing import Any

import mcp.types
import pytest

import failwell as fw

SAFE = fw.Hints(read_only=True)


def decided(hints: Any = None, attempt: int = 1, **failure: Any) -> fw.Decision:
    return fw.decide(fw.Failure(**{"message": "m", **failure}), hints, attempt=attempt)


CASES: list[tuple[dict[str, Any], Any, int, str]] = [
    ({"code": "RATE_LIMITED"}, None, 1, "retry"),
    ({"code": "RATE_LIMITED"}, None, 2, "retry"),
    ({"code": "RATE_LIMITED"}, None, 3, "stop"),
    ({"code": "TIMEOUT"}, None, 1, "verify"),
    ({"code": "TIMEOUT"}, SAFE, 1, "retry"),
    ({"code": "TIMEOUT"}, fw.Hints(idempotent=True), 1, "retry"),
    ({"code": "TIMEOUT", "outcome": "executed"}, SAFE, 1, "stop"),
    ({"code": "RATE_LIMITED", "origin": "inferred"}, None, 1, "verify"),
    ({"code": "DEADLOCK"}, None, 1, "retry"),
    ({"type": "VALIDATION"}, None, 1, "fix_input"),
    ({"type": "VALIDATION"}, None, 2, "stop"),
    ({"type": "VALIDATION", "recoverable": False}, None, 1, "stop"),
    ({"type": "NOT_FOUND"}, None, 1, "stop"),
    ({"type": "NOT_FOUND", "actions": ("tasks.list",)}, None, 1, "use"),
    ({"type": "CONFLICT"}, None, 1, "wait"),
    ({"type": "CONFLICT", "actions": ("unlock",)}, None, 1, "use"),
    ({"type": "CONFLICT", "recoverable": False}, None, 1, "stop"),
    ({"type": "PERMISSION"}, None, 1, "escalate"),
    ({"type": "INTERNAL"}, SAFE, 1, "stop"),
    ({}, None, 1, "stop"),
    ({}, SAFE, 1, "retry"),
    ({}, SAFE, 3, "stop"),
    ({"type": "TRANSIENT", "retryable": False}, SAFE, 1, "stop"),
    ({"type": "NOT_FOUND", "severity": "critical"}, None, 1, "escalate"),
    ({"code": "DEPRECATED", "severity": "warning", "actions": ("v2",)}, None, 1, "use"),
    ({"code": "DEPRECATED", "severity": "warning"}, None, 1, "stop"),
]


@pytest.mark.parametrize(("failure", "hints", "attempt", "action"), CASES, ids=str)
def test_the_next_step(failure: dict[str, Any], hints: Any, attempt: int, action: str) -> None:
    decision = decided(hints, attempt, **failure)

    assert decision.action == action
    assert decision.reason.endswith(".")


def test_it_waits_as_long_as_the_server_asked() -> None:
    assert decided(code="RATE_LIMITED", retry_after=3600).delay == 3600


def test_it_backs_off_where_the_server_named_no_delay() -> None:
    assert [decided(code="RATE_LIMITED", attempt=n).delay for n in (1, 2)] == [1, 2]


def test_it_says_what_to_fix() -> None:
    problem = fw.FieldProblem(path="a", kind="missing")

    assert decided(type="VALIDATION", fields=(problem,)).fields == (problem,)


def test_the_holders_of_a_conflict_are_pointed_out() -> None:
    assert "holders" in decided(type="CONFLICT", details={"conflicts": [{"held_by": "x"}]}).reason


def test_the_servers_suggestion_comes_before_the_catalogs() -> None:
    assert decided(code="NOT_FOUND", suggestion="Look in the attic.").suggestion == "Look in the attic."
    row = fw.codes.get("NOT_FOUND")
    assert row is not None
    assert decided(code="NOT_FOUND").suggestion == row.suggestion
    assert decided(type="NOT_FOUND").suggestion is None


@pytest.mark.parametrize(
    ("failed", "hints", "attempt"),
    [
        ({"code": "RATE_LIMITED"}, None, 3),
        ({"code": "RATE_LIMITED", "suggestion": "Wait, then make the same call again."}, None, 3),
        ({"code": "RATE_LIMITED", "outcome": "executed"}, None, 1),
        ({"code": "RATE_LIMITED", "severity": "critical"}, None, 1),
        ({"code": "SERVICE_UNAVAILABLE"}, None, 1),
        ({"code": "VALIDATION_FAILED"}, None, 2),
        ({"code": "TOOL_ERROR"}, {"readOnlyHint": True}, 1),
    ],
    ids=["tried often", "tried often, sent along", "executed", "critical", "look first", "corrected once", "harmless"],
)
def test_advice_of_the_catalog_that_contradicts_the_decision_is_left_out(
    failed: dict[str, Any], hints: Any, attempt: int
) -> None:
    assert fw.decide(fw.Failure(message="It failed.", **failed), hints, attempt=attempt).suggestion is None


@pytest.mark.parametrize(
    ("failed", "hints"),
    [
        ({"code": "RATE_LIMITED"}, None),
        ({"code": "SERVICE_UNAVAILABLE"}, {"readOnlyHint": True}),
        ({"code": "NOT_FOUND", "actions": ("list_tasks",)}, None),
        ({"code": "RATE_LIMITED", "severity": "critical", "suggestion": "Call the desk."}, None),
    ],
    ids=["as usual", "safe to run twice", "another tool", "the server's own word"],
)
def test_advice_that_agrees_with_the_decision_is_kept(failed: dict[str, Any], hints: Any) -> None:
    row = fw.codes.get(failed["code"])

    assert row is not None
    kept = fw.decide(fw.Failure(message="It failed.", **failed), hints).suggestion
    assert kept == failed.get("suggestion", row.suggestion)


@pytest.mark.parametrize(
    "hints",
    [
        {"readOnlyHint": True},
        {"idempotentHint": True},
        {"read_only": True},
        mcp.types.ToolAnnotations.model_validate({"readOnlyHint": True}),
        fw.Hints(idempotent=True),
    ],
    ids=str,
)
def test_hints_are_taken_in_every_form(hints: Any) -> None:
    assert fw.Hints.of(hints).repeatable


@pytest.mark.parametrize("hints", [None, {}, {"readOnlyHint": "yes"}, {"destructiveHint": False}, fw.Hints()], ids=str)
def test_nothing_but_a_plain_promise_makes_a_tool_repeatable(hints: Any) -> None:
    assert not fw.Hints.of(hints).repeatable


def test_an_exception_is_decided_by_its_failure() -> None:
    assert fw.decide(fw.Denied("no")).action == "escalate"


@pytest.mark.parametrize(
    "call",
    [
        lambda: fw.decide("x"),  # type: ignore[arg-type]  # that is the point
        lambda: fw.decide(fw.error("m"), 5),
    ],
)
def test_misuse_is_a_type_error(call: Any) -> None:
    with pytest.raises(TypeError):
        call()
