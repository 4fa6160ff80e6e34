"""A bare client of fastmcp. There is no model: what it would see is the text of the result or of the error."""

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

import failwell as fw
from tests.stacks.setting import Call, Seen

PACKAGE = "fastmcp"


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    async with Client(StdioTransport(**call.stdio)) as client:
        used = fw.wrap(client, hook=caller.hook) if caller else client
        try:
            result = await used.call_tool(call.tool, call.arguments)
        except ToolError as error:
            return Seen(str(error), getattr(error, "failure", None))
    return Seen("\n".join(block.text for block in result.content if block.type == "text"))
