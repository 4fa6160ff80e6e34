"""Protect servers of the mcp SDK, versions 1 and 2: `MCPServer` or its `FastMCP`, and the low-level `Server`.

Both high-level servers run every tool through a tool manager, where the exception that a tool raised and the value that
it returned are still what they were. How low-level servers are protected is in a module for each version.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from failwell._sdks import needs, supported_version
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.schema.problems import invalid, unknown_tool
from failwell.schema.pydantic import problems_of
from failwell.sdk import mcp_lowlevel_1, mcp_lowlevel_2
from failwell.sdk.calls import in_thread, is_timed, raise_returned
from failwell.sdk.errors import is_flagged, is_protocol_error
from failwell.sdk.idempotency import ToolFunctions
from failwell.sdk.results import ENCODING_ERRORS, NotFiniteError, failed_result, is_finite, meaning
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception, value_and_warning, value_or_failure
from failwell.server._schemas import SchemaChecks, names_all

try:
    from mcp.types import CallToolResult
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

__all__ = ["ProtectedServer", "attach"]


class McpServerLayout(NamedTuple):
    """What differs between versions."""

    beneath: str  # where a high-level server has its low-level one
    attach: Callable[..., str]  # protects a low-level server
    has_own_calls: bool  # a subclass may run code of its own around its tools
    blocks_event_loop: bool  # functions that are not coroutines run in no thread
    tells_refusals: bool  # what refuses arguments is told from what a body raises


def layout() -> McpServerLayout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    if supported_version("mcp") < (2,):
        return McpServerLayout(
            "_mcp_server", mcp_lowlevel_1.attach, has_own_calls=False, blocks_event_loop=True, tells_refusals=False
        )
    return McpServerLayout(
        "_lowlevel_server", mcp_lowlevel_2.attach, has_own_calls=True, blocks_event_loop=False, tells_refusals=True
    )


if TYPE_CHECKING or layout().has_own_calls:
    from mcp.server import MCPServer as HighLevelServer
else:
    from mcp.server.fastmcp import FastMCP as HighLevelServer

_SDK = frozenset(("mcp",))
_REFUSAL = "ToolError"  # what mcp 2 raises from the error of a validator; from what a body raises, a subclass

_running: ContextVar[Protection | None] = ContextVar("failwell_mcp_running", default=None)


def attach(server: Any, protection: Protection) -> str:
    """Protect a server and return what was done.

    Raises:
        ValueError: this version is not supported.
    """
    version = layout()
    beneath: Any = getattr(server, version.beneath, None)
    if beneath is None:
        return version.attach(server, protection)
    done = _attach_to_tools(server, protection)
    if version.has_own_calls and getattr(server.call_tool, "__func__", None) is not HighLevelServer.call_tool:
        _attach_to_calls(server, protection)
    raise_returned(server._resource_manager)
    raise_returned(server._prompt_manager)
    version.attach(beneath, protection, is_inner=True, functions=_functions(server._tool_manager))
    return done


def registered(server: Any) -> Iterable[Any]:
    """Return the functions that a high-level server has made tools of."""
    manager = getattr(server, "_tool_manager", None)
    return [tool.fn for tool in manager._tools.values()] if manager is not None else ()


def _functions(manager: Any) -> ToolFunctions:
    def get(name: str) -> Any:
        return getattr(manager.get_tool(name), "fn", None)

    async def search(name: str) -> Any:
        return manager.get_tool(name)

    return ToolFunctions(lambda: [tool.fn for tool in manager._tools.values()], get, search, lambda: manager._tools)


class ProtectedServer(HighLevelServer):
    """The SDK's high-level server, protected from the start: `ProtectedServer("tasks")`.

    Takes what the SDK's class takes, and a `Protection` if the default one does not do.
    """

    def __init__(self, *args: Any, protection: Protection | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        (protection or Protection()).put_on(self, attach)


def _attach_to_tools(server: Any, protection: Protection) -> str:
    """Protect the tools of a server, those that are added later too, and return what was done."""
    tools = _ProtectedTools(server._tool_manager, protection)
    tools.manager.call_tool, tools.manager.list_tools = tools.call, tools.listed
    return "failwell wraps mcp's tool manager"


def _attach_to_calls(server: Any, protection: Protection) -> None:
    """Answer what a subclass of mcp 2's server raises around its tools, before the SDK makes it text."""
    call_tool = server.call_tool

    async def call(name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        started = protection.start()
        try:
            return await call_tool(name, arguments, context)
        except Exception as exc:
            if _running.get() is protection or is_protocol_error(exc):
                raise
            info = _call_info(name, server._tool_manager.get_tool(name), context)
            responder = protection.responder(info).around()
            core = original_exception(exc, _SDK)
            wire, failure = responder.encode(responder.failure_of(core, arguments=arguments))
            protection.finish(name, started, failure, arguments=arguments, wire=wire, context=context)
            return failed_result(wire)

    server.call_tool = call


class _ProtectedTools:
    """What stands before a tool manager."""

    def __init__(self, manager: Any, protection: Protection) -> None:
        self.manager = manager
        self.protection = protection
        self.checks = SchemaChecks()
        self._run, self._list = manager.call_tool, manager.list_tools
        self._blocks = layout().blocks_event_loop
        self._tells_refusals = layout().tells_refusals

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Any = None,
        convert_result: bool = False,  # noqa: FBT001, FBT002 - the SDK's signature
    ) -> Any:
        """Run a tool; return its result, or the failure as one."""
        if not convert_result:
            return await self._run(name, arguments, context)
        protection = self.protection
        is_nested = _running.get() is protection  # a tool that calls another of its server handles the failure
        tool, value, warning, responder = self.manager.get_tool(name), None, None, None
        if self._blocks and tool is not None and not tool.is_async and is_timed():
            tool.fn, tool.is_async = in_thread(tool.fn), True
        token, started = _running.set(protection), protection.start()
        try:
            is_named = tool is None or names_all(tool.parameters, arguments)
            failure = None if is_named else self._unknown(arguments, tool)
            if failure is None:
                value = await self._run(name, arguments, context)
                value, failure = value_or_failure(value)
                value, warning = value_and_warning(value)
            if failure is None:
                value, failure = self._converted(value, tool, name)
            if failure is None and warning is not None:
                responder = protection.responder(_call_info(name, tool, context))
                value = _with_warning(value, warning, responder)
        except Exception as exc:
            if is_nested or is_protocol_error(exc):
                raise
            responder = protection.responder(_call_info(name, tool, context))
            failure = self._classify(exc, arguments, tool, responder)
        finally:
            _running.reset(token)
        if is_nested and failure is not None:
            raise ToolFailure(failure)
        if failure is None:
            if protection.observers and not is_nested:
                protection.finish(name, started, arguments=arguments, context=context)
            return value
        responder = responder or protection.responder(_call_info(name, tool, context))
        wire, failure = responder.encode(failure)
        protection.finish(name, started, failure, arguments=arguments, wire=wire, context=context)
        return failed_result(wire)

    def listed(self) -> list[Any]:
        """Return the tools, with the failures they declare."""
        found: list[Any] = []
        for tool in self._list():
            changes = self.protection.listing(tool.name, tool.fn, tool.meta, tool.description)
            found.append(tool.model_copy(update=changes) if changes else tool)
        return found

    def _converted(self, value: Any, tool: Any, name: str) -> tuple[Any, Failure | None]:
        if isinstance(value, CallToolResult) and is_flagged(value):
            return value, None  # an error written by hand, which the output schema does not concern
        metadata = tool.fn_metadata
        try:
            if metadata.output_schema is not None and not is_finite(value):
                raise NotFiniteError
            return metadata.convert_result(value), None
        except ENCODING_ERRORS as exc:
            return None, self.protection.responder(CallInfo(name)).unsendable(meaning(str(exc)), exc)
        except Exception as exc:
            return None, self.protection.responder(CallInfo(name)).broken_output(exc)

    def _unknown(self, arguments: dict[str, Any], tool: Any) -> Failure | None:
        """Return the failure of a call with arguments that the tool does not have, which the SDK would ignore."""
        failure = self.protection.unknown_arguments(arguments, tool.parameters, tool.name)
        return failure and (_refusal(tool, arguments, self.checks) or failure)

    def _classify(self, exc: Exception, arguments: dict[str, Any], tool: Any, responder: Responder) -> Failure:
        if tool is None:
            return unknown_tool(responder.tool, [other.name for other in self._list()])
        core = original_exception(exc, _SDK)
        refusal = None
        if isinstance(core, ValidationError):
            refused = core if self._tells_refusals and type(exc).__name__ == _REFUSAL else None
            refusal = _refusal(tool, arguments, self.checks, refused)
        return refusal or responder.failure_of(core, arguments=arguments)


