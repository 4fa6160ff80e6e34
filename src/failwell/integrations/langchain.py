"""LangChain and LangGraph: tools of langchain-mcp-adapters fail well.

Needs langchain-mcp-adapters: `MultiServerMCPClient(connections, tool_interceptors=[fail_well()])`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from failwell.advice import decide
from failwell.client import Caller
from failwell.dialects._placement import META_KEY, write_whole
from failwell.failure import is_certain
from failwell.integrations._frameworks import FailedResult, adapter_caller, call, text_of
from failwell.redact.canonical import canonical

try:
    from langchain_core.messages import ToolMessage
    from langchain_mcp_adapters.interceptors import MCPToolCallRequest
except ImportError as missing:
    raise ImportError("this needs LangChain's MCP tools: pip install langchain-mcp-adapters") from missing

__all__ = ["fail_well"]

Handler = Callable[[MCPToolCallRequest], Awaitable[Any]]


def fail_well(
    caller: Caller | None = None, *, interrupts: bool = False
) -> Callable[[MCPToolCallRequest, Handler], Awaitable[Any]]:
    """Return an interceptor of tool calls: retried where that is safe, and the run goes on after any failure.

    Let it be the last interceptor: those after it run again with each try.

    The model gets one text with the next step. The application gets the `Failure` of a tool message with
    `fw.failure_of(message)`; it is in its artifact.

    With *interrupts*, a failure that only a person can clear, such as a missing permission, interrupts the graph: the
    application shows the `question`, and resumes with the answer. LangGraph then makes the call again, which succeeds
    if access was granted; otherwise the model gets the answer. A call that may have had an effect never interrupts.

    Args:
        caller: how calls are made, if not as a plain `Caller()` makes them.
        interrupts: ask a person by LangGraph's `interrupt()` where a failure says so; the graph needs a checkpointer.
    """
    used = adapter_caller(caller)

    async def intercept(request: MCPToolCallRequest, handler: Handler) -> Any:
        result = await call(
            used,
            lambda arguments: handler(request.override(args=arguments)),
            server=request.server_name,
            tool=request.name,
            arguments=request.args,
            describe=lambda: _described(request),
            call_other=lambda name, arguments: handler(request.override(name=name, args=arguments)),
        )
        if not isinstance(result, FailedResult):
            return result
        if interrupts and _is_for_person(result):
            from langgraph.types import interrupt  # only those who ask for it need LangGraph

            answer = interrupt({"tool": request.name, "question": text_of(result), "code": result.failure.code})
            return _message(request, result, answer)
        return _message(request, result)

    return intercept


def _is_for_person(result: FailedResult) -> bool:
    failure = result.failure
    is_without_effect = failure.outcome in ("not_executed", "rejected") and is_certain(failure)
    return not result.is_fallback and is_without_effect and decide(failure).action == "escalate"


def _message(request: MCPToolCallRequest, result: FailedResult, answer: Any = None) -> ToolMessage:
    text = text_of(result)
    return ToolMessage(
        text if answer is None else f"{text}\nThe user was asked and answered: {answer}",
        name=request.name,
        status="success" if result.is_fallback else "error",
        artifact={META_KEY: write_whole(canonical(result.failure))},  # plain JSON: a checkpointer stores it
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
