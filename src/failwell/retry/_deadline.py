"""Runs a coroutine for a limited time, on asyncio or trio, and waits no longer for one that can't be cancelled."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any

from failwell._log import log
from failwell._sdks import needs
from failwell.retry._clock import CallClock, DeadlinePassed

try:
    from anyio import CancelScope, Event, get_cancelled_exc_class, move_on_after
    from anyio.lowlevel import checkpoint
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_tasks: set[Any] = set()  # an event loop keeps only weak references

_STEPS = 20  # that a coroutine gets to clean up in, however little time a busy machine leaves it for them


async def run_within(
    clock: CallClock,
    body: Callable[[], Awaitable[Any]],
    *,
    current: ContextVar[CallClock | None],
    cancels: bool = True,
    grace: float = 1.0,
    unwinding: float = 0.0,
) -> Any:
    """Return what a coroutine returns, or raise what it raises, as long as its clock has time left.

    Args:
        clock: its time, which *current* holds while it runs.
        body: gives the coroutine.
        current: where the coroutine finds its clock.
        cancels: whether it is cancelled when its time is over. One that runs a function in a thread can only be left
            to itself.
        grace: how many seconds it gets to clean up after it was cancelled.
        unwinding: for how many seconds the tasks that it has started live on when whoever waits for it is cancelled, so
            that a connection which it opened can still tell the server.

    Raises:
        DeadlinePassed: it took longer.
    """
    run = _LimitedRun(clock, body)
    run.start(current)
    try:
        await run.end_or_deadline()
        if not run.is_finished:
            await run.expire(cancels=cancels, grace=grace)
    except get_cancelled_exc_class():
        if not run.clock.is_over:
            await run.cancel(unwinding=unwinding)
        raise
    if run.clock.is_over:
        raise DeadlinePassed(is_running=not run.is_finished)
    if run.error is not None:
        raise run.error
    return run.value


class _LimitedRun:
    """A coroutine that runs in a task of its own, so that it can be left behind."""

    def __init__(self, clock: CallClock, body: Callable[[], Awaitable[Any]]) -> None:
        self.clock = clock
        clock.on_change = _in_this_loop(self._notify)
        self.is_finished = False
        self.value: Any = None
        self.error: BaseException | None = None
        self._body = body
        self._scope = CancelScope()
        self._finished = Event()
        self._task: asyncio.Task[Any] | None = None  # once it runs, on asyncio
        self._changed = Event()

    def start(self, current: ContextVar[CallClock | None]) -> None:
        token = current.set(self.clock)
        try:
            spawn(self._run())
        finally:
            current.reset(token)

    async def end_or_deadline(self) -> None:
        """Wait until the coroutine ends or its time is over."""
        while not self.is_finished and (left := self.clock.left()) > 0:
            changed = self._changed
            with move_on_after(left):
                await changed.wait()

    async def expire(self, *, cancels: bool, grace: float) -> None:
        """Cancel the coroutine, and give it a moment to end."""
        self.clock.is_over = True
        self._abandon()
        if cancels:
            self._scope.cancel()
            with move_on_after(min(self.clock.limit, grace)):
                await self._finished.wait()
            for _ in range(_STEPS):
                if self.is_finished:
                    break
                await checkpoint()

    async def cancel(self, *, unwinding: float) -> None:
        """Cancel the coroutine because whoever waits for it is cancelled, and wait until it ends."""
        self._abandon()
        with CancelScope(shield=True):
            try:
                if unwinding and self._task is not None:  # a scope would cancel all tasks in it at once
                    self._task.cancel()
                    with move_on_after(unwinding):
                        await self._finished.wait()
            finally:
                self._scope.cancel()
            await self._finished.wait()

    def _abandon(self) -> None:
        for start in self.clock.if_abandoned:
            spawn(start())

    async def _run(self) -> None:
        with suppress(RuntimeError):  # on trio
            self._task = asyncio.current_task()
        try:
            with self._scope:
                self.value = await self._body()
        except get_cancelled_exc_class() as exc:  # the event loop ends
            self.error = exc
            raise
        except BaseException as exc:
            self.error = exc
            if self.clock.is_over:
                self._report(exc)
        finally:
            self.is_finished = True
            self._finished.set()
            self._notify()

    def _report(self, exc: BaseException) -> None:
        if not isinstance(exc, Exception):
            raise exc  # an interrupt, or the end of the program
        log.info("a call failed after it had timed out", exc_info=exc)

    def _notify(self) -> None:
        changed, self._changed = self._changed, Event()
        changed.set()


def _in_this_loop(function: Callable[[], None]) -> Callable[[], None]:
    """Return what has a function called soon in the event loop that runs now, unless it is closed, from any thread."""
    try:
        call_soon: Any = asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        trio: Any = sys.modules["trio"]  # no other event loop is supported; code on trio has imported it
        call_soon = trio.lowlevel.current_trio_token().run_sync_soon

    def call() -> None:
        with suppress(RuntimeError):
            call_soon(function)

    return call


def spawn(coroutine: Coroutine[Any, Any, None]) -> None:
    """Start a coroutine that may outlive its starter."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        trio: Any = sys.modules["trio"]  # no other event loop is supported; code on trio has imported it

        async def run() -> None:
            await coroutine

        trio.lowlevel.spawn_system_task(run, context=copy_context())
        return
    task = loop.create_task(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
