"""`Adapter`: what guard, client and others tell of a call, as records."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from failwell.advice import decide
from failwell.event import Event, Observation, Sent
from failwell.failure import Failure
from failwell.records._record import Kind, Record, cleaned, described, distrusted, text_without_values, without_values
from failwell.renderer import render

_STEPS: dict[str, Kind] = {
    "succeeded": "success",
    "retry": "retry",
    "gave_up": "failure",
    "refused": "refused",
    "repaired": "repaired",
    "fallback": "fallback",
}
_SUSPENDED = "CIRCUIT_OPEN"


class Told(NamedTuple):
    """What somebody told, when, and of which session, if the application named it."""

    time: float
    session: str
    what: Any


Reader = Callable[[Told], Record]


def of_observation(told: Told) -> Record:
    """Return what a guard or a protected server observed."""
    seen: Observation = told.what
    failure = seen.failure
    return Record(
        time=told.time,
        session=told.session or seen.session,
        source="guard",
        kind="success" if failure is None else "failure",
        server=seen.server,
        tool=seen.tool,
        elapsed=seen.seconds,
        text=text_without_values(seen.text, failure) if failure is not None else None,
        decision=decision_on(failure),
        **of_arguments(seen.sent),
        **described(failure),
    )


def of_event(told: Told) -> Record:
    """Return what a hook of `install`, `wrap`, `call` or `acall` was told after a try."""
    event: Event = told.what
    attempt, kind = event.attempt, _STEPS[event.step]
    failure = None if event.failure is None else without_values(event.failure)
    is_end = kind in ("failure", "refused")
    return Record(
        time=told.time,
        session=told.session,
        source="client",
        kind="recovered" if kind == "success" and attempt > 1 else kind,
        server=event.server,
        tool=event.tool,
        call=str(event.call or ""),
        attempt=attempt,
        elapsed=event.elapsed,
        delay=event.delay,
        reason=event.reason,
        text=render(failure, event.hints, attempt=max(attempt, 1)) if failure is not None and is_end else None,
        decision=decision_on(failure, event.hints, attempt) if is_end else None,
        **of_arguments(event.sent),
        **described(failure),
    )


def of_arguments(sent: Sent | None) -> dict[str, Any]:
    """Return what a record says of the arguments."""
    return {} if sent is None else {"arguments": sent.digest, "names": sent.names}


def decision_on(failure: Failure | None, hints: Any = None, attempt: int = 1) -> str | None:
    """Return in one word what the agent should do next."""
    return None if failure is None else decide(failure, hints, attempt=max(attempt, 1)).action


def of_record(told: Told) -> Record:
    """Return what was told, a record already, which nobody has looked at."""
    return distrusted(told.what)


READERS: Mapping[type, Reader] = {Observation: of_observation, Event: of_event, Record: of_record}


class Adapter:
    """Makes records of what is told, safe to be kept; it notices when calls of a tool are suspended, and no more.

    Args:
        readers: by type of what is told, what makes a record of it.
        server: what to call a server that nobody named.
        session: what to call a session that nobody named.
    """

    def __init__(self, readers: Mapping[type, Reader] | None = None, *, server: str = "", session: str = "") -> None:
        self.session = session
        self._readers = {**READERS, **(readers or {})}
        self._server = server
        self._numbers = count(1)
        self._suspended: set[tuple[str, str, str]] = set()

    def records(self, told: Told) -> Iterable[Record]:
        """Return the records of one thing that was told.

        Raises:
            TypeError: nobody knows what it is.
        """
        kind: type[object] = told.what.__class__
        reader = self._readers.get(kind)
        if reader is None:
            raise TypeError(f"a recorder takes what observers and hooks are told, not {kind.__name__}")
        found = reader(told)
        found = cleaned(
            replace(
                found,
                session=found.session or self.session,
                server=found.server or self._server,
                call=found.call or f"n{next(self._numbers)}",
            )
        )
        change = self._change(found)
        return (found,) if change is None else (change, found)

    def _change(self, record: Record) -> Record | None:
        """Return the record of a breaker that opened or closed, which the record of a call gives away."""
        key = (record.source, record.server, record.tool)
        if record.kind == "refused" and record.code == _SUSPENDED:
            if key in self._suspended:
                return None
            self._suspended.add(key)
            return _breaker(record, "opened")
        if key not in self._suspended or not _closes(record):
            return None
        self._suspended.discard(key)
        return _breaker(record, "closed")


def _closes(record: Record) -> bool:
    if record.has_succeeded:
        return True
    return record.kind == "failure" and record.type != "TRANSIENT" and record.outcome != "unknown"


def _breaker(record: Record, reason: str) -> Record:
    return Record(
        time=record.time,
        session=record.session,
        source=record.source,
        kind="breaker",
        server=record.server,
        tool=record.tool,
        reason=reason,
    )
