"""Tools that ask the client for something while they run, and clients that answer in every way there is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel

from tests.matrix import sdks
from tests.matrix.servers import SECRET

TOOLS = ("ask", "sample", "roots")
# What errors of a client say, by the way it answers; only the first speaks of the user.
ERRORS = {
    "reject": f"User rejected sampling request {SECRET}",
    "refused connection": f"connection refused by the service {SECRET}",
    "denied user": f"user alice was denied access {SECRET}",
    "cancelled": f"the request was cancelled {SECRET}",
}
ANSWERS = ("nothing", "decline", "cancel", "wrong", "crash", *ERRORS)
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}


class Answer(BaseModel):
    name: str


def _messages() -> list[Any]:
    from mcp.types import SamplingMessage, TextContent

    return [SamplingMessage(role="user", content=TextContent(type="text", text="hi"))]


def server(kind: str) -> Any:
    """Return a server with a tool for each question, not protected."""
    return _low_level() if kind == "lowlevel" else _high_level(kind)


def _high_level(kind: str) -> Any:
    if kind == "fastmcp":
        from fastmcp import Context
    elif sdks.HAS_MCP_1:
        from mcp.server.fastmcp import Context
    else:
        from mcp.server.mcpserver import Context

    async def ask(ctx: Context) -> str:  # type: ignore[valid-type]  # of whichever SDK is there
        wanted = {"response_type" if kind == "fastmcp" else "schema": Answer}
        return (await ctx.elicit("Name?", **wanted)).data.name

    async def sample(ctx: Context) -> str:  # type: ignore[valid-type]  # of whichever SDK is there
        if hasattr(ctx, "sample"):
            return str(await ctx.sample("hi"))
        return str(await ctx.session.create_message(messages=_messages(), max_tokens=5))

    async def roots(ctx: Context) -> str:  # type: ignore[valid-type]  # of whichever SDK is there
        return str(await (ctx if hasattr(ctx, "list_roots") else ctx.session).list_roots())

    made = sdks.new(kind)
    for function in (ask, sample, roots):
        function.__annotations__["ctx"] = Context
        made.tool()(function)
    return made


def _low_level() -> Any:
    from mcp import types

    async def run(session: Any, name: str) -> Any:
        if name == "ask":
            elicit = getattr(session, "elicit_form", None) or session.elicit
            answer = await elicit("Name?", SCHEMA)
            found = answer.content["name"]
        elif name == "sample":
            found = await session.create_message(messages=_messages(), max_tokens=5)
        else:
            found = await session.list_roots()
        return sdks.result({"content": [{"type": "text", "text": str(found)}]})

    listed = [types.Tool(name=name, inputSchema={"type": "object"}) for name in TOOLS]
    if not sdks.HAS_MCP_1:

        async def on_call_tool(ctx: Any, params: Any) -> Any:
            return await run(ctx.session, params.name)

        async def on_list_tools(ctx: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=listed)

        return sdks.new("lowlevel", on_call_tool=on_call_tool, on_list_tools=on_list_tools)
    made = sdks.new("lowlevel")

    @made.call_tool()
    async def call(name: str, arguments: Any) -> Any:
        return await run(made.request_context.session, name)

    @made.list_tools()
    async def list_tools() -> Any:
        return listed

    return made


def callbacks(kind: str, answer: str) -> dict[str, Any]:
    """Return what a client is made with so that it answers so."""
    from mcp import types

    def elicited(*_: Any) -> Any:
        if kind == "fastmcp":
            from fastmcp.client.elicitation import ElicitResult
        else:
            from mcp.types import ElicitResult
        if answer == "wrong":
            return ElicitResult(action="accept", content={"surname": SECRET})
        return ElicitResult(action=answer)

    async def respond(*given: Any) -> Any:
        if answer == "crash":
            raise RuntimeError(SECRET)
        if answer in ERRORS and kind == "fastmcp":
            raise sdks.rpc_error(-1, ERRORS[answer])
        if answer in ERRORS:
            return types.ErrorData(code=-1, message=ERRORS[answer])
        return elicited()

    if answer == "nothing":
        return {}
    names = ("elicitation_handler", "sampling_handler")
    return dict.fromkeys(names if kind == "fastmcp" else ("elicitation_callback", "sampling_callback"), respond)


@asynccontextmanager
async def client(kind: str, target: Any, era: str, answer: str) -> AsyncIterator[Any]:
    """Connect a client that answers so; yields a function that calls a tool."""
    how = callbacks(kind, answer)
    mode = {} if sdks.HAS_MCP_1 else {"mode": "legacy" if era == "handshake" else "auto"}
    if kind == "fastmcp":
        from fastmcp import Client

        async with Client(target, **mode, **how) as connected:
            yield connected.call_tool_mcp
    elif not sdks.HAS_MCP_1:
        from mcp.client.client import Client

        async with Client(target, **mode, **how) as connected:
            yield connected.call_tool
    else:
        from mcp.shared.memory import create_connected_server_and_client_session

        beneath = getattr(target, "_mcp_server", target)
        async with create_connected_server_and_client_session(beneath, **how) as connected:
            yield connected.call_tool
