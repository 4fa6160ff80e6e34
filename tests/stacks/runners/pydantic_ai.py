"""pydantic-ai's agent with a function as its model."""

from typing import Any

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "pydantic-ai-slim"


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    shown: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(call.tool, call.arguments)])
        [part] = messages[-1].parts
        shown.append(part.model_response() if part.part_kind == "retry-prompt" else part.model_response_str())
        return ModelResponse(parts=[TextPart(DONE)])

    hooks: dict[str, Any] = {}
    if caller:
        from failwell.integrations.pydantic_ai import fail_well

        hooks = {"process_tool_call": fail_well(caller)}
    transport = StreamableHttpTransport(call.url) if call.url else StdioTransport(**call.stdio)
    toolset = MCPToolset(transport, init_timeout=60, **hooks)
    agent = Agent(FunctionModel(model), toolsets=[toolset])
    async with agent:
        await agent.run("go")
    return Seen(*shown)
