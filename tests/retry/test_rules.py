"""Each of the eight rules as a property of whole calls, under a clock that only sleeping moves."""

import threading
from itertools import takewhile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

import failwell as fw
from failwell.codes import TYPES
from failwell.retry import Breaker, Budget, Repeats, Shared
from failwell.testing import EventLog, FakeClock, instant

SAFE = fw.Hints(idempotent=True)
# Only what a decision hangs on; lists of whole failures take a minute.
failures = st.builds(
    fw.Failure,
    message=st.just("m"),
    type=st.sampled_from([None, *TYPES]),
    code=st.sampled_from([None, "RATE_LIMITED", "TIMEOUT", "CONNECTION_REFUSED", "NOT_FOUND", "SERVER_BUSY", "X"]),
    retryable=st.sampled_from([UNSET, None, True, True, False]),
    outcome=st.sampled_from([None, "not_executed", "not_executed", "rejected", "unknown", "executed"]),
    retry_after=st.none() | st.floats(0, 200) | st.floats(),
    severity=st.sampled_from([None, None, "warning", "error", "critical"]),
    origin=st.sampled_from(["declared", "mapped", "read", "inferred"]),
)
all_hints = st.sampled_from([fw.Hints(), SAFE, fw.Hints(read_only=True)])
some_failures = st.lists(failures, min_size=1, max_size=6)
policies = st.builds(
    fw.Policy, attempts=st.integers(1, 6), max_wait=st.floats(0, 500), deadline=st.none() | st.floats(0, 500)
)
# What certainly is made again comes first, so that there is something to say of what comes after it.
PASSES = fw.Failure(code="CONNECTION_REFUSED", message="m")
after_one_that_passes = some_failures.map(lambda failed: [PASSES, *failed])
patient = st.builds(fw.Policy, attempts=st.integers(2, 6), max_wait=st.floats(20, 500))


class Call:
    """A call of a tool that fails in turn as it is told, then succeeds; and what the engine did about it."""

    def __init__(self, fails: list[fw.Failure], **more: Any) -> None:
        self.fails = fails
        self.began: list[float] = []
        self.clock = FakeClock(chance=more.pop("chance", 0.5))
        self.recorder = EventLog()
        self.answer = fw.call(
            self.function,
            clock=self.clock,
            sleep=self.clock.sleep,
            chance=self.clock.chance,
            hook=self.recorder,
            **{"server": "s", "tool": "t", "shared": Shared.new(), **more},
        )

    def function(self) -> Any:
        self.began.append(self.clock.now)
        self.clock.advance(0.25)
        made = len(self.began)
        return self.fails[made - 1] if made <= len(self.fails) else "ok"

    @property
    def retried(self) -> list[fw.Failure]:
        return self.fails[: len(self.began) - 1]


@given(failed=after_one_that_passes, hints=all_hints, policy=patient)
def test_rule_1_the_server_s_word_comes_first(failed: list[fw.Failure], hints: fw.Hints, policy: fw.Policy) -> None:
    call = Call(failed, hints=hints, policy=policy)

    assert call.retried
    assert all(failure.retryable is not False for failure in call.retried)
    assert all(failure.severity not in ("warning", "critical") for failure in call.retried)


@given(failed=after_one_that_passes, policy=patient)
def test_rule_2_what_may_have_taken_effect_is_not_run_twice(failed: list[fw.Failure], policy: fw.Policy) -> None:
    call = Call(failed, policy=policy)

    assert call.retried
    assert all(f.outcome in ("not_executed", "rejected") and f.origin != "inferred" for f in call.retried)


@given(failed=after_one_that_passes, hints=all_hints)
def test_rule_2_what_took_effect_is_not_run_twice_on_any_tool(failed: list[fw.Failure], hints: fw.Hints) -> None:
    call = Call(failed, hints=hints, policy=fw.Policy(attempts=6, repeatable=True))

    assert call.retried
    assert all(failure.outcome != "executed" for failure in call.retried)


