"""A Strands agent: one plugin, and the failure is read from a tool result in the messages."""

import json
import sys
from pathlib import Path

from mcp import StdioServerParameters, stdio_client
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

import failwell as fw
from failwell.integrations.strands import fail_well

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


class Script(Model):
    """Stands in for a model: makes the calls of the plan one after another."""

    def update_config(self, **config): ...

    def get_config(self):
        return {}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        made = sum("toolResult" in block for message in messages for block in message["content"])
        start, said, reason = {}, {"text": "The mail is out."}, "end_turn"
        if made < len(PLAN):
            tool, arguments = PLAN[made]
            start, reason = {"toolUse": {"toolUseId": tool, "name": tool}}, "tool_use"
            said = {"toolUse": {"input": json.dumps(arguments)}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": said}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": reason}}


def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=[str(DESK)])
    with MCPClient(lambda: stdio_client(server)) as desk:
        agent = Agent(model=Script(), tools=desk.list_tools_sync(), plugins=[fail_well()], callback_handler=None)
        answer = agent("Tell ada about the printer.")
    results = [
        block["toolResult"] for message in agent.messages for block in message["content"] if "toolResult" in block
    ]
    for result in results:
        print(f"{result['toolUseId']}: {result['content'][0]['text']}")
        if failure := fw.read(result):
            print(f"  the application gets: {failure.code}, outcome {failure.outcome}")
    print(str(answer).strip())


if __name__ == "__main__":
    main()
