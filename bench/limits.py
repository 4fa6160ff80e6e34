"""Limits in memory and in Redis: what each step of a call costs, how often Redis is asked, and what it keeps."""

import functools
import itertools
import time
from collections.abc import Iterator
from typing import Any

from tests.retry.fleet.servers import RedisServer, running

import failwell as fw
from bench.measure import Amount, Figure, compare
from failwell.retry import Breaker, Budget, FailedAttempt, FleetLimits, Limits, Question, Repeats, Run, Shared, settle

GROUP = "limits"
DOWN = fw.Unavailable("m", outcome="rejected").failure
KEY = ("s", "t")
ROUND_TRIPS, CALLS = 500, 1000


def figures() -> Shared:
    """Return limits that nothing reaches, so that each step is the whole step."""
    return Shared(Budget(capacity=1e12), Breaker(most=1000, window=0), Repeats(most=10**9))


def run() -> Iterator[Figure | Amount]:
    """Measure beside each other, on a Redis of its own on loopback."""
    with running() as redis:
        yield from _steps(redis)
        yield from _round_trips(redis)
        yield from _kept(redis)


def _steps(redis: RedisServer) -> Iterator[Figure]:
    """Processor time of this process only: Redis is another."""
    here, asked = figures(), FleetLimits.at(redis.url, figures(), prefix="asked", freshness=0.0)
    believed = FleetLimits.at(redis.url, figures(), prefix="believed", freshness=1e9)
    yield compare(GROUP, "call, success, answer believed", _success(believed), "in memory", _success(here), number=1000)
    yield compare(GROUP, "begin, asked", _begin(asked), "in memory", _begin(here), number=100)
    yield compare(GROUP, "failed, asked", _failed(asked), "in memory", _failed(here), number=100)
    for limits in (asked, believed):
        limits.close()


def _success(limits: Limits) -> Any:
    return functools.partial(fw.call, lambda: "ok", server="s", tool="t", arguments={"a": 1}, shared=limits)


def _begin(limits: Limits) -> Any:
    return lambda: _answered(limits.begin(KEY, 0.0, caller=None))


def _failed(limits: Limits) -> Any:
    numbers = itertools.count()

    def fail() -> None:
        _answered(limits.failed(FailedAttempt(KEY, DOWN, None, {"a": next(numbers) % 50}, delay=1.0), 0.0))

    return fail


def _round_trips(redis: RedisServer) -> Iterator[Amount]:
    limits = FleetLimits.at(redis.url, figures(), prefix="trips", freshness=0.0)
    best = min(_wall(limits) for _ in range(ROUND_TRIPS))
    yield Amount(group=GROUP, what="one step, from question to answer", value=round(best * 1e6, 1), unit="µs")
    limits.close()
    told: Any = redis.client.info("commandstats")
    spent = told["cmdstat_evalsha"]["usec_per_call"]
    yield Amount(group=GROUP, what="one step, as Redis itself counts it", value=round(spent, 1), unit="µs")
    for what, seconds, fails in (
        ("1,000 successes of a tool within a second", 1.0, False),
        ("1,000 successes of a tool, one in ten seconds", 10.0 * CALLS, False),
        ("1,000 calls that fail once, within a second", 1.0, True),
    ):
        before = _asked(redis)
        limits = FleetLimits.at(redis.url, figures(), prefix=what)
        for number in range(CALLS):
            _one_call(limits, number * seconds / CALLS, fails=fails)
            limits.flush()
        limits.close()
        yield Amount(group=GROUP, what=what, value=_asked(redis) - before, unit="round trips")


def _wall(limits: FleetLimits) -> float:
    begin = time.perf_counter()
    _answered(limits.begin(KEY, 0.0, caller=None))
    return time.perf_counter() - begin


def _answered(found: Any) -> Any:
    return found.run() if isinstance(found, Question) else found


def _one_call(limits: FleetLimits, now: float, *, fails: bool) -> None:
    run = Run(fw.Policy(), limits, "s", "t", arguments={})
    settle(run, run.begin(now))
    if fails:
        settle(run, run.failed(DOWN, now, jitter=0))
        settle(run, run.begin(now))
    run.succeeded(now)


def _asked(redis: RedisServer) -> int:
    told: Any = redis.client.info("commandstats")
    return int(sum(told.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha")))


def _kept(redis: RedisServer) -> Iterator[Amount]:
    redis.client.flushdb()
    limits = FleetLimits.at(redis.url, Shared(Budget(), Breaker(), Repeats()), freshness=0.0)
    for number in range(1000):
        run = Run(fw.Policy(), limits, "s", "t", arguments=number)
        settle(run, run.failed(DOWN, 0.0, jitter=0))
    limits.close()
    size = sum(int(str(redis.client.memory_usage(key))) for key in redis.client.scan_iter("failwell:*"))
    yield Amount(group=GROUP, what="kept of a tool that fails, at most", value=size, unit="bytes")
