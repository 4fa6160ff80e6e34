"""A bare client of fastmcp. There is no model: what it would see is the text of the result or of the error."""

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError

import failwell as fw
from tests.stacks.setting import Call, Seen

PACKAGE = "fastmcp"


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    transport = StreamableHttpTransport(call.url) if call.url else StdioTransport(**call.stdio)
    client = Client(transport)
    if caller:
        fw.wrap(client, caller.policy, hook=caller.hook)
    async with client as used:
        try:
            result = await used.call_tool(call.tool, call.arguments)
        except ToolError as error:
            return Seen(str(error), getattr(error, "failure", None))
    return Seen("\n".join(block.text for block in result.content if block.type == "text"))
