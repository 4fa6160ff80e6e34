"""Protect a low-level server of mcp 1: the function that was registered with its `call_tool` decorator.

The SDK turns what that function raises into text before any handler sees it, so the function itself is covered. The
server of fastmcp 2 and 3, and the high-level server of mcp 1, stand on such a server too.
"""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from failwell._log import log
from failwell._sdks import needs
from failwell.failure import Failure
from failwell.result import Ok, success
from failwell.schema.problems import unknown_tool
from failwell.sdk.errors import is_protocol_error, is_rpc_error
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import original_exception, package_raising, value_or_failure
from failwell.server._schemas import SchemaChecks

try:
    from mcp import types
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_SDK = frozenset(("mcp",))
_CALL, _LIST = types.CallToolRequest, types.ListToolsRequest
_COVERED = "__failwell_covered__"


class _LowLevelRun:
    """One request on its way: whether the function was entered, how it failed, and whether its result is final."""

    __slots__ = ("failure", "is_final", "ran")

    def __init__(self) -> None:
        self.ran = False
        self.is_final = False
        self.failure: Failure | None = None


_running: ContextVar[_LowLevelRun | None] = ContextVar("failwell_mcp_1_run", default=None)


def attach(server: Any, protection: Protection, *, is_inner: bool = False) -> str:
    """Protect a server, functions that are registered later too, and return what was done.

    *is_inner* says that the server is part of another one, which lists tools and watches calls by itself.
    """
    functions = _ProtectedFunctions(server, protection, SchemaChecks(), is_inner=is_inner)
    functions.cover()
    for name in ("call_tool", "list_tools"):
        setattr(server, name, _then(getattr(server, name), functions.cover))
    return "what the registered function raises is caught, and its arguments are all checked"


def _then(decorator: Callable[..., Any], do: Callable[[], None]) -> Callable[..., Any]:
    """Return one of the SDK's decorators, doing something more after each registration."""

    @functools.wraps(decorator)
    def configure(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        register = decorator(*args, **kwargs)

        def registered(function: Any) -> Any:
            result = register(function)
            do()
            return result

        return registered

    return configure


class _ProtectedFunctions:
    """What stands around the functions of one server."""

    def __init__(self, server: Any, protection: Protection, checks: SchemaChecks, *, is_inner: bool) -> None:
        self.server = server
        self.protection = protection
        self.checks = checks
        self.is_inner = is_inner

    def cover(self) -> None:
        """Cover the handlers that are registered and not covered yet."""
        handlers = self.server.request_handlers
        covers: dict[Any, Callable[[Any], Any]] = {_CALL: self._calling}
        if not self.is_inner:
            covers[_LIST] = self._listing
        for request, covering in covers.items():
            handler = handlers.get(request)
            if handler is not None and not hasattr(handler, _COVERED):
                handlers[request] = covering(handler)
                setattr(handlers[request], _COVERED, True)

    def _calling(self, handler: Any) -> Any:
        protection = self.protection
        cells = dict(zip(handler.__code__.co_freevars, handler.__closure__ or (), strict=True))
        is_checked = "validate_input" in cells and cells["validate_input"].cell_contents
        if "func" in cells:
            cells["func"].cell_contents = self._covered(cells["func"].cell_contents)

        async def handle(request: Any) -> Any:
            name, started, result = request.params.name, protection.start(), None
            run = _LowLevelRun()
            token = _running.set(run)
            try:
                failure = await self._refused(request.params) if is_checked else None
                if failure is None:
                    result = await handler(request)
                    failure = run.failure
                    if failure is None and "func" in cells and not run.is_final:
                        failure = self._sdk_failure(result.root, run, self._call_info(request.params))
            except Exception as exc:
                if is_protocol_error(exc):
                    raise
                failure = self._failure(exc, self._call_info(request.params))
            finally:
                _running.reset(token)
            if failure is None:
                if not self.is_inner:
                    protection.finish(name, started, arguments=request.params.arguments)
                return result
            wire, failure = protection.result(failure, self._call_info(request.params))
            protection.finish(name, started, failure, arguments=request.params.arguments, wire=wire)
            return _server_result(types.CallToolResult.model_validate(wire))

        return handle

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
                run.failure = self._failure(exc, self._call_info(params))
            if run.failure is not None:
                return types.CallToolResult(content=[])  # the handler writes the answer
            run.is_final = not isinstance(value, dict | list | tuple)
            return value

        return covered

    def _listing(self, handler: Any) -> Any:
        async def list_tools(request: Any) -> Any:
            result = await handler(request)
            tools = result.root.tools
            changes = [self.protection.listing(tool.name, None, tool.meta, tool.description) for tool in tools]
            if not any(changes):
                return result
            listed = [tool.model_copy(update=change) for tool, change in zip(tools, changes, strict=True)]
            return _server_result(result.root.model_copy(update={"tools": listed}))

        return list_tools

    async def _refused(self, params: Any) -> Failure | None:
        tool = await self.server._get_cached_tool_definition(params.name)
        return self.checks.refused(params.arguments, tool.inputSchema, tool=params.name) if tool is not None else None

    def _sdk_failure(self, result: Any, run: _LowLevelRun, info: CallInfo) -> Failure | None:
        """Return the failure that the SDK found by itself and made into text."""
        if not isinstance(result, types.CallToolResult) or not vars(result)["isError"]:
            return None
        if run.ran:
            return self.protection.responder(info).broken_output()
        text = getattr(result.content[0], "text", "") if result.content else ""
        return Failure(code="VALIDATION_FAILED", message=text or "The arguments do not match the input schema.")

    def _failure(self, exc: Exception, info: CallInfo) -> Failure:
        responder = self.protection.responder(info)
        core = original_exception(exc, _SDK)
        listed = self.server._tool_cache if _LIST in self.server.request_handlers else ()
        if listed and info.tool not in listed:
            log.info("tool %s is not listed, and calling it failed", info.tool, exc_info=core)
            return unknown_tool(info.tool, listed)
        if is_rpc_error(core) and package_raising(core) not in _SDK:
            return responder.failure_of_sdk_error(core)
        return responder.failure_of(core)

    def _call_info(self, params: Any) -> CallInfo:
        tool = self.server._tool_cache.get(params.name)
        meta = functools.partial(_request_meta, params, self.server)
        if tool is None:
            return CallInfo(params.name, meta=meta)
        return CallInfo(params.name, tool.annotations, tool.outputSchema is not None, meta)


def _unpack(value: Any) -> tuple[Any, Failure | None]:
    was_wrapped = type(value) is Ok
    value, failure = value_or_failure(value)
    if was_wrapped and isinstance(value, str):
        value = types.CallToolResult.model_validate(success(value))
    return value, failure


def _request_meta(params: Any, server: Any) -> Any:
    if params.meta is not None:
        return params.meta
    try:
        return server.request_context.meta
    except LookupError:  # outside a request
        return None


def _server_result(result: Any) -> Any:
    return vars(types)["ServerResult"](result)
