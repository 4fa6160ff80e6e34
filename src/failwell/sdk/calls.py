"""What protects every handler of an SDK: time limits, keys, exits, and results that can't be sent.

A tool whose time is over may still be running. It keeps its thread and the claim of its key until it ends.
"""

import asyncio
import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

from failwell._sdks import needs
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.retry._clock import CallClock, DeadlinePassed
from failwell.retry._deadline import run_within
from failwell.sdk.idempotency import KeyedCall, ToolFunctions, call_once, failed, may_be_keyed
from failwell.sdk.requests import RequestInfo, request_error, unsendable_error
from failwell.sdk.results import unsendable
from failwell.server._protection import HeldEvent, Protection
from failwell.server._responder import Responder, value_and_warning, value_or_failure
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
    except Exception:
        raise  # a handler's answer: an error of the protocol
    except BaseException as exc:
        if not is_contained(exc, catch_exit=protection.catch_exit):
            raise
        failure = failure_contained(exc, protection.responder(await call().info()))
    if event is not None:
        event.drop()
    return await failed(protection, failure, call(), started)


async def answer_request(protection: Protection, request: RequestInfo, run: Run) -> Any:
    """Return what handles a request that is no call of a tool; its failure is a JSON-RPC error.

    Raises:
        Exception: that error.
    """
    try:
        answer = await run()
        reason = unsendable(getattr(answer, "root", answer)) if request.is_answered_by_author else None
    except BaseException as exc:
        if not is_contained(exc, catch_exit=protection.catch_exit):
            raise
        raise request_error(exc, request) from None
    if reason is not None:
        raise unsendable_error(reason, request)
    return answer


def failure_contained(exc: BaseException, responder: Responder) -> Failure:
    """Return the failure of a tool that ended with what is no `Exception`."""
    return responder.exited(exc) if _is_exit(exc) else responder.crashed(exc)


def is_contained(exc: BaseException, *, catch_exit: bool) -> bool:
    """Return whether what was raised is the failure of one request, and nothing that others want.

    What no handler of the SDKs catches would end the connection, and every other request with it.
    """
    if isinstance(exc, Exception):
        return True
    if isinstance(exc, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", exc).exceptions
        return all(is_contained(one, catch_exit=catch_exit) for one in members)
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


_RAISES = "__failwell_raises__"
_KEPT = ("_resources", "_templates", "_prompts")  # where managers have them, by name
_ADDING = ("add_resource", "add_template", "add_prompt")


def raise_returned(store: Any, found: Iterable[Any] = ()) -> None:
    """Make the functions of a server's resources and prompts, those added later too, raise the failures they return.

    The SDKs would send their texts as contents. *found* are those in a store that is not a manager.
    """
    for item in [*found, *(item for name in _KEPT for item in getattr(store, name, {}).values())]:
        _raise_returned_by(item)
    for name in _ADDING:
        if (add := getattr(store, name, None)) is not None:
            setattr(store, name, _adding(add))


def _adding(add: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(add)
    def added(*args: Any, **kwargs: Any) -> Any:
        return _raise_returned_by(add(*args, **kwargs))

    return added


def _raise_returned_by(item: Any) -> Any:
    function = getattr(item, "fn", None)
    if function is not None and not hasattr(function, _RAISES):
        item.fn = raising(function)
    return item


def _returned(value: Any) -> Any:
    value, failure = value_or_failure(value)
    if failure is not None:
        raise ToolFailure(failure)
    return value_and_warning(value)[0]


def raising(function: Callable[..., Any], value_of: Callable[[Any], Any] = _returned) -> Callable[..., Any]:
    """Return a function so that the failure it returns is raised; *value_of* is what does that."""

    @functools.wraps(function)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        return value_of(await function(*args, **kwargs))

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        return value_of(function(*args, **kwargs))

    made = run if runs_in_thread(function) else run_async
    setattr(made, _RAISES, True)
    return made


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
