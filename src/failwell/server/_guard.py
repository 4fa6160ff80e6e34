"""`guard`: no exception leaves a tool; every call ends in a wire-shaped result."""

import functools
import inspect
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import AbstractContextManager
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeGuard, cast, overload

from failwell._json import is_array, is_object
from failwell.advice import Hints
from failwell.dialects._placement import SuccessResult, check_settings, success
from failwell.errors import Invalid
from failwell.event import Observer
from failwell.failure import Failure
from failwell.retry._clock import CallClock, DeadlinePassed
from failwell.server._registration import refuse_registered, refuse_registration
from failwell.server._responder import Responder, end_of_call, notify, package_of, public_classes, value_or_failure
from failwell.server._timeout import checked_seconds, current_clock, run_in_thread_within, timed_out

P = ParamSpec("P")
WireResult = dict[str, Any]


class Decorator(Protocol):
    """What `guard` returns when it is given settings: it takes the tool."""

    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # a coroutine function is a function too
        self, function: Callable[P, Coroutine[Any, Any, Any]], /
    ) -> Callable[P, Coroutine[Any, Any, WireResult]]: ...

    @overload
    def __call__(self, function: Callable[P, Any], /) -> Callable[P, WireResult]: ...


@overload
def guard(  # pyright: ignore[reportOverlappingOverload]  # as above
    function: Callable[P, Coroutine[Any, Any, Any]], /
) -> Callable[P, Coroutine[Any, Any, WireResult]]: ...


@overload
def guard(function: Callable[P, Any], /) -> Callable[P, WireResult]: ...


@overload
def guard(
    *,
    dialect: str = ...,
    tool: str | None = ...,
    hints: Any = ...,
    single_effect: bool = ...,
    public_errors: type[Exception] | Collection[type[Exception]] = ...,
    schema: dict[str, Any] | None = ...,
    limit: AbstractContextManager[Any] | None = ...,
    observers: Iterable[Observer] = ...,
    timeout: float | None = ...,
    catch_exit: bool = ...,
    **settings: Any,
) -> Decorator: ...


def guard(
    function: Any = None,
    /,
    *,
    dialect: str = "compact",
    tool: str | None = None,
    hints: Any = None,
    single_effect: bool = False,
    public_errors: type[Exception] | Collection[type[Exception]] = (),
    schema: dict[str, Any] | None = None,
    limit: AbstractContextManager[Any] | None = None,
    observers: Iterable[Observer] = (),
    timeout: float | None = None,
    catch_exit: bool = False,
    **settings: Any,
) -> Any:
    """Make a function, sync or async, return a wire-shaped result whatever happens in it.

    Values become successes; a `Failure`, an `Err` or an exception becomes a failure in the dialect. What was not
    raised on purpose is logged with its traceback under the id that the agent gets. Cancellation passes through. It
    is for servers written by hand; with an SDK, use `protect`.

    Args:
        function: the tool.
        dialect: how failures are written.
        tool: its name, if it is not the function's.
        hints: its annotations: whether it is read-only or idempotent.
        single_effect: it has one effect at most, the operation that may fail; then the outcome of that operation is
            the outcome of the call.
        public_errors: exception classes whose text was written for the caller; it is sent if a `raise` statement in the
            package of the function raised it.
        schema: the JSON Schema that keyword arguments are checked with before the body runs.
        limit: entered for each call, such as a `Limit`.
        observers: called with an `Event` after each call, such as a `Meter`.
        timeout: how many seconds the tool may take; then it is cancelled and answered `TIMEOUT`. One that is not
            asynchronous runs in a thread, can't be cancelled, and keeps its place in *limit* until it ends.
        catch_exit: answer `sys.exit()` in the tool as a failure.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect, the schema is not valid, or the timeout is not a positive number.
        TypeError: the function is not one that returns a value, or it is a tool of an SDK's server.
        ImportError: a timeout of an asynchronous tool needs anyio.
    """
    check_settings(dialect, settings, others=_own_settings() if settings else ())
    checked_seconds(timeout)

    def decorate(wrapped: Callable[..., Any]) -> Any:
        refuse_registered(wrapped)
        if not callable(wrapped):
            raise TypeError(f"guard takes a function, not {wrapped!r}; settings are given by name")
        name = tool or getattr(wrapped, "__name__", None) or type(wrapped).__name__
        if inspect.isgeneratorfunction(wrapped) or inspect.isasyncgenfunction(wrapped):
            raise TypeError(f"{name} yields values; guard takes functions that return one")
        responder = Responder(
            name,
            dialect,
            settings,
            Hints.of(hints),
            single_effect,
            public=public_classes(public_errors),
            package=package_of(wrapped),
        )
        guarded = _GuardedTool(wrapped, responder)
        checker, watchers = _checker(schema, name), tuple(observers)
        is_async = inspect.iscoroutinefunction(wrapped) or inspect.iscoroutinefunction(type(wrapped).__call__)
        if checker is None and limit is None and timeout is None and not catch_exit and not watchers:
            return refuse_registration(_plain_async(guarded) if is_async else _plain(guarded))
        options = _GuardOptions(guarded, checker, limit, watchers, _parameters(wrapped), timeout, catch_exit)
        return refuse_registration(_full_async(options) if is_async else _full(options))

    return decorate if function is None else decorate(function)


