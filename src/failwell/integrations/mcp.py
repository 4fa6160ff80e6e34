"""Protect servers of the mcp SDK, versions 1 and 2: `MCPServer` or its `FastMCP`, and the low-level `Server`.

Needs mcp 1.21.2 or newer: `pip install 'failwell[mcp]'`.
"""

from typing import Any

from failwell.integrations import mcp_lowlevel, mcp_lowlevel_1, mcp_manager
from failwell.integrations.versions import supported
from failwell.protecting import protect
from failwell.protection import Protection

_IS_1 = supported("mcp", (1, 21, 2), (3,)) < (2,)

if _IS_1:
    from mcp.server.fastmcp import FastMCP as _HighLevel
else:
    from mcp.server import MCPServer as _HighLevel

__all__ = ["ProtectedServer", "attach"]
