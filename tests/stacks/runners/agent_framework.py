"""Microsoft's agent framework with a chat client that follows a script."""

from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    MCPStdioTool,
    MCPStreamableHTTPTool,
    Message,
)

import failwell as fw
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "agent-framework-core"


class Script(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    def __init__(self, call: Call, settings: Any) -> None:
        super().__init__(function_invocation_configuration=settings)
        self.call = call
        self.shown: list[str] = []

    async def _inner_get_response(self, *, messages: Sequence[Message], **kwargs: Any) -> ChatResponse[Any]:
        [content] = messages[-1].contents
        if content.type == "function_result":
            self.shown.append(str(content.result))
            return ChatResponse(messages=[Message("assistant", [DONE])])
        asked = Content.from_function_call("1", self.call.tool, arguments=self.call.arguments)
        return ChatResponse(messages=[Message("assistant", [asked])])


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    if caller:
        fw.install(caller.policy, hook=caller.hook)
    model = Script(call, {"include_detailed_errors": True} if caller else None)
    server: Any = MCPStdioTool("stacks", load_prompts=False, **call.stdio)
    if call.url:
        server = MCPStreamableHTTPTool("stacks", call.url, load_prompts=False)
    async with server as tool:
        await Agent(client=model, tools=tool).run("go")
    return Seen(*model.shown)
