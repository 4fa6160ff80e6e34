"""One process of a fleet: what it asks, what it believes, and what it does while the store is away."""

import asyncio
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio

import failwell as fw
from failwell.retry import (
    Breaker,
    Budget,
    FailedAttempt,
    FleetLimits,
    LimitState,
    Policy,
    Repeats,
    Run,
    Shared,
    asettle,
)
from failwell.retry._redis import RedisStore
from tests.retry.fleet.servers import RedisServer, until
from tests.retry.steps import begin, failed, reason, refusal

DOWN = fw.Unavailable("m", outcome="rejected").failure
KEY = ("s", "t")
Make = Callable[..., FleetLimits]


def figures(most: int = 3) -> Shared:
    return Shared(Budget(), Breaker(most=most, pause=30), Repeats(most=1000))


def fail(limits: FleetLimits, *, now: float = 0.0, times: int = 1) -> None:
    for number in range(times):
        failed(Run(Policy(), limits, "s", "t", arguments=number), DOWN, now, jitter=0)


class Asked(RedisStore):
    """A store that counts what it is asked."""

    def __init__(self, url: str, figures: Shared, **more: Any) -> None:
        super().__init__(url, figures, settling=0.0, **more)
        self.asked: Counter[str] = Counter()

    def begin(self, key: tuple[str, str], *, caller: str) -> LimitState:
        self.asked["begin"] += 1
        return super().begin(key, caller=caller)

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        self.asked["failed"] += 1
        return super().failed(attempt, caller=caller)

    def succeeded(self, key: tuple[str, str], *, digest: str, refund: float) -> LimitState:
        self.asked["succeeded"] += 1
        return super().succeeded(key, digest=digest, refund=refund)


def call(limits: FleetLimits, now: float) -> None:
    run = Run(Policy(), limits, "s", "t", arguments={})
    assert begin(run, now) is None
    run.succeeded(now)


def test_successes_ask_once_in_a_while_and_tell_nothing_while_nothing_fails(redis: RedisServer, prefix: str) -> None:
    store = Asked(redis.url, figures(), prefix=prefix)
    limits = FleetLimits(store, figures(), freshness=0.5)
    for number in range(100):
        call(limits, now=number / 100)
    limits.close()

    assert store.asked == {"begin": 2}


def test_each_step_of_a_failing_call_is_one_question(redis: RedisServer, prefix: str) -> None:
    store = Asked(redis.url, figures(), prefix=prefix)
    limits = FleetLimits(store, figures(), freshness=0.0)
    run = Run(Policy(), limits, "s", "t", arguments={})
    begin(run, 0.0)
    failed(run, DOWN, 0.0, jitter=0)
    begin(run, 0.0)
    run.succeeded(0.0)
    limits.close()

    assert store.asked == {"begin": 2, "failed": 1, "succeeded": 1}


def test_an_open_breaker_is_hardly_asked_about(redis: RedisServer, prefix: str, make: Make) -> None:
    fail(make(redis.url, figures(), prefix=prefix), times=3)
    store = Asked(redis.url, figures(), prefix=prefix)
    limits = FleetLimits(store, figures(), freshness=0.5)
    refusals = [refusal(limits, KEY, tenth / 10, caller=1) for tenth in range(49)]
    limits.close()

    waits = [round(refusal.retry_after or 0, 1) for refusal in refusals if refusal is not None]
    assert waits == [pytest.approx(30 - tenth / 10, abs=1) for tenth in range(49)]
    assert store.asked == {"begin": 1}


def test_who_meets_a_probe_asks_again_soon(redis: RedisServer, prefix: str, make: Make) -> None:
    here, there = make(redis.url, figures(), prefix=prefix), make(redis.url, figures(), prefix=prefix, freshness=0.5)
    fail(here, times=3)
    redis.pass_time(prefix, 31)
    probe = Run(Policy(), here, "s", "t", arguments=0)
    assert begin(probe, 0.0) is None
    assert refusal(there, KEY, 0.0, caller=1) is not None

    probe.succeeded(0.0)
    here.flush()

    assert refusal(there, KEY, 0.4, caller=1) is not None
    assert refusal(there, KEY, 0.6, caller=1) is None


def test_a_process_that_probes_lets_no_second_call_through(redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url, figures(), prefix=prefix, freshness=0.5)
    fail(make(redis.url, figures(), prefix=prefix), times=3)
    redis.pass_time(prefix, 31)
    probe = Run(Policy(), limits, "s", "t", arguments=0)

    assert begin(probe, 0.0) is None
    assert [refusal(limits, KEY, now, caller=1) is None for now in (0.1, 0.6)] == [False, False]
    probe.succeeded(0.7)
    assert refusal(limits, KEY, 0.7, caller=1) is None


