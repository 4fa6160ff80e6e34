"""The configurations in examples/hosts: each command is run for real, in front of a server of the tests."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import failwell as fw
from tests.matrix.stdio import Wire

FOLDER = Path(__file__).parents[2] / "examples" / "hosts"
SERVER = [sys.executable, "-I", str(Path(__file__).parents[1] / "proxy" / "servers.py")]
FAILING = "look", {"n": 1, "do": "fail:503 Service Unavailable"}
TOKEN = "t0ken"


def configured() -> Iterator[Any]:
    for path in sorted(FOLDER.rglob("*.json")):
        settings = json.loads(path.read_text(encoding="utf-8"))
        for name, server in (settings.get("mcpServers") or settings["servers"]).items():
            yield pytest.param(server, id=f"{path.parent.name}-{name}")


def through_url(server: dict[str, Any]) -> bool:
    return "--url" in server["args"]


each_started = pytest.mark.parametrize("server", [row for row in configured() if not through_url(row.values[0])])
each_remote = pytest.mark.parametrize("server", [row for row in configured() if through_url(row.values[0])])


@contextmanager
def started(server: dict[str, Any], args: list[str]) -> Iterator[Wire]:
    """Run a configured command with the command that hosts find on their path."""
    scripts = Path(sys.executable).parent
    env = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    # What hosts put in place of their own variables.
    env |= {name: re.sub(r"\$\{\w+:[\w-]+\}|paste .*", TOKEN, value) for name, value in server.get("env", {}).items()}
    with subprocess.Popen(
        [server["command"], *args],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield Wire(process, "handshake")
        finally:
            process.kill()


class Remote(BaseHTTPRequestHandler):
    """An MCP server that says who it thinks is asking, and has no time for calls."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["method"] == "tools/call":
            self.send_response(503)
            self.send_header("Retry-After", "30")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        seen = {"name": self.headers.get("Authorization", ""), "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": seen}
        body = (
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() if "id" in message else b""
        )
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        self.do_GET()

    def log_message(self, *args: Any) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def remote() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Remote) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


def test_every_host_shows_both_kinds_of_servers() -> None:
    hosts = {path.parent.name for path in FOLDER.rglob("*.json")}
    shown = {(row.id.partition("-")[0], through_url(row.values[0])) for row in configured()}

    assert hosts == {"claude_desktop", "cursor", "vscode"}
    assert shown == {(host, is_remote) for host in hosts for is_remote in (True, False)}


@each_started
def test_a_server_that_a_host_starts_fails_well(server: dict[str, Any]) -> None:
    own = server["args"][: server["args"].index("--") + 1]
    assert len(own) < len(server["args"])

    with started(server, [*own, *SERVER]) as client:
        failure = fw.read(client.call(*FAILING))

    assert failure is not None
    assert (failure.code, failure.tool) == ("SERVICE_UNAVAILABLE", "look")


@each_remote
def test_a_server_behind_a_url_fails_well_and_gets_the_token(server: dict[str, Any], remote: str) -> None:
    args = [remote if word.startswith("https:") else word for word in server["args"]]
    assert TOKEN not in " ".join(args)

    with started(server, args) as client:
        hello = client.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
        failure = fw.read(client.call(*FAILING))

    assert hello["result"]["serverInfo"]["name"] == f"Bearer {TOKEN}"
    assert failure is not None
    assert (failure.code, failure.retry_after) == ("SERVICE_UNAVAILABLE", 30)
