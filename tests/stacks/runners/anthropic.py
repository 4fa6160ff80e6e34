"""The tool runner of the anthropic SDK with its MCP helpers; a transport answers in place of the model."""

import json
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from anthropic.lib.tools.mcp import async_mcp_tool

from tests.stacks.runners.mcp import connected
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "anthropic"


async def run(call: Call, caller: None) -> Seen:
    shown: list[str] = []

    def model(request: httpx2.Request) -> httpx2.Response:
        messages = json.loads(request.content)["messages"]
        content: dict[str, Any] = {"type": "tool_use", "id": "1", "name": call.tool, "input": call.arguments}
        last = messages[-1]["content"]
        if isinstance(last, list) and last[0]["type"] == "tool_result":
            shown.append(_text(last[0]["content"]))
            content = {"type": "text", "text": DONE}
        stop = "end_turn" if shown else "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        body = {"id": "m", "type": "message", "role": "assistant", "model": "script", "content": [content]}
        return httpx2.Response(200, json=body | {"stop_reason": stop, "stop_sequence": None, "usage": usage})

    client = AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(model)))
    async with connected(call) as session:
        tools = [async_mcp_tool(tool, session) for tool in (await session.list_tools()).tools]
        await client.beta.messages.tool_runner(
            model="script", max_tokens=9, tools=tools, messages=[{"role": "user", "content": "go"}]
        ).until_done()
    return Seen(*shown)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content)
