"""Servers and clients of whichever SDK is installed, under one set of names."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata, util
from typing import Any

Call = Callable[..., Any]


def version(package: str) -> tuple[int, ...]:
    return tuple(int(part) for part in metadata.version(package).split(".")[:3] if part.isdigit())


HAS_MCP_1 = version("mcp") < (2,)
ERAS = ("handshake",) if HAS_MCP_1 else ("handshake", "modern")

# Its handler draws every traceback in colours, which takes a quarter of a second.
os.environ.setdefault("FASTMCP_LOG_ENABLED", "false")

# A matrix session tests the SDK it was made for; elsewhere all that is installed is tested.
_WANTED = os.environ.get("MATRIX_SDK")
KINDS = tuple(
    kind
    for kind, package in (("fastmcp", "fastmcp"), ("mcp", "mcp"), ("lowlevel", "mcp"))
    if util.find_spec(package) and _WANTED in (None, package)
)


def package_of(kind: str) -> str:
    return "fastmcp" if kind == "fastmcp" else "mcp"


def new(kind: str, name: str = "tasks", **options: Any) -> Any:
    if kind == "fastmcp":
        from fastmcp import FastMCP

        return FastMCP(name, **options)
    if kind == "lowlevel":
        from mcp.server.lowlevel import Server

        return Server(name, **options)
    if HAS_MCP_1:
        from mcp.server.fastmcp import FastMCP

        return FastMCP(name, **options)
    from mcp.server import MCPServer

    return MCPServer(name, **options)


def tool_error(kind: str) -> type[Exception]:
    if kind == "fastmcp":
        from fastmcp.exceptions import ToolError
    elif HAS_MCP_1:
        from mcp.server.fastmcp.exceptions import ToolError
    else:
        from mcp.server.mcpserver.exceptions import ToolError
    return ToolError


def rpc_error(code: int, message: str) -> Exception:
    if HAS_MCP_1:
        from mcp import McpError
        from mcp.types import ErrorData

        return McpError(ErrorData(code=code, message=message))
    from mcp import MCPError

    return MCPError(code=code, message=message)


def complete_with(server: Any, function: Any) -> None:
    """Make a high-level server complete arguments with a function."""
    register = getattr(server, "completion", None) or server._mcp_server.completion  # fastmcp 2 and 3 have none
    if type(server).__module__.startswith("fastmcp.") and hasattr(server, "completion"):
        register(function)
    else:
        register()(function)


_PARAMS = {
    "read_resource": ("resources/read", "ReadResourceRequestParams", ("uri",)),
    "get_prompt": ("prompts/get", "GetPromptRequestParams", ("name", "arguments")),
    "completion": ("completion/complete", "CompleteRequestParams", ("ref", "argument", "context")),
    "list_resources": ("resources/list", "PaginatedRequestParams", ()),
}


def register(server: Any, **functions: Any) -> None:
    """Register functions with a low-level server, by the names that mcp 1 has for it."""
    from mcp import types

    for name, function in functions.items():
        if HAS_MCP_1:
            getattr(server, name)()(function)
            continue
        method, params_type, fields = _PARAMS[name]

        async def handle(ctx: Any, params: Any, function: Any = function, fields: Any = fields) -> Any:
            return await function(*(getattr(params, field) for field in fields))

        server.add_request_handler(method, getattr(types, params_type), handle)


async def request(connected: Any, method: str, subject: str, arguments: Any = None) -> Any:
    """Make a request that is no call of a tool, by the SDK's own client."""
    from mcp import types

    if method == "resources/read":
        return await connected.read_resource(f"data://{subject}")
    if method == "prompts/get":
        return await connected.get_prompt(subject, arguments)
    if method == "completion/complete":
        prompt = types.PromptReference(type="ref/prompt", name="crash")
        return await connected.complete(prompt, {"name": subject, "value": "x"})
    return await connected.list_resources()


def result(wire: dict[str, Any]) -> Any:
    from mcp.types import CallToolResult

    return CallToolResult.model_validate(wire)


def annotations(**hints: bool) -> Any:
    from mcp.types import ToolAnnotations

    return ToolAnnotations(**hints)


@asynccontextmanager
async def client(kind: str, target: Any, era: str = "handshake") -> AsyncIterator[Call]:
    """Connect the SDK's own client to a server in memory, or to a URL; yields a function that calls a tool.

    It returns the result as a dict.
    """
    async with session(kind, target, era) as connected:

        async def call(name: str, arguments: dict[str, Any] | None = None, **how: Any) -> dict[str, Any]:
            send = connected.call_tool_mcp if kind == "fastmcp" else connected.call_tool
            return plain(await send(name, arguments or {}, **how))

        yield call


@asynccontextmanager
async def session(kind: str, target: Any, era: str = "handshake") -> AsyncIterator[Any]:
    """Connect the SDK's own client to a server in memory, or to a URL."""
    mode = "legacy" if era == "handshake" else "auto"
    if kind == "fastmcp":
        from fastmcp import Client

        async with Client(target, **({} if HAS_MCP_1 else {"mode": mode})) as connected:
            yield connected
    elif not HAS_MCP_1:
        from mcp.client.client import Client

        async with Client(target, mode=mode) as connected:
            yield connected
    elif isinstance(target, str):
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(target) as (read, write, _), ClientSession(read, write) as connected:
            await connected.initialize()
            yield connected
    else:
        from mcp.shared.memory import create_connected_server_and_client_session

        async with create_connected_server_and_client_session(getattr(target, "_mcp_server", target)) as connected:
            yield connected


@asynccontextmanager
async def asked_session(kind: str, server: Any, on_elicit: Any, on_sample: Any) -> AsyncIterator[Any]:
    """Connect a client in memory that answers what the server asks its user and its model."""
    if kind == "fastmcp":
        from fastmcp import Client

        more = {} if HAS_MCP_1 else {"mode": "legacy"}
        async with Client(server, elicitation_handler=on_elicit, sampling_handler=on_sample, **more) as connected:
            yield connected
    elif not HAS_MCP_1:
        from mcp.client.client import Client

        callbacks = {"elicitation_callback": on_elicit, "sampling_callback": on_sample}
        async with Client(server, mode="legacy", **callbacks) as connected:
            yield connected
    else:
        from mcp.shared.memory import create_connected_server_and_client_session

        callbacks = {"elicitation_callback": on_elicit, "sampling_callback": on_sample}
        async with create_connected_server_and_client_session(server._mcp_server, **callbacks) as connected:
            yield connected


def plain(model: Any) -> dict[str, Any]:
    """Return a result as it was on the wire, without what the newer protocol adds to every result."""
    return trimmed(model.model_dump(mode="json", by_alias=True, exclude_none=True))


def trimmed(wire: dict[str, Any]) -> dict[str, Any]:
    wire = {key: value for key, value in wire.items() if key not in ("resultType", "ttlMs", "cacheScope")}
    meta = {
        key: value for key, value in wire.pop("_meta", {}).items() if not key.startswith("io.modelcontextprotocol/")
    }
    return wire | ({"_meta": meta} if meta else {})


async def cancel(session: Any, request_id: Any) -> None:
    """Tell the server that a request is cancelled, as an application can."""
    from mcp import types

    notification: Any = types.CancelledNotification.model_validate(
        {"method": "notifications/cancelled", "params": {"requestId": request_id}}
    )
    await session.send_notification(types.ClientNotification(notification) if HAS_MCP_1 else notification)
