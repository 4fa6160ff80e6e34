"""`failwell events`: lists, follows, exports, sums up and prunes records, wherever they are."""

import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import text

import failwell as fw
from failwell.records import Record, Unreadable, open_reader, open_sink
from failwell.records._store import SqlReader
from failwell.records._tables import VERSION
from tests.cli.streams import refusal, run
from tests.exceptions.servers import Postgres, postgres
from tests.records.samples import DOWN, MISSING, drop_tables, engine_of, record, session

__all__ = ["postgres"]

TOLD = [
    record(1e3, "failure", MISSING, server="tasks", tool="find", call="1", session="a", decision="use", elapsed=0.25),
    record(1001.0, "success", server="tasks", tool="list_tasks", call="2", session="a"),
    record(2000.0, "failure", DOWN, server="shop", tool="pay", call="1", session="b", decision="retry",
           agent="cli 1"),
]  # fmt: skip
PLAIN = record(2.5, "success")


def written(address: str, *records: Record) -> str:
    sink = open_sink(address)
    sink.write(records)
    sink.close()
    return address


@pytest.fixture(params=["jsonl", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        address = f"postgresql://{server.url}"
        yield written(address, *TOLD)
        drop_tables(address)
    else:
        head = {"jsonl": "jsonl:", "sqlite": "sqlite:///"}[request.param]
        yield written(f"{head}{tmp_path / 'calls'}", *TOLD)


def listed(*argv: str) -> list[float]:
    ran = run("events", "list", "--json", *argv)
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line)["time"] for line in ran.out.splitlines()]


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ([], [1000.0, 1001.0, 2000.0]),
        (["--server", "tasks"], [1000.0, 1001.0]),
        (["--tool", "find"], [1000.0]),
        (["--type", "transient"], [2000.0]),
        (["--code", "NOT_FOUND"], [1000.0]),
        (["--session", "b"], [2000.0]),
        (["--source", "client", "--agent", "cli 1"], [2000.0]),
        (["--source", "proxy"], []),
        (["--show", "failures"], [1000.0, 2000.0]),
        (["--show", "servers"], []),
        (["--since", "1970-01-01T00:16:41"], [1001.0, 2000.0]),
        (["--since", "1970-01-01T01:16:41+01:00"], [1001.0, 2000.0]),
        (["--since", "24h"], []),
        (["--most", "2"], [1001.0, 2000.0]),
        (["--server", "tasks", "--most", "1"], [1001.0]),
        (["--tool", "x' OR '1'='1"], []),
    ],
    ids=lambda value: " ".join(value) if value and isinstance(value[0], str) else None,
)
def test_records_are_listed_as_they_are_chosen(store: str, options: list[str], times: list[float]) -> None:
    assert listed("--store", store, *options) == times


def test_people_get_a_table_without_colours_where_there_is_no_terminal(store: str) -> None:
    ran = run("events", "--store", store)

    assert (ran.code, ran.err) == (0, "")
    head, first, second, third = ran.out.splitlines()
    assert head.split() == ["time", "(UTC)", "source", "server", "tool", "kind", "code", "next", "seconds", "message"]
    assert first.split()[:3] == ["1970-01-01", "00:16:40", "client"]
    assert "find" in first
    assert first.endswith("NOT_FOUND            use      0.250  There is no task t-9.")
    assert "success" in second
    assert "SERVICE_UNAVAILABLE" in third
    assert "\x1b" not in ran.out


def test_what_is_exported_can_be_imported(store: str) -> None:
    ran = run("events", "export", "--store", store)

    assert [msgspec.json.decode(line, type=Record) for line in ran.out.splitlines()] == TOLD


def test_a_sheet_gets_a_line_for_each_record_and_no_formula(tmp_path: Path) -> None:
    store = written(f"jsonl:{tmp_path / 'calls'}", *TOLD, record(3000.0, tool="=HYPERLINK(1)", names=("a", "b")))
    ran = run("events", "export", "--to", "csv", "--store", store)
    rows = list(csv.DictReader(io.StringIO(ran.out, newline="")))

    assert [(row["time"], row["kind"]) for row in rows[:1]] == [("1970-01-01T00:16:40.000+00:00", "failure")]
    assert [row["tool"] for row in rows] == ["find", "list_tasks", "pay", "'=HYPERLINK(1)"]
    assert rows[3]["names"] == '["a","b"]'
    assert json.loads(rows[0]["failure"])["code"] == "NOT_FOUND"
    assert ran.out.count("time") == 1


