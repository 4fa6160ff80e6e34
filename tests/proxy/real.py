"""Published servers, started for real, with and without the proxy: `nox -s proxy`.

Where the servers are is told by `FAILWELL_SERVERS`, folders with programs joined as in `PATH`. What they answer must be
the same to the byte, and failures must have become structured ones of the right type.
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import failwell as fw

PLACES = os.environ.get("FAILWELL_SERVERS", "")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Step(NamedTuple):
    """A call, and the type of the failure it ends with, if it fails."""

    tool: str
    arguments: dict[str, Any]
    fails: str | None = None


class Script(NamedTuple):
    """A server's command with `{work}` for its folder, and the calls to make."""

    command: tuple[str, ...]
    steps: tuple[Step, ...]


SCRIPTS = {
    "time": Script(
        ("mcp-server-time", "--local-timezone", "UTC"),
        (
            Step("get_current_time", {"timezone": "Middle/Earth"}, "VALIDATION"),
            Step("convert_time", {"source_timezone": "UTC", "time": "25:99", "target_timezone": "UTC"}, "VALIDATION"),
        ),
    ),
    "git": Script(
        ("mcp-server-git",),
        (
            Step("git_status", {"repo_path": "{work}/repo"}),
            Step("git_log", {"repo_path": "{work}/repo", "max_count": 1}),
            Step("git_show", {"repo_path": "{work}/repo", "revision": "nowhere"}, "NOT_FOUND"),
            Step("git_checkout", {"repo_path": "{work}/repo", "branch_name": "nowhere"}, "NOT_FOUND"),
            Step("git_status", {"repo_path": "{work}/no-repo"}, "INTERNAL"),  # the server says no more than the path
            Step("git_status", {}, "VALIDATION"),
        ),
    ),
    "fetch": Script(
        ("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"),
        (
            Step("fetch", {"url": "http://127.0.0.1:{port}/page"}),
            Step("fetch", {"url": "http://127.0.0.1:{port}/missing"}, "NOT_FOUND"),
            Step("fetch", {"url": "http://127.0.0.1:{port}/busy"}, "TRANSIENT"),
            Step("fetch", {"url": "no url"}, "VALIDATION"),
        ),
    ),
    "sqlite": Script(
        ("mcp-server-sqlite", "--db-path", "{work}/notes.db"),
        (
            Step("create_table", {"query": "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"}),
            Step("write_query", {"query": "INSERT INTO notes (text) VALUES ('one')"}),
            Step("read_query", {"query": "SELECT * FROM notes"}),
            Step("write_query", {}, "VALIDATION"),
        ),
    ),
    "filesystem": Script(
        ("mcp-server-filesystem", "{work}"),
        (
            Step("read_text_file", {"path": "{work}/a.txt"}),
            Step("list_directory", {"path": "{work}"}),
            Step("read_text_file", {"path": "{work}/missing.txt"}, "NOT_FOUND"),
            Step("read_text_file", {"path": "/etc/passwd"}, "PERMISSION"),
            Step("read_text_file", {"path": 5}, "VALIDATION"),
        ),
    ),
    "memory": Script(
        ("mcp-server-memory",),
        (
            Step("create_entities", {"entities": [{"name": "a", "entityType": "b", "observations": ["c"]}]}),
            Step("read_graph", {}),
            Step("add_observations", {"observations": [{"entityName": "nobody", "contents": ["x"]}]}, "NOT_FOUND"),
            Step("create_entities", {"entities": "many"}, "VALIDATION"),
        ),
    ),
}


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = {"/page": 200, "/busy": 503}.get(self.path, 404)
        body = b"<html><body><p>Hello from a page.</p></body></html>"
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


def prepared(work: Path) -> None:
    """Make the folder what it was before the first run."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "repo").mkdir(parents=True)
    (work / "no-repo").mkdir()
    (work / "a.txt").write_text("hello\n")
    fixed = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("init", "-q", "-b", "main"), (*who, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *command], cwd=work / "repo", check=True, env={**os.environ, **fixed})


def session(command: list[str], steps: list[tuple[str, dict[str, Any]]], work: Path) -> tuple[list[bytes], int]:
    """Return the lines that a server answers, one for each request, and its exit code."""
    requests: list[tuple[str, dict[str, Any]]] = [("initialize", HELLO), ("tools/list", {})]
    requests += [("tools/call", {"name": tool, "arguments": arguments}) for tool, arguments in steps]
    lines: list[bytes] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=work,
        env={**os.environ, "MEMORY_FILE_PATH": str(work / "memory.jsonl")},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for id, (method, params) in enumerate(requests):
            message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            if method == "initialize":
                process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            process.stdin.flush()
            while line := process.stdout.readline():
                lines.append(line)
                if json.loads(line).get("id") == id:
                    break
        process.stdin.close()
        lines += process.stdout
    return lines, process.returncode


def is_failed(line: bytes) -> bool:
    message = json.loads(line)
    return "error" in message or message.get("result", {}).get("isError") is True


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_real_server_answers_the_same_but_for_its_failures(name: str, port: int, tmp_path: Path) -> None:
    script, work = SCRIPTS[name], tmp_path / "work"
    program = shutil.which(script.command[0], path=PLACES)
    assert program is not None, f"{script.command[0]} is not in FAILWELL_SERVERS"
    command = [program, *(part.replace("{work}", str(work)) for part in script.command[1:])]
    told = json.dumps([[step.tool, step.arguments] for step in script.steps])
    steps = json.loads(told.replace("{work}", str(work)).replace("{port}", str(port)))

    prepared(work)
    direct, code = session(command, steps, work)
    prepared(work)
    proxied, proxied_code = session(
        [sys.executable, "-m", "failwell", "proxy", "--grace", "60", "--", *command], steps, work
    )

    expected = [step.fails for step in script.steps]
    assert [is_failed(line) for line in direct][-len(expected) :] == [fails is not None for fails in expected]
    assert [line for line in direct if not is_failed(line)] == [line for line in proxied if not is_failed(line)]
    failures = [fw.read(json.loads(line)) for line in proxied if is_failed(line)]
    assert [failure and failure.type for failure in failures] == [fails for fails in expected if fails]
    for before, after in zip(filter(is_failed, direct), filter(is_failed, proxied), strict=True):
        original = json.loads(after)["result"]["_meta"]["dev.failwell/original"]
        said = json.loads(before)
        assert (
            original.get("text") == "\n".join(block["text"] for block in said["result"]["content"])
            if ("result" in said)
            else original["error"]["code"] == said["error"]["code"]
        )
    assert proxied_code == code
