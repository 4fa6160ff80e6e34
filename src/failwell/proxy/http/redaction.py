"""Errors that pass through the gateway unchanged: unchanged after redaction. Successes are not touched."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from failwell._json import is_object
from failwell.proxy.bounds import MAX_ERROR_BODY
from failwell.proxy.channels import mentions_error, redacted, redacted_message
from failwell.proxy.http.event_stream import EventSplitter, data_of, with_data
from failwell.proxy.http.reply import Headers, Reply
from failwell.proxy.messages import decode_or_raise, encode
from failwell.redact.whole import redact_whole

_ERROR = 400
_UNREADABLE = "The server's error could not be read, so it is not shown."


def redacted_event(event: bytes) -> bytes:
    """Return an event with the error in it redacted; nothing if that cannot be done."""
    if not mentions_error(event):
        return event
    data = data_of(event)
    safe = redacted_message(data)
    return event if safe == data else with_data(event, safe) if safe else b""


def redacted_body(status: int, data: bytes) -> bytes:
    """Return the body of a response redacted: all of it for an HTTP error, otherwise only a message that is one."""
    if status < _ERROR:
        return redacted_message(data)
    try:
        held: Any = decode_or_raise(data)
        if is_object(held):
            safe: Any = redacted(held)
            return data if safe == held else encode(safe)
        text = data.decode("utf-8", "replace")
        cleaned: str = redact_whole(text)
    except RecursionError:
        return _UNREADABLE.encode()
    return data if cleaned == text else cleaned.encode()


def _is_stream(headers: Headers) -> bool:
    return headers.get("Content-Type", "").startswith("text/event-stream")


class RedactingReply:
    """An answer whose errors are redacted on the way to another: a whole body at once, events one by one.

    The pieces of an HTTP error are kept until `finish`, and of one that is very long only the beginning.

    Args:
        reply: where the answer goes.
    """

    def __init__(self, reply: Reply) -> None:
        self.is_started = reply.is_started
        self.takes_messages = reply.takes_messages
        self._reply = reply
        self._status = 0
        self._events: EventSplitter | None = None
        self._kept = b""

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Send all of it."""
        if status < _ERROR and _is_stream(headers):
            events = EventSplitter()
            safe = b"".join(map(redacted_event, events.feed(body))) + events.rest
        else:
            safe = redacted_body(status, body)
        await self._reply.send(status, headers, safe)

    async def start(self, status: int, headers: Headers) -> None:
        """Start a stream."""
        self._status = status
        if status >= _ERROR:
            headers.popall("Content-Length", None)
        elif _is_stream(headers):
            self._events = EventSplitter()
        await self._reply.start(status, headers)
        self.is_started = self._reply.is_started

    async def write(self, data: bytes) -> None:
        """Write a piece of the stream that was started."""
        if self._status >= _ERROR:
            self._kept = (self._kept + data)[:MAX_ERROR_BODY]
        elif self._events is None:
            await self._reply.write(data)
        elif safe := b"".join(map(redacted_event, self._events.feed(data))):
            await self._reply.write(safe)

    async def finish(self) -> None:
        """Write what was kept."""
        if self._kept:
            await self._reply.write(redacted_body(self._status, self._kept))


@asynccontextmanager
async def redacting(reply: Reply, *, is_off: bool = False) -> AsyncGenerator[Reply]:
    """Give a reply that redacts errors, and finish it; the reply itself if nothing is to be changed."""
    if is_off:
        yield reply
        return
    safe = RedactingReply(reply)
    yield safe
    await safe.finish()
