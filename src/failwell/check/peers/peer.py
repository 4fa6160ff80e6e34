"""`Peer`: a connection to a server that answers JSON-RPC requests, and the handshake that each of them begins with."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from failwell._json import is_array, is_object
from failwell.phrases.rpc_codes import METHOD_NOT_FOUND
from failwell.redact.scrubber import clean

PROTOCOL_VERSION = "2025-06-18"
ENDED = "the server ended"
"""The text of `PeerGone` where a server gives no reason."""

_MOST_PAGES = 100
_LONGEST_LINE = 200


class BadServer(Exception):
    """The server cannot be checked; the text is one line that says why."""


class PeerGone(Exception):
    """The server ended, or the connection to it broke."""


class Peer(Protocol):
    """A connected server. Requests may overlap."""

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a request.

        Raises:
            PeerGone: the server is no longer there.
        """
        ...

    async def notify(self, method: str) -> None:
        """Send a notification."""
        ...

    async def close(self) -> None:
        """End the connection, and the server if it was started for it."""
        ...

    def complaint(self) -> str:
        """Return what the server said beside the protocol: the last line of its stderr, or lines that are no JSON."""
        ...


class PendingRequests:
    """The requests of one connection that wait for their answers, by number."""

    def __init__(self) -> None:
        self._last = 0
        self._futures: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def request(
        self, send: Callable[[dict[str, Any]], Awaitable[None]], method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """Send a request with the next number and return the whole JSON-RPC answer to it."""
        self._last += 1
        number = self._last
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._futures[number] = future
        try:
            await send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await future
        finally:
            del self._futures[number]

    def resolve(self, message: dict[str, Any]) -> None:
        """Give an answer to the request that waits for it, if there is one."""
        number = message.get("id")
        future = self._futures.get(number) if isinstance(number, int) else None
        if future is not None and not future.done():
            future.set_result(message)

    def fail(self, reason: str) -> None:
        """End all requests that still wait with `PeerGone`."""
        for future in self._futures.values():
            if not future.done():
                future.set_exception(PeerGone(reason))


async def initialize(peer: Peer) -> dict[str, Any]:
    """Introduce the client and return what the server says of itself.

    Raises:
        BadServer: the answer is none of MCP.
        PeerGone: the server is no longer there.
    """
    client = {"name": "failwell", "version": "0"}
    params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
    answer = await peer.request("initialize", params)
    result = answer.get("result")
    if not is_object(result) or not isinstance(result.get("protocolVersion"), str):
        # A proxy answers for a server that died; why it did stands on stderr.
        why, complaint = _error_of(answer), peer.complaint()
        said = f"{why.rstrip('.')}: {complaint}" if complaint else why
        raise BadServer(f"the server refused to start a session: {said}")
    await peer.notify("notifications/initialized")
    return result


async def list_tools(peer: Peer) -> list[dict[str, Any]]:
    """Return all tools of a server, page by page.

    Raises:
        BadServer: the server has no tools, or does not list them.
        PeerGone: the server is no longer there.
    """
    found: list[dict[str, Any]] = []
    cursor: Any = None
    for _ in range(_MOST_PAGES):
        answer = await peer.request("tools/list", {"cursor": cursor} if cursor else {})
        result = answer.get("result")
        error = answer.get("error")
        if is_object(error) and error.get("code") == METHOD_NOT_FOUND:
            break
        tools = result.get("tools") if is_object(result) else None
        if not is_object(result) or not is_array(tools) or not all(_is_tool(tool) for tool in tools):
            raise BadServer(f"the server does not list its tools: {_error_of(answer)}")
        found += tools
        cursor = result.get("nextCursor")
        if not cursor:
            break
    if not found:
        raise BadServer("the server has no tools: there is nothing to check")
    return found


def _is_tool(tool: Any) -> bool:
    return is_object(tool) and isinstance(tool.get("name"), str)


def _error_of(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    said = error.get("message") if is_object(error) else None
    return one_line(said) if isinstance(said, str) and said else "its answer is not an MCP answer"


def one_line(text: str) -> str:
    """Return text as one short line, redacted."""
    return clean(" ".join(text.split()), _LONGEST_LINE)
