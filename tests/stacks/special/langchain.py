"""What only LangChain has: interceptors that ask a person."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

import failwell as fw
from failwell.integrations.langchain import fail_well
from tests.http_faults import Answer, FaultServer
from tests.stacks.runners.langchain import Script
from tests.stacks.setting import DONE, Call

pytestmark = pytest.mark.filterwarnings("default")


DENIED = {
    "result": fw.encode(fw.Denied("You may not read the archive.", suggestion="Ask the owner for access."))
    | {"isError": True}
}


def run_archive(*meets: Any, resume: str) -> tuple[Any, list[Any], FaultServer]:
    """Let an agent call a tool that a person must clear; return what was asked, the messages, and the server."""
    server = FaultServer()
    server.tool("read_archive", *meets, description="Reads.")

    async def ask_and_answer(url: str) -> tuple[Any, list[Any]]:
        connection: Any = {"archive": {"transport": "streamable_http", "url": url}}
        client = MultiServerMCPClient(connection, tool_interceptors=[fail_well(interrupts=True)])
        model = Script(calls=[{"name": "read_archive", "args": {}, "id": "1"}])
        agent = create_agent(model, await client.get_tools(), checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "1"}}
        asked = await agent.ainvoke({"messages": [("user", "go")]}, thread)
        [question] = asked["__interrupt__"]
        return question.value, (await agent.ainvoke(Command(resume=resume), thread))["messages"]

    with server.running() as url:
        question, messages = asyncio.run(ask_and_answer(url))
    return question, messages, server


def test_a_missing_permission_asks_a_person_and_the_call_is_made_once_it_is_granted() -> None:
    question, messages, server = run_archive(DENIED, Answer("12 files"), resume="granted")

    assert (question["tool"], question["code"]) == ("read_archive", "FORBIDDEN")
    assert "You may not read the archive." in question["question"]
    assert "12 files" in str(messages[-2].content)
    assert server.count("read_archive") == 2


def test_what_the_person_answers_reaches_the_model_if_nothing_was_granted() -> None:
    _, messages, server = run_archive(DENIED, resume="no, use the newsletter")

    assert messages[-2].content.endswith("The user was asked and answered: no, use the newsletter")
    assert fw.failure_of(messages[-2]) is not None
    assert server.count("read_archive") == 2


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
