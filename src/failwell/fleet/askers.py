"""`Askers`: a few threads that ask what others wait for, so that those wait no longer than they want to."""

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from msgspec import Struct

from failwell.fleet.store import Away

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
        self._lock = Lock()
        self._begin_anew()

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
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(asked, loop=loop)), self._patience)
        except (Away, TimeoutError) as failed:
            return self._answered_here(question, asked, failed)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda _: question.undo())
            raise

    def submit(self, ask: Callable[[], T]) -> Future[T]:
        """Have something asked."""
        future: Future[T] = Future()
        with self._lock:
            if self._process != os.getpid():  # threads do not live on in a process that was forked
                self._begin_anew()
            self._asked += 1
            if self._asked > self._count and self._count < _MOST:
                self._count += 1
                Thread(target=self._run, args=(self._queue,), name="failwell limits", daemon=True).start()
        self._queue.put((future, ask))
        return future

    def end(self) -> None:
        """Let the threads end that are at rest."""
        with self._lock:
            for _ in range(self._count):
                self._queue.put(None)
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._process = os.getpid()
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
