"""Protect a low-level server of mcp 2: what handles `tools/call` and `tools/list`.

The SDK checks nothing there. Arguments and results are checked against the schemas that the server lists.
"""

from typing import Any

from failwell._log import log
from failwell._sdks import needs
from failwell.failure import Failure
from failwell.result import Ok, success
from failwell.schema.problems import unknown_tool
from failwell.sdk.errors import is_protocol_error, is_rpc_error
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception, package_raising, value_or_failure
from failwell.server._schemas import SchemaChecks

try:
    from mcp.types import CallToolResult
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_CALL, _LIST = "tools/call", "tools/list"
_SDK = frozenset(("mcp",))
_MOST_PAGES = 50


def attach(server: Any, protection: Protection, *, is_inner: bool = False) -> str:
    """Protect a server, handlers that are added later too, and return what was done.

    *is_inner* says that the server is part of another one, which checks arguments and lists tools by itself.
    """
    handlers = _ProtectedHandlers(protection, SchemaChecks(), is_inner=is_inner)
    add = server.add_request_handler

    def add_request_handler(method: str, params_type: Any, handler: Any) -> None:
        add(method, params_type, handlers.before(method, params_type, handler))

    for method in (_CALL, _LIST):
        if (entry := server.get_request_handler(method)) is not None:
            add_request_handler(method, entry.params_type, entry.handler)
    server.add_request_handler = add_request_handler
    if handlers.checks.are_possible:
        return "arguments and results are checked against the listed schemas, and what handlers raise is caught"
    return "what handlers raise is caught; arguments are not checked, which needs failwell[validation]"


class _ProtectedHandlers:
    """What stands before the handlers of one server, and the tools it listed last."""

    def __init__(self, protection: Protection, checks: SchemaChecks, *, is_inner: bool) -> None:
        self.protection = protection
        self.checks = checks
        self.is_inner = is_inner
        self.tools: dict[str, Any] = {}
        self._lister: tuple[Any, Any] | None = None

    def before(self, method: str, params_type: Any, handler: Any) -> Any:
        """Return the handler that stands before this one."""
        if method == _CALL:
            return self._calling(handler)
        if method == _LIST and not self.is_inner:
            self._lister = params_type, handler
            return self._listing(handler)
        return handler

    def _calling(self, handler: Any) -> Any:
        protection = self.protection

        async def call(ctx: Any, params: Any) -> Any:
            name, started, value = params.name, protection.start(), None
            tool = None if self.is_inner else await self._tool(ctx, name)
            failure = self.checks.refused(params.arguments, tool.input_schema, tool=name) if tool is not None else None
            responder = None
            if failure is None:
                try:
                    value, failure = self._unpack(await handler(ctx, params), tool, params)
                except Exception as exc:
                    if is_protocol_error(exc):
                        raise
                    responder = protection.responder(_call_info(params, tool))
                    failure = self._failure(exc, responder)
            if failure is None:
                if not self.is_inner:
                    protection.finish(name, started, arguments=params.arguments, context=ctx)
                return value
            responder = responder or protection.responder(_call_info(params, tool))
            wire, failure = responder.encode(failure)
            protection.finish(name, started, failure, arguments=params.arguments, wire=wire, context=ctx)
            return CallToolResult.model_validate(wire)

        return call

    def _listing(self, handler: Any) -> Any:
        async def list_tools(ctx: Any, params: Any) -> Any:
            result = await handler(ctx, params)
            self.tools.update((tool.name, tool) for tool in result.tools)
            changes = [self.protection.listing(tool.name, None, tool.meta, tool.description) for tool in result.tools]
            if not any(changes):
                return result
            listed = [tool.model_copy(update=change) for tool, change in zip(result.tools, changes, strict=True)]
            return result.model_copy(update={"tools": listed})

        return list_tools

    async def _tool(self, ctx: Any, name: str) -> Any:
        """Return a tool as the server lists it; the list is asked for anew if the tool is not in it."""
        if name not in self.tools and self._lister is not None:
            params_type, handler = self._lister
            try:
                params = params_type()
                for _ in range(_MOST_PAGES):
                    page = await handler(ctx, params)
                    self.tools.update((tool.name, tool) for tool in page.tools)
                    if page.next_cursor is None:
                        break
                    params = params_type(cursor=page.next_cursor)
            except Exception:
                log.exception("the tools could not be listed, so the arguments of %s are not checked", name)
        return self.tools.get(name)

    def _unpack(self, value: Any, tool: Any, params: Any) -> tuple[Any, Failure | None]:
        was_wrapped = type(value) is Ok
        value, failure = value_or_failure(value)
        if failure is not None:
            return None, failure
        if was_wrapped and not hasattr(value, "model_dump"):
            value = CallToolResult.model_validate(success(value))
        schema = tool.output_schema if tool is not None else None
        if schema is None or not isinstance(value, CallToolResult) or value.is_error:
            return value, None
        if self.checks.is_broken(value.structured_content, schema, tool=params.name):
            return None, self.protection.responder(_call_info(params, tool)).broken_output()
        return value, None

    def _failure(self, exc: Exception, responder: Responder) -> Failure:
        core = original_exception(exc, _SDK)
        if self.tools and responder.tool not in self.tools:
            log.info("tool %s is not listed, and calling it failed", responder.tool, exc_info=core)
            return unknown_tool(responder.tool, self.tools)
        if is_rpc_error(core) and package_raising(core) not in _SDK:
            return responder.failure_of_sdk_error(core)
        return responder.failure_of(core)


def _call_info(params: Any, tool: Any) -> CallInfo:
    has_output_schema = tool is not None and tool.output_schema is not None
    return CallInfo(params.name, getattr(tool, "annotations", None), has_output_schema, lambda: params.meta)