def may_run_again(failure: fw.Failure, hints: fw.Hints, *, is_first: bool) -> bool:
    is_safe = hints.repeatable or (failure.outcome in ("not_executed", "rejected") and failure.origin != "inferred")
    is_bearable = (failure.retry_after or 0.0) <= threading.TIMEOUT_MAX  # nobody can sleep longer
    is_open = failure.severity in (None, "error") and failure.outcome != "executed"
    waits_for_server = failure.type == "CONFLICT" and failure.retry_after is not None and failure.recoverable
    is_waited_out = is_first and waits_for_server and failure.code in (None, "X")  # the others say what to do
    return (bool(failure.retryable) or is_waited_out) and is_open and is_safe and is_bearable


@given(failed=some_failures, hints=all_hints)
def test_what_rules_1_and_2_do_not_forbid_is_made_again(failed: list[fw.Failure], hints: fw.Hints) -> None:
    known = [failure for failure in failed if failure.retryable is not None]
    shared = Shared(Budget(capacity=10**6), Breaker(most=10**6), Repeats(most=10**6))

    call = Call(known, hints=hints, policy=fw.Policy(attempts=9, max_wait=1e12), shared=shared)

    may_run = (may_run_again(failure, hints, is_first=index == 0) for index, failure in enumerate(known))
    retried = known[: sum(takewhile(bool, may_run))]
    assert call.retried[: len(known)] == retried
    assert (call.answer == "ok") is (retried == known)


@given(hints=all_hints, policy=policies, delay=st.floats(0, 200), outcome=st.sampled_from(["rejected", "unknown"]))
def test_rule_1_a_conflict_with_a_stated_delay_is_waited_out_once(
    hints: fw.Hints, policy: fw.Policy, delay: float, outcome: Any
) -> None:
    locked = fw.Failure(code="LOCKED", message="m", retry_after=delay, outcome=outcome)

    call = Call([locked] * 9, hints=hints, policy=policy, chance=0.0)

    is_safe = hints.repeatable or outcome == "rejected"
    delay = locked.retry_after or 0.0  # rounded
    is_in_time = delay <= policy.max_wait and (policy.deadline is None or 0.25 + delay <= policy.deadline)
    is_waited_out = is_safe and is_in_time and policy.attempts > 1
    assert call.clock.slept == ([delay] if is_waited_out else [])
    assert len(call.began) == (2 if is_waited_out else 1)


@given(hints=all_hints, attempts=st.integers(1, 9))
def test_rule_3_what_nobody_knows_is_tried_three_times_on_a_safe_tool_only(hints: fw.Hints, attempts: int) -> None:
    unknown = fw.Failure(message="m", type="INTERNAL", retryable=None, outcome="unknown")

    call = Call([unknown] * 9, hints=hints, policy=fw.Policy(attempts=attempts))

    assert len(call.began) == (min(attempts, 3) if hints.repeatable else 1)


@given(failed=some_failures, policy=policies, chance=st.floats(0, 1))
def test_rule_4_delays_are_never_shortened_and_never_too_long(
    failed: list[fw.Failure], policy: fw.Policy, chance: float
) -> None:
    call = Call(failed, hints=SAFE, policy=policy, chance=chance)

    assert len(call.clock.slept) == len(call.retried)
    for failure, delay in zip(call.retried, call.clock.slept, strict=True):
        assert delay >= (failure.retry_after or 0)
        assert delay <= policy.max_wait
    assert policy.deadline is None or all(began <= policy.deadline for began in call.began[1:])
    for event, own in zip(call.recorder.events, failed, strict=False):
        assert event.failure is not None
        assert event.failure.retry_after == own.retry_after


@given(
    capacity=st.integers(20, 200),
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=60),
)
def test_rule_5_retries_cost_no_more_than_the_budget_and_what_successes_gave_back(
    capacity: int, lengths: list[int]
) -> None:
    shared = Shared(Budget(capacity=capacity, cost=10, throttled_cost=5), Breaker(most=10**6), Repeats(most=10**6))
    refused = fw.NetworkFailure("m", outcome="not_executed").failure

    calls = [Call([refused] * length, shared=shared, policy=fw.Policy(attempts=4)) for length in lengths]

    retries = sum(len(call.retried) for call in calls)
    given_back = sum(10 if call.retried else 1 for call in calls if call.answer == "ok")
    assert 10 * retries <= capacity + given_back
    assert 0 <= shared.budget.left("s") <= capacity


