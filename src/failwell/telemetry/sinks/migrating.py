"""Brings the tables of a store to the version that this failwell knows, and keeps every record: `STEPS`.

A step only adds, and what it adds to a table has a default: a process of the version before, which has looked at the
version once and writes on, must not fail. It describes anew what it makes, since `tables` changes after it.
"""

from collections.abc import Callable

from failwell.telemetry.sinks.tables import NoStore, WrongVersion, metadata, schema

try:
    from sqlalchemy import (
        BigInteger,
        Column,
        Connection,
        Double,
        Engine,
        MetaData,
        Table,
        insert,
        inspect,
        select,
        text,
        update,
    )
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing

_LOCK = 7_210_415_098_313
"""What PostgreSQL locks while tables are made or changed, so that one process of many does it."""


def _remember_what_was_pruned(connection: Connection) -> None:
    Table(
        "failwell_pruned",
        MetaData(),
        Column("at", Double, nullable=False),
        Column("count", BigInteger, nullable=False),
        Column("upto", BigInteger, nullable=False),
        Column("until", Double, nullable=False),
    ).create(connection)


# What makes each version of the one before it.
STEPS: dict[int, Callable[[Connection], None]] = {
    2: _remember_what_was_pruned,
}
FIRST = 1
VERSION = FIRST + len(STEPS)


def prepare(engine: Engine) -> None:
    """Make the tables, or bring those that are there up to date. Several processes may do this at once, and write.

    All of it is one transaction: if it fails, the tables are as they were.

    Args:
        engine: takes SQLite's write lock at the beginning of a transaction (`connect(url, is_writer=True)`).

    Raises:
        WrongVersion: a later version made them.
    """
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = version_in(connection)
        if found is None:
            metadata.create_all(connection)
            connection.execute(insert(schema).values(version=VERSION))
        elif found < VERSION:
            for version in range(found + 1, VERSION + 1):
                STEPS[version](connection)
            connection.execute(update(schema).values(version=VERSION))


def is_current(engine: Engine) -> bool:
    """Return whether the tables are as we know them; False if they are older.

    Raises:
        NoStore: there are none.
        WrongVersion: a later version made them.
    """
    with engine.connect() as connection:
        found = version_in(connection)
    if found is None:
        raise NoStore("nobody has written records there yet")
    return found == VERSION


def version_in(connection: Connection) -> int | None:
    """Return the version of the tables, or None if there are none.

    Raises:
        WrongVersion: no version of ours, or a later one, made them.
    """
    if not inspect(connection).has_table(schema.name):
        return None
    found: int | None = connection.execute(select(schema.c.version)).scalar()
    if found is None or found < FIRST:
        raise WrongVersion("the tables are not failwell's: they tell no version")
    if found > VERSION:
        raise WrongVersion(
            f"a later failwell made the tables (version {found}, and this one knows {VERSION}): update failwell"
        )
    return found
