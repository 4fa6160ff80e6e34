"""`Connections`: the clients that are connected to a gateway; how many, and how long they may take to ask."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiohttp import web

from failwell.proxy.bounds import HEAD_TIMEOUT, LINGER_TIMEOUT, MAX_CONNECTIONS, MAX_HEADER

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_REASONS = {408: "Request Timeout", 431: "Request Header Fields Too Large", 503: "Service Unavailable"}
_OTHER_FILES = 32
_HEAD_END = b"\r\n\r\n"


class Connection(web.RequestHandler):
    """A connection that reads the head of a request no further than its bounds.

    Args:
        connections: all connections.
        options: those of aiohttp.
    """

    def __init__(self, connections: "Connections", **options: Any) -> None:
        super().__init__(connections.server, **options)
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self._is_reading_head = True
        self._head_length = 0
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        self._start_timer()
        self._connections.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        self._connections.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what the client sends; the head of a request only so far."""
        end, self._tail = self._tail + data, data[1 - len(_HEAD_END) :]
        if self._is_reading_head:
            if self._timer is None:
                self._start_timer()
            self._head_length += len(data)
            self._is_reading_head = _HEAD_END not in end
            if self._is_reading_head and self._head_length > MAX_HEADER:
                self.refuse(431)
                return
        super().data_received(data)

    def begin(self) -> None:
        """Note that a request is being answered."""
        self._is_reading_head = False
        self._stop_timer()
        self._connections.set_idle(self, is_idle=False)

    def finish(self) -> None:
        """Note that a request was answered: another may follow."""
        self._is_reading_head, self._head_length = True, 0
        self._connections.set_idle(self, is_idle=self.transport is not None)

    def refuse(self, status: int) -> None:
        """Answer with an error, and close the connection."""
        if self.transport is not None:
            head = f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            self.transport.write(head.encode())
        self.force_close()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(HEAD_TIMEOUT, self.refuse, 408)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Connections:
    """Makes the connections of a gateway, and closes idle ones when there are too many.

    Args:
        handler: answers requests.
        most: how many there are at most.
    """

    def __init__(self, handler: Handler, *, most: int) -> None:
        self.server = web.Server(self._handle, handler_cancellation=True)
        self._handler = handler
        self._most = most
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}

    def __call__(self) -> Connection:
        """Return a new connection."""
        return Connection(
            self,
            loop=asyncio.get_running_loop(),
            max_line_size=MAX_HEADER,
            max_field_size=MAX_HEADER,
            lingering_time=LINGER_TIMEOUT,
            auto_decompress=False,  # it is done where its length is bounded
            access_log=None,
        )

    def add(self, connection: Connection) -> None:
        """Note a connection; the one that has been idle for longest makes room for it, if there are too many."""
        self._open.add(connection)
        self._idle[connection] = None
        if len(self._open) > self._most:
            longest = next(iter(self._idle))
            self.remove(longest)
            longest.refuse(503)

    def remove(self, connection: Connection) -> None:
        """Forget a connection."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def set_idle(self, connection: Connection, *, is_idle: bool) -> None:
        """Note whether a connection waits for a request."""
        self._idle.pop(connection, None)
        if is_idle and connection in self._open:
            self._idle[connection] = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.begin()
        response = await self._handler(request)
        if request.content.is_eof():
            connection.finish()
        else:
            response.force_close()  # what is left of the request is not read as another one
        return response


def max_connections() -> int:
    """Return how many connections there may be: each needs one to the server too, and the system bounds them."""
    try:
        import resource  # which not every system has

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    except ImportError:
        return MAX_CONNECTIONS
    return MAX_CONNECTIONS if soft < 0 else max(1, min(MAX_CONNECTIONS, soft // 2 - _OTHER_FILES))
