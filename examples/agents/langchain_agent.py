"""A LangChain agent: one interceptor, and the application finds the failure of a tool message."""

import asyncio
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

import failwell as fw
from failwell.integrations.langchain import fail_well

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


class Script(GenericFakeChatModel):
    """LangChain's fake model, which may have tools."""

    def bind_tools(self, tools, **kwargs):
        return self


def script() -> Script:
    calls = [{"name": tool, "args": arguments, "id": tool} for tool, arguments in PLAN]
    return Script(messages=iter([*(AIMessage("", tool_calls=[call]) for call in calls), AIMessage("The mail is out.")]))


async def main() -> None:
    server = {"transport": "stdio", "command": sys.executable, "args": [str(DESK)]}
    async with MultiServerMCPClient({"desk": server}).session("desk") as session:
        tools = await load_mcp_tools(session, tool_interceptors=[fail_well()], server_name="desk")
        agent = create_agent(script(), tools)
        answer = await agent.ainvoke({"messages": [("user", "Tell ada about the printer.")]})
    for message in answer["messages"]:
        if isinstance(message, ToolMessage):
            print(f"{message.name}: {message.text}")
            if failure := fw.failure_of(message):
                print(f"  the application gets: {failure.code}, outcome {failure.outcome}")
    print(answer["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
