"""Counts of calls and failures per hour and per minute, in the dashboard's own tables.

They follow from the records, so they are never migrated: counts of another version are dropped and made again.
"""

import re
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from math import inf
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
        Index,
        Integer,
        MetaData,
        String,
        Table,
        Text,
        and_,
        bindparam,
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


VERSION = 5
KEY = ("bucket", "source", "server", "tool", "agent", "type", "code")
LATENCIES = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Calls are counted by how long they took: up to so many seconds, and longer."""
TOOK = tuple(f"took_{place}" for place in range(len(LATENCIES) + 1))
OF_CALLS = ("calls", *TOOK)
OF_FAILURES = ("failed", *VERDICTS, "calls_wasted", "seconds_lost", "duplicates_avoided")
SUMS = (*OF_CALLS, *OF_FAILURES)
UNKNOWN_TOOLS = "(unknown tools)"
"""What calls of tools that do not exist count under, whatever an agent called them."""

metadata = MetaData()


def _count_table(name: str) -> Table:
    return Table(
        name,
        metadata,
        Column("bucket", Integer, primary_key=True, autoincrement=False),
        *(Column(name, String(200), primary_key=True) for name in KEY[1:]),
        *(Column(name, Double if name == "seconds_lost" else BigInteger, nullable=False) for name in SUMS),
    )


HOUR, MINUTE = 3600, 60
count_tables = {HOUR: _count_table("failwell_dashboard_counts"), MINUTE: _count_table("failwell_dashboard_minutes")}
"""The tables of counts, by how many seconds a bucket has. Minutes are kept for half a day only."""
message_table = Table(
    "failwell_dashboard_messages",
    metadata,
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    *(Column(name, String(200), primary_key=True) for name in (*KEY[1:], "message")),
    Column("count", BigInteger, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("time", Double, nullable=False),
)
"""Failed calls by hour and by what their message says, without numbers and names; the last of each is remembered."""
failure_table = Table(
    "failwell_dashboard_failures",
    metadata,
    *(Column(name, String(200), nullable=False) for name in ("session", *KEY[1:], "verdict")),
    Column("began", Double, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("duplicates_avoided", BigInteger, nullable=False),
)
"""One row for each failure, so that a figure leads to what it counts."""
Index("failwell_dashboard_failures_began", failure_table.c.began)
Index("failwell_dashboard_failures_session", failure_table.c.session, failure_table.c.began)
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

_FARTHEST = 1e11
KEPT_MINUTES = 13 * HOUR
"""For how many seconds counts by minute are kept: twice the longest time that is shown in minutes, and an hour."""

Key = tuple[int, str, str, str, str, str, str]
"""Bucket, source, server, tool, agent, type and code; the type stands in for a missing code."""
Sums = dict[Key, dict[str, float]]


def empty_sums() -> Sums:
    """Return sums without a row."""
    return defaultdict(lambda: defaultdict(float))


def bucket_of(time: float, unit: int = HOUR) -> int:
    """Return how many whole units after 1970 a time is, as far as a database can tell: 3,000 years either way."""
    return int(max(-_FARTHEST, min(time, _FARTHEST)) // unit)


def _tool_of(tool: str, code: str | None) -> str:
    return UNKNOWN_TOOLS if code == "UNKNOWN_TOOL" else tool


def count_calls(sums: Sums, records: Iterable[Record], *, unit: int = HOUR, since: float = -inf) -> None:
    """Add the calls that ended to the sums of their buckets. Which of them failed, the failures tell."""
    for record in records:
        if record.kind in ENDS and record.time >= since:
            tool = _tool_of(record.tool, record.code)
            row = sums[bucket_of(record.time, unit), record.source, record.server, tool, record.agent, "", ""]
            row["calls"] += 1
            if record.elapsed is not None:
                row[TOOK[bisect_left(LATENCIES, record.elapsed)]] += 1


def count_failures(
    sums: Sums, found: Iterable[RecordedFailure], *, times: int = 1, unit: int = HOUR, since: float = -inf
) -> None:
    """Add failures to the sums of the buckets in which they began; minus one *times* takes them out again."""
    for failure in found:
        names = _names_of(failure)
        if failure.began >= since:
            row = sums[bucket_of(failure.began, unit), *names]
            row[failure.verdict] += times
            row["calls_wasted"] += times * failure.calls_wasted
            row["seconds_lost"] += times * failure.seconds_lost
            row["duplicates_avoided"] += times * failure.duplicates_avoided
            row["calls"] += times * failure.cut_off
        for ended in failure.times:
            if ended >= since:
                sums[bucket_of(ended, unit), *names]["failed"] += times


def _names_of(failure: RecordedFailure) -> tuple[str, str, str, str, str, str]:
    tool = _tool_of(failure.tool, failure.code)
    return failure.source, failure.server, tool, failure.agent, failure.type, failure.code


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
_MAY_CHANGE = frozenset(("named_tool", "looped", "moved_on", "unresolved"))


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
    *(_c.type, _c.code, _c.decision, _c.arguments, _c.failure, _c.agent, _c.message),
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
        agent=row.agent or "",
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
        now: returns seconds since 1970.
    """

    def __init__(
        self,
        reader: Engine,
        writer: Engine | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._reader = reader
        self._writer = writer or reader
        prepare_tables(self._writer)
        self._clock = clock
        self._now = now
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
                upto, batch, messages = _next_batch(connection, before, newest)
                pending = _pending_sessions(connection, before, upto)
                changes = _changes_of(batch, pending, messages, recent=self._now() - KEPT_MINUTES)
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


def _next_batch(
    connection: Connection, before: int, newest: int
) -> tuple[int, list[Record], dict[tuple[Any, ...], dict[str, Any]]]:
    """Return the number up to which a batch goes, its records, and its failed calls by what their messages say."""
    query = select(*_COLUMNS).where(_c.number > before, _c.number <= newest).order_by(_c.number).limit(BATCH)
    rows = connection.execute(query).all()
    upto = rows[-1].number if len(rows) == BATCH else newest
    return upto, [_record_of(row) for row in rows], count_messages(rows)


_VARIABLE = re.compile(r"""'[^']*'|"[^"]*"|“[^”]*”|`[^`]*`|\b[\w./:@#-]*\d(?:[\w./:@#-]*\w)?""")
_LONGEST_MESSAGE = 200


def message_shape(message: str | None) -> str:
    """Return what a message says without the names and numbers in it, which differ from call to call."""
    text = " ".join((message or "").split())[: _LONGEST_MESSAGE * 2]
    return _VARIABLE.sub("…", text)[:_LONGEST_MESSAGE]


def count_messages(rows: Iterable[Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return failed calls by hour, names and what their messages say: how many, and the last of them."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row.kind in FAILED:
            tool = _tool_of(row.tool, row.code)
            names = (row.source, row.server, tool, row.agent or "", row.type or "", row.code or row.type or "")
            key = (bucket_of(row.time), *names, message_shape(row.message))
            before = found.get(key)
            count = 1 if before is None else before["count"] + 1
            found[key] = {"count": count, "number": row.number, "time": row.time}
    return found


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
    minutes: Sums
    messages: dict[tuple[Any, ...], dict[str, Any]]
    failures: list[dict[str, Any]]
    reopened: list[dict[str, Any]]
    pending: list[dict[str, Any]]
    final: list[_Session]
    newest: float
    recent: float

    def write(self, connection: Connection) -> None:
        _add_counts(connection, count_tables[HOUR], sums_as_rows(self.sums))
        minutes = count_tables[MINUTE]
        _add_counts(connection, minutes, sums_as_rows(self.minutes))
        connection.execute(delete(minutes).where(minutes.c.bucket < bucket_of(self.recent, MINUTE)))
        _add_messages(connection, self.messages)
        if self.reopened:
            connection.execute(delete(failure_table).where(*_REOPENED), self.reopened)
        if self.failures:
            connection.execute(insert(failure_table), self.failures)
        _replace_pending(connection, self.pending)
        for start in range(0, len(self.final), _MOST_DELETED):
            some = self.final[start : start + _MOST_DELETED]
            connection.execute(
                delete(pending_table).where(tuple_(pending_table.c.session, pending_table.c.source).in_(some))
            )
        connection.execute(delete(pending_table).where(pending_table.c.since < self.newest - _FINAL_AFTER))


def _changes_of(
    batch: list[Record],
    pending: dict[_Session, _PendingSession],
    messages: dict[tuple[Any, ...], dict[str, Any]],
    *,
    recent: float,
) -> _Changes:
    newest = max((record.time for record in batch), default=0.0)
    changes = _Changes(empty_sums(), empty_sums(), messages, [], [], [], [], newest, recent)
    count_calls(changes.sums, batch)
    count_calls(changes.minutes, batch, unit=MINUTE, since=recent)
    sessions = defaultdict[_Session, list[Record]](list)
    for record in batch:
        sessions[record.session, record.source].append(record)
    for session, new in sessions.items():
        before = pending.get(session)
        if before is not None:
            count_failures(changes.sums, before.counted, times=-1)
            count_failures(changes.minutes, before.counted, times=-1, unit=MINUTE, since=recent)
            since = min(one.began for one in before.counted)
            changes.reopened.append({"in_session": session[0], "in_source": session[1], "since": since})
        found = session_failures([*before.records, *new] if before else new)
        both = [*found.final, *found.pending]
        count_failures(changes.sums, both)
        count_failures(changes.minutes, both, unit=MINUTE, since=recent)
        changes.failures += map(_failure_row, both)
        if found.since is not None:
            changes.pending.append(_pending_row(session, found))
        elif before is not None:
            changes.final.append(session)
    return changes


_REOPENED = (
    failure_table.c.session == bindparam("in_session"),
    failure_table.c.source == bindparam("in_source"),
    failure_table.c.began >= bindparam("since"),
)


def _failure_row(failure: RecordedFailure) -> dict[str, Any]:
    names = dict(zip(KEY[1:], _names_of(failure), strict=True))
    about = {name: getattr(failure, name) for name in ("session", "verdict", "began", "calls", "duplicates_avoided")}
    return {**names, **about}


def _pending_row(session: _Session, found: SessionFailures) -> dict[str, Any]:
    counted = msgspec.json.encode(found.pending).decode()
    return {"session": session[0], "source": session[1], "since": found.since, "counted": counted}


def _add_counts(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Add the sums of rows to those that are there under the same key."""
    if rows:
        made = _INSERTS[connection.dialect.name](table)
        grown = {name: table.c[name] + made.excluded[name] for name in SUMS}
        connection.execute(made.on_conflict_do_update(index_elements=KEY, set_=grown), rows)


def _add_messages(connection: Connection, found: dict[tuple[Any, ...], dict[str, Any]]) -> None:
    if found:
        names = (*KEY, "message")
        made = _INSERTS[connection.dialect.name](message_table)
        new = {"number": made.excluded.number, "time": made.excluded.time}
        grown = {"count": message_table.c["count"] + made.excluded["count"], **new}
        rows = [{**dict(zip(names, key, strict=True)), **row} for key, row in found.items()]
        connection.execute(made.on_conflict_do_update(index_elements=names, set_=grown), rows)


def _replace_pending(connection: Connection, rows: list[dict[str, Any]]) -> None:
    if rows:
        made = _INSERTS[connection.dialect.name](pending_table)
        new = {"since": made.excluded.since, "counted": made.excluded.counted}
        connection.execute(made.on_conflict_do_update(index_elements=("session", "source"), set_=new), rows)


# One session: counted when somebody looks at it.

_LONGEST_SESSION = 5_000
"""How many records of a session are counted, its last ones."""


def session_rows(connection: Connection, session: str, *, unit: int = HOUR) -> list[dict[str, Any]]:
    """Return rows as a table of counts has them, of one session alone."""
    query = select(*_COLUMNS).where(_c.session == session)
    rows = connection.execute(query.order_by(_c.time.desc(), _c.number.desc()).limit(_LONGEST_SESSION)).all()
    found = [_record_of(row) for row in sorted(rows, key=lambda row: row.number)]  # as they were written
    sums = empty_sums()
    count_calls(sums, found, unit=unit)
    count_failures(sums, failures(found), unit=unit)
    return sums_as_rows(sums)
