"""A recorder never blocks or fails a call, loses nothing it has room for, and counts what it has not."""

import inspect
import logging
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from failwell.event import CallArguments
from failwell.records import Record, Recorder, _recorder, open_reader
from failwell.records._record import redact
from failwell.records._recorder import _close_all
from tests.records.samples import MISSING, Kept, finished, read_file

SEEN = finished("find", 0.25)


def test_what_it_is_told_is_written_in_order() -> None:
    sink = Kept()

    with Recorder(sink, session="s", server="tasks") as recorder:
        for number in range(3):
            recorder(finished(f"tool {number}", 0.25, time=7.0))

    assert [(one.time, one.session, one.server, one.tool, one.elapsed) for one in sink.records] == [
        (7.0, "s", "tasks", f"tool {number}", 0.25) for number in range(3)
    ]
    assert sink.is_closed
    assert recorder.lost == 0


def test_nothing_is_lost_until_the_bound_and_what_comes_after_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    sink, blocked, begun = Kept(), threading.Event(), threading.Event()
    write = sink.write

    def wait_and_write(batch: Sequence[Record]) -> None:
        begun.set()
        blocked.wait(30)
        write(batch)

    sink.write = wait_and_write  # type: ignore[method-assign]  # a store that is slow
    recorder = Recorder(sink, capacity=10, interval=0)
    recorder(SEEN)
    begun.wait(30)  # the first is on its way, and waits no more

    for _ in range(15):
        recorder(SEEN)

    assert recorder.lost == 5
    blocked.set()
    recorder.close()
    assert sum(one.kind == "success" for one in sink.records) == 11
    assert [one.details for one in sink.records if one.kind == "lost"] == [{"count": 5}]
    assert [line.message for line in caplog.records].count(
        "call records are being lost: events arrive faster than they can be written"
    ) == 1


