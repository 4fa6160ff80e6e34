"""Deletes the oldest records of a store, a slice at a time, so that writers don't wait long."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from failwell._log import log
from failwell.records._retention import Retention
from failwell.records._tables import pruned, records

try:
    from sqlalchemy import ColumnElement, Connection, Engine, delete, false, func, insert, or_, select, text, update
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing


SLICE = 1000
"""How many records are deleted in one transaction: twice as many as a recorder writes at once."""
_INTERVAL = 60.0
_MOST_PAGES = 500
"""How many pages of a SQLite file are released at once."""
_LOCK = 7_210_415_098_315
"""What PostgreSQL locks while a process prunes, so that only one does."""
_FRACTION = 10
"""If a file is too large, one record in so many is deleted before its size is checked again."""

READS = {"failwell_reads": True}
"""An option of SQLAlchemy for a connection that only reads, though its engine writes."""

_c = records.c
_Selection = tuple[ColumnElement[bool], ColumnElement[Any]]


class Pruner:
    """Keeps a store within its bounds while it is written to, by deleting one slice after a batch if need be.

    Args:
        retention: what to keep.
        clock: returns seconds since 1970.
    """

    def __init__(self, retention: Retention, *, clock: Callable[[], float] = time.time) -> None:
        self._retention = retention
        self._clock = clock
        self._next = 0.0
        self._selections: list[_Selection] = []
        self._has_warned = False

    def after_batch(self, engine: Engine) -> None:
        """Delete a slice if it is time to look. An error is logged once, and does not affect the batch."""
        now = self._clock()
        if not self._retention or (now < self._next and not self._selections):
            return
        self._next = now + _INTERVAL
        try:
            if not self._selections:
                self._selections = find_prunable(engine, self._retention, now)
            if not self._is_behind(engine, now):
                self._selections = []
        except Exception:
            self._selections = []
            if not self._has_warned:
                log.exception("the store of records could not be pruned")
            self._has_warned = True

    def _is_behind(self, engine: Engine, now: float) -> bool:
        """Delete a slice, and return whether to go on after the next batch."""
        deleted = delete_slice(engine, self._selections, now) if self._selections else 0
        if deleted is None:
            return False  # another process is at it
        size = self._retention.size
        if release_space(engine, size) or deleted == SLICE:
            return True
        with reading(engine) as connection:
            if _is_too_large(connection, size):
                self._next = now
        return False


@contextmanager
def reading(engine: Engine) -> Generator[Connection]:
    """Open a transaction that takes no write lock, whatever the engine is for."""
    with engine.connect().execution_options(**READS) as connection:
        yield connection


def find_prunable(engine: Engine, retention: Retention, now: float) -> list[_Selection]:
    """Return what is beyond the bounds. It may look at every record, and keeps nobody from writing meanwhile."""
    with reading(engine) as connection:
        return list(_prunable(connection, retention, now))


def delete_slice(
    engine: Engine, selections: Sequence[_Selection], now: float, *, most: int | None = None, waits: bool = False
) -> int | None:
    """Delete some of the records that were found, the oldest first, in a short transaction, and return how many.

    Args:
        engine: takes SQLite's write lock at the beginning of a transaction.
        selections: what `find_prunable` returned.
        now: seconds since 1970.
        most: how many at most; `SLICE` if None.
        waits: wait for another process that prunes; otherwise None is returned then.
    """
    left = most = SLICE if most is None else most
    with engine.begin() as connection:
        if not _may_prune(connection, waits=waits):
            return None
        for condition, order in selections:
            found = connection.execute(select(_c.number, _c.time).where(condition).order_by(order).limit(left)).all()
            if found:
                connection.execute(delete(records).where(_c.number.in_([row.number for row in found])))
                _note(connection, found, now)
            left -= len(found)
    return most - left


def prune(engine: Engine, retention: Retention, now: float, *, sleep: Callable[[float], object] = time.sleep) -> int:
    """Delete all records beyond the bounds, and return how many.

    After each slice it pauses as long as the slice took: in SQLite, who wants to write looks for a free moment now and
    then, and would find none.
    """
    deleted, selections = 0, find_prunable(engine, retention, now)
    while selections:
        began = time.monotonic()
        count = delete_slice(engine, selections, now, waits=True)
        if not count:
            break
        deleted += count
        sleep(time.monotonic() - began)
    return deleted


def count_prunable(connection: Connection, retention: Retention, now: float) -> int:
    """Return how many records are beyond the bounds of age and count."""
    conditions = [condition for condition, _ in _prunable(connection, retention, now)]
    query = select(func.count()).select_from(records).where(or_(false(), *conditions))
    found: int = connection.execute(query).scalar_one()
    return found


def release_space(engine: Engine, size: int | None) -> bool:
    """Release free space of a SQLite file while it is larger than *size*; return whether there is more to release."""
    if size is None or engine.dialect.name != "sqlite":
        return False
    with reading(engine) as connection:
        page, pages, free = _pages(connection)
        surplus = min(pages - size // page, free)
        if surplus <= 0 or not _can_release_pages(connection):
            return False
    # SQLite frees a page each time this statement is stepped, and only a script is stepped to its end.
    _run_script(engine, f"PRAGMA incremental_vacuum({min(surplus, _MOST_PAGES)})")
    return surplus > _MOST_PAGES


def release_all_space(engine: Engine) -> None:
    """Release all free space of a SQLite file. A file made before version 2 is rewritten, which takes a while."""
    if engine.dialect.name != "sqlite":
        return
    with engine.connect() as connection:
        can_release_pages = _can_release_pages(connection)
    if not can_release_pages:
        _run_script(engine, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM")
    while release_space(engine, 0):
        pass


def size_of(connection: Connection) -> int:
    """Return how many bytes the records take, in the file or in the tables."""
    if connection.dialect.name == "postgresql":
        found: int = connection.execute(text(f"SELECT pg_total_relation_size('{records.name}')")).scalar_one()
        return found
    page, pages, _ = _pages(connection)
    return page * pages


def _prunable(connection: Connection, retention: Retention, now: float) -> Iterator[_Selection]:
    """Yield a condition for the records beyond each bound, and the order in which to delete them."""
    if retention.age is not None:
        yield _c.time < now - retention.age, _c.time
    if retention.count is not None and (last := _last_beyond(connection, retention.count)) is not None:
        yield _c.number <= last, _c.number
    if _is_too_large(connection, retention.size):
        first, last = connection.execute(select(func.min(_c.number), func.max(_c.number))).one()
        if first is not None:
            yield _c.number <= first + (last - first) // _FRACTION, _c.number


def _last_beyond(connection: Connection, count: int) -> int | None:
    """Return the number of the last record that is not among the newest so many; None if all are."""
    first, last = connection.execute(select(func.min(_c.number), func.max(_c.number))).one()
    if first is None or last - first < count:
        return None  # known without looking at every record
    newest = select(_c.number).order_by(_c.number.desc()).offset(count).limit(1)
    found: int | None = connection.execute(newest).scalar()
    return found


def _is_too_large(connection: Connection, size: int | None) -> bool:
    if size is None:
        return False
    page, pages, free = _pages(connection)
    return page * (pages - free) > size


def _pages(connection: Connection) -> tuple[int, int, int]:
    """Return the size of a page, and how many there are and are free."""
    page, pages, free = (
        connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        for name in ("page_size", "page_count", "freelist_count")
    )
    return page, pages, free


def _can_release_pages(connection: Connection) -> bool:
    return bool(connection.exec_driver_sql("PRAGMA auto_vacuum").scalar_one() == 2)


def _run_script(engine: Engine, script: str) -> None:
    driver: Any = engine.raw_connection()
    try:
        driver.executescript(script)
    finally:
        driver.close()


def _may_prune(connection: Connection, *, waits: bool) -> bool:
    if connection.dialect.name != "postgresql":
        return True  # SQLite has one writer at a time
    if waits:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        return True
    return bool(connection.execute(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": _LOCK}).scalar())


def _note(connection: Connection, found: Sequence[Any], now: float) -> None:
    """Note what was deleted, so that readers know what is missing."""
    count, upto, until = len(found), max(row.number for row in found), max(row.time for row in found)
    known = connection.execute(select(pruned)).mappings().first()
    if known is None:
        connection.execute(insert(pruned).values(at=now, count=count, upto=upto, until=until))
    else:
        later = {"upto": max(known["upto"], upto), "until": max(known["until"], until)}
        connection.execute(update(pruned).values(at=now, count=known["count"] + count, **later))
