"""The dashboard's own tables in a store: counts by hour, and what is still to be judged.

They follow from the records. So they are never migrated: those of another version are dropped, and filled anew.
"""

from typing import Any

from failwell.dashboard.judging import Sums
from failwell.telemetry.recovery import VERDICTS

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
        insert,
        inspect,
        select,
        text,
    )
    from sqlalchemy.dialects import postgresql, sqlite
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[dashboard]'") from missing

VERSION = 1
_LOCK = 7_210_415_098_314
"""What PostgreSQL locks while tables are made, so that one dashboard of many makes them."""

KEY = ("hour", "source", "server", "tool", "type", "code")
SUMS = ("calls", "failed", *VERDICTS, "calls_wasted", "seconds_wasted", "duplicates_prevented")

metadata = MetaData()
counts = Table(
    "failwell_dashboard_counts",
    metadata,
    Column("hour", Integer, primary_key=True, autoincrement=False),
    *(Column(name, String(200), primary_key=True) for name in KEY[1:]),
    *(Column(name, Double if name == "seconds_wasted" else BigInteger, nullable=False) for name in SUMS),
)
pending = Table(
    "failwell_dashboard_pending",
    metadata,
    Column("session", String(200), primary_key=True),
    Column("source", String(20), primary_key=True),
    Column("since", Double, nullable=False),
    Column("counted", Text, nullable=False),
)
"""Sessions with a trouble that may still end otherwise: since when they are read again, and what counts of that now."""

progress = Table(
    "failwell_dashboard_progress",
    metadata,
    Column("version", Integer, nullable=False),
    Column("upto", BigInteger, nullable=False),
)
"""One row: the number of the last record that is counted."""

_INSERTS: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


def prepare(engine: Engine) -> None:
    """Make the tables, unless they are there as we know them. Several processes may do this at once."""
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if inspect(connection).has_table(progress.name):
            if connection.execute(select(progress.c.version)).scalar() == VERSION:
                return
            metadata.drop_all(connection)
        metadata.create_all(connection)
        connection.execute(insert(progress).values(version=VERSION, upto=0))


def add(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add the sums of rows to those that are there under the same key."""
    if rows:
        made = _INSERTS[connection.dialect.name](counts)
        grown = {name: counts.c[name] + made.excluded[name] for name in SUMS}
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
        made = _INSERTS[connection.dialect.name](pending)
        news = {"since": made.excluded.since, "counted": made.excluded.counted}
        connection.execute(made.on_conflict_do_update(index_elements=("session", "source"), set_=news), rows)
