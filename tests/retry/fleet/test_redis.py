"""What Redis keeps: the same answers as in memory, keys with an end, digests only."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from bench.simulation.store import AskedAtOnce, AtOnce, SimulatedStore
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import failwell as fw
from failwell.retry import Breaker, Budget, FleetLimits, Limits, Policy, Repeats, Run, Shared, settle
from failwell.retry._redis import RedisStore, _public_name
from tests.retry.fleet.servers import RedisServer
from tests.retry.steps import begin, failed, reason, refusal
from tests.strategies import examples

DOWN = fw.Unavailable("m", outcome="rejected").failure
BUSY = fw.Temporary("m", code="OVERLOADED", outcome="not_executed").failure
WRONG = fw.Invalid("m").failure
KEY = ("s", "t")
Make = Callable[..., FleetLimits]


def figures() -> Shared:
    return Shared(Budget(capacity=60, cost=14, throttled_cost=5), Breaker(most=3, window=60, pause=30), Repeats(most=3))


def rounded(effect: Any) -> tuple[object, ...]:
    """Return what an effect says: a store has a clock of its own, so that seconds differ a little."""
    decision = getattr(effect, "decision", None)
    if decision is None:
        return (type(effect), round(getattr(effect, "delay", 0)))
    return (type(effect), decision.reason, round(decision.delay or 0))


class World:
    """Calls that are made step by step, by limits in memory or in Redis."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.now = 0.0
        self.runs: list[Run] = []
        self.said: list[object] = []

    def begin(self, tool: str, arguments: int) -> None:
        run = Run(Policy(attempts=9, throttled_base=0, base=0, longest=0), self.limits, "s", tool, arguments=arguments)
        refused = begin(run, self.now)
        self.said.append("made" if refused is None else round(refused.retry_after or 0))
        if refused is None:
            self.runs.append(run)

    def failing_call(self, tool: str, arguments: int) -> None:
        self.begin(tool, arguments)
        self.fail(DOWN)

    def again(self) -> None:
        if self.runs:
            refused = begin(self.runs[-1], self.now)
            self.said.append("made" if refused is None else round(refused.retry_after or 0))

    def fail(self, failure: fw.Failure) -> None:
        if self.runs:
            self.said.append(rounded(settle(self.runs[-1], self.runs[-1].failed(failure, self.now, jitter=0))))

    def straggler_fails(self) -> None:
        if self.runs:
            self.said.append(rounded(settle(self.runs[0], self.runs[0].failed(DOWN, self.now, jitter=0))))

    def straggler_is_cancelled(self) -> None:
        if self.runs:
            self.runs.pop(0).cancelled()

    def succeed(self) -> None:
        if self.runs:
            self.runs.pop().succeeded(self.now)

    def cancel(self) -> None:
        if self.runs:
            self.runs.pop().cancelled()


STEPS = st.one_of(
    st.tuples(st.just("failing_call"), st.just("t"), st.sampled_from([1, 2, 3, 4])),
    st.tuples(st.just("begin"), st.sampled_from("tu"), st.sampled_from([1, 2])),
    st.tuples(st.just("fail"), st.sampled_from([DOWN, DOWN, BUSY, WRONG])),
    st.sampled_from([("again",), ("succeed",), ("cancel",), ("straggler_fails",), ("straggler_is_cancelled",)]),
    st.tuples(st.just("pass_time"), st.sampled_from([7, 31])),  # no sum of these is a figure of the breaker
)


STRAGGLER = ("begin", "t", 9)
OPENED = [("failing_call", "t", 1), ("failing_call", "t", 2), ("failing_call", "t", 3)]
PROBED = [STRAGGLER, *OPENED, ("pass_time", 31), ("begin", "t", 4)]
NEXT = ("begin", "t", 5)


