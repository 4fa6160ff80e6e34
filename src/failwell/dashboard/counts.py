"""Counts of calls and failures by hour, which the dashboard keeps in tables of its own beside the records.

They follow from the records, so they are never migrated: counts of another version are dropped and made again.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct

from failwell.event import ENDS, FAILED
from failwell.records._record import Record
from failwell.records._recovery import VERDICTS, RecordedFailure, failures
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


VERSION = 1
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
"""Sessions with failures whose verdict may change: since when to read them again, and which failures count by now."""

progress_table = Table(
    "failwell_dashboard_progress",
    metadata,
    Column("version", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False),
)
"""One row: the number of the last record that is counted."""

_LOCK = 7_210_415_098_314
"""What PostgreSQL locks while tables are made, so that one dashboard of many makes them."""
_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def prepare_tables(engine: Engine) -> None:
    """Make the tables, unless they exist in this version. Several processes may do this at once."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if inspect(connection).has_table(progress_table.name):
            if connection.execute(select(progress_table.c.version)).scalar() == VERSION:
                return
            metadata.drop_all(connection)
        metadata.create_all(connection)
        connection.execute(insert(progress_table).values(version=VERSION, upto=0))


# Sums: what rows of the table of counts hold, by their key.

SECONDS_OF_AN_HOUR = 3600
_FARTHEST = 1e12

Key = tuple[int, str, str, str, str, str]
"""Hour, source, server, tool, type and code; the type stands in for a missing code."""
Sums = dict[Key, dict[str, float]]


def empty_sums() -> Sums:
    """Return sums without a row."""
    return defaultdict(lambda: defaultdict(float))


def hour_of(time: float) -> int:
    """Return how many whole hours after 1970 a time is, as far as a database can tell: 30,000 years either way."""
    return int(max(-_FARTHEST, min(time, _FARTHEST)) // SECONDS_OF_AN_HOUR)


def count_calls(sums: Sums, records: Iterable[Record]) -> None:
    """Add the calls that ended to the sums of their hours."""
    for record in records:
        if record.kind in ENDS:
            failed = record.has_failed
            names = (record.type or "", record.code or record.type or "") if failed else ("", "")
            row = sums[hour_of(record.time), record.source, record.server, record.tool, *names]
            row["calls"] += 1
            row["failed"] += failed


def count_failures(sums: Sums, found: Iterable[RecordedFailure], *, times: int = 1) -> None:
    """Add failures to the sums of the hours in which they began; minus one *times* takes them out again."""
    for failure in found:
        row = sums[hour_of(failure.began), failure.source, failure.server, failure.tool, failure.type, failure.code]
        row[failure.verdict] += times
        row["calls_wasted"] += times * failure.calls_wasted
        row["seconds_wasted"] += times * failure.seconds_wasted
        row["duplicates_prevented"] += times * failure.duplicates_prevented


def sums_as_rows(sums: Sums) -> list[dict[str, Any]]:
    """Return sums as rows of the table of counts."""
    return [
        {**dict(zip(KEY, key, strict=True)), **{name: row.get(name, 0) for name in SUMS}}
        for key, row in sums.items()
        if any(row.values())
    ]


# Sessions: which failures may still get another verdict.

MOST_PENDING = 200
"""After so many records of a session its verdicts are final, so that sessions without an end cost no more."""
_MAY_CHANGE = frozenset(("looped", "elsewhere", "given_up"))


class SessionFailures(Struct, frozen=True):
    """The failures of a session: those with a final verdict, the others, and when the first of the others began."""

    final: list[RecordedFailure]
    pending: list[RecordedFailure]
    since: float | None


def session_failures(records: list[Record]) -> SessionFailures:
    """Return the failures in the records of one session and source."""
    found = failures(records)
    since = _pending_since(found)
    if since is None or len(records) > MOST_PENDING:
        return SessionFailures(found, [], None)
    final = [one for one in found if one.began < since]
    return SessionFailures(final, [one for one in found if one.began >= since], since)


def _pending_since(found: list[RecordedFailure]) -> float | None:
    """Return when the first failure began whose verdict may change, or an earlier one that reaches into its time."""
    since = min((one.began for one in found if one.verdict in _MAY_CHANGE), default=None)
    while since is not None:
        earlier = min((one.began for one in found if one.ended >= since), default=since)
        if earlier >= since:
            break
        since = earlier
    return since


# Reading records: only the columns that decide about a verdict.

_c = records.c
_COLUMNS = (
    *(_c.number, _c.time, _c.source, _c.kind, _c.session, _c.server, _c.tool, _c.call, _c.elapsed, _c.delay),
    *(_c.type, _c.code, _c.decision, _c.arguments, _c.failure),
)


class _FailureActions(Struct):
    actions: list[str] = []


_actions_decoder = msgspec.json.Decoder(_FailureActions)


def _record_of(row: Any) -> Record:
    """Return the record in a row of these columns; of its failure it has the actions only."""
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
        failure=_actions_of(row.failure) if row.kind in FAILED else None,
    )


