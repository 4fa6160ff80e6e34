"""What only CrewAI does: over HTTP it repeats calls that succeed, so that a failing connection shows nothing of us."""

import importlib
from pathlib import Path

import pytest

from tests.http_faults import Answer, FaultServer
from tests.stacks.setting import Call

pytestmark = pytest.mark.filterwarnings("default")


def test_a_call_over_http_that_succeeds_is_repeated_without_us(tmp_path: Path) -> None:
    runner = importlib.import_module("tests.stacks.runners.crewai")  # importing CrewAI warns
    server = FaultServer()
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    server.tool("send", Answer("Sent."), inputSchema=schema, description="A tool.")

    with server.running() as url:
        seen = runner.run(Call("send", tmp_path / "calls", url, ()), None)

    assert len(server.effects) > 1  # if not, it can be run over failing connections, and the page says so
    assert "Error during MCP client disconnect" in seen.model