def _own_settings() -> list[str]:
    return [name for name in inspect.signature(guard).parameters if name not in ("function", "settings")]


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function that is not written in Python
        return ()


def _checker(schema: dict[str, Any] | None, tool: str) -> Any:
    if schema is None:
        return None
    from failwell.schema.validator import Checker  # an optional dependency: only if there is a schema to check

    return Checker(schema, tool=tool)


class _GuardedTool(NamedTuple):
    """A tool, and how its calls are answered."""

    function: Callable[..., Any]
    responder: Responder

    def answer(self, value: Any) -> tuple[dict[str, Any], Failure | None]:
        """Return the result for what the tool returned, and the failure if that is what it amounts to."""
        if type(value) is str:  # what most tools return
            return {"content": [{"type": "text", "text": value}], "isError": False}, None
        try:
            value, failure = value_or_failure(value)
            if failure is not None:
                return (value, failure) if _is_result(value) else self.responder.encode(failure)
            if type(value) is SuccessResult and value.warning is not None:
                return self.responder.warned(
                    success(value.value, structured="structuredContent" in value), value.warning
                ), None
            if _is_result(value):
                return value, None
            return success(value), None
        except Exception as exc:
            return self.failed(exc, (), {})

    def failed(self, exc: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], Failure]:
        """Return the result for what the call raised, and the failure."""
        responder = self.responder
        if type(exc) is TypeError:
            from failwell.schema.problems import signature_failure  # only now: few failures are about the signature

            if found := signature_failure(exc, self.function, args, kwargs, tool=responder.tool):
                return responder.encode(found)
        return responder.encode(responder.failure_of(exc, arguments=[*args, kwargs]))


