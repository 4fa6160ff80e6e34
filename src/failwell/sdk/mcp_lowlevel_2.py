"""Protect a low-level server of mcp 2: what handles `tools/call`, `tools/list` and every other request.

The SDK checks nothing there. Arguments and results are checked against the schemas that the server lists.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from failwell._log import log
from failwell._sdks import needs
from failwell.dialects._placement import SuccessResult, success
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.result import Ok
from failwell.schema.problems import unknown_tool
from failwell.sdk import tasks
from failwell.sdk.calls import answer_call, answer_request
from failwell.sdk.errors import is_protocol_error
from failwell.sdk.idempotency import NO_FUNCTIONS, KeyedCall, ToolFunctions, declare_keys
from failwell.sdk.requests import RequestInfo
from failwell.sdk.results import failed_result
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception, value_or_failure
from failwell.server._schemas import CallersTools, RememberedTools, SchemaChecks

try:
    from mcp.types import CallToolResult
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_CALL, _LIST = "tools/call", "tools/list"
_SDK = frozenset(("mcp",))
_MOST_PAGES = 50
_NO_TOOLS = CallersTools(RememberedTools(), None, None)
_DECLARED_IN = ("extensions", "experimental")  # clients that shake hands are sent the second only


def attach(
    server: Any, protection: Protection, *, is_inner: bool = False, functions: ToolFunctions = NO_FUNCTIONS
) -> str:
    """Protect a server, handlers that are added later too, and return what was done.

    *is_inner* says that the server is part of another one, which checks arguments and lists tools by itself, and whose
    *functions* are these.
    """
    handlers = _ProtectedHandlers(protection, SchemaChecks(), functions, is_inner=is_inner)
    declare_keys(server, protection, functions, *_DECLARED_IN)
    _put_before(server, handlers.before)
    if handlers.checks.are_possible:
        return "arguments and results are checked against the listed schemas, and what handlers raise is caught"
    return "what handlers raise is caught; arguments are not checked, which needs failwell[validation]"


def attach_beneath(server: Any, protection: Protection, functions: ToolFunctions) -> None:
    """Make a server take idempotency keys, and leave the failures of its tools to whatever stands on it."""
    handlers = _ProtectedHandlers(protection, SchemaChecks(), functions, is_inner=True)
    declare_keys(server, protection, functions, *_DECLARED_IN)

    def before(method: str, _: Any, handler: Any) -> Any:
        return handlers.keyed(handler) if method == _CALL else _answering(protection, method, handler)

    _put_before(server, before)


def _put_before(server: Any, before: Callable[[str, Any, Any], Any]) -> None:
    """Put something before every handler of a server, those that are added later too."""
    add = server.add_request_handler

    def add_request_handler(method: str, params_type: Any, handler: Any) -> None:
        add(method, params_type, before(method, params_type, handler))

    for method, entry in list(server._request_handlers.items()):
        add_request_handler(method, entry.params_type, entry.handler)
    server.add_request_handler = add_request_handler


def _answering(protection: Protection, method: str, handler: Any) -> Any:
    """Return the handler of a request that is no call of a tool so that its failure is a JSON-RPC error."""

    def answer(ctx: Any, params: Any) -> Awaitable[Any]:
        run = partial(handler, ctx, params)
        if method == tasks.GET:
            run = partial(tasks.answer_of_failed_task, run)
        return answer_request(protection, RequestInfo(method, params, ctx.protocol_version), run)

    return answer


class _ProtectedHandlers:
    """What stands before the handlers of one server, and the tools it listed."""

    def __init__(
        self, protection: Protection, checks: SchemaChecks, functions: ToolFunctions, *, is_inner: bool
    ) -> None:
        self.protection = protection
        self.checks = checks
        self.functions = functions
        self.is_inner = is_inner
        self._known = RememberedTools()
        self._lister: tuple[Any, Any] | None = None

    def before(self, method: str, params_type: Any, handler: Any) -> Any:
        """Return the handler that stands before this one."""
        if method == _CALL:
            return self.keyed(self._calling_inner(handler) if self.is_inner else self._calling(handler))
        if method == _LIST and not self.is_inner:
            self._lister = params_type, handler
            handler = self._listing(handler)
        return _answering(self.protection, method, handler)

    def keyed(self, handler: Any) -> Any:
        """Return the handler so that a call with an idempotency key is made at most once."""
        protection, functions = self.protection, self.functions

        def call(ctx: Any, params: Any) -> Awaitable[Any]:
            described = partial(self._keyed_call, ctx, params)
            return answer_call(
                protection, params.name, params.meta, functions, described, partial(handler, ctx, params)
            )

        return call

    def _keyed_call(self, ctx: Any, params: Any) -> KeyedCall:
        return KeyedCall(
            params.name,
            params.arguments,
            params.meta,
            ctx,
            ctx.request,
            lambda: _call_info(params, self._tools(ctx)),
            self.functions,
        )

    def _calling(self, handler: Any) -> Any:
        protection = self.protection

        async def call(ctx: Any, params: Any) -> Any:
            started, value, responder = protection.start(), None, None
            tools = self._tools(ctx)
            arguments: dict[str, Any] = params.arguments or {}
            failure = await tools.refusal(
                params.name, partial(self._accepts, arguments), partial(self._refusal, arguments)
            )
            if failure is None:
                try:
                    value, failure = await self._unpack(await handler(ctx, params), tools, params)
                except Exception as exc:
                    failure, responder = await self._classify(exc, params, tools)
            if failure is None:
                protection.finish(params.name, started, arguments=params.arguments, context=ctx)
                return value
            return await self._failed(failure, ctx, params, tools, started, responder)

        return call

    def _calling_inner(self, handler: Any) -> Any:
        """Return the handler of a server that another one stands on, which has seen to the failures of its tools."""
        protection = self.protection

        async def call(ctx: Any, params: Any) -> Any:
            started, value, responder = protection.start(), None, None
            try:
                value = await handler(ctx, params)
                if isinstance(value, CallToolResult):
                    return value
                value, failure = await self._unpack(value, _NO_TOOLS, params)
            except Exception as exc:
                failure, responder = await self._classify(exc, params, _NO_TOOLS)
            if failure is None:
                return value
            return await self._failed(failure, ctx, params, _NO_TOOLS, started, responder)

        return call

    async def _classify(self, exc: Exception, params: Any, tools: CallersTools) -> tuple[Failure, Responder]:
        if is_protocol_error(exc):
            raise exc
        responder = self.protection.responder(await _call_info(params, tools))
        if self.is_inner:
            responder = responder.around()
        return await self._failure(exc, responder, tools, params.arguments), responder

    async def _failed(
        self, failure: Failure, ctx: Any, params: Any, tools: CallersTools, started: float, responder: Responder | None
    ) -> Any:
        responder = responder or self.protection.responder(await _call_info(params, tools))
        wire, failure = responder.encode(failure)
        self.protection.finish(params.name, started, failure, arguments=params.arguments, wire=wire, context=ctx)
        return failed_result(wire)

    def _listing(self, handler: Any) -> Any:
        async def list_tools(ctx: Any, params: Any) -> Any:
            result = await handler(ctx, params)
            is_first_page = getattr(params, "cursor", None) is None
            self._tools(ctx).note(result.tools, is_first_page=is_first_page)
            if is_first_page and result.next_cursor is None:
                self.protection.log_names(tool.name for tool in result.tools)
            changes = [self.protection.listing(tool.name, None, tool.meta, tool.description) for tool in result.tools]
            if not any(changes):
                return result
            listed = [tool.model_copy(update=change) for tool, change in zip(result.tools, changes, strict=True)]
            return result.model_copy(update={"tools": listed})

        return list_tools

    def _tools(self, ctx: Any) -> CallersTools:
        """Return the tools as the caller of a request is listed them; inside another server, that lists none here."""
        if self.is_inner:
            return _NO_TOOLS

        async def list_all() -> Iterable[Any]:
            return await _all_pages(ctx, *self._lister) if self._lister is not None else ()

        return CallersTools(self._known, getattr(ctx.session, "_connection", None), list_all)

    def _accepts(self, arguments: dict[str, Any], tool: Any) -> bool:
        schema, name = tool.input_schema, tool.name
        is_accepted = self.checks.accept(arguments, schema, tool=name)
        return is_accepted and self.protection.unknown_arguments(arguments, schema, name) is None

    def _refusal(self, arguments: dict[str, Any], tool: Any) -> Failure | None:
        schema, name = tool.input_schema, tool.name
        refused = self.checks.refused(arguments, schema, tool=name)
        return refused or self.protection.unknown_arguments(arguments, schema, name)

    async def _unpack(self, value: Any, tools: CallersTools, params: Any) -> tuple[Any, Failure | None]:
        was_wrapped = type(value) is Ok
        value, failure = value_or_failure(value)
        if failure is not None:
            return None, failure
        if type(value) is SuccessResult:
            value = await self._succeeded(value, tools, params)
        elif was_wrapped and not hasattr(value, "model_dump"):
            value = CallToolResult.model_validate(success(value))
        if not isinstance(value, CallToolResult) or value.is_error:
            return value, None
        if self._is_broken(value, tools.remembered(params.name)):
            tool = await tools.listed(params.name)
            if self._is_broken(value, tool):
                return None, self.protection.responder(await _call_info(params, tools)).broken_output()
        return value, None

    async def _succeeded(self, value: SuccessResult, tools: CallersTools, params: Any) -> Any:
        wire = success(value.value, structured="structuredContent" in value or isinstance(value.value, dict))
        if value.warning is not None:
            wire = self.protection.responder(await _call_info(params, tools)).warned(wire, value.warning)
        return CallToolResult.model_validate(wire)

    def _is_broken(self, value: Any, tool: Any) -> bool:
        if tool is None or tool.output_schema is None:
            return False
        return self.checks.is_broken(value.structured_content, tool.output_schema, tool=tool.name)

    async def _failure(self, exc: Exception, responder: Responder, tools: CallersTools, arguments: Any) -> Failure:
        core = original_exception(exc, _SDK)
        names = () if isinstance(core, ToolFailure) else await tools.names()  # what an author says stands
        if names and responder.tool not in names:
            log.info("tool %s is not listed, and calling it failed", responder.tool, exc_info=core)
            return unknown_tool(responder.tool, names)
        return responder.failure_of(core, arguments=arguments or {})


async def _all_pages(ctx: Any, params_type: Any, handler: Any) -> Iterable[Any]:
    found: list[Any] = []
    params = params_type()
    for _ in range(_MOST_PAGES):
        page = await handler(ctx, params)
        found += page.tools
        if page.next_cursor is None:
            break
        params = params_type(cursor=page.next_cursor)
    return found


async def _call_info(params: Any, tools: CallersTools) -> CallInfo:
    tool = await tools.described(params.name)
    has_output_schema = tool is not None and tool.output_schema is not None
    return CallInfo(params.name, getattr(tool, "annotations", None), has_output_schema, lambda: params.meta)