def test_a_success_anywhere_closes_the_breaker_for_all_and_pays_back(
    redis: RedisServer, prefix: str, make: Make
) -> None:
    here, there = make(redis.url, figures(), prefix=prefix), make(redis.url, figures(), prefix=prefix)
    fail(here, times=3)
    redis.pass_time(prefix, 31)
    probe = Run(Policy(), there, "s", "t", arguments=0)
    assert begin(probe, 0.0) is None
    assert refusal(make(redis.url, figures(), prefix=prefix), KEY, 0.0, caller=1) is not None  # one probes

    probe.succeeded(0.0)
    there.flush()

    assert refusal(here, KEY, 31.0, caller=1) is None
    assert redis.client.get(next(redis.client.scan_iter(f"{prefix}:*:budget"))) == b"27.000000"  # two retries, one back


def test_a_cancelled_probe_makes_room_for_another(redis: RedisServer, prefix: str, make: Make) -> None:
    here, there = make(redis.url, figures(), prefix=prefix), make(redis.url, figures(), prefix=prefix)
    fail(here, times=3)
    redis.pass_time(prefix, 31)
    probe = Run(Policy(), there, "s", "t", arguments=0)
    assert begin(probe, 0.0) is None

    probe.cancelled()
    there.flush()

    assert refusal(make(redis.url, figures(), prefix=prefix), KEY, 0.0, caller=1) is None


def test_killing_redis_in_the_middle_loses_no_call(own_redis: RedisServer, make: Make) -> None:
    warnings: list[str] = []
    limits = make(own_redis.url, figures(most=1000), warn=warnings.append, freshness=0.0)
    reached, killed = threading.Barrier(5), threading.Event()

    def steps(number: int) -> list[str]:
        def work() -> str:
            made.append("x")
            if len(made) == 10:  # in the middle of a call, while the others are in the middle of theirs
                reached.wait()
                killed.wait()
            if len(made) % 2:
                raise fw.Temporary("m", code="OVERLOADED", outcome="not_executed")
            return "ok"

        made: list[str] = []
        return [
            fw.call(work, server="s", tool="t", arguments=[number, n], shared=limits, sleep=lambda _: None)
            for n in range(10)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(steps, number) for number in range(4)]
        reached.wait()
        own_redis.kill()
        killed.set()
        answers = [one.result() for one in found]

    assert answers == [["ok"] * 10] * 4
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{own_redis.url} is unavailable: the connection failed.")
    own_redis.start()
    assert until(lambda: not limits.is_away)
    assert warnings[1:] == [f"{own_redis.url} is back: limits are shared again."]
    fail(limits)
    assert len(list(own_redis.client.scan_iter("failwell:*:breaker:*"))) == 1


def test_while_redis_is_away_a_process_goes_by_what_it_saw_before(own_redis: RedisServer, make: Make) -> None:
    limits = make(own_redis.url, figures(), freshness=0.0)
    fail(limits, times=2)
    own_redis.kill()
    fail(limits)

    refused = refusal(limits, KEY, 0.0, caller=1)
    assert limits.is_away
    assert refused is not None
    assert refused.code == "CIRCUIT_OPEN"
    call(limits, now=31.0)
    assert refusal(limits, KEY, 31.0, caller=1) is None


def test_a_redis_that_hangs_is_away(own_redis: RedisServer, make: Make) -> None:
    warnings: list[str] = []
    limits = make(own_redis.url, figures(), warn=warnings.append, patience=0.2)
    call(limits, now=0.0)
    own_redis.send(signal.SIGSTOP)
    for _ in range(20):
        call(limits, now=0.0)

    assert len(warnings) == 1
    assert warnings[0].startswith(f"{own_redis.url} is unavailable: it did not answer in time.")
    own_redis.send(signal.SIGCONT)
    assert until(lambda: not limits.is_away)


def test_all_who_wait_when_redis_hangs_are_told_once(own_redis: RedisServer, make: Make) -> None:
    warnings: list[str] = []
    limits = make(own_redis.url, figures(), warn=warnings.append, patience=0.3)
    own_redis.send(signal.SIGSTOP)
    start = threading.Barrier(4)

    def begin(number: int) -> object:
        start.wait()
        return refusal(limits, KEY, 0.0, caller=number)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(begin, range(4)))

    assert found == [None] * 4
    assert len(warnings) == 1


def test_a_retry_that_the_fleet_refuses_costs_this_process_nothing(redis: RedisServer, prefix: str, make: Make) -> None:
    poor = [Shared(Budget(capacity=20), Breaker(), Repeats()) for _ in range(2)]
    here, there = (make(redis.url, one, prefix=prefix) for one in poor)
    fail(here)
    why = reason(Run(Policy(), there, "s", "t", arguments=1), DOWN, 0.0)

    assert why == "The retry budget of the server is used up."
    assert [one.budget.left("s") for one in poor] == [6, 20]


def test_scripts_that_redis_forgot_are_sent_again(redis: RedisServer, prefix: str, make: Make) -> None:
    warnings: list[str] = []
    limits = make(redis.url, figures(), prefix=prefix, warn=warnings.append)
    fail(limits)
    redis.client.script_flush()
    fail(limits, times=2)

    assert refusal(limits, KEY, 0.0, caller=1) is not None
    assert warnings == []


