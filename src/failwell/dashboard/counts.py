"""Counts by hour and by session: from the records of a store to what the dashboard sums up.

They follow from the records. So they are never migrated: those of another version are dropped, and filled anew.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from failwell.records._record import ENDS, FAILED, Record
from failwell.records._recovery import VERDICTS, Trouble, troubles
from failwell.records._tables import records

try:
    from sqlalchemy import (
        BigInteger,
        Column,
        Connection,
        Double,
        Engine,
        Integer,
        MetaData,
        String,
        Table,
        Text,
        and_,
        delete,
        func,
        insert,
        inspect,
        select,
        text,
        tuple_,
        update,
    )
    from sqlalchemy.dialects import postgresql, sqlite
    from sqlalchemy.exc import OperationalError
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing


SECONDS_OF_AN_HOUR = 3600
MOST_PENDING = 200
"""After so many records of a session a trouble is judged for good, so that sessions without an end cost no more."""

_MAY_CHANGE = frozenset(("looped", "elsewhere", "given_up"))

Key = tuple[int, str, str, str, str, str]
"""Hour, source, server, tool, type and code; the type stands for a code that there is none of."""
Sums = dict[Key, dict[str, float]]


class Judged(Struct, frozen=True):
    """What a session comes to: troubles that are over, those that may end otherwise, and since when to look again."""

    over: list[Trouble]
    open: list[Trouble]
    since: float | None


def judge(records: list[Record]) -> Judged:
    """Judge the records of one session and source."""
    found = troubles(records)
    since = _open_since(found)
    if since is None or len(records) > MOST_PENDING:
        return Judged(found, [], None)
    return Judged([one for one in found if one.began < since], [one for one in found if one.began >= since], since)


def _open_since(found: list[Trouble]) -> float | None:
    """Return when the first trouble began that may end otherwise, or an earlier one that reaches into its time."""
    since = min((one.began for one in found if one.verdict in _MAY_CHANGE), default=None)
    while since is not None:
        earlier = min((one.began for one in found if one.ended >= since), default=since)
        if earlier >= since:
            break
        since = earlier
    return since


def count_calls(sums: Sums, records: Iterable[Record]) -> None:
    """Add the calls that ended to the sums of their hours."""
    for record in records:
        if record.kind in ENDS:
            failed = record.has_failed
            names = (record.type or "", record.code or record.type or "") if failed else ("", "")
            row = sums[hour_of(record.time), record.source, record.server, record.tool, *names]
            row["calls"] += 1
            row["failed"] += failed


def count_troubles(sums: Sums, found: Iterable[Trouble], *, times: int = 1) -> None:
    """Add troubles to the sums of the hours in which they began; minus one *times* takes them out again."""
    for trouble in found:
        row = sums[hour_of(trouble.began), trouble.source, trouble.server, trouble.tool, trouble.type, trouble.code]
        row[trouble.verdict] += times
        row["calls_wasted"] += times * trouble.calls_wasted
        row["seconds_wasted"] += times * trouble.seconds_wasted
        row["duplicates_prevented"] += times * trouble.duplicates_prevented


def no_sums() -> Sums:
    """Return sums that are nothing yet."""
    return defaultdict(lambda: defaultdict(float))


def hour_of(time: float) -> int:
    """Return how many whole hours after 1970 a time is."""
    return int(time // SECONDS_OF_AN_HOUR)


VERSION = 1
_LOCK = 7_210_415_098_314
"""What PostgreSQL locks while tables are made, so that one dashboard of many makes them."""

KEY = ("hour", "source", "server", "tool", "type", "code")
SUMS = ("calls", "failed", *VERDICTS, "calls_wasted", "seconds_wasted", "duplicates_prevented")

metadata = MetaData()
count_table = Table(
    "failwell_dashboard_counts",
    metadata,
    Column("hour", Integer, primary_key=True, autoincrement=False),
    *(Column(name, String(200), primary_key=True) for name in KEY[1:]),
    *(Column(name, Double if name == "seconds_wasted" else BigInteger, nullable=False) for name in SUMS),
)
pending_table = Table(
    "failwell_dashboard_pending",
    metadata,
    Column("session", String(200), primary_key=True),
    Column("source", String(20), primary_key=True),
    Column("since", Double, nullable=False),
    Column("counted", Text, nullable=False),
)
"""Sessions with a trouble that may still end otherwise: since when they are read again, and what counts of that now."""

progress_table = Table(
    "failwell_dashboard_progress",
    metadata,
    Column("version", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False),
)
"""One row: the number of the last record that is counted."""

_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def prepare_tables(engine: Engine) -> None:
    """Make the tables, unless they are there as we know them. Several processes may do this at once."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if inspect(connection).has_table(progress_table.name):
            if connection.execute(select(progress_table.c.version)).scalar() == VERSION:
                return
            metadata.drop_all(connection)
        metadata.create_all(connection)
        connection.execute(insert(progress_table).values(version=VERSION, upto=0))


