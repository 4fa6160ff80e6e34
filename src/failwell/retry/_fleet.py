"""`FleetLimits`: limits that many processes share, and what each process makes of them by itself."""

import asyncio
import atexit
import random
import secrets
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar

from msgspec import Struct

from failwell._log import log
from failwell.failure import Failure
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import NOBODY, Failing, Key, Shared, Taken, digest_of, suspended
from failwell.retry._redis import LimitState, LimitStore, StoreAway

_MOST_THREADS = 4

T = TypeVar("T")


def _no_answer() -> None: ...


class Question(Struct, Generic[T], frozen=True):
    """What asks the store; what answers in its place; what takes the question back if its answer comes too late."""

    ask: Callable[[], T]
    instead: Callable[[], T]
    undo: Callable[[], object] = _no_answer


class QuestionThreads:
    """Ask the store, and answer in its place if it does not in time.

    A thread is started when there is more to ask than threads that have nothing to do, up to four. Unlike those of an
    executor they do not keep a process from ending: one may hang in a look-up of a name.

    Args:
        patience: seconds for which an answer is waited for.
        lost: told when the store is away.
    """

    def __init__(self, patience: float, lost: Callable[[StoreAway], object]) -> None:
        self._patience = patience
        self._lost = lost
        self._begin_anew()
        in_every_fork(self._begin_anew)

    def answer(self, question: Question[T]) -> T:
        """Return the answer."""
        asked = self.submit(question.ask)
        try:
            return asked.result(self._patience)
        except (StoreAway, TimeoutError) as failed:
            return self._answered_here(question, asked, failed)

    async def aanswer(self, question: Question[T]) -> T:
        """Return the answer, on asyncio or trio. Who is cancelled meanwhile has asked for nothing."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            trio: Any = sys.modules["trio"]  # nothing else runs here; who runs trio has imported it
            found: T = await trio.to_thread.run_sync(self.answer, question)
            return found
        asked = self.submit(question.ask)
        waited = asyncio.wrap_future(asked, loop=loop)
        waited.add_done_callback(_answer_of)
        try:
            # Before Python 3.12 `wait_for` loses a cancellation that comes together with the answer.
            await asyncio.wait((waited,), timeout=self._patience)
            return asked.result(0)
        except (StoreAway, TimeoutError) as failed:
            return self._answered_here(question, asked, failed)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda _: question.undo())
            raise

    def submit(self, ask: Callable[[], T]) -> Future[T]:
        """Have something asked. Where no thread can be started, the store is away."""
        future: Future[T] = Future()
        with self._lock:
            if self._asked >= self._count < _MOST_THREADS:
                self._count += self._is_started()
            if not self._count:
                future.set_exception(StoreAway("no thread can be started to ask it"))
                return future
            self._asked += 1
        self._queue.put((future, ask))
        return future

    def end(self) -> None:
        """Let the threads end that are at rest."""
        with self._lock:
            for _ in range(self._count):
                self._queue.put(None)
            self._count_anew()

    def _is_started(self) -> bool:
        """Start one more thread, and return whether that could be done."""
        try:
            Thread(target=self._run, args=(self._queue,), name="failwell limits", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _begin_anew(self) -> None:
        self._lock = Lock()
        self._count_anew()

    def _count_anew(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._asked = self._count = 0

    def _run(self, queue: "SimpleQueue[Any]") -> None:
        while (given := queue.get()) is not None:
            future, ask = given
            try:
                found = ask()
            except Exception as failed:
                future.set_exception(failed)
            else:
                future.set_result(found)
            del future, ask, given
            with self._lock:
                self._asked -= 1

    def _answered_here(self, question: Question[T], asked: Future[T], failed: Exception) -> T:
        if not isinstance(failed, StoreAway):
            asked.add_done_callback(lambda _: question.undo())
            failed = StoreAway("it does not answer in time")
        self._lost(failed)
        return question.instead()


def _answer_of(waited: "asyncio.Future[Any]") -> None:
    """Look at an answer that nobody waits for any more, so that nobody complains that none did."""
    if not waited.cancelled():
        waited.exception()


_MOST_TASKS = 1000
_AT_THE_END = 0.5

Task = Callable[[], object]


class BackgroundQueue:
    """Does what it is given, one after another, and something again and again for as long as that asks for it.

    What is too much is dropped, the oldest first. What is left when the process ends is done within half a second.

    Args:
        repeated: done after so many seconds without an errand, as it said itself the last time; None: only when woken.
    """

    def __init__(self, repeated: Callable[[], float | None] = lambda: None) -> None:
        self._repeated = repeated
        self._is_running = self._is_busy = self._is_over = False
        self._begin_anew()
        in_every_fork(self._begin_anew)

    def do(self, errand: Task) -> None:
        """Have something done."""
        with self._changed:
            self._waiting.append(errand)
            self._begin()
            self._changed.notify_all()

    def wake(self) -> None:
        """Start the thread, if that could not be done before."""
        if not self._is_running:
            with self._changed:
                self._begin()

    def finish(self, patience: float = _AT_THE_END) -> None:
        """Wait until all is done, but not for long."""
        with self._changed:
            self._changed.wait_for(self._has_finished, patience)

    def end(self) -> None:
        """Finish, and do nothing more."""
        atexit.unregister(self.finish)
        self.finish()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _begin(self) -> None:
        """Start the thread, unless it runs."""
        if self._is_running or self._is_over:
            return
        try:
            Thread(target=self._run, name="failwell limits", daemon=True).start()
        except RuntimeError:  # the system gives no more of them; what waits is done once it does
            return
        self._is_running = True
        atexit.register(self.finish)

    def _begin_anew(self) -> None:
        self._waiting: deque[Task] = deque(maxlen=_MOST_TASKS)
        self._changed = Condition()
        self._is_running = self._is_busy = False

    def _has_finished(self) -> bool:
        return not self._is_running or not (self._waiting or self._is_busy)

    def _run(self) -> None:
        pause: float | None = None
        while True:
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._is_over, pause)
                if self._is_over:
                    return
                errand = self._waiting.popleft() if self._waiting else None
                self._is_busy = errand is not None
            if errand is not None:
                errand()
            pause = self._repeated()


_MOST_KNOWN = 1000
_MOST_OWED = 1000
_CHECKED_EVERY = 1.0
_OPEN_FOR = 10  # times as long an open breaker is believed, which hardly ever closes before its time


class _KnownState(Struct):
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
        store: LimitStore,
        local: Shared,
        *,
        freshness: float = 0.5,
        patience: float = 0.25,
        warn: Callable[[str], object] = log.warning,
        errands: type[BackgroundQueue] = BackgroundQueue,
        askers: type[QuestionThreads] = QuestionThreads,
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
        warn: Callable[[str], object] = log.warning,
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
        from failwell.retry._redis import RedisStore

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
        self._known: dict[Key, _KnownState] = {}
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
            except StoreAway:
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

    def _note(self, key: Key, state: LimitState, now: float) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        is_open = state.left > 0 and not state.is_probed
        believed = min(state.left, _OPEN_FOR * self._freshness) if is_open else self._freshness
        # Others looked at the clock earlier: to them, "until now" would be a time to come.
        refused_until = now + state.left if state.left > 0 else 0.0
        self._known[key] = _KnownState(now + believed, refused_until, state.is_noted)

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
        except StoreAway as away:
            self._lost(away)

    def _lost(self, away: StoreAway) -> None:
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
        except StoreAway:
            return _CHECKED_EVERY * random.uniform(0.5, 1.5)  # a whole fleet does not come at once
        self.is_away = False
        self._say(f"{self._store.name} is back: limits are shared again.")
        return None

    def _say(self, sentence: str) -> None:
        for tell in (self._warn, log.warning):
            with suppress(Exception):  # no call fails because nobody can be told
                tell(sentence)
                return


_Figures = tuple[float, ...]

_opened: dict[tuple[str, _Figures], FleetLimits] = {}
_lock = Lock()


def limits_at(url: str, shared: Shared | None) -> FleetLimits:
    """Return limits with their connections and threads, those of before if address and figures are the same.

    Raises:
        ValueError: that is no address.
        ImportError: the library is not installed.
    """
    local = shared or Shared.new()
    key = (url, _figures(local))
    with _lock:
        found = _opened.get(key)
        if found is None or found.is_closed:
            found = _opened[key] = FleetLimits.at(url, local)
        return found


def _figures(shared: Shared) -> _Figures:
    budget, breaker = shared.budget, shared.breaker
    prices = (budget.capacity, budget.cost, budget.throttled_cost, budget.gain)
    return (*prices, breaker.most, breaker.window, breaker.pause, shared.repeats.most)


def _unlock() -> None:
    global _lock
    _lock = Lock()


in_every_fork(_unlock)
