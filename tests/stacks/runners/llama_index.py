"""LlamaIndex's function agent with its mock model."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "llama-index-tools-mcp"


async def run(call: Call, caller: None) -> Seen:
    shown: list[str] = []

    def model(messages: Sequence[ChatMessage], **kwargs: Any) -> ChatMessage:
        if messages[-1].role == "tool":
            shown.append(str(messages[-1].content))
            return ChatMessage(role="assistant", content=DONE)
        asked = ToolCallBlock(tool_call_id="1", tool_name=call.tool, tool_kwargs=call.arguments)
        return ChatMessage(role="assistant", blocks=[asked])

    client = BasicMCPClient(call.url) if call.url else BasicMCPClient(call.command, args=call.args, env=call.env)
    tools = await McpToolSpec(client).to_tool_list_async()
    agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=model), tools=tools, streaming=False)
    await agent.run("go")
    return Seen(*shown)
