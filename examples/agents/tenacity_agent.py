"""An agent that uses tenacity: failwell decides what is retried, when, and how often."""

import asyncio
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from tenacity import AsyncRetrying

import failwell as fw
from failwell.integrations.tenacity import settings

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


async def main() -> None:
    async with Client(StdioServerParameters(command=sys.executable, args=[str(DESK)])) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        for tool, arguments in PLAN:  # what a model would ask for
            retrying = AsyncRetrying(**settings(fw.Policy(attempts=5), hints=hints[tool]))
            result = await retrying(client.call_tool, tool, arguments)
            failure = fw.read(result, tool=tool)
            print(f"{tool}: {fw.render(failure, hints[tool]) if failure else result.content[0].text}")
            if failure:
                print(f"  the application gets: {failure.code}, outcome {failure.outcome}")


if __name__ == "__main__":
    asyncio.run(main())
