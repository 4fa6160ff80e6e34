"""Calls from client to server in memory, protected and bare, and beside fastmcp's own error handling.

The floor is a server whose author does by hand the least that has to be done for the same answer, made beforehand:
arguments checked, exceptions caught, the problems of wrong arguments listed, and the tool that was meant looked for.
"""

import asyncio
import difflib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import fastmcp
import jsonschema_rs
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
_PROPERTIES: dict[str, dict[str, Any]] = {
    "add": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "find": {"task_id": {"type": "string"}},
    "crash": {},
}
"""What a low-level server, which takes it from no signature, says of the arguments of its tools."""


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
    async def call_tool(_ctx: Any, params: Any) -> Any:
        return _as_result(TOOLS[params.name](**params.arguments))

    return _low_level(call_tool)


def _low_level(call_tool: Callable[[Any, Any], Awaitable[Any]]) -> Any:
    listed = ListToolsResult(
        tools=[
            Tool(name=name, input_schema={"type": "object", "properties": properties})
            for name, properties in _PROPERTIES.items()
        ]
    )

    async def list_tools(_ctx: Any, _params: Any) -> Any:
        return listed

    return Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)


def _as_result(value: object) -> CallToolResult:
    return CallToolResult.model_validate({"content": [{"type": "text", "text": str(value)}]})


def low_level_by_hand(answers: dict[str, CallToolResult]) -> Any:
    """Return a low-level server whose handler does by hand what it takes to give these answers."""
    validator = jsonschema_rs.validator_for(STRICT)

    async def call_tool(_ctx: Any, params: Any) -> Any:
        tool = TOOLS.get(params.name)
        if tool is None:
            difflib.get_close_matches(params.name, TOOLS)
            return answers["unknown tool"]
        if tool is add and not validator.is_valid(params.arguments):
            [error.message for error in validator.iter_errors(params.arguments)]
            return answers["wrong arguments"]
        try:
            return _as_result(tool(**params.arguments))
        except fw.ToolFailure:
            return answers["error"]
        except Exception:
            return answers["crash"]

    return _low_level(call_tool)


STRICT = {"type": "object", "properties": _PROPERTIES["add"], "required": ["a", "b"]}
BY_HAND: dict[str, tuple[str, dict[str, Any]]] = {
    "success": ("checked", {"a": 1, "b": 2}),
    "error": ("caught", {"kind": "error"}),
    "crash": ("caught", {"kind": "crash"}),
    "wrong arguments": ("listed", {"a": "x"}),
    "unknown tool": ("looked_for", {}),
}
"""Which tool of a server by hand stands for which call, beside a low-level one, which has the same tools."""


def by_hand(make: Make, answers: dict[str, CallToolResult]) -> Any:
    """Return a server with a tool for each kind of call, which does by hand what it takes to give the same answer."""
    server = make()
    is_fastmcp = isinstance(server, fastmcp.FastMCP)
    made: dict[str, Any] = {
        kind: ToolResult(content=answer.content, meta=answer.meta, is_error=True) if is_fastmcp else answer
        for kind, answer in answers.items()
    }
    validator = jsonschema_rs.validator_for(STRICT)

    def checked(a: int, b: int) -> int:
        if not validator.is_valid({"a": a, "b": b}):
            raise ValueError
        return add(a, b)

    def caught(kind: str) -> Any:
        try:
            return find("t-9") if kind == "error" else crash()
        except Exception:
            return made[kind]

    async def listed(a: Any = None) -> Any:  # on the event loop: the function itself does not run
        [error.message for error in validator.iter_errors({"a": a})]
        return made["wrong arguments"]

    async def looked_for() -> Any:
        difflib.get_close_matches("ad", [tool.name for tool in await server.list_tools()])
        return made["unknown tool"]

    for tool in (caught, listed, looked_for):
        tool.__annotations__["return"] = ToolResult if is_fastmcp else CallToolResult
    for tool in (checked, caught, listed, looked_for):
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
        figures += await _compared(make, f"{name} bare", make())
    figures += await _compared(new_fastmcp, "ErrorHandlingMiddleware", with_own_handling())
    return figures


async def _compared(make: Make, beside: str, theirs: Any) -> list[Figure]:
    figures: list[Figure] = []
    async with connected(protected(make)) as call, connected(theirs) as bare:
        answers = {kind: await call(*sent) for kind, sent in CALLS.items()}
        is_low_level = make is new_low_level
        least = low_level_by_hand(answers) if is_low_level else by_hand(make, answers)
        async with connected(least) as floor:
            for kind, sent in CALLS.items():
                figures.append(
                    await compare_async(
                        "protect",
                        f"{kind}, protected",
                        partial(call, *sent),
                        beside,
                        partial(bare, *sent),
                        floor=partial(floor, *(sent if is_low_level else BY_HAND[kind])),
                    )
                )
    return figures
