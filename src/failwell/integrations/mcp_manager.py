"""Protect the tools of a high-level server of the mcp SDK: `FastMCP` of mcp 1 and `MCPServer` of mcp 2.

Both run every tool through a tool manager. There the exception that a tool raised, and the value it returned, are
still what they were.
"""

from contextvars import ContextVar

from failwell.protection import Protection

_SDK = frozenset(("mcp",))
_PUBLIC = ("ToolError", "ResourceError")

_running: ContextVar[Protection | None] = ContextVar("failwell_mcp_running", default=None)
