"""For tests of code that retries: retries without waiting, a fake clock, and a log of events.

```python
import failwell as fw
from failwell.testing import instant

with instant() as clock:
    fw.call(lambda: "ok")

assert clock.slept == []
```
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from failwell.event import Event
from failwell.retry._environment import Environment, replace_environment
from failwell.retry._limits import Shared

__all__ = ["EventLog", "FakeClock", "instant"]


class FakeClock:
    """A clock that only sleeping moves, and randomness that always gives the same number.

    Sleeps of concurrent tasks overlap: the clock shows the time at which the last of them ends. `slept` lists how long
    each sleep would have been.
    """

    def __init__(self, now: float = 0.0, *, chance: float = 1.0) -> None:
        if not 0 <= chance <= 1:
            raise ValueError(f"chance must be from 0 to 1, not {chance!r}")
        self.now = now
        self.slept: list[float] = []
        self._chance = chance
        self._lock = Lock()

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now

    def chance(self) -> float:
        """Return the number that the clock was made with."""
        return self._chance

    def advance(self, seconds: float) -> None:
        """Let time pass without a sleep."""
        with self._lock:
            self.now += seconds

    def sleep(self, seconds: float) -> None:
        """Sleep without waiting."""
        self._note_sleep(seconds, self.now + seconds)

    async def asleep(self, seconds: float) -> None:
        """Sleep without waiting, and let other tasks run meanwhile."""
        ends = self.now + seconds
        if _is_asyncio():
            await asyncio.sleep(0)
        self._note_sleep(seconds, ends)

    def _note_sleep(self, seconds: float, ends: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.now = max(self.now, ends)


class EventLog:
    """A hook that keeps every event, with assertions that say what happened instead.

    It keeps events in memory, for a test. `fw.records.Recorder` writes them to a file or a store.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        """What happened: `retry`, `success`, `recovered`, `failure`, `refused` and so on."""
        return [event.kind for event in self.events]

    @property
    def delays(self) -> list[float]:
        """How long was waited before each further try."""
        return [event.delay for event in self.events if event.delay is not None]

    def assert_kinds(self, *expected: str) -> None:
        """Check the kinds of the events, in order."""
        if self.kinds != list(expected):
            raise AssertionError(f"expected {', '.join(expected) or 'nothing'}, but this happened:\n{self}")

    def assert_retried(self, times: int | None = None) -> None:
        """Check that there was a retry, or as many as given."""
        found = self.kinds.count("retry")
        if found == 0 if times is None else found != times:
            wanted = "a retry" if times is None else f"{times} retries"
            raise AssertionError(f"expected {wanted}, but this happened:\n{self}")

    def assert_not_retried(self) -> None:
        """Check that there was no retry."""
        self.assert_retried(0)

    def __str__(self) -> str:
        return "\n".join(map(_line_of, self.events)) or "nothing"


@contextmanager
def instant(*, attempts: int | None = None, chance: float = 1.0) -> Generator[FakeClock]:
    """Make all retries of the process without waiting until the block ends, by the usual rules.

    Time passes on the clock that it yields, so deadlines count; budgets and breakers are new, so tests don't affect
    each other. A call that is given a clock, a sleep or limits of its own uses those.

    Args:
        attempts: the most attempts of any call, whatever its policy says; 1 switches retries off.
        chance: the random number that all calls get, from 0 to 1.
    """
    if attempts is not None and attempts < 1:
        raise ValueError(f"attempts must be at least 1, not {attempts!r}")
    clock = FakeClock(chance=chance)
    with replace_environment(Environment(clock, clock.sleep, clock.asleep, clock.chance, Shared.new(), attempts)):
        yield clock


def _line_of(event: Event) -> str:
    who = f"{event.tool or 'call'}, attempt {event.attempt}: {event.kind}"
    why = f" ({event.failure.code or event.failure.type})" if event.failure else ""
    return f"{who}{why}{f': {event.reason}' if event.reason else ''}"


def _is_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
