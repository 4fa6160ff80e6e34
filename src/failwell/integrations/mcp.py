"""Servers and clients of the mcp SDK: a server that is protected from the start, and what failed calls give.

Needs the mcp SDK: `pip install 'failwell[mcp]'`. `fw.protect`, `fw.wrap` and `fw.install` need no name from here.
"""

from failwell.sdk.mcp_client import FailedResult, FallbackResult
from failwell.sdk.mcp_server import ProtectedServer

__all__ = ["FailedResult", "FallbackResult", "ProtectedServer"]
