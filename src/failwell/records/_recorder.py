"""`Recorder`: takes events from any thread and writes records of them from its own; it never blocks or fails a call."""

import atexit
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import cast
from weakref import WeakSet

from msgspec.structs import replace

from failwell._log import log
from failwell._trace import CallTrace
from failwell.advice import ADVICE, Decision, advised, decide
from failwell.dialects._placement import encode
from failwell.event import Event, name_of
from failwell.failure import Failure
from failwell.records._record import (
    SOURCES,
    Record,
    TracedRecord,
    cut_text,
    safe_failure_fields,
    safe_texts,
    safe_trace,
    text_without_values,
    without_values,
)
from failwell.records._sink import Sink, open_sink
from failwell.redact.canonical import RedactedFailure
from failwell.redact.scrubber import clean
from failwell.renderer import render_redacted

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
_SPLIT_AFTER = 3
_LONGEST_REASON = 300
_CLOSE_TIMEOUT = 5.0
_SUSPENDED = "CIRCUIT_OPEN"


class RecordMaker:
    """Makes records of events, safe to be stored, and adds one when the breaker of a tool opens or closes.

    Args:
        server: the name of a server that has none.
        session: the name of a session that has none.
        dialect: how a proxy writes failures.
    """

    def __init__(self, *, server: str = "", session: str = "", dialect: str = "meta") -> None:
        self.session = session
        self.keeps_traces = False
        self._server = server
        self._dialect = dialect
        self._numbers = count(1)
        self._suspended: set[tuple[str, str, str]] = set()

    def records(self, event: Event) -> Iterable[Record]:
        """Return the records of an event.

        Raises:
            TypeError: it is not an event.
        """
        if not isinstance(event, Event):
            raise TypeError(f"a recorder takes events, not {type(event).__name__}")
        found = self._record(event)
        change = self._breaker_change(found)
        return (found,) if change is None else (change, found)

    def _record(self, event: Event) -> Record:
        arguments = event.arguments
        failure = None if event.failure is None else without_values(event.failure)
        if failure is not None and event.has_failed and not _is_passed(event):
            failure = _worded(event, failure)
        answer = failure if event.has_failed else None
        decision = None if answer is None else _next_step(event, answer)
        trace = event.trace if self.keeps_traces or event.source == "proxy" else None
        make = Record if trace is None else partial(TracedRecord, trace=safe_trace(trace))
        return make(
            time=event.time,
            source=SOURCES[event.source],
            kind=event.kind,
            attempt=event.attempt,
            elapsed=event.elapsed,
            delay=event.delay,
            text=None if answer is None else self._text(event, answer),
            decision=None if decision is None else decision.action,
            advice=None if decision is None else decision.reason,
            arguments=None if arguments is None else arguments.digest,
            **safe_texts(
                session=event.session or self.session,
                server=event.server or self._server,
                tool=event.tool,
                call=f"n{next(self._numbers)}" if event.call is None else f"{event.call}",
                agent=event.agent,
                reason=event.reason,
                names=() if arguments is None else arguments.names,
                details=event.details,
            ),
            **({} if failure is None else safe_failure_fields(failure)),
        )

    def _text(self, event: Event, answer: RedactedFailure) -> str | None:
        """Return what the agent got, as the event says, or as its source words such a failure."""
        if event.text is not None and event.failure is not None:
            return text_without_values(event.text, event.failure)
        if event.source in ("client", "retry"):
            return cut_text(render_redacted(answer, event.hints, attempt=max(event.attempt, 1)))
        if event.source == "proxy" and not _is_passed(event):
            return cut_text(encode(answer, self._dialect)["content"][0]["text"])
        return None

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


def _is_passed(event: Event) -> bool:
    """Return whether a proxy passed on what the server had answered."""
    return "passed" in event.details or "dry_run" in event.details


def _worded(event: Event, failure: RedactedFailure) -> RedactedFailure:
    """Return a failure with the next step as its source worded it for the agent."""
    return cast(RedactedFailure, advised(failure, event.hints, attempt=max(event.attempt, 1)))


def _next_step(event: Event, answer: Failure) -> Decision:
    """Return what the agent should do next, decided as the words were that it got."""
    return decide(answer, event.hints, attempt=max(event.attempt, 1), policy=ADVICE)


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


