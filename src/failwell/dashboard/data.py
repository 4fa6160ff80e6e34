"""`DashboardData`: all data of the page, from a store that may be empty or not exist yet."""

import errno
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from failwell.dashboard import export, feed, figures
from failwell.dashboard.counts import BATCH, UNKNOWN_TOOLS, RecordCounter
from failwell.dashboard.details import MEANINGS, VERDICT_WORDS, code_docs, failure_details
from failwell.dashboard.views import BadView, View
from failwell.records._addresses import STORES_BY_URL
from failwell.records._record import Record, redact
from failwell.records._recovery import VERDICTS
from failwell.records._sql import connect, open_sink, url_of
from failwell.records._store import RecordStore
from failwell.records._tables import NoStore, records

try:
    from sqlalchemy import Connection, Engine, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

if TYPE_CHECKING:
    from failwell.metrics import Sample

_c = records.c
_FIGURES = (
    *(
        "calls",
        "failed",
        "failure_rate",
        "p50",
        "p95",
        "failures",
        "recovered",
        "moved_on",
        "stuck",
        "recovery_rate",
        "turns_saved",
    ),
    *("calls_wasted", "seconds_lost", "duplicates_avoided"),
)
_MOST_MARKS = 50
_LONGEST_MARK = 200
_GROUP_NAMES, _HOUR_NAMES = ("name", *_FIGURES), ("time", *_FIGURES)


class DashboardData:
    """The data of the page, from the store at an address. Its methods may be called from several threads.

    Args:
        address: as `fw.records.Recorder` takes it.
        clock: returns seconds since 1970.

    Raises:
        ValueError: it is no address of a database.
        ImportError: a library is not installed.
    """

    def __init__(self, address: str, *, clock: Callable[[], float] = time.time) -> None:
        self._url = url_of(address)
        if self._url.get_backend_name() not in STORES_BY_URL:
            raise ValueError("a store needs an address such as sqlite:///calls.db or postgresql://host/database")
        self._address = address
        self._clock = clock
        self._lock = Lock()
        self._store: RecordStore | None = None
        self._writer: Engine | None = None
        self._counter: RecordCounter | None = None

    @property
    def name(self) -> str:
        """The name of the store: its file, or its host and database, without a password."""
        if self._url.get_backend_name() == "sqlite":
            return os.path.basename(self._url.database or "")
        return f"{self._url.host or 'localhost'}/{self._url.database or ''}"

    def open(self) -> bool:
        """Open the store, and return whether there are records.

        Raises:
            WrongVersion: a later version of failwell made it.
            sqlalchemy.exc.SQLAlchemyError: it cannot be reached, or is none.
            FileNotFoundError: its folder does not exist.
        """
        with self._lock:
            if self._counter is None:
                try:
                    self._store = self._store or RecordStore(self._address)
                except NoStore:
                    self._check_folder()
                    return False
                is_file = self._url.get_backend_name() == "sqlite"
                self._writer = connect(self._url, is_writer=True) if is_file else self._store.engine
                self._counter = RecordCounter(self._store.engine, self._writer, now=self._clock)
            return True

    def _check_folder(self) -> None:
        """Refuse a file that nobody can write yet, because its folder does not exist."""
        folder = os.path.dirname(self._url.database or "")
        if self._url.get_backend_name() == "sqlite" and folder and not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder!r}")

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            if self._writer is not None:
                self._writer.dispose()
            self._store = self._writer = self._counter = None

    def count(self) -> int:
        """Count the next records, and return how many are left; 0 without a store."""
        return self._counter.count_next() if self.open() and self._counter is not None else 0

    def overview(self, view: View) -> dict[str, Any]:
        """Return the first page: all figures of a view, and the newest records."""
        now = self._clock()
        if not self.open():
            return self._empty(now)
        left = self.count()
        with self._connection() as connection:
            newest = feed.newest(connection)
            if not newest:
                return self._empty(now)
            found = figures.overview(connection, view, now)
            named = {one["code"] for one in found["messages"]} | set(found["choices"]["code"])
            return {
                **self._about(now),
                "state": "ready",
                "left": left,
                "newest": newest,
                "lost": _lost(connection, view, now),
                "marks": _marks(connection, view, now),
                **found,
                "docs": {code: address for code in sorted(named) if (address := code_docs(code)) is not None},
                "feed": feed.page(connection, view, now),
            }

    def feed(self, view: View) -> dict[str, Any]:
        """Return the records after or before one."""
        if not self.open():
            return {"rows": [], "newest": 0, "older": False, "reload": False}
        with self._connection() as connection:
            return feed.since(connection, view) if view.after else feed.page(connection, view, self._clock())

    def failure_details(self, view: View) -> dict[str, Any] | None:
        """Return the details of a failure, or None if there is no record with its number."""
        if not self.open():
            return None
        with self._connection() as connection:
            return failure_details(connection, view.failure)

    def metrics(self) -> tuple[str, bytes]:
        """Return the type and the text of the page for Prometheus.

        Raises:
            ImportError: its library is not installed.
        """
        from failwell.metrics import store_page  # only where somebody scrapes it

        left = self.count()
        if not self.open():
            return store_page(())
        with self._connection() as connection:
            lost = _lost(connection, View(range="all"), self._clock())
            return store_page([*_samples(figures.recorded(connection)), *_store_samples(lost, left)])

    def mark(self, text: str) -> dict[str, Any]:
        """Write a mark: something that happened beside the calls, such as a deployment."""
        made = redact(Record(time=self._clock(), source="recorder", kind="mark", reason=text[:_LONGEST_MARK]))
        sink = open_sink(self._address)
        try:
            sink.write([made])
        finally:
            sink.close()
        return {"time": made.time, "text": made.reason}

    def export(self, what: str, form: str, view: View) -> bytes:
        """Return groups, hours or failures of a view as CSV or JSON.

        Raises:
            BadView: there is nothing yet.
        """
        if not self.open():
            raise BadView("there is nothing to export yet")
        while self.count():
            pass
        now = self._clock()
        with self._connection() as connection:
            names, rows = _EXPORTS[what](connection, view, now)
        return export.as_csv(names, rows) if form == "csv" else export.as_json(rows)

    @contextmanager
    def _connection(self) -> Generator[Connection]:
        assert self._store is not None
        with self._store.engine.connect() as connection:
            yield connection

    def _about(self, now: float) -> dict[str, Any]:
        return {"store": self.name, "now": now, "words": MEANINGS, "verdict_words": VERDICT_WORDS, "stretch": BATCH}

    def _empty(self, now: float) -> dict[str, Any]:
        is_file = self._url.get_backend_name() == "sqlite"
        host = self._url.host if self._url.port is None else f"{self._url.host}:{self._url.port}"
        shown = (
            f"sqlite:///{self._url.database}" if is_file else f"postgresql://{host or ''}/{self._url.database or ''}"
        )
        return {**self._about(now), "state": "nothing", "address": shown}


