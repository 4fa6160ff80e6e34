"""For tests of code that retries: a clock that only sleeping moves, a record of what happened, retries without waiting.

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
    """A clock that moves only when somebody sleeps, and chance that always gives the same number.

    Those who sleep at once sleep side by side: the clock shows the latest time at which one of them wakes.
    `slept` lists how long each sleep would have been.
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
        """Return the number it was made with."""
        return self._chance

    def advance(self, seconds: float) -> None:
        """Let time pass without anybody sleeping."""
        with self._lock:
            self.now += seconds

    def sleep(self, seconds: float) -> None:
        """Sleep without waiting."""
        self._wake(self.now + seconds, seconds)

    async def asleep(self, seconds: float) -> None:
        """Sleep without waiting, and let other tasks run meanwhile."""
        wakes = self.now + seconds
        if _is_asyncio():
            await asyncio.sleep(0)
        self._wake(wakes, seconds)

    def _wake(self, wakes: float, seconds: float) -> None:
        with self._lock:
            self.slept.append(seconds)
            self.now = max(self.now, wakes)


class EventLog:
    """A hook that keeps every event, and says in words what was expected and did not happen.

    It lives as long as a test. `failwell.Recorder` writes what happens to a file or a store.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    @property
    def steps(self) -> list[str]:
        """What came after each try: `retry`, `succeeded`, `gave_up`, `refused` and so on."""
        return [event.step for event in self.events]

    @property
    def delays(self) -> list[float]:
        """How long was waited before each further try."""
        return [event.delay for event in self.events if event.delay is not None]

    def assert_steps(self, *expected: str) -> None:
        """Check what came after each try, in order."""
        if self.steps != list(expected):
            raise AssertionError(f"expected {', '.join(expected) or 'nothing'}, but this happened:\n{self}")

    def assert_retried(self, times: int | None = None) -> None:
        """Check that there was another try, or as many as given."""
        found = self.steps.count("retry")
        if found == 0 if times is None else found != times:
            wanted = "a retry" if times is None else f"{times} retries"
            raise AssertionError(f"expected {wanted}, but this happened:\n{self}")

    def assert_not_retried(self) -> None:
        """Check that there was no other try."""
        self.assert_retried(0)

    def __str__(self) -> str:
        return "\n".join(map(_told, self.events)) or "nothing"


@contextmanager
def instant(*, attempts: int | None = None, chance: float = 1.0) -> Generator[FakeClock]:
    """Make all retries of the process at once until the block ends, by the same rules as ever.

    Time passes on the clock it gives, so that deadlines count; budgets and breakers are fresh ones, so that tests do
    not change each other. What a call is given itself (a clock, a sleep, shared state) it keeps.

    Args:
        attempts: make no more than these, whatever a policy says; 1 switches retries off.
        chance: what chance gives each time, from 0 to 1.
    """
    if attempts is not None and attempts < 1:
        raise ValueError(f"attempts must be at least 1, not {attempts!r}")
    clock = FakeClock(chance=chance)
    with replace_environment(Environment(clock, clock.sleep, clock.asleep, clock.chance, Shared.new(), attempts)):
        yield clock


def _told(event: Event) -> str:
    who = f"{event.tool or 'call'}, attempt {event.attempt}: {event.step}"
    why = f" ({event.failure.code or event.failure.type})" if event.failure else ""
    return f"{who}{why}{f': {event.reason}' if event.reason else ''}"


def _is_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
