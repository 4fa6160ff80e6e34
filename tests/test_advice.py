"""What an agent does next follows from the failure, the tool and the attempt alone."""

import re
from typing import Any

import mcp.types
import pytest

import failwell as fw

SAFE = fw.Hints(read_only=True)
OPTIONS = fw.FieldProblem(path="mode", kind="enum", options=("fast", "slow"))


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
    ({"type": "VALIDATION"}, None, 2, "fix_input"),
    ({"type": "VALIDATION", "recoverable": False}, None, 1, "stop"),
    ({"type": "NOT_FOUND"}, None, 1, "stop"),
    ({"type": "NOT_FOUND", "actions": ("tasks.list",)}, None, 1, "use"),
    ({"type": "CONFLICT"}, None, 1, "wait"),
    ({"type": "CONFLICT", "actions": ("unlock",)}, None, 1, "use"),
    ({"type": "CONFLICT", "recoverable": False}, None, 1, "stop"),
    # A conflict is waited out once, if the server says how long it lasts, and nothing better is known.
    ({"type": "CONFLICT", "retry_after": 2}, None, 1, "retry"),
    ({"type": "CONFLICT", "retry_after": 2}, None, 2, "wait"),
    ({"code": "LOCKED", "retry_after": 2}, None, 1, "retry"),
    ({"code": "LOCKED", "retry_after": 200}, None, 1, "wait"),
    ({"code": "LOCKED", "retry_after": 2, "outcome": "unknown"}, None, 1, "verify"),
    ({"code": "LOCKED", "retry_after": 2, "outcome": "unknown"}, SAFE, 1, "retry"),
    ({"code": "LOCKED", "retry_after": 2, "origin": "inferred"}, None, 1, "wait"),
    ({"code": "LOCKED", "retry_after": 2, "recoverable": False}, None, 1, "stop"),
    ({"code": "LOCKED", "retry_after": 2, "actions": ("unlock",)}, None, 1, "use"),
    ({"code": "LOCKED", "retry_after": 2, "details": {"conflicts": [{"held_by": "x"}]}}, None, 1, "wait"),
    ({"code": "CONCURRENT_MODIFICATION", "retry_after": 2}, None, 1, "wait"),
    ({"code": "ALREADY_EXISTS", "retry_after": 2}, None, 1, "fix_input"),
    ({"type": "PERMISSION"}, None, 1, "escalate"),
    ({"type": "INTERNAL"}, SAFE, 1, "stop"),
    ({}, None, 1, "stop"),
    ({}, SAFE, 1, "retry"),
    ({}, SAFE, 3, "stop"),
    ({"type": "TRANSIENT", "retryable": False}, SAFE, 1, "stop"),
    ({"type": "NOT_FOUND", "severity": "critical"}, None, 1, "escalate"),
    ({"code": "DEPRECATED", "severity": "warning", "actions": ("v2",)}, None, 1, "use"),
    ({"code": "DEPRECATED", "severity": "warning"}, None, 1, "stop"),
    ({"code": "AMBIGUOUS"}, None, 1, "fix_input"),
    ({"code": "OUTCOME_UNKNOWN"}, None, 1, "verify"),
    ({"code": "OUTCOME_UNKNOWN"}, SAFE, 1, "stop"),
    ({"code": "LEGALLY_BLOCKED"}, None, 1, "stop"),
    ({"code": "LOCKED", "outcome": "unknown"}, None, 1, "verify"),
    ({"code": "LOCKED", "outcome": "unknown"}, SAFE, 1, "wait"),
    ({"type": "PERMISSION", "fields": (OPTIONS,)}, None, 1, "fix_input"),
    ({"type": "PERMISSION", "fields": (OPTIONS,), "recoverable": False}, None, 1, "escalate"),
    # Declarations that contradict each other get the safer verdict.
    ({"code": "RATE_LIMITED", "outcome": "executed"}, SAFE, 1, "stop"),
    ({"code": "RATE_LIMITED", "outcome": "executed", "severity": "warning", "actions": ("v2",)}, SAFE, 1, "stop"),
    ({"code": "NOT_FOUND", "severity": "critical", "actions": ("list",)}, SAFE, 1, "escalate"),
]


