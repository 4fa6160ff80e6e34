"""CrewAI's agent with a model that follows a script."""

import json
import re
from typing import Any

from crewai import Agent, BaseLLM
from crewai.mcp import MCPServerHTTP, MCPServerStdio

from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "crewai"


class Script(BaseLLM):
    asked: Any
    shown: list[str]

    def supports_function_calling(self) -> bool:
        return False

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        said = [message["content"] for message in messages if message["role"] == "assistant"]
        if said:
            self.shown.append(said[-1].partition("Observation: ")[2])
            return f"Thought: done\nFinal Answer: {DONE}"
        # A name begins with the server's, and ends with a digest in place of the tool's where it is too long.
        named = re.findall(r"Tool Name: (\w+)", "\n".join(message["content"] for message in messages))
        name = next((name for name in named if name.endswith(self.asked.tool)), named[0])
        return f"Thought: call\nAction: {name}\nAction Input: {json.dumps(self.asked.arguments)}"


def run(call: Call, caller: None) -> Seen:
    model = Script(model="script", asked=call, shown=[])
    server = MCPServerHTTP(url=call.url) if call.url else MCPServerStdio(**call.stdio)
    agent = Agent(role="a", goal="b", backstory="c", llm=model, mcps=[server])
    agent.kickoff("go")
    return Seen(*model.shown)
