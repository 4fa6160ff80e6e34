"""Every sink keeps what it is given, whoever writes beside it; JSON lines, a real SQLite and a real PostgreSQL."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import inspect, text

from failwell.failure import Failure
from failwell.records import NoStore, Record, Recorder, RecordStore, failure_fields, open_reader, open_sink
from failwell.records._jsonl import JsonlSink
from failwell.records._record import redact
from tests.exceptions.servers import Postgres
from tests.records.samples import DOWN, MISSING, drop_tables, finished, read_file, record
from tests.strategies import examples, failures

WHOLE = Record(
    time=1.25,
    source="client",
    kind="failure",
    session="s",
    server="tasks",
    tool="find",
    call="7",
    attempt=2,
    elapsed=0.5,
    delay=1.5,
    text="what the agent was sent",
    decision="use",
    reason="the same call cannot succeed",
    arguments="0123",
    names=("id", "limit"),
    details={"count": 3},
    **failure_fields(MISSING),
)
PLAIN = record(2.5, "success")


@pytest.fixture(params=["jsonl", "sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "jsonl":
        yield f"jsonl:{tmp_path / 'calls.jsonl'}"
    elif request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'calls.db'}"
    else:
        server: Postgres = request.getfixturevalue("postgres")
        yield f"postgresql://{server.url}"
        drop_tables(f"postgresql://{server.url}")


def read_back(address: str) -> list[Record]:
    reader = open_reader(address)
    try:
        return list(reader.records())
    finally:
        reader.close()


def test_what_is_written_is_read_back_whole(address: str) -> None:
    sink = open_sink(address)
    sink.write([WHOLE, PLAIN])
    sink.write([WHOLE])
    sink.close()

    assert read_back(address) == [WHOLE, PLAIN, WHOLE]


def test_a_closed_sink_can_be_written_again(address: str) -> None:
    sink = open_sink(address)
    sink.write([PLAIN])
    sink.close()
    sink.write([WHOLE])
    sink.close()

    assert read_back(address) == [PLAIN, WHOLE]


PROGRAM = """
import os, sys
from failwell.records import Record
from failwell.records import _sql, open_sink

children = []
for name in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        sink = open_sink(sys.argv[1])
        for number in range(20):
            sink.write([Record(time=float(number), source="guard", kind="success", tool=name)] * 5)
        sink.close()
        os._exit(0)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""