def _actions_of(failure: str | None) -> dict[str, Any] | None:
    if failure is None or '"actions"' not in failure:
        return None
    try:
        return {"actions": _actions_decoder.decode(failure).actions}
    except msgspec.MsgspecError:
        return None


# Counting: from the records after the last counted one to the tables.

BATCH = 10_000
"""How many records are counted at once at most."""
_FINAL_AFTER = 86_400.0
"""After so many seconds without a record of its session, the verdict of a failure is final."""
_SETTLED_AFTER = 10.0
_MOST_DELETED = 500
_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '500ms'"

_Session = tuple[str, str]


class RecordCounter:
    """Counts the records of a store. Several dashboards may count one store: each record counts once.

    Args:
        reader: for all queries. Nobody who writes waits for them.
        writer: for the dashboard's own tables, which are all that it writes.
        clock: returns seconds that pass.
    """

    def __init__(
        self, reader: Engine, writer: Engine | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = reader
        self._writer = writer or reader
        prepare_tables(self._writer)
        self._clock = clock
        self._last_look = (-_SETTLED_AFTER, 0)
        self._lock = Lock()

    def count_next(self) -> int:
        """Count the next batch, and return how many records are left."""
        with self._lock:
            newest = self._newest()
            with self._reader.connect() as connection:
                before: int = connection.execute(select(progress_table.c.upto)).scalar_one()
                if newest <= before:
                    return 0
                upto, batch = _next_batch(connection, before, newest)
                changes = _changes_of(batch, _pending_sessions(connection, before, upto))
            with self._writer.begin() as connection:
                moved = update(progress_table).where(progress_table.c.upto == before).values(upto=upto)
                if connection.execute(moved).rowcount == 1:  # otherwise another dashboard has counted it meanwhile
                    changes.write(connection)
            return max(newest - upto, 0)

    def _newest(self) -> int:
        """Return the number up to which no record is missing any more.

        In PostgreSQL a record may appear after one with a higher number. Once this lock is got, nobody who took a
        lower number is still writing.
        """
        with self._reader.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text(_LOCK_TIMEOUT))
                try:
                    connection.execute(text(f"LOCK TABLE {records.name} IN SHARE MODE"))
                except OperationalError:
                    connection.rollback()
                    return self._newest_a_while_ago()
            return connection.execute(select(func.max(_c.number))).scalar() or 0

    def _newest_a_while_ago(self) -> int:
        """Return the last number of some seconds ago, for when something like a vacuum holds the lock for long.

        Whoever took a lower number then has written it by now: a batch is written in one go.
        """
        at, number = self._last_look
        if self._clock() - at < _SETTLED_AFTER:
            return 0
        with self._reader.connect() as connection:
            newest: int = connection.execute(select(func.max(_c.number))).scalar() or 0
        self._last_look = (self._clock(), newest)
        return number


def _next_batch(connection: Connection, before: int, newest: int) -> tuple[int, list[Record]]:
    """Return the number up to which a batch goes, and its records."""
    query = select(*_COLUMNS).where(_c.number > before, _c.number <= newest).order_by(_c.number).limit(BATCH)
    rows = connection.execute(query).all()
    return (rows[-1].number if len(rows) == BATCH else newest), [_record_of(row) for row in rows]


