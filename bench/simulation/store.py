"""The store of a simulated fleet: what Redis keeps, with the time of the simulation."""

import sys
from typing import Any, TypeVar

import msgspec

from failwell import Failure
from failwell.retry import Breaker, Budget, Repeats, Shared
from failwell.retry._fleet import BackgroundQueue, Question, QuestionThreads, Task
from failwell.retry._limits import Failing, Key
from failwell.retry._redis import LimitState

T = TypeVar("T")


class SettlingBreaker(Breaker):
    """Opens once a row of failures has lasted *settling* seconds."""

    def __init__(self, *, settling: float = 0.0, **figures: Any) -> None:
        super().__init__(**figures)
        self.settling = settling
        self._since: dict[Key, float] = {}

    def failed(
        self, key: Key, failure: Failure, now: float, *, caller: object = None, is_counted: bool = False
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

    def begin(self, key: Key, *, caller: str) -> LimitState:
        self.asked += 1
        breaker = self._shared.breaker
        refusal = breaker.refusal(key, self.now, caller=sys.intern(caller))
        if refusal is not None:
            is_probed = breaker.failing[key].prober is not None
            return LimitState(left=refusal.retry_after or 0.0, is_probed=is_probed, is_noted=True)
        state = breaker.failing.get(key)
        if state is not None and state.opened is not None:
            return LimitState(left=breaker.pause, is_probed=True, is_own_probe=True, is_noted=True)
        return LimitState(is_noted=self._is_noted(key))

    def failed(self, failing: Failing, *, caller: str) -> LimitState:
        self.asked += 1
        named = msgspec.structs.replace(failing, caller=sys.intern(caller))
        taken = self._shared.failed(named, self.now)
        left = self._shared.breaker.suspension(failing.key, self.now)
        return LimitState(left=left, is_noted=self._is_noted(failing.key), taken=taken)

    def succeeded(self, key: Key, *, digest: str, refund: float) -> LimitState:
        self.asked += 1
        self._shared.breaker.succeeded(key)
        self._shared.budget.refund(key[0], refund)
        alike = self._shared.repeats.failing.get(key)
        if alike is not None:
            alike.pop(bytes.fromhex(digest), None)
            if not alike:
                del self._shared.repeats.failing[key]
        return LimitState(is_noted=self._is_noted(key))

    def released(self, key: Key, *, caller: str) -> None:
        self.asked += 1
        self._shared.breaker.released(key, caller=sys.intern(caller))

    def check(self) -> None: ...

    def close(self) -> None: ...

    def _is_noted(self, key: Key) -> bool:
        shared = self._shared
        return key in shared.breaker.failing or key[0] in shared.budget.spent or key in shared.repeats.failing


class AtOnce(BackgroundQueue):
    """Does everything when it is told, so that a simulation is the same each time."""

    def do(self, errand: Task) -> None:
        errand()


class AskedAtOnce(QuestionThreads):
    """Asks at once too."""

    def answer(self, question: Question[T]) -> T:
        return question.ask()
