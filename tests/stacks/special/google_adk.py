"""What only ADK has: calls that a person must approve, told in the shape of an error."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from mcp import StdioServerParameters

from failwell.integrations.google_adk import fail_well
from tests.stacks.runners.google_adk import Script
from tests.stacks.setting import Call

pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize("plugins", [[], [fail_well()]], ids=["without", "with"])
def test_a_call_that_must_be_approved_stays_one(tmp_path: Path, plugins: list[Any]) -> None:
    call = Call("send_mail", tmp_path / "calls")
    call.notes.touch()

    async def ask() -> list[Any]:
        server = StdioConnectionParams(server_params=StdioServerParameters(**call.stdio))
        toolset = McpToolset(connection_params=server, require_confirmation=True)
        agent = LlmAgent(name="a", model=Script(model="script", call=call, shown=[]), tools=[toolset])
        runner = InMemoryRunner(app=App(name="a", root_agent=agent, plugins=plugins))
        try:
            return await runner.run_debug("go", quiet=True)
        finally:
            await runner.close()

    parts = [part for event in asyncio.run(ask()) for part in event.content.parts]
    [answer] = [part.function_response.response for part in parts if part.function_response]

    assert answer == {"error": "This tool call requires confirmation, please approve or reject."}
    assert call.notes.read_text() == ""
