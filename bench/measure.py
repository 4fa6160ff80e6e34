"""Measure two things side by side, in turns, so that a noisy machine hits both alike."""

import gc
import math
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

# How often a call is made and how many rounds are taken at most: a quick run sets it to 1.
most: float = math.inf
# Rounds end after so much processor time, if there were enough of them to tell a spread.
SECONDS, FEWEST_ROUNDS = 0.8, 5


class Figure(Struct, frozen=True, kw_only=True):
    """What was measured, beside what. Whether that is good enough is said in `promises.toml`."""

    group: str
    what: str
    microseconds: float
    beside: str
    beside_microseconds: float
    # How far the median of all rounds is above the best one, which is what counts.
    spread: float | None = None
    # What the least that any solution has to do took in the same run.
    floor_microseconds: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as long it took as what stands beside it."""
        return self.microseconds / self.beside_microseconds if self.beside_microseconds else math.inf


class Amount(Struct, frozen=True, kw_only=True):
    """What was counted or measured with nothing beside it."""

    group: str
    what: str
    value: float
    unit: str = ""
    beside: str = ""
    floor: float | None = None


def compare(
    group: str,
    what: str,
    ours: Callable[[], Any],
    beside: str,
    theirs: Callable[[], Any],
    *,
    floor: Callable[[], Any] | None = None,
    number: int = 2000,
    rounds: int = 15,
) -> Figure:
    """Return the best of several rounds of all, taken in turns, in microseconds of processor time."""
    calls = [ours, theirs, *([floor] if floor else [])]
    took: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    start = time.process_time()
    while _goes_on(took, rounds, start):
        for found, call in zip(took, calls, strict=True):
            found.append(_once(call, _bounded(number)))
    return _figure(group, what, beside, took)


async def compare_async(
    group: str,
    what: str,
    ours: Callable[[], Awaitable[Any]],
    beside: str,
    theirs: Callable[[], Awaitable[Any]],
    *,
    floor: Callable[[], Awaitable[Any]] | None = None,
    number: int = 20,
    rounds: int = 40,
) -> Figure:
    """As `compare`, for calls that are awaited on the running loop."""
    calls = [ours, theirs, *([floor] if floor else [])]
    took: list[list[float]] = [[] for _ in calls]
    for call in calls:
        await call()
    start = time.process_time()
    while _goes_on(took, rounds, start):
        for found, call in zip(took, calls, strict=True):
            found.append(await _once_awaited(call, _bounded(number)))
    return _figure(group, what, beside, took)


def _goes_on(took: list[list[float]], rounds: int, start: float) -> bool:
    done = len(took[-1])
    return done < _bounded(rounds) and (done < FEWEST_ROUNDS or time.process_time() - start < SECONDS)


def _bounded(count: int) -> int:
    return int(min(count, most))


def _figure(group: str, what: str, beside: str, took: list[list[float]]) -> Figure:
    ours, theirs, *floor = (min(found) * 1e6 for found in took)
    spread = statistics.median(took[0]) * 1e6 / ours - 1 if ours else None
    return Figure(
        group=group,
        what=what,
        microseconds=ours,
        beside=beside,
        beside_microseconds=theirs,
        spread=spread,
        floor_microseconds=floor[0] if floor else None,
    )


def _once(call: Callable[[], Any], number: int) -> float:
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(number):
            call()
        return (time.process_time() - start) / number
    finally:
        gc.enable()


async def _once_awaited(call: Callable[[], Awaitable[Any]], number: int) -> float:
    gc.disable()
    try:
        start = time.process_time()
        for _ in range(number):
            await call()
        return (time.process_time() - start) / number
    finally:
        gc.enable()
