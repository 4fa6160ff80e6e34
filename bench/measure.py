"""Measure two things side by side, in turns, so that a noisy machine hits both alike."""

import gc
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct


class Figure(Struct, frozen=True, kw_only=True):
    """One line of the table: what was measured, beside what, and what we want it to be at most (or at least)."""

    group: str
    what: str
    microseconds: float
    beside: str
    beside_microseconds: float
    goal: str | None = None

    @property
    def ratio(self) -> float:
        """How many times as long it took as what stands beside it."""
        return self.microseconds / self.beside_microseconds


def compare(
    group: str,
    what: str,
    ours: Callable[[], Any],
    beside: str,
    theirs: Callable[[], Any],
    *,
    goal: str | None = None,
    number: int = 2000,
    rounds: int = 15,
) -> Figure:
    """Return the best of several rounds of both, taken in turns, in microseconds of processor time."""
    best = [float("inf"), float("inf")]
    ours()
    theirs()
    for _ in range(rounds):
        for index, call in enumerate((ours, theirs)):
            best[index] = min(best[index], _once(call, number))
    return Figure(
        group=group,
        what=what,
        microseconds=best[0] * 1e6,
        beside=beside,
        beside_microseconds=best[1] * 1e6,
        goal=goal,
    )


async def compare_async(
    group: str,
    what: str,
    ours: Callable[[], Awaitable[Any]],
    beside: str,
    theirs: Callable[[], Awaitable[Any]],
    *,
    goal: str | None = None,
    number: int = 20,
    rounds: int = 40,
) -> Figure:
    """As `compare`, for calls that are awaited on the running loop."""
    best = [float("inf"), float("inf")]
    await ours()
    await theirs()
    for _ in range(rounds):
        for index, call in enumerate((ours, theirs)):
            gc.disable()
            try:
                start = time.process_time()
                for _ in range(number):
                    await call()
                best[index] = min(best[index], (time.process_time() - start) / number)
            finally:
                gc.enable()
    return Figure(
        group=group,
        what=what,
        microseconds=best[0] * 1e6,
        beside=beside,
        beside_microseconds=best[1] * 1e6,
        goal=goal,
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
