"""`Reply`: where the answer to one request of a client is written: over HTTP, or as lines to standard output."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from aiohttp import web
from multidict import CIMultiDict

from failwell._json import is_object
from failwell.phrases.rpc_codes import INTERNAL_ERROR
from failwell.proxy.bounds import MAX_ANSWERED_IDS, MAX_SMALL_BODY, READ_TIMEOUT
from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of, id_of, name_of, retry_of
from failwell.proxy.messages import Id, answered_id, decode_or_raise, encode
from failwell.proxy.stdio.pump import write_all

Headers = CIMultiDict[str]

_JSON = ("Content-Type", "application/json")
_OK, _ACCEPTED = 200, 202
_MESSAGE = b"message"


class ClientGone(Exception):
    """The client went away before it had its answer, so there is nobody to answer."""


class Reply(Protocol):
    """An answer: sent at once, or started and then written piece by piece."""

    is_started: bool
    takes_messages: bool
    """Whether it takes whole messages and events only."""

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Send all of it."""

    async def start(self, status: int, headers: Headers) -> None:
        """Start a stream."""

    async def write(self, data: bytes) -> None:
        """Write a piece of the stream that was started."""


class HttpReply:
    """The answer to an HTTP request."""

    def __init__(self, request: web.BaseRequest) -> None:
        self.is_started = False
        self.takes_messages = False
        self.response: web.StreamResponse | None = None
        self._request = request

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Keep it: the server writes it in one piece when the request was handled. A long one is written now."""
        if len(body) <= MAX_SMALL_BODY:
            self.response = web.Response(status=status, headers=headers, body=body)
            return
        headers["Content-Length"] = str(len(body))
        await self.start(status, headers)
        await self.write(body)

    async def start(self, status: int, headers: Headers) -> None:
        """Write the head."""
        self.response = web.StreamResponse(status=status, headers=headers)
        try:
            await self.response.prepare(self._request)
        except OSError as gone:
            raise ClientGone from gone
        self.is_started = True

    async def write(self, data: bytes) -> None:
        """Write a piece, and wait until the client has taken enough of it."""
        assert self.response is not None
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                await self.response.write(data)
        except OSError as gone:  # also a `TimeoutError`
            if self._request.transport is not None:
                self._request.transport.abort()
            raise ClientGone from gone


class StreamReply:
    """The answer to a request whose messages go over a stream that the client opened before.

    Args:
        reply: what answers the request itself.
        stream: where its messages go.
    """

    def __init__(self, reply: Reply, stream: Reply) -> None:
        self.is_started = False
        self.takes_messages = False
        self._reply = reply
        self._stream = stream

    async def send(self, status: int, headers: Headers, body: bytes) -> None:
        """Write a message to the stream; anything else is the response to the request."""
        if status != _OK:
            await self._reply.send(status, headers, body)
            return
        await self._stream.write(event_of(body))
        await self._reply.send(_ACCEPTED, CIMultiDict(), b"Accepted")

    async def start(self, status: int, headers: Headers) -> None:
        """Start a stream of its own after all."""
        await self._reply.start(status, headers)
        self.is_started = True

    async def write(self, data: bytes) -> None:
        """Write to the stream that was started."""
        await self._reply.write(data)


class LineWriter:
    """Writes lines to the client, in a thread, so that a client that does not read stops nothing else.

    Each request is answered once, whichever stream an answer comes on.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._answered: dict[Id, None] = {}
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="failwell output")

    def note_request(self, id: Id) -> None:
        """Note that the client waits for an answer to this id, be it a new one or used before."""
        self._answered.pop(id, None)

    def has_answered(self, id: Id | None) -> bool:
        """Return whether a request has its answer."""
        return id is not None and id in self._answered

    async def message(self, data: bytes, *, answers: Id | None = None) -> None:
        """Write one message, unless what it answers has its answer already.

        Raises:
            ClientGone: nobody reads any more.
        """
        if self.has_answered(answers):
            return
        if answers is not None:
            self._answered[answers] = None
            if len(self._answered) > MAX_ANSWERED_IDS:
                self._answered.pop(next(iter(self._answered)))
        line = b" ".join(data.splitlines()) + b"\n"  # in JSON, line ends are spaces
        taken = await asyncio.get_running_loop().run_in_executor(self._writer, write_all, line, self._target)
        if taken < len(line):
            raise ClientGone


class StdioReply:
    """The answer to one message, each of its messages a line.

    Args:
        output: where the client reads.
        request_id: the id of the request, if it was one.
        on_message: gets each message.
    """

    def __init__(
        self, output: LineWriter, request_id: Id | None, *, on_message: Callable[[bytes], object] = lambda _: None
    ) -> None:
        self.is_started = False
        self.takes_messages = True
        self.is_answered = request_id is None
        self.status = 0
        self.last_event: bytes | None = None
        self.resume_delay: float | None = None
        self.request_id = request_id
        self._output = output
        self.on_message = on_message

    async def send(self, status: int, headers: Headers, body: bytes) -> None:  # noqa: ARG002 - as `Reply` has it
        """Write the message in a body, or an error if it is no message."""
        self.status = status
        try:
            message = decode_or_raise(body)
        except RecursionError:
            message = body
        if self.is_answered and status >= 300:
            return  # nobody waits for an answer to a notification
        if is_object(message) and "error" in message and message.get("id") is None:
            body = encode({**message, "id": self.request_id})
        elif message is None:
            if self.request_id is None or status == 202:
                return
            body = encode(self._error(f"The server answered with HTTP status {status}."))
        await self._message(body)

    async def start(self, status: int, headers: Headers) -> None:  # noqa: ARG002 - as `Reply` has it
        """Start a stream."""
        self.status = status
        self.is_started = True

    async def write(self, data: bytes) -> None:
        """Write the messages in events."""
        events = EventSplitter()
        for event in (*events.feed(data), *events.finish()):
            self.last_event = id_of(event) or self.last_event
            self.resume_delay = retry_of(event) if self.resume_delay is None else self.resume_delay
            if name_of(event) == _MESSAGE and (found := data_of(event)):
                await self._message(found)

    async def fail(self, sentence: str) -> None:
        """Answer the request with an error, if it has no answer yet."""
        if not self.is_answered:
            await self._message(encode(self._error(sentence)))

    async def _message(self, data: bytes) -> None:
        self.on_message(data)
        answers = answered_id(data)
        self.is_answered = self.is_answered or (answers is not None and answers == self.request_id)
        await self._output.message(data, answers=answers)

    def _error(self, sentence: str) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": self.request_id, "error": {"code": INTERNAL_ERROR, "message": sentence}}


def json_headers(headers: Headers | None = None) -> Headers:
    """Return headers for a message, without those that described another body."""
    kept = CIMultiDict(headers or ())
    for name in ("Content-Type", "Retry-After", "ETag", "Content-MD5", "Digest", "WWW-Authenticate"):
        kept.popall(name, None)
    kept.extend([_JSON])
    return kept
