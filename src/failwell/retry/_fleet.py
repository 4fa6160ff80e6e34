"""`FleetLimits`: limits that many processes share, and the part that each process keeps itself."""

import random
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from failwell._log import log
from failwell.failure import Failure
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import (
    PROBE_TIME,
    UNNAMED,
    FailedAttempt,
    Key,
    LimitState,
    LimitStore,
    Question,
    RetryPermit,
    Shared,
    StoreUnavailable,
    digest_of,
    suspended,
)
from failwell.retry._threads import BackgroundQueue, Query, QueryThreads

T = TypeVar("T")

_MOST_KNOWN = 1000
_MOST_UNRELEASED = 1000
_CHECK_INTERVAL = 1.0
_OPEN_FRESHNESS = 10
"""An open breaker is believed so many times longer than all else: it hardly ever closes before its time."""


class _KnownState(Struct):
    """What the store said of a tool, until when to believe it, and until when calls are refused."""

    until: float
    refused_until: float
    has_failures: bool
    is_probed: bool = False


class FleetLimits:
    """Budget, breakers, repeats and rate limits that many processes share, with one round trip for each step at most.

    What the store says about a tool is cached for *freshness* seconds, so most successes don't ask it. While the
    store is unavailable, the process uses its own limits; no call waits for the store to come back.

    Args:
        store: where they are kept.
        local: the limits of this process, with the same figures.
        freshness: how many seconds to believe an answer; 0 asks each time.
        patience: how many seconds to wait for an answer.
        warn: called once when the store is away, and once when it is back.
        background: the class that tells the store what no call waits for.
        threads: the class that asks the store while a call waits.
    """

    def __init__(
        self,
        store: LimitStore,
        local: Shared,
        *,
        freshness: float = 0.5,
        patience: float = 0.25,
        warn: Callable[[str], object] = log.warning,
        background: type[BackgroundQueue] = BackgroundQueue,
        threads: type[QueryThreads] = QueryThreads,
    ) -> None:
        self.local = local
        self.is_closed = False
        self.failure_state = ((True,), (), (), local.pacer.paces)
        self.pacer = local.pacer
        self._store = store
        self._freshness = freshness
        self._warn = warn
        self._reset_after_fork()
        in_every_fork(self._reset_after_fork)
        self._background = background(self._check_store)
        self._threads = threads(patience, self._store_failed)

    @classmethod
    def at(
        cls,
        url: str,
        local: Shared | None = None,
        *,
        scope: str = "",
        prefix: str = "failwell",
        freshness: float = 0.5,
        patience: float = 0.25,
        warn: Callable[[str], object] = log.warning,
    ) -> "FleetLimits":
        """Return the limits that are kept in the Redis or Valkey at a URL.

        Args:
            url: such as `redis://localhost:6379/0`; nothing is connected yet.
            local: the limits of this process: their figures count, and they take over while Redis is away.
            scope: tells one upstream from another where servers have no names.
            prefix: begins every key.
            freshness: how many seconds to believe an answer.
            patience: how many seconds to wait for an answer.
            warn: called when Redis is away, and when it is back.

        Raises:
            ValueError: it is not such a URL.
            ImportError: the library is not installed.
        """
        from failwell.retry._redis import RedisStore

        figures = local or Shared.new()
        # A row of failures must last until all who saw a success have said so.
        store = RedisStore(url, figures, scope=scope, prefix=prefix, patience=patience, settling=2 * freshness)
        return cls(store, figures, freshness=freshness, patience=patience, warn=warn)

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | Question[Failure | None] | None:
        """Return the failure of an open breaker, or None: make the call; ask the store where nothing is known."""
        if not self._must_ask(key, now):
            return self._begin_from_memory(key, now, caller)
        return self._question(self._begin_query(key, now, caller))

    def failed(self, attempt: FailedAttempt, now: float) -> RetryPermit | Question[RetryPermit]:
        """Count a failed try, here and in the store, and pay for the retry that is wanted."""
        permit = self.local.failed(attempt, now)
        return permit if self.is_away else self._question(self._failed_query(attempt, now, permit))

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:
        """Note a success. The store is told in the background, and only if that changes anything."""
        self.local.succeeded(key, arguments, now, paid=paid)
        known = self._known.get(key)
        if self.is_away or not (paid or (known is not None and known.has_failures)):
            return
        if known is not None:
            known.refused_until = 0.0
        digest = "" if arguments is None else digest_of(arguments).hex()
        refund = paid or self.local.budget.gain
        self._background.add(partial(self._tell_success, key, digest, refund))

    def released(self, key: Key, *, caller: object) -> None:
        """Note that a call ended without an answer."""
        self.local.released(key, caller=caller)
        known = self._known.get(key)
        if known is None or not known.has_failures or self.is_away:
            return
        self._release(key, self._name_of(caller))

    def flush(self, timeout: float = 0.5) -> None:
        """Wait until the store knows all that happened, at most *timeout* seconds."""
        self._background.finish(timeout)

    def close(self) -> None:
        """Empty the background queue, but not for long, and close the connections."""
        self._background.end()
        self.is_away = self.is_closed = True
        self._threads.end()
        self._store.close()

    def _reset_after_fork(self) -> None:
        """Start without knowledge, under a new name: a forked process must not answer to the name of its parent."""
        self.is_away = self.is_closed
        self._known: dict[Key, _KnownState] = {}
        self._unreleased: deque[tuple[Key, str]] = deque(maxlen=_MOST_UNRELEASED)
        self._lock = Lock()
        self._name = secrets.token_hex(8)

    def _must_ask(self, key: Key, now: float) -> bool:
        known = self._known.get(key)
        is_known = known is not None and now < known.until
        return not (self.is_away or key == UNNAMED or is_known)

    def _begin_from_memory(self, key: Key, now: float, caller: object) -> Failure | None:
        known = self._known.get(key)
        if self.is_away:
            self._background.wake()
        if known is None or self.is_away:
            return self.local.begin(key, now, caller=caller)
        return self._refusal(key, known.refused_until - now, is_probed=known.is_probed)

    def _begin_query(self, key: Key, now: float, caller: object) -> Query[Failure | None]:
        name = self._name_of(caller)

        def begin() -> Failure | None:
            try:
                state = self._store.begin(key, caller=name)
            except StoreUnavailable:
                self._unreleased.append((key, name))  # it may have let this call probe, and only its answer was lost
                raise
            self._remember(key, state, now)
            self._pace(key, state, now)
            return None if state.is_own_probe else self._refusal(key, state.left, is_probed=state.is_probed)

        fallback = partial(self.local.begin, key, now, caller=caller)
        return Query(begin, fallback, partial(self._release, key, name))

    def _failed_query(self, attempt: FailedAttempt, now: float, local_permit: RetryPermit) -> Query[RetryPermit]:
        name = self._name_of(attempt.caller)

        def fail() -> RetryPermit:
            state = self._store.failed(attempt, caller=name)
            self._remember(attempt.key, state, now)
            return replace(state.permit, given_up=local_permit.given_up)

        def settle(permit: RetryPermit) -> None:
            if permit.paid is None and local_permit.paid is not None:  # what the fleet refuses costs nothing here
                self.local.budget.refund(attempt.key[0], local_permit.paid)

        return Query(fail, lambda: local_permit, settle=settle)

    def _question(self, query: Query[T]) -> Question[T]:
        return Question(partial(self._threads.run, query), partial(self._threads.arun, query))

    def _refusal(self, key: Key, left: float, *, is_probed: bool) -> Failure | None:
        left = min(left, PROBE_TIME) if is_probed else left
        return suspended(key, left, most=self.local.breaker.most) if left > 0 else None

    def _name_of(self, caller: object) -> str:
        return f"{self._name}:{id(caller)}"

    def _remember(self, key: Key, state: LimitState, now: float) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        is_open = state.left > 0 and not state.is_probed
        believed = min(state.left, _OPEN_FRESHNESS * self._freshness) if is_open else self._freshness
        # Others looked at the clock earlier: to them, "until now" would be a time to come.
        refused_until = now + state.left if state.left > 0 else 0.0
        self._known[key] = _KnownState(now + believed, refused_until, state.has_failures, state.is_probed)

    def _pace(self, key: Key, state: LimitState, now: float) -> None:
        """Have calls wait here too for the rate limits that other processes met."""
        server, tool = key
        for gate in state.gates:
            self.pacer.limited_elsewhere(
                (server, "", "" if gate.is_wide else tool),
                now,
                left=gate.left,
                capacity=gate.capacity,
                window=gate.window,
                jitter=random.random(),
            )

    def _release(self, key: Key, name: str) -> None:
        self._known.pop(key, None)  # another call of this process may probe
        self._unreleased.append((key, name))
        self._background.add(partial(self._try_telling, self._tell_released))

    def _tell_released(self) -> None:
        while self._unreleased:
            key, name = self._unreleased[0]
            self._store.released(key, caller=name)
            self._unreleased.popleft()

    def _tell_success(self, key: Key, digest: str, refund: float) -> None:
        def tell() -> None:
            state = self._store.succeeded(key, digest=digest, refund=refund)
            if (known := self._known.get(key)) is not None:
                known.has_failures = state.has_failures

        self._try_telling(tell)

    def _try_telling(self, tell: Callable[[], object]) -> None:
        if self.is_away:
            return
        try:
            tell()
        except StoreUnavailable as away:
            self._store_failed(away)

    def _store_failed(self, away: StoreUnavailable) -> None:
        with self._lock:
            was_away, self.is_away = self.is_away, True
        if not was_away:
            self._known.clear()
            self._background.add(lambda: None)  # wakes the thread, which looks for it from now on
            self._announce(
                f"{self._store.name} is unavailable: {away}. Until it is back, each process keeps its own limits."
            )

    def _check_store(self) -> float | None:
        """Look whether the store is back, and return after how many seconds to look again."""
        if not self.is_away:
            return None
        try:
            self._store.check()
            self._tell_released()
        except StoreUnavailable:
            return _CHECK_INTERVAL * random.uniform(0.5, 1.5)  # a whole fleet does not come at once
        self.is_away = False
        self._announce(f"{self._store.name} is back: limits are shared again.")
        return None

    def _announce(self, sentence: str) -> None:
        for tell in (self._warn, log.warning):
            with suppress(Exception):  # no call fails because a warning does
                tell(sentence)
                return


_Figures = tuple[float, ...]

_by_address: dict[tuple[str, _Figures], FleetLimits] = {}
_lock = Lock()


def limits_at(url: str, shared: Shared | None) -> FleetLimits:
    """Return limits with their connections and threads; calls with the same address and figures get the same ones.

    Raises:
        ValueError: it is not an address.
        ImportError: the library is not installed.
    """
    local = shared or Shared.new()
    key = (url, _figures(local))
    with _lock:
        found = _by_address.get(key)
        if found is None or found.is_closed:
            found = _by_address[key] = FleetLimits.at(url, local)
        return found


def _figures(shared: Shared) -> _Figures:
    budget, breaker = shared.budget, shared.breaker
    prices = (budget.capacity, budget.cost, budget.throttled_cost, budget.gain)
    return (*prices, breaker.most, breaker.window, breaker.pause, shared.repeats.most)


def _unlock() -> None:
    global _lock
    _lock = Lock()


in_every_fork(_unlock)
