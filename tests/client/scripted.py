"""A server that answers as it is told, message by message: over memory streams, or as an HTTP application."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import failwell as fw
from tests.matrix import sdks
from tests.matrix.test_http import served

FINE = {"content": [{"type": "text", "text": "fine"}], "isError": False}
BUSY = fw.encode(fw.Failure(code="RATE_LIMITED", message="Too many requests.", retry_after=3))
LOST = fw.encode(fw.Failure(code="TIMEOUT", message="The upstream did not answer."))
ANYTHING: dict[str, Any] = {"type": "object"}


def rpc(code: int, message: str, data: Any = None) -> dict[str, Any]:
    return {"code": code, "message": message, **({} if data is None else {"data": data})}


class Silence:
    """In place of an answer: none comes."""


class Refusal:
    """In place of an answer: an HTTP error."""

    def __init__(self, status: int, headers: dict[str, str], body: str = "", media_type: str = "text/plain") -> None:
        self.response = Response(body, status, headers, media_type)


class Scripted:
    """Tools with annotations, and for each the answers it gives one after another, the last for good."""

    def __init__(self, name: str = "scripted") -> None:
        self.name = name
        self.pages: list[list[dict[str, Any]]] = [[]]
        self.answers: dict[str, list[Any]] = {}
        self.calls: list[tuple[str, dict[str, Any] | None]] = []
        self.notes: list[dict[str, Any]] = []
        self.request_ids: list[Any] = []
        self.listings = 0
        self.listing_error: Any = None

    def tool(self, name: str, *answers: Any, page: int = 0, **described: Any) -> None:
        while len(self.pages) <= page:
            self.pages.append([])
        self.pages[page].append({"name": name, "inputSchema": ANYTHING, **described})
        self.answers[name] = list(answers)

    def respond(self, method: str, params: dict[str, Any]) -> Any:
        """Return a result, an error, `Silence` or a `Refusal`."""
        if method == "initialize":
            info = {"name": self.name, "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
        if method == "tools/list":
            self.listings += 1
            at = int(params.get("cursor") or 0)
            following = {"nextCursor": str(at + 1)} if at + 1 < len(self.pages) else {}
            listing = self.listing_error or {"tools": self.pages[at], **following}
            return listing(params) if _is_function(listing) else listing
        assert method == "tools/call"
        name = params["name"]
        self.calls.append((name, params.get("arguments")))
        answers = self.answers[name]
        answer = answers[min(self.count(name), len(answers)) - 1]
        return answer(params) if _is_function(answer) else answer

    def count(self, name: str) -> int:
        return sum(called == name for called, _ in self.calls)

    async def _post(self, request: Request) -> Response:
        message = json.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        answer = self.respond(message["method"], message.get("params") or {})
        return answer.response if isinstance(answer, Refusal) else JSONResponse(_reply(message["id"], answer))

    @contextmanager
    def over_http(self) -> Iterator[str]:
        async def no_stream(_: Request) -> Response:
            return Response(status_code=405)

        routes = [Route("/mcp", self._post, methods=["POST"]), Route("/mcp", no_stream, methods=["GET", "DELETE"])]
        with served(Starlette(routes=routes)) as url:
            yield url

    @asynccontextmanager
    async def connected(self, **options: Any) -> AsyncIterator[ClientSession]:
        """Connect a session of the SDK over memory streams."""
        to_client, from_server = anyio.create_memory_object_stream[Any](100)
        to_server, from_client = anyio.create_memory_object_stream[Any](100)
        self.notify = to_client

        async def serve() -> None:
            async for received in from_client:
                message = received.message.model_dump(by_alias=True, mode="json", exclude_none=True)
                if "id" not in message or "method" not in message:
                    self.notes.append(message)
                    continue
                if message["method"] == "tools/call":
                    self.request_ids.append(message["id"])
                answer = self.respond(message["method"], message.get("params") or {})
                if callable(answer) and answer is not Silence:  # it says more before it answers
                    group.start_soon(answer)
                elif answer is not Silence:
                    await self.send(_reply(message["id"], answer))

        async with anyio.create_task_group() as group, to_client, from_server, to_server, from_client:
            group.start_soon(serve)
            async with ClientSession(from_server, to_server, **options) as session:
                await session.initialize()
                yield session
            group.cancel_scope.cancel()

    async def tools_changed(self) -> None:
        """Tell the client that the list of tools changed."""
        await self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    async def send(self, message: dict[str, Any]) -> None:
        """Send the client a message, if it is still there."""
        with suppress(anyio.BrokenResourceError):
            await self.notify.send(_session_message(message))

    def noted(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of the notifications of a method that came from the client."""
        return [note.get("params", {}) for note in self.notes if note.get("method") == method]


def _is_function(answer: Any) -> bool:
    return callable(answer) and not isinstance(answer, type)


def _reply(request_id: Any, answer: dict[str, Any]) -> dict[str, Any]:
    kind = "error" if "code" in answer else "result"
    return {"jsonrpc": "2.0", "id": request_id, kind: answer}


def _session_message(message: dict[str, Any]) -> SessionMessage:
    if sdks.HAS_MCP_1:
        from mcp.types import JSONRPCMessage

        return SessionMessage(JSONRPCMessage.model_validate(message))
    from mcp_types.jsonrpc import jsonrpc_message_adapter

    return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))


class Naps(list[float]):
    """Sleeps that take no time and are written down."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def never() -> float:
    return 0.0
