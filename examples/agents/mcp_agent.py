"""An agent on the mcp SDK: a wrapped session retries what is safe, corrects a typo, and reports what is left."""

import asyncio
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, stdio_client

import failwell as fw

DESK = Path(__file__).with_name("desk.py")
PLAN = [
    ("find_tickets", {"text": "printer"}),
    ("find_tickets", {"txt": "scanner"}),  # a typo that can be corrected from the schema
    ("send_mail", {"to": "ada"}),
    ("sent_mails", {}),
]


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=[str(DESK)])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        fw.wrap(session, repair=True)
        for tool, arguments in PLAN:  # what a model would ask for
            result = await session.call_tool(tool, arguments)
            print(f"{tool}: {result.content[0].text}")
            if failure := getattr(result, "failure", None):
                print(f"  the application gets: {failure.code}, outcome {failure.outcome}")


if __name__ == "__main__":
    asyncio.run(main())
