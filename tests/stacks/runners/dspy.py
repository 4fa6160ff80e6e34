"""DSPy's ReAct with its dummy model. What the model sees is the observation in the trajectory."""

import dspy
from dspy.utils import DummyLM

from tests.stacks.runners.mcp import connected
from tests.stacks.setting import DONE, Call, Seen

PACKAGE = "dspy"


async def run(call: Call, caller: None) -> Seen:
    steps = [
        {"next_thought": "call", "next_tool_name": call.tool, "next_tool_args": call.arguments},
        {"next_thought": "end", "next_tool_name": "finish", "next_tool_args": {}},
        {"reasoning": "none", "answer": DONE},
    ]
    async with connected(call) as session:
        tools = [dspy.Tool.from_mcp_tool(session, tool) for tool in (await session.list_tools()).tools]
        with dspy.context(lm=DummyLM(steps)):
            prediction = await dspy.ReAct("question -> answer", tools=tools).acall(question="go")
    return Seen(str(prediction.trajectory["observation_0"]))
