"""A store keeps what it is told to keep, gives space back, and lets nobody wait while it does."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Connection, text

from failwell.records import Record, RecordStore, Retention, _pruning, open_reader, open_sink
from failwell.records._sql import connect, url_of
from tests.exceptions.servers import Postgres
from tests.records.samples import drop_tables, engine_of, record


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'calls.db'}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    yield f"postgresql://{server.url}"
    drop_tables(f"postgresql://{server.url}")


def fill(address: str, count: int, **values: Any) -> None:
    """Write records at the seconds 0, 1, 2 and so on."""
    sink = open_sink(address)
    sink.write([record(float(at), **values) for at in range(count)])
    sink.close()


def opened(address: str) -> Any:
    """Return a reader that can prune."""
    return open_reader(address)


def times(address: str) -> list[float]:
    with RecordStore(address) as store:
        return [one.time for one in store.records()]


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
    fill(address, 20)
    reader = opened(address)
    prunable = reader.count_prunable(retention, 20.0)
    deleted = reader.prune(retention, 20.0)
    reader.close()

    assert times(address) == kept
    assert prunable == deleted == 20 - len(kept)


def test_the_oldest_go_first_a_slice_at_a_time_and_the_store_says_what_is_gone(address: str) -> None:
    fill(address, 20)
    engine, gone = engine_of(address), []
    beyond = _pruning.find_prunable(engine, Retention(count=5), 100.0)
    for _ in range(3):
        gone.append(_pruning.delete_slice(engine, beyond, 100.0, most=8))
        gone.append(times(address)[0])

    assert gone == [8, 8.0, 7, 15.0, 0, 15.0]
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(text("SELECT * FROM failwell_pruned"))] == [
            (100.0, 15, 15, 14.0)
        ]
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
    address = f"postgresql://{postgres.url}"
    fill(address, 9)
    other = engine_of(address)
    left = []
    with other.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_pruning._LOCK})"))  # as one that prunes does
        fill(f"{address}?keep_count=2", 1)
        left.append(len(times(address)))
    fill(f"{address}?keep_count=2", 1)
    left.append(len(times(address)))
    other.dispose()
    drop_tables(address)

    assert left == [10, 2]


def test_it_looks_once_a_minute_and_goes_on_with_the_next_batch_while_there_is_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pruning, "SLICE", 10)
    now = [1000.0]
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    fill(address, 35)
    engine = engine_of(address)
    pruner = _pruning.Pruner(Retention(count=10), clock=lambda: now[0])
    left = []
    for seconds in (0, 1, 1, 1, 59):
        now[0] += seconds
        pruner.after_batch(engine)
        left.append(len(times(address)))
        if seconds == 1 and left[-1] == 10:
            fill(address, 1)

    assert left == [25, 15, 10, 11, 10]
    engine.dispose()


def test_pruning_that_fails_harms_no_batch_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no room for a journal")

    monkeypatch.setattr(_pruning, "delete_slice", fail)
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
    address = f"sqlite:///{path}"
    fill(address, 2000, text="x" * 2000)
    before = times(address)
    pruner, engine = _pruning.Pruner(Retention(size=2_000_000), clock=lambda: 0.0), engine_of(address)
    for _ in range(40):
        pruner.after_batch(engine)
    engine.dispose()
    reader = opened(address)
    size = reader.size()
    reader.close()
    after = times(address)

    assert 1_500_000 < size <= 2_000_000
    assert size == path.stat().st_size
    assert 400 < len(after) < 1500
    assert after == before[-len(after) :]


@pytest.mark.parametrize("version", ["1", "now"])
def test_all_free_space_can_be_given_back_also_by_a_file_of_version_1(tmp_path: Path, version: str) -> None:
    path = tmp_path / "calls.db"
    if version == "1":
        shutil.copy(Path(__file__).parents[1] / "data" / "stores" / "version-1.db", path)
    address = f"sqlite:///{path}"
    fill(address, 1000, text="x" * 1000)
    reader = opened(address)
    reader.prune(Retention(count=10), 0.0)
    size = reader.size()
    reader.close()

    assert times(address) == [float(at) for at in range(990, 1000)]
    assert size < 250_000


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("keep_age=soon", "'soon' is not a time span: write it like 90s, 15m, 12h, 30d or 2w"),
        ("keep_count=-1", "'-1' is not a number of records: write it like 1000000"),
        ("keep_size=big", "'big' is not a size: write it like 500MB or 2GB"),
        ("keep_size=1KB", "keep_size must be at least 1MB"),
        ("keep_days=3", "unknown setting 'keep_days': use one of keep_age, keep_count, keep_size"),
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


def test_nobody_waits_while_records_are_found_that_may_go(tmp_path: Path) -> None:
    """With a million records to be kept, that means to look at a million."""
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    fill(address, 20)
    engine = connect(url_of(address), is_writer=True)
    with _pruning.reading(engine) as connection:
        beyond = list(_pruning._prunable(connection, Retention(count=5), 0.0))
        fill(address, 1)  # would fail after two seconds if finding took the write lock
        connection.rollback()
    deleted = _pruning.delete_slice(engine, beyond, 0.0)
    engine.dispose()

    assert deleted == 15
    assert times(address) == [15.0, 16.0, 17.0, 18.0, 19.0, 0.0]


def test_readers_and_in_postgresql_writers_go_on_while_a_slice_is_deleted(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(address, 20)
    engine = connect(url_of(address), is_writer=True)
    seen: list[list[float]] = []
    note = _pruning._note

    def look(*arguments: Any) -> None:
        """Look while the deletion is not committed."""
        if address.startswith("postgresql"):
            fill(address, 1)
        seen.append(times(address))
        note(*arguments)

    monkeypatch.setattr(_pruning, "_note", look)
    _pruning.prune(engine, Retention(count=5), 0.0, sleep=lambda _: None)
    engine.dispose()

    written = [0.0] if address.startswith("postgresql") else []
    assert seen == [[*map(float, range(20)), *written]]
    assert times(address) == [15.0, 16.0, 17.0, 18.0, 19.0, *written]


def test_a_pause_after_each_slice_lets_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pruning, "SLICE", 10)
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    fill(address, 35)
    engine, left = connect(url_of(address), is_writer=True), []

    def pause(seconds: float) -> None:
        assert seconds > 0
        fill(address, 1)
        left.append(len(times(address)))

    deleted = _pruning.prune(engine, Retention(count=5), 0.0, sleep=pause)
    engine.dispose()

    assert deleted == 30
    assert left == [26, 17, 8]


def test_one_that_prunes_by_hand_waits_for_a_recorder_that_does(postgres: Postgres) -> None:
    address = f"postgresql://{postgres.url}"
    fill(address, 9)
    other, reader = engine_of(address), opened(address)
    deleted: list[int] = []
    thread = Thread(target=lambda: deleted.append(reader.prune(Retention(count=2), 0.0)))
    with other.begin() as connection:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_pruning._LOCK})"))
        thread.start()
        _wait_for_a_lock(connection)
        connection.execute(
            text("DELETE FROM failwell_records WHERE number = (SELECT min(number) FROM failwell_records)")
        )
    thread.join(60)
    reader.close()
    left = len(times(address))
    other.dispose()
    drop_tables(address)

    assert (deleted, left) == ([6], 2)


def _wait_for_a_lock(connection: Connection) -> None:
    """Wait until somebody waits for an advisory lock."""
    query = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
    for _ in range(6000):
        if connection.execute(query).scalar():
            return
        connection.execute(text("SELECT pg_sleep(0.01)"))
    raise AssertionError("nobody waits")