def test_the_summary_says_what_became_of_failures(store: str) -> None:
    ran = run("events", "summary", "--store", store)

    assert ran.out.splitlines()[:3] == [
        "server  tool  code                 failures  recovered  wasted   lost  how",
        "shop    pay   SERVICE_UNAVAILABLE         1         0%       1  0.0 s  unresolved 1",
        "tasks   find  NOT_FOUND                   1       100%       0  0.2 s  named tool 1",
    ]
    assert ran.out.splitlines()[4:] == [
        "2 sessions, 3 calls, 2 failed.",
        "Agents recovered from 1 of 2 failures (50%).",
        "1 wasted call, 0.2 seconds lost, 0 turns saved, 0 duplicates avoided.",
    ]


def test_the_summary_of_one_tool_still_knows_what_other_tools_did(store: str) -> None:
    ran = run("events", "summary", "--json", "--store", store, "--tool", "find")
    found = json.loads(ran.out)

    assert [(one["tool"], one["verdicts"]) for one in found["rows"]] == [("find", {"named_tool": 1})]
    assert (found["overall"]["sessions"], found["overall"]["calls"]) == (1, 1)


def test_sessions_add_up_whether_they_are_read_at_once_or_one_by_one(tmp_path: Path) -> None:
    many = [
        record(one.time + 10 * number, one.kind, MISSING if one.has_failed else None, tool=one.tool, call=one.call,
               session=f"s{number}", elapsed=0.5)
        for number in range(3)
        for one in session(("find", MISSING), ("find", None), ("find", MISSING))
    ]  # fmt: skip
    lines, tables = (
        written(f"{head}{tmp_path / name}", *many) for head, name in [("jsonl:", "l"), ("sqlite:///", "t")]
    )

    assert run("events", "summary", "--store", lines).out == run("events", "summary", "--store", tables).out
    assert "3 sessions, 9 calls, 6 failed." in run("events", "summary", "--store", lines).out
    assert "Agents recovered from 3 of 6 failures (50%)" in run("events", "summary", "--store", lines).out


def test_pruning_says_first_what_would_go_and_then_does_it(store: str) -> None:
    if store.startswith("jsonl:"):
        assert refusal("events", "prune", "--store", store, "--keep", "1").startswith("only sqlite: and postgresql:")
        return

    would = run("events", "prune", "--store", store, "--keep", "1")
    kept = listed("--store", store)
    some = run("events", "prune", "--store", store, "--keep", "1", "--yes")
    summary = run("events", "summary", "--store", store)
    rest = run("events", "prune", "--store", store, "--older-than", "30d", "--yes")

    assert would.out == "2 events would be deleted. Add --yes to delete them.\n"
    assert kept == [1000.0, 1001.0, 2000.0]
    assert some.out.startswith("2 events deleted. Size of the store: ")
    assert summary.out.endswith("2 events up to 1970-01-01 00:16:41 were pruned and are not included.\n")
    assert rest.out.startswith("1 event deleted. Size of the store: ")
    assert listed("--store", store) == []
    assert run("events", "--store", store).out == "There are no events yet.\n"
    assert run("events", "--store", store, "--tool", "x").out == "No events match.\n"
    assert run("events", "summary", "--store", store).out.startswith("There are no calls to summarize.\n")


def test_following_shows_people_a_line_for_each_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = written(f"jsonl:{tmp_path / 'calls'}", TOLD[0])
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            raise KeyboardInterrupt
        written(store, TOLD[len(naps)])

    monkeypatch.setattr("time.sleep", nap)
    ran = run("events", "tail", "--store", store)

    assert ran.code == 130
    assert [line.split()[0] for line in ran.out.splitlines()] == ["time", *["1970-01-01"] * 3]
    assert ran.out.count("failure") == 2


def test_following_keeps_to_the_columns_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = record(1e3, server="warehouse", tool="list_all_open_orders", call="1")
    store = written(f"jsonl:{tmp_path / 'calls'}", long)

    def nap(seconds: float) -> None:
        monkeypatch.setattr("time.sleep", interrupt)
        written(store, record(1001.0, "failure", DOWN, server="w", tool="pay", call="2"))

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", nap)
    head, first, second = run("events", "tail", "--store", store).out.splitlines()

    assert [head.index("kind"), first.index("success")] == [second.index("failure")] * 2


def test_an_older_store_is_read(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).parents[1] / "data" / "stores" / "version-1.db", tmp_path / "calls.db")

    assert len(listed("--store", f"sqlite:///{tmp_path / 'calls.db'}")) == 25


