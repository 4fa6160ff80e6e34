"""The OpenAI agents SDK with a model that follows a script."""

import json
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "openai-agents"

set_tracing_disabled(True)


class Script(Model):
    def __init__(self, call: Call) -> None:
        self.call = call
        self.shown: list[str] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002 (the SDK's name)
        last = input[-1]
        if last.get("type") == "function_call_output":
            output = last["output"]
            self.shown.append(output if isinstance(output, str) else json.dumps(output))
            text = ResponseOutputText(text=DONE, type="output_text", annotations=[])
            item: Any = ResponseOutputMessage(
                id="2", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            arguments = json.dumps(self.call.arguments)
            item = ResponseFunctionToolCall(arguments=arguments, call_id="1", name=self.call.tool, type="function_call")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    model = Script(call)
    limit: dict[str, Any] = {"name": "stacks", "client_session_timeout_seconds": 60}
    server: Any = MCPServerStdio(params=call.stdio, **limit)
    if call.url:
        server = MCPServerStreamableHttp(params={"url": call.url}, **limit)
    if caller:
        from failwell.integrations.openai_agents import fail_well

        server = fail_well(server, caller)
    async with server:
        result = await Runner.run(Agent("a", model=model, mcp_servers=[server]), "go")
    if not caller:
        return Seen(*model.shown)
    return Seen(*model.shown, *filter(None, map(fw.failure_of, result.new_items)))
