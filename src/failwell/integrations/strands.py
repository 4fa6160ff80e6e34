"""Strands: tools of an `MCPClient` fail well.

Needs strands-agents 1.62 or newer: `Agent(…, plugins=[fail_well()])`.
"""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

from failwell.client import Caller
from failwell.integrations._frameworks import FailedResult, adapter_caller, call, connection_name, text_of

try:
    from strands import Agent
    from strands.middleware import ExecuteToolContext, ExecuteToolStage, ToolResultEvent, TypedEvent
    from strands.plugins import Plugin
    from strands.tools.mcp import MCPAgentTool
except ImportError as missing:
    raise ImportError("this needs strands with middleware: pip install 'strands-agents>=1.62'") from missing

__all__ = ["fail_well"]

Next = Callable[[ExecuteToolContext], AsyncGenerator[TypedEvent, None]]

_RAISED = "Tool execution failed: "  # strands keeps only the text of what a call raises


def fail_well(caller: Caller | None = None) -> Plugin:
    """Return a plugin for an agent: tool calls are retried where that is safe, and the model gets one clear text.

    The application gets the `Failure` by reading a tool result, in `AfterToolCallEvent` or in the agent's messages:
    `fw.read(event.result)`.

    Args:
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    return _StrandsPlugin(adapter_caller(caller))


class _StrandsPlugin(Plugin):
    """Wraps the stage in which tools are executed."""

    name = "failwell"

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    def init_agent(self, agent: Agent) -> None:
        """Wrap every tool call of an agent from now on."""
        agent.add_middleware(ExecuteToolStage, self._execute)

    async def _execute(self, context: ExecuteToolContext, next_fn: Next) -> AsyncGenerator[TypedEvent, None]:
        tool = context.tool
        if not isinstance(tool, MCPAgentTool):
            async for event in next_fn(context):
                yield event
            return
        events: list[TypedEvent] = []

        async def make_call(arguments: dict[str, Any]) -> Any:
            tool_use: Any = {**context.tool_use, "input": arguments}
            events[:] = [event async for event in next_fn(replace(context, tool_use=tool_use))]
            results = [event for event in events if isinstance(event, ToolResultEvent)]
            return _failed(results[-1].tool_result) if results else None

        async def call_other(name: str, arguments: dict[str, Any]) -> Any:
            return _failed(await tool.mcp_client.call_tool_async(context.tool_use["toolUseId"], name, arguments))

        result = await call(
            self._caller,
            make_call,
            server=connection_name(tool.mcp_client),
            tool=tool.mcp_tool.name,
            arguments=context.tool_use["input"],
            describe=lambda: tool.mcp_tool,
            call_other=call_other,
        )
        for event in events:
            if not (isinstance(event, ToolResultEvent) and isinstance(result, FailedResult)):
                yield event
        if isinstance(result, FailedResult):
            yield ToolResultEvent(_told(context, result))


def _failed(result: Any) -> dict[str, Any] | None:
    """Return a failed result for reading, None for a success and for what is no failure of the tool."""
    texts = [block.get("text") or "" for block in result["content"]]
    if result["status"] != "error" or result.get("cancelled"):
        return None
    content = [{"type": "text", "text": text.removeprefix(_RAISED)} for text in texts]
    return {**result, "content": content, "isError": True}


def _told(context: ExecuteToolContext, result: FailedResult) -> Any:
    """Return a tool result of strands: models get its content and status, the application all of it."""
    return {
        "toolUseId": context.tool_use["toolUseId"],
        "status": "success" if result.is_fallback else "error",
        "content": [{"text": text_of(result)}],
        "metadata": dict(result.meta or {}),
    }