def test_many_threads_lose_nothing() -> None:
    sink = Kept()
    recorder = Recorder(sink, batch=50)

    def work(name: str) -> None:
        for _ in range(300):
            recorder(finished(name, 0.1))

    threads = [threading.Thread(target=work, args=(f"tool {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()

    assert {name: sum(one.tool == name for one in sink.records) for name in {one.tool for one in sink.records}} == {
        f"tool {number}": 300 for number in range(4)
    }
    assert max(sink.batches) <= 50


def test_a_store_that_is_away_gets_all_once_it_is_back(caplog: pytest.LogCaptureFixture) -> None:
    sink, failures = Kept(), [OSError("no route to postgres://u:secretpassword@h"), OSError("again")]
    write = sink.write

    def fail_at_first(batch: Sequence[Record]) -> None:
        if failures:
            raise failures.pop(0)
        write(batch)

    sink.write = fail_at_first  # type: ignore[method-assign]  # a store that comes back
    with Recorder(sink, interval=0) as recorder:
        recorder(SEEN)
        assert recorder.flush(30)

    assert [one.tool for one in sink.records] == ["find"]
    assert recorder.lost == 0
    told = [line.message for line in caplog.records]
    assert told == [
        "call records cannot be written and are waiting: OSError: no route to postgres://[redacted:url_credentials]@h",
        "call records are being written again",
    ]


def test_one_record_that_no_store_takes_does_not_hold_up_the_others() -> None:
    sink = Kept()
    write = sink.write

    def refuse_one(batch: Sequence[Record]) -> None:
        if any(one.tool == "poison" for one in batch):
            raise ValueError("not this one")
        write(batch)

    sink.write = refuse_one  # type: ignore[method-assign]  # a store with a rule of its own
    with Recorder(sink, interval=0) as recorder:
        for tool in ("a", "poison", "b"):
            recorder(finished(tool, 0.1))
        assert recorder.flush(30)

    assert [one.tool for one in sink.records if one.kind == "success"] == ["a", "b"]
    assert recorder.lost == 1


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a store that refuses something be tried again at once."""
    monkeypatch.setattr(_recorder, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(_recorder, "_LONGEST_PAUSE", 0.001)


class Refusing(Kept):
    """A store that takes no record of one tool, and none at all while it is away."""

    def __init__(self, *, away: Sequence[bool] = ()) -> None:
        super().__init__()
        self.away = list(away)

    def write(self, batch: Sequence[Record], /) -> None:
        if (self.away and self.away.pop(0)) or any(one.tool == "poison" for one in batch):
            raise ValueError("not this one")
        super().write(batch)


@pytest.mark.usefixtures("impatient")
def test_a_refused_record_that_came_alone_holds_up_nothing() -> None:
    sink = Refusing()
    with Recorder(sink, interval=0) as recorder:
        recorder(finished("poison", 0.1))
        assert not recorder.flush(0)
        for tool in ("a", "b"):
            recorder(finished(tool, 0.1))
        assert recorder.flush(30)

    assert [one.tool for one in sink.records if one.kind == "success"] == ["a", "b"]
    assert recorder.lost == 1


@pytest.mark.usefixtures("impatient")
def test_many_refused_records_at_the_front_hold_up_nothing() -> None:
    sink = Refusing()
    with Recorder(sink, interval=0) as recorder:
        for tool in ("poison",) * 4:
            recorder(finished(tool, 0.1))
        recorder.flush(0.01)
        while not recorder.lost:
            recorder(finished("a", 0.1))
            recorder.flush(0.1)
        assert recorder.flush(30)

    assert recorder.lost == 4
    assert {one.tool for one in sink.records if one.kind == "success"} == {"a"}


@pytest.mark.usefixtures("impatient")
def test_a_store_that_goes_away_again_loses_nothing() -> None:
    sink = Refusing(away=[True, True, True, False, *[True] * 5])
    with Recorder(sink, interval=0) as recorder:
        for number in range(20):
            recorder(finished(str(number), 0.1))
        assert recorder.flush(30)

    assert sorted(int(one.tool) for one in sink.records) == list(range(20))
    assert recorder.lost == 0


def test_the_end_writes_what_stands_beside_a_refused_record() -> None:
    sink = Refusing()
    with Recorder(sink, interval=60) as recorder:
        for tool in ("a", "poison", "b"):
            recorder(finished(tool, 0.1))

    assert [one.tool for one in sink.records if one.kind == "success"] == ["a", "b"]
    assert recorder.lost == 1


def test_what_is_told_of_a_store_that_is_away_is_true_and_stands_in_one_line() -> None:
    class Away(Kept):
        def write(self, batch: Sequence[Record], /) -> None:
            raise OSError("no route\n(Background on this error)")

    told: list[str] = []
    recorder = Recorder(Away(), interval=0, capacity=1, warn=told.append)
    recorder(SEEN)
    while not told:
        recorder.flush(0.01)
    for _ in range(3):
        recorder(SEEN)
    recorder.close()

    assert told == [
        "call records cannot be written and are waiting: OSError: no route",
        "call records are being lost: the store accepts none, and the buffer is full",
    ]


def test_a_call_does_not_fail_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    sink = Kept()
    recorder = Recorder(sink, interval=0)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", cannot)
        recorder(SEEN)
    recorder(SEEN)

    assert recorder.flush(30)
    assert len(sink.records) == 2
    recorder.close()


def test_recorders_close_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, waited = threading.Event(), list[float]()

    class Slow(Kept):
        def write(self, batch: Sequence[Record], /) -> None:
            slow.wait(30)

    recorders = [Recorder(Slow(), interval=0) for _ in range(3)]
    for recorder in recorders:
        recorder(SEEN)
    times = iter([100.0, 101.0, 104.0, 200.0])
    monkeypatch.setattr("failwell.records._recorder._all", recorders)
    monkeypatch.setattr("failwell.records._recorder.time.monotonic", lambda: next(times))
    monkeypatch.setattr(Recorder, "wait", lambda _, timeout: waited.append(timeout))

    _close_all()

    assert waited == [4.0, 1.0, 0.0]
    slow.set()


def test_a_store_that_stays_away_ends_nothing_and_what_waited_is_counted() -> None:
    class Away(Kept):
        def write(self, batch: Sequence[Record], /) -> None:
            raise OSError("away")

    recorder = Recorder(Away(), interval=0)
    for _ in range(3):
        recorder(SEEN)
    recorder.close()

    assert recorder.lost == 3


def test_what_a_slow_store_has_not_written_when_the_time_is_up_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    begun, released = threading.Event(), threading.Event()

    class Slow(Kept):
        def write(self, batch: Sequence[Record], /) -> None:
            begun.set()
            released.wait(30)
            super().write(batch)

    sink = Slow()
    recorder = Recorder(sink, interval=0)
    recorder(SEEN)
    assert begun.wait(30)
    recorder(SEEN)
    recorder.close(0)

    assert recorder.lost == 2
    assert "2 call records were not written in time" in caplog.text
    released.set()
    recorder.wait(30)
    assert (len(sink.records), recorder.lost) == (2, 0)


def test_who_waits_for_a_store_that_stays_away_is_no_record_that_was_lost() -> None:
    class Away(Kept):
        def write(self, batch: Sequence[Record], /) -> None:
            raise OSError("away")

    recorder = Recorder(Away(), interval=0)
    recorder(SEEN)
    assert not recorder.flush(0)
    recorder.close()

    assert recorder.lost == 1


def test_nonsense_is_counted_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sink = Kept()
    with Recorder(sink) as recorder:
        recorder("nonsense")
        recorder(SEEN)

    assert [one.kind for one in sink.records if one.tool] == ["success"]
    assert recorder.lost == 1
    assert "an event could not be turned into a record" in caplog.text


def test_after_the_end_nothing_is_taken() -> None:
    sink = Kept()
    recorder = Recorder(sink)
    recorder.close()
    recorder.close()

    recorder(SEEN)

    assert (sink.records, recorder.lost, recorder.flush()) == ([], 1, True)


def test_a_block_is_a_session_of_its_own() -> None:
    sink = Kept()
    with Recorder(sink, session="process") as recorder:
        with recorder.session("conversation 7"):
            recorder(SEEN)
        recorder(SEEN)

    assert [one.session for one in sink.records] == ["conversation 7", "process"]


def test_events_are_recorded_as_they_are_but_clean() -> None:
    sink, arguments = Kept(), CallArguments({"pass\x07word": 1})
    with Recorder(sink) as recorder:
        text = "token=abcdefghijklmnop1234567890"
        recorder(finished("a\x00b", failure=MISSING, text=text, arguments=arguments))

    (one,) = sink.records
    assert (one.tool, one.names) == ("ab", ("password",))
    assert "abcdefghijklmnop1234567890" not in (one.text or "")


def test_a_record_that_something_else_wrote_tells_no_secret_in_any_field() -> None:
    secret = "hunter2" + "hunter2"
    planted = f"password={secret}"
    written = Record(
        time=1.0,
        source="client",
        kind="failure",
        code=planted,
        message=planted,
        id=planted,
        decision=planted,
        arguments=planted * 9,
        failure={"message": planted, "details": {"password": secret}},
    )

    one = redact(written)

    assert secret not in msgspec.json.encode(one).decode()
    assert len(one.arguments or "") <= 64
    assert one.failure is not None
    assert set(one.failure) == {"message", "details"}


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"batch": 0}, {"interval": -1}])
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        Recorder(Kept(), **wrong)  # type: ignore[arg-type]  # one number each

    assert Recorder(Kept(), capacity=1, batch=1, interval=0).lost == 0


PROGRAM = """
import os, sys
import failwell as fw
from failwell.records import Recorder

recorder = Recorder(sys.argv[1], session="s", batch=10, interval=0.01)
{body}
"""


def run_program(body: str, address: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PROGRAM.format(body=body), address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_the_end_of_the_process_writes_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    body = "for number in range(25): recorder(fw.records.Event(source='server', kind='success', tool=str(number)))"

    with run_program(body, f"jsonl:{path}") as process:
        assert process.wait(60) == 0

    assert [one.tool for one in read_file(path)] == [str(number) for number in range(25)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_a_forked_process_writes_its_own_and_only_its_own(tmp_path: Path, scheme: str) -> None:
    body = """
recorder(fw.records.Event(source="server", kind="success", tool="before"))
recorder.flush()
child = os.fork()
recorder(fw.records.Event(source="server", kind="success", tool="child" if child == 0 else "parent"))
recorder.close()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    path = tmp_path / "calls"

    with run_program(body, f"{scheme}{path}") as process:
        assert process.wait(60) == 0

    assert sorted(one.tool for one in read_back(scheme, path)) == ["before", "child", "parent"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.parametrize(("named", "sessions"), [("None", 2), ("'mine'", 1)])
def test_a_forked_process_is_a_session_of_its_own_unless_it_has_a_name(
    tmp_path: Path, named: str, sessions: int
) -> None:
    body = f"""
recorder = Recorder(sys.argv[1], session={named})
child = os.fork()
recorder(fw.records.Event(source="server", kind="success", tool="find"))
recorder.close()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    path = tmp_path / "calls"

    with run_program(body, f"jsonl:{path}") as process:
        assert process.wait(60) == 0

    records = read_back("jsonl:", path)
    assert len(records) == 2
    assert len({one.session for one in records}) == sessions


@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_a_killed_process_leaves_a_store_that_can_be_read_and_written(tmp_path: Path, scheme: str) -> None:
    body = """
number = 0
while True:
    recorder(fw.records.Event(source="server", kind="success", tool=str(number)))
    number += 1
    if number % 100 == 0:
        recorder.flush()
        print(number, flush=True)
"""
    path = tmp_path / "calls"

    with run_program(body, f"{scheme}{path}") as process:
        assert process.stdout is not None
        for _ in range(5):
            flushed = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
    with Recorder(f"{scheme}{path}") as recorder:
        recorder(finished("after", 0.1))

    tools = [one.tool for one in read_back(scheme, path)]
    assert tools == [*(str(number) for number in range(len(tools) - 1)), "after"]
    assert len(tools) > flushed


def read_back(scheme: str, path: Path) -> list[Record]:
    if scheme == "jsonl:":
        return read_file(path)
    from failwell.records import RecordStore

    with RecordStore(f"{scheme}{path}") as store:
        return list(store.records())


def test_the_log_of_the_tests_is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), Recorder(Kept()) as recorder:
        recorder(SEEN)

    assert caplog.records == []


def test_no_more_waits_than_the_page_says_is_lost_if_the_process_is_killed() -> None:
    class Stuck(Kept):
        entered, go_on = threading.Event(), threading.Event()

        def write(self, batch: Any, /) -> None:
            self.entered.set()
            assert self.go_on.wait(60)
            super().write(batch)

    sink = Stuck()
    with Recorder(sink, capacity=20, batch=5, warn=lambda _: None) as recorder:
        for _ in range(5):
            recorder(SEEN)
        assert sink.entered.wait(60)
        lost = list[int]()
        for _ in range(22):
            recorder(SEEN)
            lost.append(recorder.lost)
        sink.go_on.set()

    defaults = {name: option.default for name, option in inspect.signature(Recorder).parameters.items()}
    page = " ".join((Path(__file__).parents[2] / "docs" / "howto" / "events.md").read_text().split())
    assert lost == [0] * 20 + [1, 2]
    most = f"{defaults['capacity'] + defaults['batch']:,}"
    assert f"up to {most} if it is slow or unavailable. These losses aren't counted" in page
    assert f"at most {2 * defaults['batch']:,} records" in page


KILLED = """
import os, signal, sys
from failwell.records import Event, Recorder

recorder = Recorder(sys.argv[1])
for number in range(2_000):
    recorder(Event(source="server", kind="success", tool=f"tool{number}"))
assert recorder.flush(60)
for number in range(100):
    recorder(Event(source="server", kind="success", tool="later"))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like that there")
@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_what_was_flushed_outlives_a_process_that_is_killed(tmp_path: Path, scheme: str) -> None:
    address = f"{scheme}{tmp_path / 'calls'}"
    ran = subprocess.run([sys.executable, "-c", KILLED, address], check=False, timeout=120)

    with Recorder(address) as recorder:
        recorder(SEEN)
    reader = open_reader(address)
    tools = [one.tool for one in reader.records()]
    reader.close()

    assert ran.returncode == -signal.SIGKILL
    assert tools[:2000] == [f"tool{number}" for number in range(2000)]
    assert tools[-1] == SEEN.tool


BUSY = """
import mmap, struct, sys
from failwell.records import Event, Recorder

with open(sys.argv[2], "r+b") as file:
    told = mmap.mmap(file.fileno(), 16)
recorder = Recorder(sys.argv[1], warn=lambda _: None)
number = 0
while True:
    recorder(Event(source="server", kind="success", tool=f"tool{number}"))
    number += 1
    if number == 1:
        assert recorder.flush(60)
    struct.pack_into("qq", told, 0, number, recorder.lost)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is killed like that there")
@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
def test_a_process_that_is_killed_while_it_writes_loses_no_more_than_the_page_says(tmp_path: Path, scheme: str) -> None:
    """More happens than can be written, so the buffer is full and a batch is on its way."""
    store, told = tmp_path / "calls", tmp_path / "told"
    told.write_bytes(bytes(16))

    with subprocess.Popen([sys.executable, "-c", BUSY, f"{scheme}{store}", str(told)]) as process:
        while not struct.unpack("qq", told.read_bytes())[1]:
            assert process.poll() is None
        process.kill()
    happened, counted = struct.unpack("qq", told.read_bytes())
    kept = [one.tool for one in read_back(scheme, store) if one.kind == "success"]

    assert len(kept) == len(set(kept))
    assert happened - counted - len(kept) <= 10_500 + 1  # and the one that is counted just now
