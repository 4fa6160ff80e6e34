"""Protect servers of the mcp SDK, versions 1 and 2: `MCPServer` or its `FastMCP`, and the low-level `Server`.

Needs mcp 1.21.2 or newer: `pip install 'failwell[mcp]'`.
"""


from failwell.integrations.versions import supported

_IS_1 = supported("mcp", (1, 21, 2), (3,)) < (2,)

if _IS_1:
    pass
else:
    pass

__all__ = ["ProtectedServer", "attach"]
