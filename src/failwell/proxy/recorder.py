"""`ProxyRecorder`: the events of a proxy as records in a file or a store; `server_name`: the server's name in them."""

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from failwell.event import Event
from failwell.proxy.bounds import LAST_RECORDS_TIMEOUT, MAX_TIMED_CALLS
from failwell.proxy.options import ProxyOptions
from failwell.records._jsonl import JsonlSink
from failwell.records._record import Record
from failwell.records._recorder import Recorder
from failwell.records._sink import Sink, open_sink

# Programs that start a server, their subcommands, and their options.
_LAUNCHERS = frozenset(
    ("bun", "bunx", "deno", "docker", "node", "npm", "npx", "pipx", "pnpm", "pnpx", "podman", "python", "uv", "uvx")
)
_VERSION = re.compile(r"[\d.]+$")
_SUBCOMMANDS = frozenset(("dlx", "exec", "run", "tool", "x"))
_SWITCHES = frozenset(
    ("-i", "-t", "-it", "-ti", "-u", "-y", "--init", "--interactive", "--isolated", "--quiet", "--rm", "--tty", "--yes")
)
_OPTIONS_WITH_VALUE = frozenset(
    (
        *("-e", "-p", "-v", "-w", "--cpus", "--directory", "--env", "--env-file", "--from", "--memory", "--mount"),
        *("--name", "--network", "--package", "--project", "--publish", "--python", "--user", "--volume", "--with"),
        "--workdir",
    )
)
_BEFORE_A_NAME = frozenset(("-m", "--"))


def server_name(options: ProxyOptions) -> str:
    """Return what to call the server: the operator's name for it, its URL, or the program that is started."""
    if options.name is not None:
        return options.name
    if options.url is not None:
        return _without_user(options.url.partition("?")[0])
    return _program(options.command)


def _without_user(url: str) -> str:
    scheme, colon, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host.rpartition('@')[2]}{slash}{path}"


def _program(command: Sequence[str]) -> str:
    """Return the program, or what a launcher starts; in doubt, the launcher."""
    program, *words = command
    name = os.path.basename(program)
    if name == "env":
        rest = words[next((at for at, word in enumerate(words) if "=" not in word), len(words)) :]
        return _program(rest) if rest and rest[0][:1] != "-" else name
    if _VERSION.sub("", name) not in _LAUNCHERS:
        return name
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word in _OPTIONS_WITH_VALUE:
            is_value = True
        elif word in _SWITCHES or word in _BEFORE_A_NAME or word in _SUBCOMMANDS or (word[:2] == "--" and "=" in word):
            continue
        else:
            return name if word[:1] == "-" or "=" in word else os.path.basename(word) or name
    return name


class ProxyRecorder:
    """Records events, and how long calls take.

    Args:
        events: an open file, or the address of a store.
        options: what the operator wants.
        server: the name of the server.
        warn: gets what the operator should know of records that are lost.
        clock: tells seconds.
    """

    def __init__(
        self,
        events: int | str,
        options: ProxyOptions,
        *,
        server: str,
        warn: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        path = (options.events or "").removeprefix("jsonl:")
        sink: Sink = JsonlSink(path, file=events) if isinstance(events, int) else _LazySink(events)
        self._dry_run = options.dry_run
        self._recorder = Recorder(sink, server=server, dialect=options.dialect, warn=warn)
        self._clock = clock
        self._start_times: dict[Any, float] = {}
        self._would_refuse: dict[Any, str | None] = {}

    def __call__(self, event: Event) -> None:
        """Record an event."""
        key = (event.session, event.call)
        if event.kind == "started":
            if len(self._start_times) >= MAX_TIMED_CALLS:
                self._start_times.pop(next(iter(self._start_times)), None)
            self._start_times[key] = self._clock()
            return
        if event.kind == "refused" and self._dry_run:  # the call is made all the same, and ends later
            if len(self._would_refuse) < MAX_TIMED_CALLS:
                self._would_refuse[key] = None if event.failure is None else event.failure.code
            return
        is_running = event.kind == "retry"
        started = self._start_times.get(key) if is_running else self._start_times.pop(key, None)
        elapsed = None if started is None else self._clock() - started
        details = dict(event.details)
        if self._dry_run:
            details["dry_run"] = True
        if not is_running and (refused := self._would_refuse.pop(key, None)) is not None:
            details["refused"] = refused
        self._recorder(replace(event, elapsed=elapsed, details=details))

    @property
    def lost(self) -> int:
        """How many records were not written."""
        return self._recorder.lost

    def close(self) -> None:
        """Write what waits, and do not wait long for a store that is away."""
        self._recorder.close(LAST_RECORDS_TIMEOUT)


class _LazySink:
    """A store that is opened by the thread that writes, so that no call waits until its library is loaded."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._sink: Sink | None = None

    def write(self, batch: Sequence[Record], /) -> None:
        if self._sink is None:
            self._sink = open_sink(self._address)
        self._sink.write(batch)

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()