@given(steps=st.lists(st.tuples(st.sampled_from(["ok", "down", "wrong"]), st.floats(0, 40)), min_size=5, max_size=40))
def test_rule_5_an_open_breaker_lets_no_call_through_but_one_after_the_pause(steps: list[tuple[str, float]]) -> None:
    breaker, now = Breaker(most=3, window=60, pause=30), 0.0
    failures = {"down": fw.Unavailable("m").failure, "wrong": fw.Invalid("m").failure}
    in_a_row: list[float] = []
    opened: float | None = None
    for answer, passes in steps:
        now += passes
        refusal = breaker.refusal(("s", "t"), now, caller=answer)

        assert (refusal is not None) == (opened is not None and now < opened + 30)
        if refusal is not None:
            assert refusal.code == "CIRCUIT_OPEN"
            assert 0 < (refusal.retry_after or 0) <= 30
            continue
        if answer != "down":
            in_a_row, opened = [], None
            breaker.succeeded(("s", "t")) if answer == "ok" else breaker.failed(
                ("s", "t"), failures[answer], now, caller=answer
            )
            continue
        breaker.failed(("s", "t"), failures[answer], now, caller=answer)
        in_a_row = [at for at in in_a_row if at > now - 60] + [now]
        opened = now if opened is not None or len(in_a_row) >= 3 else None


@given(
    most=st.integers(1, 4),
    arguments=st.lists(st.sampled_from([{"a": 1, "b": [2]}, {"b": [2], "a": 1}, {"a": 2}]), min_size=1, max_size=12),
)
def test_rule_6_the_same_call_failing_the_same_way_ends_after_so_many(most: int, arguments: list[Any]) -> None:
    shared = Shared(Budget(capacity=1e9), Breaker(most=10**6), Repeats(most=most))
    seen = {1: 0, 2: 0}
    for sent in arguments:
        call = Call([fw.NetworkFailure("m", outcome="not_executed").failure] * 9, shared=shared, arguments=sent)
        seen[sent["a"]] += 1

        assert len(call.began) == (1 if seen[sent["a"]] >= most else 3)


@given(failed=some_failures, attempts=st.integers(2, 9))
def test_rule_7_what_was_retried_below_is_not_retried_above(failed: list[fw.Failure], attempts: int) -> None:
    results = [fw.encode(failure, attempts=attempts) for failure in failed]

    call = Call(results, hints=SAFE)  # type: ignore[arg-type]  # a failure as it comes from a server

    assert len(call.began) == 1 or call.fails[0].get("isError") is not True  # type: ignore[attr-defined]  # see above


def test_rule_8_clock_sleep_and_chance_are_what_the_call_was_given() -> None:
    with instant(chance=0.0) as default:
        call = Call([fw.RateLimited("m").failure] * 2, policy=fw.Policy(deadline=100))

    assert (call.answer, call.clock.slept, default.slept) == ("ok", [0.5, 1.0], [])
    assert [event.elapsed for event in call.recorder.events] == [0.25, 1.0, 2.25]


@given(failed=failures, hints=all_hints, policy=policies, chance=st.floats(0, 1))
def test_what_the_engine_retries_is_what_is_decided(
    failed: fw.Failure, hints: fw.Hints, policy: fw.Policy, chance: float
) -> None:
    call = Call([failed], hints=hints, policy=policy, chance=chance)

    decision = fw.decide(failed, hints, policy=policy, elapsed=0.25, jitter=chance)
    event = call.recorder.events[0]
    assert call.clock.slept == ([] if decision.retry_delay is None else [decision.retry_delay])
    assert (event.delay, event.reason) == (decision.retry_delay, decision.reason)


GRAVITY = ("not_executed", "rejected", "unknown", "executed")


@given(failed=some_failures, hints=all_hints, policy=patient)
def test_the_outcome_is_the_gravest_of_all_tries(failed: list[fw.Failure], hints: fw.Hints, policy: fw.Policy) -> None:
    call = Call(failed, hints=hints, policy=policy)

    gravest = 0
    for event, own in zip(call.recorder.events, failed, strict=False):
        gravest = max(gravest, GRAVITY.index(own.outcome))
        assert event.failure is not None
        assert event.failure.outcome == GRAVITY[gravest]
        assert event.failure.replace(outcome=own.outcome) == own
