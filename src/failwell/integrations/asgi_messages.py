"""The messages of ASGI: arguments out of a request, responses to send, and error responses held back."""

import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

import msgspec

from failwell import catalog, dialects
from failwell.dialects import Wire
from failwell.encoding import encode
from failwell.failure import Failure
from failwell.integrations.error_responses import text_of
from failwell.json_types import is_object

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

_JSON = b"application/json"
_CONTENT_TYPES = {"xml": b"application/xml; charset=utf-8", "meta": b"text/plain; charset=utf-8"}
_OF_THE_BODY = frozenset((b"content-length", b"content-type", b"content-encoding", b"etag", b"last-modified"))
_LARGEST_HELD = 256 * 1024
_MOST_DIGITS = 18


class Disconnected(Exception):
    """The client went away before it had sent its request."""


async def arguments_in(scope: Scope, receive: Receive, largest: int) -> dict[str, Any] | Failure:
    """Return the JSON object in a POST, or the failure of a request that has none.

    Raises:
        Disconnected: nobody waits for an answer any more.
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
    row = catalog.explain(code)
    return Failure(code=row.code, message=message, suggestion=row.suggestion, outcome="not_executed", **rest)


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


class Replies:
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

    def written(self, value: Any) -> bytes:
        """Return the body that says a value."""
        shown = {"success": True, "result": value} if self.dialect == "envelope" else value
        return msgspec.json.encode(shown, enc_hook=str)

    async def succeed(self, send: Send, body: bytes) -> None:
        """Send the body of a success."""
        await _send(send, 200, body, [(b"content-type", _JSON)])

    async def fail(
        self, send: Send, failure: Failure, *, text: str | None = None, headers: Iterable[Header] = ()
    ) -> None:
        """Send a failure, as this text if it is written already."""
        body = encode(failure, self.dialect, **self.settings)["content"][0]["text"] if text is None else text
        found = [(b"content-type", _CONTENT_TYPES.get(self.dialect, _JSON)), *headers]
        status = 200 if self.always_200 or failure.severity == "warning" else _status(failure)
        if status != 200 and failure.retry_after is not None and not any(name == b"retry-after" for name, _ in found):
            found.append((b"retry-after", b"%d" % math.ceil(failure.retry_after)))
        await _send(send, status, body.encode(errors="replace"), found)

    def is_in_dialect(self, body: bytes) -> bool:
        """Return whether a body is a failure as this dialect writes it."""
        return self._writer.decode(Wire(text_of(body), is_error=False)) is not None


def _status(failure: Failure) -> int:
    status = failure.http_status or 0
    return status if 400 <= status <= 599 else catalog.http_status_of(failure.code, failure.type)


async def _send(send: Send, status: int, body: bytes, headers: list[Header]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


class Held:
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
