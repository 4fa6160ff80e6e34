"""Tools as plain HTTP endpoints: every failure in a dialect, with the status that fits or always with 200.

Plain ASGI on asyncio: it serves Starlette, FastAPI and any other framework, and imports none.
"""

import asyncio
import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from typing import Any

import msgspec

from failwell import codes, dialects
from failwell._json import is_object
from failwell.advice import Hints
from failwell.dialects import Wire
from failwell.dialects._placement import META_KEY, encode, read_whole
from failwell.errors import Invalid, quoted
from failwell.event import Observer
from failwell.exceptions.http import from_http
from failwell.failure import Failure, is_certain
from failwell.reading.reader import read
from failwell.schema.problems import invalid, signature_failure
from failwell.server import _guard
from failwell.server._responder import Responder, value_or_failure

__all__ = ["FailureMiddleware", "endpoint"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_JSON_TYPE = b"application/json"
_CONTENT_TYPES = {"xml": b"application/xml; charset=utf-8", "meta": b"text/plain; charset=utf-8"}
_OF_THE_BODY = frozenset((b"content-length", b"content-type", b"content-encoding", b"etag", b"last-modified"))
_LARGEST_HELD = 256 * 1024
_MOST_DIGITS = 18
_REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "PUT", "DELETE"))
_ALLOWED = ((b"allow", b"POST"),)
_VALUE = "value"

# Where an error that is no failure of ours may hold a sentence for the caller.
_SENTENCES = ("detail", "message", "error", "title", "description")
_LONGEST_SENTENCE = 500
_PHRASES = {int(status): status.phrase.lower() for status in HTTPStatus}


class Disconnected(Exception):
    """The client went away before it had sent its request."""