def test_text_in_a_foreign_file_does_nothing_to_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    path.write_text('{"time":1e300,"source":"client","kind":"success","tool":"\\u001b[2Jx","message":"a\\nb"}\n')

    ran = run("events", "--store", f"jsonl:{path}")

    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 2
    assert ran.out.splitlines()[1].startswith("1e+300")


@pytest.mark.parametrize("head", ["jsonl:", "sqlite:///"])
def test_following_goes_on_with_what_is_written_from_now_on(tmp_path: Path, head: str) -> None:
    store = written(f"{head}{tmp_path / 'calls'}", TOLD[0])
    command = [sys.executable, "-m", "failwell", "events", "tail", "--store", store, "--json", "--server", "tasks"]

    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as ran:
        assert ran.stdout is not None
        seen = [json.loads(ran.stdout.readline())["time"]]
        written(store, TOLD[2], TOLD[1])
        seen.append(json.loads(ran.stdout.readline())["time"])
        ran.send_signal(signal.SIGINT)
        try:
            assert ran.wait(60) == 130
        finally:
            ran.kill()

    assert seen == [1000.0, 1001.0]


def test_a_number_that_comes_late_is_not_missed(tmp_path: Path) -> None:
    store = written(f"sqlite:///{tmp_path / 'calls'}", TOLD[0])
    reader, engine = open_reader(store), engine_of(store)
    reader.newest(10)
    insert = "INSERT INTO failwell_records (number, time, v, source, kind, session, server, tool, call, attempt)"
    seen: list[Any] = []
    for number in (4, 2, 3):
        with engine.begin() as connection:
            connection.execute(
                text(f"{insert} VALUES ({number}, {number}.0, 1, 'client', 'success', 's', '', 'find', '', 1)")
            )
        seen += [one.time for one in reader.fresh()]
    seen.append(len(reader.fresh()))
    reader.close()
    engine.dispose()

    assert seen == [4.0, 2.0, 3.0, 0]


