"""`serve`: the gateway listens until the operator ends it; `Connections`: how many clients there are, and how slow."""

import asyncio
import errno
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import blake2b
from itertools import count
from socket import socket
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from failwell._trace import ADDRESS, PORT, TRANSPORT
from failwell.event import Event, Observer
from failwell.proxy.bounds import (
    HEAD_TIMEOUT,
    LINGER_TIMEOUT,
    MAX_CONNECTIONS,
    MAX_HEADER,
    REACH_TIMEOUT,
    SHUTDOWN_TIMEOUT,
)
from failwell.proxy.calls import ListedTools
from failwell.proxy.conversation import Conversation, RetryRules, Settings
from failwell.proxy.http.gateway import AllowedHosts, Gateway
from failwell.proxy.http.upstream import ServerUrl, Upstream
from failwell.proxy.options import ProxyOptions, is_traced, open_limits, tell_operator
from failwell.proxy.rewriter import Rewriter
from failwell.proxy.summary import CallSummary
from failwell.retry import Policy, Shared

if TYPE_CHECKING:
    from failwell.proxy.recorder import ProxyMetrics, ProxyRecorder

CANNOT_SERVE = 1


class Setup:
    """The parts that both a gateway and a proxy on standard input and output need, as the options say."""

    def __init__(self, options: ProxyOptions, events: int | str | None, metrics: "ProxyMetrics | None" = None) -> None:
        self._options = options
        self._metrics = metrics
        self._is_observed = events is not None or metrics is not None
        server_url = ServerUrl(options.url or "")
        self.limits = open_limits(options, scope=f"{server_url.root}{server_url.path}", warn=tell_operator)
        self.summary = CallSummary()
        self._recorder = None if events is None else _open_recorder(options, events)
        self.on_event: Observer | None = self._recorder
        policy = Policy(attempts=options.attempts, deadline=options.retry_deadline)
        retries = RetryRules(policy, self.limits or Shared.new())
        self.settings = Settings.of(
            options,
            is_observed=self._is_observed,
            load_retries=lambda: retries,
            answers_cancelled=True,
            trace_attributes=_trace_attributes(server_url) if is_traced(events) else None,
        )
        self._numbers = count(1)

    def make_conversation(self, id: str | None = None, key: bytes = b"") -> Conversation:
        """Return the conversation of one client, whose session has this id at the server, told apart by its key."""
        make = partial(self._make_rewriter, id)
        session = "" if id is None or self.settings.trace_attributes is None else _session_name(id)
        return Conversation(self.settings, make, self._next_id, server=key.hex(), session=session)

    def _next_id(self) -> str:
        return f"failwell-retry-{next(self._numbers)}"

    def _make_rewriter(self, id: str | None, tools: ListedTools) -> Rewriter:
        session = "" if self._recorder is None else _session_name(id)
        return Rewriter.of(self._options, tools, is_observed=self._is_observed, session=session)

    def end_session(self, seconds: float) -> None:
        """Measure the session of a client that ended."""
        if self._recorder is not None and self.settings.trace_attributes is not None:
            self._recorder.end_session(seconds, dict(self.settings.trace_attributes))

    def write_summary(self) -> None:
        """Tell the operator what became of the calls."""
        if not self._options.quiet:
            tell_operator(*self.summary.lines(self.settings.calls))
            if self._recorder is not None and self._recorder.lost:
                tell_operator(f"{self._recorder.lost} call records were lost")

    def close(self) -> None:
        """Close what is open."""
        if self.limits is not None:
            self.limits.close()
        if self._recorder is not None:
            self._recorder.close()
        if self._metrics is not None:
            self._metrics.close()

    def report(self, event: Event) -> None:
        """Count and record an event."""
        self.summary(event)
        if self._metrics is not None:
            self._metrics(event)
        if self.on_event is not None:
            self.on_event(event)


def _trace_attributes(server_url: ServerUrl) -> dict[str, str | int]:
    return {TRANSPORT: "tcp", ADDRESS: server_url.host, PORT: server_url.port}


def _session_name(id: str | None) -> str:
    """Return the name of a session in records: the same in every worker and on every host, but it hides the id."""
    return os.urandom(8).hex() if id is None else blake2b(id.encode(errors="replace"), digest_size=8).hexdigest()