def _with_warning(converted: Any, warning: Failure, responder: Responder) -> Any:
    """Return what the SDK makes of a tool's value as a result, with a warning beside it."""
    if isinstance(converted, CallToolResult):
        whole = converted.model_dump(mode="json", by_alias=True, exclude_none=True)
        return CallToolResult.model_validate(responder.warned(whole, warning))
    content, structured = cast("tuple[Any, Any]", converted) if isinstance(converted, tuple) else (converted, None)
    wire: dict[str, Any] = {"content": list(content), "isError": False}
    if structured is not None:
        wire["structuredContent"] = structured
    return CallToolResult.model_validate(responder.warned(wire, warning))


def _refusal(
    tool: Any, arguments: dict[str, Any], checks: SchemaChecks, refused: ValidationError | None = None
) -> Failure | None:
    """Return the failure if it is the arguments that are wrong: as *refused* says, or else they are checked again."""
    metadata = tool.fn_metadata
    parsed = metadata.pre_parse_json(arguments)
    if refused is None:
        try:
            metadata.arg_model.model_validate(parsed)
        except ValidationError as exc:
            refused = exc
        except Exception:  # a validator that is broken is the tool's fault
            return None
    if refused is None:
        return None
    problems = checks.explained(problems_of(refused, arguments=parsed), arguments, tool.parameters, tool=tool.name)
    return invalid(problems, tool=tool.name)


def _call_info(name: str, tool: Any, context: Any) -> CallInfo:
    annotations = getattr(tool, "annotations", None)
    has_output_schema = getattr(tool, "output_schema", None) is not None
    meta = partial(_request_meta, context)
    return CallInfo(name, annotations, has_output_schema, meta, function=getattr(tool, "fn", None))


def _request_meta(context: Any) -> Any:
    try:
        return context.request_context.meta
    except Exception:  # a call that came from no request
        return None
