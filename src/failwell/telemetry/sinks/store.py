"""`Store`: reads records back from SQLite or PostgreSQL, while others write."""

import os
from collections.abc import Iterator, Sequence

from failwell.telemetry.record import Record
from failwell.telemetry.sinks.migrating import is_current, prepare
from failwell.telemetry.sinks.sql import connect, url_of
from failwell.telemetry.sinks.tables import NoStore, as_record, records

try:
    from sqlalchemy import URL, ColumnElement, Engine, select
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing

_PAGE = 1000
_EQUAL = ("session", "server", "tool", "code", "type", "source")


class Store:
    """Reads the records at an address such as `sqlite:///calls.db` or `postgresql://user:password@host/database`.

    `engine` is SQLAlchemy's, for questions of one's own about the table `tables.records`. A store that an earlier
    version made is brought up to date first; for that the file, or the role in the database, must be one that may
    change it.

    Raises:
        ValueError: nobody could connect to such an address.
        ImportError: a library is not installed.
        NoStore: nobody has written records there.
        WrongVersion: a later version of failwell made the tables.
        sqlalchemy.exc.SQLAlchemyError: the database cannot be reached, or is none.
    """

    def __init__(self, address: str) -> None:
        url = url_of(address)
        if url.get_backend_name() == "sqlite" and not os.path.exists(url.database or ""):
            raise NoStore("nobody has written records there yet")  # connecting would make an empty file
        self.engine: Engine = connect(url)
        try:
            if not is_current(self.engine):
                _bring_up_to_date(url)
        except Exception:
            self.engine.dispose()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def page(
        self, *, after: int = 0, most: int = _PAGE, where: Sequence[ColumnElement[bool]] = ()
    ) -> list[tuple[int, Record]]:
        """Return records with their numbers, in the order in which they were written, those after number *after*.

        Who wants to be told of new ones asks again with the number of the last. *where* are SQLAlchemy's conditions.
        """
        query = select(records).where(records.c.number > after, *where).order_by(records.c.number).limit(most)
        with self.engine.connect() as connection:
            return [(row["number"], as_record(row)) for row in connection.execute(query).mappings()]

    def records(self, *, since: float | None = None, until: float | None = None, **equal: str) -> Iterator[Record]:
        """Yield records in the order in which they were written, a page at a time.

        Args:
            since: the earliest time, in seconds since 1970.
            until: the time that all are before.
            equal: what session, server, tool, code, type or source must be.

        Raises:
            TypeError: records are not chosen by such a name.
        """
        if unknown := equal.keys() - set(_EQUAL):
            raise TypeError(f"records are chosen by {', '.join(_EQUAL)}, not by {', '.join(sorted(unknown))}")
        where = [records.c[name] == value for name, value in equal.items()]
        if since is not None:
            where.append(records.c.time >= since)
        if until is not None:
            where.append(records.c.time < until)
        after = 0
        while page := self.page(after=after, where=where):
            yield from (record for _, record in page)
            after = page[-1][0]


def _bring_up_to_date(url: URL) -> None:
    engine = connect(url, is_writer=True)
    try:
        prepare(engine)
    finally:
        engine.dispose()
