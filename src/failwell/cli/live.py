"""A live call: start an MCP server over stdio or reach one over HTTP, list its tools, call one."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from failwell.check.peers.http import HttpPeer
from failwell.check.peers.peer import BadServer, Gone, Peer, list_tools, shake_hands
from failwell.check.peers.stdio import StdioPeer
from failwell.cli.payloads import address_in

__all__ = ["BadServer", "Server"]

Value = TypeVar("Value")

_START = 60.0
_WAIT = 30.0


class Server:
    """A server started for real, or reached by its URL; a context manager that ends it.

    Raises:
        BadServer: it cannot be started, ended, or did not answer in time; the text is one line that says which.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._runner = asyncio.Runner()
        try:
            self._peer = self._runner.run(_connected(command, cwd, env))
        except BaseException:
            self._runner.close()
            raise

    def __enter__(self) -> "Server":
        try:
            self._answer(shake_hands(self._peer), wait=_START)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._runner.run(self._peer.close())
        self._runner.close()

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools by name."""
        return {tool["name"]: tool for tool in self._answer(list_tools(self._peer))}

    def call(self, tool: str, arguments: dict[str, Any], *, wait: float = _WAIT) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a call."""
        return self._answer(self._peer.request("tools/call", {"name": tool, "arguments": arguments}), wait=wait)

    def _answer(self, asked: Coroutine[Any, Any, Value], *, wait: float = _WAIT) -> Value:
        try:
            return self._runner.run(asyncio.wait_for(asked, wait))
        except TimeoutError:
            raise BadServer(f"the server did not answer within {wait:g} s") from None
        except Gone as gone:
            complaint = self._peer.complaint()
            raise BadServer(f"{gone}: {complaint}" if complaint else str(gone)) from None


async def _connected(command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None) -> Peer:
    address = address_in(command)
    if address is not None:
        return HttpPeer(address, start=_START, wait=_WAIT)
    return await StdioPeer.start(command, cwd=cwd, env=env)
