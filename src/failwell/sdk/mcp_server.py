"""Protect servers of the mcp SDK, versions 1 and 2: `MCPServer` or its `FastMCP`, and the low-level `Server`.

Needs the mcp SDK: `pip install 'failwell[mcp]'`.
"""

from typing import TYPE_CHECKING, Any

from failwell._sdks import supported
from failwell.sdk import lowlevel_1, lowlevel_2, mcp_tools
from failwell.server._protection import Protection


def _is_1() -> bool:
    return supported("mcp") < (2,)


_IS_1 = _is_1()
_BENEATH = "_mcp_server" if _IS_1 else "_lowlevel_server"

if TYPE_CHECKING or not _IS_1:
    from mcp.server import MCPServer as HighLevelServer
else:
    from mcp.server.fastmcp import FastMCP as HighLevelServer

__all__ = ["ProtectedServer", "attach"]


def attach(server: Any, protection: Protection) -> str:
    """Protect a server and return what was done.

    Raises:
        ValueError: this version is not supported.
    """
    attach_low_level = lowlevel_1.attach if _is_1() else lowlevel_2.attach
    beneath: Any = getattr(server, _BENEATH, None)
    if beneath is None:
        return attach_low_level(server, protection)
    done = mcp_tools.attach(server, protection)
    if not _IS_1:
        mcp_tools.attach_to_calls(server, protection)
    attach_low_level(beneath, protection, is_inner=True)
    return done


class ProtectedServer(HighLevelServer):
    """The SDK's high-level server, protected from the start: `ProtectedServer("tasks")`.

    Takes what the SDK's class takes, and a `Protection` if the default one does not do.
    """

    def __init__(self, *args: Any, protection: Protection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        (protection or Protection()).put_on(self, attach)
