"""Stores at scale: what an event costs beside a plain SQL insert in the same run, and pages of millions of events.

`python -m bench.stores 3000000` measures with so many events, which takes half an hour, and writes `stores.md` here.
"""

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import msgspec
import psycopg
from msgspec.structs import replace
from tests.exceptions.servers import running_postgres
from tools import sample_records

from bench.measure import Amount, Figure
from failwell.dashboard.data import DashboardData
from failwell.dashboard.views import View
from failwell.records import Record, open_reader, open_sink
from failwell.records._pruning import SLICE
from failwell.records._tables import _values

EVENTS = 300_000
WRITTEN = 10_000
ROUNDS = 3
BATCH = 500
QUIET = 5.0
"""For how many seconds waits are measured without pruning."""
NOW, DAYS = 1_794_000_000.0, 90
_DAY = 86_400.0
Row = TypeVar("Row")
_COLUMNS = ", ".join(Record.__struct_fields__)
_WIDTH = len(Record.__struct_fields__)


STEPS = 3
"""At how many sizes on the way to all events the cost of one more is measured."""


def run() -> Iterator[Figure | Amount]:
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server:
        addresses = {"SQLite": f"sqlite:///{folder}/calls.db", "PostgreSQL": f"postgresql://{server.url}"}
        plain: dict[str, Callable[[list[tuple[Any, ...]]], float]] = {
            "SQLite": partial(_plain_sqlite, f"{folder}/calls.db"),
            "PostgreSQL": partial(_plain_postgresql, server.dsn),
        }
        for name, address in addresses.items():
            _clock.server = server.port if name == "PostgreSQL" else None
            yield _ingestion(address, plain[name], f"an event into an empty {name}")
            events, written = _events(), 0
            for _ in range(STEPS):
                written += _fill(address, islice(events, EVENTS // STEPS))
                yield _ingestion(address, plain[name], f"an event into {name} with {written:,} events", written)
            yield from _pages(address, name, written)
            yield from _retention(address, name, written)


class _ProcessorClock:
    """Tells the processor time of this process and, if it is used, of the database server with all its processes."""

    server: int | None = None
    """The port of a server on this machine."""

    def __call__(self) -> float:
        return time.process_time() + (0.0 if self.server is None else _seconds_of_server(self.server))


_clock = _ProcessorClock()


def _seconds_of_server(port: int) -> float:
    """Return the processor time of all processes of a PostgreSQL server, also of those that ended."""
    ours = [folder for folder in Path("/proc").iterdir() if folder.name.isdecimal() and _is_postgres(folder, port)]
    ticks = 0
    for folder in ours:
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # its own, and that of children it has waited for
    return ticks / os.sysconf("SC_CLK_TCK")


_known: dict[tuple[str, int], bool] = {}


def _is_postgres(folder: Path, port: int) -> bool:
    try:
        parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return _is_main(folder.name, port) or _is_main(str(parent), port)


def _is_main(pid: str, port: int) -> bool:
    if (pid, port) not in _known:
        try:
            command = Path("/proc", pid, "cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        _known[pid, port] = command[0].endswith(b"postgres") and b"-p" in command and str(port).encode() in command
    return _known[pid, port]


def _ingestion(address: str, plain: Callable[[list[tuple[Any, ...]]], float], what: str, written: int = 0) -> Figure:
    """Measure both ways in turns, on the same table: the best round of each counts."""
    records = list(islice(_events(skipped=written), WRITTEN))
    rows = [_values(record) for record in records]
    ours, theirs = float("inf"), float("inf")
    _write(address, records[:1])
    for _ in range(ROUNDS):
        ours = min(ours, _write(address, records))
        theirs = min(theirs, plain(rows))
    return Figure(
        group="stores",
        what=what,
        microseconds=ours / len(records) * 1e6,
        beside="plain SQL inserts",
        beside_microseconds=theirs / len(records) * 1e6,
    )


def _write(address: str, records: list[Record]) -> float:
    with closing(open_sink(address)) as sink:
        sink.write(records[:1])  # connects
        start = _clock()
        for some in _batches(records, BATCH):
            sink.write(some)
        return _clock() - start


def _plain_sqlite(path: str, rows: list[tuple[Any, ...]]) -> float:
    statement = f"INSERT INTO failwell_records ({_COLUMNS}) VALUES ({', '.join('?' * _WIDTH)})"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        start = _clock()
        for some in _batches(rows, BATCH):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, some)
            connection.execute("COMMIT")
        return _clock() - start


def _plain_postgresql(dsn: str, rows: list[tuple[Any, ...]]) -> float:
    statement = f"INSERT INTO failwell_records ({_COLUMNS}) VALUES ({', '.join(['%s'] * _WIDTH)})"
    with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
        start = _clock()
        for some in _batches(rows, BATCH):
            cursor.executemany(statement, some)
            connection.commit()
        return _clock() - start


def _batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    left = iter(rows)
    while some := list(islice(left, size)):
        yield some


def _fill(address: str, events: Iterable[Record]) -> int:
    """Write events, and return how many."""
    written = 0
    with closing(open_sink(address)) as sink:
        for some in _batches(events, 5_000):
            sink.write(some)
            written += len(some)
    return written


def _events(total: int | None = None, *, skipped: int = 0) -> Iterator[Record]:
    """Yield events of agents at work without end, the oldest first: those of some sessions again and again.

    Args:
        total: how many of them fill the days before now; `EVENTS` if None. What follows happens now.
        skipped: how many to leave out.
    """
    some = [one for session in sample_records.sessions(1, until=NOW, days=1, count=2_000) for one in session]
    turns = max((EVENTS if total is None else total) // len(some), 1)
    for turn in count(skipped // len(some)):
        ago = max(1 - turn / turns, 0.0) * DAYS * _DAY
        yield from (replace(one, time=one.time - ago, session=f"{one.session}-{turn}") for one in some)


def _pages(address: str, name: str, written: int) -> Iterator[Amount]:
    source = DashboardData(address, clock=lambda: NOW)
    counting = _seconds(partial(_count, source), rounds=1)
    yield Amount(group="stores", what=f"an event counted in {name}", value=counting / written * 1e6, unit="µs")
    views = {"first page": View(), "page of 15 minutes": View(range="15m"), "page of 90 days": View(range="90d")}
    for what, view in views.items():
        seconds = _seconds(lambda view=view: msgspec.json.encode(source.overview(view)))
        yield Amount(group="stores", what=f"{what}, {name}, {written:,} events", value=seconds, unit="s")
    source.close()
    with closing(open_reader(address)) as reader:
        seconds = _seconds(lambda: reader.newest(50))
    yield Amount(group="stores", what=f"events list, {name}, {written:,} events", value=seconds, unit="s")


def _count(source: DashboardData) -> None:
    while source.count():
        pass


def _seconds(work: Callable[[], Any], *, rounds: int | None = None) -> float:
    best = float("inf")
    for _ in range(rounds or ROUNDS):
        start = _clock()
        work()
        best = min(best, _clock() - start)
    return best


_PRUNE = """
import sys
from failwell.records import Retention, open_reader
reader = open_reader(sys.argv[1])
print(reader.prune(Retention(count=int(sys.argv[2])), 0.0))
"""


def _retention(address: str, name: str, written: int) -> Iterator[Amount]:
    """Write and read while another process deletes half of the events; the longest wait of each counts."""
    records = list(islice(_events(), BATCH))
    before = _waits(address, records, lambda: time.sleep(QUIET))
    deleted: list[int] = []

    def prune() -> None:
        found = subprocess.run(
            [sys.executable, "-c", _PRUNE, address, str(written // 2)], check=True, capture_output=True, text=True
        )
        deleted.append(int(found.stdout))

    during = _waits(address, records, prune)
    yield Amount(group="stores", what=f"events deleted while others write, {name}", value=deleted[0])
    for who in ("writer", "reader"):
        yield Amount(
            group="stores",
            what=f"longest wait of a {who} meanwhile, {name}",
            value=max(during[who]),
            unit="s",
            beside=f"median {median(during[who]):.3f} s; without pruning at most {max(before[who]):.3f} s",
        )


def _waits(address: str, records: list[Record], work: Callable[[], object]) -> dict[str, list[float]]:
    """Return how long each batch took to be written, and each page to be read, while something is done."""
    waits: dict[str, list[float]] = {"writer": [], "reader": []}
    is_done = threading.Event()

    def repeat(who: str, act: Callable[[], object]) -> None:
        while not is_done.is_set():
            start = time.perf_counter()
            act()
            waits[who].append(time.perf_counter() - start)
            is_done.wait(0.01)

    with closing(open_sink(address)) as sink, closing(open_reader(address)) as reader:
        sink.write(records[:1])
        threads = [
            threading.Thread(target=repeat, args=("writer", lambda: sink.write(records))),
            threading.Thread(target=repeat, args=("reader", lambda: reader.newest(50))),
        ]
        for thread in threads:
            thread.start()
        try:
            work()
        finally:
            is_done.set()
            for thread in threads:
                thread.join()
    return waits


PAGE = Path(__file__).with_suffix(".md")
_ABOUT = """# Stores with {events:,} events

What an event costs in a large store, how long the pages of the dashboard take, and whether pruning keeps others
waiting. Made by `python -m bench.stores {events}` on {day}, on a machine with {cores} cores that others used too. So
all figures are processor time, that of the database server included; only waits are by the clock. Plain SQL inserts go
into the same table, in the same run and in turns: the best of {rounds} rounds of {written:,} events each.

| an event into | failwell | plain SQL inserts | ratio |
|---|---:|---:|---:|
{inserts}

| what | measured |
|---|---:|
{others}

While events are deleted, {slice:,} in a transaction, a writer in SQLite waits for the end of a transaction, and one in
PostgreSQL does not wait: what is deleted there locks only itself. Readers wait in neither. The rest of the waits is
that of two threads and a third process on two busy cores.
"""


def write_page() -> None:
    """Measure, and write the page."""
    found: list[Figure | Amount] = []
    for one in run():
        print(one, flush=True)
        found.append(one)
    inserts = [
        f"| {one.what.removeprefix('an event into ')} | {one.microseconds:.1f} µs | {one.beside_microseconds:.1f} µs"
        f" | {one.ratio:.2f} |"
        for one in found
        if isinstance(one, Figure)
    ]
    others = [
        f"| {one.what} | {_shown(one)}{f' ({one.beside})' if one.beside else ''} |"
        for one in found
        if isinstance(one, Amount)
    ]
    about = _ABOUT.format(
        events=EVENTS,
        day=datetime.now(UTC).strftime("%Y-%m-%d"),
        cores=os.cpu_count(),
        rounds=ROUNDS,
        written=WRITTEN,
        inserts="\n".join(inserts),
        others="\n".join(others),
        slice=SLICE,
    )
    PAGE.write_text(about, encoding="utf-8")


def _shown(one: Amount) -> str:
    return f"{one.value:,.0f}" if not one.unit else f"{one.value:.{1 if one.unit == 'µs' else 3}f} {one.unit}"


if __name__ == "__main__":
    EVENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
    write_page()