@pytest.mark.parametrize(("failure", "hints", "attempt", "action"), CASES, ids=str)
def test_the_next_step(failure: dict[str, Any], hints: Any, attempt: int, action: str) -> None:
    decision = decided(hints, attempt, **failure)

    assert decision.action == action
    assert decision.reason.endswith(".")


def test_it_waits_as_long_as_the_server_asked() -> None:
    decision = decided(code="RATE_LIMITED", retry_after=90)

    assert (decision.action, decision.delay, decision.retry_delay) == ("retry", 90, 90)


@pytest.mark.parametrize(("policy", "elapsed"), [(fw.Policy(max_wait=60), 0), (fw.Policy(deadline=100), 50)])
def test_a_wait_beyond_the_policy_is_reported_whole_and_not_slept(policy: fw.Policy, elapsed: float) -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=90)

    decision = fw.decide(failure, policy=policy, elapsed=elapsed)

    assert (decision.action, decision.delay, decision.retry_delay) == ("wait", 90, None)


def test_attempts_and_delays_are_those_of_the_policy() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m")
    policy = fw.Policy(attempts=5, throttled_base=3.0, longest=10.0)

    decisions = [fw.decide(failure, attempt=attempt, policy=policy) for attempt in range(1, 6)]

    assert [decision.action for decision in decisions] == ["retry"] * 4 + ["stop"]
    assert [decision.delay for decision in decisions] == [3.0, 6.0, 10.0, 10.0, None]
    assert fw.decide(failure, policy=policy, jitter=0.5).delay == 1.5


def test_an_outcome_read_from_words_is_advice_and_no_permission() -> None:
    refused = fw.Failure(code="CONNECTION_REFUSED", message="m", origin="inferred", confidence=0.9)

    assert fw.decide(refused).action == "verify"
    assert fw.decide(refused, policy=fw.Policy(trust_inferred=True)).action == "retry"


def test_it_backs_off_where_the_server_named_no_delay() -> None:
    assert [decided(code="RATE_LIMITED", attempt=n).delay for n in (1, 2)] == [1, 2]


def test_it_says_what_to_fix() -> None:
    problem = fw.FieldProblem(path="a", kind="missing")

    assert decided(type="VALIDATION", fields=(problem,)).fields == (problem,)


def test_the_holders_of_a_conflict_are_pointed_out() -> None:
    assert "holders" in decided(type="CONFLICT", details={"conflicts": [{"held_by": "x"}]}).reason


def test_the_words_of_the_author_are_kept() -> None:
    failure = fw.Failure(code="NOT_FOUND", message="m", suggestion="Look in the attic.")

    assert fw.decide(failure).suggestion == "Look in the attic."


@pytest.mark.parametrize("row", list(fw.codes.rows()), ids=lambda row: row.code)
def test_the_sentence_of_a_code_is_used_where_the_verdict_is_its_action(row: fw.codes.Row) -> None:
    failure = fw.Failure(code=row.code, message="m")
    decisions = [fw.decide(failure, hints) for hints in (None, SAFE)]

    assert row.action in {decision.action for decision in decisions}
    for decision in decisions:
        others = {other.suggestion for other in fw.codes.rows() if other.action != decision.action}
        assert decision.suggestion not in others


# What asks for another call, be it the same or a corrected one, without asking to find out first.
INVITATION = re.compile(
    r"(?<!before )\b(call again|calling it|calling again|call one|make it again|make the same call|try again)\b"
    r"|\bsafe to repeat\b",
    re.IGNORECASE,
)
FAILURES = [
    fw.Failure(code=row.code, message="m", outcome=outcome, origin=origin, confidence=0.9)
    for row in fw.codes.rows()
    for outcome in ("not_executed", "rejected", "unknown", "executed")
    for origin in ("declared", "mapped", "inferred")
]
HINTS = [None, {"readOnlyHint": True}, {"idempotentHint": True}]
POLICIES = [fw.Policy(), fw.Policy(trust_inferred=True), fw.Policy(attempts=1), fw.Policy(repeatable=True)]


