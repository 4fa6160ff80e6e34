"""pydantic-ai: tools of an `MCPToolset` fail well.

Needs pydantic-ai: `MCPToolset(transport, process_tool_call=fail_well())`.
"""

from typing import Any

from failwell.advice import decide
from failwell.client import Caller
from failwell.integrations._frameworks import FailedResult, adapter_caller, call, connection_name, text_of
from failwell.server._responder import is_rpc_error

try:
    from pydantic_ai import ModelRetry, RunContext, ToolFailed
    from pydantic_ai.mcp import CallToolFunc, ProcessToolCallback
except ImportError as missing:
    raise ImportError("this needs pydantic-ai with MCP: pip install 'pydantic-ai-slim[mcp]'") from missing

__all__ = ["fail_well"]


class _Success:
    """A value as the model gets it. What it looks like says nothing: it may be an error that somebody stored."""

    def __init__(self, value: Any) -> None:
        self.value = value


def fail_well(caller: Caller | None = None) -> ProcessToolCallback:
    """Return what to process tool calls with: retried where that is safe, and the run goes on after any failure.

    The model gets one text with the next step: as a `ModelRetry` if it is to correct its input, else as a `ToolFailed`,
    which no budget of retries is charged for. The application gets the `Failure` from the hook of the caller, in an
    event of the kind `failure`.

    Args:
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    used = adapter_caller(caller)

    async def process(ctx: RunContext[Any], call_tool: CallToolFunc, name: str, tool_args: dict[str, Any]) -> Any:
        result = await call(
            used,
            lambda arguments: _called(call_tool, name, arguments),
            server=_toolset_id(ctx),
            tool=name,
            arguments=tool_args,
            describe=lambda: _described(ctx),
            call_other=lambda other, arguments: _called(call_tool, other, arguments),
        )
        if isinstance(result, _Success):
            return result.value
        if not isinstance(result, FailedResult) or result.is_fallback:
            return text_of(result)
        is_to_correct = decide(result.failure).action == "fix_input"
        raise (ModelRetry if is_to_correct else ToolFailed)(text_of(result))

    return process


async def _called(call_tool: CallToolFunc, name: str, arguments: dict[str, Any]) -> Any:
    """Return the value of a call, or the error in the shape of the wire: pydantic-ai raises its text."""
    try:
        return _Success(await call_tool(name, arguments))
    except (ModelRetry, ToolFailed) as error:
        if error.__cause__ is not None and is_rpc_error(error.__cause__):
            raise error.__cause__ from None
        return {"content": [{"type": "text", "text": error.message}], "isError": True}


def _tool(ctx: RunContext[Any]) -> Any:
    manager = ctx.tool_manager
    return (manager.tools or {}).get(ctx.tool_name or "") if manager else None


def _toolset_id(ctx: RunContext[Any]) -> str:
    tool = _tool(ctx)
    return (tool.toolset.id or connection_name(tool.toolset)) if tool else ""


def _described(ctx: RunContext[Any]) -> dict[str, Any] | None:
    tool = _tool(ctx)
    if tool is None:
        return None
    metadata: dict[str, Any] = tool.tool_def.metadata or {}
    return {"annotations": metadata.get("annotations"), "inputSchema": tool.tool_def.parameters_json_schema}
