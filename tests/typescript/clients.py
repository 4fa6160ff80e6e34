"""Real TypeScript clients get the failures of our servers. Run by `make matrix`, as it needs node and npm."""

import functools
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.dialects import DIALECTS
from tests.matrix.servers import DEPRECATED, MISSING, SECRET

HERE = Path(__file__).parent
SERVER = HERE.parent / "matrix" / "servers.py"
EXAMPLES = HERE.parents[1] / "examples" / "servers"
CLIENTS = {"1": "@modelcontextprotocol/sdk", "2": "@modelcontextprotocol/client"}
CALLS = (
    ("missing_schema", {}),
    ("warned_schema", {}),
    ("broken_output", {}),
    ("declared", {}),
    ("crash", {}),
    ("claim", {"task": 1}),
    ("data", {}),
    ("no_such_tool", {}),
)
CODES = {
    "missing_schema": "NOT_FOUND",
    "warned_schema": "DEPRECATED",
    "broken_output": "INTERNAL_ERROR",
    "declared": "NOT_FOUND",
    "crash": "INTERNAL_ERROR",
    "claim": "VALIDATION_FAILED",
    "no_such_tool": "UNKNOWN_TOOL",
}
PATIENCE = 300  # seconds until a hanging process is ended; nothing is measured


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the script and the clients it calls."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.fail("these tests call TypeScript clients: install node 20 or newer, with npm")
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("package.json", "call.mjs"):
        shutil.copy(HERE / name, folder)
    install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=folder, check=True, timeout=PATIENCE, capture_output=True)
    return folder


@functools.cache
def _answers(folder: Path, version: str, calls: str, *server: str) -> dict[str, Any]:
    command = ["node", "call.mjs", version, calls, sys.executable, "-W", "ignore", *server]
    done = subprocess.run(command, cwd=folder, check=False, timeout=PATIENCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def answers(folder: Path, version: str, kind: str, settings: dict[str, Any] | None) -> dict[str, Any]:
    """Return what a client gets from each call to a server, protected with settings or bare."""
    return _answers(folder, version, json.dumps(CALLS), str(SERVER), kind, json.dumps(settings))


each_client = pytest.mark.parametrize("version", CLIENTS, ids=CLIENTS.values())
each_server = pytest.mark.parametrize("kind", ["fastmcp", "mcp", "lowlevel"])
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@each_client
def test_the_client_is_the_one_that_is_named(installed: Path, version: str) -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"][CLIENTS[version]]
    found = json.loads((installed / "node_modules" / CLIENTS[version] / "package.json").read_text())["version"]

    assert found == wanted
    assert found.startswith(f"{version}.")


@each_dialect
@each_server
@each_client
def test_a_failure_of_a_tool_with_an_output_schema_arrives_as_that_failure(
    installed: Path, version: str, kind: str, dialect: str
) -> None:
    found = answers(installed, version, kind, {"dialect": dialect, "structured": True})
    result = found["missing_schema"]["result"]

    expected = fw.dialects.canonical(MISSING.failure.replace(tool="missing_schema"))
    assert fw.read(result) == expected
    assert result["isError"] is True
    assert "structuredContent" not in result
    [block] = result["content"]
    assert expected.message in block["text"]


@each_dialect
@each_server
@each_client
def test_every_other_failure_arrives_too_and_nothing_is_thrown(
    installed: Path, version: str, kind: str, dialect: str
) -> None:
    found = answers(installed, version, kind, {"dialect": dialect, "structured": True})

    failures = {name: fw.read(answer["result"]) for name, answer in found.items()}
    assert {name: failure.code for name, failure in failures.items() if failure is not None} == CODES
    assert failures["warned_schema"] == fw.dialects.canonical(DEPRECATED.replace(tool="warned_schema"))
    assert found["data"]["result"]["structuredContent"] == {"n": 5}
    assert SECRET not in json.dumps(found)


@pytest.mark.parametrize("example", ["fastmcp_server.py", "mcp_server.py", "mcp_lowlevel_server.py"])
@each_client
def test_failures_of_the_example_servers_arrive(installed: Path, version: str, example: str) -> None:
    calls = [("read_task", {"task": "t-9"}), ("claim_task", {"task": "t-1", "hours": 9}), ("read_tasks", {})]
    found = _answers(installed, version, json.dumps(calls), str(EXAMPLES / example))

    failures = {name: fw.read(answer["result"]) for name, answer in found.items()}
    assert {name: failure.code for name, failure in failures.items()} == {
        "read_task": "NOT_FOUND",
        "claim_task": "CONFLICT",
        "read_tasks": "UNKNOWN_TOOL",
    }
    assert failures["read_task"].actions == ("list_tasks",)
    assert failures["claim_task"].details == {"most": 8}


@each_server
@each_client
def test_without_us_the_client_gets_a_sentence_or_throws(installed: Path, version: str, kind: str) -> None:
    found = answers(installed, version, kind, None)

    failed = [answer for name, answer in found.items() if name != "data"]
    assert len(failed) == len(CODES)
    assert all("thrown" in answer or fw.read(answer["result"]).origin == "inferred" for answer in failed)


def test_an_error_in_structured_content_is_lost_in_the_client_most_hosts_have(installed: Path) -> None:
    answered = {
        version: _answers(installed, version, '[["count", {}]]', str(HERE / "by_hand.py"))["count"]
        for version in CLIENTS
    }

    assert answered["1"]["thrown"]["code"] == -32602
    assert "Rate limited" not in answered["1"]["thrown"]["message"]
    assert answered["2"]["result"]["isError"] is True