class BatchWriter:
    """Makes records of events and writes them, from one thread.

    A sink that fails is tried again after `pause` seconds, longer each time, with one warning. If it refuses a batch
    again and again, it gets the records one by one, so that a bad record does not hold up all others.

    Args:
        sink: where to write.
        maker: makes the records.
        lose: called with how many records will never be written, and why.
        warn: called with what the operator should know, in one line.
    """

    def __init__(
        self, sink: Sink, maker: RecordMaker, lose: Callable[[int, str], object], warn: Callable[[str], object]
    ) -> None:
        self.pause = 0.0
        self.held: list[Record] = []
        self.unmade = 0  # how many events of the batch in hand no record is made of yet
        self._sink = sink
        self._maker = maker
        self._lose = lose
        self._warn = warn
        self._failures = 0
        self._first = 0
        self._has_grown = False
        self._refused: set[int] = set()
        self._doubts: Counter[int] = Counter()
        self._has_warned_of_input = False

    def room(self, most: int) -> int:
        """Return how many records may be added to those that are held, *most* in all.

        A batch that fails is tried again as it is. If it keeps failing, records are added: they tell whether the sink
        is away or refuses a record.
        """
        return max(most - len(self.held), 0) if not 0 < self._failures < _SPLIT_AFTER else 0

    def write(self, batch: Collection[Event]) -> bool:
        """Write a batch after the one that is held, if any; return whether all of it was written."""
        before = len(self.held)
        self.unmade = len(batch)
        for event in batch:
            try:
                self.held += self._maker.records(event)
            except Exception as failed:
                if not self._has_warned_of_input:
                    self._has_warned_of_input = True
                    self._warn(f"an event could not be turned into a record: {error_line(failed)}")
                    log.debug("an event that a recorder could not convert", exc_info=True)
                self._lose(1, "they could not be turned into records")
            self.unmade -= 1
        self._has_grown = len(self.held) > before
        if self._has_grown:
            self._first = before  # the newest records tell best whether the sink works
        return self.write_held()

    def write_held(self) -> bool:
        """Write the batch that is held; return whether all of it was written."""
        if self.held:
            try:
                self._sink.write(self.held)
            except Exception as failed:
                self._failed(failed)
            else:
                self._written()
        return not self.held

    def close(self) -> None:
        """Close the sink."""
        try:
            self._sink.close()
        except Exception as failed:
            self._warn(f"the store of records could not be closed: {error_line(failed)}")

    def forked(self) -> None:
        """Drop the held batch in a forked process: its parent writes it."""
        self._begin()

    def _begin(self) -> None:
        self.held = []
        self._failures, self.pause, self._first = 0, 0.0, 0
        self._refused.clear()
        self._doubts.clear()

    def _written(self) -> None:
        if self._failures:
            self._warn("call records are being written again")
        self._begin()

    def _failed(self, failed: Exception) -> None:
        if self._failures == 0:
            self._warn(f"call records cannot be written and are waiting: {error_line(failed)}")
        self._failures += 1
        self.pause = min(_FIRST_PAUSE * 2.0 ** (self._failures - 1), _LONGEST_PAUSE)
        if self._failures >= _SPLIT_AFTER and (self._has_grown or self._failures % _SPLIT_AFTER == 0):
            self.write_one_by_one()

    def write_one_by_one(self) -> None:
        """Write the records that the sink takes. One that it refuses twice, and takes others after that, is lost."""
        self._has_grown = False
        gone, in_a_row = set[int](), 0
        if not self.held:
            return
        last = self.held[-1]
        for record in (*self.held[self._first : -1], *self.held[: self._first], last):
            if in_a_row >= _SPLIT_AFTER and (record is not last or not gone):
                continue  # it takes nothing at all, for all we know: the sink is broken, not a record
            if self._is_taken(record):
                gone.add(id(record))
                self._doubts.update(self._refused)
                self._refused.clear()
                in_a_row = 0
            else:
                self._refused.add(id(record))
                in_a_row += 1
        if not gone:
            self._first = (self._first + in_a_row) % len(self.held)  # they may be what it refuses
            return
        bad = {at for at, count in self._doubts.items() if count > 1}
        if not in_a_row:  # the sink is there
            doubted = [record for record in self.held if id(record) in self._doubts and id(record) not in bad]
            taken = {id(record) for record in doubted if self._is_taken(record)}
            gone |= taken
            bad |= set(map(id, doubted)) - taken
        self._lose(len(bad), "the store refuses them")
        self._let_go(gone | bad)

    def _let_go(self, gone: set[int]) -> None:
        self.held = [record for record in self.held if id(record) not in gone]
        if not self.held:
            self._written()
            return
        for at in gone:
            del self._doubts[at]
        self._refused -= gone
        self._first = 0
        self._failures, self.pause = 1, _FIRST_PAUSE

    def _is_taken(self, record: Record) -> bool:
        try:
            self._sink.write([record])
        except Exception:
            return False
        return True


