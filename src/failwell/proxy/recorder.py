"""The events of a proxy: `ProxyRecorder` keeps them in a file or a store, `ProxyMetrics` counts them for Prometheus."""

import os
import re
from collections import deque
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from failwell._trace import Attribute
from failwell.event import Event
from failwell.proxy.bounds import LAST_RECORDS_TIMEOUT
from failwell.proxy.options import BadOption, ProxyOptions, tell_operator
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
    return name_of(options.command if options.url is None else [options.url])


def name_of(command: Sequence[str]) -> str:
    """Return what to call a server that nobody named: its URL, or the program that is started."""
    if "://" in command[0]:
        return _without_user(command[0].partition("?")[0])
    return _program(command)


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
    """Records events.

    Args:
        events: an open file, or the address of a store.
        options: what the operator wants.
        server: the name of the server.
        warn: gets what the operator should know of records that are lost.
    """

    def __init__(
        self,
        events: int | str,
        options: ProxyOptions,
        *,
        server: str,
        warn: Callable[[str], object],
    ) -> None:
        path = (options.events or "").removeprefix("jsonl:")
        sink: Sink = JsonlSink(path, file=events) if isinstance(events, int) else _LazySink(events)
        self._sink = sink if isinstance(sink, _LazySink) else None
        self._dry_run = options.observe
        self._recorder = Recorder(sink, server=server, dialect=options.dialect, warn=warn)

    def __call__(self, event: Event) -> None:
        """Record an event."""
        if self._dry_run and event.kind == "refused":
            return  # the call is made all the same, and ends later
        self._recorder(replace(event, details={"dry_run": True, **event.details}) if self._dry_run else event)

    def end_session(self, seconds: float, attributes: dict[str, Attribute]) -> None:
        """Measure a session that ended, if somebody collects such figures."""
        if self._sink is not None:
            self._sink.end_session(seconds, attributes)

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
        self._sessions: deque[tuple[float, dict[str, Attribute]]] = deque()

    def write(self, batch: Sequence[Record], /) -> None:
        if self._sink is None:
            self._sink = open_sink(self._address)
        self._tell_sessions()
        self._sink.write(batch)

    def end_session(self, seconds: float, attributes: dict[str, Attribute]) -> None:
        self._sessions.append((seconds, attributes))

    def close(self) -> None:
        self._tell_sessions()
        if self._sink is not None:
            self._sink.close()

    def _tell_sessions(self) -> None:
        end_session = getattr(self._sink, "end_session", None)
        while self._sessions:
            seconds, attributes = self._sessions.popleft()
            if end_session is not None:
                end_session(seconds, attributes)


class ProxyMetrics:
    """Counts events, and shows the counts on an address of its own.

    Raises:
        BadOption: the address is not free.
    """

    def __init__(self, options: ProxyOptions) -> None:
        from failwell.metrics import Metrics, MetricsServer  # only where metrics are wanted

        assert options.metrics is not None
        self._is_ready = options.listen is None  # a gateway is ready once it listens
        self._count = Metrics(server=server_name(options))
        try:
            self._server = MetricsServer(options.metrics, self._count.registry, is_ready=lambda: self._is_ready)
        except OSError as failed:
            host, port = options.metrics
            raise BadOption(f"--metrics cannot listen on {host}:{port}: {failed.strerror or failed}") from None
        tell_operator(f"metrics on http://{options.metrics[0]}:{self._server.port}/metrics")

    def __call__(self, event: Event) -> None:
        """Count an event."""
        self._count(event)

    def set_ready(self, *, is_ready: bool) -> None:
        """Say from now on whether the proxy takes calls."""
        self._is_ready = is_ready

    def close(self) -> None:
        """Stop listening."""
        self._server.close()
