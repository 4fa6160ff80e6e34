"""What stands around whatever handles `tools/call`, on every SDK: time limits, keys, exits, results that can't be sent.

A tool whose time is over may still be running. It keeps its thread and the claim of its key until it ends.
"""

import asyncio
import functools
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any, cast

from failwell._sdks import needs
from failwell.retry._clock import CallClock, DeadlinePassed
from failwell.retry._deadline import run_within
from failwell.sdk.idempotency import KeyedCall, ToolFunctions, call_once, failed, may_be_keyed
from failwell.sdk.results import unsendable
from failwell.server._protection import HeldEvent, Protection
from failwell.server._timeout import current_clock, timed_out

try:
    from anyio import current_effective_deadline, get_cancelled_exc_class, to_thread
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

Run = Callable[[], Awaitable[Any]]

_IN_THREAD = "__failwell_in_thread__"
_STOPS_CLOCK = "__failwell_stops_clock__"


def answer_call(
    protection: Protection, tool: str, meta: Any, functions: ToolFunctions, call: Callable[[], KeyedCall], run: Run
) -> Awaitable[Any]:
    """Return what gives the result of a call: within its time, at most once for its key, and so that it can be sent.

    *call* tells more of it, which most calls do without.
    """
    if protection.observers or protection.timeouts.are_any:
        return _observed(protection, call(), run, protection.timeouts.of(tool))
    if may_be_keyed(protection, tool, meta, functions):
        return call_once(protection, call(), functools.partial(_contained, protection, call, run, None))
    return _contained(protection, call, run, None)  # most calls


async def _observed(protection: Protection, call: KeyedCall, run: Run, seconds: float | None) -> Any:
    """Return the result of a call whose time is limited, or whose end observers hear of."""
    started, event = protection.start(), HeldEvent(protection.observers)
    once = functools.partial(_once, protection, call, run, event)
    try:
        if seconds is None:
            return await once()
        _stop_clock_for_questions(getattr(call.context, "session", None))
        return await run_within(
            CallClock(seconds), once, current=current_clock, cancels=not runs_in_thread(await call.any_function())
        )
    except DeadlinePassed as passed:
        event.drop()
        event.close()
        failure = timed_out(call.tool, seconds or 0.0, is_running=passed.is_running)
        return await failed(protection, failure, call, started)
    except get_cancelled_exc_class():
        event.drop()
        protection.finish(call.tool, started, arguments=call.arguments, context=call.context, is_cancelled=True)
        raise
    finally:
        event.close()


async def _once(protection: Protection, call: KeyedCall, run: Run, event: HeldEvent) -> Any:
    with event.held():
        return await call_once(protection, call, functools.partial(_contained, protection, lambda: call, run, event))


async def _contained(protection: Protection, call: Callable[[], KeyedCall], run: Run, event: HeldEvent | None) -> Any:
    """Return the result of a tool, or the failure of one that ended in an odd way, or whose result can't be sent."""
    started = 0.0 if event is None else protection.start()
    try:
        result = await run()
        reason = unsendable(result)
        if reason is None:
            return result
        failure = protection.responder(await call().info()).unsendable(reason)
    except BaseException as exc:
        if not _is_about_this_call(exc, catch_exit=protection.catch_exit):
            raise
        responder = protection.responder(await call().info())
        failure = responder.exited(exc) if _is_exit(exc) else responder.crashed(exc)
    if event is not None:
        event.drop()
    return await failed(protection, failure, call(), started)


def _is_about_this_call(exc: BaseException, *, catch_exit: bool) -> bool:
    """Return whether what no handler of the SDKs catches is the failure of one tool, and nothing that others want.

    It would end the connection, and every other call with it.
    """
    if isinstance(exc, Exception):
        return False
    if isinstance(exc, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        return all(isinstance(one, Exception) or _is_about_this_call(one, catch_exit=catch_exit) for one in members)
    if isinstance(exc, SystemExit):
        return catch_exit
    if isinstance(exc, asyncio.CancelledError):
        return not _is_cancelled()
    return not isinstance(exc, KeyboardInterrupt | GeneratorExit | get_cancelled_exc_class())


def _is_cancelled() -> bool:
    """Return whether the current call is cancelled, and does not only say so: it awaited a task that was."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # trio, which has an exception of its own for that
        return False
    return task is None or task.cancelling() > 0 or current_effective_deadline() == -math.inf


def _is_exit(exc: BaseException) -> bool:
    if not isinstance(exc, BaseExceptionGroup):
        return isinstance(exc, SystemExit)
    return all(map(_is_exit, cast("BaseExceptionGroup[BaseException]", exc).exceptions))


def _stop_clock_for_questions(session: Any) -> None:
    """Make a session stop the clock of a call while its tool waits for the client: for its user, or its model."""
    send = getattr(session, "send_request", None)
    if send is None or hasattr(send, _STOPS_CLOCK):
        return

    @functools.wraps(send)
    async def send_request(*args: Any, **kwargs: Any) -> Any:
        clock = current_clock.get()
        if clock is None:
            return await send(*args, **kwargs)
        with clock.stopped():
            return await send(*args, **kwargs)

    setattr(send_request, _STOPS_CLOCK, True)
    session.send_request = send_request


def runs_in_thread(function: Any) -> bool:
    """Return whether a tool's function runs in a thread if its time is limited, where nothing can cancel it."""
    if function is None or hasattr(function, _IN_THREAD):
        return function is not None
    while isinstance(function, functools.partial):
        function = function.func
    return not inspect.iscoroutinefunction(function) and not inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose calls are coroutines
    )


def in_thread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function so that it runs in a thread, for SDKs that would block the event loop with it."""

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> Any:
        return await to_thread.run_sync(functools.partial(function, *args, **kwargs))

    setattr(run, _IN_THREAD, True)
    return run


def is_timed() -> bool:
    """Return whether the time of the current call is limited."""
    return current_clock.get() is not None