def error_line(failed: Exception) -> str:
    """Return an error in one redacted line: of a database error the driver's own words, without the statement."""
    error = getattr(failed, "orig", None) or failed
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return clean(": ".join((type(error).__name__, *lines[:1])), _LONGEST_REASON)


_session: ContextVar[str | None] = ContextVar("failwell_session", default=None)


class Recorder:
    """Writes a record of every event that it gets. It is an observer for servers, and a hook for agents.

    `protect(server, observers=[recorder])`, `install(hook=recorder)`. Records that find no room are counted in `lost`,
    with one warning in the log and a record in the store. Use it as a context manager, `close` it, or let the end of
    the process do that.

    Args:
        sink: where to write: a `Sink`, or the address of one, as `open_sink` takes it.
        server: the name of a server that has none.
        session: the name of the session, if the process has only one; a random name by default.
        capacity: how many events wait at most.
        batch: how many records are written at once at most.
        interval: how many seconds an event waits at most before it is written.
        dialect: how failures are written, in records of a proxy.
        warn: called with one line if records are lost or cannot be written; the log by default.

    Raises:
        ValueError: there is no such sink, or a number is out of range.
        ImportError: the sink needs a library that is not installed.
    """

    def __init__(
        self,
        sink: Sink | str,
        *,
        server: str = "",
        session: str | None = None,
        capacity: int = 10_000,
        batch: int = 500,
        interval: float = 0.25,
        dialect: str = "meta",
        warn: Callable[[str], object] = log.warning,
    ) -> None:
        if not (capacity >= 1 and batch >= 1 and interval >= 0):
            raise ValueError("capacity and batch must be at least 1, and interval a number of seconds")
        self.name = session or _new_name()
        self._is_named = bool(session)
        found = open_sink(sink) if isinstance(sink, str) else sink
        self._maker = RecordMaker(server=server, session=self.name, dialect=dialect)
        self._warn = warn
        self._find_trace: Callable[[Event], CallTrace | None] | None = getattr(found, "find_trace", None)
        self._maker.keeps_traces = self._find_trace is not None
        self._writer = BatchWriter(found, self._maker, self._lose, warn)
        self._capacity = capacity
        self._batch = batch
        self._interval = interval
        self._is_closed = False
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._waiting: deque[Event | threading.Event] = deque()
        self._flushing: list[threading.Event] = []
        self._lost = self._lost_recorded = 0
        self._lock = threading.Lock()
        self._wake, self._hurry = threading.Event(), threading.Event()
        self._is_asleep = True
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Take an event; it is written a moment later."""
        waiting = self._waiting
        if len(waiting) >= self._capacity or self._is_closed:
            self._lose(1, self._reason_for_loss())
            return
        if isinstance(event, Event):
            if event.arguments is not None:
                event.arguments.keep()  # now, before they change
            if name := _session.get():
                event = replace(event, session=name)
            if self._find_trace is not None and event.source != "proxy":
                event = replace(event, trace=self._find_trace(event))  # now, while the span of the call is current
        waiting.append(event)
        if self._is_asleep or len(waiting) == self._batch:
            self._wake_thread(is_urgent=len(waiting) >= self._batch)

    @property
    def lost(self) -> int:
        """How many records were not written: there was no room, the store did not take them, or it was closed first."""
        return self._lost + (self._unwritten() if self._is_closed else 0)

    @contextmanager
    def session(self, name: str) -> Generator[None]:
        """Record the events of this task or thread inside the block as one session of this name."""
        token = _session.set(name)
        try:
            yield
        finally:
            _session.reset(token)

    def flush(self, timeout: float = _CLOSE_TIMEOUT) -> bool:
        """Wait until all events so far are written; return whether that happened within so many seconds."""
        if self._is_closed:
            return not self._waiting
        written = threading.Event()
        self._waiting.append(written)
        self._wake_thread(is_urgent=True)
        return written.wait(timeout)

    def close(self, timeout: float = _CLOSE_TIMEOUT) -> None:
        """Write what waits, for so many seconds at most, and close the sink. Doing it twice changes nothing."""
        if self.start_closing():
            self.wait(timeout)

    def start_closing(self) -> bool:
        """Begin to close without waiting; return False if that had begun before."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if was_closed:
            return False
        self._wake.set()
        self._hurry.set()
        if self._thread is None:
            self._end()
        return True

    def wait(self, timeout: float) -> None:
        """Wait until it is closed, for so many seconds at most."""
        if self._thread is not None:
            self._thread.join(timeout)
            if self._thread.is_alive():
                self._warn(f"{self._unwritten()} call records were not written in time")

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake_thread(self, *, is_urgent: bool) -> None:
        with self._lock:
            self._is_asleep = False
            if self._thread is None and not self._is_closed:
                thread = threading.Thread(target=self._run, name="failwell records", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # there are too many threads; the next event tries again
                    self._is_asleep = True
                    return
                self._thread = thread
        if is_urgent:
            self._hurry.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._is_closed:
            if not self._waiting and not self._writer.held:
                self._is_asleep = True
                if not self._waiting:  # none arrived between the look and the flag
                    self._wake.wait()
                self._is_asleep = False
            self._wake.clear()
            self._hurry.wait(self._writer.pause or self._interval)
            self._hurry.clear()
            self._write_all()
        self._end()

    def _write_all(self) -> None:
        """Write what waits, batch by batch, until nothing does or the sink takes no more."""
        while self._writer.write(self._next_batch()):
            for written in self._flushing:
                written.set()
            self._flushing.clear()
            if not self._waiting and self._lost <= self._lost_recorded:
                return

    def _next_batch(self) -> list[Event]:
        """Return the events to write beside those that are held; a `flush` among them waits until nothing is held."""
        waiting, batch, room = self._waiting, list[Event](), self._writer.room(self._batch)
        total = self._lost  # read once: other threads count meanwhile
        if total > self._lost_recorded and not self._writer.held:
            lost, self._lost_recorded = total - self._lost_recorded, total
            batch.append(Event(source="recorder", kind="lost", session=self.name, details={"count": lost}))
        while waiting and len(batch) < room:
            item = waiting.popleft()
            if isinstance(item, threading.Event):
                self._flushing.append(item)
                if not self._writer.held:
                    break
            else:
                batch.append(item)
        return batch

    def _reason_for_loss(self) -> str:
        if self._is_closed:
            return "the recorder is closed"
        return (
            "the store accepts none, and the buffer is full"
            if self._writer.pause
            else "events arrive faster than they can be written"
        )

    def _lose(self, count: int, why: str) -> None:
        with self._lock:
            is_first = self._lost == 0
            self._lost += count
        if is_first and count:
            self._warn(f"call records are being lost: {why}")

    def _end(self) -> None:
        self._write_all()
        if self._writer.held:
            self._writer.write_one_by_one()
            self._write_all()
        unwritten = self._unwritten()
        self._waiting.clear()
        self._writer.held.clear()
        self._lose(unwritten, "the store did not accept them before the end")
        self._writer.close()

    def _unwritten(self) -> int:
        waiting = sum(not isinstance(item, threading.Event) for item in tuple(self._waiting))
        return waiting + self._writer.unmade + len(self._writer.held)

    def forked(self) -> None:
        """Start again in a forked process: its parent, which has the thread, writes the events that wait."""
        self._writer.forked()
        if not self._is_named:
            self.name = self._maker.session = _new_name()
        self._begin()


def _new_name() -> str:
    return name_of(os.urandom(8).hex())


_all: WeakSet[Recorder] = WeakSet()


def _close_all() -> None:
    """Close all recorders, which have one deadline together."""
    until = time.monotonic() + _CLOSE_TIMEOUT
    closing = [recorder for recorder in list(_all) if recorder.start_closing()]
    for recorder in closing:
        recorder.wait(max(until - time.monotonic(), 0.0))


def _all_forked() -> None:
    for recorder in list(_all):
        recorder.forked()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_all_forked)