"""Processes that a small one forked, so that each of them begins at once."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_several_processes_write_one_store_from_its_beginning(address: str) -> None:
    names = ["a", "b", "c"]
    ran = subprocess.run([sys.executable, "-c", PROGRAM, address, *names], capture_output=True, text=True, timeout=60)

    found = read_back(address)

    assert ran.stdout == "[0, 0, 0]\n"
    for name in names:
        assert [one.time for one in found if one.tool == name] == [float(at) for at in range(20) for _ in range(5)]


def test_a_server_that_hung_up_is_called_again(postgres: Postgres) -> None:
    address = f"postgresql://{postgres.url}"
    sink = open_sink(address)
    sink.write([PLAIN])
    with RecordStore(address) as store, store.engine.begin() as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                 " AND pid <> pg_backend_pid()")
        )  # fmt: skip

    sink.write([WHOLE])
    sink.close()

    found = read_back(address)
    drop_tables(address)
    assert found == [PLAIN, WHOLE]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[[Record], list[Record]]]:
    """Yield what writes a record into a file and a store that are open all the time, and reads it back from both."""
    addresses = (f"jsonl:{tmp_path / 'calls.jsonl'}", f"sqlite:///{tmp_path / 'calls.db'}")
    sinks = [open_sink(address) for address in addresses]
    for sink in sinks:
        sink.write([PLAIN])
    readers = [open_reader(address) for address in addresses]
    for reader in readers:
        reader.newest(1)

    def kept(one: Record) -> list[Record]:
        for sink in sinks:
            sink.write([one])
        return [found for reader in readers for found in reader.fresh()]

    yield kept
    for opened in (*sinks, *readers):
        opened.close()


@settings(max_examples=examples(0.2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(failures)
def test_any_failure_can_be_kept(keep: Callable[[Record], list[Record]], failure: Failure) -> None:
    one = Record(time=1.0, source="proxy", kind="failure", **failure_fields(failure))

    assert keep(one) == [one, one]


@settings(max_examples=examples(0.2))
@given(failures)
def test_a_record_of_any_failure_that_is_redacted_again_stays_as_it_is(failure: Failure) -> None:
    once = redact(Record(time=1.0, source="proxy", kind="failure", **failure_fields(failure)))

    assert redact(once) == once


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_only_the_owner_may_read_a_new_file(tmp_path: Path, scheme: str) -> None:
    sink = open_sink(f"{scheme}{tmp_path / 'calls'}")
    sink.write([PLAIN])

    assert {mode_of(path) for path in tmp_path.iterdir()} == {0o600}
    sink.close()


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    line = msgspec.json.encode(WHOLE)
    path.write_bytes(line + b"\n" + line[:40])

    sink = open_sink(f"jsonl:{path}")
    sink.write([PLAIN])
    sink.close()

    assert read_file(path) == [WHOLE, PLAIN]


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"time":"x"}', b"\xff", b'{"time":1,"source":"client"}'])
def test_a_line_that_is_no_record_is_skipped(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(line + b"\n" + msgspec.json.encode(PLAIN) + b"\n")

    assert read_file(path) == [PLAIN]


def test_a_line_always_says_its_version_and_a_later_one_may_say_more(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    sink = open_sink(f"jsonl:{path}")
    sink.write([PLAIN])
    sink.close()
    line = path.read_bytes()
    path.write_bytes(line[:-2] + b',"news":[1]}\n')

    assert line.startswith(b'{"v":1,')
    assert read_file(path) == [PLAIN]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("calls.db", "records go to sqlite:///FILE, postgresql://HOST/DATABASE, jsonl:FILE or otlp:URL"),
        ("mysql://h/d", "records go to sqlite:///FILE, postgresql://HOST/DATABASE, jsonl:FILE or otlp:URL"),
        ("jsonl:", "jsonl: needs the path of a file"),
        ("sqlite:", "a store needs an address such as"),
        ("sqlite://", "a SQLite store needs a file"),
        ("postgresql://user:planted@host:port/calls", "a store needs an address such as"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused_without_being_shown(address: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        open_sink(address)

    assert "planted" not in str(caught.value)


def test_there_is_no_store_where_nobody_wrote(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    for name in ("nothing.db", "empty.db"):
        with pytest.raises(NoStore, match="no events have been written there yet"):
            RecordStore(f"sqlite:///{tmp_path / name}")

    assert not (tmp_path / "nothing.db").exists()


def test_records_are_chosen_by_time_and_name(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sink = open_sink(address)
    sink.write([record(float(at), "failure", DOWN if at % 2 else MISSING, server=f"s{at % 3}") for at in range(12)])
    sink.close()

    with RecordStore(address) as store:
        by_code = [one.time for one in store.records(code="NOT_FOUND", since=4, until=9)]
        by_server = [one.time for one in store.records(server="s1")]
        page = store.page(after=3, most=2)

        with pytest.raises(TypeError, match="not by message"):
            list(store.records(message="x"))
    assert by_code == [4, 6, 8]
    assert by_server == [1, 4, 7, 10]
    assert [(number, one.time) for number, one in page] == [(4, 3.0), (5, 4.0)]


def test_the_table_has_an_index_for_each_question(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    sink = open_sink(address)
    sink.write([PLAIN])
    sink.close()

    with RecordStore(address) as store:
        found = {tuple(index["column_names"]) for index in inspect(store.engine).get_indexes("failwell_records")}

    assert found == {("time",), *((name, "time") for name in ("kind", "server", "tool", "code", "session"))}


OTHER = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("SELECT count(*) FROM failwell_records").fetchone()
store.close()
"""


def test_a_second_sink_on_a_file_leaves_the_locks_of_the_first_alone(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    one, two = open_sink(f"sqlite:///{path}"), open_sink(f"sqlite:///{path}")
    one.write([PLAIN])
    two.write([PLAIN])

    subprocess.run([sys.executable, "-c", OTHER, str(path)], check=True, timeout=60)

    # Who finds no lock believes to be the last one, and deletes the log that the others still write.
    assert (tmp_path / "calls.db-wal").exists()
    one.close()
    two.close()


def test_a_disk_that_fills_up_within_a_batch_takes_no_record_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "calls.jsonl"
    sink, write, room = JsonlSink(str(path)), os.write, [400, 0]

    def write_what_fits(file: int, data: bytes) -> int:
        most = room.pop(0) if room else len(data)
        if not most:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data[:most])

    monkeypatch.setattr(os, "write", write_what_fits)
    batch = [record(float(number)) for number in range(9)]

    with pytest.raises(OSError, match="nothing more can be written"):
        sink.write(batch)
    sink.write(batch)
    sink.close()

    assert [one.time for one in read_file(path)] == [float(number) for number in range(9)]


