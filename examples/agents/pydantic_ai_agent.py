"""A pydantic-ai agent: one hook on the toolset, and another hook tells the application about failures."""

import asyncio
import sys
from pathlib import Path

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import failwell as fw
from failwell.integrations.pydantic_ai import fail_well
from failwell.retry import Event

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


def script(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stand in for a model: print what the last call showed, and make the next one."""
    shown = [
        part for message in messages for part in message.parts if part.part_kind in ("tool-return", "retry-prompt")
    ]
    if shown:
        print(f"{shown[-1].tool_name}: {shown[-1].content}")
    if len(shown) < len(PLAN):
        return ModelResponse(parts=[ToolCallPart(*PLAN[len(shown)])])
    return ModelResponse(parts=[TextPart("The mail is out.")])


def print_event(event: Event) -> None:
    if event.kind == "failure":
        print(f"  the application gets: {event.failure.code}, outcome {event.failure.outcome}")


async def main() -> None:
    desk = MCPToolset(
        StdioTransport(sys.executable, [str(DESK)]),
        process_tool_call=fail_well(fw.client.Caller(hook=print_event)),
        init_timeout=60,  # a busy machine may take longer than the default of 5 seconds to start the server
    )
    agent = Agent(FunctionModel(script), toolsets=[desk])
    async with agent:
        answer = await agent.run("Tell ada about the printer.")
    print(answer.output)


if __name__ == "__main__":
    asyncio.run(main())
