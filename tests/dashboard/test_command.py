"""`failwell dashboard`: from the options to a page that is served, or one line that says what is wrong."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.cli.streams import refusal
from tests.dashboard.stores import write
from tests.records.samples import MISSING, engine_of, session

TOKEN = "planted-token-0123456789"


@pytest.fixture
def store(tmp_path: Path) -> str:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    write(address, session(("find", MISSING), ("find", None)))
    return address


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--store", "calls.db"), "a store needs an address such as sqlite:///calls.db or postgresql://host/database"),
        (("--store", "jsonl:x"), "a store needs an address such as sqlite:///calls.db or postgresql://host/database"),
        (
            ("--store", "mysql://h/d"),
            "a store needs an address such as sqlite:///calls.db or postgresql://host/database",
        ),
        (("--store", "sqlite:///x.db", "--listen", "nowhere"), "--listen must be a host and a port, such as"),
        (
            ("--store", "sqlite:///x.db", "--listen", "0.0.0.0:0"),
            "other machines can reach 0.0.0.0: set --token or FAILWELL_DASHBOARD_TOKEN, or listen on 127.0.0.1",
        ),
        (("--store", "sqlite:///x.db", "--token", "short"), "the token must have at least 16 characters of ASCII"),
        (
            ("--store", "postgresql://user:planted@127.0.0.1:1/calls"),
            "cannot use the store 127.0.0.1/calls: it cannot be reached",
        ),
    ],
)
def test_what_cannot_be_served_is_told_in_one_line(
    options: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAILWELL_DASHBOARD_TOKEN", raising=False)
    found = refusal("dashboard", *options)

    assert found.startswith(line)
    assert "planted" not in found


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(
        "no database at all, but long enough to be taken for one" * 30, encoding="utf-8"
    )

    assert refusal("dashboard", "--store", f"sqlite:///{tmp_path / 'notes.txt'}") == (
        "cannot use the store notes.txt: it is not a database"
    )


def test_a_store_of_a_later_version_is_left_alone(store: str) -> None:
    engine = engine_of(store)
    with engine.begin() as connection:
        connection.execute(text("UPDATE failwell_schema SET version = 999"))
    engine.dispose()

    assert refusal("dashboard", "--store", store).startswith("cannot read the store: ")


def test_an_address_that_is_taken_is_told(store: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        found = refusal("dashboard", "--store", store, "--listen", str(port))

    assert found.startswith(f"cannot listen on 127.0.0.1:{port}: ")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_page_is_served_until_a_signal_ends_it(store: str, ending: signal.Signals) -> None:
    command = [sys.executable, "-m", "failwell", "dashboard", "--store", store, "--listen", "127.0.0.1:0"]
    environment = {**os.environ, "FAILWELL_DASHBOARD_TOKEN": TOKEN}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", told)
        assert address is not None, told + process.stderr.read()
        request = urllib.request.Request(address[0], headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            page = answer.read()
        process.send_signal(ending)
        rest = process.stderr.read()

    assert (process.returncode, rest) == (0, "")
    assert b"failwell dashboard" in page
    assert told == f"failwell: the dashboard of calls.db is at {address[0]} (press Ctrl-C to stop)\n"
