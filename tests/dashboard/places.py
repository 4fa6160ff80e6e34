"""A place for a store in each database: a real SQLite and a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from failwell.dashboard import counts
from failwell.records._sql import connect, url_of
from failwell.records._tables import metadata
from tests.exceptions.servers import Postgres, postgres

__all__ = ["address", "postgres"]


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store, in each database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    yield f"postgresql://{server.url}"
    engine = connect(url_of(f"postgresql://{server.url}"))
    with engine.begin() as connection:
        for table in (*counts.metadata.sorted_tables, *metadata.sorted_tables):
            connection.execute(text(f"DROP TABLE IF EXISTS {table.name}"))
    engine.dispose()
