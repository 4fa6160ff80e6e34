"""An agent that uses stamina: a failed result is raised, and failwell decides whether to retry it."""

import asyncio
import sys
from pathlib import Path

import stamina
from mcp import Client, StdioServerParameters

import failwell as fw
from failwell.integrations.stamina import settings

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


async def call(client: Client, tool: str, arguments: dict[str, str]) -> str:
    result = await client.call_tool(tool, arguments)
    if failure := fw.read(result, tool=tool):
        raise fw.ToolFailure(failure)
    return result.content[0].text


async def main() -> None:
    async with Client(StdioServerParameters(command=sys.executable, args=[str(DESK)])) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        for tool, arguments in PLAN:  # what a model would ask for
            retried = stamina.retry(**settings(fw.Policy(attempts=5), hints=hints[tool]))(call)
            try:
                print(f"{tool}: {await retried(client, tool, arguments)}")
            except fw.ToolFailure as failed:
                print(f"{tool}: {fw.render(failed.failure, hints[tool])}")
                print(f"  the application gets: {failed.failure.code}, outcome {failed.failure.outcome}")


if __name__ == "__main__":
    asyncio.run(main())
