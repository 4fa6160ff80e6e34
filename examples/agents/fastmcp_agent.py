"""An agent on fastmcp's client: what it raises for a failed call carries the failure, and the text for the model."""

import asyncio
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

import failwell as fw

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


async def main() -> None:
    async with fw.wrap(Client(StdioTransport(sys.executable, [str(DESK)]))) as client:
        for tool, arguments in PLAN:  # what a model would ask for
            try:
                shown = (await client.call_tool(tool, arguments)).content[0].text
            except ToolError as error:
                shown = str(error)
                failure = fw.read(error)
                print(f"  the application gets: {failure.code}, outcome {failure.outcome}")
            print(f"{tool}: {shown}")


if __name__ == "__main__":
    asyncio.run(main())
