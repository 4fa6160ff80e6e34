"""`serve`: the gateway listens until the operator ends it."""

import asyncio
import errno
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import blake2b
from itertools import count
from socket import socket
from typing import TYPE_CHECKING

from failwell._trace import ADDRESS, PORT, TRANSPORT
from failwell.event import Event, Observer
from failwell.proxy.bounds import REACH_TIMEOUT, SHUTDOWN_TIMEOUT
from failwell.proxy.calls import ListedTools
from failwell.proxy.conversation import Conversation, RetryRules, Settings
from failwell.proxy.http.connections import Connections, max_connections
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
        server = connections.server
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
            server.pre_shutdown()  # connections that wait for another request are closed
            await gateway.end(grace=options.grace, hurried=hurried or asyncio.Event())
            await server.shutdown(SHUTDOWN_TIMEOUT)
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
