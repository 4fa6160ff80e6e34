"""Threads that talk to a store of limits: `QueryThreads` for calls that wait, `BackgroundQueue` for the rest."""

import asyncio
import atexit
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar

from msgspec import Struct

from failwell.retry._forks import in_every_fork
from failwell.retry._limits import StoreUnavailable

_MOST_THREADS = 4
_MOST_TASKS = 1000
_FINISH_TIMEOUT = 0.5

T = TypeVar("T")
Task = Callable[[], object]


def _nothing(*_: object) -> None: ...


class Query(Struct, Generic[T], frozen=True):
    """One question to the store.

    `ask` asks it, and may raise `StoreUnavailable`; `fallback` answers without the store; `undo` takes back what was
    asked if the answer comes too late; `settle` is told the answer that counts.
    """

    ask: Callable[[], T]
    fallback: Callable[[], T]
    undo: Callable[[], object] = _nothing
    settle: Callable[[T], object] = _nothing


class QueryThreads:
    """Runs queries in up to four threads, and uses their fallback if the store does not answer in time.

    A thread is started when there are more queries than idle threads. Unlike those of an executor, the threads don't
    keep a process from ending: one may hang while it resolves a host name.

    Args:
        patience: how many seconds to wait for an answer.
        on_failure: called when the store does not answer.
    """

    def __init__(self, patience: float, on_failure: Callable[[StoreUnavailable], object]) -> None:
        self._patience = patience
        self._on_failure = on_failure
        self._reset_after_fork()
        in_every_fork(self._reset_after_fork)

    def run(self, query: Query[T]) -> T:
        """Return the answer."""
        asked = self.submit(query.ask)
        try:
            return self._settled(query, asked.result(self._patience))
        except (StoreUnavailable, TimeoutError) as failed:
            return self._fall_back(query, asked, failed)

    async def arun(self, query: Query[T]) -> T:
        """Return the answer, on asyncio or trio. If it is cancelled, the query is undone."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            trio: Any = sys.modules["trio"]  # no other event loop is supported; code on trio has imported it
            found: T = await trio.to_thread.run_sync(self.run, query)
            return found
        asked = self.submit(query.ask)
        waited = asyncio.wrap_future(asked, loop=loop)
        waited.add_done_callback(_ignore_answer)
        try:
            # Before Python 3.12 `wait_for` loses a cancellation that comes together with the answer.
            await asyncio.wait((waited,), timeout=self._patience)
            return self._settled(query, asked.result(0))
        except (StoreUnavailable, TimeoutError) as failed:
            return self._fall_back(query, asked, failed)
        except asyncio.CancelledError:
            asked.add_done_callback(lambda _: query.undo())
            raise

    def submit(self, ask: Callable[[], T]) -> Future[T]:
        """Run a function in a thread. If no thread can be started, the store counts as unavailable."""
        future: Future[T] = Future()
        with self._lock:
            if self._running >= self._count < _MOST_THREADS:
                self._count += self._start_thread()
            if not self._count:
                future.set_exception(StoreUnavailable("no thread can be started to ask it"))
                return future
            self._running += 1
        self._queue.put((future, ask))
        return future

    def end(self) -> None:
        """Let idle threads end."""
        with self._lock:
            for _ in range(self._count):
                self._queue.put(None)
            self._reset()

    def _start_thread(self) -> bool:
        """Start one more thread, and return whether that worked."""
        try:
            Thread(target=self._run, args=(self._queue,), name="failwell limits", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _reset_after_fork(self) -> None:
        self._lock = Lock()
        self._reset()

    def _reset(self) -> None:
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._running = self._count = 0

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
                self._running -= 1

    def _fall_back(self, query: Query[T], asked: Future[T], failed: Exception) -> T:
        if not isinstance(failed, StoreUnavailable):
            asked.add_done_callback(lambda _: query.undo())
            failed = StoreUnavailable("it did not answer in time")
        self._on_failure(failed)
        return query.fallback()

    @staticmethod
    def _settled(query: Query[T], answer: T) -> T:
        query.settle(answer)
        return answer


def _ignore_answer(waited: "asyncio.Future[Any]") -> None:
    """Look at an answer that nobody waits for any more: asyncio logs exceptions that nobody looked at."""
    if not waited.cancelled():
        waited.exception()


class BackgroundQueue:
    """Runs tasks one after another in a thread, and one task again and again for as long as that asks for it.

    A queue that is full drops its oldest task. When the process ends, what is left is run for half a second.

    Args:
        repeated: run after each task, and again after as many seconds as it returned; None: not before the next task.
    """

    def __init__(self, repeated: Callable[[], float | None] = lambda: None) -> None:
        self._repeated = repeated
        self._is_running = self._is_busy = self._is_over = False
        self._reset_after_fork()
        in_every_fork(self._reset_after_fork)

    def add(self, task: Task) -> None:
        """Run a task as soon as the tasks before it are done."""
        with self._changed:
            self._waiting.append(task)
            self._begin()
            self._changed.notify_all()

    def wake(self) -> None:
        """Start the thread, if that did not work before."""
        if not self._is_running:
            with self._changed:
                self._begin()

    def finish(self, patience: float = _FINISH_TIMEOUT) -> None:
        """Wait until all tasks are done, at most *patience* seconds."""
        with self._changed:
            self._changed.wait_for(self._has_finished, patience)

    def end(self) -> None:
        """Finish, and run no more tasks."""
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
        except RuntimeError:  # the system has no more threads; tasks wait until it has
            return
        self._is_running = True
        atexit.register(self.finish)

    def _reset_after_fork(self) -> None:
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
                task = self._waiting.popleft() if self._waiting else None
                self._is_busy = task is not None
            if task is not None:
                task()
            pause = self._repeated()
