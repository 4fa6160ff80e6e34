"""Servers that answer as a test says, and what clients get from them through a gateway."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.proxy.http.setting import (
    Answered,
    Handler,
    gateway,
    post,
    scripted,
    talking,
)


def answering(*answers: Any, seen: list[web.Request] | None = None, bodies: list[Any] | None = None) -> Handler:
    """A server that gives one answer after the other: a message, or a response."""
    left = list(answers)

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if seen is not None:
            seen.append(request)
        if bodies is not None:
            bodies.append(json.loads(body) if body else None)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            answer = answer(json.loads(body))
        if isinstance(answer, web.Response):  # aiohttp writes a response once, and leaves the next client waiting
            return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    return handle


def through(handler: Handler, message: Any, *words: str, path: str = "/mcp", **headers: str) -> Answered:
    """What a client gets for a message that it posts to a gateway in front of a server."""

    async def run() -> Answered:
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base:
            return await post(base + path, message, **headers)

    return asyncio.run(run())


def streaming(*pieces: bytes) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    return handle


@asynccontextmanager
async def breaking(first: bytes) -> AsyncIterator[str]:
    """A server that sends so many bytes and resets the connection."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        await writer.drain()
        writer.transport.abort()

    async with talking(handle) as url:
        yield url
