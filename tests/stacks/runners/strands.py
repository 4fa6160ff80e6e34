"""Strands with a model that follows a script."""

import json
from collections.abc import AsyncIterable
from typing import Any

from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "strands-agents"


class Script(Model):
    def __init__(self, call: Call) -> None:
        self.call = call
        self.shown: list[str] = []

    def update_config(self, **config: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterable[dict[str, Any]]:
        [block] = messages[-1]["content"]
        yield {"messageStart": {"role": "assistant"}}
        if "toolResult" in block:
            self.shown.append("\n".join(part["text"] for part in block["toolResult"]["content"]))
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": DONE}}}
            reason = "end_turn"
        else:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": self.call.tool}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(self.call.arguments)}}}}
            reason = "tool_use"
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    model = Script(call)
    plugins: list[Any] = []
    if caller:
        from failwell.integrations.strands import fail_well

        plugins = [fail_well(caller)]

    def transport() -> Any:
        return streamable_http_client(call.url) if call.url else stdio_client(StdioServerParameters(**call.stdio))

    with MCPClient(transport) as client:
        agent = Agent(model=model, tools=client.list_tools_sync(), plugins=plugins, callback_handler=None)
        await agent.invoke_async("go")
    [result] = [
        block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
    ]
    return Seen(*model.shown, fw.read(result) if caller else None)
