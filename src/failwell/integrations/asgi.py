"""Tools as plain HTTP endpoints: every failure in a dialect, with the status that fits or always with 200.

Plain ASGI on asyncio: it serves Starlette, FastAPI and any other framework, and imports none.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from failwell import guarding
from failwell.answering import Answers, opened
from failwell.arguments.misfit import misfit
from failwell.dialects import whole
from failwell.errors import Invalid, quoted
from failwell.failure import Failure
from failwell.integrations.asgi_messages import App, Disconnected, Held, Receive, Replies, Scope, Send, arguments_in
from failwell.integrations.error_responses import failure_in
from failwell.meter import Observer

__all__ = ["FailureMiddleware", "endpoint"]

_REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE"))
_ALLOWED = ((b"allow", b"POST"),)
_VALUE = "value"


def endpoint(
    tool: Callable[..., Any],
    /,
    *,
    name: str | None = None,
    dialect: str = "envelope",
    always_200: bool = False,
    largest: int = 1024 * 1024,
    hints: Any = None,
    single_effect: bool = False,
    schema: dict[str, Any] | None = None,
    limit: AbstractContextManager[Any] | None = None,
    observers: Iterable[Observer] = (),
    **settings: Any,
) -> App:
    """Return an ASGI application that calls a function, sync or async, with the JSON object in a POST.

    A value is answered as `{"success": true, "result": …}` in the envelope, and as it is in other dialects. A sync
    function runs in a thread.

    Args:
        tool: the function.
        name: its name as a tool, if it is not the function's.
        dialect: how failures are written.
        always_200: send failures with status 200, for clients that look into the body only.
        largest: how many bytes a body may have.
        hints: the tool's annotations: whether it is read-only or idempotent.
        single_effect: it has one effect at most, the operation that may fail.
        schema: the JSON Schema that the arguments are checked with before the body runs.
        limit: entered for each call, such as a `Limit`.
        observers: called with an `Observation` after each call, such as a `Meter`.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect, or the schema is not valid.
        TypeError: the function is not one that returns a value, or the dialect does not take a setting.
    """
    named = name or getattr(tool, "__name__", None) or type(tool).__name__
    replies = Replies(dialect, settings, always_200=always_200)
    guarded = guarding.guard(
        dialect=dialect,
        tool=named,
        hints=hints,
        single_effect=single_effect,
        schema=schema,
        limit=limit,
        observers=observers,
        **settings,
    )
    return _Endpoint(named, guarded(_answering(tool, named, replies)), replies, largest)


class _Endpoint:
    """A tool as an ASGI application. An object, because frameworks take functions for handlers of their own kind."""

    def __init__(self, name: str, guarded: Callable[..., Any], replies: Replies, largest: int) -> None:
        self.__name__ = name
        self._run = guarded if inspect.iscoroutinefunction(guarded) else functools.partial(asyncio.to_thread, guarded)
        self._replies = replies
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise TypeError(f"{self.__name__} is an endpoint for HTTP, not for {scope['type']}")
        try:
            arguments = await arguments_in(scope, receive, self._largest)
        except Disconnected:
            return
        if isinstance(arguments, Failure):
            headers = _ALLOWED if arguments.code == "METHOD_NOT_ALLOWED" else ()
            await self._replies.fail(send, arguments.replace(tool=self.__name__), headers=headers)
            return
        result = await self._run(**arguments)
        if _VALUE in result:
            await self._replies.succeed(send, result[_VALUE])
            return
        failure = whole.read(result["_meta"][whole.META_KEY])
        await self._replies.fail(send, failure or Failure(message=""), text=result["content"][0]["text"])


def _answering(tool: Callable[..., Any], name: str, replies: Replies) -> Callable[..., Any]:
    """Return the tool so that its value leaves it as the body of a response, in a result that a guard lets pass."""

    def refuse(exc: TypeError, arguments: dict[str, Any]) -> None:
        if failure := misfit(exc, tool, (), arguments, tool=name):
            raise Invalid(failure) from exc

    def answer(value: Any) -> Any:
        value, failure = opened(value)
        return failure if failure is not None else {"content": [], _VALUE: replies.written(value)}

    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(type(tool).__call__):

        @functools.wraps(tool)
        async def run_async(**arguments: Any) -> Any:
            try:
                value = await tool(**arguments)
            except TypeError as exc:
                refuse(exc, arguments)
                raise
            return answer(value)

        return run_async

    @functools.wraps(tool)
    def run(**arguments: Any) -> Any:
        try:
            value = tool(**arguments)
        except TypeError as exc:
            refuse(exc, arguments)
            raise
        return answer(value)

    return run


class FailureMiddleware:
    """Answers whatever fails in an ASGI application in a dialect: `app.add_middleware(FailureMiddleware)`.

    Exceptions become what `from_exception` makes of them, error responses what their status and body say. Responses
    below 400 and those in the dialect already are passed on as they are.

    Args:
        app: the application.
        dialect: how failures are written.
        always_200: send failures with status 200, for clients that look into the body only.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect.
        TypeError: the dialect does not take a setting.
    """

    def __init__(self, app: App, *, dialect: str = "envelope", always_200: bool = False, **settings: Any) -> None:
        self.app = app
        self._replies = Replies(dialect, settings, always_200=always_200)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and answer its failure."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        held = Held(send)
        try:
            await self.app(scope, receive, held)
        except Exception as exc:
            if held.is_passed_on:
                raise  # the client has half a response: the server ends the connection
            await self._replies.fail(send, self._failure_of(exc, scope))
            return
        if not held.is_error:
            return
        if self._replies.is_in_dialect(held.body):
            await held.release(200 if self._replies.always_200 else None)
            return
        failure = failure_in(held.status, held.headers, held.body)
        await self._replies.fail(send, failure.replace(tool=failure.tool or _tool(scope)), headers=held.kept_headers)

    def _failure_of(self, exc: Exception, scope: Scope) -> Failure:
        tool = _tool(scope)
        answers = Answers(
            tool or f"{scope['method']} {quoted(scope['path'])}",
            self._replies.dialect,
            self._replies.settings,
            scope["method"] in _REPEATABLE,
        )
        return answers.failure_of(exc).replace(tool=tool)


def _tool(scope: Scope) -> str | None:
    """Return the name of the function that a router, as Starlette's does, says it chose."""
    name = getattr(scope.get("endpoint"), "__name__", None)
    return name if isinstance(name, str) else None
