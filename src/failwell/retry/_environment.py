"""Where retried calls take time, sleep and chance from if nobody says so; tests put others in their place."""

import random
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from failwell.retry._limits import Limits, Shared


async def _asleep(seconds: float) -> None:
    import asyncio  # only here: who never awaits need not wait for it to load

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules["trio"]  # nothing else runs here; who runs trio has imported it
        await trio.sleep(seconds)
    else:
        await asyncio.sleep(seconds)


class Environment(Struct, frozen=True, eq=False):
    """A clock, two ways to sleep, chance, what calls share, and the most attempts that any policy may make."""

    clock: Callable[[], float]
    sleep: Callable[[float], object]
    asleep: Callable[[float], Awaitable[object]]
    chance: Callable[[], float]
    shared: Limits
    attempts: int | None = None


current = Environment(time.monotonic, time.sleep, _asleep, random.random, Shared.new())


def clock() -> float:
    """Return seconds."""
    return current.clock()


def sleep(seconds: float) -> object:
    """Wait."""
    return current.sleep(seconds)


def asleep(seconds: float) -> Awaitable[object]:
    """Wait without blocking others, on asyncio or trio."""
    return current.asleep(seconds)


def chance() -> float:
    """Return a number from 0 to 1."""
    return current.chance()


@contextmanager
def replaced(other: Environment) -> Generator[None]:
    """Put others in place, for the whole process, until the block ends."""
    global current
    before, current = current, other
    try:
        yield
    finally:
        current = before