def test_however_many_come_at_once_all_of_them_are_followed(tmp_path: Path) -> None:
    store = written(f"sqlite:///{tmp_path / 'calls'}", TOLD[0])
    reader = open_reader(store)
    before = reader.newest(10)
    written(store, *[record(float(at)) for at in range(2500)])
    fresh = reader.fresh()
    reader.close()

    assert before == [TOLD[0]]
    assert [one.time for one in fresh] == [float(at) for at in range(2500)]


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    line = (run("events", "export", "--store", written(f"jsonl:{tmp_path / 'other'}", PLAIN)).out).encode()
    path.write_bytes(line + line[:20])
    reader = open_reader(f"jsonl:{path}")
    first = reader.newest(5)
    with path.open("ab") as file:
        file.write(line[20:])
    second = reader.fresh()
    path.write_bytes(line)

    assert (first, second, reader.fresh()) == ([PLAIN], [PLAIN], [PLAIN])


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["list"], "no store given: use --store sqlite:///FILE, postgresql://HOST/DATABASE or jsonl:FILE"),
        (["lst", "--store", "x"], "unknown action 'lst': choose one of list, tail, export, summary, prune, mark; did"),
        (["--store", "calls.db"], "not a store that can be read: use sqlite:///FILE, postgresql://HOST/DATABASE or"),
        (["--store", "sqlite:///nowhere.db"], "no events have been written there yet"),
        (["--store", "jsonl:nowhere.jsonl"], "cannot read 'nowhere.jsonl': No such file or directory"),
        (["--store", "jsonl:x", "--since", "soon"], "--since 'soon' is not a time: use 24h, 30d or"),
        (["--store", "jsonl:x", "--keep", "3"], "--keep is for prune: failwell events prune --store URL"),
        (["summary", "--store", "jsonl:x", "--yes"], "--yes is for prune: failwell events prune --store URL"),
        (["mark", "--store", "jsonl:x"], "a mark needs a text: failwell events mark"),
        (["list", "again", "--store", "jsonl:x"], "unexpected argument 'again': only mark takes a text"),
        (["--store", "jsonl:x", "--show", "some"], "unknown --show 'some': choose one of failures, retries"),
        (["export", "--store", "jsonl:FILE", "--to", "xml"], "unknown --to 'xml': choose one of jsonl, csv"),
        (["prune", "--store", "jsonl:FILE"], "say what to delete: --older-than 30d, or --keep 1000000"),
        (["prune", "--store", "jsonl:FILE", "--keep", "1"], "only sqlite: and postgresql: stores can be pruned;"),
        (["prune", "--store", "jsonl:FILE", "--keep", "1", "--tool", "x"], "prune takes no filters"),
        (["prune", "--store", "jsonl:FILE", "--older-than", "long"], "'long' is not a time span"),
        (["--store", "postgresql://u:planted@127.0.0.1:1/d"], "the store cannot be read: connection"),
        (["--store", "sqlite:///FILE"], "the store cannot be read: file is not a database"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").write_text("no database, and no line of JSON, but long enough to be looked at by whoever opens it" * 9)

    said = refusal("events", *argv)

    assert said.startswith(sentence)
    assert "planted" not in said
    assert os.listdir() == ["FILE"]


FAR = [1e300, -1e300, 1e20, -1e20, 253402300800.0, -62135596801.0, 1e3]


@pytest.mark.parametrize("scheme", ["jsonl:", "sqlite:///"])
@pytest.mark.parametrize(
    "words",
    [["list"], ["list", "--json"], ["export"], ["export", "--to", "csv"], ["summary"], ["prune", "--older-than", "1d"]],
    ids=" ".join,
)
def test_times_outside_the_calendar_end_no_command(tmp_path: Path, scheme: str, words: list[str]) -> None:
    address = written(f"{scheme}{tmp_path / 'calls'}", *[record(at, "failure", MISSING, call=str(at)) for at in FAR])

    ran = run("events", *words, "--store", address)

    is_prunable = scheme != "jsonl:" or words[0] != "prune"
    assert (ran.code, ran.err == "") == ((0, True) if is_prunable else (2, False))
    assert "Traceback" not in ran.err


def test_times_outside_the_calendar_are_numbers_in_a_sheet(tmp_path: Path) -> None:
    address = written(f"jsonl:{tmp_path / 'calls'}", *[record(at) for at in FAR])

    rows = list(csv.DictReader(io.StringIO(run("events", "export", "--to", "csv", "--store", address).out)))

    assert [row["time"] for row in rows] == [*map(str, FAR[:-1]), "1970-01-01T00:16:40.000+00:00"]


class Narrow(io.StringIO):
    """A terminal of 80 columns."""

    def isatty(self) -> bool:
        return True


LONG = fw.Failure(
    code="SERVICE_UNAVAILABLE", message="The payment provider is being deployed; it will be back in about five minutes."
)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Narrow:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    return Narrow()


def test_a_terminal_of_80_columns_shows_the_whole_message(tmp_path: Path, narrow: Narrow) -> None:
    failed = record(1e3, "failure", LONG, server="billing", tool="refund_payment", call="1", decision="retry")
    store = written(f"jsonl:{tmp_path / 'calls'}", failed)

    ran = run("events", "--store", store, stdout=narrow)

    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    at = lines[0].index("message")
    assert " ".join(line[at:].strip() for line in lines[1:]) == f"SERVICE_UNAVAILABLE: {LONG.message}"
    assert "refund_payment" in lines[1]


def test_a_terminal_of_80_columns_shows_how_failures_ended(tmp_path: Path, narrow: Narrow) -> None:
    failed = record(1e3, "failure", LONG, server="billing", tool="refund_payment", call="1", arguments="a")
    moved = record(1e3, "failure", LONG, server="billing", tool="refund_payment", call="1", session="t", arguments="a")
    other = record(1001.0, "success", server="billing", tool="other", call="2", session="t", arguments="a")
    store = written(f"jsonl:{tmp_path / 'calls'}", failed, moved, other)

    ran = run("events", "summary", "--store", store, stdout=narrow)

    table = ran.out.partition("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 80
    at = table[0].index("how")
    assert " ".join(line[at:].strip() for line in table[1:]) == "moved on 1, unresolved 1"
    assert table[1].split()[:3] == ["refund_payment", "SERVICE_UNAVAILABLE", "0%"]


@pytest.mark.parametrize("action", [["list"], ["tail"], ["summary"], ["export"], ["mark", "deployed"]])
@pytest.mark.parametrize("text", ["# Notes\nnothing of ours\n", '{"level": "info"}\n' * 30, "\x00\xff\n"])
def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path, action: list[str], text: str) -> None:
    path = tmp_path / "notes"
    path.write_text(text, encoding="utf-8")

    ran = run("events", *action, "--store", f"jsonl:{path}")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"failwell: {str(path)!r} contains no events: it seems to belong to another program\n"
    assert path.read_text(encoding="utf-8") == text


def test_a_file_whose_first_line_was_cut_off_is_read(tmp_path: Path) -> None:
    store = written(f"jsonl:{tmp_path / 'calls'}", *TOLD)
    path = tmp_path / "calls"
    path.write_bytes(path.read_bytes()[40:])

    assert len(listed("--store", store)) == len(TOLD) - 1


@pytest.mark.parametrize(
    ("events", "sentences"),
    [
        ([], "There are no calls to summarize.\n"),
        ([("find", None)], "1 session, 1 call, 0 failed.\n"),
        ([("find", DOWN), ("other", None)], "Agents moved on from 1 failure.\n1 wasted call, "),
        ([("find", MISSING), ("find", None)], "Agents recovered from 1 of 1 failure (100%).\n0 wasted calls, "),
    ],
)
def test_the_summary_is_in_whole_sentences(tmp_path: Path, events: list[Any], sentences: str) -> None:
    path = tmp_path / "calls"
    path.touch()
    store = written(f"jsonl:{path}", *session(*events))

    assert sentences in run("events", "summary", "--store", store).out


def test_a_mark_is_an_event_that_no_figure_counts(store: str) -> None:
    before = run("events", "summary", "--store", store).out

    told = run("events", "mark", "billing 2.3 deployed", "--store", store)
    as_json = run("events", "mark", "\x1b[2J token sk-ant-REDACTED", "--store", store, "--json")

    assert told.out.endswith("UTC: billing 2.3 deployed\n")
    assert "\\u001b" not in as_json.out
    marks = [
        json.loads(line) for line in run("events", "--show", "servers", "--json", "--store", store).out.splitlines()
    ]
    assert [mark["kind"] for mark in marks] == ["mark", "mark"]
    assert marks[0]["reason"] == "billing 2.3 deployed"
    assert run("events", "summary", "--store", store).out == before


def test_pruning_tells_programs_what_it_did(tmp_path: Path) -> None:
    store = written(f"sqlite:///{tmp_path / 'calls'}", *TOLD)

    would = json.loads(run("events", "prune", "--store", store, "--keep", "1", "--json").out)
    did = json.loads(run("events", "prune", "--store", store, "--keep", "1", "--yes", "--json").out)

    assert would == {"would_delete": 2, "deleted": 0}
    assert (did["deleted"], set(did)) == (2, {"would_delete", "deleted", "bytes_before", "bytes_after"})


def test_following_outlives_a_store_that_is_away_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, naps = written(f"sqlite:///{tmp_path / 'calls'}", TOLD[0]), list[float]()
    read = SqlReader.fresh

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            written(store, TOLD[1])
        if len(naps) == 5:
            raise KeyboardInterrupt

    def sometimes(self: SqlReader, *which: Any) -> list[Record]:
        if len(naps) < 3:
            raise Unreadable("the store cannot be read: server closed the connection")
        return read(self, *which)

    monkeypatch.setattr("time.sleep", nap)
    monkeypatch.setattr(SqlReader, "fresh", sometimes)
    ran = run("events", "tail", "--store", store, "--json")

    assert [json.loads(line)["time"] for line in ran.out.splitlines()] == [1000.0, 1001.0]
    assert ran.err.count("server closed the connection; trying again") == 1


FOREIGN = {
    "corrupt": (None, "the store cannot be read: file is not a database"),
    "foreign": (["CREATE TABLE users (name)"], "no events have been written there yet"),
    "newer": (
        ["CREATE TABLE failwell_schema (version INTEGER)", "INSERT INTO failwell_schema VALUES (99)"],
        "this store was made by a later version of failwell (format 99, and this one knows",
    ),
    "half": (
        [
            "CREATE TABLE failwell_schema (version INTEGER)",
            f"INSERT INTO failwell_schema VALUES ({VERSION})",
            "CREATE TABLE failwell_records (number INTEGER)",
        ],
        "the store cannot be read: no such column",
    ),
}


@pytest.mark.parametrize("action", [["list"], ["tail"], ["summary"], ["export"], ["mark", "deployed"]])
@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_store_of_ours_is_refused_in_one_line_and_left_as_it_is(
    tmp_path: Path, name: str, action: list[str]
) -> None:
    statements, sentence = FOREIGN[name]
    path = tmp_path / "calls.db"
    if statements is None:
        path.write_bytes(bytes(range(256)) * 20)
    else:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()
    before = path.read_bytes()

    refused = refusal("events", *action, "--store", f"sqlite:///{path}")

    assert refused.startswith(sentence)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["calls.db"]
