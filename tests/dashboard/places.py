"""A place for a store in each database: a real SQLite and a real PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exceptions.servers import Postgres, postgres
from tests.records.samples import drop_tables

__all__ = ["address", "postgres"]


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store, in each database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    yield f"postgresql://{server.url}"
    drop_tables(f"postgresql://{server.url}")
