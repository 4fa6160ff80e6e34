"""Protect servers of fastmcp, versions 2 to 4: a middleware that answers failures, outermost in the chain."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakSet

from failwell._log import log
from failwell._sdks import needs, supported_version
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.schema.problems import invalid, unknown_tool
from failwell.schema.pydantic import problems_of
from failwell.sdk.errors import is_protocol_error, is_rpc_error
from failwell.sdk.idempotency import ToolFunctions
from failwell.server._idempotency import idempotency_of
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import Responder, original_exception, package_raising, packages_in, value_or_failure
from failwell.server._schemas import SchemaChecks

try:
    from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools import FunctionTool, Tool
    from mcp.types import CallToolResult, TextContent
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError(needs("fastmcp")) from missing

__all__ = ["FailwellMiddleware", "attach"]

# Middleware that lists all the tools it is given. To pass by it saves copies of every schema.
_HIDE_NOTHING = frozenset((("failwell", "FailwellMiddleware"), ("fastmcp", "DereferenceRefsMiddleware")))


class FastmcpServerLayout(NamedTuple):
    """What differs between versions; `store` is what every tool of a server is added to."""

    store: Callable[[Any], Any]
    tools: Callable[[Any], Iterable[Any]]  # those in a store
    listed: Callable[[Any], Any]  # those of a server that a client may see
    name: Callable[[Any], str]  # by which a client calls a tool
    attach: Callable[[Any, Protection, ToolFunctions], Any]  # covers the server beneath, as far as that is needed
    failed: Callable[[dict[str, Any]], Any]  # a wire-shaped result as the result of a middleware


def layout() -> FastmcpServerLayout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    version = supported_version("fastmcp")
    attach_beneath = _attach_1 if version < (4,) else _attach_2
    failed = _replaced if version < (3, 4) else _flagged
    if version < (3,):
        return FastmcpServerLayout(_manager, _managed, _listed_2, _key, attach_beneath, failed)
    return FastmcpServerLayout(_provider, _provided, _listed, _name_in, attach_beneath, failed)


def _manager(server: Any) -> Any:
    return server._tool_manager


def _managed(store: Any) -> Iterable[Any]:
    return list(store._tools.values())


async def _listed_2(server: Any) -> Iterable[Any]:
    return list(await server._list_tools_middleware())


def _key(tool: Any) -> str:
    return str(tool.key)


def _provider(server: Any) -> Any:
    return server._local_provider


def _provided(store: Any) -> Iterable[Any]:
    return [component for component in store._components.values() if isinstance(component, Tool)]


async def _listed(server: Any) -> Iterable[Any]:
    classes = ((type(one).__module__.partition(".")[0], type(one).__name__) for one in server.middleware)
    may_hide = not _HIDE_NOTHING.issuperset(classes)
    with _without_spans():
        return list(await server.list_tools(run_middleware=may_hide))


def _no_suppression() -> AbstractContextManager[None]:
    return nullcontext()


def _suppression() -> Callable[[], AbstractContextManager[None]]:
    """Return what keeps fastmcp 4 from renaming the span of the call to `tools/list`; older ones rename none."""
    try:
        from fastmcp.telemetry import suppress_fastmcp_telemetry
    except ImportError:
        return _no_suppression
    return suppress_fastmcp_telemetry


_without_spans = _suppression()


def _name_in(tool: Any) -> str:
    return str(tool.name)


def _attach_1(server: Any, protection: Protection, functions: ToolFunctions) -> None:
    """Cover the server beneath fastmcp 2 and 3, which checks arguments before any middleware."""
    from failwell.sdk import mcp_lowlevel_1

    mcp_lowlevel_1.attach(server._mcp_server, protection, is_inner=True, functions=functions)


def _attach_2(server: Any, protection: Protection, functions: ToolFunctions) -> None:
    """Cover the server beneath fastmcp 4, whose middleware sees everything but what keys are for."""
    from failwell.sdk import mcp_lowlevel_2

    mcp_lowlevel_2.attach_keys(server._mcp_server, protection, functions)


def _flagged(wire: dict[str, Any]) -> Any:
    from fastmcp.tools import ToolResult

    return ToolResult(
        content=[TextContent.model_validate(block) for block in wire["content"]],
        structured_content=wire.get("structuredContent"),
        meta=wire["_meta"],
        is_error=wire["isError"],
    )


def _replaced(wire: dict[str, Any]) -> Any:
    """Return a result where its class has no flag for errors yet, so that what it becomes is said outright."""
    from fastmcp.tools import tool

    result = CallToolResult.model_validate(wire)
    stand_in = vars(tool)["ToolResult"](content=result.content, meta=wire["_meta"])
    object.__setattr__(stand_in, "to_mcp_result", lambda: result)
    return stand_in


_SDK = frozenset(("fastmcp", "mcp"))
# What a call passes through until its arguments are checked; any other frame is the tool's.
_BEFORE_THE_BODY = _SDK | {"failwell", "pydantic", "pydantic_core", "anyio", "asyncio", "functools", "contextlib"}
_CONFLICTING = {
    "ErrorHandlingMiddleware": "what it makes of failures is undone, as models do not see protocol errors",
    "RetryMiddleware": "it repeats calls of every tool, also of those that are not safe to run twice",
}
_WATCHED = "__failwell_watched__"

_LAYOUT = layout()


def attach(server: Any, protection: Protection) -> str:
    """Protect a server and return what was done.

    Raises:
        ValueError: the middleware is there already, or this version is not supported.
    """
    layout()  # a version that is not supported is refused here too
    if any(isinstance(middleware, FailwellMiddleware) for middleware in server.middleware):
        raise ValueError(f"{server.name} is protected already")
    ours = FailwellMiddleware(protection)
    ours.watch(server)
    ours.warn_of_conflicting_middleware(server)
    server.middleware.insert(0, ours)
    return "a middleware of fastmcp sees every call first"


class _FastmcpRun:
    """One call on its way: the tool whose body was entered, and how often."""

    __slots__ = ("protection", "times", "tool")

    def __init__(self, protection: Protection) -> None:
        self.protection = protection
        self.tool: Any = None
        self.times = 0


_running: ContextVar[_FastmcpRun | None] = ContextVar("failwell_fastmcp_run", default=None)


class FailwellMiddleware(Middleware):
    """Answers every failure of every tool: `server.add_middleware(FailwellMiddleware(dialect="xml"))`.

    It belongs outermost, before any other. Takes a `Protection`, or the settings of one.
    """

    def __init__(self, protection: Protection | None = None, **settings: Any) -> None:
        self.protection = protection or Protection(**settings)
        self._checks = SchemaChecks()
        self._servers: WeakSet[Any] = WeakSet()
        self._seen: WeakSet[Any] = WeakSet()
        self._warned: WeakSet[Any] = WeakSet()

    def watch(self, server: Any) -> None:
        """Make the functions of a server's tools tell when they are entered, and raise the failures they return."""
        if server in self._servers:
            return
        self._servers.add(server)
        store = _LAYOUT.store(server)
        marked: dict[str, Any] = {}

        def watch(tool: Any) -> Any:
            if idempotency_of(getattr(tool, "fn", None)) is not None:
                marked[_LAYOUT.name(tool)] = tool.fn
            return _watch(tool)

        for tool in _LAYOUT.tools(store):
            watch(tool)
        add = store.add_tool

        @functools.wraps(add)
        def add_tool(*args: Any, **kwargs: Any) -> Any:
            return watch(add(*args, **kwargs))

        async def search(name: str) -> Any:
            return getattr(await _found(server, name), "fn", None)

        store.add_tool = add_tool
        _LAYOUT.attach(server, self.protection, ToolFunctions(marked.values, marked.get, search))

    def warn_of_conflicting_middleware(self, server: Any) -> None:
        """Log, once each, which middleware of a server works against this one."""
        for middleware in server.middleware:
            reason = _CONFLICTING.get(type(middleware).__name__)
            if reason and middleware not in self._warned:
                self._warned.add(middleware)
                log.warning("%s has a %s: %s", server.name, type(middleware).__name__, reason)

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        """Run the tool and answer its failure."""
        server = context.fastmcp_context.fastmcp
        if server not in self._seen:
            self._seen.add(server)
            self.watch(server)
            self.warn_of_conflicting_middleware(server)  # what was added since is known only now
        protection, outer = self.protection, _running.get()
        run = _FastmcpRun(protection)
        token, started = _running.set(run), protection.start()
        try:
            result = await call_next(context)
        except Exception as exc:
            is_nested = outer is not None and outer.protection is protection
            if is_nested or is_protocol_error(exc):
                raise  # a tool that calls another of its server handles the failure
            failure, responder = await self._classify(exc, context, run)
        else:
            broken = await self._broken(result, context, run) if self._looks_broken(result, run) else None
            if broken is None:
                protection.finish(context.message.name, started, **_request(context))
                return result
            responder = protection.responder(broken)
            failure = responder.broken_output()
        finally:
            _running.reset(token)
        wire, failure = responder.encode(failure)
        protection.finish(responder.tool, started, failure, wire=wire, **_request(context))
        return _LAYOUT.failed(wire)

    async def on_list_tools(self, context: Any, call_next: Any) -> Sequence[Any]:
        """List the tools, with the failures they declare."""
        listed: list[Any] = []
        for tool in await call_next(context):
            function = getattr(tool, "fn", None)
            changes = self.protection.listing(_LAYOUT.name(tool), function, tool.meta, tool.description)
            listed.append(tool.model_copy(update=changes) if changes else tool)
        return listed

    async def _classify(self, exc: Exception, context: Any, run: _FastmcpRun) -> tuple[Failure, Responder]:
        server, name = context.fastmcp_context.fastmcp, context.message.name
        tool = run.tool or await _found(server, name)
        responder = self.protection.responder(_call_info(context, tool, run))
        core = original_exception(exc, _SDK)
        if tool is None and isinstance(core, NotFoundError | DisabledError):
            return unknown_tool(name, await _names(server)), responder
        if not run.times and isinstance(core, ValidationError) and _is_about_arguments(core, tool):
            arguments: dict[str, Any] = context.message.arguments or {}
            schema = getattr(tool, "parameters", None)
            problems = self._checks.explained(problems_of(core, arguments=arguments), arguments, schema, tool=name)
            return invalid(problems, tool=name), responder
        return _failure(core, responder, ran=run.times > 0 or not _is_watched(tool)), responder

    def _looks_broken(self, result: Any, run: _FastmcpRun) -> bool:
        schema = run.tool.output_schema if run.tool is not None else None
        return schema is not None and _breaks(self._checks, result, run.tool)

    async def _broken(self, result: Any, context: Any, run: _FastmcpRun) -> CallInfo | None:
        """Return the call whose result breaks the schema that clients see, which a transform may have changed."""
        tool = await _found(context.fastmcp_context.fastmcp, context.message.name)
        if tool is None or tool.output_schema is None or not _breaks(self._checks, result, tool):
            return None
        return _call_info(context, tool, run)


