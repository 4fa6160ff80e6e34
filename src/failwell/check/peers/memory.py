"""A connection in memory to a server of fastmcp or the mcp SDK in this process.

Needs the mcp SDK: `pip install 'failwell[mcp]'`.
"""

import asyncio
from contextlib import AsyncExitStack, nullcontext
from typing import Any

from failwell._sdks import needs
from failwell.check.peers.peer import ENDED, BadServer, PeerGone, PendingRequests, one_line

try:
    import anyio
    from mcp import types
    from mcp.shared.memory import create_client_server_memory_streams
    from mcp.shared.message import SessionMessage
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_LOW_LEVEL = ("_mcp_server", "_lowlevel_server")


def _sdk_message(content: dict[str, Any]) -> Any:
    """Return a message of the SDK: a model of its own in version 1, one of several in version 2."""
    sdk = dict[str, Any](vars(types))
    if "jsonrpc_message_adapter" in sdk:
        return sdk["jsonrpc_message_adapter"].validate_python(content)
    return sdk["JSONRPCMessage"].model_validate(content)


class MemoryPeer:
    """A server that runs as a task of the current event loop."""

    def __init__(self, server: Any) -> None:
        low_level = (getattr(server, name, None) for name in _LOW_LEVEL)
        self._server = server
        self._low_level: Any = next((found for found in low_level if found is not None), server)
        self._pending = PendingRequests()
        self._write: Any = None
        self._ready = asyncio.Event()
        self._ending = asyncio.Event()
        self._complaint = ""
        self._task = asyncio.create_task(self._serve())

    @classmethod
    async def start(cls, server: Any) -> "MemoryPeer":
        """Start a server.

        Raises:
            BadServer: it cannot be started.
        """
        peer = cls(server)
        ready = asyncio.create_task(peer._ready.wait())
        await asyncio.wait((ready, peer._task), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            raise BadServer(f"the server did not start: {peer._complaint or 'it ended'}")
        return peer

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a request."""
        return await self._pending.request(self._send, method, params)

    async def notify(self, method: str) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method})

    async def close(self) -> None:
        """End the server."""
        self._ending.set()
        await asyncio.wait((self._task,))

    def complaint(self) -> str:
        """Return why the server ended, if it did by itself."""
        return self._complaint

    async def _send(self, content: dict[str, Any]) -> None:
        if self._task.done() or self._ending.is_set():
            raise PeerGone(ENDED)
        try:
            await self._write.send(SessionMessage(_sdk_message(content)))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise PeerGone(ENDED) from None

    async def _serve(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                # fastmcp keeps its lifespan beside the server beneath it.
                await stack.enter_async_context(getattr(self._server, "_lifespan_manager", nullcontext)())
                client, ends = await stack.enter_async_context(create_client_server_memory_streams())
                read, self._write = client
                async with anyio.create_task_group() as group:
                    group.start_soon(self._run, *ends)
                    group.start_soon(self._listen, read)
                    self._ready.set()
                    await self._ending.wait()
                    group.cancel_scope.cancel()
        except Exception as failed:
            self._complaint = one_line(f"{type(failed).__name__}: {failed}")
        finally:
            self._pending.fail(ENDED)

    async def _run(self, read: Any, write: Any) -> None:
        try:
            await self._low_level.run(read, write, self._low_level.create_initialization_options())
        finally:
            self._ending.set()

    async def _listen(self, read: Any) -> None:
        async for message in read:
            if isinstance(message, Exception):
                continue
            content = message.message.model_dump(mode="json", by_alias=True, exclude_none=True)
            if "method" not in content:
                self._pending.resolve(content)
