"""What only LangChain has: interceptors that ask a person."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from failwell.integrations.langchain import fail_well
from tests.stacks.runners.langchain import Script
from tests.stacks.setting import DONE, Call

pytestmark = pytest.mark.filterwarnings("default")


def test_a_call_that_waits_for_a_person_is_no_failure_and_is_retried_after_the_answer(tmp_path: Path) -> None:
    call = Call("search", tmp_path / "calls")
    call.notes.touch()

    async def ask(request: Any, handler: Any) -> Any:
        assert interrupt("may I?") == "yes"
        return await handler(request)

    async def ask_and_answer() -> tuple[Any, Any]:
        server = {"stacks": {"transport": "stdio", **call.stdio}}
        client = MultiServerMCPClient(server, tool_interceptors=[ask, fail_well()])
        model = Script(calls=[{"name": call.tool, "args": call.arguments, "id": "1"}])
        agent = create_agent(model, await client.get_tools(), checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "1"}}
        asked = await agent.ainvoke({"messages": [("user", "go")]}, thread)
        return asked["__interrupt__"], (await agent.ainvoke(Command(resume="yes"), thread))["messages"][-1].content

    [asked], said = asyncio.run(ask_and_answer())

    assert (asked.value, said) == ("may I?", DONE)
    assert call.notes.read_text().split() == ["search", "search"]