@pytest.mark.parametrize("hints", HINTS, ids=str)
@pytest.mark.parametrize("policy", POLICIES, ids=["default", "trusting", "one attempt", "repeatable"])
@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_no_sentence_invites_a_call_that_the_verdict_does_not(hints: Any, policy: fw.Policy, attempt: int) -> None:
    decisions = [(failure, fw.decide(failure, hints, attempt=attempt, policy=policy)) for failure in FAILURES]

    inviting = [(f, d) for f, d in decisions if INVITATION.search(d.suggestion or "")]
    assert [(f.code, f.outcome, d) for f, d in inviting if d.action not in ("retry", "fix_input", "use", "wait")] == []
    is_safe = policy.repeatable or fw.Hints.of(hints).repeatable
    unknown = [
        (f.code, f.origin, d.suggestion)
        for f, d in inviting
        if not is_safe
        and (f.outcome == "unknown" or (f.origin == "inferred" and d.action == "retry" and not policy.trust_inferred))
    ]
    assert unknown == []
    retried = {d.suggestion for _, d in decisions if d.action == "retry"}
    assert all(INVITATION.search(sentence or "") for sentence in retried)


def test_our_sentences_are_known_for_ours_and_worded_anew() -> None:
    sent = fw.encode(fw.Failure(code="RATE_LIMITED", message="m", suggestion=fw.decide(fw.RateLimited("m")).suggestion))

    failure = fw.read(sent)

    assert failure is not None
    assert fw.decide(failure).suggestion == "The call had no effect. Wait, then call again."
    assert fw.decide(failure, attempt=3).suggestion == "Do not repeat this call now. It may succeed later."


def test_a_stop_after_a_possible_effect_says_so_whatever_its_cause() -> None:
    for failure, attempt in (
        (fw.Failure(code="TIMEOUT", message="m"), 3),
        (fw.Failure(code="INTERNAL_ERROR", message="m"), 1),
        (fw.Failure(message="m"), 1),
    ):
        decision = fw.decide(failure, attempt=attempt)

        assert decision.action == "stop"
        assert "It may have taken effect" in (decision.suggestion or "")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"retryable": True, "outcome": "executed"}, "took effect"),
        ({"suggestion": "Try again.", "action": "retry", "retryable": False}, "retryable is False"),
        ({"suggestion": "Fix it.", "action": "fix_input", "recoverable": False}, "recoverable is False"),
    ],
    ids=["repeats an effect", "retry that cannot help", "fix that cannot help"],
)
def test_a_row_that_contradicts_itself_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fw.codes.add("ODD_ROW", type="TRANSIENT", title="Odd", **wrong)


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


@pytest.mark.parametrize("code", ["RATE_LIMITED", "SERVICE_UNAVAILABLE"])
def test_used_up_tries_are_no_reason_to_say_that_it_never_succeeds(code: str) -> None:
    failure = fw.Failure(code=code, message="m", outcome="not_executed")

    decision = fw.decide(failure, attempt=3)

    assert decision.action == "stop"
    assert decision.suggestion == "Do not repeat this call now. It may succeed later."
    assert fw.decide(fw.Failure(code="NOT_FOUND", message="m"), attempt=3).suggestion != decision.suggestion


@pytest.mark.parametrize(
    ("make", "name", "meant"), [(fw.Policy, "atempts", "attempts"), (fw.Tool, "idempotnt", "idempotent")]
)
def test_a_misspelt_setting_says_what_was_meant(make: Any, name: str, meant: str) -> None:
    with pytest.raises(TypeError, match=f"{make.__name__} has no setting '{name}'; did you mean '{meant}'"):
        make(**{name: 3})
