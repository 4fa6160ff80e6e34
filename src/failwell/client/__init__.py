"""Tool calls for agents: results are read, calls retried, corrected or replaced as the caller wants. No SDK here."""

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