FULL = """
import resource, sys
from failwell.records import Record, open_sink

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
batch = [Record(time=float(number), source="guard", kind="success", tool="full") for number in range(20)]
sink = open_sink("jsonl:" + sys.argv[1])
try:
    sink.write(batch)
except OSError as failed:
    print("full", flush=True)
sys.stdin.readline()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
sink.write(batch)
sink.close()
"""
"""A process whose file takes no more than so many bytes, until a line comes on its standard input."""

LINE = len(msgspec.json.encode({"v": 1, **msgspec.to_builtins(Record(time=1.0, source="guard", kind="success",
                                                                    tool="full"))})) + 1  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such limit there")
@pytest.mark.parametrize("room", [LINE // 2, 3 * LINE - 1, 3 * LINE, 3 * LINE + 1, 3 * LINE + LINE // 2])
def test_a_full_disk_corrupts_no_line_and_loses_no_record_of_anybody(tmp_path: Path, room: int) -> None:
    path = tmp_path / "calls.jsonl"
    other = open_sink(f"jsonl:{path}")
    with subprocess.Popen(
        [sys.executable, "-c", FULL, str(path), str(room)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as full:
        assert full.stdout is not None
        is_full = full.stdout.readline()
        before = path.read_bytes()
        other.write([WHOLE])
        full.communicate("\n", timeout=60)
    other.write([PLAIN])
    other.close()

    found = read_file(path)
    assert (is_full, full.returncode) == ("full\n", 0)
    assert before == b"" or before.endswith(b"\n")
    assert sorted(one.time for one in found if one.tool == "full") == [float(number) for number in range(20)]
    assert [one for one in found if one.tool != "full"] == [WHOLE, PLAIN]
    assert path.read_bytes().count(b"\n") == 22


def test_a_line_that_another_process_left_behind_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    sink = open_sink(f"jsonl:{path}")
    sink.write([PLAIN])
    with path.open("ab") as other:
        other.write(msgspec.json.encode(WHOLE)[:30])  # and is killed

    sink.write([WHOLE])
    sink.close()

    assert read_file(path) == [PLAIN, WHOLE]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_what_a_full_device_does_not_take_is_counted_as_lost() -> None:
    recorder = Recorder("jsonl:/dev/full", interval=0, warn=lambda _: None)
    for _ in range(7):
        recorder(finished("find"))
    recorder.close()

    assert recorder.lost == 7


@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_a_file_that_is_deleted_meanwhile_is_made_again(tmp_path: Path, scheme: str) -> None:
    sink = open_sink(f"{scheme}{tmp_path / 'calls'}")
    sink.write([PLAIN])
    for path in tmp_path.iterdir():
        path.unlink()

    sink.write([WHOLE])
    sink.close()

    assert read_back(f"{scheme}{tmp_path / 'calls'}") == [WHOLE]


def test_a_line_that_was_cut_off_does_not_cost_the_first_of_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(msgspec.json.encode(WHOLE)[:30])

    sink = JsonlSink(str(path), file=os.open(path, os.O_WRONLY | os.O_APPEND))
    sink.write([PLAIN])
    sink.close()

    assert read_file(path) == [PLAIN]


FORKING = """
import os, sys, threading
from failwell.records import Record
from failwell.records import _sql, open_sink

_sql._FORK_PATIENCE = 0.05
sink = open_sink(sys.argv[1])
one = Record(time=1.0, source="guard", kind="success")
held, go_on = threading.Event(), threading.Event()

def hold():
    with sink._lock:
        held.set()
        go_on.wait(30)

sink.write([one])
thread = threading.Thread(target=hold)
thread.start()
held.wait(30)
child = os.fork()
if child == 0:
    try:
        sink.write([one])
    except OSError as failed:
        print(failed, flush=True)
    os._exit(0)
os.waitpid(child, 0)
go_on.set()
thread.join()
sink.write([one])
sink.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("address", ["sqlite", "postgresql"], indirect=True)
def test_a_fork_does_not_wait_for_ever_for_a_batch(address: str) -> None:
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING, address], capture_output=True, text=True)

    is_file = address.startswith("sqlite:")
    assert ran.stderr == ""
    assert ran.stdout == ("the process was forked while a batch was written\n" if is_file else "")
    assert len(read_back(address)) == (2 if is_file else 3)


def test_a_session_is_read_in_the_order_in_which_it_was_written(address: str) -> None:
    steps = [record(5.0, "retry", DOWN, call="1"), record(4.5, "success", call="1"), record(4.8, "success", call="2")]
    sink = open_sink(address)
    sink.write(steps)
    sink.close()

    reading = open_reader(address)
    found = [[(one.kind, one.call) for one in session] for session in reading.sessions()]
    reading.close()

    assert found == [[("retry", "1"), ("success", "1"), ("success", "2")]]
