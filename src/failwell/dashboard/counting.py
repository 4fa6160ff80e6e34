"""`Counting`: brings the counts of a store up to date, a stretch of records at a time."""

import time
from collections import defaultdict
from collections.abc import Callable
from threading import Lock
from typing import Any

import msgspec

from failwell.dashboard.judging import Judged, Sums, count_calls, count_troubles, judge, no_sums
from failwell.dashboard.rollups import add, as_rows, pending, prepare, progress, replace_pending
from failwell.dashboard.slim import NEEDED, slim
from failwell.telemetry.record import Record
from failwell.telemetry.recovery import Trouble
from failwell.telemetry.sinks.tables import records

try:
    from sqlalchemy import Connection, Engine, and_, delete, func, select, text, tuple_, update
    from sqlalchemy.exc import OperationalError
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

STRETCH = 10_000
"""How many records are counted at once at most."""
_FORGOTTEN_AFTER = 86_400.0
"""After so many seconds a trouble that nothing was heard of is what it looks like."""
_A_WHILE = 10.0
_AT_ONCE = 500
_WAITS_FOR_WRITERS = "SET LOCAL lock_timeout = '500ms'"

_c = records.c
_Session = tuple[str, str]


class Counting:
    """Counts the records of a store. Several dashboards may count one store: each record counts once.

    Args:
        reading: for all questions. Nobody who writes waits for them.
        writing: for the dashboard's own tables, which are all that it writes.
        clock: tells seconds that pass.
    """

    def __init__(
        self, reading: Engine, writing: Engine | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reading = reading
        self._writing = writing or reading
        prepare(self._writing)
        self._clock = clock
        self._looked = (-_A_WHILE, 0)
        self._lock = Lock()

    def go_on(self) -> int:
        """Count the next stretch, and return how many records are left."""
        with self._lock:
            newest = self._newest()
            with self._reading.connect() as connection:
                before: int = connection.execute(select(progress.c.upto)).scalar_one()
                if newest <= before:
                    return 0
                upto, fresh = _stretch(connection, before, newest)
                found = _counted(fresh, _known(connection, before, upto))
            with self._writing.begin() as connection:
                moved = update(progress).where(progress.c.upto == before).values(upto=upto)
                if connection.execute(moved).rowcount == 1:  # otherwise another dashboard has counted it meanwhile
                    found.write(connection)
            return max(newest - upto, 0)

    def _newest(self) -> int:
        """Return the number up to which nothing is missing any more.

        In PostgreSQL a record may appear after one with a higher number. Once this lock is got, nobody who took a
        lower number is still writing.
        """
        with self._reading.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(_WAITS_FOR_WRITERS))
                try:
                    connection.execute(text(f"LOCK TABLE {records.name} IN SHARE MODE"))
                except OperationalError:
                    connection.rollback()
                    return self._a_while_ago()
            return connection.execute(select(func.max(_c.number))).scalar() or 0

    def _a_while_ago(self) -> int:
        """Return what the last number was some seconds ago, where something like a vacuum holds the lock for long.

        Whoever took a lower number then has written it by now: a batch is written in one go.
        """
        at, number = self._looked
        if self._clock() - at < _A_WHILE:
            return 0
        with self._reading.connect() as connection:
            newest: int = connection.execute(select(func.max(_c.number))).scalar() or 0
        self._looked = (self._clock(), newest)
        return number


def _stretch(connection: Connection, before: int, newest: int) -> tuple[int, list[Record]]:
    """Return the next records, and the number that all before are among them."""
    query = select(*NEEDED).where(_c.number > before, _c.number <= newest).order_by(_c.number).limit(STRETCH)
    rows = connection.execute(query).all()
    return (rows[-1].number if len(rows) == STRETCH else newest), [slim(row) for row in rows]


class _Known(msgspec.Struct):
    """What is pending of a session: its records, and the troubles that count already."""

    records: list[Record]
    counted: list[Trouble]


def _known(connection: Connection, before: int, upto: int) -> dict[_Session, _Known]:
    """Return what is pending of the sessions that go on in a stretch."""
    going_on = select(_c.session, _c.source).where(_c.number > before, _c.number <= upto).distinct().subquery()
    same = and_(pending.c.session == going_on.c.session, pending.c.source == going_on.c.source)
    rows = connection.execute(select(pending).join(going_on, same)).all()
    known = {(row.session, row.source): _Known([], _decoder.decode(row.counted)) for row in rows}
    if known:
        again = and_(_c.session == pending.c.session, _c.source == pending.c.source, _c.time >= pending.c.since)
        query = select(*NEEDED).join_from(going_on, pending, same).join(records, again).where(_c.number <= before)
        for row in connection.execute(query.order_by(_c.number)):
            if (row.session, row.source) in known:
                known[row.session, row.source].records.append(slim(row))
    return known


class _Counted(msgspec.Struct):
    """What follows from a stretch of records: sums to add, sessions that stay pending, and those that do not."""

    sums: Sums
    still: list[dict[str, Any]]
    settled: list[_Session]
    newest: float

    def write(self, connection: Connection) -> None:
        add(connection, as_rows(self.sums))
        replace_pending(connection, self.still)
        for start in range(0, len(self.settled), _AT_ONCE):
            some = self.settled[start : start + _AT_ONCE]
            connection.execute(delete(pending).where(tuple_(pending.c.session, pending.c.source).in_(some)))
        connection.execute(delete(pending).where(pending.c.since < self.newest - _FORGOTTEN_AFTER))


def _counted(fresh: list[Record], known: dict[_Session, _Known]) -> _Counted:
    found = _Counted(no_sums(), [], [], max((record.time for record in fresh), default=0.0))
    count_calls(found.sums, fresh)
    sessions = defaultdict[_Session, list[Record]](list)
    for record in fresh:
        sessions[record.session, record.source].append(record)
    for session, news in sessions.items():
        before = known.get(session)
        if before is not None:
            count_troubles(found.sums, before.counted, times=-1)
        judged = judge([*before.records, *news] if before else news)
        count_troubles(found.sums, [*judged.over, *judged.open])
        if judged.since is not None:
            found.still.append(_as_pending(session, judged))
        elif before is not None:
            found.settled.append(session)
    return found


def _as_pending(session: _Session, judged: Judged) -> dict[str, Any]:
    counted = msgspec.json.encode(judged.open).decode()
    return {"session": session[0], "source": session[1], "since": judged.since, "counted": counted}


_decoder = msgspec.json.Decoder(list[Trouble])