def add_counts(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add the sums of rows to those that are there under the same key."""
    if rows:
        made = _INSERTS[connection.dialect.name](count_table)
        grown = {name: count_table.c[name] + made.excluded[name] for name in SUMS}
        connection.execute(made.on_conflict_do_update(index_elements=KEY, set_=grown), rows)


def as_rows(sums: Sums) -> list[dict[str, Any]]:
    """Return sums as rows of the table."""
    return [
        {**dict(zip(KEY, key, strict=True)), **{name: row.get(name, 0) for name in SUMS}}
        for key, row in sums.items()
        if any(row.values())
    ]


def replace_pending(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Write what is pending of sessions in place of what was."""
    if rows:
        made = _INSERTS[connection.dialect.name](pending_table)
        news = {"since": made.excluded.since, "counted": made.excluded.counted}
        connection.execute(made.on_conflict_do_update(index_elements=("session", "source"), set_=news), rows)


_record_columns = records.c
COLUMNS_TO_JUDGE = (
    *(
        _record_columns.number,
        _record_columns.time,
        _record_columns.source,
        _record_columns.kind,
        _record_columns.session,
        _record_columns.server,
        _record_columns.tool,
        _record_columns.call,
        _record_columns.elapsed,
        _record_columns.delay,
    ),
    *(
        _record_columns.type,
        _record_columns.code,
        _record_columns.decision,
        _record_columns.arguments,
        _record_columns.failure,
    ),
)


class _Helps(msgspec.Struct):
    actions: list[str] = []


_helps = msgspec.json.Decoder(_Helps)


def slim(row: Any) -> Record:
    """Return the record in a row of these columns, with the actions of its failure and nothing else of it."""
    return Record(
        time=row.time,
        source=row.source,
        kind=row.kind,
        session=row.session,
        server=row.server,
        tool=row.tool,
        call=row.call,
        elapsed=row.elapsed,
        delay=row.delay,
        type=row.type,
        code=row.code,
        decision=row.decision,
        arguments=row.arguments,
        failure=_actions(row.failure) if row.kind in FAILED else None,
    )


def _actions(failure: str | None) -> dict[str, Any] | None:
    if failure is None or '"actions"' not in failure:
        return None
    try:
        return {"actions": _helps.decode(failure).actions}
    except msgspec.MsgspecError:
        return None


STRETCH = 10_000
"""How many records are counted at once at most."""
_FORGOTTEN_AFTER = 86_400.0
"""After so many seconds a trouble that nothing was heard of is what it looks like."""
_A_WHILE = 10.0
_AT_ONCE = 500
_WAITS_FOR_WRITERS = "SET LOCAL lock_timeout = '500ms'"

_c = records.c
_Session = tuple[str, str]


class Counter:
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
        prepare_tables(self._writing)
        self._clock = clock
        self._looked = (-_A_WHILE, 0)
        self._lock = Lock()

    def go_on(self) -> int:
        """Count the next stretch, and return how many records are left."""
        with self._lock:
            newest = self._newest()
            with self._reading.connect() as connection:
                before: int = connection.execute(select(progress_table.c.upto)).scalar_one()
                if newest <= before:
                    return 0
                upto, fresh = _stretch(connection, before, newest)
                found = _counted_rows(fresh, _known(connection, before, upto))
            with self._writing.begin() as connection:
                moved = update(progress_table).where(progress_table.c.upto == before).values(upto=upto)
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
    query = select(*COLUMNS_TO_JUDGE).where(_c.number > before, _c.number <= newest).order_by(_c.number).limit(STRETCH)
    rows = connection.execute(query).all()
    return (rows[-1].number if len(rows) == STRETCH else newest), [slim(row) for row in rows]


class _KnownSessions(msgspec.Struct):
    """What is pending of a session: its records, and the troubles that count already."""

    records: list[Record]
    counted: list[Trouble]


def _known(connection: Connection, before: int, upto: int) -> dict[_Session, _KnownSessions]:
    """Return what is pending of the sessions that go on in a stretch."""
    going_on = select(_c.session, _c.source).where(_c.number > before, _c.number <= upto).distinct().subquery()
    same = and_(pending_table.c.session == going_on.c.session, pending_table.c.source == going_on.c.source)
    rows = connection.execute(select(pending_table).join(going_on, same)).all()
    known = {(row.session, row.source): _KnownSessions([], _decoder.decode(row.counted)) for row in rows}
    if known:
        again = and_(
            _c.session == pending_table.c.session, _c.source == pending_table.c.source, _c.time >= pending_table.c.since
        )
        query = (
            select(*COLUMNS_TO_JUDGE)
            .join_from(going_on, pending_table, same)
            .join(records, again)
            .where(_c.number <= before)
        )
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
        add_counts(connection, as_rows(self.sums))
        replace_pending(connection, self.still)
        for start in range(0, len(self.settled), _AT_ONCE):
            some = self.settled[start : start + _AT_ONCE]
            connection.execute(
                delete(pending_table).where(tuple_(pending_table.c.session, pending_table.c.source).in_(some))
            )
        connection.execute(delete(pending_table).where(pending_table.c.since < self.newest - _FORGOTTEN_AFTER))


def _counted_rows(fresh: list[Record], known: dict[_Session, _KnownSessions]) -> _Counted:
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


_MOST_OF_A_SESSION = 5_000
"""How many records of a session are looked at, its last ones."""


def sums_of_session(connection: Connection, session: str) -> list[dict[str, Any]]:
    """Return rows as the table of counts has them, of one session alone."""
    c = records.c
    query = (
        select(*COLUMNS_TO_JUDGE)
        .where(c.session == session)
        .order_by(c.time.desc(), c.number.desc())
        .limit(_MOST_OF_A_SESSION)
    )
    found = [slim(row) for row in connection.execute(query)]
    sums = no_sums()
    count_calls(sums, found)
    count_troubles(sums, troubles(found))
    return as_rows(sums)
