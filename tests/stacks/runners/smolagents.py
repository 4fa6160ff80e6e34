"""smolagents' tool-calling agent with a model that follows a script."""

from typing import Any

from mcp import StdioServerParameters
from smolagents import ChatMessage, MCPClient, Model, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "smolagents"


class Script(Model):
    def __init__(self, call: Call) -> None:
        super().__init__(model_id="script")
        self.asked = [(call.tool, call.arguments), ("final_answer", {"answer": DONE})]
        self.shown: list[str] = []

    def generate(self, messages: list[ChatMessage], *args: Any, **kwargs: Any) -> ChatMessage:
        name, arguments = self.asked.pop(0)
        if name == "final_answer":
            self.shown.append(messages[-1].content[0]["text"])
        function = ChatMessageToolCallFunction(name=name, arguments=arguments)
        asked = ChatMessageToolCall(id="1", type="function", function=function)
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[asked])


def run(call: Call, caller: None) -> Seen:
    model = Script(call)
    server: Any = {"url": call.url, "transport": "streamable-http"} if call.url else StdioServerParameters(**call.stdio)
    with MCPClient(server, structured_output=False) as tools:
        ToolCallingAgent(tools=tools, model=model, verbosity_level=0).run("go")
    return Seen(*model.shown)