def _marks(connection: Connection, view: View, now: float) -> list[dict[str, Any]]:
    """Return what happened beside the calls, the oldest first."""
    query = select(_c.time, _c.reason).where(_c.kind == "mark", _c.time >= figures.since_time(view, now))
    rows = connection.execute(query.order_by(_c.time.desc()).limit(_MOST_MARKS)).all()
    return [{"time": row.time, "text": row.reason or ""} for row in reversed(rows)]


def _samples(rows: Iterable[Mapping[str, Any]]) -> "Iterator[Sample]":
    """Yield the figures of rows of counts for Prometheus."""
    from failwell.metrics import RECORDED_CALLS, RECORDED_FAILED, RECORDED_FAILURES

    for row in rows:
        labels = {name: row[name] for name in ("source", "server", "type", "code")}
        labels["tool"] = "" if row["tool"] == UNKNOWN_TOOLS else row["tool"]
        if row["calls"]:
            yield RECORDED_CALLS, labels, row["calls"]
        if row["failed"]:
            yield RECORDED_FAILED, labels, row["failed"]
        for verdict in VERDICTS:
            if row[verdict]:
                yield RECORDED_FAILURES, {**labels, "verdict": verdict}, row[verdict]


def _store_samples(lost: int, left: int) -> "Iterator[Sample]":
    from failwell.metrics import RECORDED_LOST, UNCOUNTED

    yield RECORDED_LOST, {}, lost
    yield UNCOUNTED, {}, left


def _lost(connection: Connection, view: View, now: float) -> int:
    """Return how many records were lost, by the records that recorders wrote of that."""
    since = figures.since_time(view, now)
    query = select(_c.details).where(_c.kind == "lost", _c.time >= since).order_by(_c.time.desc()).limit(1000)
    return sum(map(_count_in, connection.execute(query).scalars()))


def _count_in(details: str | None) -> int:
    try:
        return int(json.loads(details or "{}").get("count", 0))
    except (ValueError, TypeError, AttributeError):
        return 0


def _groups(connection: Connection, view: View, now: float) -> tuple[tuple[str, ...], list[Any]]:
    rows = figures.groups(connection, view, now)
    return _GROUP_NAMES, [{name: row[name] for name in _GROUP_NAMES} for row in rows]


def _hours(connection: Connection, view: View, now: float) -> tuple[tuple[str, ...], list[Any]]:
    rows = figures.series(connection, view, now)["bars"]
    return _HOUR_NAMES, [{name: row[name] for name in _HOUR_NAMES} for row in rows]


def _failures(connection: Connection, view: View, now: float) -> tuple[tuple[str, ...], list[Any]]:
    return feed.NAMES, feed.page(connection, view, now, most=feed.MOST_EXPORTED)["rows"]


_EXPORTS: dict[str, Any] = {"groups": _groups, "hours": _hours, "records": _failures}
