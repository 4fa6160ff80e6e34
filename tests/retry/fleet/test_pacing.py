"""A rate limit that one process meets holds up the calls of the others, and lets them go one after another."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

import failwell as fw
from failwell.retry import Finish, FleetLimits, Policy, Run, Try, Wait, settle
from tests.retry.fleet.servers import RedisServer

Make = Callable[..., FleetLimits]
Fleet = Callable[[], FleetLimits]
DELAY = 60.0


def limited(**more: Any) -> fw.Failure:
    return fw.Failure(**{"code": "RATE_LIMITED", "message": "m", "retry_after": DELAY, **more})


@pytest.fixture
def process(redis: RedisServer, prefix: str, make: Make) -> Fleet:
    """Gives the limits of another process of the fleet."""
    return lambda: make(redis.url, prefix=prefix)


def meet(limits: FleetLimits, failure: fw.Failure, *, tool: str = "t", policy: Policy | None = None) -> Run:
    """Have a call of a process meet a rate limit."""
    run = Run(policy or Policy(), limits, "s", tool)
    assert isinstance(settle(run, run.begin(0.0)), Try)
    settle(run, run.failed(failure, 0.0, jitter=0.0))
    return run


def begun(limits: FleetLimits, *, tool: str = "t", policy: Policy | None = None) -> Any:
    run = Run(policy or Policy(), limits, "s", tool)
    return settle(run, run.begin(0.0))


def waits(limits: FleetLimits, count: int) -> list[float]:
    effects = [begun(limits) for _ in range(count)]
    assert all(isinstance(effect, Wait) for effect in effects)
    return [effect.delay for effect in effects]


def about(seconds: float) -> Any:
    return pytest.approx(seconds, abs=DELAY / 2)  # machines of tests may be busy


def test_calls_of_other_processes_wait_as_long_as_the_server_asked(process: Fleet) -> None:
    here, there = process(), process()
    assert isinstance(begun(there), Try)

    meet(here, limited())

    assert waits(there, 1) == [about(DELAY)]
    assert isinstance(begun(there, tool="another"), Try)


def test_they_are_released_one_after_another_and_the_first_to_come_goes_first(process: Fleet) -> None:
    here, there = process(), process()
    meet(here, limited())

    delays = waits(there, 10)

    assert delays == sorted(delays)
    assert len(set(delays)) == 10


def test_processes_share_a_limit_that_the_server_states(process: Fleet) -> None:
    here, there, third = process(), process(), process()
    meet(here, limited(details={"limit": 60, "window": 60}))

    gaps = [[later - earlier for earlier, later in pairwise(waits(one, 4)[1:])] for one in (there, third)]

    assert gaps == [pytest.approx([2 / 0.97] * 2), pytest.approx([3 / 0.97] * 2)]


def test_a_limit_of_the_whole_server_holds_up_every_tool(process: Fleet) -> None:
    here, there = process(), process()

    meet(here, limited(details={"scope": "server"}))

    effect = begun(there, tool="another")
    assert isinstance(effect, Wait)
    assert effect.delay == about(DELAY)


def test_a_call_whose_turn_comes_after_its_deadline_is_not_sent(process: Fleet) -> None:
    here, there = process(), process()
    meet(here, limited())

    effect = begun(there, policy=Policy(deadline=5))

    assert isinstance(effect, Finish)
    assert effect.refusal is not None
    assert (effect.refusal.code, effect.refusal.outcome) == ("RATE_LIMITED", "not_executed")


@pytest.mark.parametrize(
    "failure",
    [limited(retry_after=10_000), limited(origin="inferred", confidence=0.5), limited(retry_after=None)],
    ids=["too long", "a guess", "no delay"],
)
def test_what_one_call_must_bear_alone_holds_up_no_other_process(process: Fleet, failure: fw.Failure) -> None:
    here, there = process(), process()

    meet(here, failure)

    assert isinstance(begun(there), Try)


def test_without_redis_each_process_keeps_its_own_pace(own_redis: RedisServer, prefix: str, make: Make) -> None:
    here, there = make(own_redis.url, prefix=prefix), make(own_redis.url, prefix=prefix)
    own_redis.kill()

    meet(here, limited())

    assert waits(here, 1) == [about(DELAY)]
    assert isinstance(begun(there), Try)


def test_a_pace_is_forgotten_when_redis_forgets_it(process: Fleet, redis: RedisServer, prefix: str) -> None:
    meet(process(), limited())
    kept = [redis.client.pttl(key) for key in redis.client.scan_iter(f"{prefix}:*:gate:*")]

    assert kept == [pytest.approx((DELAY + 60) * 1000, abs=DELAY * 1000 / 2)]
