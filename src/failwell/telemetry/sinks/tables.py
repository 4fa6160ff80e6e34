"""The tables that records are kept in, the same in SQLite and PostgreSQL: `pip install 'failwell[telemetry]'`.

`failwell_schema` holds one row, the version of the tables, so that a later version knows what to change.
"""

from typing import Any

import msgspec

from failwell.telemetry.record import Record

try:
    from sqlalchemy import (
        BigInteger,
        Boolean,
        Column,
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
    )
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing

VERSION = 1
_LOCK = 7_210_415_098_313
"""What PostgreSQL locks while tables are made, so that one process of many makes them."""

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

_AS_JSON = ("names", "failure", "details")
_FIELDS = Record.__struct_fields__


class NoStore(Exception):
    """Nobody has written records there."""


class WrongVersion(Exception):
    """The tables were made by a later version of failwell, which this one does not know."""


def prepare(engine: Engine) -> None:
    """Make the tables, unless they are there. Several processes may do this at once.

    Raises:
        WrongVersion: a later version made them.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if not inspect(connection).has_table(schema.name):
            metadata.create_all(connection)
            connection.execute(insert(schema).values(version=VERSION))
    check_version(engine)


def check_version(engine: Engine) -> None:
    """Do nothing if the tables are as we know them.

    Raises:
        NoStore: there are none.
        WrongVersion: a later version made them.
    """
    with engine.connect() as connection:
        if not inspect(connection).has_table(schema.name):
            raise NoStore("nobody has written records there yet")
        found: int | None = connection.execute(select(schema.c.version)).scalar()
    if found != VERSION:
        raise WrongVersion(f"the tables have version {found}, and this failwell knows {VERSION}")


def as_row(record: Record) -> dict[str, Any]:
    """Return a record as a row of the table."""
    row = {name: getattr(record, name) for name in _FIELDS}
    for name in _AS_JSON:
        value = row[name]
        row[name] = msgspec.json.encode(value).decode() if value else None
    return row


def as_record(row: RowMapping) -> Record:
    """Return the record in a row of the table."""
    values = {name: value for name in _FIELDS if (value := row[name]) is not None}
    for name in _AS_JSON:
        if name in values:
            values[name] = msgspec.json.decode(values[name])
    return msgspec.convert(values, Record)
