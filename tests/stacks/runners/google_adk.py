"""Google's ADK with a model that follows a script."""

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.genai import types
from mcp import StdioServerParameters

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "google-adk"


class Script(BaseLlm):
    call: Call
    shown: list[str]

    async def generate_content_async(
        self, llm_request: LlmRequest, *args: Any, **kwargs: Any
    ) -> AsyncGenerator[LlmResponse, None]:
        [part] = llm_request.contents[-1].parts
        if part.function_response:
            self.shown.append(str(part.function_response.response))
            said = types.Part(text=DONE)
        else:
            said = types.Part.from_function_call(name=self.call.tool, args=self.call.arguments)
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    model = Script(model="script", call=call, shown=[])
    params: Any = StdioConnectionParams(server_params=StdioServerParameters(**call.stdio), timeout=60)
    if call.url:
        params = StreamableHTTPConnectionParams(url=call.url, timeout=60)
    toolset = McpToolset(connection_params=params)
    plugins: list[Any] = []
    if caller:
        from failwell.integrations.google_adk import fail_well

        plugins = [fail_well(caller)]
    agent = LlmAgent(name="a", model=model, tools=[toolset])
    runner = InMemoryRunner(app=App(name="a", root_agent=agent, plugins=plugins))
    try:
        await runner.run_debug("go", quiet=True)
    finally:
        await runner.close()
    return Seen(*model.shown)
