"""What the proxy keeps of all calls: in a file or a store, from both of its forms, and nothing unless asked."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from failwell.event import Event
from failwell.proxy.command import check_installed, fill_events, open_events
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import BadOption, parse
from failwell.proxy.recorder import server_name
from failwell.records import RecordStore
from tests.proxy.clients import HELLO, SERVER, Client
from tests.proxy.http.setting import call, failing, post, scripted, success
from tests.records.samples import read_file


def test_every_call_is_in_the_store_once_it_ended(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    with Client("--events", address, "--name", "tasks") as client:
        client.call("look", n=1)
        failed = client.call("act", n=2, do="fail:404 Not Found")
        client.call("look", n=1)

    with RecordStore(address) as store:
        records = list(store.records())

    assert [(one.source, one.server, one.tool, one.kind, one.names) for one in records] == [
        ("proxy", "tasks", "look", "success", ("n",)),
        ("proxy", "tasks", "act", "failure", ("n", "do")),
        ("proxy", "tasks", "look", "success", ("n",)),
    ]
    assert records[0].arguments == records[2].arguments
    assert records[1].text == failed["result"]["content"][0]["text"]
    assert len({one.session for one in records}) == 1
    assert [one.call for one in records] == ["3", "4", "5"]
    assert all(one.elapsed is not None and one.elapsed > 0 for one in records)


def test_the_end_of_the_process_writes_what_waits(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    lines = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"id": 2, "method": "tools/call", "params": {"name": "act", "arguments": {"n": 1, "do": "fail:404 Not Found"}}},
    ]
    sent = b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines)
    command = [
        sys.executable,
        "-m",
        "failwell",
        "proxy",
        "--quiet",
        "--grace",
        "30",
        "--events",
        address,
        "--",
        *SERVER,
    ]

    done = subprocess.run(command, input=sent, capture_output=True, check=True, timeout=60)

    with RecordStore(address) as store:
        records = list(store.records())
    assert done.stderr == b""
    assert [(one.tool, one.kind, one.code) for one in records] == [("act", "failure", "NOT_FOUND")]


def test_a_server_that_dies_is_on_record(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with Client("--events", f"jsonl:{path}") as client:
        client.call("act", n=1, do="exit:3")
        client.wait()
    records = read_file(path)

    assert [(one.kind, one.code) for one in records] == [("died", None), ("failure", "CONNECTION_LOST")]
    assert records[0].details == {"exit_code": 3, "pending": 1}


def test_clients_of_the_gateway_are_sessions_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"

    async def handler(request: web.Request) -> web.Response:
        asked = await request.json()
        fails = asked["params"]["arguments"].get("fail")
        return web.json_response(failing(asked["id"], "404 Not Found") if fails else success(asked["id"]))

    async def run() -> None:
        async with scripted(handler) as url:
            options = parse(["--url", f"{url}/mcp?key=planted", "--listen", "127.0.0.1:0", "--events", str(path)])
            setup = Setup(options, open_events(options.events))
            async with listening(options, setup) as port:
                base = f"http://127.0.0.1:{port}/mcp"
                for name, fail in (("ann", 1), ("bob", 0), ("ann", 0)):
                    await post(base, call("work", 1, fail=fail), Mcp_Session_Id=name)
            setup.close()

    asyncio.run(run())
    records = read_file(path)

    assert [(one.kind, one.code) for one in records] == [("failure", "NOT_FOUND"), ("success", None), ("success", None)]
    assert records[0].session == records[2].session != records[1].session
    assert all(one.elapsed is not None for one in records)
    assert "planted" not in path.read_text()
    assert "ann" not in path.read_text()


def test_retries_of_the_gateway_join_their_call(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    answers: list[Any] = [failing(text="503 Service Unavailable"), success()]

    async def handler(request: web.Request) -> web.Response:
        asked = await request.json()
        if asked["method"] == "tools/list":  # asked for by the gateway itself, to read the failure better
            return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": []}})
        return web.json_response({**answers.pop(0), "id": asked["id"]})

    async def run() -> None:
        async with scripted(handler) as url:
            words = ["--retry", "--retry-safe", "work", "--events", str(path)]
            options = parse(["--url", f"{url}/mcp", "--listen", "127.0.0.1:0", *words])
            setup = Setup(options, open_events(options.events))
            async with listening(options, setup) as port:
                await post(f"http://127.0.0.1:{port}/mcp", call())
            setup.close()

    asyncio.run(run())
    records = read_file(path)

    assert [(one.kind, one.attempt, one.call) for one in records] == [("retry", 1, "1"), ("recovered", 2, "1")]
    assert records[0].delay is not None


@pytest.mark.parametrize(
    "where", ["mysql://planted@h/d", "sqlite://", "sqlite:///", "postgresql://", "http://planted.example/x"]
)
def test_a_place_that_is_no_store_is_refused_without_being_shown(where: str) -> None:
    with pytest.raises(BadOption) as caught:
        open_events(where)

    assert str(caught.value) == ("--events takes a file, sqlite:///FILE, postgresql://HOST/DATABASE or otlp:URL")


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("sqlite:///calls.db?keep_age=soon", "'soon' is not a time span: write it like 90s, 15m, 12h, 30d or 2w"),
        ("postgresql://planted@h/d?keep_size=1GB", "keep_size is for SQLite: PostgreSQL keeps the space"),
        ("sqlite:///calls.db?keep_count=1&keep_count=2", "keep_count is given twice"),
    ],
)
def test_what_a_store_shall_keep_is_looked_at_before_the_server_starts(where: str, sentence: str) -> None:
    with pytest.raises(BadOption) as caught:
        open_events(where)

    assert str(caught.value).startswith(f"--events: {sentence}")
    assert "planted" not in str(caught.value)
    assert (
        open_events("sqlite:///calls.db?keep_age=30d&keep_size=2GB") == "sqlite:///calls.db?keep_age=30d&keep_size=2GB"
    )


def test_a_store_whose_library_is_missing_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "psycopg" else object())

    with pytest.raises(BadOption, match=r"--events needs psycopg: .*pip install 'failwell\[postgres\]'"):
        check_installed(parse(["--events", "postgresql://host/calls", "--", "server"]))
    check_installed(parse(["--events", "sqlite:///calls.db", "--", "server"]))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--name", "mine", "--", "npx", "x"], "mine"),
        (["--", "npx", "-y", "@scope/server-files", "/srv"], "server-files"),
        (["--", "/usr/bin/python3", "-m", "tasks.server"], "tasks.server"),
        (["--", "uv", "run", "server.py"], "server.py"),
        (["--", "/opt/bin/my-server", "--port", "1"], "my-server"),
        (["--", "node"], "node"),
        (["--", "python3.12", "-u", "server.py"], "server.py"),
        (["--", "python", "-c", "planted"], "python"),
        (["--", "docker", "run", "-i", "--rm", "-e", "PIN=planted", "acme/mcp"], "mcp"),
        (["--", "docker", "run", "--env=PIN=planted", "acme/mcp"], "mcp"),
        (["--", "docker", "run", "--label", "PIN=planted", "acme/mcp"], "docker"),
        (["--", "docker", "run", "PIN=planted"], "docker"),
        (["--", "uv", "--directory", "/srv/planted", "run", "server"], "server"),
        (["--", "env", "PIN=planted", "python", "server.py"], "server.py"),
        (["--", "env", "-i", "PIN=planted", "python", "server.py"], "env"),
        (["--", "env", "PIN=planted"], "env"),
        (["--url", "https://bob:planted@example.com/mcp"], "https://example.com/mcp"),
        (["--url", "https://example.com/mcp?key=x"], "https://example.com/mcp"),
    ],
)
def test_a_server_has_a_name_that_an_operator_knows_it_by(words: list[str], name: str) -> None:
    assert server_name(parse(words)) == name


def test_a_proxy_that_keeps_nothing_loads_nothing_of_it() -> None:
    program = """
