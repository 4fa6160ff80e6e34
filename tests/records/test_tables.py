"""A store of any earlier version is brought up to date with all its records, whoever writes to it meanwhile."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, inspect, select, text

from failwell.records._jsonl import read_lines
from failwell.records._record import Record
from failwell.records._sink import open_sink
from failwell.records._sql import connect, url_of
from failwell.records._store import RecordStore
from failwell.records._tables import (
    STEPS,
    VERSION,
    WrongVersion,
    as_row,
    metadata,
    prepare,
    records,
    schema,
    version_in,
)
from tests.exceptions.servers import Postgres
from tests.records.samples import record

DATA = Path(__file__).parents[1] / "data"
THEN = [one for path in sorted((DATA / "sessions").glob("*.jsonl")) for one in read_lines(str(path))]
"""What was written into the store of version 1 that is kept in `stores`."""
PLAIN = record(2.5, "success")


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a store as version 1 left it."""
    if request.param == "sqlite":
        shutil.copy(DATA / "stores" / "version-1.db", tmp_path / "calls.db")
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    engine = writer(f"postgresql://{server.url}")
    with engine.begin() as connection:
        connection.execute(text((DATA / "stores" / "version-1.postgresql.sql").read_text(encoding="utf-8")))
        connection.execute(schema.insert().values(version=1))
        connection.execute(records.insert(), [as_row(one) for one in THEN])
    yield f"postgresql://{server.url}"
    metadata.drop_all(engine)
    engine.dispose()


def writer(address: str) -> Engine:
    return connect(url_of(address), is_writer=True)


def shape(engine: Engine) -> dict[str, Any]:
    """Return all that a database knows of its tables."""
    found = inspect(engine)
    return {
        name: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted((index["name"], index["column_names"]) for index in found.get_indexes(name)),
        )
        for name in sorted(found.get_table_names())
    }


def test_a_writer_keeps_every_record_of_an_older_store(old: str) -> None:
    sink = open_sink(old)
    sink.write([PLAIN])
    sink.close()

    with RecordStore(old) as store:
        assert list(store.records()) == [*THEN, PLAIN]


def test_a_reader_brings_an_older_store_up_to_date(old: str) -> None:
    with RecordStore(old) as store, store.engine.connect() as connection:
        assert version_in(connection) == VERSION
        assert list(store.records()) == THEN


def test_an_older_store_ends_up_with_the_tables_of_a_new_one(old: str) -> None:
    engine = writer(old)
    prepare(engine)
    migrated = shape(engine)
    metadata.drop_all(engine)
    prepare(engine)

    assert migrated == shape(engine)
    engine.dispose()


def test_a_step_that_fails_changes_nothing(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = STEPS[2]

    def fail(connection: Any) -> None:
        step(connection)
        raise RuntimeError("the disk is full")

    monkeypatch.setitem(STEPS, 2, fail)
    engine = writer(old)
    before = shape(engine)
    with pytest.raises(RuntimeError, match="the disk is full"):
        prepare(engine)

    with engine.connect() as connection:
        assert version_in(connection) == 1
    assert shape(engine) == before
    engine.dispose()


OLD_WRITER = """
import sys
from sqlalchemy import text
from failwell.records._sql import connect, url_of

engine = connect(url_of(sys.argv[1]), is_writer=True)
insert = text(
    "INSERT INTO failwell_records (time, v, source, kind, session, server, tool, call, attempt)"
    " VALUES (:at, 1, 'guard', 'success', 's', '', 'old', '', 1)"
)
for at in range(200):
    with engine.begin() as connection:
        connection.execute(insert, {"at": at})
    if at == 20:
        print("writing", flush=True)
"""
"""A process of version 1, which looked at the version before and writes on."""


def test_processes_of_the_version_before_write_on_while_others_migrate(old: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OLD_WRITER, old], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        sinks = [open_sink(old) for _ in range(3)]
        for sink in sinks:
            sink.write([PLAIN])
            sink.close()
        assert process.wait(60) == 0

    with RecordStore(old) as store:
        found = list(store.records())
        with store.engine.connect() as connection:
            versions = connection.execute(select(schema.c.version)).scalars().all()
    assert [one.time for one in found if one.tool == "old"] == [float(at) for at in range(200)]
    assert [one for one in found if one.tool != "old"] == [*THEN, PLAIN, PLAIN, PLAIN]
    assert versions == [VERSION]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            schema.update().values(version=VERSION + 1),
            f"a later failwell made the tables .version {VERSION + 1}, and this one knows {VERSION}.: update failwell",
        ),
        (schema.update().values(version=0), "the tables are not failwell's: they tell no version"),
        (schema.delete(), "the tables are not failwell's: they tell no version"),
    ],
    ids=["later", "zero", "none"],
)
def test_a_store_of_a_version_we_do_not_know_is_left_alone(old: str, change: Any, sentence: str) -> None:
    engine = writer(old)
    with engine.begin() as connection:
        connection.execute(change)
    before = shape(engine)

    attempts: list[Callable[[], object]] = [lambda: open_sink(old).write([PLAIN]), lambda: RecordStore(old)]
    for attempt in attempts:
        with pytest.raises(WrongVersion, match=sentence):
            attempt()
    with engine.connect() as connection:
        count = connection.execute(select(records.c.number)).scalars().all()
    assert len(count) == len(THEN)
    assert shape(engine) == before
    engine.dispose()


def test_every_version_since_the_first_has_its_step() -> None:
    assert list(STEPS) == list(range(2, VERSION + 1))
    assert {column.name for column in records.c} - {"number"} == set(Record.__struct_fields__)
