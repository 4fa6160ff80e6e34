"""The mcp SDK's client, connected over stdio to a demo server in its own process."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from msgspec import Struct


class DemoTool(Struct, frozen=True):
    """What a server publishes of a tool."""

    schema: dict[str, Any]
    annotations: dict[str, Any]


class DemoAnswer(Struct, frozen=True):
    """The result of a call as it was on the wire, or the exception that the client made of an error."""

    received: dict[str, Any] | Exception

    @property
    def is_error(self) -> bool:
        """Whether the server flagged it, or refused the request."""
        return isinstance(self.received, Exception) or self.received.get("isError") is True

    @property
    def text(self) -> str:
        """The text that a model sees."""
        if isinstance(self.received, Exception):
            return str(self.received)
        return "\n".join(block["text"] for block in self.received.get("content", ()) if block.get("type") == "text")


class DemoConnection:
    """A session with a server."""

    def __init__(self, session: ClientSession, tools: dict[str, DemoTool]) -> None:
        self._session = session
        self.tools = tools

    async def call(self, tool: str, arguments: dict[str, Any]) -> DemoAnswer:
        """Call a tool for real."""
        try:
            result = await self._session.call_tool(tool, arguments)
        except Exception as refused:  # an error of the protocol, which each version raises as another class
            return DemoAnswer(refused)
        return DemoAnswer(_wire(result))


@asynccontextmanager
async def connect(file: Path, dialect: str | None) -> AsyncGenerator[DemoConnection]:
    """Start the server of the demo, protected if there is a dialect, and end it afterwards."""
    command = ["-m", "failwell.demo.server", str(file), *([dialect] if dialect else [])]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    with open(os.devnull, "w", encoding="utf-8") as no_output:
        async with (
            stdio_client(parameters, errlog=no_output) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            listed = [_wire(tool) for tool in (await session.list_tools()).tools]
            yield DemoConnection(session, {tool["name"]: _tool(tool) for tool in listed})


def _tool(tool: dict[str, Any]) -> DemoTool:
    return DemoTool(tool["inputSchema"], tool.get("annotations", {}))


def _wire(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found