def test_a_replica_counts_as_away_until_it_is_none(own_redis: RedisServer, make: Make) -> None:
    warnings: list[str] = []
    limits = make(own_redis.url, figures(), warn=warnings.append)
    own_redis.client.slaveof("127.0.0.1", "1")
    fail(limits, times=3)

    assert len(warnings) == 1
    assert refusal(limits, KEY, 0.0, caller=1) is not None  # by this process alone
    own_redis.client.slaveof("NO", "ONE")
    assert until(lambda: not limits.is_away)
    assert refusal(limits, KEY, 0.0, caller=1) is None
    assert len(warnings) == 2


@pytest.mark.parametrize("how", ["refused", "wrong password", "closed port"])
def test_no_warning_tells_the_password(how: str, own_redis: RedisServer, make: Make) -> None:
    warnings: list[str] = []
    if how == "refused":
        own_redis.client.config_set("requirepass", "another")
    if how == "closed port":
        own_redis.kill()
    url = f"redis://ada:pw-secret@127.0.0.1:{own_redis.port}/0?client_name=x"
    limits = make(url, figures(), warn=warnings.append)
    call(limits, now=0.0)
    own_redis.client.connection_pool.disconnect()

    assert len(warnings) == 1
    assert warnings[0].startswith(f"redis://127.0.0.1:{own_redis.port}/0 is unavailable: ")
    assert "pw-secret" not in warnings[0]
    assert "ada" not in warnings[0]


def test_those_who_await_block_nobody(own_redis: RedisServer, make: Make) -> None:
    limits = make(own_redis.url, figures(), patience=30.0)

    async def main() -> str:
        async def work() -> str:
            return "ok"

        own_redis.send(signal.SIGSTOP)
        call = asyncio.create_task(fw.acall(work, server="s", tool="t", shared=limits))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not call.done()
        own_redis.send(signal.SIGCONT)  # which this loop could not do if it waited
        return await call

    assert asyncio.run(main()) == "ok"
    assert not limits.is_away


def test_who_is_cancelled_while_asking_does_not_keep_the_probe(own_redis: RedisServer, make: Make) -> None:
    limits = make(own_redis.url, figures(), patience=30.0)
    fail(limits, times=3)
    own_redis.pass_time("failwell", 31)

    async def main() -> None:
        run = Run(Policy(), limits, "s", "t", arguments=0)
        own_redis.send(signal.SIGSTOP)
        asking = asyncio.create_task(asettle(run, run.begin(100.0)))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        own_redis.send(signal.SIGCONT)

    asyncio.run(main())
    breaker = next(own_redis.client.scan_iter("failwell:*:breaker:*"))
    assert until(lambda: own_redis.client.hget(breaker, "probe_ends") is None and limits._known == {})
    assert refusal(make(own_redis.url, figures()), KEY, 0.0, caller=1) is None


@pytest.mark.parametrize("run", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_awaited_calls_share_limits_on_asyncio_and_trio(run: Any, redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url, figures(), prefix=prefix)
    answers = iter([fw.Temporary("m", code="OVERLOADED", outcome="not_executed"), "ok"])

    async def work() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def no_sleep(_seconds: float) -> None: ...

    async def main() -> str:
        return await fw.acall(work, server="s", tool="t", arguments={}, shared=limits, sleep=no_sleep)

    assert run(main) == "ok" if run is trio.run else run(main()) == "ok"
    limits.flush()
    assert list(redis.client.scan_iter(f"{prefix}:*")) == []  # counted, paid for, and forgotten again
    assert not limits.is_away


def test_many_tools_are_not_remembered_for_ever(redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url, figures(), prefix=prefix, freshness=100.0)
    for number in range(1001):
        refusal(limits, ("s", str(number)), 0.0, caller=1)

    assert len(limits._known) == 1


def test_without_the_library_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "failwell.retry._redis")

    with pytest.raises(ImportError, match=r"pip install 'failwell\[redis\]'"):
        FleetLimits.at("redis://localhost")


def test_callers_with_the_same_url_and_figures_have_the_same_connections() -> None:
    url, chosen = "redis://127.0.0.1:1", figures()
    callers = [fw.client.Caller(limits=url), fw.client.Caller(limits=url), fw.client.Caller(limits=url, shared=chosen)]
    one, other, third = [caller.shared for caller in callers]
    assert isinstance(one, FleetLimits)
    assert isinstance(third, FleetLimits)

    assert one is other is not third
    assert fw.client.Caller(limits=url, shared=Shared.new()).shared is one  # which has the usual figures too
    assert third.local is chosen
    one.close()
    assert fw.client.Caller(limits=url).shared is not one


def test_callers_take_the_url(redis: RedisServer) -> None:
    redis.client.flushdb()
    callers = [fw.client.Caller(limits=redis.url, shared=figures(most)) for most in (3, 4)]

    async def fails(_arguments: dict[str, Any]) -> Any:
        raise fw.Unavailable("m")

    async def main() -> None:
        for caller in callers:
            await caller.run(fails, server="s", tool="t")

    asyncio.run(main())
    for caller in callers:
        assert isinstance(caller.shared, FleetLimits)
        caller.shared.close()

    [breaker] = redis.client.scan_iter("failwell:*:breaker:*")
    assert len(redis.client.hget(breaker, "failures").split()) == 2
