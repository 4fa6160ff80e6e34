"""`failwell serve`: what agents can ask, and what they cannot make it do."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import failwell as fw
from failwell.cli import serve
from tests.check.servers import graded
from tests.cli.streams import refusal

POLICY = "[servers.tasks]\nretry = true\n[servers.gone]\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def ask(home: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Start the server as a host does, make calls, and return the results."""
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    policy = home / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "failwell", "serve", "--policy", str(policy)], env={"HOME": str(home)}
    )

    async def converse() -> list[Any]:
        async with stdio_client(started) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [await session.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(converse())


def text(result: Any) -> Any:
    return json.loads(result.content[0].text)


def test_an_agent_asks_what_a_code_means_reads_an_error_and_converts_it(home: Path) -> None:
    code, unknown, read, converted, unconverted = ask(
        home,
        ("explain_code", {"code": "RATE_LIMITED"}),
        ("explain_code", {"code": "RATE_LIMTED"}),
        ("read_error", {"error": "connection refused", "tool": "search"}),
        ("convert_error", {"error": "connection refused", "to": "xml"}),
        ("convert_error", {"error": "connection refused", "to": "xlm"}),
    )

    assert text(code)["type"] == "TRANSIENT"
    assert "did you mean 'RATE_LIMITED'" in unknown.content[0].text
    assert text(read)["failure"]["code"] == "CONNECTION_REFUSED"
    assert text(converted)["content"][0]["text"].startswith("<")
    failure = fw.read(unconverted)
    assert failure is not None
    assert "did you mean 'xml'" in failure.message


def test_only_servers_of_the_policy_file_are_checked_and_by_the_user_s_own_command(home: Path) -> None:
    command, *args = graded("none")
    servers = {"tasks": {"command": command, "args": args}, "other": {"command": command, "args": args}}
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")

    named, unnamed, absent, *commands = ask(
        home,
        ("check_server", {"name": "tasks"}),
        ("check_server", {"name": "other"}),
        ("check_server", {"name": "gone"}),
        ("check_server", {"name": f"{command} -c 'print(1)'"}),
        ("check_server", {"name": "http://127.0.0.1:1/mcp"}),
    )

    assert (text(named)["score"], text(named)["grade"]) == (100, "A")
    for refused in (unnamed, *commands):
        failure = fw.read(refused)
        assert failure is not None
        assert (failure.code, failure.type) == ("FORBIDDEN", "PERMISSION")
        assert "It names: gone, tasks." in failure.message
    failure = fw.read(absent)
    assert failure is not None
    assert failure.code == "NOT_FOUND"


def test_a_server_that_only_a_project_configures_is_not_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = home / "project"
    project.mkdir()
    (project / ".mcp.json").write_text('{"mcpServers": {"tasks": {"command": "evil"}}}', encoding="utf-8")
    monkeypatch.chdir(project)

    assert serve.find_configured("tasks") is None


def test_a_policy_file_that_is_wrong_is_refused_before_anything_is_served(home: Path) -> None:
    policy = home / "policy.toml"
    policy.write_text("[servers.tasks]\nretyr = true\n", encoding="utf-8")

    assert "did you mean 'retry'" in refusal("serve", "--policy", str(policy))
