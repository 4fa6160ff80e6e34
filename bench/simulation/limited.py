"""Many tasks against a server that limits calls: how much of what it allows is used, and how many calls it refuses."""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

import failwell as fw
from failwell.retry import Run, Shared, Try, Wait, settle

PAGE = Path(__file__).with_suffix(".md")
LATENCY = 0.05


class LimitedServer:
    """Takes *limit* calls in each *window* seconds, and says of that as much as it is asked to."""

    def __init__(self, limit: int, window: float, *, states_delay: bool, states_limit: bool) -> None:
        self.limit = limit
        self.window = window
        self.states_delay = states_delay
        self.states_limit = states_limit
        self.taken: Counter[int] = Counter()
        self.refused: list[float] = []

    def answer(self, now: float) -> fw.Failure | None:
        current = int(now // self.window)
        if self.taken[current] < self.limit:
            self.taken[current] += 1
            return None
        self.refused.append(now)
        left = (current + 1) * self.window - now
        details: dict[str, Any] = {"limit": self.limit, "window": self.window} if self.states_limit else {}
        return fw.RateLimited("m", retry_after=left if self.states_delay else None, details=details).failure


class LimitsEachOnce(LimitedServer):
    """Refuses the first call of each task, whatever the pace, and takes all others."""

    def __init__(self, tasks: int) -> None:
        super().__init__(1, 1.0, states_delay=True, states_limit=False)
        self.left = tasks

    def answer(self, now: float) -> fw.Failure | None:
        self.left -= 1
        if self.left >= 0:
            self.refused.append(now)
            return fw.RateLimited("m", retry_after=1).failure
        return None


class Figures(Struct, frozen=True, kw_only=True):
    """How many calls succeeded and failed in the end, how many the server refused, all and after the first window."""

    succeeded: int
    failed: int
    refused: int
    refused_later: int
    last: float

    def share_of(self, ideal: float) -> float:
        """Return how much of the calls that the server allows were made."""
        return self.succeeded / ideal

    @property
    def share_refused(self) -> float:
        """How many calls were refused after the first window, of all that reached the server after it."""
        return self.refused_later / max(self.succeeded + self.refused_later, 1)


class Tasks:
    """Tasks that call the server through one process, each *calls* times; None: as often as they can until the end."""

    def __init__(
        self, server: LimitedServer, tasks: int, *, calls: int | None, until: float = 1e9, seed: int = 7
    ) -> None:
        self.server = server
        self.calls = calls
        self.until = until
        self.shared = Shared.new()
        self.policy = fw.Policy()
        self.chance = random.Random(seed)
        self.succeeded: list[float] = []
        self.failed = 0
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = itertools.count()
        for _ in range(tasks):
            self._at(0.0, lambda now: self._start(1, now))

    def run(self) -> Figures:
        while self._events and self._events[0][0] < self.until:
            now, _, act = heapq.heappop(self._events)
            act(now)
        later = [at for at in self.server.refused if at >= self.server.window]
        return Figures(
            succeeded=len(self.succeeded),
            failed=self.failed,
            refused=len(self.server.refused),
            refused_later=len(later),
            last=max(self.succeeded, default=0.0),
        )

    def _start(self, number: int, now: float) -> None:
        run = Run(self.policy, self.shared, "server", "tool", arguments={"same": "for all"}, started=now)
        self._next(run, number, run.begin(now, jitter=self.chance.random()), now)

    def _next(self, run: Run, number: int, effect: Any, now: float) -> None:
        effect = settle(run, effect)
        if isinstance(effect, Wait):
            self._at(now + effect.delay, lambda now: self._resume(run, number, now))
        elif isinstance(effect, Try):
            self._at(now + self._trip(), lambda now: self._arrive(run, number, now))
        else:
            self.failed += 1
            self._again(number, now)

    def _resume(self, run: Run, number: int, now: float) -> None:
        self._next(run, number, run.begin(now, jitter=self.chance.random()), now)

    def _arrive(self, run: Run, number: int, now: float) -> None:
        failure = self.server.answer(now)
        self._at(now + self._trip(), lambda now: self._answered(run, number, failure, now))

    def _answered(self, run: Run, number: int, failure: fw.Failure | None, now: float) -> None:
        if failure is not None:
            self._next(run, number, run.failed(failure, now, jitter=self.chance.random()), now)
            return
        run.succeeded(now)
        self.succeeded.append(now)
        self._again(number, now)

    def _again(self, number: int, now: float) -> None:
        if self.calls is None or number < self.calls:
            self._at(now, lambda now: self._start(number + 1, now))

    def _trip(self) -> float:
        return LATENCY / 2 * self.chance.uniform(0.5, 1.5)

    def _at(self, time: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (time, next(self._order), act))


SECONDS = 120
CASES: dict[str, tuple[int, float, bool, bool]] = {
    "it states the limit": (20, 1.0, True, True),
    "it states a limit per minute": (600, 60.0, True, True),
    "it only says when to come back": (20, 1.0, True, False),
    "it says nothing": (20, 1.0, False, False),
    "it says nothing, and takes few": (5, 1.0, False, False),
}


def saturated(name: str) -> tuple[Figures, float]:
    """Return what a hundred busy tasks reach in two minutes, and how many calls the server allows in that time."""
    limit, window, states_delay, states_limit = CASES[name]
    server = LimitedServer(limit, window, states_delay=states_delay, states_limit=states_limit)
    return Tasks(server, 100, calls=None, until=SECONDS).run(), limit / window * SECONDS


def burst(tasks: int, server: LimitedServer) -> Figures:
    """Return what becomes of tasks that all make one call at the same moment."""
    return Tasks(server, tasks, calls=1).run()


def report() -> str:
    """Return the figures as a table."""
    rows = ["|  | of what it allows | refused after the first window | failed |", "| --- | ---: | ---: | ---: |"]
    for name in CASES:
        found, ideal = saturated(name)
        rows.append(f"| {name} | {found.share_of(ideal):.1%} | {found.share_refused:.1%} | {found.failed} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(report())
    print("ten against five:", burst(10, LimitedServer(5, 1.0, states_delay=True, states_limit=False)))
    print("ten against five, silent:", burst(10, LimitedServer(5, 1.0, states_delay=False, states_limit=False)))
    print("a thousand limited once:", burst(1000, LimitsEachOnce(1000)))
