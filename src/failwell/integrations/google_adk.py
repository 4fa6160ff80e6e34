"""Google's ADK: tools of an `McpToolset` fail well.

Needs google-adk: `App(…, plugins=[fail_well()])`.
"""

from typing import Any

from failwell.client import Caller
from failwell.client._install import adapted
from failwell.dialects._placement import META_KEY
from failwell.integrations._frameworks import FailedResult, adapter_caller, call, connection_name, text_of

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
    return _AdkPlugin(adapter_caller(caller))


class _AdkPlugin(BasePlugin):
    """Lets the session that a tool calls retry: callbacks that guard the call have had their say by then.

    Where ADK got no result of a session, only the text of an exception, the tool is called again from here.
    """

    def __init__(self, caller: Caller) -> None:
        super().__init__(name="failwell")
        self._caller = caller

    async def before_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],  # noqa: ARG002 - the signature is ADK's
        tool_context: ToolContext,  # noqa: ARG002 - the signature is ADK's
    ) -> dict[str, Any] | None:
        """Say that the session is to act; return None: the tool is called."""
        adapted.set(isinstance(tool, McpTool))
        return None

    async def on_tool_error_callback(self, **_: Any) -> dict[str, Any] | None:
        """Return None: the error is ADK's to handle."""
        adapted.set(False)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return what takes the place of a failed result, or None to leave it."""
        adapted.set(False)
        if not isinstance(tool, McpTool):
            return None
        if (text := _text_of_session(result)) is not None:
            return {"error": text}
        if not _is_failed(result):
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


def _text_of_session(result: Any) -> str | None:
    """Return the text for the model that a session left in place of a failed result."""
    if not isinstance(result, dict) or result.get("isError") is not True or META_KEY not in (result.get("meta") or {}):
        return None
    return "\n".join(block["text"] for block in result.get("content") or () if block.get("type") == "text")


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