def _failure(core: Exception, responder: Responder, *, ran: bool) -> Failure:
    if isinstance(core, ToolFailure):
        return core.failure
    raised_by = package_raising(core)
    if raised_by in _SDK and isinstance(core.__context__, TimeoutError):
        return responder.failure_of(core.__context__, ran=ran)  # a tool's own timeout
    if isinstance(core, FastMCPError) or (is_rpc_error(core) and raised_by != "mcp"):
        return responder.failure_of_sdk_error(core, ran=ran)
    return responder.failure_of(core, ran=ran)


def _is_about_arguments(exc: ValidationError, tool: Any) -> bool:
    return _is_watched(tool) or _BEFORE_THE_BODY.issuperset(packages_in(exc))


def _breaks(checks: SchemaChecks, result: Any, tool: Any) -> bool:
    if type(result).__name__ != "ToolResult" or getattr(result, "is_error", False):
        return False  # a task, a question to the client, an error written by hand
    return checks.is_broken(result.structured_content, tool.output_schema, tool=tool.name)


def _request(context: Any) -> dict[str, Any]:
    """Return what observers are told of the request."""
    return {"arguments": context.message.arguments, "context": context.fastmcp_context}


def _call_info(context: Any, tool: Any, run: _FastmcpRun) -> CallInfo:
    annotations = getattr(tool, "annotations", None)
    has_output_schema = getattr(tool, "output_schema", None) is not None
    meta = functools.partial(_request_meta, context)
    function = getattr(tool, "fn", None)
    return CallInfo(context.message.name, annotations, has_output_schema, meta, run.times, function)


