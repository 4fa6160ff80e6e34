"""`serve_with_workers`: several processes listen on one address; the first one starts and ends them and sums up."""

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

from failwell.proxy.bounds import MAX_WORKER_DEATHS, WORKER_DEATH_WINDOW
from failwell.proxy.http.server import CANNOT_SERVE, CannotServe, Setup, describe_error, greeting, listening, reach
from failwell.proxy.http.upstream import ServerUrl, Upstream
from failwell.proxy.options import BadOption, ProxyOptions, open_limits, tell_operator
from failwell.proxy.summary import CallSummary

_ENDING = (signal.SIGINT, signal.SIGTERM)
# Supervisors and terminals signal the workers too: this one they get from the first process alone.
_AT_ONCE = getattr(signal, "SIGUSR1", signal.SIGTERM)

Run = Callable[[Coroutine[Any, Any, int]], int]


class WorkerCounts(Struct):
    """What a worker counted: calls by tool, and events by tool and kind."""

    calls: dict[str, int] = {}
    events: dict[str, dict[str, int]] = {}


def serve_with_workers(options: ProxyOptions, events: int | str | None, *, run: Run) -> int:
    """Listen with as many processes as the options say until a signal ends them, and return the exit code.

    Raises:
        BadOption: this system cannot do that, or shared limits cannot be had.
    """
    if not hasattr(os, "fork"):
        raise BadOption("--workers needs a system on which a process can be forked")
    if (limits := open_limits(options, scope="", warn=tell_operator)) is not None:
        limits.close()  # nothing was connected: each worker has its own
    try:
        asyncio.run(_reach(options))  # on a loop without threads, which would not live on in the workers
        sockets = _bind(options)
    except CannotServe as cannot:
        tell_operator(str(cannot))
        return CANNOT_SERVE
    tell_operator(f"{greeting(options, sockets[0].getsockname()[1])}, with {options.workers} workers")
    workers = _Workers(options, events, sockets, run)
    code = workers.supervise()
    workers.write_summary()
    return code


class _Workers:
    """The processes, and the files that each of them writes its counts to."""

    def __init__(self, options: ProxyOptions, events: int | str | None, sockets: list[socket.socket], run: Run) -> None:
        self._options = options
        self._events = events
        self._sockets = sockets
        self._run = run
        self._counts_files: dict[int, IO[bytes]] = {}
        self._counts: list[WorkerCounts] = []
        self._deaths: deque[float] = deque(maxlen=MAX_WORKER_DEATHS)
        self._is_ending = False
        # Workers see the end of this pipe when this process is gone, in whatever way it went.
        self._lifeline, self._lifeline_end = os.pipe()

    def supervise(self) -> int:
        """Start the workers, start those again that die, and return the exit code once all have ended."""
        for number in _ENDING:
            signal.signal(number, self._end)
        for _ in range(self._options.workers):
            self._start()
        code = 0
        while self._counts_files:
            process, status = os.wait()
            counts_file = self._counts_files.pop(process, None)
            if counts_file is None:
                continue
            self._counts.append(read_counts(counts_file))
            if self._is_ending:
                continue
            self._deaths.append(time.monotonic())
            if len(self._deaths) == MAX_WORKER_DEATHS and self._deaths[-1] - self._deaths[0] < WORKER_DEATH_WINDOW:
                tell_operator(
                    f"{MAX_WORKER_DEATHS} workers died within {WORKER_DEATH_WINDOW:g} seconds: {_describe_exit(status)}"
                )
                code = CANNOT_SERVE
                self._end()
            else:
                tell_operator(f"a worker died and is started again: {_describe_exit(status)}")
                self._start()
        return code

    def write_summary(self) -> None:
        """Tell the operator what became of the calls of all workers."""
        summary, calls = CallSummary(), dict[str, int]()
        for counts in self._counts:
            summary.add(counts.events)
            for tool, count in counts.calls.items():
                calls[tool] = calls.get(tool, 0) + count
        if not self._options.quiet:
            tell_operator(*summary.lines(calls))

    def _start(self) -> None:
        # A signal that comes now waits until each process knows which of the two it is.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            if not self._is_ending:
                self._fork()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)

    def _fork(self) -> None:
        counts_file = tempfile.TemporaryFile()  # noqa: SIM115 - two processes have it; each closes its own
        process = os.fork()
        if process:
            self._counts_files[process] = counts_file
            return
        code = CANNOT_SERVE
        try:
            for number, handler in zip(_ENDING, (signal.SIG_IGN, signal.SIG_DFL), strict=True):
                signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
            os.close(self._lifeline_end)
            code = self._run(_work(self._options, self._events, self._sockets, self._lifeline, counts_file))
        finally:
            os._exit(code)  # never back into the loop of the process that was forked

    def _end(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Let the workers end their calls; the second time, at once."""
        sent = _AT_ONCE if self._is_ending else signal.SIGTERM
        self._is_ending = True
        for one in self._sockets:
            one.close()
        for process in self._counts_files:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, sent)


async def _work(
    options: ProxyOptions, events: int | str | None, sockets: list[socket.socket], lifeline: int, counts_file: IO[bytes]
) -> int:
    """Listen until a signal arrives or the first process is gone, and write the counts."""
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
        counts_file.write(msgspec.json.encode(WorkerCounts(setup.settings.calls, setup.summary.counts())))
        counts_file.flush()
    finally:
        for number in (signal.SIGTERM, _AT_ONCE):  # a signal that meets a loop on its way out makes it complain
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)
    return 0


async def _reach(options: ProxyOptions) -> None:
    upstream = Upstream(ServerUrl(options.url or ""))
    try:
        await reach(upstream)
    finally:
        await upstream.close()


def _bind(options: ProxyOptions) -> list[socket.socket]:
    """Return sockets for all addresses that the host has, with one port."""
    assert options.listen is not None
    host, port = options.listen
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            chosen = sockets[0].getsockname()[1] if sockets else port
            sockets.append(socket.create_server((str(address[0]), chosen), family=family, backlog=128))
    except OSError as failed:
        raise CannotServe(f"cannot listen on {host}:{port}: {describe_error(failed)}") from None
    return sockets


def read_counts(counts_file: IO[bytes]) -> WorkerCounts:
    """Return what a worker counted; nothing, if it was killed before it had written all of it."""
    with counts_file:
        counts_file.seek(0)
        data = counts_file.read()
    try:
        return msgspec.json.decode(data, type=WorkerCounts)
    except msgspec.MsgspecError:
        return WorkerCounts()


def _describe_exit(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"signal {-code}" if code < 0 else f"exit code {code}"
