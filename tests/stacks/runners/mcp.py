"""A bare session of the mcp SDK. There is no model: what it would see is the text of the result."""

from mcp import ClientSession, StdioServerParameters, stdio_client

import failwell as fw
from tests.stacks.setting import Call, Seen

PACKAGE = "mcp"


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    async with (
        stdio_client(StdioServerParameters(**call.stdio)) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        used = fw.wrap(session, hook=caller.hook) if caller else session
        result = await used.call_tool(call.tool, call.arguments)
    return Seen(
        "\n".join(block.text for block in result.content if block.type == "text"), getattr(result, "failure", None)
    )
