"""`Askers`: a few threads that ask what others wait for, so that those wait no longer than they want to."""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from msgspec import Struct

from failwell.fleet.store import Away
from failwell.retry.forks import in_every_fork

_MOST = 4

T = TypeVar("T")


def _nothing() -> None: ...


class Question(Struct, Generic[T], frozen=True):
    """What asks the store; what answers in its place; what takes the question back if its answer comes too late."""

    ask: Callable[[], T]
    instead: Callable[[], T]
    undo: Callable[[], object] = _nothing


class Askers:
    """Ask the store, and answer in its place if it does not in time.

    A thread is started when there is more to ask than threads that have nothing to do, up to four. Unlike those of an
    executor they do not keep a process from ending: one may hang in a look-up of a name.

    Args:
        patience: seconds for which an answer is waited for.
        lost: told when the store is away.
    """

    def __init__(self, patience: float, lost: Callable[[Away], object]) -> None:
        self._patience = patience
        self._lost = lost
        self._begin_anew()
        in_every_fork(self._begin_anew)

    def answer(self, question: Question[T]) -> T:
        """Return the answer."""
        asked = self.submit(question.ask)
        try:
            return asked.result(self._patience)
        except (Away, TimeoutError) as failed:
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
        waited.add_done_callback(_heard)
        try:
            # Before Python 3.12 `wait_for` loses a cancellation that comes together with the answer.
            await asyncio.wait((waited,), timeout=self._patience)
            return asked.result(0)
        except (Away, TimeoutError) as failed:
            return self._answered_here(question, asked, failed)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda _: question.undo())
            raise

    def submit(self, ask: Callable[[], T]) -> Future[T]:
        """Have something asked. Where no thread can be started, the store is away."""
        future: Future[T] = Future()
        with self._lock:
            if self._asked >= self._count < _MOST:
                self._count += self._is_started()
            if not self._count:
                future.set_exception(Away("no thread can be started to ask it"))
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
        if not isinstance(failed, Away):
            asked.add_done_callback(lambda _: question.undo())
            failed = Away("it does not answer in time")
        self._lost(failed)
        return question.instead()


def _heard(waited: "asyncio.Future[Any]") -> None:
    """Look at an answer that nobody waits for any more, so that nobody complains that none did."""
    if not waited.cancelled():
        waited.exception()
