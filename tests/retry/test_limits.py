"""What calls have in common stays small, separate and right when many use it at once."""

import re
import threading
from typing import Any

import pytest

import failwell as fw
from failwell.retry import Breaker, Budget, Policy, Repeats, Run, Shared
from tests.retry.steps import begin, failed, reason

DOWN = fw.Unavailable("m").failure
KEY = ("s", "t")


def opened(**more: Any) -> Breaker:
    breaker = Breaker(most=1, pause=30, **more)
    breaker.failed(KEY, DOWN, 0.0)
    return breaker


def test_one_call_probes_however_many_ask_at_once() -> None:
    breaker = opened()
    start, let_through = threading.Barrier(8), list[int]()

    def ask(number: int) -> None:
        start.wait()
        if breaker.refusal(KEY, 31.0, caller=number) is None:
            let_through.append(number)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(let_through) == 1


def test_only_the_probe_itself_releases_the_breaker_or_opens_it_again() -> None:
    breaker = opened()
    assert breaker.refusal(KEY, 30.0, caller="probe") is None

    breaker.released(KEY, caller="straggler")
    breaker.failed(KEY, DOWN, 31.0, caller="straggler")

    assert breaker.suspension(KEY, 31.0) == 29
    breaker.released(KEY, caller="probe")
    assert breaker.refusal(KEY, 31.0, caller="next") is None
    breaker.failed(KEY, DOWN, 32.0, caller="next")
    assert breaker.suspension(KEY, 32.0) == 30


def test_a_probe_that_never_ends_makes_room_for_another() -> None:
    breaker = opened()
    assert breaker.refusal(KEY, 30.0, caller="hangs") is None

    waiting = breaker.refusal(KEY, 50.0, caller="next")

    assert waiting is not None
    assert waiting.retry_after == 1  # the probe may end any moment
    assert breaker.refusal(KEY, 60.0, caller="next") is None


def test_the_tries_of_one_call_count_once() -> None:
    shared = Shared(Budget(), Breaker(most=3), Repeats())
    run = Run(Policy(attempts=9), shared, "s", "t")

    for _ in range(8):
        assert begin(run, 0.0) is None
        assert failed(run, fw.RateLimited("m").failure, 0.0, jitter=0) is not None


def test_calls_that_nobody_named_have_nothing_in_common() -> None:
    shared = Shared(Budget(), Breaker(most=1), Repeats(most=1))

    for _ in range(3):
        run = Run(Policy(), shared)
        assert begin(run, 0.0) is None
        assert failed(run, fw.RateLimited("m").failure, 0.0, jitter=0) is not None


def test_a_call_whose_arguments_nobody_knows_is_never_the_same() -> None:
    shared = Shared(Budget(), Breaker(most=99), Repeats(most=1))

    unknown = reason(Run(Policy(), shared, "s", "t"), DOWN, 0.0)
    known = reason(Run(Policy(), shared, "s", "t", arguments={}), DOWN, 0.0)

    assert unknown != "The same call keeps failing the same way."
    assert known == "The same call keeps failing the same way."


def test_the_memory_of_failures_has_an_end() -> None:
    shared = Shared.new()
    for number in range(3000):
        shared.breaker.failed((str(number), "t"), DOWN, 0.0)
        shared.budget.spend(str(number), DOWN)
        shared.repeats.failed((str(number), "t"), {}, DOWN)
        shared.repeats.failed(KEY, number, DOWN)

    assert len(shared.breaker.failing) == len(shared.budget.spent) == 1000
    assert len(shared.repeats.failing) == 250
    assert len(shared.repeats.failing[KEY]) == 50


class Unwilling:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("arguments", [Unwilling(), {(1, 2): 3}, [[]] * 3, object()], ids=lambda a: type(a).__name__)
def test_arguments_of_any_kind_are_counted(arguments: Any) -> None:
    repeats = Repeats(most=2)

    assert repeats.failed(KEY, arguments, DOWN) is False
    assert repeats.failed(KEY, arguments, DOWN) is True
    repeats.succeeded(KEY, arguments)
    assert repeats.failing == {}


def test_arguments_are_kept_as_a_digest_only() -> None:
    repeats = Repeats()
    repeats.failed(KEY, {"password": "hunter2" * 1000}, DOWN)

    assert "hunter2" not in repr(repeats.failing)
    assert [len(digest) for digest in repeats.failing[KEY]] == [16]


def test_another_code_begins_a_new_row() -> None:
    repeats = Repeats(most=2)

    found = [repeats.failed(KEY, {}, failure) for failure in (DOWN, fw.TimedOut("m").failure, DOWN, DOWN)]

    assert found == [False, False, False, True]


@pytest.mark.parametrize(
    ("code", "price"), [("RATE_LIMITED", 5), ("SERVER_BUSY", 5), ("OVERLOADED", 5), ("CONNECTION_REFUSED", 14)]
)
def test_a_throttled_retry_is_cheaper(code: str, price: int) -> None:
    budget = Budget()

    assert budget.spend("s", fw.Failure(code=code, message="m")) == price
    assert budget.left("s") == 500 - price


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Budget(throttled_cost=0), "a retry must cost more than nothing and at most 500, not 0"),
        (lambda: Budget(cost=501), "a retry must cost more than nothing and at most 500, not 501"),
        (lambda: Budget(gain=-1), "a success cannot cost anything: gain must be at least 0, not -1"),
        (lambda: Breaker(pause=-1), "window and pause must be numbers of seconds, not 60.0 and -1"),
        (lambda: Breaker(window=float("nan")), "window and pause must be numbers of seconds, not nan and 15.0"),
    ],
)
def test_figures_that_make_no_sense_are_refused(make: Any, told: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        make()


def test_the_least_and_the_most_that_make_sense_are_taken() -> None:
    assert Budget(cost=500, throttled_cost=500, gain=0).left("s") == 500
    assert Breaker(pause=0).refusal(KEY, 0.0) is None
