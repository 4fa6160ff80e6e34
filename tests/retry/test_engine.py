"""A run says what to do next, and it makes no difference whether the shared limits answer at once or are asked."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell.event import Event
from failwell.retry import (
    Ask,
    Breaker,
    Budget,
    Finish,
    Policy,
    Question,
    Repeats,
    Run,
    Shared,
    Try,
    Wait,
    asettle,
    settle,
)

DOWN = fw.Failure(code="SERVICE_UNAVAILABLE", message="Come back later.", outcome="not_executed")
LIMITED = fw.Failure(code="RATE_LIMITED", message="Slow down.", retry_after=3)
MISSING = fw.Failure(code="NOT_FOUND", message="There is no task t-9.")
ENDS: list[fw.Failure | None] = [DOWN, LIMITED, MISSING, None]


class Elsewhere(Shared):
    """Limits that answer every question later."""

    def begin(self, *args: Any, **options: Any) -> Any:
        return self._later(lambda: Shared.begin(self, *args, **options))

    def failed(self, *args: Any) -> Any:
        return self._later(lambda: Shared.failed(self, *args))

    def _later(self, answer: Any) -> Any:
        async def aanswer() -> Any:
            await asyncio.sleep(0)
            return answer()

        return Question(answer, aanswer)


def new(cls: type[Shared]) -> Shared:
    return cls(Budget(capacity=60), Breaker(most=3), Repeats(most=3))


class World:
    """Calls of one tool that end as they are told, and all that their hooks were told."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.now = 0.0
        self.events: list[tuple[Any, ...]] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.now += seconds

    def hook(self, event: Event) -> None:
        self.events.append((event.kind, event.attempt, event.delay, event.reason, event.elapsed, event.failure))

    def settings(self, sleep: Any) -> dict[str, Any]:
        return {
            "tool": "find",
            "server": "tasks",
            "arguments": {"id": 1},
            "hints": {"readOnlyHint": True},
            "shared": self.shared,
            "hook": self.hook,
            "clock": lambda: self.now,
            "sleep": sleep,
            "chance": lambda: 0.5,
        }


def attempts(ends: list[fw.Failure | None]) -> Any:
    left = iter(ends)

    def make() -> Any:
        failure = next(left, None)
        return "fine" if failure is None else failure

    return make


def call(world: World, ends: list[fw.Failure | None]) -> Any:
    try:
        return fw.call(attempts(ends), **world.settings(world.sleep))
    except fw.ToolFailure as refused:
        return refused.failure


def acall(world: World, ends: list[fw.Failure | None]) -> Any:
    make = attempts(ends)

    async def amake() -> Any:
        return make()

    async def main() -> Any:
        return await fw.acall(amake, **world.settings(world.asleep))

    try:
        return asyncio.run(main())
    except fw.ToolFailure as refused:
        return refused.failure


def by_hand(world: World, ends: list[fw.Failure | None]) -> Any:
    """Drive a run as a proxy does: step by step, with its own clock."""
    make, settings = attempts(ends), world.settings(None)
    given = {name: settings[name] for name in ("server", "tool", "arguments", "hook")}
    run = Run(Policy(), world.shared, hints=fw.Hints(read_only=True), started=world.now, **given)
    result: Any = None
    effect = settle(run, run.begin(world.now))
    while not isinstance(effect, Finish):
        if isinstance(effect, Wait):
            world.now += effect.delay
            effect = settle(run, run.begin(world.now))
            continue
        result = make()
        if isinstance(result, fw.Failure):
            effect = settle(run, run.failed(result, world.now, jitter=0.5))
        else:
            effect = run.succeeded(world.now)
    return effect.refusal if run.attempt == 0 else run.last if isinstance(result, fw.Failure) else result


@given(st.lists(st.lists(st.sampled_from(ENDS), max_size=4), max_size=8))
def test_every_driver_does_the_same_whether_limits_answer_at_once_or_later(
    calls: list[list[fw.Failure | None]],
) -> None:
    told: list[Any] = []
    for drive in (call, by_hand, acall):
        for cls in (Shared, Elsewhere):
            world = World(new(cls))
            told.append(([drive(world, ends) for ends in calls], world.events, world.now))

    assert told == [told[0]] * 6


def test_a_run_asks_waits_and_ends() -> None:
    run = Run(Policy(), new(Elsewhere), "s", "t", arguments={}, hints=fw.Hints(read_only=True))
    seen = [run.begin(0.0)]
    assert isinstance(seen[-1], Ask)
    assert isinstance(run.answered(seen[-1].question.run()), Try)
    seen.append(run.failed(DOWN, 0.0, jitter=1.0))
    assert isinstance(seen[-1], Ask)
    wait = run.answered(seen[-1].question.run())

    assert isinstance(wait, Wait)
    assert wait.delay > 0
    assert run.succeeded(1.0) == Finish()


def test_a_call_that_is_cancelled_while_it_asks_keeps_no_probe_and_tells_nothing() -> None:
    shared, events = new(Elsewhere), list[Event]()
    for number in range(3):
        Shared.failed(shared, fw.retry.FailedAttempt(("s", "t"), DOWN, number), 0.0)
    run = Run(Policy(), shared, "s", "t", hook=events.append)
    asking = run.begin(100.0)
    assert isinstance(asking, Ask)
    run.cancelled()
    answer = asking.question.run()  # it may probe, and will not

    assert (answer, run.answered(answer), events) == (None, Finish(), [])
    other = Run(Policy(), shared, "s", "t")
    assert isinstance(settle(other, other.begin(100.0)), Try)


def test_only_what_was_asked_is_answered() -> None:
    run = Run(Policy(), Shared.new(), "s", "t")
    with pytest.raises(RuntimeError, match="nothing was asked"):
        run.answered(None)


def test_settling_passes_on_what_asks_nothing() -> None:
    run = Run(Policy(), Shared.new(), "s", "t")

    assert settle(run, Wait(1.0)) == asyncio.run(asettle(run, Wait(1.0))) == Wait(1.0)
