"""The dashboard on a store that grows: what a page costs the server, and what counting costs in the background."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
from tools import sample_records

from bench.measure import Amount, Figure
from failwell.dashboard.data import DashboardData
from failwell.dashboard.views import View
from failwell.records import Record, open_sink

SIZES = {"10,000": 10_000, "100,000": 100_000, "1,000,000": 1_000_000}
ROUNDS = 3
NOW, DAYS = 1_794_000_000.0, 28
BATCH = 5_000
_A_SESSION = 9
"""How many records a session has, about."""


def run() -> Iterator[Figure | Amount]:
    least, *others = SIZES
    with tempfile.TemporaryDirectory() as folder:
        seen: dict[str, dict[str, float]] = {}
        for name, size in SIZES.items():
            source = DashboardData(f"sqlite:///{folder}/{size}-{name}.db", clock=lambda: NOW)
            written = _fill(f"sqlite:///{folder}/{size}-{name}.db", size)
            counting = _seconds(partial(_count, source), rounds=1)
            seen[name] = {what: _seconds(ask) for what, ask in _asked(source).items()}
            source.close()
            yield Amount(
                group="dashboard", what=f"a record counted, {name} events", value=counting / written * 1e6, unit="µs"
            )
    for name in others:
        for what, seconds in seen[name].items():
            yield Figure(
                group="dashboard",
                what=f"{what}, {name} events",
                microseconds=seconds * 1e6,
                beside=f"{least} events",
                beside_microseconds=seen[least][what] * 1e6,
            )


def _fill(address: str, size: int) -> int:
    """Write about so many records of agents at work, and return how many."""
    sink, waiting, written = open_sink(address), list[Record](), 0
    for session in sample_records.sessions(1, until=NOW, days=DAYS, count=max(size // _A_SESSION, 3)):
        waiting += session
        if len(waiting) >= BATCH:
            sink.write(waiting)
            written, waiting = written + len(waiting), []
    sink.write([*waiting, *sample_records.server_events(NOW)])
    sink.close()
    return written + len(waiting)


def _count(source: DashboardData) -> None:
    while source.count():
        pass


def _asked(source: DashboardData) -> dict[str, Callable[[], Any]]:
    number = source.feed(View(range="all"))["rows"][0]["number"]
    views = {
        "first page": View(),
        "page of all time": View(range="all"),
        "filtered page": View(range="all", tool="refund_payment", code="UPSTREAM_ERROR", by="code"),
    }
    pages: dict[str, Callable[[], Any]] = {
        name: lambda view=view: msgspec.json.encode(source.overview(view)) for name, view in views.items()
    }
    return {**pages, "story": lambda: msgspec.json.encode(source.failure_details(View(failure=number)))}


def _seconds(work: Callable[[], Any], *, rounds: int | None = None) -> float:
    best = float("inf")
    for _ in range(rounds or ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best
