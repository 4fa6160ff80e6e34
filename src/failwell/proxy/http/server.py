"""`serve`: the gateway listens until the operator ends it."""

import asyncio
import errno
import os
import signal
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from hashlib import blake2b
from socket import socket
from typing import TYPE_CHECKING

from aiohttp import web

from failwell.proxy.events import Happening
from failwell.proxy.http.addresses import AllowedHosts, ServerUrl
from failwell.proxy.http.gateway import Gateway
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.upstream import Upstream
from failwell.proxy.options import ProxyOptions, open_limits
from failwell.proxy.rewriter import Rewriter
from failwell.proxy.summary import Tally
from failwell.retry import Policy

if TYPE_CHECKING:
    from failwell.proxy.recording import Recording

_REACHED_WITHIN = 1.5
_LAST_ANSWERS = 0.5
_LONGEST_HEADER = 1 << 16
CANNOT = 1

Say = Callable[[str], object]


class Setup:
    """The parts that both forms of the proxy are made of, as the options say."""

    def __init__(self, options: ProxyOptions, events: int | str | None) -> None:
        self._options = options
        place = ServerUrl(options.url or "")
        self.limits = open_limits(options, scope=f"{place.root}{place.path}", warn=say)
        self.tally = Tally()
        self._recording = None if events is None else _recording(options, events)
        self.log: Callable[[Happening], object] | None = self._recording
        self._looks = events is not None or options.dry_run
        policy = Policy(attempts=options.attempts, deadline=options.deadline) if options.retry else None
        self.rules = Rules(
            validates=options.validate,
            policy=policy,
            shared=self.limits,
            safe=options.retry_safe,
            looks_at_successes=self._looks or bool(options.flip_unflagged),
            dry_run=options.dry_run,
            report=self._report,
        )

    def upgrader(self, id: str | None = None) -> Rewriter:
        """Return what writes the failures of one client, in the session that its server knows by an id."""
        options = self._options
        return Rewriter(
            dialect=options.dialect,
            flip_unflagged=options.flip_unflagged,
            look_unflagged=self._looks,
            validate=options.validate,
            dry_run=options.dry_run,
            report=self._report,
            tells_all=self._recording is not None,
            session="" if self._recording is None else _session_name(id),
        )

    def sum_up(self, say: Say) -> None:
        """Tell the operator what became of the calls."""
        if not self._options.quiet:
            for line in self.tally.lines(self.rules.calls):
                say(line)
            if self._recording is not None and self._recording.lost:
                say(f"{self._recording.lost} records of calls were lost")

    def close(self) -> None:
        """Close what is open."""
        if self.limits is not None:
            self.limits.close()
        if self._recording is not None:
            self._recording.close()

    def _report(self, happening: Happening) -> None:
        self.tally(happening)
        if self.log is not None:
            self.log(happening)


def _session_name(id: str | None) -> str:
    """Return what records call a session: the same in every worker and on every host, and no way back to its id."""
    return os.urandom(8).hex() if id is None else blake2b(id.encode(errors="replace"), digest_size=8).hexdigest()


def _recording(options: ProxyOptions, events: int | str) -> "Recording":
    from failwell.proxy.recording import (
        Recording,  # only where somebody keeps records
        name_of,
    )

    return Recording(events, options, server=name_of(options), warn=say)


def say(sentence: str) -> None:
    """Write a line to standard error."""
    try:
        os.write(2, f"failwell: {sentence}\n".encode(errors="backslashreplace"))
    except OSError:
        return


class CannotServe(Exception):
    """Nothing listens where the server should be, or nothing can listen here; the text says which, and why."""


@asynccontextmanager
async def listening(
    options: ProxyOptions, setup: Setup, *, sockets: Sequence[socket] = (), hurried: asyncio.Event | None = None
) -> AsyncGenerator[int]:
    """Listen as the options say inside the block, or on sockets that others listen on too, and give the port.

    Behind the block, running calls may end for as long as the options say, or until somebody is in a hurry.

    Raises:
        CannotServe: the server cannot be reached, or the address is not free.
    """
    assert options.url is not None
    assert options.listen is not None
    place, (host, port) = ServerUrl(options.url), options.listen
    upstream = Upstream(place)
    try:
        if not sockets:
            await reach(upstream)
        door = AllowedHosts(host, origins=options.allow_origin)
        gateway = Gateway(upstream, setup.rules, upgrader=setup.upgrader, door=door, headers=options.header)
        server = web.Server(
            gateway,
            handler_cancellation=True,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
            access_log=None,
        )
        try:
            create = asyncio.get_running_loop().create_server
            listeners = [await create(server, sock=one) for one in sockets] or [await create(server, host, port)]
        except OSError as failed:
            raise CannotServe(f"cannot listen on {host}:{port}: {reason(failed)}") from None
        try:
            yield listeners[0].sockets[0].getsockname()[1]
        finally:
            for listener in listeners:
                listener.close()
            server.pre_shutdown()  # connections that wait for another request are closed
            await gateway.end(grace=options.grace, hurried=hurried or asyncio.Event())
            await server.shutdown(_LAST_ANSWERS)
    finally:
        await upstream.close()


async def serve(options: ProxyOptions, events: int | str | None) -> int:
    """Listen until a signal ends it, and return the exit code. A second signal ends the calls that still run."""
    setup, ended, hurried = Setup(options, events), asyncio.Event(), asyncio.Event()

    def end() -> None:
        (hurried if ended.is_set() else ended).set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    try:
        async with listening(options, setup, hurried=hurried) as port:
            say(greeting(options, port))
            await ended.wait()
    except CannotServe as cannot:
        say(str(cannot))
        return CANNOT
    finally:
        setup.close()
    setup.sum_up(say)
    return 0


def greeting(options: ProxyOptions, port: int) -> str:
    """Return what the operator is told once the proxy listens."""
    assert options.listen is not None
    place, host = ServerUrl(options.url or ""), options.listen[0]
    shown = f"[{host}]" if ":" in host else host
    return f"listening on http://{shown}:{port}{place.path}, in front of {place.root}{place.path}"


async def reach(upstream: Upstream) -> None:
    """Do nothing if something listens where the server should be.

    Raises:
        CannotServe: nothing does.
    """
    try:
        await upstream.reach(_REACHED_WITHIN)
    except OSError as failed:
        raise CannotServe(f"cannot reach {upstream.place.root}: {reason(failed)}") from None


def reason(failed: OSError) -> str:
    """Return why something could not be reached or listened on, in words."""
    if isinstance(failed, TimeoutError) and failed.errno is None:
        return "it does not answer"
    if failed.errno is not None and failed.errno in errno.errorcode:
        return os.strerror(failed.errno).lower()
    # Several addresses were tried, and each for its own reason in vain.
    return failed.strerror or ("connection refused" if "Multiple exceptions" in str(failed) else str(failed))
