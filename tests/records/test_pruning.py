"""A store keeps what it is told to keep, gives space back, and lets nobody wait while it does."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from failwell.records import _pruning
from failwell.records._pruning import Pruner, doomed_count, give_all_back, prune, size_of
from failwell.records._record import Record
from failwell.records._retention import Retention
from failwell.records._sink import open_sink
from failwell.records._sql import connect, url_of
from failwell.records._store import RecordStore
from failwell.records._tables import as_row, metadata, prepare, pruned, records
from tests.exceptions.servers import Postgres
from tests.records.samples import record


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    yield f"postgresql://{server.url}"
    engine = writer(f"postgresql://{server.url}")
    metadata.drop_all(engine)
    engine.dispose()


def writer(address: str) -> Engine:
    return connect(url_of(address), is_writer=True)


def filled(address: str, count: int, **values: Any) -> Engine:
    """Return an engine for a store with records at the seconds 0, 1, 2 and so on."""
    engine = writer(address)
    prepare(engine)
    with engine.begin() as connection:
        connection.execute(records.insert(), [as_row(record(float(at), **values)) for at in range(count)])
    return engine


def times(engine: Engine) -> list[float]:
    with engine.connect() as connection:
        return list(connection.execute(select(records.c.time).order_by(records.c.number)).scalars())


@pytest.mark.parametrize(
    ("retention", "kept"),
    [
        (Retention(age=8.0), list(range(12, 20))),
        (Retention(count=5), list(range(15, 20))),
        (Retention(age=8.0, count=5), list(range(15, 20))),
        (Retention(age=3.0, count=5), list(range(17, 20))),
        (Retention(count=20), list(range(20))),
        (Retention(), list(range(20))),
        (Retention(count=0), []),
    ],
    ids=lambda value: str(value) if isinstance(value, Retention) else None,
)
def test_what_is_older_or_more_than_is_to_be_kept_goes(address: str, retention: Retention, kept: list[int]) -> None:
    engine = filled(address, 20)
    with engine.begin() as connection:
        doomed = doomed_count(connection, retention, 20.0)
        gone = prune(connection, retention, 20.0)

    assert times(engine) == kept
    assert doomed == gone == 20 - len(kept)
    engine.dispose()


def test_the_oldest_go_first_a_slice_at_a_time_and_the_store_says_what_is_gone(address: str) -> None:
    engine = filled(address, 20)
    gone = []
    for _ in range(3):
        with engine.begin() as connection:
            gone.append(prune(connection, Retention(count=5), 100.0, most=8))
            left = connection.execute(select(records.c.time).order_by(records.c.time).limit(1)).scalar_one()
            gone.append(left)

    assert gone == [8, 8.0, 7, 15.0, 0, 15.0]
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(select(pruned))] == [(100.0, 15, 15, 14.0)]
    engine.dispose()


def test_a_recorder_s_store_is_pruned_while_it_is_written(address: str) -> None:
    sink = open_sink(f"{address}?keep_count=30")
    for start in range(0, 100, 10):
        sink.write([record(float(at)) for at in range(start, start + 10)])
    sink._pruner._next = 0.0  # type: ignore[attr-defined]  # a minute later
    sink.write([record(100.0)])
    sink.close()

    with RecordStore(f"{address}?keep_count=30") as store:
        assert [one.time for one in store.records()] == [float(at) for at in range(71, 101)]


def test_one_process_of_many_prunes_and_the_others_leave_it_to_that_one(postgres: Postgres) -> None:
    engine = filled(f"postgresql://{postgres.url}", 9)
    other = writer(f"postgresql://{postgres.url}")
    left = []
    with other.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_pruning._LOCK})"))  # as one that prunes does
        Pruner(Retention(count=2)).after_batch(engine)
        left.append(len(times(engine)))
    Pruner(Retention(count=2)).after_batch(engine)
    left.append(len(times(engine)))
    metadata.drop_all(engine)
    engine.dispose()
    other.dispose()

    assert left == [9, 2]


def test_it_looks_once_a_minute_and_goes_on_with_the_next_batch_while_there_is_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pruning, "SLICE", 10)
    monkeypatch.setattr(prune, "__defaults__", (10,))
    now = [1000.0]
    engine = filled(f"sqlite:///{tmp_path / 'calls.db'}", 35)
    pruner = Pruner(Retention(count=10), clock=lambda: now[0])
    left = []
    for seconds in (0, 1, 1, 1, 59):
        now[0] += seconds
        pruner.after_batch(engine)
        left.append(len(times(engine)))
        if seconds == 1 and left[-1] == 10:
            with engine.begin() as connection:
                connection.execute(records.insert(), [as_row(record(50.0))])

    assert left == [25, 15, 10, 11, 10]
    engine.dispose()


def test_pruning_that_fails_harms_no_batch_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no room for a journal")

    monkeypatch.setattr(_pruning, "prune", fail)
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sink = open_sink(f"{address}?keep_count=1")
    for _ in range(3):
        sink._pruner._next = 0.0  # type: ignore[attr-defined]  # a minute later
        sink.write([record(1.0)])
    sink.close()

    with RecordStore(address) as store:
        assert len(list(store.records())) == 3
    assert [line.message for line in caplog.records] == ["the store of records could not be pruned"]


def test_a_file_that_is_too_large_loses_the_oldest_and_gives_space_back(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    engine = filled(f"sqlite:///{path}", 2000, text="x" * 2000)
    before = times(engine)
    pruner, size = Pruner(Retention(size=2_000_000), clock=lambda: 0.0), []
    for _ in range(40):
        pruner.after_batch(engine)
    with engine.connect() as connection:
        size.append(size_of(connection))
    after = times(engine)
    engine.dispose()

    assert 1_500_000 < size[0] <= 2_000_000
    assert size[0] == path.stat().st_size
    assert 400 < len(after) < 1500
    assert after == before[-len(after) :]


@pytest.mark.parametrize("version", ["1", "now"])
def test_all_free_space_can_be_given_back_also_by_a_file_of_version_1(tmp_path: Path, version: str) -> None:
    path = tmp_path / "calls.db"
    if version == "1":
        shutil.copy(Path(__file__).parents[1] / "data" / "stores" / "version-1.db", path)
    engine = filled(f"sqlite:///{path}", 1000, text="x" * 1000)
    with engine.begin() as connection:
        prune(connection, Retention(count=10), 0.0, most=5000)
    left = times(engine)
    give_all_back(engine)
    with engine.connect() as connection:
        size = size_of(connection)
    assert times(engine) == left == [float(at) for at in range(990, 1000)]
    assert size < 250_000
    engine.dispose()


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("keep_age=soon", "'soon' is no span of time: write it like 90s, 15m, 12h, 30d or 2w"),
        ("keep_count=-1", "'-1' is no number of records: write it like 1000000"),
        ("keep_size=big", "'big' is no size: write it like 500MB or 2GB"),
        ("keep_size=1KB", "keep_size must be at least 1MB"),
        ("keep_days=3", "what a store keeps is told by keep_age, keep_count, keep_size, not by keep_days"),
        ("keep_age=1d&keep_age=2d", "keep_age is given twice"),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        open_sink(f"sqlite:///calls.db?{query}")

    assert not os.path.exists("calls.db")
    assert str(caught.value).startswith(sentence)


def test_the_size_of_postgresql_is_not_bounded() -> None:
    with pytest.raises(ValueError, match="keep_size is for SQLite") as caught:
        open_sink("postgresql://u:planted@h/d?keep_size=1GB")

    assert "planted" not in str(caught.value)


def test_what_a_store_keeps_is_no_part_of_where_it_is(address: str) -> None:
    sink = open_sink(f"{address}?keep_age=30d")
    sink.write([Record(time=9e9, source="guard", kind="success")])
    sink.close()

    with RecordStore(address) as store:
        assert [one.time for one in store.records()] == [9e9]