def _request_meta(context: Any) -> Any:
    try:
        return context.fastmcp_context.request_context.meta
    except Exception:  # a call that came from no request
        return None


async def _found(server: Any, name: str) -> Any:
    try:
        return await server.get_tool(name)
    except Exception:  # how fastmcp 2 says that there is none
        return None


async def _names(server: Any) -> list[str]:
    try:
        return [_LAYOUT.name(tool) for tool in await _LAYOUT.listed(server)]
    except Exception:
        log.exception("the tools of %s could not be listed", server.name)
        return []


def _is_watched(tool: Any) -> bool:
    return getattr(getattr(tool, "fn", None), _WATCHED, False) is True


def _watch(tool: Any) -> Any:
    if isinstance(tool, FunctionTool) and not _is_watched(tool) and not _yields(tool.fn):
        tool.fn = _watched(tool.fn, tool)
    return tool


def _yields(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _watched(function: Callable[..., Any], tool: Any) -> Callable[..., Any]:
    """Return a tool's function so that its run is noted, and the failure it returns is raised."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def watched_async(*args: Any, **kwargs: Any) -> Any:
            _note(tool)
            return _value(await function(*args, **kwargs))

        setattr(watched_async, _WATCHED, True)
        return watched_async

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        _note(tool)
        return _value(function(*args, **kwargs))

    setattr(watched, _WATCHED, True)
    return watched


def _note(tool: Any) -> None:
    run = _running.get()
    if run is not None:
        run.tool = tool
        run.times += 1


def _value(value: Any) -> Any:
    value, failure = value_or_failure(value)
    if failure is not None:
        raise ToolFailure(failure)
    return value
