"""Protect a low-level server of mcp 1: the function that was registered with its `call_tool` decorator.

The SDK turns what that function raises into text before any handler sees it, so the function itself is covered. It
checks calls against a list of tools that it keeps for all clients, so that is done here instead, where it can be. The
server of fastmcp 2 and 3, and the high-level server of mcp 1, stand on such a server too.
"""

import functools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from failwell._automatic import is_automatic
from failwell._log import log
from failwell._sdks import needs
from failwell._trace import call_span
from failwell.dialects._placement import SuccessResult, success
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.result import Ok
from failwell.schema.problems import unknown_tool
from failwell.sdk.calls import answer_call, answer_request, failure_contained, is_contained
from failwell.sdk.errors import is_protocol_error
from failwell.sdk.idempotency import NO_FUNCTIONS, KeyedCall, ToolFunctions, declare_keys
from failwell.sdk.requests import RequestInfo
from failwell.sdk.results import meaning, unsendable
from failwell.sdk.tasks import answer_of_task
from failwell.server._protection import CallInfo, Protection, request_trace
from failwell.server._responder import original_exception, value_or_failure
from failwell.server._schemas import CallersTools, RememberedTools, SchemaChecks

try:
    from mcp import types
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_SDK = frozenset(("mcp",))
_CALL, _LIST = types.CallToolRequest, types.ListToolsRequest
_COVERED = "__failwell_covered__"
_MOST_PAGES = 50
_BREAKS_SCHEMA = "Output validation error"  # how the SDK begins what it says of such a result


class _LowLevelRun:
    """One request on its way: whether the function was entered, how it failed, and whether its result is final."""

    __slots__ = ("failure", "is_final", "ran", "tools")

    def __init__(self, tools: CallersTools) -> None:
        self.tools = tools
        self.ran = False
        self.is_final = False
        self.failure: Failure | None = None


_running: ContextVar[_LowLevelRun | None] = ContextVar("failwell_mcp_1_run", default=None)


def attach(
    server: Any, protection: Protection, *, is_inner: bool = False, functions: ToolFunctions = NO_FUNCTIONS
) -> str:
    """Protect a server, functions that are registered later too, and return what was done.

    *is_inner* says that the server is part of another one, which lists tools and watches calls by itself, and whose
    *functions* are these.
    """
    protected = _ProtectedFunctions(server, protection, SchemaChecks(), functions, is_inner=is_inner)
    protected.cover()
    declare_keys(server, protection, functions, "experimental")
    if protected.checks.are_possible:
        server._get_cached_tool_definition = protected.unchecked_tool
    handle_request = server._handle_request

    async def handle(message: Any, request: Any, *rest: Any) -> Any:
        protected.cover_handler(type(request))  # which may be registered by now, or anew
        return await handle_request(message, request, *rest)

    server._handle_request = handle
    return "what the registered function raises is caught, and its arguments are all checked"


