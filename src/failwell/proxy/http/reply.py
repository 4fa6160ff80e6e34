"""`Reply`: where the answer to one request of a client is written."""

from typing import Protocol

from aiohttp import web
from multidict import CIMultiDict

from failwell.proxy.http.event_stream import event_of

Headers = CIMultiDict[str]

_JSON = ("Content-Type", "application/json")
_OK, _ACCEPTED = 200, 202


class ClientGone(Exception):
    """The client went away before it had its answer; nobody is told."""


class Reply(Protocol):
    """An answer: whole at once, or begun and then written piece by piece."""

    is_begun: bool

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Write all of it."""

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin a stream."""

    async def write(self, data: bytes) -> None:
        """Write a piece of the stream that was begun."""


class HttpReply:
    """The answer to an HTTP request."""

    def __init__(self, request: web.BaseRequest) -> None:
        self.is_begun = False
        self.response: web.StreamResponse | None = None
        self._request = request

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Keep it: the server writes it in one piece when the request was handled."""
        self.response = web.Response(status=status, headers=headers, body=body)

    async def begin(self, status: int, headers: Headers) -> None:
        """Write the head."""
        self.response = web.StreamResponse(status=status, headers=headers)
        try:
            await self.response.prepare(self._request)
        except OSError as gone:
            raise ClientGone from gone
        self.is_begun = True

    async def write(self, data: bytes) -> None:
        """Write a piece, and wait until the client has taken enough of it."""
        assert self.response is not None
        try:
            await self.response.write(data)
        except OSError as gone:
            raise ClientGone from gone


class ElsewhereReply:
    """The answer to a request whose messages go another way: over the stream that the client opened before it.

    Args:
        reply: what answers the request itself.
        stream: where its messages go.
    """

    def __init__(self, reply: Reply, stream: Reply) -> None:
        self.is_begun = False
        self._reply = reply
        self._stream = stream

    async def whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Write a message to the stream; anything else answers the request."""
        if status != _OK:
            await self._reply.whole(status, headers, body)
            return
        await self._stream.write(event_of(body))
        await self._reply.whole(_ACCEPTED, CIMultiDict(), b"Accepted")

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin a stream of its own after all."""
        await self._reply.begin(status, headers)
        self.is_begun = True

    async def write(self, data: bytes) -> None:
        """Write to the stream that was begun."""
        await self._reply.write(data)


def json_headers(headers: Headers | None = None) -> Headers:
    """Return headers for a message, in place of those that an answer came with."""
    kept = CIMultiDict(headers or ())
    for name in ("Content-Type", "Retry-After", "ETag", "Content-MD5", "Digest", "WWW-Authenticate"):
        kept.popall(name, None)
    kept.extend([_JSON])
    return kept
