"""OpenAI's agents SDK: tools of its MCP servers fail well.

Needs openai-agents: `server = fail_well(MCPServerStdio(params=…))`.
"""

import functools
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from failwell._log import log
from failwell.client import Caller
from failwell.dialects._placement import META_KEY
from failwell.integrations._frameworks import adapter_caller, call

try:
    from agents.mcp import MCPServer, MCPToolCustomDataContext
except ImportError as missing:
    raise ImportError("this needs OpenAI's agents SDK: pip install openai-agents") from missing

__all__ = ["fail_well"]

Server = TypeVar("Server", bound=MCPServer)


def fail_well(server: Server, caller: Caller | None = None) -> Server:
    """Return the same server, its tool calls retried where that is safe; the run goes on after any failure.

    The model gets one text with the next step. The application gets the `Failure` with `fw.failure_of` of an item of
    `result.new_items`: the SDK keeps it in the `custom_data` of the item.

    Args:
        server: one of the SDK's MCP servers, connected or not.
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    used = adapter_caller(caller)
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
            call_other=bare,
        )

    listed: list[Any] = []
    bare_list = server.list_tools

    @functools.wraps(bare_list)
    async def list_tools(*args: Any, **kwargs: Any) -> Any:
        """List the tools. The SDK asks before each turn: a server that fails meanwhile has those it listed last."""
        try:
            listed[:] = await bare_list(*args, **kwargs)
        except Exception as exc:
            if not listed:
                raise
            log.info("the tools of %s could not be listed, so the previous list is used: %r", server.name, exc)
        return list(listed)

    patched: Any = server
    patched.call_tool = call_tool
    patched.list_tools = list_tools
    patched.custom_data_extractor = _extractor(server.custom_data_extractor)
    return server


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
