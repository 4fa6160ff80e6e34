"""Reads records from SQLite or PostgreSQL, even while others write: `pip install 'failwell[telemetry]'`."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from failwell.records._pruning import count_prunable, prune, release_all_space, size_of
from failwell.records._reader import ALL, RecordFilter, Unreadable
from failwell.records._record import Record
from failwell.records._retention import Retention
from failwell.records._sql import connect, url_of
from failwell.records._tables import NoStore, WrongVersion, as_record, is_current, prepare, pruned, records
from failwell.redact.scrubber import clean

try:
    from sqlalchemy import URL, ColumnElement, Engine, and_, or_, select
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing


_PAGE = 1000
_LONGEST_REASON = 200
_MOST_GAPS = 1000
_LOOKS_FOR_A_GAP = 60
_EQUAL = ("session", "server", "tool", "code", "type", "source")
_c = records.c


class RecordStore:
    """Reads the records at an address such as `sqlite:///calls.db` or `postgresql://user:password@host/database`.

    `engine` is SQLAlchemy's, for queries of your own on the table `failwell_records`. A store that an earlier version
    made is migrated first; that needs the permission to change it.

    Raises:
        ValueError: it is not the address of a store.
        ImportError: a library is not installed.
        NoStore: there are no records yet.
        WrongVersion: a later version of failwell made the tables.
        sqlalchemy.exc.SQLAlchemyError: the database cannot be reached, or is not a database.
    """

    def __init__(self, address: str) -> None:
        url = url_of(address)
        if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
            raise NoStore("no events have been written there yet")  # connecting would make an empty file
        self.engine: Engine = connect(url)
        try:
            if not is_current(self.engine):
                _migrate(url)
        except Exception:
            self.engine.dispose()
            raise

    def __enter__(self) -> "RecordStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def page(
        self, *, after: int = 0, most: int = _PAGE, where: Sequence[ColumnElement[bool]] = ()
    ) -> list[tuple[int, Record]]:
        """Return records with their numbers, in the order in which they were written, those after number *after*.

        To follow a store, ask again with the number of the last record. *where* are SQLAlchemy's conditions.
        """
        query = select(records).where(records.c.number > after, *where).order_by(records.c.number).limit(most)
        with self.engine.connect() as connection:
            return [(row["number"], as_record(row)) for row in connection.execute(query).mappings()]

    def records(self, *, since: float | None = None, until: float | None = None, **equal: str) -> Iterator[Record]:
        """Yield records in the order in which they were written, a page at a time.

        Args:
            since: the earliest time, in seconds since 1970.
            until: the time that all are before.
            equal: what session, server, tool, code, type or source must be.

        Raises:
            TypeError: records are not chosen by such a name.
        """
        if unknown := equal.keys() - set(_EQUAL):
            raise TypeError(f"records are chosen by {', '.join(_EQUAL)}, not by {', '.join(sorted(unknown))}")
        where = [records.c[name] == value for name, value in equal.items()]
        if since is not None:
            where.append(records.c.time >= since)
        if until is not None:
            where.append(records.c.time < until)
        after = 0
        while page := self.page(after=after, where=where):
            yield from (record for _, record in page)
            after = page[-1][0]


def _migrate(url: URL) -> None:
    engine = connect(url, is_writer=True)
    try:
        prepare(engine)
    finally:
        engine.dispose()


def open_reader(address: str) -> "SqlReader":
    """Return the reader of the store at an address.

    Raises:
        Unreadable: there is nothing to be read.
        ImportError: a library is not installed.
    """
    return SqlReader(address)


class SqlReader:
    """Reads a store, and prunes it. All errors of the database are `Unreadable`."""

    def __init__(self, address: str) -> None:
        with _database_errors():
            self._url = url_of(address)
            self._store = RecordStore(address)
        self._last = 0
        self._gaps: dict[int, int] = {}

    def newest(self, most: int, which: RecordFilter = ALL) -> list[Record]:
        """Return the last records; `fresh` continues after them."""
        query = select(records).where(*_conditions(which)).order_by(_c.number.desc()).limit(most)
        with _database_errors(), self._store.engine.connect() as connection:
            last = connection.execute(select(_c.number).order_by(_c.number.desc()).limit(1)).scalar()
            rows = connection.execute(query).mappings().all()
        self._last = max(last or 0, rows[0]["number"] if rows else 0)
        return [as_record(row) for row in reversed(rows)]

    def records(self, which: RecordFilter = ALL) -> Iterator[Record]:
        """Yield all records."""
        after = 0
        while page := self._page(after, which):
            yield from (record for _, record in page)
            after = page[-1][0]

    def fresh(self, which: RecordFilter = ALL) -> list[Record]:
        """Return the records that were written since the last call of `fresh` or `newest`.

        In PostgreSQL a record may appear after one with a higher number, so missing numbers are looked for again, for
        a while.
        """
        found: list[Record] = []
        with _database_errors(), self._store.engine.connect() as connection:
            while True:
                news = or_(_c.number > self._last, _c.number.in_(list(self._gaps)))
                query = select(records).where(news).order_by(_c.number).limit(_PAGE)
                rows = connection.execute(query).mappings().all()
                self._note([row["number"] for row in rows])
                found += map(as_record, rows)
                if len(rows) < _PAGE:
                    return [record for record in found if which.matches(record)]

    def sessions(self, which: RecordFilter = ALL) -> Iterator[list[Record]]:
        """Yield the records of one session after the other, without their texts."""
        query = select(records).where(*_conditions(which)).order_by(_c.session, _c.number)
        with _database_errors(), self._store.engine.connect() as connection:
            rows = connection.execution_options(yield_per=_PAGE).execute(query).mappings()
            for _, session in groupby(map(as_record, rows), key=lambda record: record.session):
                yield [replace(record, message=None, text=None) for record in session]

    def pruned_before(self) -> tuple[int, float] | None:
        """Return how many records were pruned, and the time of the latest of them; None if none were."""
        with _database_errors(), self._store.engine.connect() as connection:
            row = connection.execute(select(pruned.c.count, pruned.c.until)).first()
        return None if row is None else (row[0], row[1])

    def count_prunable(self, retention: Retention, now: float) -> int:
        """Return how many records `prune` would delete."""
        with _database_errors(), self._store.engine.connect() as connection:
            return count_prunable(connection, retention, now)

    def size(self) -> int:
        """Return how many bytes the records take."""
        with _database_errors(), self._store.engine.connect() as connection:
            return size_of(connection)

    def prune(self, retention: Retention, now: float) -> int:
        """Delete the records beyond the bounds, a slice at a time, release space, and return how many were deleted."""
        engine = connect(self._url, is_writer=True)
        with _database_errors():
            try:
                deleted = prune(engine, retention, now)
                release_all_space(engine)
            finally:
                engine.dispose()
        return deleted

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def _page(self, after: int, which: RecordFilter) -> Sequence[tuple[int, Record]]:
        with _database_errors():
            return self._store.page(after=after, most=_PAGE, where=_conditions(which))

    def _note(self, numbers: list[int]) -> None:
        self._gaps = {gap: asked - 1 for gap, asked in self._gaps.items() if asked > 1 and gap not in numbers}
        if numbers and numbers[-1] > self._last:
            passed = set(range(max(self._last, numbers[-1] - _MOST_GAPS) + 1, numbers[-1])) - set(numbers)
            self._gaps |= dict.fromkeys(sorted(passed)[-_MOST_GAPS:], _LOOKS_FOR_A_GAP)
            self._last = numbers[-1]


def _conditions(which: RecordFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [_c[name] == value for name, value in which.equal.items() if name != "code"]
    if (code := which.equal.get("code")) is not None:
        found.append(or_(_c.code == code, and_(_c.code.is_(None), _c.type == code)))
    if which.kinds:
        found.append(_c.kind.in_(sorted(which.kinds)))
    if which.since is not None:
        found.append(_c.time >= which.since)
    return found


@contextmanager
def _database_errors() -> Generator[None]:
    try:
        yield
    except (NoStore, WrongVersion, ValueError) as refused:
        raise Unreadable(str(refused)) from None
    except SQLAlchemyError as failed:
        raise Unreadable(f"the store cannot be read: {_reason(failed)}") from None


def _reason(failed: Any) -> str:
    text = str(getattr(failed, "orig", None) or failed).strip() or type(failed).__name__
    return clean(" ".join(text.splitlines()[0].split()), _LONGEST_REASON)