def _is_result(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value is a wire-shaped result already: content blocks, and perhaps a flag."""
    if not is_object(value) or not is_array(blocks := value.get("content")):
        return False
    return "isError" in value or all(is_object(block) and "type" in block for block in blocks)


class _GuardOptions(NamedTuple):
    """What happens before and after a tool's body."""

    guarded: _GuardedTool
    checker: Any
    limit: AbstractContextManager[Any] | None
    observers: tuple[Observer, ...]
    parameters: tuple[str, ...]
    timeout: float | None
    catch_exit: bool


_CANCELLED = ("CancelledError", "Cancelled")  # of asyncio, of trio


class _GuardedCall:
    """One call: enters nothing by itself, swallows ordinary exceptions, and ends with an answer."""

    __slots__ = ("answer", "args", "is_inside", "kwargs", "options", "started", "value")

    def __init__(self, options: _GuardOptions, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.options = options
        self.args = args
        self.kwargs = kwargs
        self.is_inside = False
        self.started = perf_counter() if options.observers else 0.0
        self.value: Any = None

    def begin(self) -> None:
        """Check the arguments and take a place, or raise why the body must not run."""
        options = self.options
        if options.checker is not None and (failure := options.checker.check(self._named())):
            raise Invalid(failure)
        if options.limit is not None:
            options.limit.__enter__()
            self.is_inside = True

    def _named(self) -> dict[str, Any]:
        """Return the arguments by name, those given by position too."""
        if not self.args:
            return self.kwargs
        return {**dict(zip(self.options.parameters, self.args, strict=False)), **self.kwargs}

    def __enter__(self) -> "_GuardedCall":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(exc, DeadlinePassed) or not exc.is_running:
            self.leave()
        if exc is not None and not isinstance(exc, Exception) and not self._is_caught(exc):
            if any(cls.__name__ in _CANCELLED for cls in type(exc).__mro__):
                self._tell(None, None, is_cancelled=True)
            return False
        self.answer, failure = self._result(exc)
        self._tell(failure, self.answer if failure is not None else None)
        return True

    def leave(self) -> None:
        """Free the place, once."""
        if self.is_inside and self.options.limit is not None:
            self.is_inside = False
            self.options.limit.__exit__(None, None, None)

    def _is_caught(self, exc: BaseException) -> bool:
        return self.options.catch_exit and isinstance(exc, SystemExit)

    def _tell(self, failure: Failure | None, wire: dict[str, Any] | None, *, is_cancelled: bool = False) -> None:
        options = self.options
        if options.observers:
            event = end_of_call(
                options.guarded.responder.tool,
                self.started,
                failure,
                arguments=self._named(),
                wire=wire,
                hints=options.guarded.responder.hints,
                is_cancelled=is_cancelled,
            )
            notify(options.observers, event)

    def _result(self, exc: BaseException | None) -> tuple[dict[str, Any], Failure | None]:
        guarded, responder = self.options.guarded, self.options.guarded.responder
        if exc is None:
            return guarded.answer(self.value)
        if isinstance(exc, DeadlinePassed):
            seconds = self.options.timeout or 0.0
            return responder.encode(timed_out(responder.tool, seconds, is_running=exc.is_running))
        if isinstance(exc, Exception):
            return guarded.failed(exc, self.args, self.kwargs)
        return responder.encode(responder.exited(exc))


def _plain(guarded: _GuardedTool) -> Callable[..., Any]:
    function = guarded.function

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            value = function(*args, **kwargs)
        except Exception as exc:
            return guarded.failed(exc, args, kwargs)[0]
        if inspect.iscoroutine(value):  # a function that is asynchronous only now and then
            return cast(WireResult, later(value))  # to be awaited, as the function itself would have been
        return guarded.answer(value)[0]

    later = _plain_async(_GuardedTool(_awaited, guarded.responder))
    return run


async def _awaited(value: Any) -> Any:
    return await value


def _plain_async(guarded: _GuardedTool) -> Callable[..., Any]:
    function = guarded.function

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            value = await function(*args, **kwargs)
        except Exception as exc:
            return guarded.failed(exc, args, kwargs)[0]
        return guarded.answer(value)[0]

    return run


def _full(options: _GuardOptions) -> Callable[..., Any]:
    function = options.guarded.function

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        with _GuardedCall(options, args, kwargs) as call:
            call.begin()
            if options.timeout is None:
                call.value = function(*args, **kwargs)
            else:
                call.value = run_in_thread_within(options.timeout, functools.partial(_left, call))
        return call.answer

    return run


def _left(call: _GuardedCall) -> Any:
    """Run the tool in a thread of its own, and free its place when it ends, whether or not anybody still waits."""
    try:
        return call.options.guarded.function(*call.args, **call.kwargs)
    finally:
        call.leave()


def _full_async(options: _GuardOptions) -> Callable[..., Any]:
    function, run_within = options.guarded.function, _runner(options)

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        with _GuardedCall(options, args, kwargs) as call:
            call.begin()
            if options.timeout is None:
                call.value = await function(*args, **kwargs)
            else:
                call.value = await run_within(
                    CallClock(options.timeout), functools.partial(_left_async, call), current=current_clock
                )
        return call.answer

    return run


async def _left_async(call: _GuardedCall) -> Any:
    try:
        return await call.options.guarded.function(*call.args, **call.kwargs)
    finally:
        call.leave()


def _runner(options: _GuardOptions) -> Any:
    if options.timeout is None:
        return None
    from failwell.retry._deadline import run_within  # an optional dependency: only if time is limited

    return run_within