@example(steps=[*OPENED, NEXT])
@example(steps=[*PROBED, NEXT, ("fail", DOWN), ("pass_time", 7), NEXT])
@example(steps=[*PROBED, ("pass_time", 7), ("straggler_fails",), NEXT])
@example(steps=[*PROBED, ("straggler_is_cancelled",), NEXT])
@example(steps=[*PROBED, ("cancel",), NEXT, ("succeed",), NEXT])
@example(steps=[*OPENED[:2], ("pass_time", 62), OPENED[2], NEXT])
@example(steps=[("failing_call", "t", 1), ("failing_call", "t", 1), ("begin", "t", 1), ("fail", BUSY)])
@given(steps=st.lists(STEPS, min_size=5, max_size=25))
@settings(max_examples=examples(0.4), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_redis_and_the_store_of_the_simulation_answer_as_memory_does(
    steps: list[tuple[Any, ...]], redis: RedisServer
) -> None:
    redis.client.flushdb()
    here = World(figures())
    limits = FleetLimits.at(redis.url, figures(), prefix="same", freshness=0.0)
    there = World(limits)
    store = SimulatedStore(figures=figures())
    simulated = World(FleetLimits(store, figures(), freshness=0.0, background=AtOnce, threads=AskedAtOnce))
    for name, *arguments in steps:
        if name == "pass_time":
            here.now += arguments[0]
            there.now += arguments[0]
            simulated.now = store.now = there.now
            redis.pass_time("same", arguments[0])
        else:
            for world in (here, there, simulated):
                getattr(world, name)(*arguments)
            limits.flush()
    limits.close()

    assert there.said == here.said == simulated.said


def test_every_key_has_an_end_and_holds_no_word_of_a_call(redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url, figures(), prefix=prefix, scope="https://hidden.example/mcp")
    failure = fw.Unavailable("hidden text", code="HIDDEN_CODE", outcome="rejected").failure
    for number in range(3):
        run = Run(Policy(), limits, "hidden-server", "hidden-tool", arguments={"password": f"hidden{number}"})
        begin(run, 0.0)
        failed(run, failure, 0.0, jitter=0)

    keys = sorted(redis.client.scan_iter(f"{prefix}:*"))
    kept = [redis.client.dump(key) for key in keys]
    assert [key.split(b":")[2] for key in keys] == [b"breaker", b"budget", b"repeats"]
    assert all(0 < redis.client.pttl(key) <= 600_000 for key in keys)
    assert not [one for one in (*keys, *kept) if b"hidden" in one.lower()]


def test_the_calls_that_fail_alike_are_kept_to_a_number(redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url, Shared(Budget(), Breaker(most=1000), Repeats(most=2)), prefix=prefix)
    for number in range(250):
        failed(Run(Policy(), limits, "s", "t", arguments=number), DOWN, 0.0, jitter=0)
    why = reason(Run(Policy(), limits, "s", "t", arguments=249), DOWN, 0.0)

    [repeats] = redis.client.scan_iter(f"{prefix}:*:repeats:*")
    assert 50 <= redis.client.hlen(repeats) <= 100
    assert why == "The same call keeps failing the same way."


def test_servers_scopes_and_prefixes_share_nothing(redis: RedisServer, prefix: str, make: Make) -> None:
    one = make(redis.url, figures(), prefix=prefix, scope="a")
    for number in range(3):
        failed(Run(Policy(), one, "s", "t", arguments=number), DOWN, 0.0, jitter=0)
    others = [
        refusal(make(redis.url, figures(), prefix=prefix, scope="b"), KEY, 0.0, caller=1),
        refusal(make(redis.url, figures(), prefix=f"{prefix}x", scope="a"), KEY, 0.0, caller=1),
        refusal(one, ("other", "t"), 0.0, caller=1),
        refusal(one, ("s", "other"), 0.0, caller=1),
    ]

    assert refusal(one, KEY, 0.0, caller=1) is not None
    assert others == [None] * 4


def test_a_row_of_failures_opens_the_breaker_once_all_had_time_to_tell_of_a_success(
    redis: RedisServer, prefix: str, make: Make
) -> None:
    limits = make(redis.url, figures(), prefix=prefix, freshness=3.0)
    for number in range(20):
        failed(Run(Policy(), limits, "s", "t", arguments=number), DOWN, 0.0, jitter=0)
    before = refusal(limits, KEY, 10.0, caller=1)
    redis.pass_time(prefix, 6.0)  # twice as long as an answer is believed
    failed(Run(Policy(), limits, "s", "t", arguments=21), DOWN, 20.0, jitter=0)

    assert before is None
    assert refusal(limits, KEY, 20.0, caller=1) is not None


@pytest.mark.parametrize(
    "url",
    ["", "localhost", "http://u:pw-secret@h/", "redis://", "redis://u:pw-secret@h:port/0", "redis://h?pw-secret=1"],
)
def test_a_url_that_is_none_is_refused_in_a_sentence_without_it(url: str) -> None:
    with pytest.raises(ValueError, match="must be the address of a Redis") as caught:
        FleetLimits.at(url)

    assert "pw-secret" not in repr(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_both_names_of_the_scheme_lead_there(scheme: str, redis: RedisServer, prefix: str, make: Make) -> None:
    limits = make(redis.url.replace("redis", scheme, 1), figures(), prefix=prefix)

    assert refusal(limits, KEY, 0.0, caller=1) is None
    assert not limits.is_away


def test_a_breaker_that_could_not_be_kept_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1000"):
        FleetLimits.at("redis://h", Shared(Budget(), Breaker(most=1001), Repeats()))


@pytest.mark.parametrize("breaker", [Breaker(pause=math.inf), Breaker(window=1e300)], ids=["pause", "window"])
def test_times_that_could_not_be_kept_are_refused(breaker: Breaker) -> None:
    with pytest.raises(ValueError, match="at most a year"):
        FleetLimits.at("redis://h", Shared(Budget(), breaker, Repeats()))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://ada:pw@h:1/0?client_name=x", "redis://h:1/0"),
        ("unix:///run/redis.sock?db=1", "unix:///run/redis.sock"),
        ("redis://:12345/pw@h:1/0", "the store"),
        ("redis://:12?pw@h/0", "the store"),
        ("redis://:12#pw@h/0", "the store"),
        ("redis://h/pw", "redis://h"),
    ],
)
def test_of_a_url_only_what_cannot_be_secret_is_shown(url: str, shown: str) -> None:
    assert _public_name(url) == shown


def test_who_does_not_know_the_password_cannot_tell_what_a_digest_is_of() -> None:
    stores = [RedisStore(f"redis://{login}h", figures()) for login in ("", ":one@", ":two@", ":two@")]
    keys = [store._keys(KEY) for store in stores]

    assert len(set(keys)) == 3
    assert keys[2] == keys[3]
