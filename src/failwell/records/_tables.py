"""The tables that records are kept in, in SQLite and PostgreSQL, and the migrations of older ones.

`failwell_schema` holds one row, the version. A migration only adds, and what it adds to a table has a default:
processes of the version before, which checked the version once and keep writing, must not fail. It describes its tables
itself, since those of this module change later.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import structs

from failwell.records._record import Record

try:
    from sqlalchemy import (
        BigInteger,
        Boolean,
        Column,
        Connection,
        Double,
        Engine,
        Index,
        Integer,
        MetaData,
        RowMapping,
        String,
        Table,
        Text,
        insert,
        inspect,
        select,
        text,
        update,
    )
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing


metadata = MetaData()
schema = Table("failwell_schema", metadata, Column("version", Integer, nullable=False))
records = Table(
    "failwell_records",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("time", Double, nullable=False),
    Column("v", Integer, nullable=False),
    Column("source", String(20), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("session", String(200), nullable=False),
    Column("server", String(200), nullable=False),
    Column("tool", String(200), nullable=False),
    Column("call", String(200), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("elapsed", Double),
    Column("delay", Double),
    Column("type", String(20)),
    Column("code", String(200)),
    Column("outcome", String(20)),
    Column("retryable", Boolean),
    Column("message", Text),
    Column("id", String(100)),
    Column("text", Text),
    Column("decision", String(20)),
    Column("reason", Text),
    Column("arguments", String(64)),
    Column("names", Text),
    Column("failure", Text),
    Column("details", Text),
    Column("agent", String(200)),
    Column("advice", Text),
    # Numbers are not used again after pruning, so that who reads on from one misses nothing.
    sqlite_autoincrement=True,
)
_c = records.c
Index("failwell_records_time", _c.time)
Index("failwell_records_kind", _c.kind, _c.time)
Index("failwell_records_server", _c.server, _c.time)
Index("failwell_records_tool", _c.tool, _c.time)
Index(
    "failwell_records_code",
    _c.code,
    _c.time,
    sqlite_where=_c.code.is_not(None),
    postgresql_where=_c.code.is_not(None),
)
Index("failwell_records_session", _c.session, _c.time)

pruned = Table(
    "failwell_pruned",
    metadata,
    Column("at", Double, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("upto", BigInteger, nullable=False),
    Column("until", Double, nullable=False),
)
"""What was deleted: when, how many records, the highest number and the latest time among them. One row in all."""

_AS_JSON = ("names", "failure", "details")
_FIELDS = Record.__struct_fields__
_JSON_PLACES = tuple(_FIELDS.index(name) for name in _AS_JSON)
_encoder = msgspec.json.Encoder()


class NoStore(Exception):
    """There are no records at this address yet."""


class WrongVersion(Exception):
    """The tables were made by a later version of failwell, or by another program."""


def insert_records(connection: Connection, batch: Sequence[Record]) -> None:
    """Insert records by the driver itself: SQLAlchemy's own way costs as much again as the database."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    columns = ", ".join(_FIELDS)
    statement = f"INSERT INTO {records.name} ({columns}) VALUES ({', '.join([mark] * len(_FIELDS))})"
    connection.exec_driver_sql(statement, [_values(record) for record in batch])


def _values(record: Record) -> tuple[Any, ...]:
    """Return the values of a row in the order of the fields."""
    values = list(structs.astuple(record)[: len(_FIELDS)])  # the span of a call is not kept
    for place in _JSON_PLACES:
        values[place] = _encoder.encode(values[place]).decode() if values[place] else None
    return tuple(values)


def as_record(row: RowMapping) -> Record:
    """Return the record in a row of the table."""
    values = {name: value for name in _FIELDS if (value := row[name]) is not None}
    for name in _AS_JSON:
        if name in values:
            values[name] = msgspec.json.decode(values[name])
    return msgspec.convert(values, Record)


_LOCK = 7_210_415_098_313
"""What PostgreSQL locks while tables are made or changed, so that one process of many does it."""


def _add_pruned_table(connection: Connection) -> None:
    Table(
        "failwell_pruned",
        MetaData(),
        Column("at", Double, nullable=False),
        Column("count", BigInteger, nullable=False),
        Column("upto", BigInteger, nullable=False),
        Column("until", Double, nullable=False),
    ).create(connection)


def _add_agent_and_advice(connection: Connection) -> None:
    for column in ("agent VARCHAR(200)", "advice TEXT"):
        connection.execute(text(f"ALTER TABLE failwell_records ADD COLUMN {column}"))


# What makes each version from the one before it.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    2: _add_pruned_table,
    3: _add_agent_and_advice,
}
FIRST_VERSION = 1
VERSION = FIRST_VERSION + len(MIGRATIONS)


def prepare(engine: Engine) -> None:
    """Make the tables, or migrate older ones. Several processes may do this at once, and write.

    All of it is one transaction: if it fails, the tables are unchanged.

    Args:
        engine: takes SQLite's write lock at the beginning of a transaction (`connect(url, is_writer=True)`).

    Raises:
        WrongVersion: a later version made them.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = read_version(connection)
        if found is None:
            metadata.create_all(connection)
            connection.execute(insert(schema).values(version=VERSION))
        elif found < VERSION:
            for version in range(found + 1, VERSION + 1):
                MIGRATIONS[version](connection)
            connection.execute(update(schema).values(version=VERSION))


def is_current(engine: Engine) -> bool:
    """Return whether the tables have the current version; False if they are older.

    Raises:
        NoStore: there are none.
        WrongVersion: a later version made them.
    """
    with engine.connect() as connection:
        found = read_version(connection)
    if found is None:
        raise NoStore("no events have been written there yet")
    return found == VERSION


def read_version(connection: Connection) -> int | None:
    """Return the version of the tables, or None if there are none.

    Raises:
        WrongVersion: no version of ours, or a later one, made them.
    """
    if not inspect(connection).has_table(schema.name):
        return None
    found: int | None = connection.execute(select(schema.c.version)).scalar()
    if found is None or found < FIRST_VERSION:
        raise WrongVersion("the tables are not failwell's: they have no version")
    if found > VERSION:
        raise WrongVersion(
            f"this store was made by a later version of failwell (format {found}, and this one knows {VERSION}): "
            "update failwell"
        )
    return found
