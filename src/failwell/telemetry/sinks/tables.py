"""The tables that records are kept in, the same in SQLite and PostgreSQL: `pip install 'failwell[telemetry]'`.

They are what `migrating` makes of every earlier version. `failwell_schema` holds one row, the version.
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
        Index,
        Integer,
        MetaData,
        RowMapping,
        String,
        Table,
        Text,
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


class NoStore(Exception):
    """Nobody has written records there."""


class WrongVersion(Exception):
    """The tables were made by a later version of failwell, which this one does not know."""


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
