"""OpenAI's agents SDK: tools of its MCP servers fail well.

Needs openai-agents: `server = fail_well(MCPServerStdio(params=…))`.
"""

import functools
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from failwell.client import Caller
from failwell.dialects._placement import META_KEY, read_whole
from failwell.failure import Failure
from failwell.integrations._frameworks import call

try:
    from agents import ToolCallOutputItem
    from agents.mcp import MCPServer, MCPToolCustomDataContext
except ImportError as missing:
    raise ImportError("this needs OpenAI's agents SDK: pip install openai-agents") from missing

__all__ = ["fail_well", "failure_of"]

Server = TypeVar("Server", bound=MCPServer)


def fail_well(server: Server, caller: Caller | None = None) -> Server:
    """Return the same server, its tool calls retried where that is safe; the run goes on after any failure.

    The model gets one text with the next step. The application gets the `Failure` with `failure_of` an item of
    `result.new_items`: the SDK keeps it in the `custom_data` of the item.

    Args:
        server: one of the SDK's MCP servers, connected or not.
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    used = caller or Caller()
    bare = server.call_tool

    @functools.wraps(bare)
    async def call_tool(tool_name: str, arguments: dict[str, Any] | None, meta: dict[str, Any] | None = None) -> Any:
        return await call(
            used,
            lambda sent: bare(tool_name, sent or arguments, **({} if meta is None else {"meta": meta})),
            server=server.name,
            tool=tool_name,
            arguments=arguments,
            describe=lambda: _described(server, tool_name),
        )

    patched: Any = server
    patched.call_tool = call_tool
    patched.custom_data_extractor = _extractor(server.custom_data_extractor)
    return server


def failure_of(item: object) -> Failure | None:
    """Return the failure of a tool call from an item of a run, or None if the call succeeded."""
    if not isinstance(item, ToolCallOutputItem):
        return None
    return read_whole((item.custom_data or {}).get(META_KEY))


def _extractor(theirs: Any) -> Any:
    async def extract(context: MCPToolCustomDataContext) -> Mapping[str, Any] | None:
        found: Any = theirs(context) if theirs else None
        data: dict[str, Any] = dict((await found if inspect.isawaitable(found) else found) or {})
        if failure := (context.result_meta or {}).get(META_KEY):
            data[META_KEY] = failure
        return data

    return extract


async def _described(server: MCPServer, tool_name: str) -> Any:
    tools = server.cached_tools or await server.list_tools()
    return next((tool for tool in tools if tool.name == tool_name), None)
