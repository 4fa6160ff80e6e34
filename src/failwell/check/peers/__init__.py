"""Connections to the server under check: a started program, a URL, or a server in this process."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from failwell.check.peers.http import HttpPeer
from failwell.check.peers.peer import BadServer, Peer, PeerGone, one_line
from failwell.check.peers.stdio import StdioPeer

__all__ = ["BadServer", "Connect", "Peer", "PeerGone", "connector"]

Connect = Callable[[], Coroutine[Any, Any, Peer]]
"""Starts a server, or connects to one."""


def connector(
    command: Sequence[str],
    *,
    start: float,
    wait: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Connect:
    """Return what starts a server by a command, or connects to the URL that was given in its place.

    *start* and *wait* are the seconds that the first answer and later ones of a URL may take.

    Raises:
        BadServer: it is the URL of something else.
    """
    if len(command) != 1 or "://" not in command[0]:
        return lambda: StdioPeer.start(command, cwd=cwd, env=env)
    url = command[0]
    if not url.startswith(("http://", "https://")):
        raise BadServer(f"{one_line(url)} is not the address of an MCP server: use http:// or https://")

    async def connect() -> Peer:
        return HttpPeer(url, start=start, wait=wait)

    return connect
