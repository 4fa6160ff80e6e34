"""`serve_together`: several processes listen at one address; the first one starts them, ends them and sums up."""

import asyncio
import os
import signal
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FrameType
from typing import IO, Any

import msgspec
from msgspec import Struct

from failwell.proxy.http.addresses import ServerUrl
from failwell.proxy.http.server import CANNOT, CannotServe, Setup, greeting, listening, reach, reason, say
from failwell.proxy.http.upstream import Upstream
from failwell.proxy.options import BadOption, ProxyOptions, open_limits
from failwell.proxy.summary import Tally

_MOST_DEATHS, _WITHIN = 5, 10.0
_ENDING = (signal.SIGINT, signal.SIGTERM)
# Supervisors and terminals signal the workers too: this one they get from the first process alone.
_AT_ONCE = getattr(signal, "SIGUSR1", signal.SIGTERM)

Run = Callable[[Coroutine[Any, Any, int]], int]


class _Counts(Struct):
    calls: dict[str, int] = {}
    happenings: dict[str, dict[str, int]] = {}


def serve_together(options: ProxyOptions, events: int | str | None, *, run: Run) -> int:
    """Listen with as many processes as the options say until a signal ends them, and return the exit code.

    Raises:
        Misuse: this system cannot do that, or shared limits cannot be had.
    """
    if not hasattr(os, "fork"):
        raise BadOption("--workers needs a system on which a process can be forked")
    if (limits := open_limits(options, scope="", warn=say)) is not None:
        limits.close()  # nothing was connected: each worker has its own
    try:
        asyncio.run(_reached(options))  # on a loop without threads, which would not live on in the workers
        sockets = _bound(options)
    except CannotServe as cannot:
        say(str(cannot))
        return CANNOT
    say(f"{greeting(options, sockets[0].getsockname()[1])}, with {options.workers} workers")
    fleet = _Workers(options, events, sockets, run)
    code = fleet.supervise()
    fleet.sum_up()
    return code


class _Workers:
    """The processes, and what each of them counted."""

    def __init__(self, options: ProxyOptions, events: int | str | None, sockets: list[socket.socket], run: Run) -> None:
        self._options = options
        self._events = events
        self._sockets = sockets
        self._run = run
        self._counted: dict[int, IO[bytes]] = {}
        self._done: list[_Counts] = []
        self._deaths: deque[float] = deque(maxlen=_MOST_DEATHS)
        self._is_ending = False
        # Workers see the end of this pipe when this process is gone, in whatever way it went.
        self._lifeline, self._held = os.pipe()

    def supervise(self) -> int:
        """Start the workers, start those again that die, and return the exit code once all have ended."""
        for number in _ENDING:
            signal.signal(number, self._end)
        for _ in range(self._options.workers):
            self._start()
        code = 0
        while self._counted:
            process, status = os.wait()
            counted = self._counted.pop(process, None)
            if counted is None:
                continue
            self._done.append(_read(counted))
            if self._is_ending:
                continue
            self._deaths.append(time.monotonic())
            if len(self._deaths) == _MOST_DEATHS and self._deaths[-1] - self._deaths[0] < _WITHIN:
                say(f"{_MOST_DEATHS} workers died within {_WITHIN:g} seconds: {_told(status)}")
                code = CANNOT
                self._end()
            else:
                say(f"a worker died and is started again: {_told(status)}")
                self._start()
        return code

    def sum_up(self) -> None:
        """Tell the operator what became of the calls of all workers."""
        tally, calls = Tally(), dict[str, int]()
        for counts in self._done:
            tally.add(counts.happenings)
            for tool, count in counts.calls.items():
                calls[tool] = calls.get(tool, 0) + count
        if not self._options.quiet:
            for line in tally.lines(calls):
                say(line)

    def _start(self) -> None:
        # A signal that comes now waits until each process knows which of the two it is.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            if not self._is_ending:
                self._fork()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)

    def _fork(self) -> None:
        counted = tempfile.TemporaryFile()  # noqa: SIM115 - two processes have it; each closes its own
        process = os.fork()
        if process:
            self._counted[process] = counted
            return
        code = CANNOT
        try:
            for number, way in zip(_ENDING, (signal.SIG_IGN, signal.SIG_DFL), strict=True):
                signal.signal(number, way)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            os.close(self._held)
            code = self._run(_work(self._options, self._events, self._sockets, self._lifeline, counted))
        finally:
            os._exit(code)  # never back into the loop of the process that was forked

    def _end(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Let the workers end their calls; the second time, at once."""
        sent = _AT_ONCE if self._is_ending else signal.SIGTERM
        self._is_ending = True
        for one in self._sockets:
            one.close()
        for process in self._counted:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, sent)


async def _work(
    options: ProxyOptions, events: int | str | None, sockets: list[socket.socket], lifeline: int, counted: IO[bytes]
) -> int:
    """Listen until a signal comes or the first process is gone, and write down what was counted."""
    ended, hurried, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(_AT_ONCE, hurried.set)
    loop.add_reader(lifeline, ended.set)
    try:
        setup = Setup(options, events)
        try:
            async with listening(options, setup, sockets=sockets, hurried=hurried):
                await ended.wait()
        finally:
            setup.close()
        counted.write(msgspec.json.encode(_Counts(setup.rules.calls, setup.tally.counts())))
        counted.flush()
    finally:
        for number in (signal.SIGTERM, _AT_ONCE):  # a signal that meets a loop on its way out makes it complain
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
    return 0


async def _reached(options: ProxyOptions) -> None:
    upstream = Upstream(ServerUrl(options.url or ""))
    try:
        await reach(upstream)
    finally:
        await upstream.close()


def _bound(options: ProxyOptions) -> list[socket.socket]:
    """Return sockets for all addresses that the host has, with one port."""
    assert options.listen is not None
    host, port = options.listen
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            chosen = sockets[0].getsockname()[1] if sockets else port
            sockets.append(socket.create_server((str(address[0]), chosen), family=family, backlog=128))
    except OSError as failed:
        raise CannotServe(f"cannot listen on {host}:{port}: {reason(failed)}") from None
    return sockets


def _read(counted: IO[bytes]) -> _Counts:
    """Return what a worker counted; one that was killed counted nothing that is known, or wrote down half of it."""
    with counted:
        counted.seek(0)
        data = counted.read()
    try:
        return msgspec.json.decode(data, type=_Counts)
    except msgspec.MsgspecError:
        return _Counts()


def _told(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
