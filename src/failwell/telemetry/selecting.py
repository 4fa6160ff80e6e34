"""`Selection`: chosen records of a store, read, followed and pruned for people: `pip install 'failwell[telemetry]'`."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from failwell.redact import clean
from failwell.telemetry.reading import Choice, Unreadable
from failwell.telemetry.record import Record
from failwell.telemetry.sinks.pruning import doomed_count, give_all_back, prune, size_of
from failwell.telemetry.sinks.retention import Retention
from failwell.telemetry.sinks.sql import connect, url_of
from failwell.telemetry.sinks.store import Store
from failwell.telemetry.sinks.tables import NoStore, WrongVersion, as_record, pruned, records

try:
    from sqlalchemy import ColumnElement, or_, select
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing

_REASON = 200
_PAGE = 1000
_MOST_GAPS = 1000
_PATIENCE_WITH_A_GAP = 60
_c = records.c


def open_address(address: str) -> "Selection":
    """Return what reads the store at an address.

    Raises:
        Unreadable: there is nothing to be read.
        ImportError: a library is not installed.
    """
    return Selection(address)


class Selection:
    """Reads a store, and prunes it. Whatever goes wrong in the database is `Unreadable`."""

    def __init__(self, address: str) -> None:
        with _guarded():
            self._url = url_of(address)
            self._store = Store(address)
        self._last = 0
        self._gaps: dict[int, int] = {}

    def newest(self, choice: Choice, most: int) -> list[Record]:
        """Return the last of them, and go on with `fresh` from there."""
        query = select(records).where(*_conditions(choice)).order_by(_c.number.desc()).limit(most)
        with _guarded(), self._store.engine.connect() as connection:
            last = connection.execute(select(_c.number).order_by(_c.number.desc()).limit(1)).scalar()
            rows = connection.execute(query).mappings().all()
        self._last = max(last or 0, rows[0]["number"] if rows else 0)
        return [as_record(row) for row in reversed(rows)]

    def each(self, choice: Choice) -> Iterator[Record]:
        """Yield all of them."""
        after = 0
        while page := self._page(after, choice):
            yield from (record for _, record in page)
            after = page[-1][0]

    def fresh(self, choice: Choice) -> list[Record]:
        """Return those that were written since this, or `newest`, was asked.

        In PostgreSQL a record may appear after one with a higher number. So numbers that were passed over are asked
        for again, for a while.
        """
        found: list[Record] = []
        with _guarded(), self._store.engine.connect() as connection:
            while True:
                news = or_(_c.number > self._last, _c.number.in_(list(self._gaps)))
                query = select(records).where(news).order_by(_c.number).limit(_PAGE)
                rows = connection.execute(query).mappings().all()
                self._note([row["number"] for row in rows])
                found += map(as_record, rows)
                if len(rows) < _PAGE:
                    return [record for record in found if choice.takes(record)]

    def sessions(self, choice: Choice) -> Iterator[list[Record]]:
        """Yield what `recovery` needs of them, one session after the other."""
        query = select(records).where(*_conditions(choice)).order_by(_c.session, _c.number)
        with _guarded(), self._store.engine.connect() as connection:
            rows = connection.execution_options(yield_per=_PAGE).execute(query).mappings()
            for _, session in groupby(map(as_record, rows), key=lambda record: record.session):
                yield [replace(record, message=None, text=None) for record in session]

    def pruned_before(self) -> tuple[int, float] | None:
        """Return how many records were pruned, and the time of the latest of them; None if none were."""
        with _guarded(), self._store.engine.connect() as connection:
            row = connection.execute(select(pruned.c.count, pruned.c.until)).first()
        return None if row is None else (row[0], row[1])

    def doomed(self, retention: Retention, now: float) -> int:
        """Return how many records would go."""
        with _guarded(), self._store.engine.connect() as connection:
            return doomed_count(connection, retention, now)

    def size(self) -> int:
        """Return how many bytes the records take."""
        with _guarded(), self._store.engine.connect() as connection:
            return size_of(connection)

    def prune(self, retention: Retention, now: float) -> int:
        """Delete what is not to be kept, a slice at a time, give space back, and return how many records went."""
        gone = 0
        engine = connect(self._url, is_writer=True)
        with _guarded():
            try:
                while True:
                    with engine.begin() as connection:
                        count = prune(connection, retention, now)
                    gone += count
                    if count == 0:
                        break
                give_all_back(engine)
            finally:
                engine.dispose()
        return gone

    def close(self) -> None:
        """Close the connections."""
        self._store.close()

    def _page(self, after: int, choice: Choice) -> Sequence[tuple[int, Record]]:
        with _guarded():
            return self._store.page(after=after, most=_PAGE, where=_conditions(choice))

    def _note(self, numbers: list[int]) -> None:
        self._gaps = {gap: asked - 1 for gap, asked in self._gaps.items() if asked > 1 and gap not in numbers}
        if numbers and numbers[-1] > self._last:
            passed = set(range(max(self._last, numbers[-1] - _MOST_GAPS) + 1, numbers[-1])) - set(numbers)
            self._gaps |= dict.fromkeys(sorted(passed)[-_MOST_GAPS:], _PATIENCE_WITH_A_GAP)
            self._last = numbers[-1]


def _conditions(choice: Choice) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [_c[name] == value for name, value in choice.equal.items()]
    if choice.since is not None:
        found.append(_c.time >= choice.since)
    return found


@contextmanager
def _guarded() -> Generator[None]:
    try:
        yield
    except (NoStore, WrongVersion, ValueError) as refused:
        raise Unreadable(str(refused)) from None
    except SQLAlchemyError as failed:
        raise Unreadable(f"the store cannot be read: {_reason(failed)}") from None


def _reason(failed: Any) -> str:
    told = str(getattr(failed, "orig", None) or failed).strip() or type(failed).__name__
    return clean(" ".join(told.splitlines()[0].split()), _REASON)
