"""Calling tools: decoded, retried where that is safe, repaired and replaced where the caller wants it. No SDK here."""

from failwell.client._caller import Caller, CallResult, approved
from failwell.client._install import Installation, install, uninstall, wrap
from failwell.client._tool_list import ToolDescription, ToolListCache, ToolLookup, ToolPage

__all__ = [
    "CallResult",
    "Caller",
    "Installation",
    "ToolDescription",
    "ToolListCache",
    "ToolLookup",
    "ToolPage",
    "approved",
    "install",
    "uninstall",
    "wrap",
]
