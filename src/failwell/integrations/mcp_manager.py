"""Protect the tools of a high-level server of the mcp SDK: `FastMCP` of mcp 1 and `MCPServer` of mcp 2.

Both run every tool through a tool manager. There the exception that a tool raised, and the value it returned, are
still what they were.
"""

import functools
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from mcp.types import CallToolResult
from pydantic import ValidationError

from failwell.answering import Answers, opened, package_raising, unknown_tool, unwrapped
from failwell.collect import invalid
from failwell.arguments import wording
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.integrations.protocol_errors import is_protocol_error, is_rpc_error
from failwell.integrations.pydantic import problems_of
from failwell.protection import Called, Protection

_SDK = frozenset(("mcp",))
_PUBLIC = ("ToolError", "ResourceError")

_running: ContextVar[Protection | None] = ContextVar("failwell_mcp_running", default=None)
