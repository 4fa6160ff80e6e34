"""What failwell ships for the tests of others."""

import asyncio

import pytest

import failwell as fw
from failwell.testing import EventLog, FakeClock, instant


def limited() -> str:
    raise fw.RateLimited("m", retry_after=7)


async def limited_later() -> str:
    return limited()


def test_retries_are_instant_and_say_what_they_would_have_waited() -> None:
    with instant() as clock, pytest.raises(fw.RateLimited):
        fw.call(limited)

    assert (clock.slept, clock.now) == ([7, 7], 14)


def test_async_retries_are_instant_too() -> None:
    with instant() as clock, pytest.raises(fw.RateLimited):
        asyncio.run(fw.acall(limited_later))

    assert clock.slept == [7, 7]


def test_deadlines_count_on_the_clock_of_the_block() -> None:
    with instant() as clock, pytest.raises(fw.RateLimited):
        fw.call(limited, policy=fw.Policy(attempts=9, deadline=20))

    assert clock.slept == [7, 7]


@pytest.mark.parametrize(("attempts", "slept"), [(1, []), (2, [7]), (99, [7, 7])])
def test_attempts_can_be_limited_but_not_raised(attempts: int, slept: list[float]) -> None:
    with instant(attempts=attempts) as clock, pytest.raises(fw.RateLimited):
        fw.call(limited)

    assert clock.slept == slept


def test_tests_do_not_change_each_other() -> None:
    for _ in range(10):
        with instant() as clock, pytest.raises(fw.RateLimited):
            fw.call(limited, server="s", tool="t", arguments={})
        assert clock.slept == [7, 7]


def test_the_real_world_is_back_after_the_block_and_after_a_nested_one() -> None:
    slept: list[float] = []
    with instant() as outer:
        with pytest.raises(ZeroDivisionError), instant():
            _ = 1 / 0
        with pytest.raises(fw.RateLimited):
            fw.call(limited)

    assert outer.slept == [7, 7]
    with pytest.raises(fw.RateLimited):
        fw.call(limited, sleep=slept.append, hook=(events := EventLog()))
    assert (outer.slept, slept) == ([7, 7], [7, 7])
    assert 0 < events.events[-1].elapsed < 7  # the real clock, which a sleep that does not wait does not move


def test_a_call_keeps_what_it_was_given() -> None:
    own, slept = FakeClock(chance=0.5), list[float]()

    with instant() as clock, pytest.raises(fw.RateLimited):
        fw.call(limited, clock=own, sleep=slept.append)

    assert (slept, clock.slept) == ([7, 7], [])


def test_those_who_sleep_at_once_sleep_side_by_side() -> None:
    clock = FakeClock()

    async def main() -> None:
        await asyncio.gather(clock.asleep(5), clock.asleep(3))

    asyncio.run(main())

    assert (clock(), sorted(clock.slept)) == (5, [3, 5])
    clock.advance(1)
    assert clock() == 6


def test_a_recorder_says_in_words_what_happened() -> None:
    recorder = EventLog()
    with instant(), pytest.raises(fw.RateLimited):
        fw.call(limited, tool="send", hook=recorder)

    recorder.assert_kinds("retry", "retry", "failure")
    recorder.assert_retried()
    recorder.assert_retried(2)
    assert recorder.delays == [7, 7]
    with pytest.raises(
        AssertionError, match=r"(?s)expected 0 retries.*send, attempt 3: failure \(RATE_LIMITED\): It failed 3 times"
    ):
        recorder.assert_not_retried()
    with pytest.raises(AssertionError, match="expected success"):
        recorder.assert_kinds("success")


def test_a_recorder_without_events_says_so() -> None:
    with pytest.raises(AssertionError, match="expected a retry, but this happened:\nnothing"):
        EventLog().assert_retried()


def test_figures_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="chance"):
        FakeClock(chance=2)
    with pytest.raises(ValueError, match="attempts"), instant(attempts=0):
        pass