import sys
sys.argv = ["failwell"]
from failwell.proxy.options import parse
from failwell.proxy import rewriter, summary
from failwell.proxy import conversation, failures
from failwell.proxy.stdio import effects, lazy_reader, restarts, runner
assert not [name for name in sys.modules if name.startswith("failwell.records") or "sqlalchemy" in name]
import failwell
assert failwell.Failure and not [name for name in sys.modules if name.startswith("failwell.records")]
print("fine")
"""

    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "fine\n"
    )


MODES = {
    "plain": [],
    "validating": ["--validate"],
    "retrying": ["--retry", "--deadline", "5"],
    "flipping": ["--retry", "--flip-unflagged", "look"],
    "dry": ["--observe"],
    "dry and validating": ["--observe", "--validate", "--retry"],
}


@pytest.mark.parametrize("mode", MODES)
def test_every_call_ends_exactly_once(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "calls.jsonl"
    deeds = ["", "fail:404 Not Found", "fail:503 Service Unavailable", "fail until:6"]
    with Client("--events", str(path), *MODES[mode]) as client:
        client.request("tools/list")
        for deed in deeds:
            client.call("look", n=1, do=deed)
        client.call("look", n="planted")
        client.call("look", n=2, do="error:-32602")
        client.call("absent", n=1)

    records = read_file(path)
    ends = Counter(one.call for one in records if (one.has_succeeded or one.has_failed))
    assert len(ends) == len(deeds) + 3
    assert set(ends.values()) == {1}
    for one in records:
        tries = [other for other in records if other.call == one.call and other.kind == "retry"]
        if (one.has_succeeded or one.has_failed) and "dry" not in mode:
            assert one.attempt == len(tries) + 1
        if one.details.get("refused"):
            assert (one.details["refused"], (one.has_succeeded or one.has_failed)) == ("VALIDATION_FAILED", True)
    assert "planted" not in path.read_text()


def test_events_go_where_a_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENTS_PASSWORD", "plan/ted")

    assert fill_events("postgresql://u:${EVENTS_PASSWORD}@h/d") == "postgresql://u:plan%2Fted@h/d"
    assert fill_events("${EVENTS_PASSWORD}.jsonl") == "plan/ted.jsonl"
    with pytest.raises(BadOption, match="--events needs the variable ABSENT, which is not set"):
        fill_events("postgresql://u:${ABSENT}@h/d")


def test_a_file_of_sqlite_that_can_never_be_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"--events takes a file, sqlite:///FILE"):
        open_events("sqlite://calls.db")
    with pytest.raises(BadOption, match=r"--events .*/absent/calls.db: No such file or directory"):
        open_events(f"sqlite:///{tmp_path}/absent/calls.db")

    assert open_events(f"sqlite:///{tmp_path}/calls.db")


def test_an_operator_is_told_of_records_that_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    address = f"sqlite:///{folder / 'calls.db'}"
    options = parse(["--url", "http://127.0.0.1:1/mcp", "--listen", "127.0.0.1:0", "--events", address])
    setup = Setup(options, address)
    folder.rmdir()
    assert setup.on_event is not None
    setup.on_event(Event(source="proxy", kind="success", tool="look", call=1))
    setup.close()
    setup.settings.calls["look"] = 1
    setup.write_summary()

    lines = capfd.readouterr().err.splitlines()
    assert all(line.startswith("failwell: ") for line in lines)
    assert lines[-1] == "failwell: 1 call records were lost"
    assert lines[0].startswith("failwell: call records cannot be written and are waiting: ")
