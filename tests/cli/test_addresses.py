"""No command shows the secrets of an address that it was given, whatever becomes of it."""

import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.streams import run

SECRET = "hunter" + "2xyz"
AUTHORITIES = [f"user:{SECRET}@", f":{SECRET}@", f"{SECRET}@", f"user:p%40{SECRET}@", f"user:a@{SECRET}@"]


@pytest.fixture
def port() -> Iterator[int]:
    """A port where nobody listens, as long as the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("authority", AUTHORITIES)
@pytest.mark.parametrize("rest", ["/mcp", f"/mcp?token={SECRET}", f"/mcp?api_key={SECRET}&x=1"])
@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "ws"])
def test_check_shows_no_secret_of_an_address(scheme: str, authority: str, rest: str, port: int) -> None:
    ran = run("check", f"{scheme}://{authority}127.0.0.1:{port}{rest}")

    assert ran.code == 2
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize("words", [["check"], ["check", "--"]])
@pytest.mark.parametrize("authority", [authority for authority in AUTHORITIES if ":" in authority])
@pytest.mark.parametrize("host", ["example.com", "example.com/mcp", "example.com:8080"])
def test_an_address_without_a_scheme_is_no_program_and_keeps_its_secret(
    words: list[str], authority: str, host: str
) -> None:
    ran = run(*words, f"{authority}{host}")

    assert ran.code
    assert f"@{host}" in ran.err
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize("authority", AUTHORITIES)
@pytest.mark.parametrize("rest", ["127.0.0.1:PORT/calls", "127.0.0.1:port/calls", "/calls", "nowhere.invalid/calls"])
@pytest.mark.parametrize("action", ["list", "summary", "export", "prune"])
def test_events_shows_no_secret_of_a_store(action: str, authority: str, rest: str, port: int) -> None:
    ran = run("events", action, "--store", f"postgresql://{authority}{rest.replace('PORT', str(port))}")

    assert ran.code == 2
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize("address", [f"postgresql://user:{SECRET}@127.0.0.1:port/x", f"mysql://u:{SECRET}@h/d"])
@pytest.mark.parametrize("command", ["dashboard", "events"])
def test_a_store_that_is_none_is_refused_without_its_secret(command: str, address: str) -> None:
    ran = run(command, "--store", address)

    assert ran.code == 2
    assert SECRET not in ran.out + ran.err


@pytest.mark.parametrize("authority", AUTHORITIES)
@pytest.mark.parametrize(
    "words",
    [
        ["--url", "http://AUTHORITY127.0.0.1:PORT/mcp"],
        ["--url", "http://AUTHORITY127.0.0.1:PORT/mcp", "--listen", "127.0.0.1:0", "--workers", "0"],
        ["--url", "ftp://AUTHORITY127.0.0.1/mcp"],
        ["--retry", "--limits", "redis://AUTHORITY127.0.0.1:PORT/0", "--", "true"],
        ["--retry", "--limits", "redis://AUTHORITY127.0.0.1:port/0", "--", "true"],
        ["--events", "postgresql://AUTHORITY127.0.0.1:PORT/calls", "--", "true"],
        ["--events", "postgresql://AUTHORITY127.0.0.1:port/calls", "--", "true"],
        ["--events", "otlp:http://AUTHORITY127.0.0.1:PORT", "--", "true"],
        ["--events", "mysql://AUTHORITY127.0.0.1/x", "--", "true"],
        ["--", "postgresql://AUTHORITY127.0.0.1/no/such/program"],
        ["--", "bob:AUTHORITYexample.com"],
    ],
    ids=" ".join,
)
def test_a_proxy_shows_no_secret_of_an_address(words: list[str], authority: str, port: int) -> None:
    filled = [word.replace("AUTHORITY", authority).replace("PORT", str(port)) for word in words]
    ran = subprocess.run(
        [sys.executable, "-m", "failwell", "proxy", *filled],
        input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert SECRET.encode() not in ran.stdout + ran.stderr


class Guarded(BaseHTTPRequestHandler):
    """A server that notes who asks, and knows nothing."""

    seen: list[str | None]

    def do_POST(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_error(403)

    def log_message(self, *_: Any) -> None: ...


def test_user_and_password_of_an_address_reach_the_server_that_is_checked() -> None:
    Guarded.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        ran = run("check", f"http://ann:p%40{SECRET}@127.0.0.1:{server.server_port}/mcp")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

    assert ran.err.startswith("failwell: the server answered with HTTP status 403")
    assert set(Guarded.seen) == {f"Basic {b64encode(f'ann:p@{SECRET}'.encode()).decode()}"}


def test_a_report_does_not_name_the_secret_of_a_command(tmp_path: Path) -> None:
    ran = run("check", "--", sys.executable, "-c", "pass", f"--password={SECRET}")

    assert ran.code == 2
    assert SECRET not in ran.out + ran.err