class _ProtectedFunctions:
    """What stands around the functions of one server."""

    def __init__(
        self, server: Any, protection: Protection, checks: SchemaChecks, functions: ToolFunctions, *, is_inner: bool
    ) -> None:
        self.server = server
        self.protection = protection
        self.checks = checks
        self.functions = functions
        self.is_inner = is_inner
        self.has_no_spans = type(server).__module__.partition(".")[0] == "mcp"  # fastmcp 3 makes its own
        self._known = RememberedTools()
        self._definition = server._get_cached_tool_definition

    async def unchecked_tool(self, name: str) -> Any:
        """Return what the SDK checks a call against: nothing, inside a request that is checked here."""
        return None if is_automatic() and _running.get() is not None else await self._definition(name)

    def cover(self) -> None:
        """Cover all the handlers that are registered."""
        for request in list(self.server.request_handlers):
            self.cover_handler(request)

    def cover_handler(self, request: Any) -> None:
        """Cover the handler of a kind of request, if there is one that is not covered yet."""
        handlers = self.server.request_handlers
        handler = handlers.get(request)
        if handler is None or hasattr(handler, _COVERED):
            return
        if request is _CALL:
            handlers[request] = self._keyed(self._calling(handler))
        elif request is _LIST and not self.is_inner:
            handlers[request] = self._answering(self._listing(handler))
        else:
            handlers[request] = self._answering(handler)
        setattr(handlers[request], _COVERED, True)

    def _keyed(self, handler: Any) -> Any:
        """Return the handler so that a call with an idempotency key is made at most once."""

        async def handle(request: Any) -> Any:
            params = request.params
            context = self._request_context()
            meta = _request_meta(params, self.server)
            keyed = KeyedCall(
                params.name,
                params.arguments,
                meta,
                context,
                getattr(context, "request", None),
                lambda: self._call_info(params, self._tools()),
                self.functions,
            )
            result: Any = None

            async def run() -> Any:
                nonlocal result
                result = await handler(request)
                return result.root

            trace = request_trace(context) if self.protection.observers else None
            with call_span(self.protection.observers if self.has_no_spans else (), "server", params.name, trace):
                found = await answer_call(self.protection, params.name, meta, self.functions, lambda: keyed, run)
            return result if result is not None and found is result.root else _server_result(_parsed(found))

        return handle

    def _answering(self, handler: Any) -> Any:
        """Return the handler of a request that is no call of a tool so that its failure is a JSON-RPC error."""

        @functools.wraps(handler)
        async def answer(request: Any) -> Any:
            info, run = _request_info(request), functools.partial(handler, request)
            if self.is_inner:
                run = functools.partial(answer_of_task, self.protection, info.method, run)
            return await answer_request(self.protection, info, run)

        return answer

    def _request_context(self) -> Any:
        try:
            return self.server.request_context
        except LookupError:  # outside a request
            return None

    def _calling(self, handler: Any) -> Any:
        protection = self.protection
        cells = dict(zip(handler.__code__.co_freevars, handler.__closure__ or (), strict=True))
        is_checked = "validate_input" in cells and cells["validate_input"].cell_contents
        if "func" in cells:
            cells["func"].cell_contents = self._covered(cells["func"].cell_contents)

        async def handle(request: Any) -> Any:
            name, started, result = request.params.name, protection.start(), None
            tools = self._tools()
            run = _LowLevelRun(tools)
            self._guard_tasks(request.params, tools)
            token = _running.set(run)
            try:
                failure = await self._refused(request.params, tools) if is_checked else None
                if failure is None:
                    result = await handler(request)
                    failure = run.failure
                    if failure is None and "func" in cells and not run.is_final:
                        failure = await self._sdk_failure(result.root, run, request.params)
            except Exception as exc:
                if is_protocol_error(exc):
                    raise
                failure = await self._failure(exc, request.params, tools)
            finally:
                _running.reset(token)
            if failure is None:
                if not self.is_inner:
                    protection.finish(name, started, arguments=request.params.arguments)
                return result
            wire, failure = protection.result(failure, await self._call_info(request.params, tools))
            protection.finish(name, started, failure, arguments=request.params.arguments, wire=wire)
            return _server_result(types.CallToolResult.model_validate(wire))

        return handle

    def _guard_tasks(self, params: Any, tools: CallersTools) -> None:
        """Answer what the work of a task raises; the SDK would make text of it."""
        experimental: Any = getattr(self._request_context(), "experimental", None)
        if getattr(experimental, "task_metadata", None) is None:
            return
        run_task = experimental.run_task

        async def guarded_run(work: Any, **options: Any) -> Any:
            async def guarded(task: Any) -> Any:
                started, value = self.protection.start(), None
                try:
                    value, failure = _unpack(await work(task))
                    if failure is None and (reason := unsendable(value)) is not None:
                        failure = self.protection.responder(await self._call_info(params, tools)).unsendable(reason)
                except Exception as exc:
                    failure = await self._failure(exc, params, tools)
                except BaseException as exc:
                    if not is_contained(exc, catch_exit=self.protection.catch_exit):
                        raise
                    responder = self.protection.responder(await self._call_info(params, tools))
                    failure = failure_contained(exc, responder)
                if failure is None:
                    return value
                wire, failure = self.protection.result(failure, await self._call_info(params, tools))
                finish = self.protection.finish
                finish(params.name, started, failure, arguments=params.arguments, wire=wire, is_task=True)
                result = types.CallToolResult.model_validate(wire)
                await experimental._task_support.store.store_result(task.task_id, result)
                await task.fail(wire["content"][0]["text"])
                return result

            return await run_task(guarded, **options)

        experimental.run_task = guarded_run

    def _covered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the registered function so that how it ended is noted on the run."""

        @functools.wraps(function)
        async def covered(name: str, arguments: dict[str, Any]) -> Any:
            run = _running.get()
            if run is None:
                return await function(name, arguments)
            run.ran, value = True, None
            try:
                value, run.failure = _unpack(await function(name, arguments))
            except Exception as exc:
                if is_protocol_error(exc):
                    raise
                params = types.CallToolRequestParams(name=name, arguments=arguments)
                run.failure = await self._failure(exc, params, run.tools)
            if run.failure is not None:
                return types.CallToolResult(content=[])  # the handler writes the answer
            if type(value) is SuccessResult:
                params = types.CallToolRequestParams(name=name, arguments=arguments)
                value = await self._succeeded(value, params, run.tools)
            run.is_final = isinstance(value, vars(types)["Result"])
            return value

        return covered

    def _listing(self, handler: Any) -> Any:
        async def list_tools(request: Any) -> Any:
            result = await handler(request)
            tools = result.root.tools
            cursor = getattr(getattr(request, "params", None), "cursor", None)
            self._tools().note(tools, is_first_page=cursor is None)
            if cursor is None and result.root.nextCursor is None:
                self.protection.log_names(tool.name for tool in tools)
            changes = [self.protection.listing(tool.name, None, tool.meta, tool.description) for tool in tools]
            if not any(changes):
                return result
            listed = [tool.model_copy(update=change) for tool, change in zip(tools, changes, strict=True)]
            return _server_result(result.root.model_copy(update={"tools": listed}))

        return list_tools

    def _tools(self) -> CallersTools:
        """Return the tools as the caller of the current request is listed them."""
        try:
            session = self.server.request_context.session
        except LookupError:  # outside a request
            session = None
        return CallersTools(self._known, session, self._list_all)

    async def _list_all(self) -> Iterable[Any]:
        handler = self.server.request_handlers.get(_LIST)
        if handler is None:
            return ()
        found: list[Any] = []
        request = _LIST(method="tools/list")
        for _ in range(_MOST_PAGES):
            page = (await handler(request)).root
            found += page.tools
            if page.nextCursor is None:
                break
            request = _LIST(method="tools/list", params=types.PaginatedRequestParams(cursor=page.nextCursor))
        return found

    async def _refused(self, params: Any, tools: CallersTools) -> Failure | None:
        arguments: dict[str, Any] = params.arguments or {}
        accepts, refusal = functools.partial(self._accepts, arguments), functools.partial(self._refusal, arguments)
        return await tools.refusal(params.name, accepts, refusal)

    def _accepts(self, arguments: dict[str, Any], tool: Any) -> bool:
        schema, name = tool.inputSchema, tool.name
        is_accepted = self.checks.accept(arguments, schema, tool=name)
        return is_accepted and self.protection.unknown_arguments(arguments, schema, name) is None

    def _refusal(self, arguments: dict[str, Any], tool: Any) -> Failure | None:
        schema, name = tool.inputSchema, tool.name
        refused = self.checks.refused(arguments, schema, tool=name)
        return refused or self.protection.unknown_arguments(arguments, schema, name)

    async def _sdk_failure(self, result: Any, run: _LowLevelRun, params: Any) -> Failure | None:
        """Return the failure that the SDK found by itself and made into text, or of a result that breaks its schema."""
        if not isinstance(result, types.CallToolResult):
            return None
        if vars(result)["isError"]:
            text = getattr(result.content[0], "text", "") if result.content else ""
            if run.ran:
                return await self._unusable_output(params, run.tools, text)
            return Failure(code="VALIDATION_FAILED", message=text or "The arguments do not match the input schema.")
        if self._is_broken(result, run.tools.remembered(params.name)) and self._is_broken(
            result, await run.tools.listed(params.name)
        ):
            return await self._broken_output(params, run.tools)
        return None

    def _is_broken(self, result: Any, tool: Any) -> bool:
        if tool is None or tool.outputSchema is None:
            return False
        return self.checks.is_broken(result.structuredContent, tool.outputSchema, tool=tool.name)

    async def _unusable_output(self, params: Any, tools: CallersTools, said: str) -> Failure:
        """Return the failure of a result that the SDK refused, as what it said shows."""
        if said.startswith(_BREAKS_SCHEMA):
            return await self._broken_output(params, tools)
        return self.protection.responder(await self._call_info(params, tools)).unsendable(meaning(said))

    async def _broken_output(self, params: Any, tools: CallersTools) -> Failure:
        return self.protection.responder(await self._call_info(params, tools)).broken_output()

    async def _failure(self, exc: Exception, params: Any, tools: CallersTools) -> Failure:
        responder = self.protection.responder(await self._call_info(params, tools))
        if self.is_inner:
            responder = responder.around()
        core = original_exception(exc, _SDK)
        names = () if isinstance(core, ToolFailure) else await tools.names()  # what an author says stands
        if names and params.name not in names:
            log.info("tool %s is not listed, and calling it failed", params.name, exc_info=core)
            return unknown_tool(params.name, names)
        return responder.failure_of(core, arguments=params.arguments or {})

    async def _succeeded(self, value: SuccessResult, params: Any, tools: CallersTools) -> Any:
        wire = success(value.value, structured="structuredContent" in value or isinstance(value.value, dict))
        if value.warning is not None:
            wire = self.protection.responder(await self._call_info(params, tools)).warned(wire, value.warning)
        return types.CallToolResult.model_validate(wire)

    async def _call_info(self, params: Any, tools: CallersTools) -> CallInfo:
        tool = await tools.described(params.name)
        meta = functools.partial(_request_meta, params, self.server)
        if tool is None:
            return CallInfo(params.name, meta=meta)
        return CallInfo(params.name, tool.annotations, tool.outputSchema is not None, meta)


def _request_info(request: Any) -> RequestInfo:
    """Describe a request; the SDK itself asks for the list of tools with none."""
    return RequestInfo("tools/list", None) if request is None else RequestInfo(request.method, request.params)


def _unpack(value: Any) -> tuple[Any, Failure | None]:
    was_wrapped = type(value) is Ok
    value, failure = value_or_failure(value)
    if was_wrapped and not isinstance(value, dict | list | tuple | vars(types)["Result"]):
        value = types.CallToolResult.model_validate(success(value))
    return value, failure


def _request_meta(params: Any, server: Any) -> Any:
    if params.meta is not None:
        return params.meta
    try:
        return server.request_context.meta
    except LookupError:  # outside a request
        return None


def _parsed(found: Any) -> Any:
    """Return a result that was kept: that of a tool, or the handle of a task."""
    return vars(types)["CreateTaskResult"].model_validate(found) if isinstance(found, dict) else found


def _server_result(result: Any) -> Any:
    return vars(types)["ServerResult"](result)
