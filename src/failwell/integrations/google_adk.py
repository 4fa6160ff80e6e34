"""Google's ADK: tools of an `McpToolset` fail well.

Needs google-adk: `App(…, plugins=[fail_well()])`.
"""

from typing import Any

from failwell.client import Caller
from failwell.integrations._frameworks import FailedResult, call, connection_name, text_of

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.mcp_tool import McpTool
    from google.adk.tools.tool_context import ToolContext
except ImportError as missing:
    raise ImportError("this needs Google's ADK with MCP: pip install 'google-adk[mcp]'") from missing

__all__ = ["fail_well"]

# ADK catches what a call raises and keeps the text only. Other texts under "error" are its own words to the
# application: that somebody must approve the call, or has refused to.
_RAISED = ("MCP tool execution failed: ", "Unexpected error during MCP tool execution: ")


def fail_well(caller: Caller | None = None) -> BasePlugin:
    """Return a plugin for an app: tool calls are retried where that is safe, and the model gets one clear text.

    The application gets the `Failure` from the hook of the caller, in an event of the kind `failure`.

    Args:
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    return _AdkPlugin(caller or Caller())


class _AdkPlugin(BasePlugin):
    """Acts after the tool was called once: callbacks that guard the call have had their say by then."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(name="failwell")
        self._caller = caller

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return what takes the place of a failed result, or None to leave it."""
        if not isinstance(tool, McpTool) or not _is_failed(result):
            return None
        made = [result]

        async def make_call(arguments: dict[str, Any]) -> Any:
            return _wire(made.pop() if made else await tool.run_async(args=arguments, tool_context=tool_context))

        answer = await call(
            self._caller,
            make_call,
            server=connection_name(getattr(tool, "_mcp_session_manager", None)),
            tool=tool.raw_mcp_tool.name,
            arguments=tool_args,
            describe=lambda: tool.raw_mcp_tool,
        )
        if not isinstance(answer, FailedResult):
            return answer
        return {"result" if answer.is_fallback else "error": text_of(answer)}


def _is_failed(result: Any) -> bool:
    if not isinstance(result, dict):
        return False
    return result.get("isError") is True or _raised_text(result) is not None


def _raised_text(result: dict[str, Any]) -> str | None:
    error = result.get("error") if result.keys() == {"error"} else None
    if not isinstance(error, str):
        return None
    return next((error.removeprefix(start) for start in _RAISED if error.startswith(start)), None)


def _wire(result: Any) -> Any:
    """Return a result in the shape of the wire also where ADK made a text of an exception."""
    text = _raised_text(result) if isinstance(result, dict) else None
    return result if text is None else {"content": [{"type": "text", "text": text}], "isError": True}
