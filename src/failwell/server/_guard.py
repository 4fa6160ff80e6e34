"""`guard`: no exception leaves a tool; every call ends in a wire-shaped result."""

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from time import perf_counter
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeGuard, cast, overload

from failwell._json import is_array, is_object
from failwell.advice import Hints
from failwell.dialects._placement import check_settings
from failwell.errors import Invalid
from failwell.event import Observer
from failwell.failure import Failure
from failwell.result import success
from failwell.schema.problems import signature_failure
from failwell.server._responder import Responder, notify, value_or_failure

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
    schema: dict[str, Any] | None = ...,
    limit: AbstractContextManager[Any] | None = ...,
    observers: Iterable[Observer] = ...,
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
    schema: dict[str, Any] | None = None,
    limit: AbstractContextManager[Any] | None = None,
    observers: Iterable[Observer] = (),
    **settings: Any,
) -> Any:
    """Make a function, sync or async, return a wire-shaped result whatever happens in it.

    Values become successes; a `Failure`, an `Err` or an exception becomes a failure in the dialect. What was not
    raised on purpose is logged with its traceback under the id that the agent gets. Cancellation passes through.

    Args:
        function: the tool.
        dialect: how failures are written.
        tool: its name, if it is not the function's.
        hints: its annotations: whether it is read-only or idempotent.
        single_effect: it has one effect at most, the operation that may fail; then the outcome of that operation is
            the outcome of the call.
        schema: the JSON Schema that keyword arguments are checked with before the body runs.
        limit: entered for each call, such as a `Limit`.
        observers: called with an `Event` after each call, such as a `Meter`.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect, or the schema is not valid.
        TypeError: the function is not one that returns a value.
    """
    check_settings(dialect, settings)

    def decorate(wrapped: Callable[..., Any]) -> Any:
        if not callable(wrapped):
            raise TypeError(f"guard takes a function, not {wrapped!r}; settings are given by name")
        name = tool or getattr(wrapped, "__name__", None) or type(wrapped).__name__
        if inspect.isgeneratorfunction(wrapped) or inspect.isasyncgenfunction(wrapped):
            raise TypeError(f"{name} yields values; guard takes functions that return one")
        guarded = _GuardedTool(wrapped, Responder(name, dialect, settings, Hints.of(hints), single_effect))
        checker, watchers = _checker(schema, name), tuple(observers)
        is_async = inspect.iscoroutinefunction(wrapped) or inspect.iscoroutinefunction(type(wrapped).__call__)
        if checker is None and limit is None and not watchers:
            return _plain_async(guarded) if is_async else _plain(guarded)
        options = _GuardOptions(guarded, checker, limit, watchers, _parameters(wrapped))
        return _full_async(options) if is_async else _full(options)

    return decorate if function is None else decorate(function)


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
                return self.responder.encode(failure)
            if _is_result(value):
                return value, None
            return success(value), None
        except Exception as exc:
            return self.failed(exc, (), {})

    def failed(self, exc: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], Failure]:
        """Return the result for what the call raised, and the failure."""
        responder = self.responder
        found = signature_failure(exc, self.function, args, kwargs, tool=responder.tool) or responder.failure_of(exc)
        return responder.encode(found)


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
        options = self.options
        if self.is_inside and options.limit is not None:
            options.limit.__exit__(kind, exc, trace)
        if exc is not None and not isinstance(exc, Exception):
            return False
        self.answer, failure = self._result(exc)
        if options.observers:
            wire = self.answer if failure is not None else None
            tool = options.guarded.responder.tool
            notify(options.observers, tool, self.started, failure, arguments=self._named(), wire=wire)
        return True

    def _result(self, exc: Exception | None) -> tuple[dict[str, Any], Failure | None]:
        guarded = self.options.guarded
        return guarded.answer(self.value) if exc is None else guarded.failed(exc, self.args, self.kwargs)


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
            call.value = function(*args, **kwargs)
        return call.answer

    return run


def _full_async(options: _GuardOptions) -> Callable[..., Any]:
    function = options.guarded.function

    @functools.wraps(function)
    async def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        with _GuardedCall(options, args, kwargs) as call:
            call.begin()
            call.value = await function(*args, **kwargs)
        return call.answer

    return run
