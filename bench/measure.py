"""Measure two things side by side, in turns, so that a noisy machine hits both alike."""

import gc
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

# How often a call is made and how many rounds are taken at most: a quick run sets it to 1.
most: float = math.inf


class Figure(Struct, frozen=True, kw_only=True):
    """What was measured, beside what. Whether that is good enough is said in `promises.toml`."""

    group: str
    what: str
    microseconds: float
    beside: str
    beside_microseconds: float

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


def compare(
    group: str,
    what: str,
    ours: Callable[[], Any],
    beside: str,
    theirs: Callable[[], Any],
    *,
    number: int = 2000,
    rounds: int = 15,
) -> Figure:
    """Return the best of several rounds of both, taken in turns, in microseconds of processor time."""
    best = [math.inf, math.inf]
    ours()
    theirs()
    for _ in range(_bounded(rounds)):
        for index, call in enumerate((ours, theirs)):
            best[index] = min(best[index], _once(call, _bounded(number)))
    return _figure(group, what, beside, best)


async def compare_async(
    group: str,
    what: str,
    ours: Callable[[], Awaitable[Any]],
    beside: str,
    theirs: Callable[[], Awaitable[Any]],
    *,
    number: int = 20,
    rounds: int = 40,
) -> Figure:
    """As `compare`, for calls that are awaited on the running loop."""
    best = [math.inf, math.inf]
    await ours()
    await theirs()
    for _ in range(_bounded(rounds)):
        for index, call in enumerate((ours, theirs)):
            best[index] = min(best[index], await _once_awaited(call, _bounded(number)))
    return _figure(group, what, beside, best)


def _bounded(count: int) -> int:
    return int(min(count, most))


def _figure(group: str, what: str, beside: str, best: list[float]) -> Figure:
    ours, theirs = (seconds * 1e6 for seconds in best)
    return Figure(group=group, what=what, microseconds=ours, beside=beside, beside_microseconds=theirs)


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
