"""LangChain and LangGraph: tools of langchain-mcp-adapters fail well.

Needs langchain-mcp-adapters: `MultiServerMCPClient(connections, tool_interceptors=[fail_well()])`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from failwell.client import Caller
from failwell.integrations._frameworks import FailedResult, call, text_of

try:
    from langchain_core.messages import ToolMessage
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
except ImportError as missing:
    raise ImportError("this needs LangChain's MCP tools: pip install langchain-mcp-adapters") from missing

__all__ = ["fail_well"]

Handler = Callable[[MCPToolCallRequest], Awaitable[Any]]


def fail_well(caller: Caller | None = None) -> Callable[[MCPToolCallRequest, Handler], Awaitable[Any]]:
    """Return an interceptor of tool calls: retried where that is safe, and the run goes on after any failure.

    Let it be the last interceptor: those after it run again with each try.

    The model gets one text with the next step. The application finds the `Failure` in the artifact of the tool
    message: `message.artifact["failure"]`.

    Args:
        caller: how calls are made, if not as a plain `Caller()` makes them.
    """
    used = caller or Caller()

    async def intercept(request: MCPToolCallRequest, handler: Handler) -> Any:
        result = await call(
            used,
            lambda arguments: handler(request.override(args=arguments)),
            server=request.server_name,
            tool=request.name,
            arguments=request.args,
            describe=lambda: _described(request),
        )
        return _message(request, result) if isinstance(result, FailedResult) else result

    return intercept


def _message(request: MCPToolCallRequest, result: FailedResult) -> ToolMessage:
    return ToolMessage(
        text_of(result),
        name=request.name,
        status="success" if result.is_fallback else "error",
        artifact={"failure": result.failure},
        tool_call_id=getattr(request.runtime, "tool_call_id", None) or "",
    )


def _described(request: MCPToolCallRequest) -> dict[str, Any] | None:
    """Return what the server says of the tool. LangChain keeps the annotations in the metadata of the agent's tool."""
    names = (request.name, f"{request.server_name}_{request.name}")
    tools: list[Any] = getattr(request.runtime, "tools", None) or []
    found = [tool for tool in tools if tool.name in names]
    if len(found) != 1:  # another server's tool of the same name may be harmless where this one is not
        return None
    return {"annotations": found[0].metadata, "inputSchema": found[0].args_schema}