class _PendingSession(Struct):
    """A session that is read again: its records so far, and the failures that are counted already."""

    records: list[Record]
    counted: list[RecordedFailure]


_failures_decoder = msgspec.json.Decoder(list[RecordedFailure])


def _pending_sessions(connection: Connection, before: int, upto: int) -> dict[_Session, _PendingSession]:
    """Return the pending sessions that have records in a batch."""
    in_batch = select(_c.session, _c.source).where(_c.number > before, _c.number <= upto).distinct().subquery()
    same = and_(pending_table.c.session == in_batch.c.session, pending_table.c.source == in_batch.c.source)
    rows = connection.execute(select(pending_table).join(in_batch, same)).all()
    pending = {(row.session, row.source): _PendingSession([], _failures_decoder.decode(row.counted)) for row in rows}
    if pending:
        again = and_(
            _c.session == pending_table.c.session, _c.source == pending_table.c.source, _c.time >= pending_table.c.since
        )
        query = select(*_COLUMNS).join_from(in_batch, pending_table, same).join(records, again)
        for row in connection.execute(query.where(_c.number <= before).order_by(_c.number)):
            if (row.session, row.source) in pending:
                pending[row.session, row.source].records.append(_record_of(row))
    return pending


class _Changes(Struct):
    """What a batch changes: sums to add, sessions that stay pending, sessions that no longer are."""

    sums: Sums
    pending: list[dict[str, Any]]
    final: list[_Session]
    newest: float

    def write(self, connection: Connection) -> None:
        _add_counts(connection, sums_as_rows(self.sums))
        _replace_pending(connection, self.pending)
        for start in range(0, len(self.final), _MOST_DELETED):
            some = self.final[start : start + _MOST_DELETED]
            connection.execute(
                delete(pending_table).where(tuple_(pending_table.c.session, pending_table.c.source).in_(some))
            )
        connection.execute(delete(pending_table).where(pending_table.c.since < self.newest - _FINAL_AFTER))


def _changes_of(batch: list[Record], pending: dict[_Session, _PendingSession]) -> _Changes:
    changes = _Changes(empty_sums(), [], [], max((record.time for record in batch), default=0.0))
    count_calls(changes.sums, batch)
    sessions = defaultdict[_Session, list[Record]](list)
    for record in batch:
        sessions[record.session, record.source].append(record)
    for session, new in sessions.items():
        before = pending.get(session)
        if before is not None:
            count_failures(changes.sums, before.counted, times=-1)
        found = session_failures([*before.records, *new] if before else new)
        count_failures(changes.sums, [*found.final, *found.pending])
        if found.since is not None:
            changes.pending.append(_pending_row(session, found))
        elif before is not None:
            changes.final.append(session)
    return changes


def _pending_row(session: _Session, found: SessionFailures) -> dict[str, Any]:
    counted = msgspec.json.encode(found.pending).decode()
    return {"session": session[0], "source": session[1], "since": found.since, "counted": counted}


def _add_counts(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add the sums of rows to those that are there under the same key."""
    if rows:
        made = _INSERTS[connection.dialect.name](count_table)
        grown = {name: count_table.c[name] + made.excluded[name] for name in SUMS}
        connection.execute(made.on_conflict_do_update(index_elements=KEY, set_=grown), rows)


def _replace_pending(connection: Connection, rows: list[dict[str, Any]]) -> None:
    if rows:
        made = _INSERTS[connection.dialect.name](pending_table)
        new = {"since": made.excluded.since, "counted": made.excluded.counted}
        connection.execute(made.on_conflict_do_update(index_elements=("session", "source"), set_=new), rows)


# One session: counted when somebody looks at it.

_LONGEST_SESSION = 5_000
"""How many records of a session are counted, its last ones."""


def session_rows(connection: Connection, session: str) -> list[dict[str, Any]]:
    """Return rows as the table of counts has them, of one session alone."""
    query = select(*_COLUMNS).where(_c.session == session)
    rows = connection.execute(query.order_by(_c.time.desc(), _c.number.desc()).limit(_LONGEST_SESSION))
    found = [_record_of(row) for row in rows]
    sums = empty_sums()
    count_calls(sums, found)
    count_failures(sums, failures(found))
    return sums_as_rows(sums)
