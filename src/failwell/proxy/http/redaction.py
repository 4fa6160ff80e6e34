"""Redaction of errors that the gateway otherwise passes on unchanged. Successes are not touched."""

from typing import Any

from failwell._json import is_object
from failwell.proxy.channels import mentions_error, redacted, redacted_message
from failwell.proxy.http.event_stream import EventSplitter, data_of, with_data
from failwell.proxy.http.reply import Headers, Reply
from failwell.proxy.messages import Id, decode_or_raise, encode
from failwell.redact.json_value import redact_json

_ERROR = 400
_UNREADABLE = "The server's error could not be read, so it is not shown."

HEADERS_PASSED_VERBATIM = {
    "authentication-info": "the client authenticates with it",
    "content-type": "the client reads the body by it",
    "etag": "the client sends it back",
    "location": "the client follows it",
    "mcp-session-id": "the client sends it back",
    "set-cookie": "the client sends it back",
    "www-authenticate": "the client authenticates with it",
}
"""The headers of a failing response that are not redacted, and why."""


def redacted_headers(headers: Headers) -> Headers:
    """Return the headers of a failing response with the secrets in them redacted."""
    return Headers(
        (name, value if name.lower() in HEADERS_PASSED_VERBATIM else _redacted_header(name, value))
        for name, value in headers.items()
    )


_MOST_HARMLESS = 256
_harmless: set[tuple[str, str]] = set()


def _redacted_header(name: str, value: str) -> str:
    """Return what a client may see of a value; most headers of a server are the same in all its responses."""
    if (name, value) in _harmless:
        return value
    found: dict[str, str] = redact_json({name: value})
    safe = next(iter(found.values()))
    if safe == value and len(_harmless) < _MOST_HARMLESS:  # what holds a secret is not kept
        _harmless.add((name, value))
    return safe


def redacted_event(event: bytes, *, answers: Id | None = None) -> bytes:
    """Return an event with the error in it redacted; nothing if that cannot be done."""
    if not mentions_error(event):
        return event
    data = data_of(event)
    safe = redacted_message(data, answers=answers)
    return event if safe == data else with_data(event, safe) if safe else b""


def redacted_body(status: int, data: bytes, *, answers: Id | None = None) -> bytes:
    """Return the body of a response redacted: all of it for an HTTP error, otherwise only a message that is one."""
    if status < _ERROR:
        return redacted_message(data, answers=answers)
    try:
        held: Any = decode_or_raise(data)
        if is_object(held):
            safe: Any = redacted(held)
            return data if safe == held else encode(safe)
        text = data.decode("utf-8", "replace")
        cleaned: str = redact_json(text)
    except RecursionError:
        return _UNREADABLE.encode()
    return data if cleaned == text else cleaned.encode()


def _is_stream(headers: Headers) -> bool:
    return headers.get("Content-Type", "").startswith("text/event-stream")


class RedactingReply:
    """An answer whose errors are redacted on the way to another: a whole body at once, events one by one.

    Args:
        reply: where the answer goes.
        answers: the id of the request, if it has one.
    """

    def __init__(self, reply: Reply, *, answers: Id | None = None) -> None:
        self.is_started = reply.is_started
        self.takes_messages = reply.takes_messages
        self._is_stream = False
        self._reply = reply
        self._answers = answers

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Send all of it."""
        if status < _ERROR and _is_stream(headers):
            events = EventSplitter()
            safe = b"".join(map(self._redacted, events.feed(body))) + events.rest
        else:
            safe = redacted_body(status, body, answers=self._answers)
        is_error = status >= _ERROR or mentions_error(body)
        await self._reply.send(status, redacted_headers(headers) if is_error else headers, safe)

    async def start(self, status: int, headers: Headers) -> None:
        """Start a stream."""
        self._is_stream = _is_stream(headers)
        await self._reply.start(status, headers if status < _ERROR else redacted_headers(headers))
        self.is_started = self._reply.is_started

    async def write(self, data: bytes) -> None:
        """Write an event, or a piece of what is no stream of events and begins like no error."""
        if safe := self._redacted(data) if self._is_stream else data:
            await self._reply.write(safe)

    def _redacted(self, event: bytes) -> bytes:
        return redacted_event(event, answers=self._answers)


def redacting(reply: Reply, *, answers: Id | None = None, is_off: bool = False) -> Reply:
    """Return a reply that redacts errors; the reply itself if nothing is to be changed."""
    return reply if is_off else RedactingReply(reply, answers=answers)
