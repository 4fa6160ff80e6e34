"""A store of any earlier version is brought up to date with all its records, whoever writes to it meanwhile."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from failwell.records import Record, RecordStore, WrongVersion, _tables, open_sink
from tests.exceptions.servers import Postgres
from tests.records.samples import drop_tables, engine_of, read_file, record

DATA = Path(__file__).parents[1] / "data"
THEN = [one for path in sorted((DATA / "sessions").glob("*.jsonl")) for one in read_file(path)]
"""What was written into the store of version 1 that is kept in `stores`."""
PLAIN = record(2.5, "success")
OF_VERSION_1 = [name for name in Record.__struct_fields__ if name not in ("agent", "advice")]
VERSION = _tables.VERSION


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a store as version 1 left it."""
    if request.param == "sqlite":
        shutil.copy(DATA / "stores" / "version-1.db", tmp_path / "calls.db")
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    address = f"postgresql://{server.url}"
    engine = engine_of(address)
    with engine.begin() as connection:
        connection.execute(text((DATA / "stores" / "version-1.postgresql.sql").read_text(encoding="utf-8")))
        connection.execute(text("INSERT INTO failwell_schema (version) VALUES (1)"))
        names = OF_VERSION_1
        insert = text(f"INSERT INTO failwell_records ({', '.join(names)}) VALUES (:{', :'.join(names)})")
        connection.execute(insert, [row_of(one) for one in THEN])
    engine.dispose()
    yield address
    drop_tables(address)


def row_of(one: Record) -> dict[str, Any]:
    row = {name: getattr(one, name) for name in OF_VERSION_1}
    return row | {name: json.dumps(row[name]) if row[name] else None for name in ("names", "failure", "details")}


def version_of(address: str) -> list[int]:
    engine = engine_of(address)
    with engine.connect() as connection:
        found = list(connection.execute(text("SELECT version FROM failwell_schema")).scalars())
    engine.dispose()
    return found


def shape(address: str) -> dict[str, Any]:
    """Return all that a database knows of its tables."""
    engine = engine_of(address)
    found = inspect(engine)
    tables = {
        name: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(name)],
            found.get_pk_constraint(name)["constrained_columns"],
            sorted((index["name"], index["column_names"]) for index in found.get_indexes(name)),
        )
        for name in sorted(found.get_table_names())
    }
    engine.dispose()
    return tables


def test_a_writer_keeps_every_record_of_an_older_store(old: str) -> None:
    sink = open_sink(old)
    sink.write([PLAIN])
    sink.close()

    with RecordStore(old) as store:
        assert list(store.records()) == [*THEN, PLAIN]


def test_a_reader_brings_an_older_store_up_to_date(old: str) -> None:
    with RecordStore(old) as store:
        assert version_of(old) == [VERSION]
        assert list(store.records()) == THEN


def test_an_older_store_ends_up_with_the_tables_of_a_new_one(old: str) -> None:
    RecordStore(old).close()
    migrated = shape(old)
    drop_tables(old)
    sink = open_sink(old)
    sink.write([PLAIN])
    sink.close()

    assert migrated == shape(old)


def test_a_migration_that_fails_changes_nothing(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = _tables.MIGRATIONS[2]

    def fail(connection: Any) -> None:
        step(connection)
        raise RuntimeError("the disk is full")

    monkeypatch.setitem(_tables.MIGRATIONS, 2, fail)
    before = shape(old)
    with pytest.raises(RuntimeError, match="the disk is full"):
        open_sink(old).write([PLAIN])

    assert version_of(old) == [1]
    assert shape(old) == before


OLD_WRITER = """
import sys
from sqlalchemy import create_engine, text

engine = create_engine(sys.argv[1].replace("postgresql://", "postgresql+psycopg://"))
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
    assert [one.time for one in found if one.tool == "old"] == [float(at) for at in range(200)]
    assert [one for one in found if one.tool != "old"] == [*THEN, PLAIN, PLAIN, PLAIN]
    assert version_of(old) == [VERSION]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            f"UPDATE failwell_schema SET version = {VERSION + 1}",
            f"made by a later version of failwell .format {VERSION + 1}, and this one knows {VERSION}.: update",
        ),
        ("UPDATE failwell_schema SET version = 0", "the tables are not failwell's: they have no version"),
        ("DELETE FROM failwell_schema", "the tables are not failwell's: they have no version"),
    ],
    ids=["later", "zero", "none"],
)
def test_a_store_of_a_version_we_do_not_know_is_left_alone(old: str, change: str, sentence: str) -> None:
    engine = engine_of(old)
    with engine.begin() as connection:
        connection.execute(text(change))
    before = shape(old)

    attempts: list[Callable[[], object]] = [lambda: open_sink(old).write([PLAIN]), lambda: RecordStore(old)]
    for attempt in attempts:
        with pytest.raises(WrongVersion, match=sentence):
            attempt()
    with engine.connect() as connection:
        count = connection.execute(text("SELECT count(*) FROM failwell_records")).scalar_one()
    assert count == len(THEN)
    assert shape(old) == before
    engine.dispose()


def test_every_version_since_the_first_has_its_migration() -> None:
    assert list(_tables.MIGRATIONS) == list(range(2, VERSION + 1))


def test_the_table_has_a_column_for_each_field(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sink = open_sink(address)
    sink.write([PLAIN])
    sink.close()

    columns = {name for name, _, _ in shape(address)["failwell_records"][0]}
    assert columns - {"number"} == set(Record.__struct_fields__)
