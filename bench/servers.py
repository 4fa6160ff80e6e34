"""Calls from client to server in memory, protected and bare, and beside fastmcp's own error handling.

The floor of a failure is the same answer, made beforehand, that a tool of the bare server returns.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import fastmcp
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.tools import ToolResult
from mcp.client.client import Client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, Tool

import failwell as fw
from bench.measure import Figure, compare_async

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
Make = Callable[[], Any]

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "success": ("add", {"a": 1, "b": 2}),
    "error": ("find", {"task_id": "t-9"}),
    "crash": ("crash", {}),
    # More is said than without us: every field, what was meant.
    "wrong arguments": ("add", {"a": "x"}),
    "unknown tool": ("ad", {}),
}


def add(a: int, b: int) -> int:
    return a + b


def find(task_id: str) -> str:
    raise fw.NotFound(f"Task {task_id} does not exist.")


def crash() -> str:
    raise KeyError("task")


TOOLS = {tool.__name__: tool for tool in (add, find, crash)}


def new_mcp() -> Any:
    server = MCPServer("bench")
    for tool in TOOLS.values():
        server.tool()(tool)
    return server


def new_fastmcp() -> Any:
    server = fastmcp.FastMCP("bench")
    for tool in TOOLS.values():
        server.tool()(tool)
    return server


def new_low_level() -> Any:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    listed = ListToolsResult(tools=[Tool(name=name, input_schema=schema) for name in TOOLS])

    async def list_tools(_ctx: Any, _params: Any) -> Any:
        return listed

    async def call_tool(_ctx: Any, params: Any) -> Any:
        value = TOOLS[params.name](**params.arguments)
        return CallToolResult.model_validate({"content": [{"type": "text", "text": str(value)}]})

    return Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)


def with_answer(make: Make, answer: CallToolResult) -> Any:
    """Return a bare server with tools that return an answer as it is: one in a thread, one on the event loop."""
    server = make()
    made: Any = answer
    if isinstance(server, fastmcp.FastMCP):
        made = ToolResult(content=answer.content, meta=answer.meta, is_error=True)

    def in_thread() -> Any:
        return made

    async def on_loop() -> Any:
        return made

    for tool in (in_thread, on_loop):
        tool.__annotations__["return"] = type(made)
        server.tool()(tool)
    return server


MAKERS: dict[str, Make] = {"mcp": new_mcp, "mcp low level": new_low_level, "fastmcp": new_fastmcp}


def protected(make: Make) -> Any:
    server = make()
    fw.protect(server)
    return server


def with_own_handling() -> Any:
    server = new_fastmcp()
    server.add_middleware(ErrorHandlingMiddleware())
    return server


@asynccontextmanager
async def connected(server: Any) -> AsyncIterator[Call]:
    """Yield a function that calls a tool, whatever that ends in."""
    is_fastmcp = isinstance(server, fastmcp.FastMCP)
    made: Any = fastmcp.Client(server) if is_fastmcp else Client(server)
    async with made as client:
        send = client.call_tool_mcp if is_fastmcp else client.call_tool

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            try:
                return await send(tool, arguments)
            except Exception as exc:  # what a client makes of a JSON-RPC error
                return exc

        yield call


def run() -> Iterator[Figure]:
    """Measure every kind of call on every SDK."""
    logging.disable(logging.CRITICAL)  # the SDKs draw pictures of tracebacks, which would hide everything else
    try:
        yield from asyncio.run(_figures())
    finally:
        logging.disable(logging.NOTSET)


async def _figures() -> list[Figure]:
    figures: list[Figure] = []
    for name, make in MAKERS.items():
        figures += await _compared(protected(make), f"{name} bare", make())
        if make is not new_low_level:
            figures += await _floors(make, f"{name} bare")
    figures += await _compared(protected(new_fastmcp), "ErrorHandlingMiddleware", with_own_handling())
    return figures


async def _compared(ours: Any, beside: str, theirs: Any) -> list[Figure]:
    figures: list[Figure] = []
    async with connected(ours) as call, connected(theirs) as bare:
        for kind, (tool, arguments) in CALLS.items():
            figures.append(
                await compare_async(
                    "protect",
                    f"{kind}, protected",
                    partial(call, tool, arguments),
                    beside,
                    partial(bare, tool, arguments),
                )
            )
    return figures


async def _floors(make: Make, beside: str) -> list[Figure]:
    figures: list[Figure] = []
    async with connected(protected(make)) as call, connected(make()) as bare:
        for kind, (tool, arguments) in CALLS.items():
            answer = await call(tool, arguments)
            if not answer.is_error:
                continue
            returned = "in_thread" if tool in TOOLS and kind != "wrong arguments" else "on_loop"
            async with connected(with_answer(make, answer)) as prepared:
                figures.append(
                    await compare_async(
                        "protect",
                        f"{kind}, floor: the same answer made beforehand",
                        partial(prepared, returned, {}),
                        beside,
                        partial(bare, tool, arguments),
                    )
                )
    return figures
