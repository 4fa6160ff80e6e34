"""`Recording`: what the proxy saw or did, as records in a file or a store; `name_of`: the server's name in them."""

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from failwell.dialects._placement import encode
from failwell.proxy.events import Happening
from failwell.proxy.options import ProxyOptions
from failwell.records._adapter import QueuedEvent, argument_fields, next_action
from failwell.records._jsonl import JsonlSink
from failwell.records._record import FAILED, Kind, Record, failure_fields, without_values
from failwell.records._recorder import Recorder
from failwell.records._sink import Sink, open_sink

_LAUNCHERS = frozenset(
    ("bun", "bunx", "deno", "docker", "node", "npm", "npx", "pipx", "pnpm", "pnpx", "podman", "python", "uv", "uvx")
)
_VERSION = re.compile(r"[\d.]+$")
_COMMANDS = frozenset(("dlx", "exec", "run", "tool", "x"))
_ALONE = frozenset(
    ("-i", "-t", "-it", "-ti", "-u", "-y", "--init", "--interactive", "--isolated", "--quiet", "--rm", "--tty", "--yes")
)
"""Options of launchers without a value."""
_WITH_VALUE = frozenset(
    (
        *("-e", "-p", "-v", "-w", "--cpus", "--directory", "--env", "--env-file", "--from", "--memory", "--mount"),
        *("--name", "--network", "--package", "--project", "--publish", "--python", "--user", "--volume", "--with"),
        "--workdir",
    )
)
_THEN_A_NAME = frozenset(("-m", "--"))


def name_of(options: ProxyOptions) -> str:
    """Return what to call the server: what its operator calls it, or where it is, or what is started."""
    if options.name is not None:
        return options.name
    if options.url is not None:
        return _without_user(options.url.partition("?")[0])
    return _started(options.command)


def _without_user(url: str) -> str:
    scheme, colon, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{colon}{host.rpartition('@')[2]}{slash}{path}"


def _started(command: Sequence[str]) -> str:
    """Return the program, or what a launcher starts; in doubt, the launcher."""
    program, *words = command
    name = os.path.basename(program)
    if name == "env":
        rest = words[next((at for at, word in enumerate(words) if "=" not in word), len(words)) :]
        return _started(rest) if rest and rest[0][:1] != "-" else name
    if _VERSION.sub("", name) not in _LAUNCHERS:
        return name
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word in _WITH_VALUE:
            is_value = True
        elif word in _ALONE or word in _THEN_A_NAME or word in _COMMANDS or (word[:2] == "--" and "=" in word):
            continue
        else:
            return name if word[:1] == "-" or "=" in word else os.path.basename(word) or name
    return name


_MOST_BEGUN = 4096
_LAST_RECORDS = 5.0


class Recording:
    """Keeps records of what happens, and how long calls take.

    Args:
        events: an open file, or the address of a store.
        options: what the operator wants.
        server: what to call the server.
        warn: told what the operator should know of records that are lost.
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
        sink: Sink = JsonlSink(path, file=events) if isinstance(events, int) else _Later(events)
        self._dialect = options.dialect
        self._dry_run = options.dry_run
        self._recorder = Recorder(sink, server=server, converters={_Timed: self._record}, warn=warn)
        self._clock = clock
        self._begun: dict[Any, float] = {}
        self._passed: dict[Any, str | None] = {}

    def __call__(self, happening: Happening) -> None:
        """Take note of what happened."""
        key = (happening.session, happening.call)
        if happening.event == "begun":
            if len(self._begun) >= _MOST_BEGUN:
                self._begun.pop(next(iter(self._begun)), None)
            self._begun[key] = self._clock()
            return
        if happening.event == "refused" and self._dry_run:  # it is made all the same, and ends later
            if len(self._passed) < _MOST_BEGUN:
                self._passed[key] = None if happening.failure is None else happening.failure.code
            return
        is_on_its_way = happening.event == "retry"
        began = self._begun.get(key) if is_on_its_way else self._begun.pop(key, None)
        elapsed = None if began is None else self._clock() - began
        refused = None if is_on_its_way else self._passed.pop(key, None)
        self._recorder(_Timed(happening, elapsed, refused))

    @property
    def lost(self) -> int:
        """How many records were not written."""
        return self._recorder.lost

    def close(self) -> None:
        """Write what waits, and do not wait long for a store that is away."""
        self._recorder.close(_LAST_RECORDS)

    def _record(self, queued: QueuedEvent) -> Record:
        timed: _Timed = queued.event
        seen = timed.happening
        failure, details = seen.failure, dict(seen.details)
        attempt = details.pop("attempt", None) or details.pop("attempts", None) or 1
        if self._dry_run:
            details["dry_run"] = True
        if timed.refused is not None:
            details["refused"] = timed.refused
        is_answer = seen.event in FAILED and failure is not None
        return Record(
            time=queued.time,
            session=seen.session or queued.session,
            source="proxy",
            kind=cast(Kind, seen.event),  # `begun` is never told
            tool=seen.tool or "",
            call="" if seen.call is None else f"{seen.call}",
            attempt=attempt,
            elapsed=timed.elapsed,
            delay=details.pop("delay", None),
            text=self._text(timed) if is_answer and not self._dry_run and "passed" not in details else None,
            decision=next_action(failure, seen.hints, attempt) if is_answer else None,
            details=details,
            **argument_fields(seen.sent),
            **failure_fields(failure),
        )

    def _text(self, timed: "_Timed") -> str | None:
        failure = timed.happening.failure
        if failure is None:
            return None
        text: str = encode(without_values(failure), self._dialect)["content"][0]["text"]
        return text


class _Later:
    """A store that is opened by the thread that writes: no call waits until its library is loaded."""

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


class _Timed:
    """What happened, how many seconds after its call began, and with which code the call would have been refused."""

    __slots__ = ("elapsed", "happening", "refused", "sent")

    def __init__(self, happening: Happening, elapsed: float | None, refused: str | None) -> None:
        self.happening = happening
        self.elapsed = elapsed
        self.refused = refused
        self.sent = happening.sent
