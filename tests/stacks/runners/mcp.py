"""A bare session of the mcp SDK. There is no model: what it would see is the text of the result."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client import streamable_http

import failwell as fw
from tests.stacks.setting import Call, Seen

PACKAGE = "mcp"


def transport(call: Call) -> Any:
    if call.url is None:
        return stdio_client(StdioServerParameters(**call.stdio))
    connect: Any = vars(streamable_http).get("streamablehttp_client") or streamable_http.streamable_http_client
    return connect(call.url)


@asynccontextmanager
async def connected(call: Call, caller: fw.client.Caller | None = None) -> AsyncIterator[ClientSession]:
    async with transport(call) as streams, ClientSession(streams[0], streams[1]) as session:
        if caller:
            fw.wrap(session, caller.policy, hook=caller.hook, reconnect=lambda: connected(call))
        await session.initialize()
        yield session


async def run(call: Call, caller: fw.client.Caller | None) -> Seen:
    async with connected(call, caller) as session:
        result = await session.call_tool(call.tool, call.arguments)
    return Seen(
        "\n".join(block.text for block in result.content if block.type == "text"), getattr(result, "failure", None)
    )
