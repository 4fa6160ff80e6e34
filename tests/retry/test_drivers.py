"""Calls are repeated as the policy says, and never otherwise; under a clock that only moves when somebody sleeps."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import failwell as fw
from failwell.retry import Breaker, Budget, Event, Repeats, Run, Shared
from tests.retry.steps import failed


class World:
    """A clock that sleeping moves, chance that is always the same, and everything that happened."""

    def __init__(self, *, shared: Shared | None = None) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.events: list[Event] = []
        self.made = 0
        self.shared = shared or Shared.new()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def settings(self, **more: Any) -> dict[str, Any]:
        return {
            "clock": lambda: self.now,
            "chance": lambda: 1.0,
            "shared": self.shared,
            "hook": self.events.append,
            "server": "s",
            "tool": "t",
            **more,
        }

    def call(self, function: Callable[[], Any], **more: Any) -> Any:
        return fw.call(function, sleep=self.sleep, **self.settings(**more))

    def acall(self, function: Callable[[], Any], **more: Any) -> Any:
        async def awaited() -> Any:
            return function()

        return asyncio.run(fw.acall(awaited, sleep=self.asleep, **self.settings(**more)))

    def flaky(self, *answers: Any) -> Callable[[], Any]:
        """Return a function that gives these answers one after another, exceptions raised."""

        def function() -> Any:
            answer = answers[min(self.made, len(answers) - 1)]
            self.made += 1
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return function


LIMITED = fw.RateLimited("m", retry_after=7)
REFUSED = fw.NetworkFailure("m", outcome="not_executed")
DOWN = fw.Unavailable("m", outcome="not_executed", retry_after=7)
ways = pytest.mark.parametrize("way", ["call", "acall"])


@ways
@pytest.mark.parametrize(
    "failure",
    [LIMITED, LIMITED.failure, fw.fail(LIMITED), fw.encode(LIMITED), fw.encode(LIMITED, "xml")],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_that_passes_is_waited_out(way: str, failure: Any) -> None:
    world = World()

    assert getattr(world, way)(world.flaky(failure, failure, "ok")) == "ok"
    assert world.slept == [7, 7]
    assert [event.kind for event in world.events] == ["retry", "retry", "recovered"]


@ways
@pytest.mark.parametrize(
    "value",
    ["Error: rate limited", {"type": "TRANSIENT", "message": "m", "recoverable": True}, None, [1], 5, object()],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_a_success_whatever_it_looks_like(way: str, value: Any) -> None:
    world = World()

    assert getattr(world, way)(world.flaky(value), hints={"readOnlyHint": True}) is value
    assert world.made == 1


@ways
@pytest.mark.parametrize(
    "exc",
    [fw.NotFound("m"), fw.TimedOut("m"), KeyError("x"), ConnectionResetError()],
    ids=lambda exc: type(exc).__name__,
)
def test_what_is_not_safe_is_made_once(way: str, exc: Exception) -> None:
    world = World()

    with pytest.raises(type(exc)):
        getattr(world, way)(world.flaky(exc, "ok"))

    assert (world.made, world.slept) == (1, [])


@ways
@pytest.mark.parametrize("dialect", [None, *fw.dialects.DIALECTS])
def test_a_reset_while_the_effect_was_under_way_is_not_repeated(way: str, dialect: str | None) -> None:
    world = World()
    reset = fw.NetworkFailure("The connection was reset while the mail was being sent.")
    function = world.flaky(reset if dialect is None else fw.encode(reset, dialect), "sent")

    if dialect is None:
        with pytest.raises(fw.NetworkFailure):
            getattr(world, way)(function)
    else:
        assert getattr(world, way)(function) != "sent"

    [event] = world.events
    assert (world.made, world.slept, event.kind) == (1, [], "failure")
    assert event.failure is not None
    assert event.failure.outcome == "unknown"
    assert fw.decide(event.failure).action == "verify"


@ways
def test_a_later_try_that_had_no_effect_does_not_undo_what_an_earlier_one_may_have_done(way: str) -> None:
    world = World()
    function = world.flaky(fw.TimedOut("m"), fw.encode(LIMITED))

    getattr(world, way)(function, hints={"idempotentHint": True}, policy=fw.Policy(attempts=2))

    failures = [event.failure for event in world.events]
    assert [(failure.code, failure.outcome) for failure in failures if failure] == [
        ("TIMEOUT", "unknown"),
        ("RATE_LIMITED", "unknown"),
    ]
    assert LIMITED.failure.outcome == "not_executed"


@ways
def test_an_ambiguous_timeout_of_a_safe_tool_is_tried_again(way: str) -> None:
    world = World()

    assert getattr(world, way)(world.flaky(fw.TimedOut("m"), "ok"), hints={"idempotentHint": True}) == "ok"


@ways
def test_the_last_answer_comes_back_with_the_number_of_attempts(way: str) -> None:
    world = World()
    result = fw.encode(LIMITED)

    answer = getattr(world, way)(world.flaky(result))

    noted = {"attempts": 3, "outcome": "not_executed"}
    assert answer == {**result, "_meta": {**result["_meta"], "dev.failwell/retry": noted}}
    assert world.made == 3
    assert "dev.failwell/retry" not in result["_meta"]


@ways
def test_what_was_retried_below_is_not_retried_above(way: str) -> None:
    world = World()

    getattr(world, way)(world.flaky(fw.encode(LIMITED, attempts=3)))

    assert world.made == 1
    assert world.events[-1].reason == "It was already retried."


def test_retried_calls_nest_as_one() -> None:
    world = World()
    inner = world.flaky(LIMITED)

    with pytest.raises(fw.RateLimited):
        world.call(lambda: world.call(inner))

    assert world.made == 3


@ways
@pytest.mark.parametrize("cancellation", [asyncio.CancelledError(), KeyboardInterrupt()], ids=repr)
def test_cancellation_is_never_retried(way: str, cancellation: BaseException) -> None:
    world = World()

    with pytest.raises(type(cancellation)):
        getattr(world, way)(world.flaky(cancellation, "ok"))

    assert world.made == 1


def test_a_thousand_concurrent_calls_keep_their_own_count() -> None:
    world = World(shared=Shared(Budget(capacity=1e9), Breaker(most=10**6), Repeats(most=10**6)))
    made = [0] * 1000

    async def one(number: int) -> int:
        async def function() -> int:
            made[number] += 1
            if made[number] < 3:
                raise REFUSED
            return number

        async def turn(_: float) -> None:
            await asyncio.sleep(0)

        return await fw.acall(function, sleep=turn, **world.settings(arguments=number))

    async def all_of_them() -> list[int]:
        return await asyncio.gather(*map(one, range(1000)))

    assert asyncio.run(all_of_them()) == list(range(1000))
    assert made == [3] * 1000


def test_a_storm_of_failures_stays_within_the_budget() -> None:
    shared = Shared(Budget(capacity=100, cost=5), Breaker(most=10**6), Repeats(most=10**6))
    world = World(shared=shared)

    for number in range(1000):
        with pytest.raises(fw.NetworkFailure):
            world.call(world.flaky(REFUSED), arguments=number)

    assert world.made == 1000 + 100 // 5
    assert world.events[-1].reason == "The retry budget of the server is used up."
    world.call(lambda: "ok", server="another")


def test_successes_fill_the_budget_again() -> None:
    budget = Budget(capacity=100, cost=40)
    world = World(shared=Shared(budget, Breaker(), Repeats()))
    refused = fw.NetworkFailure("m", outcome="not_executed")

    assert world.call(world.flaky(refused, "ok")) == "ok"
    assert budget.left("s") == 100
    with pytest.raises(fw.NetworkFailure):
        world.call(world.flaky(refused))
    assert budget.left("s") == 20
    for _ in range(80):
        world.call(lambda: "ok")
    assert budget.left("s") == 100


def test_a_tool_that_keeps_failing_is_left_alone_for_a_while() -> None:
    world = World(shared=Shared(Budget(), Breaker(most=3, pause=30), Repeats(most=10**6)))
    down = fw.Unavailable("m", outcome="unknown")
    for _ in range(3):
        with pytest.raises(fw.Unavailable):
            world.call(world.flaky(down))

    with pytest.raises(fw.ToolFailure) as refused:
        world.call(world.flaky("ok"))

    assert (refused.value.failure.code, refused.value.failure.retry_after) == ("CIRCUIT_OPEN", 30)
    assert refused.value.failure.outcome == "not_executed"
    assert world.made == 3
    assert world.call(lambda: "ok", tool="another") == "ok"
    world.now += 30
    assert world.call(lambda: "ok") == "ok"
    assert world.call(lambda: "ok") == "ok"


def test_a_failed_probe_opens_the_breaker_again() -> None:
    world = World(shared=Shared(Budget(), Breaker(most=1, pause=30), Repeats()))
    down = fw.Unavailable("m")
    for _ in range(2):
        with pytest.raises(fw.Unavailable):
            world.call(world.flaky(down))
        world.now += 9
        with pytest.raises(fw.ToolFailure, match="suspended"):
            world.call(world.flaky("ok"))
        world.now += 21


def test_a_cancelled_probe_lets_the_next_call_probe() -> None:
    world = World(shared=Shared(Budget(), Breaker(most=1, pause=30), Repeats()))
    with pytest.raises(fw.Unavailable):
        world.call(world.flaky(fw.Unavailable("m")))
    world.now += 30
    with pytest.raises(KeyboardInterrupt):
        world.call(raise_interrupt)

    assert world.call(lambda: "ok") == "ok"


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def said(text: str) -> fw.ToolFailure:
    """Return what a server that knows nothing of failwell says."""
    failure = fw.read({"content": [{"type": "text", "text": text}], "isError": True})
    assert failure is not None
    return fw.ToolFailure(failure)


@pytest.mark.parametrize(
    "failed",
    [
        fw.Invalid("m"),
        fw.Conflict("the order was taken meanwhile", outcome="unknown"),
        said("ENOENT: no such file or directory, open '/a'"),
        said("Unknown tool: x"),
        said("It is Tuesday"),
    ],
    ids=str,
)
def test_wrong_input_does_not_open_the_breaker(failed: fw.ToolFailure) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=2), Repeats(most=10**6)))
    for _ in range(5):
        with pytest.raises(fw.ToolFailure):
            world.call(world.flaky(failed))

    assert world.call(lambda: "ok") == "ok"


@pytest.mark.parametrize("failed", [fw.TimedOut("m"), fw.Internal("m"), said("503 Service Unavailable")], ids=str)
def test_what_may_pass_and_crashes_open_the_breaker(failed: fw.ToolFailure) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=2, pause=30), Repeats(most=10**6)))
    for _ in range(2):
        with pytest.raises(fw.ToolFailure):
            world.call(world.flaky(failed))

    with pytest.raises(fw.ToolFailure) as caught:
        world.call(lambda: "ok")
    assert caught.value.failure.code == "CIRCUIT_OPEN"


@ways
@pytest.mark.parametrize("last", [DOWN, fw.encode(DOWN)], ids=["raised", "returned"])
def test_a_breaker_that_opens_during_a_call_lets_it_end_with_its_own_failure(way: str, last: Any) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=2, pause=30), Repeats()))
    flaky = world.flaky(last)

    def function() -> Any:
        for number in range(2):  # other calls of the tool fail meanwhile
            run = Run(fw.Policy(), world.shared, "s", "t", arguments=number)
            failed(run, fw.Unavailable("m").failure, world.now, jitter=0)
        return flaky()

    if isinstance(last, Exception):
        with pytest.raises(fw.Unavailable):
            getattr(world, way)(function)
    else:
        assert getattr(world, way)(function) == last
    assert (world.made, world.slept) == (1, [])
    assert world.events[-1].reason == "Calls to this tool are suspended after repeated failures."


@pytest.mark.parametrize("last", [DOWN, fw.encode(DOWN)], ids=["raised", "returned"])
def test_a_breaker_that_opens_while_a_call_waits_ends_it_with_its_own_failure(last: Any) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=1, pause=30), Repeats()))

    def sleep(seconds: float) -> None:
        world.sleep(seconds)
        world.shared.breaker.failed(("s", "other"), fw.Unavailable("m").failure, world.now)

    settings = world.settings(tool="other", shared=world.shared)
    world.shared.breaker.most = 2  # so that the call itself does not open it
    if isinstance(last, Exception):
        with pytest.raises(fw.Unavailable):
            fw.call(world.flaky(last), sleep=sleep, **settings)
    else:
        assert fw.call(world.flaky(last), sleep=sleep, **settings) == last
    assert (world.made, world.slept) == (1, [7])
    assert [(event.kind, event.attempt) for event in world.events] == [("retry", 1), ("failure", 1)]
    assert world.events[1].failure == world.events[0].failure
    assert world.events[1].reason == "Calls to this tool are suspended after repeated failures."


def test_a_delay_that_is_no_number_is_no_delay() -> None:
    world = World()
    text = '{"type": "TRANSIENT", "message": "busy", "recoverable": true, "data": {"retry_after": "soon"}}'
    result = {"content": [{"type": "text", "text": text}], "isError": True}

    assert world.call(world.flaky(result, "ok"), hints={"idempotentHint": True}) == "ok"
    assert world.slept == [0.05]


@ways
def test_a_result_that_does_not_like_to_be_copied_comes_back_as_it_is(way: str) -> None:
    class Sealed(dict[str, Any]):
        def keys(self) -> Any:
            raise RuntimeError("no")

    world = World()
    result = Sealed(fw.encode(LIMITED))

    assert getattr(world, way)(world.flaky(result)) is result


def test_the_same_call_failing_again_and_again_is_not_tried_again() -> None:
    world = World(shared=Shared(Budget(), Breaker(most=100), Repeats(most=3)))
    for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2}):
        with pytest.raises(fw.NetworkFailure):
            world.call(world.flaky(REFUSED), arguments=arguments)

    assert world.made == 3 + 3 + 1
    assert world.events[-1].reason == "The same call keeps failing the same way."
    with pytest.raises(fw.NetworkFailure):
        world.call(world.flaky(REFUSED), arguments={"a": 2})
    assert world.made == 7 + 3


def test_a_rate_limit_says_nothing_of_the_call_that_met_it() -> None:
    world = World(shared=Shared(Budget(capacity=14), Breaker(most=1), Repeats(most=1)))

    for _ in range(50):
        assert world.call(world.flaky(LIMITED, "ok"), arguments={"a": 1}) == "ok"
        world.made = 0

    assert {event.kind for event in world.events} == {"retry", "recovered"}
    assert world.shared.failure_state[:3] == ({}, {}, {})


@ways
def test_a_call_waits_for_a_suspended_tool_if_that_does_not_take_long(way: str) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=1, pause=30), Repeats()))
    world.shared.breaker.failed(("s", "t"), fw.Unavailable("m").failure, 0.0)
    world.now = 15.0

    assert getattr(world, way)(world.flaky("ok")) == "ok"
    assert (world.made, sum(world.slept)) == (1, 16)  # the rest of the pause, and a moment so that not all come at once


@ways
def test_a_call_that_may_not_wait_as_long_is_refused_at_once(way: str) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=1, pause=30), Repeats()))
    world.shared.breaker.failed(("s", "t"), fw.Unavailable("m").failure, 0.0)
    world.now = 15.0

    for policy in (fw.Policy(deadline=10), fw.Policy(longest=10)):
        with pytest.raises(fw.ToolFailure) as refused:
            getattr(world, way)(world.flaky("ok"), policy=policy)
        assert (refused.value.failure.code, refused.value.failure.retry_after) == ("CIRCUIT_OPEN", 15)
    assert (world.made, world.slept) == (0, [])


@pytest.mark.parametrize(("policy", "waited"), [(fw.Policy(), 40), (fw.Policy(deadline=100), 100)], ids=repr)
@ways
def test_a_call_outlasts_probes_that_fail_and_waits_as_long_as_its_deadline_allows(
    way: str, policy: fw.Policy, waited: float
) -> None:
    class Probed(Breaker):
        def refusal(self, key: Any, now: float, *, caller: object = None) -> fw.Failure | None:
            if now < 200:
                self.failing[key].opened = now - now % 15  # another call probes every 15 seconds, and fails
                self.failing[key].prober = None
            return super().refusal(key, now, caller=caller)

    world = World(shared=Shared(Budget(), Probed(most=1), Repeats()))
    world.shared.breaker.failed(("s", "t"), fw.Unavailable("m").failure, 0.0)

    with pytest.raises(fw.ToolFailure, match="suspended"):
        getattr(world, way)(world.flaky("ok"), policy=policy)
    assert world.made == 0
    assert waited - 16 <= sum(world.slept) <= waited


@ways
def test_a_retry_waits_longer_where_the_calls_before_it_used_up_their_tries(way: str) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=9), Repeats(most=9)))
    down = fw.Unavailable("m")
    delays: list[list[float]] = []

    for ends in ([down] * 3, [down] * 3, [down, "ok"], [down, "ok"]):
        world.made = 0
        world.slept.clear()
        with contextlib.suppress(fw.Unavailable):
            getattr(world, way)(world.flaky(*ends), policy=fw.Policy(repeatable=True))
        delays.append(list(world.slept))

    assert delays == [[0.05, 0.1], [2, 4], [4], [0.05]]


@ways
def test_a_longer_wait_after_lost_calls_passes_no_deadline_and_replaces_no_stated_delay(way: str) -> None:
    world = World(shared=Shared(Budget(), Breaker(most=9), Repeats(most=9)))
    for policy, after, delay in (
        (fw.Policy(repeatable=True, attempts=1), None, None),
        (fw.Policy(repeatable=True, deadline=1), None, 0.05),
        (fw.Policy(repeatable=True), 0.5, 0.5),
    ):
        world.made = 0
        world.slept.clear()
        with contextlib.suppress(fw.Unavailable):
            getattr(world, way)(world.flaky(fw.Unavailable("m", retry_after=after), "ok"), policy=policy)
        assert world.slept == ([] if delay is None else [delay])
        world.shared.breaker.failed(("s", "t"), fw.Unavailable("m").failure, world.now)
        world.shared.breaker.gave_up(("s", "t"))


@pytest.mark.parametrize("kind", ["call", "acall"])
def test_successes_count_though_nothing_had_failed_when_they_began(kind: str) -> None:
    shared = Shared(Budget(), Breaker(most=5), Repeats(most=10**6))
    settings: dict[str, Any] = {"shared": shared, "server": "s", "tool": "t"}

    def concurrent() -> str:
        # While this call runs, others begin and fail.
        for number in range(4):
            run = Run(fw.Policy(), shared, "s", "t", arguments=number)
            failed(run, fw.Unavailable("m").failure, 0.0)
        return "ok"

    async def aconcurrent() -> str:
        return concurrent()

    for _ in range(3):
        answer = fw.call(concurrent, **settings) if kind == "call" else asyncio.run(fw.acall(aconcurrent, **settings))
        assert answer == "ok"

    assert shared.breaker.suspension(("s", "t"), 0.0) == 0
    assert not shared.breaker.failing


def test_a_hook_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("broken hook")

    world = World()

    assert world.call(world.flaky(LIMITED, "ok"), hook=broken) == "ok"
    assert "a retry hook failed" in caplog.text


@pytest.mark.parametrize("retry_after", [3600.0 * 24 * 365, -5, float("nan")])
def test_a_server_that_lies_about_its_delay_changes_only_that_answer(retry_after: float) -> None:
    world = World()
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=retry_after)

    world.call(world.flaky(failure, "ok"))

    assert sum(world.slept) <= 20


@pytest.mark.parametrize("make", [lambda: Budget(cost=0), lambda: Breaker(most=0), lambda: Repeats(most=0)])
def test_limits_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="not 0"):
        make()
