"""What recording costs: the thread that makes a call, and the thread that writes."""

import gc
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

import failwell as fw
from bench.measure import Amount, Figure, compare
from failwell.event import CallArguments, Event
from failwell.records import Record, Recorder, RecordStore, failure_fields, open_sink
from failwell.records._pruning import size_of

TOLD = 20_000
ROUNDS = 3
WRITTEN = 5_000
CAPACITY = 10_000
SIZES = (10_000, 50_000, 200_000)
AT_ONCE = 5_000
BATCH = 500

ARGUMENTS = {"task_id": "t-9", "limit": 5, "fields": ["title", "owner"]}
MISSING = fw.Failure(code="NOT_FOUND", message="There is no task t-9.", actions=("list_tasks",), tool="find")
RETRIED = fw.Failure(code="RATE_LIMITED", message="Slow down.", retry_after=3)


class Nowhere:
    """A sink that keeps nothing."""

    def write(self, batch: Sequence[Record], /) -> None: ...

    def close(self) -> None: ...


def run() -> Iterator[Any]:
    for what, make in TELLING.items():
        yield Amount(
            group="events", what=f"{what}, on the calling thread", value=_microseconds_to_tell(make), unit="µs"
        )
    with Recorder(Nowhere(), capacity=10**9) as recorder:
        recorded, plain = fw.guard(observers=[recorder])(_work), fw.guard(observers=[fw.records.Meter()])(_work)
        yield compare("events", "guarded success, recorded", recorded, "guarded success, metered", plain)
    with tempfile.TemporaryDirectory() as folder:
        for name, address in (("JSON lines", "jsonl:{}/lines"), ("SQLite", "sqlite:///{}/store")):
            value = _microseconds_to_write(address.format(Path(folder)))
            yield Amount(group="events", what=f"a record written to {name}", value=value, unit="µs")
        yield from _ingested(Path(folder) / "many.db")
    kept, lost = _kept_and_lost()
    yield Amount(group="events", what="records lost before the buffer is full", value=float(CAPACITY - kept))
    yield Amount(group="events", what="records lost beyond it and not counted", value=float(CAPACITY - lost))


def _work() -> str:
    return "ok"


def _succeeded() -> Event:
    return Event(
        source="server", kind="success", tool="find", elapsed=0.01, server="tasks", arguments=CallArguments(ARGUMENTS)
    )


def _failed() -> Event:
    return Event(
        source="server",
        kind="failure",
        server="tasks",
        tool="find",
        elapsed=0.01,
        failure=MISSING,
        text="NOT_FOUND: there is no task t-9.",
        arguments=CallArguments(ARGUMENTS),
    )


def _retried() -> Event:
    return Event(
        source="client",
        kind="retry",
        server="s",
        tool="find",
        elapsed=0.1,
        failure=RETRIED,
        delay=3.0,
        arguments=CallArguments(ARGUMENTS),
    )


TELLING: dict[str, Callable[[], Any]] = {
    "a success of a server": _succeeded,
    "a failure of a server": _failed,
    "a retry of a client": _retried,
}


def _microseconds_to_tell(make: Callable[[], Any]) -> float:
    """Return the processor time of the thread that tells, without that of making what is told."""
    best = float("inf")
    for _ in range(ROUNDS):
        told = [make() for _ in range(TOLD)]
        with Recorder(Nowhere(), capacity=10**9) as recorder:
            gc.disable()
            start = time.thread_time()
            for one in told:
                recorder(one)
            best = min(best, time.thread_time() - start)
            gc.enable()
            recorder.flush(60)
    return best / TOLD * 1e6


def _microseconds_to_write(address: str) -> float:
    record = Record(time=1.0, source="guard", kind="failure", session="s", tool="find", **failure_fields(MISSING))
    sink = open_sink(address)
    sink.write([record])
    start = time.process_time()
    for _ in range(max(WRITTEN // BATCH, 1)):
        sink.write([record] * BATCH)
    spent = time.process_time() - start
    sink.close()
    return spent / (max(WRITTEN // BATCH, 1) * BATCH) * 1e6


def _ingested(path: Path) -> Iterator[Any]:
    """Yield what a record costs and how large it is while a store grows; one in four failed.

    No more is told at once than the buffer holds. The cost is the processor time of both threads.
    """
    spent: list[float] = []
    with Recorder(f"sqlite:///{path}") as recorder:
        for size in SIZES:
            while len(spent) * AT_ONCE < size:
                spent.append(_seconds_to_ingest(recorder))
            of, told = f"of {size:,}", len(spent) * AT_ONCE
            yield Amount(group="events", what=f"a record ingested, {of}", value=sum(spent) / told * 1e6, unit="µs")
            yield Amount(group="events", what=f"size of a record, {of}", value=_size(path) / told, unit="bytes")
    part = max(SIZES[0] // AT_ONCE, 1)
    yield Figure(
        group="events",
        what=f"the last records of {SIZES[-1]:,} ingested",
        microseconds=sum(spent[-part:]) / (part * AT_ONCE) * 1e6,
        beside=f"the first {SIZES[0]:,}",
        beside_microseconds=sum(spent[:part]) / (part * AT_ONCE) * 1e6,
    )
    with RecordStore(f"sqlite:///{path}") as store, store.engine.connect() as connection:
        kept = connection.execute(text("SELECT count(*) FROM failwell_records")).scalar_one()
    yield Amount(group="events", what="records lost while a store grows", value=float(told - kept + recorder.lost))


def _size(path: Path) -> int:
    """Return how large the file is, with what still stands in the log beside it."""
    with RecordStore(f"sqlite:///{path}") as store, store.engine.connect() as connection:
        return size_of(connection)


def _seconds_to_ingest(recorder: Recorder) -> float:
    made = [_failed() if number % 4 == 0 else _succeeded() for number in range(AT_ONCE)]
    start = time.process_time()
    for one in made:
        recorder(one)
    recorder.flush(600)
    return time.process_time() - start


def _kept_and_lost() -> tuple[int, int]:
    """Return how many of twice as many records as there is room for were kept, and how many were counted as lost."""
    begun, go_on, written = threading.Event(), threading.Event(), list[Record]()

    class Slow(Nowhere):
        def write(self, batch: Sequence[Record], /) -> None:
            begun.set()
            go_on.wait(60)
            written.extend(batch)

    recorder = Recorder(Slow(), capacity=CAPACITY, batch=BATCH, interval=0)
    recorder(_succeeded())
    begun.wait(60)
    for _ in range(2 * CAPACITY):
        recorder(_succeeded())
    go_on.set()
    recorder.close(60)
    return sum(record.kind == "success" for record in written) - 1, recorder.lost
