"""`Adapter`: makes records of the events that servers, clients and proxies report."""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from failwell.advice import ADVICE, decide
from failwell.event import CallArguments, Event, Observation
from failwell.failure import Failure
from failwell.records._record import (
    Kind,
    Record,
    failure_fields,
    redact_failure,
    redact_texts,
    safe_failure_fields,
    text_without_values,
    without_values,
)
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


class QueuedEvent(NamedTuple):
    """An event that a recorder was given, when, and in which session, if the application named it."""

    time: float
    session: str
    event: Any


Converter = Callable[[QueuedEvent], Record]
"""Makes a record of an event."""


def record_of_observation(queued: QueuedEvent) -> Record:
    """Return the record of a call that a guard or a protected server observed."""
    observation: Observation = queued.event
    failure = observation.failure
    return Record(
        time=queued.time,
        session=queued.session or observation.session,
        source="guard",
        kind="success" if failure is None else "failure",
        server=observation.server,
        tool=observation.tool,
        elapsed=observation.seconds,
        text=text_without_values(observation.text, failure) if failure is not None else None,
        decision=next_action(failure),
        **argument_fields(observation.sent),
        **failure_fields(failure),
    )


def record_of_event(queued: QueuedEvent) -> Record:
    """Return the record of an event that a hook of `install`, `wrap`, `call` or `acall` got after a try."""
    event: Event = queued.event
    attempt, kind = event.attempt, _STEPS[event.step]
    failure = None if event.failure is None else without_values(event.failure)
    is_end = kind in ("failure", "refused")
    return Record(
        time=queued.time,
        session=queued.session,
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
        decision=next_action(failure, event.hints, attempt) if is_end else None,
        **argument_fields(event.sent),
        **({} if failure is None else safe_failure_fields(failure)),
    )


def argument_fields(sent: CallArguments | None) -> dict[str, Any]:
    """Return the fields of a record that describe the arguments of a call."""
    return {} if sent is None else {"arguments": sent.digest, "names": sent.names}


def next_action(failure: Failure | None, hints: Any = None, attempt: int = 1) -> str | None:
    """Return what the agent should do next, in one word."""
    return None if failure is None else decide(failure, hints, attempt=max(attempt, 1), policy=ADVICE).action


_CONVERTERS: Mapping[type, Converter] = {
    Observation: record_of_observation,
    Event: record_of_event,
}
_REDACTING: frozenset[Converter] = frozenset(_CONVERTERS.values())
"""Those that redact the failure themselves. What any other makes is taken for raw."""


class Adapter:
    """Makes records of events, safe to be stored, and adds one when the breaker of a tool opens or closes.

    Args:
        converters: what makes a record of an event, by the type of the event.
        server: the name of a server that has none.
        session: the name of a session that has none.
    """

    def __init__(
        self, converters: Mapping[type, Converter] | None = None, *, server: str = "", session: str = ""
    ) -> None:
        self.session = session
        self._converters: Mapping[type, Converter] = {
            **_CONVERTERS,
            Record: lambda queued: queued.event,
            **(converters or {}),
        }
        self._server = server
        self._numbers = count(1)
        self._suspended: set[tuple[str, str, str]] = set()

    def records(self, queued: QueuedEvent) -> Iterable[Record]:
        """Return the records of an event.

        Raises:
            TypeError: it is no event.
        """
        kind: type[object] = queued.event.__class__
        converter = self._converters.get(kind)
        if converter is None:
            raise TypeError(f"a recorder takes what observers and hooks are told, not {kind.__name__}")
        found = converter(queued)
        found = redact_texts(
            replace(
                found if converter in _REDACTING else redact_failure(found),
                session=found.session or self.session,
                server=found.server or self._server,
                call=found.call or f"n{next(self._numbers)}",
            )
        )
        change = self._breaker_change(found)
        return (found,) if change is None else (change, found)

    def _breaker_change(self, record: Record) -> Record | None:
        """Return the record of a breaker that must have opened or closed, by the record of a call."""
        key = (record.source, record.server, record.tool)
        if record.kind == "refused" and record.code == _SUSPENDED:
            if key in self._suspended:
                return None
            self._suspended.add(key)
            return _breaker_record(record, "opened")
        if key not in self._suspended or not _closes(record):
            return None
        self._suspended.discard(key)
        return _breaker_record(record, "closed")


def _closes(record: Record) -> bool:
    if record.has_succeeded:
        return True
    return record.kind == "failure" and record.type != "TRANSIENT" and record.outcome != "unknown"


def _breaker_record(record: Record, reason: str) -> Record:
    return Record(
        time=record.time,
        session=record.session,
        source=record.source,
        kind="breaker",
        server=record.server,
        tool=record.tool,
        reason=reason,
    )
