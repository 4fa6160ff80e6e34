"""`CheckSession`: calls to a server that may hang or die, each with a timeout; a server that died is started again."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

from msgspec import Struct

from failwell.check.evidence import ProbeAnswer
from failwell.check.peers import Connect
from failwell.check.peers.peer import BadServer, Peer, PeerGone, initialize, list_tools

_MOST_STARTS = 25


class CallLimits(Struct, frozen=True, kw_only=True):
    """How long a server may take to start and to answer a call, in seconds, and how many calls may overlap."""

    start: float = 30.0
    call: float = 10.0
    overlapping: int = 8


class CheckSession:
    """A connection that outlives the server's death."""

    def __init__(self, connect: Connect, limits: CallLimits, *, clock: Callable[[], float] = perf_counter) -> None:
        self._connect = connect
        self.limits = limits
        self._clock = clock
        self._peer: Peer | None = None
        self._starts = 0
        self._starting = asyncio.Lock()
        self.server: dict[str, Any] = {}
        self.tools: list[dict[str, Any]] = []

    async def open(self) -> None:
        """Start the server, initialize the session and list its tools.

        Raises:
            BadServer: it cannot be checked; the text says why.
        """
        peer = await self._start()
        self.tools = await self._wait_at_start(peer, list_tools(peer))

    async def call(self, tool: str, arguments: dict[str, Any]) -> ProbeAnswer:
        """Make one call, and see whether the server still answers after it."""
        begun = self._clock()
        try:
            peer = await self._current()
        except BadServer:
            return ProbeAnswer(response=None, seconds=self._clock() - begun, ending="crashed", alive=False)
        try:
            response = await asyncio.wait_for(
                peer.request("tools/call", {"name": tool, "arguments": arguments}), self.limits.call
            )
        except TimeoutError:
            return ProbeAnswer(
                response=None, seconds=self._clock() - begun, ending="hung", alive=await self._answers(peer)
            )
        except PeerGone:
            await self._drop(peer)
            return ProbeAnswer(response=None, seconds=self._clock() - begun, ending="crashed", alive=False)
        return ProbeAnswer(response=response, seconds=self._clock() - begun, alive=await self._answers(peer))

    async def restart(self) -> None:
        """End the server and start it again: what hung in it is gone."""
        if self._peer is not None:
            await self._drop(self._peer)

    async def close(self) -> None:
        """End the server."""
        if self._peer is not None:
            peer, self._peer = self._peer, None
            await peer.close()

    async def _answers(self, peer: Peer) -> bool:
        try:
            await asyncio.wait_for(peer.request("ping", {}), self.limits.call)
        except (TimeoutError, PeerGone):
            await self._drop(peer)
            return False
        return True

    async def _current(self) -> Peer:
        async with self._starting:
            return self._peer if self._peer is not None else await self._start()

    async def _drop(self, peer: Peer) -> None:
        if self._peer is peer:
            self._peer = None
            await peer.close()

    async def _start(self) -> Peer:
        self._starts += 1
        if self._starts > _MOST_STARTS:
            raise BadServer(f"the server ended {_MOST_STARTS} times")
        peer = await self._connect()
        self.server = await self._wait_at_start(peer, initialize(peer))
        self._peer = peer
        return peer

    async def _wait_at_start(self, peer: Peer, request: Awaitable[Any]) -> Any:
        try:
            return await asyncio.wait_for(request, self.limits.start)
        except asyncio.CancelledError:
            self._peer = None
            await peer.close()
            raise
        except (TimeoutError, PeerGone, BadServer) as failed:
            await peer.close()
            self._peer = None
            raise BadServer(_reason(failed, peer.complaint(), self.limits.start)) from None


def _reason(failed: Exception, complaint: str, seconds: float) -> str:
    said = f": {complaint}" if complaint else ""
    if isinstance(failed, TimeoutError):
        return f"the server did not answer within {seconds:g} s{said}"
    return f"{failed}{said}" if isinstance(failed, PeerGone) else str(failed)
