"""The default clock, sleep and randomness of retried calls, which tests replace for the whole process."""

import random
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from failwell.retry._limits import Limits, Shared


async def _asleep(seconds: float) -> None:
    import asyncio  # only here: it is slow to load, and sync callers don't need it

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules["trio"]  # no other event loop is supported; code on trio has imported it
        await trio.sleep(seconds)
    else:
        await asyncio.sleep(seconds)


class Environment(Struct, frozen=True, eq=False):
    """A clock, two ways to sleep, randomness, the limits that calls share, and the most attempts of any policy."""

    clock: Callable[[], float]
    sleep: Callable[[float], object]
    asleep: Callable[[float], Awaitable[object]]
    chance: Callable[[], float]
    shared: Limits
    attempts: int | None = None


current = Environment(time.monotonic, time.sleep, _asleep, random.random, Shared.new())


def clock() -> float:
    """Return the time in seconds."""
    return current.clock()


def sleep(seconds: float) -> object:
    """Wait."""
    return current.sleep(seconds)


def asleep(seconds: float) -> Awaitable[object]:
    """Wait without blocking others, on asyncio or trio."""
    return current.asleep(seconds)


def chance() -> float:
    """Return a random number from 0 to 1."""
    return current.chance()


@contextmanager
def replace_environment(other: Environment) -> Generator[None]:
    """Use another environment in the whole process until the block ends."""
    global current
    before, current = current, other
    try:
        yield
    finally:
        current = before
