"""Servers on loopback, gateways in front of them, and calls through both, all in one event loop."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvicorn
from aiohttp import ClientSession, web

from failwell.event import Event
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def gateway(url: str, *words: str, seen: list[Event] | None = None) -> AsyncIterator[str]:
    """A gateway in front of a URL, with options as an operator writes them."""
    options = parse(["--url", url, "--listen", "127.0.0.1:0", "--grace", "0", *words])
    setup = Setup(options, None)
    if seen is not None:
        setup.on_event = seen.append
    try:
        async with listening(options, setup) as port:
            yield f"http://127.0.0.1:{port}"
    finally:
        setup.close()


@asynccontextmanager
async def asgi(app: Any) -> AsyncIterator[str]:
    """A real application under uvicorn."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="on"))
    server.capture_signals = _no_signals  # type: ignore[method-assign]  # the tests keep theirs
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0)
        if task.done():
            task.result()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = server.force_exit = True
        await task
        for connection in list(server.server_state.connections):
            connection.transport.abort()  # a forced end leaves streams open
        await _closed()


def _no_signals() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@asynccontextmanager
async def scripted(handler: Handler) -> AsyncIterator[str]:
    """A server that answers each request as a function says."""
    server = web.Server(handler, handler_cancellation=True)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await close_all(server)


async def close_all(server: "web.Server[Any]") -> None:
    """Close all connections of a server; those whose clients do not read on would stay open."""
    transports = [connection.transport for connection in server.connections if connection.transport is not None]
    await server.shutdown(0.1)
    for transport in transports:
        transport.abort()
    await _closed()


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    """A server that speaks bytes, for what no HTTP server would send; it leaves no connection open."""
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        await talk(reader, writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.sleep(0)  # connections accepted in this moment reach their handler
        for writer in writers:
            writer.transport.abort()
        await _closed()


async def _closed() -> None:
    """Let transports that were told to close do so: the event loop that ends first leaves them open."""
    for _ in range(3):
        await asyncio.sleep(0)


def call(tool: str = "work", id: int | str = 1, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def success(id: int | str = 1, text: str = "done") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": False}}


def failing(id: int | str = 1, text: str = "Rate limit exceeded, retry in 30 seconds") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}], "isError": True}}


def listed(*names: str, **annotations: Any) -> dict[str, Any]:
    tools = [{"name": name, "inputSchema": {"type": "object"}, "annotations": annotations} for name in names]
    return {"jsonrpc": "2.0", "id": 0, "result": {"tools": tools}}


def event(message: Any, *, id: str | None = None) -> bytes:
    head = f"id: {id}\n" if id else ""
    return f"{head}event: message\ndata: {json.dumps(message)}\n\n".encode()


ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class Answered:
    """An HTTP answer, read to its end."""

    def __init__(self, status: int, headers: Any, body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[Any]:
        """The messages in an event stream, as a client finds them: what is no JSON is none."""
        found: list[Any] = []
        for line in self.body.decode().splitlines():
            with suppress(ValueError, RecursionError):
                found += [json.loads(line.removeprefix("data: "))] if line.startswith("data: ") else []
        return found

    @property
    def failure(self) -> dict[str, Any]:
        message = self.message if self.body.startswith(b"{") else self.messages[-1]
        return message["result"]["_meta"]["dev.failwell/failure"]


async def post(url: str, message: Any, **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        ClientSession() as session,
        session.post(url, data=json.dumps(message), headers={**ACCEPT, **named}, allow_redirects=False) as response,
    ):
        return Answered(response.status, response.headers, await response.read())


async def ask(method: str, url: str, **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        ClientSession() as session,
        session.request(method, url, headers=named, allow_redirects=False) as response,
    ):
        return Answered(response.status, response.headers, await response.read())
