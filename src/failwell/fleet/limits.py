"""`FleetLimits`: the limits that processes share, and what each process makes of them by itself."""

import logging
import random
import secrets
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any

from msgspec import Struct

from failwell.failure import Failure
from failwell.fleet.askers import Askers, Question
from failwell.fleet.errands import Errands
from failwell.fleet.store import Away, State, Store
from failwell.retry.breaker import suspended
from failwell.retry.forks import in_every_fork
from failwell.retry.limits import NOBODY, Failing, Key, Taken
from failwell.retry.repeats import digest_of
from failwell.retry.shared import Shared

_log = logging.getLogger("failwell")

_MOST_KNOWN = 1000
_MOST_OWED = 1000
_CHECKED_EVERY = 1.0
_OPEN_FOR = 10  # times as long an open breaker is believed, which hardly ever closes before its time


class _Known(Struct):
    """What the store said of a tool, and until when that is believed; until when calls are refused."""

    until: float
    refused_until: float
    is_noted: bool


class FleetLimits:
    """Budget, breaker and identical-call guard of many processes, asked with one round trip in each step.

    What the store says of a tool is believed for *freshness* seconds, so that most successes ask nothing. While the
    store is away, this process goes by what it saw itself; nobody waits for the store to come back.

    Args:
        store: where they are kept.
        local: those of this process, with the same figures.
        freshness: seconds for which an answer is believed; 0: ask each time.
        patience: seconds for which an answer is waited for.
        warn: told once when the store is away, and once when it is back.
        errands: makes what works in the background.
        askers: makes what asks, and what others wait for.
    """

    def __init__(
        self,
        store: Store,
        local: Shared,
        *,
        freshness: float = 0.5,
        patience: float = 0.25,
        warn: Callable[[str], object] = _log.warning,
        errands: type[Errands] = Errands,
        askers: type[Askers] = Askers,
    ) -> None:
        self.local = local
        self.is_closed = False
        self.troubles = ((True,), (), ())
        self._store = store
        self._freshness = freshness
        self._warn = warn
        self._begin_anew()
        in_every_fork(self._begin_anew)
        self._errands = errands(self._checked)
        self._askers = askers(patience, self._lost)

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
        warn: Callable[[str], object] = _log.warning,
    ) -> "FleetLimits":
        """Return those that are kept in the Redis or Valkey at a URL.

        Args:
            url: such as `redis://localhost:6379/0`; nothing is connected yet.
            local: the limits of this process: their figures count, and they take over while Redis is away.
            scope: tells one upstream from another where servers have no names.
            prefix: begins every key.
            freshness: seconds for which an answer is believed.
            patience: seconds for which an answer is waited for.
            warn: told when Redis is away, and when it is back.

        Raises:
            ValueError: that is no such URL.
            ImportError: the library is not installed.
        """
        from failwell.fleet.redis_store import RedisStore

        figures = local or Shared.new()
        # A row of failures must last until all who saw a success have said so.
        store = RedisStore(url, figures, scope=scope, prefix=prefix, patience=patience, settling=2 * freshness)
        return cls(store, figures, freshness=freshness, patience=patience, warn=warn)

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Return the failure of an open breaker, or None: make the call."""
        if not self._must_ask(key, now):
            return self._unasked(key, now, caller)
        return self._askers.answer(self._beginning(key, now, caller))

    async def abegin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Do what `begin` does."""
        if not self._must_ask(key, now):
            return self._unasked(key, now, caller)
        return await self._askers.aanswer(self._beginning(key, now, caller))

    def failed(self, failing: Failing, now: float) -> Taken:
        """Count a failed try here and there, and pay for the retry that is wanted."""
        seen_here = self.local.failed(failing, now)
        if self.is_away:
            return seen_here
        return self._settled(failing, seen_here, self._askers.answer(self._failure(failing, now, seen_here)))

    async def afailed(self, failing: Failing, now: float) -> Taken:
        """Do what `failed` does."""
        seen_here = self.local.failed(failing, now)
        if self.is_away:
            return seen_here
        return self._settled(failing, seen_here, await self._askers.aanswer(self._failure(failing, now, seen_here)))

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:
        """Note a success. The store is told in the background, and only if that changes anything."""
        self.local.succeeded(key, arguments, now, paid=paid)
        known = self._known.get(key)
        if self.is_away or not (paid or (known is not None and known.is_noted)):
            return
        if known is not None:
            known.refused_until = 0.0
        digest = "" if arguments is None else digest_of(arguments).hex()
        refund = paid or self.local.budget.gain
        self._errands.do(partial(self._tell_success, key, digest, refund))

    def released(self, key: Key, *, caller: object) -> None:
        """Note that a call ended without an answer."""
        self.local.released(key, caller=caller)
        known = self._known.get(key)
        if known is None or not known.is_noted or self.is_away:
            return
        self._release(key, self._called(caller))

    def flush(self) -> None:
        """Wait until the store was told what it is told in the background, but not for long."""
        self._errands.finish()

    def close(self) -> None:
        """Tell what is still to be told, but not for long, and close the connections."""
        self._errands.end()
        self.is_away = self.is_closed = True
        self._askers.end()
        self._store.close()

    def _begin_anew(self) -> None:
        """Know nothing, as a process does that begins or was forked: who asks in it bears another name."""
        self.is_away = self.is_closed
        self._known: dict[Key, _Known] = {}
        self._owed: deque[tuple[Key, str]] = deque(maxlen=_MOST_OWED)
        self._lock = Lock()
        self._name = secrets.token_hex(8)

    def _must_ask(self, key: Key, now: float) -> bool:
        known = self._known.get(key)
        is_known = known is not None and now < known.until
        return not (self.is_away or key == NOBODY or is_known)

    def _unasked(self, key: Key, now: float, caller: object) -> Failure | None:
        known = self._known.get(key)
        if self.is_away:
            self._errands.wake()
        if known is None or self.is_away:
            return self.local.begin(key, now, caller=caller)
        return self._refusal(key, known.refused_until - now)

    def _beginning(self, key: Key, now: float, caller: object) -> Question[Failure | None]:
        name = self._called(caller)

        def begin() -> Failure | None:
            try:
                state = self._store.begin(key, caller=name)
            except Away:
                self._owed.append((key, name))  # it may have let this call probe, and only its answer was lost
                raise
            self._note(key, state, now)
            return None if state.is_own_probe else self._refusal(key, state.left)

        instead = partial(self.local.begin, key, now, caller=caller)
        return Question(begin, instead, partial(self._release, key, name))

    def _failure(self, failing: Failing, now: float, seen_here: Taken) -> Question[Taken]:
        name = self._called(failing.caller)

        def fail() -> Taken:
            state = self._store.failed(failing, caller=name)
            self._note(failing.key, state, now)
            return state.taken

        return Question(fail, lambda: seen_here)

    def _settled(self, failing: Failing, seen_here: Taken, taken: Taken) -> Taken:
        """Return what the fleet says of a failed try; a retry that it refuses costs this process nothing."""
        if taken.paid is None and seen_here.paid is not None:
            self.local.budget.refund(failing.key[0], seen_here.paid)
        return taken

    def _refusal(self, key: Key, left: float) -> Failure | None:
        return suspended(key, left, most=self.local.breaker.most) if left > 0 else None

    def _called(self, caller: object) -> str:
        return f"{self._name}:{id(caller)}"

    def _note(self, key: Key, state: State, now: float) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        is_open = state.left > 0 and not state.is_probed
        believed = min(state.left, _OPEN_FOR * self._freshness) if is_open else self._freshness
        # Others looked at the clock earlier: to them, "until now" would be a time to come.
        refused_until = now + state.left if state.left > 0 else 0.0
        self._known[key] = _Known(now + believed, refused_until, state.is_noted)

    def _release(self, key: Key, name: str) -> None:
        self._known.pop(key, None)  # another call of this process may probe
        self._owed.append((key, name))
        self._errands.do(partial(self._told, self._tell_released))

    def _tell_released(self) -> None:
        while self._owed:
            key, name = self._owed[0]
            self._store.released(key, caller=name)
            self._owed.popleft()

    def _tell_success(self, key: Key, digest: str, refund: float) -> None:
        def tell() -> None:
            state = self._store.succeeded(key, digest=digest, refund=refund)
            if (known := self._known.get(key)) is not None:
                known.is_noted = state.is_noted

        self._told(tell)

    def _told(self, tell: Callable[[], object]) -> None:
        if self.is_away:
            return
        try:
            tell()
        except Away as away:
            self._lost(away)

    def _lost(self, away: Away) -> None:
        with self._lock:
            was_away, self.is_away = self.is_away, True
        if not was_away:
            self._known.clear()
            self._errands.do(lambda: None)  # wakes the thread, which looks for it from now on
            self._say(f"{self._store.name} is away: {away}. Until it is back, each process keeps limits of its own.")

    def _checked(self) -> float | None:
        """Look whether the store is back, and return after how many seconds to look again."""
        if not self.is_away:
            return None
        try:
            self._store.check()
            self._tell_released()
        except Away:
            return _CHECKED_EVERY * random.uniform(0.5, 1.5)  # a whole fleet does not come at once
        self.is_away = False
        self._say(f"{self._store.name} is back: limits are shared again.")
        return None

    def _say(self, sentence: str) -> None:
        for tell in (self._warn, _log.warning):
            with suppress(Exception):  # no call fails because nobody can be told
                tell(sentence)
                return
