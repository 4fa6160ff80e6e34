"""Servers of the SDKs behind the gateway, called with and without it."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError as FastToolError
from httpx2 import AsyncClient, Request, Response
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from starlette.applications import Starlette

from tests.proxy.http.setting import asgi, gateway

SAMPLED = types.CreateMessageResult(role="assistant", content=types.TextContent(text="sampled"), model="m")


def official() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("official")

    @server.tool()
    def echo(text: str) -> str:
        return text

    @server.tool()
    def limited() -> str:
        raise ToolError("Rate limit exceeded, retry in 30 seconds")

    @server.tool()
    async def steps(ctx: Context[Any, Any]) -> str:
        for step in range(1, 4):
            await ctx.report_progress(step, 3, f"step {step}")
        return "done"

    @server.tool()
    async def sample(ctx: Context[Any, Any]) -> str:
        message = types.SamplingMessage(role="user", content=types.TextContent(text="hello"))
        found = await ctx.session.create_message([message], max_tokens=10)
        return str(found.content)

    @server.tool()
    async def elicit(ctx: Context[Any, Any]) -> str:
        found = await ctx.session.elicit_form("Name?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return str(found.content)

    @server.tool()
    async def pause(ctx: Context[Any, Any]) -> str:
        await ctx.close_sse_stream()
        raise ToolError("Rate limit exceeded, retry in 30 seconds")

    @server.resource("text://one")
    def one() -> str:
        return "one"

    return server


def fast() -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("fast")

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def limited() -> str:
        raise FastToolError("Rate limit exceeded, retry in 30 seconds")

    return server


class Stored(EventStore):
    """Events that a client can ask for again."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        at = int(last_event_id)
        stream = self._events[at - 1][0]
        for number, (found, message) in enumerate(self._events[at:], at + 1):
            if found == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


APPS: dict[str, Callable[[], Starlette]] = {
    "mcp": lambda: official().streamable_http_app(),
    "mcp in JSON": lambda: official().streamable_http_app(json_response=True),
    "fastmcp": lambda: fast().http_app(),  # type: ignore[return-value]  # a Starlette with a lifespan
}


@asynccontextmanager
async def recording(url: str, mode: Any, bodies: list[Any], **options: Any) -> AsyncIterator[Client]:
    """A client that keeps what it is answered, as it came over the wire."""

    async def keep(response: Response) -> None:
        if response.request.method == "POST":
            await response.aread()
            bodies.append((response.status_code, response.headers.get("content-type"), response.content))

    async with (
        AsyncClient(event_hooks={"response": [keep]}, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


def without_what_differs_by_run(bodies: list[Any]) -> list[Any]:
    return [(status, kind, re.sub(rb"[0-9a-f]{32}", b"*", content)) for status, kind, content in bodies]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("app", APPS)
def test_all_but_failures_is_answered_byte_for_byte_as_without_the_proxy(app: str, mode: str) -> None:
    async def session(url: str) -> list[Any]:
        bodies: list[Any] = []
        async with recording(url, mode, bodies) as client:
            await client.list_tools()
            await client.call_tool("echo", {"text": "häh\n" * 1000})
            await client.list_resources()
            await client.call_tool("echo", {"text": "again"})
        return without_what_differs_by_run(bodies)

    async def run() -> tuple[list[Any], list[Any]]:
        async with asgi(APPS[app]()) as url, gateway(url + "/mcp") as base:
            return await session(url + "/mcp"), await session(base + "/mcp")

    direct, proxied = asyncio.run(run())

    assert len(direct) >= 4
    assert proxied == direct


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("app", APPS)
def test_failures_reach_the_client_structured(app: str, mode: str) -> None:
    async def run() -> list[Any]:
        async with asgi(APPS[app]()) as url, gateway(url + "/mcp") as base, Client(base + "/mcp", mode=mode) as client:  # type: ignore[arg-type]  # one of its modes
            await client.list_tools()
            calls = (("limited", {}), ("echo", {}), ("nope", {}))
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    limited, invalid, unknown = asyncio.run(run())

    found = [result.meta["dev.failwell/failure"] for result in (limited, invalid, unknown)]
    assert all(result.is_error for result in (limited, invalid, unknown))
    assert [one["type"] for one in found] == ["TRANSIENT", "VALIDATION", "NOT_FOUND"]
    assert found[0]["retry_after"] == 30
    assert [field["path"] for field in found[1]["fields"]] == ["text"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_progress_passes_in_the_stream_of_its_call(mode: str) -> None:
    made: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        made.append(progress)

    async def run() -> None:
        async with (
            asgi(APPS["mcp"]()) as url,
            gateway(url + "/mcp") as base,
            Client(base + "/mcp", mode=mode) as client,
        ):  # type: ignore[arg-type]  # one of its modes
            await client.call_tool("steps", {}, progress_callback=note)

    asyncio.run(run())

    assert made == [1, 2, 3]


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_requests_of_the_server_reach_the_client_and_their_answers_the_server() -> None:
    async def sampled(*_: Any) -> types.CreateMessageResult:
        return SAMPLED

    async def elicited(*_: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def run() -> list[str]:
        async with (
            asgi(APPS["mcp"]()) as url,
            gateway(url + "/mcp") as base,
            Client(base + "/mcp", mode="legacy", sampling_callback=sampled, elicitation_callback=elicited) as client,
        ):
            return [str((await client.call_tool(name, {})).content) for name in ("sample", "elicit")]

    first, second = asyncio.run(run())

    assert "sampled" in first
    assert "Ada" in second


def test_an_answer_that_is_resumed_on_another_stream_is_structured_too() -> None:
    seen: list[Request] = []

    async def keep(request: Request) -> None:
        seen.append(request)

    async def run() -> Any:
        app = official().streamable_http_app(event_store=Stored(), retry_interval=0)
        async with (
            asgi(app) as url,
            gateway(url + "/mcp") as base,
            AsyncClient(event_hooks={"request": [keep]}, timeout=30) as http,
            Client(streamable_http_client(base + "/mcp", http_client=http), mode="legacy") as client,
        ):
            return await client.call_tool("pause", {})

    result = asyncio.run(run())

    assert [request.headers["last-event-id"] for request in seen if "last-event-id" in request.headers]
    assert result.meta["dev.failwell/failure"]["code"] == "RATE_LIMITED"


@pytest.mark.parametrize("path", ["/sse", "/"])
def test_the_older_transport_works_through_the_gateway(path: str) -> None:
    async def run() -> list[Any]:
        async with (
            asgi(official().sse_app()) as url,
            gateway(url + "/sse") as base,
            Client(sse_client(base + path), mode="legacy") as client,
        ):
            return [await client.call_tool(name, {"text": "hi"}) for name in ("echo", "limited")]

    fine, limited = asyncio.run(run())

    assert fine.content[0].text == "hi"
    assert limited.meta["dev.failwell/failure"]["code"] == "RATE_LIMITED"
