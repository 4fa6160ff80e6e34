"""The store of a simulated fleet: what Redis keeps, with the time of the simulation."""

import sys
from typing import Any, TypeVar

import msgspec

from failwell import Failure
from failwell.retry import Breaker, Budget, FailedAttempt, LimitState, Repeats, Shared
from failwell.retry._threads import BackgroundQueue, Query, QueryThreads, Task

T = TypeVar("T")


class SettlingBreaker(Breaker):
    """Opens once a row of failures has lasted *settling* seconds."""

    def __init__(self, *, settling: float = 0.0, **figures: Any) -> None:
        super().__init__(**figures)
        self.settling = settling
        self._since: dict[tuple[str, str], float] = {}

    def failed(
        self, key: tuple[str, str], failure: Failure, now: float, *, caller: object = None, is_counted: bool = False
    ) -> None:
        state = self.failing.get(key)
        was_open = state is not None and state.opened is not None
        if state is None or not [at for at in state.failures if at > now - self.window]:
            self._since[key] = now
        super().failed(key, failure, now, caller=caller, is_counted=is_counted)
        state = self.failing.get(key)
        if state is not None and state.opened is not None and not was_open and now - self._since[key] < self.settling:
            state.opened = None


class SimulatedStore:
    """Answers as `RedisStore` does, at the time in *now*, and counts how often it is asked."""

    name = "the simulated store"

    def __init__(self, *, settling: float = 0.0, figures: Shared | None = None) -> None:
        given = figures or Shared.new()
        breaker = given.breaker
        settled = SettlingBreaker(settling=settling, most=breaker.most, window=breaker.window, pause=breaker.pause)
        budget = given.budget
        self.now = 0.0
        self.asked = 0
        self._shared = Shared(
            Budget(capacity=budget.capacity, cost=budget.cost, throttled_cost=budget.throttled_cost, gain=budget.gain),
            settled,
            Repeats(most=given.repeats.most),
        )

    def begin(self, key: tuple[str, str], *, caller: str) -> LimitState:
        self.asked += 1
        breaker = self._shared.breaker
        refusal = breaker.refusal(key, self.now, caller=sys.intern(caller))
        if refusal is not None:
            is_probed = breaker.failing[key].prober is not None
            return LimitState(left=refusal.retry_after or 0.0, is_probed=is_probed, has_failures=True)
        state = breaker.failing.get(key)
        if state is not None and state.opened is not None:
            return LimitState(left=breaker.pause, is_probed=True, is_own_probe=True, has_failures=True)
        return LimitState(has_failures=self._has_failures(key))

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        self.asked += 1
        named = msgspec.structs.replace(attempt, caller=sys.intern(caller))
        permit = self._shared.failed(named, self.now)
        left = self._shared.breaker.suspension(attempt.key, self.now)
        return LimitState(left=left, has_failures=self._has_failures(attempt.key), permit=permit)

    def succeeded(self, key: tuple[str, str], *, digest: str, refund: float) -> LimitState:
        self.asked += 1
        self._shared.breaker.succeeded(key)
        self._shared.budget.refund(key[0], refund)
        alike = self._shared.repeats.failing.get(key)
        if alike is not None:
            alike.pop(bytes.fromhex(digest), None)
            if not alike:
                del self._shared.repeats.failing[key]
        return LimitState(has_failures=self._has_failures(key))

    def released(self, key: tuple[str, str], *, caller: str) -> None:
        self.asked += 1
        self._shared.breaker.released(key, caller=sys.intern(caller))

    def check(self) -> None: ...

    def close(self) -> None: ...

    def _has_failures(self, key: tuple[str, str]) -> bool:
        shared = self._shared
        return key in shared.breaker.failing or key[0] in shared.budget.spent or key in shared.repeats.failing


class AtOnce(BackgroundQueue):
    """Does everything when it is told, so that a simulation is the same each time."""

    def add(self, task: Task) -> None:
        task()


class AskedAtOnce(QueryThreads):
    """Asks at once too."""

    def run(self, query: Query[T]) -> T:
        return query.ask()