def _open_recorder(options: ProxyOptions, events: int | str) -> "ProxyRecorder":
    from failwell.proxy.recorder import ProxyRecorder, server_name  # only where records are kept

    return ProxyRecorder(events, options, server=server_name(options), warn=tell_operator)


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
        self._connections.transports[self] = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        del self._connections.transports[self]
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
        self.transports: dict[Connection, asyncio.Transport] = {}
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

    async def close(self) -> None:
        """Close all connections; what a client has not taken by then is dropped."""
        await self.server.shutdown(SHUTDOWN_TIMEOUT)
        for transport in self.transports.values():
            transport.abort()
        await asyncio.sleep(0)  # lets them close

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


class CannotServe(Exception):
    """Nothing can listen here; the text says why."""


@asynccontextmanager
async def listening(
    options: ProxyOptions, setup: Setup, *, sockets: Sequence[socket] = (), hurried: asyncio.Event | None = None
) -> AsyncGenerator[int]:
    """Listen inside the block as the options say, or on sockets that are shared with others, and give the port.

    After the block, running calls have the time that the options say, or until *hurried* is set.

    Raises:
        CannotServe: the address is not free.
    """
    assert options.url is not None
    assert options.listen is not None
    server_url, (host, port) = ServerUrl(options.url), options.listen
    upstream = Upstream(server_url)
    try:
        if not sockets:
            await reach(upstream)
        gateway = Gateway(
            upstream,
            setup.report,
            make_conversation=setup.make_conversation,
            end_session=setup.end_session,
            dry_run=options.observe,
            allowed_hosts=AllowedHosts(host, origins=options.allow_origin),
            headers=options.header,
        )
        connections = Connections(gateway, most=max_connections())
        try:
            create = asyncio.get_running_loop().create_server
            found = [await create(connections, sock=one) for one in sockets]
            listeners = found or [await create(connections, host, port)]
        except OSError as failed:
            raise CannotServe(f"cannot listen on {host}:{port}: {describe_error(failed)}") from None
        try:
            yield listeners[0].sockets[0].getsockname()[1]
        finally:
            for listener in listeners:
                listener.close()
            connections.server.pre_shutdown()  # connections that wait for another request are closed
            await gateway.end(grace=options.grace, hurried=hurried or asyncio.Event())
            await connections.close()
    finally:
        await upstream.close()


async def serve(options: ProxyOptions, events: int | str | None, metrics: "ProxyMetrics | None" = None) -> int:
    """Listen until a signal ends it, and return the exit code. A second signal ends the calls that still run."""
    setup, ended, hurried = Setup(options, events, metrics), asyncio.Event(), asyncio.Event()

    def end() -> None:
        (hurried if ended.is_set() else ended).set()

    with suppress(NotImplementedError):  # Windows has no such handlers; there Ctrl-C ends it
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end)
    try:
        async with listening(options, setup, hurried=hurried) as port:
            tell_operator(greeting(options, port))
            if metrics is not None:
                metrics.set_ready(is_ready=True)
            await ended.wait()
            if metrics is not None:
                metrics.set_ready(is_ready=False)
    except CannotServe as cannot:
        tell_operator(str(cannot))
        return CANNOT_SERVE
    finally:
        setup.close()
    setup.write_summary()
    return 0


def greeting(options: ProxyOptions, port: int) -> str:
    """Return the line for the operator once the proxy listens."""
    assert options.listen is not None
    server_url, host = ServerUrl(options.url or ""), options.listen[0]
    written = f"[{host}]" if ":" in host else host
    return f"listening on http://{written}:{port}{server_url.path}, in front of {server_url.root}{server_url.path}"


async def reach(upstream: Upstream) -> None:
    """Tell the operator if nothing listens where the server should be: it may be started later."""
    try:
        await upstream.reach(REACH_TIMEOUT)
    except OSError as failed:
        reason = describe_error(failed)
        tell_operator(f"cannot reach {upstream.server_url.root}: {reason}; calls fail until it can be reached")


def describe_error(failed: OSError) -> str:
    """Return why something could not be reached or listened on, in words."""
    if isinstance(failed, TimeoutError) and failed.errno is None:
        return "it does not answer"
    if failed.errno is not None and failed.errno in errno.errorcode:
        return os.strerror(failed.errno).lower()
    # Several addresses were tried, and each failed for its own reason.
    return failed.strerror or ("connection refused" if "Multiple exceptions" in str(failed) else str(failed))
