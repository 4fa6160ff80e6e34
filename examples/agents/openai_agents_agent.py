"""An agent of OpenAI's SDK: the server is wrapped, and the items of a run hold the failures."""

import asyncio
import json
import sys
from pathlib import Path

from agents import Agent, Model, ModelResponse, Runner, ToolCallOutputItem, Usage, set_tracing_disabled
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import failwell as fw
from failwell.integrations.openai_agents import fail_well

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]

set_tracing_disabled(True)


class Script(Model):
    """Stands in for a model: makes the calls of the plan one after another."""

    async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002 (the SDK's name)
        made = sum(item.get("type") == "function_call_output" for item in input)
        if made < len(PLAN):
            tool, arguments = PLAN[made]
            item = ResponseFunctionToolCall(
                arguments=json.dumps(arguments), call_id=tool, name=tool, type="function_call"
            )
        else:
            text = ResponseOutputText(text="The mail is out.", type="output_text", annotations=[])
            item = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main() -> None:
    async with fail_well(MCPServerStdio({"command": sys.executable, "args": [str(DESK)]}, name="desk")) as desk:
        result = await Runner.run(Agent("desk", model=Script(), mcp_servers=[desk]), "Tell ada about the printer.")
    for item in result.new_items:
        if isinstance(item, ToolCallOutputItem):
            print(f"{item.raw_item['call_id']}: {item.output['text']}")
            if failure := fw.failure_of(item):
                print(f"  the application gets: {failure.code}, outcome {failure.outcome}")
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