async def arguments_in(scope: Scope, receive: Receive, largest: int) -> dict[str, Any] | Failure:
    """Return the JSON object in a POST, or the failure of a request that has none.

    Raises:
        Disconnected: the client does not wait for an answer any more.
    """
    if scope["method"] != "POST":
        return _refusal("METHOD_NOT_ALLOWED", "Tools are called with POST.")
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    length = headers.get(b"content-length", "")
    is_large = length.isdecimal() and (len(length) > _MOST_DIGITS or int(length) > largest)
    body = None if is_large else await _body(receive, largest)
    if body is None:
        return _refusal("PAYLOAD_TOO_LARGE", f"The body has more than {largest} bytes.", details={"largest": largest})
    if not body:
        return {}
    kind = headers.get(b"content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return _refusal("UNSUPPORTED_MEDIA_TYPE", "The body must be JSON, with the content type application/json.")
    try:
        arguments = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _refusal("PARSE_ERROR", "The body is not valid JSON.")
    if not is_object(arguments):
        return _refusal("VALIDATION_FAILED", "The body must be a JSON object that holds the arguments by name.")
    return arguments


def _refusal(code: str, message: str, **rest: Any) -> Failure:
    row = codes.explain(code)
    return Failure(code=row.code, message=message, outcome="not_executed", **rest)


async def _body(receive: Receive, largest: int) -> bytes | None:
    """Return the body of a request, or None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


class ResponseWriter:
    """How an application answers: the dialect, its settings, and whether the status tells failures apart.

    Raises:
        ValueError: there is no such dialect.
        TypeError: the dialect does not take a setting.
    """

    def __init__(self, dialect: str, settings: dict[str, Any], *, always_200: bool) -> None:
        self._writer = dialects.get(dialect)
        encode(Failure(message="x"), dialect, **settings)
        self.dialect = dialect
        self.settings = settings
        self.always_200 = always_200

    def encode_value(self, value: Any) -> bytes:
        """Return the body that says a value."""
        shown = {"success": True, "result": value} if self.dialect == "envelope" else value
        return msgspec.json.encode(shown, enc_hook=str)

    async def succeed(self, send: Send, body: bytes) -> None:
        """Send the body of a success."""
        await _send(send, 200, body, [(b"content-type", _JSON_TYPE)])

    async def fail(
        self, send: Send, failure: Failure, *, text: str | None = None, headers: Iterable[Header] = ()
    ) -> None:
        """Send a failure, as this text if it is written already."""
        body = encode(failure, self.dialect, **self.settings)["content"][0]["text"] if text is None else text
        found = [(b"content-type", _CONTENT_TYPES.get(self.dialect, _JSON_TYPE)), *headers]
        status = 200 if self.always_200 or failure.severity == "warning" else _status(failure)
        if status != 200 and failure.retry_after is not None and not any(name == b"retry-after" for name, _ in found):
            found.append((b"retry-after", b"%d" % math.ceil(failure.retry_after)))
        await _send(send, status, body.encode(errors="replace"), found)

    def is_in_dialect(self, body: bytes) -> bool:
        """Return whether a body is a failure as this dialect writes it."""
        return self._writer.decode(Wire(text_in_response(body), is_error=False)) is not None


def _status(failure: Failure) -> int:
    status = failure.http_status or 0
    return status if 400 <= status <= 599 else codes.http_status_of(failure.code, failure.type)


async def _send(send: Send, status: int, body: bytes, headers: list[Header]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


class HeldResponse:
    """A `send` that passes responses on, but keeps those from 400 on until it is clear what they become."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._parts: list[bytes] = []
        self._size = 0
        self.is_passed_on = False

    async def __call__(self, message: Message) -> None:
        """Take a message from the application."""
        if message["type"] == "http.response.start" and message["status"] >= 400:
            self._start = message
        elif self._start is None:
            self.is_passed_on = self.is_passed_on or message["type"] == "http.response.start"
            await self._send(message)
        elif self._size <= _LARGEST_HELD:
            part = message.get("body", b"")
            self._parts.append(part)
            self._size += len(part)

    @property
    def is_error(self) -> bool:
        """Whether an error response is held."""
        return self._start is not None

    @property
    def status(self) -> int:
        """The status of the response that is held."""
        return int(self._start["status"]) if self._start is not None else 0

    @property
    def headers(self) -> list[Header]:
        """The headers of the response that is held."""
        return [(bytes(name).lower(), bytes(value)) for name, value in (self._start or {}).get("headers", ())]

    @property
    def kept_headers(self) -> list[Header]:
        """Its headers that say nothing of the body, such as cookies and `WWW-Authenticate`."""
        return [(name, value) for name, value in self.headers if name not in _OF_THE_BODY]

    @property
    def body(self) -> bytes:
        """Its body; nothing of one that is packed or too large to be an error."""
        is_packed = any(name == b"content-encoding" for name, _ in self.headers)
        return b"" if is_packed or self._size > _LARGEST_HELD else b"".join(self._parts)

    async def release(self, status: int | None) -> None:
        """Send what is held as it is, or with another status."""
        await self._send({**(self._start or {}), **({"status": status} if status is not None else {})})
        await self._send({"type": "http.response.body", "body": b"".join(self._parts)})


def failure_in_response(status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Failure:
    """Return the failure that an error response of this application stands for.

    Structured errors are read as they are. Of others, the status says what kind of failure it is, and below 500 the
    sentence in the body is kept: the author wrote it for the caller. From 500 on it may be a traceback.
    """
    text = text_in_response(body)
    found = read({"content": [{"type": "text", "text": text}], "isError": True}) if text.strip() else None
    if found is not None and is_certain(found):
        return found.replace(http_status=status)
    if status in (400, 422) and found is not None and found.fields:
        return invalid(found.fields).replace(http_status=status)
    failure = _by_status(status, headers)
    sentence = _sentence(text) if status < 500 else None
    return failure.replace(message=sentence) if sentence and not _is_phrase(sentence, status) else failure


def text_in_response(body: bytes) -> str:
    """Return a body as text, what is no text in it replaced."""
    return body.decode("utf-8", "replace")


def _by_status(status: int, headers: Iterable[tuple[bytes, bytes]]) -> Failure:
    failure = from_http(status, headers={name.decode("latin-1"): value.decode("latin-1") for name, value in headers})
    if status != 500:
        return failure
    row = codes.explain("INTERNAL_ERROR")  # not the service behind this one, which a client would blame
    return Failure(code=row.code, message=f"{row.title}.", retryable=None, http_status=status)


def _sentence(text: str) -> str | None:
    try:
        payload: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        payload = text
    if is_object(payload):
        payload = next((payload[key] for key in _SENTENCES if isinstance(payload.get(key), str)), None)
    if not isinstance(payload, str) or "<" in payload[:1]:  # a page
        return None
    sentence = payload.strip()
    return sentence if sentence and len(sentence) <= _LONGEST_SENTENCE and "\n" not in sentence else None


def _is_phrase(sentence: str, status: int) -> bool:
    """Return whether a sentence is what HTTP itself calls a status, which the catalog says better."""
    return sentence.lower() == _PHRASES.get(status)


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
    writer = ResponseWriter(dialect, settings, always_200=always_200)
    guarded = _guard.guard(
        dialect=dialect,
        tool=named,
        hints=hints,
        single_effect=single_effect,
        schema=schema,
        limit=limit,
        observers=observers,
        **settings,
    )
    return _Endpoint(named, guarded(_answering(tool, named, writer)), writer, largest)


class _Endpoint:
    """A tool as an ASGI application. An object, because frameworks take functions for handlers of their own kind."""

    def __init__(self, name: str, guarded: Callable[..., Any], writer: ResponseWriter, largest: int) -> None:
        self.__name__ = name
        self._run = guarded if inspect.iscoroutinefunction(guarded) else functools.partial(asyncio.to_thread, guarded)
        self._writer = writer
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
            await self._writer.fail(send, arguments.replace(tool=self.__name__), headers=headers)
            return
        result = await self._run(**arguments)
        if _VALUE in result:
            await self._writer.succeed(send, result[_VALUE])
            return
        failure = read_whole(result["_meta"][META_KEY])
        await self._writer.fail(send, failure or Failure(message=""), text=result["content"][0]["text"])


def _answering(tool: Callable[..., Any], name: str, writer: ResponseWriter) -> Callable[..., Any]:
    """Return the tool so that its value leaves it as the body of a response, in a result that a guard lets pass."""

    def refuse(exc: TypeError, arguments: dict[str, Any]) -> None:
        if failure := signature_failure(exc, tool, (), arguments, tool=name):
            raise Invalid(failure) from exc

    def answer(value: Any) -> Any:
        value, failure = value_or_failure(value)
        return failure if failure is not None else {"content": [], _VALUE: writer.encode_value(value)}

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
        self._writer = ResponseWriter(dialect, settings, always_200=always_200)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and answer its failure."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        held = HeldResponse(send)
        try:
            await self.app(scope, receive, held)
        except Exception as exc:
            if held.is_passed_on:
                raise  # the client has half a response: the server ends the connection
            await self._writer.fail(send, self._failure_of(exc, scope))
            return
        if not held.is_error:
            return
        if self._writer.is_in_dialect(held.body):
            await held.release(200 if self._writer.always_200 else None)
            return
        failure = failure_in_response(held.status, held.headers, held.body)
        await self._writer.fail(send, failure.replace(tool=failure.tool or _tool(scope)), headers=held.kept_headers)

    def _failure_of(self, exc: Exception, scope: Scope) -> Failure:
        tool = _tool(scope)
        responder = Responder(
            tool or f"{scope['method']} {quoted(scope['path'])}",
            self._writer.dialect,
            self._writer.settings,
            Hints(idempotent=scope["method"] in _REPEATABLE),
        )
        return responder.failure_of(exc).replace(tool=tool)


def _tool(scope: Scope) -> str | None:
    """Return the name of the function that a router, as Starlette's does, says it chose."""
    name = getattr(scope.get("endpoint"), "__name__", None)
    return name if isinstance(name, str) else None
