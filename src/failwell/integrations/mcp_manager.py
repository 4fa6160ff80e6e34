"""Protect the tools of a high-level server of the mcp SDK: `FastMCP` of mcp 1, `MCPServer` of mcp 2.

Both run every tool through a tool manager, where the exception that a tool raised and the value that it returned are
still what they were.
"""

from contextvars import ContextVar
from typing import Any

from failwell.answering import Answers, opened, package_raising, unknown_tool, unwrapped
from failwell.arguments import wording
from failwell.collect import invalid
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.integrations.protocol_errors import is_protocol_error, is_rpc_error
from failwell.integrations.pydantic import problems_of
from failwell.protection import Called, Protection

try:
    from mcp.types import CallToolResult
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError("this needs mcp 1.21.2 or newer: pip install 'failwell[mcp]'") from missing

_SDK = frozenset(("mcp",))
_WRITTEN_FOR_THE_CALLER = frozenset(("FastMCPError", "MCPServerError"))  # in mcp 1, in mcp 2

_running: ContextVar[Protection | None] = ContextVar("failwell_mcp_running", default=None)


def attach(server: Any, protection: Protection) -> str:
    """Protect the tools of a server, those that are added later too, and return what was done."""
    manager = server._tool_manager
    run, tools = manager.call_tool, manager.list_tools

    async def call_tool(name: str, arguments: dict[str, Any], context: Any = None, convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002 - the SDK's signature
        if not convert_result:
            return await run(name, arguments, context)
        is_nested = _running.get() is protection  # a tool that calls another of its server handles the failure
        tool = manager.get_tool(name)
        token, started = _running.set(protection), protection.start()
        try:
            value, failure = opened(await run(name, arguments, context))
        except Exception as exc:
            if is_nested or is_protocol_error(exc):
                raise
            called = _called(name, tool, context)
            failure = _failure(exc, arguments, tool, tools, protection.answers(called))
        finally:
            _running.reset(token)
        if failure is None:
            try:
                result = value if _is_error(value) else tool.fn_metadata.convert_result(value)
            except Exception as exc:
                if is_nested:
                    raise
                failure = protection.answers(_called(name, tool, context)).broken_output(exc)
            else:
                protection.finish(name, started)
                return result
        elif is_nested:
            raise ToolFailure(failure)
        wire, failure = protection.result(failure, _called(name, tool, context))
        protection.finish(name, started, failure)
        return CallToolResult.model_validate(wire)

    def list_tools() -> list[Any]:
        listed: list[Any] = []
        for tool in tools():
            changes = protection.listing(tool.name, tool.fn, tool.meta, tool.description)
            listed.append(tool.model_copy(update=changes) if changes else tool)
        return listed

    manager.call_tool, manager.list_tools = call_tool, list_tools
    return "the tool manager of mcp hands over what tools raise and return"


def _failure(exc: Exception, arguments: dict[str, Any], tool: Any, tools: Any, answers: Answers) -> Failure:
    if tool is None:
        return unknown_tool(answers.tool, [other.name for other in tools()])
    core = unwrapped(exc, _SDK)
    if isinstance(core, ValidationError) and (found := _refusal(tool, arguments)):
        return found
    if _is_for_the_caller(core) or (is_rpc_error(core) and package_raising(core) not in _SDK):
        return answers.said(core)
    return answers.failure_of(core)


def _refusal(tool: Any, arguments: dict[str, Any]) -> Failure | None:
    """Return the failure if it is the arguments that are wrong: mcp 1 does not say, so they are checked once more."""
    metadata = tool.fn_metadata
    parsed = metadata.pre_parse_json(arguments)
    try:
        metadata.arg_model.model_validate(parsed)
    except ValidationError as exc:
        names = tool.parameters.get("properties", {})
        problems = [*problems_of(exc, arguments=parsed, names=names), *_unknown(arguments, names)]
        return invalid(problems, tool=tool.name)
    except Exception:  # a validator that is broken is the tool's fault
        return None
    return None


def _unknown(arguments: dict[str, Any], names: Any) -> list[Any]:
    """Return the problems of arguments that do not exist, which the SDK passes over in silence."""
    free = [name for name in names if name not in arguments]
    return [wording.unknown(wording.Place((name,), arguments[name]), free) for name in arguments if name not in names]


def _is_for_the_caller(exc: Exception) -> bool:
    return any(cls.__name__ in _WRITTEN_FOR_THE_CALLER for cls in type(exc).__mro__)


def _is_error(value: Any) -> bool:
    """Return whether a tool wrote an error result by hand, which its output schema does not concern."""
    if not isinstance(value, CallToolResult):
        return False
    return bool(value.model_dump(include={"isError", "is_error"}, by_alias=True).get("isError"))


def _called(name: str, tool: Any, context: Any) -> Called:
    annotations = getattr(tool, "annotations", None)
    return Called(name, annotations, getattr(tool, "output_schema", None) is not None, _request_meta(context))


def _request_meta(context: Any) -> Any:
    try:
        return context.request_context.meta
    except Exception:  # a call that came from no request
        return None
