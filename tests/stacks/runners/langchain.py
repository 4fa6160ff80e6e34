"""LangChain's agent with tools from langchain-mcp-adapters and a model that follows a script."""

import json
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "langchain-mcp-adapters"


class Script(BaseChatModel):
    calls: list[dict[str, Any]]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Script":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        is_first = messages[-1].type == "human"
        message = AIMessage("", tool_calls=self.calls) if is_first else AIMessage(DONE)
        return ChatResult(generations=[ChatGeneration(message=message)])


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    interceptors: list[Any] = []
    if caller:
        from failwell.integrations.langchain import fail_well

        interceptors = [fail_well(caller)]
    stdio: Any = {"transport": "stdio", **call.stdio}
    server: Any = {"transport": "streamable_http", "url": call.url} if call.url else stdio
    client = MultiServerMCPClient({"stacks": server}, tool_interceptors=interceptors)
    model = Script(calls=[{"name": call.tool, "args": call.arguments, "id": "1"}])
    agent = create_agent(model, await client.get_tools())
    messages = (await agent.ainvoke({"messages": [("user", "go")]}))["messages"]
    [answer] = [message for message in messages if message.type == "tool"]
    return Seen(_shown(answer.content), fw.failure_of(answer))


def _shown(content: Any) -> str:
    """Return what a message holds, without the ids that are drawn anew each time."""
    if isinstance(content, str):
        return content
    return json.dumps([{key: value for key, value in block.items() if key != "id"} for block in content])
