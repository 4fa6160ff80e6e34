"""Protect servers of fastmcp, versions 2 to 4: a middleware that answers failures, outermost in the chain."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from copy import copy
from typing import Any, NamedTuple
from weakref import WeakSet

from msgspec import UNSET
from msgspec.structs import replace

from failwell._log import log
from failwell._sdks import needs, supported_version
from failwell.dialects._placement import META_KEY
from failwell.errors import ToolFailure
from failwell.failure import Failure, join_path, path_keys, summary
from failwell.reading.reader import read
from failwell.schema.problems import invalid, unknown_tool
from failwell.schema.pydantic import problems_of
from failwell.sdk.calls import failure_contained, in_thread, is_contained, is_timed, raise_returned, raising
from failwell.sdk.errors import is_protocol_error
from failwell.sdk.idempotency import ToolFunctions
from failwell.sdk.requests import RequestInfo, request_error
from failwell.sdk.results import ENCODING_ERRORS, NotFiniteError, is_finite, meaning, unsendable
from failwell.sdk.tasks import TaskFailure, background_tool
from failwell.server._idempotency import idempotency_of
from failwell.server._protection import CallInfo, Protection
from failwell.server._responder import (
    SDKS,
    Responder,
    is_rpc_error,
    original_exception,
    package_raising,
    packages_in,
    value_and_warning,
    value_or_failure,
)
from failwell.server._schemas import SchemaChecks

try:
    from fastmcp.exceptions import DisabledError, NotFoundError
    from fastmcp.server.middleware import Middleware
    from fastmcp.tools import FunctionTool, Tool
    from mcp.types import CallToolResult, TextContent
    from pydantic import ValidationError
    from pydantic_core import to_jsonable_python
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
    mounted: Callable[[Any], Iterable[Any]]  # the servers that are mounted on one
    name: Callable[[Any], str]  # by which a client calls a tool
    attach: Callable[[Any, Protection, ToolFunctions], Any]  # covers the server beneath, as far as that is needed
    failed: Callable[[dict[str, Any]], Any]  # a wire-shaped result as the result of a middleware
    failed_task: Callable[[dict[str, Any]], Any]  # the same as what a background task returns, or raises
    converted: Callable[[Any, Any], Any]  # what a tool's function returned as the result of a task of it
    raise_returned: Callable[[Any], None]  # makes the functions of resources and prompts raise the failures they return
    blocks_event_loop: bool = False  # functions that are not coroutines run in no thread


def layout() -> FastmcpServerLayout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    version = supported_version("fastmcp")
    attach_beneath = _attach_1 if version < (4,) else _attach_2
    failed = _replaced if version < (3, 4) else _flagged
    failed_task = _raised if version < (4,) else failed
    if version < (3,):
        return FastmcpServerLayout(
            _manager,
            _managed,
            _listed_2,
            _mounted_2,
            _key,
            attach_beneath,
            failed,
            failed_task,
            _converted_2,
            _raise_returned_2,
            blocks_event_loop=True,
        )
    return FastmcpServerLayout(
        _provider,
        _provided,
        _listed,
        _mounted,
        _name_in,
        attach_beneath,
        failed,
        failed_task,
        _converted,
        _raise_returned,
    )


def _manager(server: Any) -> Any:
    return server._tool_manager


def _managed(store: Any) -> Iterable[Any]:
    return list(store._tools.values())


async def _listed_2(server: Any) -> Iterable[Any]:
    return list(await server._list_tools_middleware())


def _mounted_2(server: Any) -> Iterable[Any]:
    return [mount.server for mount in server._mounted_servers]


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


def _mounted(server: Any) -> Iterable[Any]:
    providers = server.providers
    return () if len(providers) == 1 and providers[0] is server._local_provider else _servers_of(providers)


def _servers_of(providers: Iterable[Any]) -> Iterable[Any]:
    return (inner.server for inner in map(_behind_transforms, providers) if hasattr(inner, "server"))


def _behind_transforms(provider: Any) -> Any:
    while hasattr(provider, "_inner"):
        provider = provider._inner
    return provider


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
    """Cover the server beneath fastmcp 4, whose middleware sees everything of a call but what keys are for."""
    from failwell.sdk import mcp_lowlevel_2

    mcp_lowlevel_2.attach_beneath(server._mcp_server, protection, functions)


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


def _raised(wire: dict[str, Any]) -> Any:
    raise TaskFailure(wire)


def _converted_2(value: Any, tool: Any) -> Any:
    """Return the result that fastmcp 2 makes of a task's value, in a function that needs the whole server."""
    from fastmcp.tools import tool as tools

    made, blocks_of = vars(tools)["ToolResult"], vars(tools)["_convert_to_content"]
    if isinstance(value, made):
        return value
    blocks, schema = blocks_of(value, serializer=tool.serializer), tool.output_schema
    if schema is None and not isinstance(value, dict):
        return made(content=blocks)
    structured = to_jsonable_python(value)
    is_wrapped = schema is not None and schema.get("x-fastmcp-wrap-result")
    return made(content=blocks, structured_content={"result": structured} if is_wrapped else structured)


def _converted(value: Any, tool: Any) -> Any:
    return tool.convert_result(value)


def _raise_returned_2(server: Any) -> None:
    raise_returned(server._resource_manager)
    raise_returned(server._prompt_manager)


def _raise_returned(server: Any) -> None:
    store = server._local_provider
    raise_returned(store, [one for one in store._components.values() if not isinstance(one, Tool)])


# What a call passes through until its arguments are checked; any other frame is the tool's.
_BEFORE_THE_BODY = SDKS | {"failwell", "pydantic", "pydantic_core", "anyio", "asyncio", "functools", "contextlib"}
_CONFLICTING = {
    "ErrorHandlingMiddleware": "its handling of failures is undone, since models do not see protocol errors",
    "RetryMiddleware": "it retries every tool, including those that are not safe to run twice",
}
_WATCHED = "__failwell_watched__"
_MOST_TRANSFORMS = 20
_DEEPEST_MOUNT = 10

_LAYOUT = layout()


def attach(server: Any, protection: Protection) -> str:
    """Protect a server and return what was done.

    Raises:
        ValueError: the middleware is there already, or this version is not supported.
    """
    layout()  # a version that is not supported is refused here too
    if any(isinstance(middleware, FailwellMiddleware) for middleware in server.middleware):
        raise ValueError(f"{server.name} is already protected")
    ours = FailwellMiddleware(protection)
    ours.watch(server)
    ours.warn_of_conflicting_middleware(server)
    server.middleware.insert(0, ours)
    return "a middleware of fastmcp sees every call first"


def registered(server: Any) -> Iterable[Any]:
    """Return the functions that a server has made tools of."""
    return [inspect.unwrap(tool.fn) for tool in _LAYOUT.tools(_LAYOUT.store(server)) if isinstance(tool, FunctionTool)]


class _FastmcpRun:
    """One call on its way: the tool found for it, the one whose body was entered, how often, and how that ended."""

    __slots__ = ("found", "has_returned", "name", "protection", "times", "tool", "warning")

    def __init__(self, protection: Protection, name: str) -> None:
        self.protection = protection
        self.name = name
        self.found: Any = UNSET
        self.tool: Any = None
        self.times = 0
        self.warning: Failure | None = None
        self.has_returned = False


_running: ContextVar[_FastmcpRun | None] = ContextVar("failwell_fastmcp_run", default=None)


class FailwellMiddleware(Middleware):
    """Answers every failure of every tool: `server.add_middleware(FailwellMiddleware(dialect="xml"))`.

    It belongs outermost, before any other. Takes a `Protection`, or the settings of one.
    """

    def __init__(self, protection: Protection | None = None, **settings: Any) -> None:
        self.protection = protection or Protection(**settings)
        self._checks = SchemaChecks()
        self._servers: WeakSet[Any] = WeakSet()
        self._watched: WeakSet[Any] = WeakSet()
        self._seen: WeakSet[Any] = WeakSet()
        self._warned: WeakSet[Any] = WeakSet()

    def watch(self, server: Any) -> None:
        """Make the functions of a server's tools tell when they are entered, and raise the failures they return."""
        if server in self._servers:
            return
        self._servers.add(server)
        marked: dict[str, Any] = {}

        def watch(tool: Any) -> Any:
            if idempotency_of(getattr(tool, "fn", None)) is not None:
                marked[_LAYOUT.name(tool)] = tool.fn
            return self._watch(tool)

        async def search(name: str) -> Any:
            return await _found(server, name)

        self._watch_tools(server, watch)
        self._watch_start(server)
        _watch_lookups(server)
        names = functools.partial(_own_names, server)
        _LAYOUT.attach(server, self.protection, ToolFunctions(marked.values, marked.get, search, names))

    def _watch_tools(self, server: Any, watch: Callable[[Any], Any]) -> None:
        """Watch the tools of a server, those that are added later too."""
        self._watched.add(server)
        _LAYOUT.raise_returned(server)
        store = _LAYOUT.store(server)
        for tool in _LAYOUT.tools(store):
            watch(tool)
        add = store.add_tool

        @functools.wraps(add)
        def add_tool(*args: Any, **kwargs: Any) -> Any:
            return watch(add(*args, **kwargs))

        store.add_tool = add_tool

    def _watch_start(self, server: Any) -> None:
        """Watch what is mounted before a queue takes the functions that run as tasks, which is when a server starts."""
        start = server._lifespan_manager

        @functools.wraps(start)
        def lifespan_manager() -> Any:
            self._watch_mounted(server)
            return start()

        server._lifespan_manager = lifespan_manager

    def _watch_mounted(self, server: Any, depth: int = 0) -> None:
        """Watch the tools of the servers that are mounted on one, and on those; that needs no line of their authors."""
        for child in _LAYOUT.mounted(server):
            if child not in self._watched:
                self._watch_tools(child, self._watch)
            if depth < _DEEPEST_MOUNT:
                self._watch_mounted(child, depth + 1)

    def _watch(self, tool: Any) -> Any:
        if _is_transformed(tool):
            self._watch(tool.parent_tool)
            if tool.fn is not tool.forwarding_fn:
                tool.fn = raising(tool.fn, _value)
            return tool
        if isinstance(tool, FunctionTool) and not _is_watched(tool) and not _yields(tool.fn):
            tool.fn = _watched(tool.fn, tool, functools.partial(self._run_task, tool))
        return tool

    async def _run_task(
        self, tool: Any, name: str, arguments: dict[str, Any], run: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Return what a background task ends with: nothing else sees what its function raises, and what it returns.

        Raises:
            TaskFailure: this version takes what was raised for a failed task, and anything else for a success.
            Exception: an error of the protocol, which the protocol wants as such.
        """
        protection, value = self.protection, None
        has_output_schema = tool.output_schema is not None
        responder = protection.responder(CallInfo(name, tool.annotations, has_output_schema, function=tool.fn))
        started = protection.start()
        try:
            value, warning = _returned(await run())
            failure = self._unusable(value, tool, responder)
            if failure is None and warning is not None:
                value = _with_warning(_LAYOUT.converted(value, tool), warning, responder)
        except Exception as exc:
            if is_rpc_error(exc) and package_raising(exc) not in SDKS and _LAYOUT.failed_task is _LAYOUT.failed:
                raise request_error(exc, RequestInfo("tools/call", None)) from None
            failure = responder.failure_of(original_exception(exc, SDKS), arguments=arguments)
        except BaseException as exc:  # it would end the worker, and every task after this one would wait forever
            if not is_contained(exc, catch_exit=protection.catch_exit):
                raise
            failure = failure_contained(exc, responder)
        if failure is None:
            protection.finish(name, started)
            return value
        wire, failure = responder.encode(failure)
        protection.finish(name, started, failure, wire=wire, is_task=True)
        return _LAYOUT.failed_task(wire)

    def _unusable(self, value: Any, tool: Any, responder: Responder) -> Failure | None:
        """Return the failure of a task whose value can't be sent as a result, or breaks its schema."""
        if type(value).__name__ == "InputRequiredResult":
            return None
        try:
            if not is_finite(value):
                raise NotFiniteError
            result = _LAYOUT.converted(value, tool)
            reason = unsendable(_wire(result))
        except Exception as exc:  # the SDK would raise it again for each client that asks for the result
            return responder.unsendable(meaning(str(exc)), exc)
        if reason is not None:
            return responder.unsendable(reason)
        is_broken = tool.output_schema is not None and _breaks(self._checks, result, tool)
        return responder.broken_output() if is_broken else None

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
        self._watch_mounted(server)
        protection, outer = self.protection, _running.get()
        run = _FastmcpRun(protection, context.message.name)
        token, started = _running.set(run), protection.start()
        try:
            result = await call_next(context)
        except Exception as exc:
            is_nested = outer is not None and outer.protection is protection
            if is_nested or is_protocol_error(exc):
                raise  # a tool that calls another of its server handles the failure
            failure, responder = await self._classify(exc, context, run)
        else:
            if _is_remote_failure(result, run):
                failure, responder = await self._read(result, context, run)
            else:
                broken = await self._broken(result, context, run) if self._looks_broken(result, run) else None
                if broken is None:
                    if protection.observers:
                        protection.finish(context.message.name, started, **_request(context))
                    if run.warning is None:
                        return result
                    responder = protection.responder(_call_info(context, run.tool, run))
                    return _with_warning(result, run.warning, responder)
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
        self.protection.log_names(map(_LAYOUT.name, listed))
        return listed

    async def _read(self, result: Any, context: Any, run: _FastmcpRun) -> tuple[Failure, Responder]:
        """Return what a remote server says of a call that failed there."""
        name: str = context.message.name
        arguments: dict[str, Any] = context.message.arguments or {}
        tool = await _found(context.fastmcp_context.fastmcp, name) if run.found is UNSET else run.found
        failure = read(_wire(result), tool=name, arguments=arguments, input_schema=getattr(tool, "parameters", None))
        responder = self.protection.responder(_call_info(context, tool, run))
        return failure or Failure(code="TOOL_ERROR", message="The remote tool failed."), responder

    async def _classify(self, exc: Exception, context: Any, run: _FastmcpRun) -> tuple[Failure, Responder]:
        server, name = context.fastmcp_context.fastmcp, context.message.name
        called = await _found(server, name) if run.found is UNSET else run.found
        tool = run.tool or called
        responder = self.protection.responder(_call_info(context, tool, run))
        core = original_exception(exc, SDKS)
        if tool is None and isinstance(core, NotFoundError | DisabledError):
            if (lost := await _unreachable(server)) is not None:
                return responder.failure_of(lost, ran=False).replace(outcome="not_executed"), responder
            return unknown_tool(name, await _names(server)), responder
        if run.has_returned and isinstance(core, ENCODING_ERRORS):
            return responder.unsendable(meaning(str(core)), core), responder
        arguments: dict[str, Any] = context.message.arguments or {}
        if not run.times and _is_transformed(called) and isinstance(core, ValidationError | TypeError):
            refused = self._refused(arguments, called, name)
            if refused is None and isinstance(core, ValidationError) and called.fn is called.forwarding_fn:
                refused = _renamed(invalid(problems_of(core), tool=name), called)
            if refused is not None:
                return refused, responder
        elif not run.times and isinstance(core, ValidationError) and _is_about_arguments(core, tool):
            schema = getattr(tool, "parameters", None)
            problems = self._checks.explained(problems_of(core, arguments=arguments), arguments, schema, tool=name)
            return invalid(problems, tool=name), responder
        if package_raising(core) in SDKS and isinstance(core.__context__, TimeoutError):
            core = core.__context__  # a tool's own timeout
        ran = run.times > 0 or not _is_watched(tool)
        if run.has_returned:
            responder = responder.around()
        failure = responder.failure_of(core, ran=ran, arguments=arguments)
        return _renamed(failure, called), responder

    def _refused(self, arguments: dict[str, Any], tool: Any, name: str) -> Failure | None:
        """Return the failure of a call that the schema of a transformed tool, which the caller knows, refuses."""
        schema = tool.parameters
        refused = self._checks.refused(arguments, schema, tool=name)
        refused = refused or self.protection.unknown_arguments(arguments, schema, name)
        has_own_code = tool.fn is not tool.forwarding_fn
        return refused.replace(outcome="unknown") if refused is not None and has_own_code else refused

    def _looks_broken(self, result: Any, run: _FastmcpRun) -> bool:
        schema = run.tool.output_schema if run.tool is not None else None
        return schema is not None and _breaks(self._checks, result, run.tool)

    async def _broken(self, result: Any, context: Any, run: _FastmcpRun) -> CallInfo | None:
        """Return the call whose result breaks the schema that clients see, which a transform may have changed."""
        tool = await _found(context.fastmcp_context.fastmcp, context.message.name)
        if tool is None or tool.output_schema is None or not _breaks(self._checks, result, tool):
            return None
        return _call_info(context, tool, run)


def _with_warning(result: Any, warning: Failure, responder: Responder) -> Any:
    """Return a success with the warning beside it that its tool gave."""
    wire = responder.warned({"content": [], "_meta": result.meta or {}}, warning)
    result = copy(result)
    result.content = [*result.content, *map(TextContent.model_validate, wire["content"])]
    result.meta = wire["_meta"]
    return result


def _is_remote_failure(result: Any, run: _FastmcpRun) -> bool:
    """Return whether a result is an error that no function of this server made, and that says nothing of ours yet."""
    return run.tool is None and getattr(result, "is_error", False) and META_KEY not in (result.meta or {})


def _wire(result: Any) -> dict[str, Any]:
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in result.content]
    structured = result.structured_content
    found: dict[str, Any] = {"content": blocks, "isError": True, "_meta": result.meta or {}}
    return found if structured is None else {**found, "structuredContent": structured}


def _is_transformed(tool: Any) -> bool:
    return getattr(tool, "parent_tool", None) is not None


def _renamed(failure: Failure, tool: Any) -> Failure:
    """Return a failure whose fields have the names that the caller of a transformed tool knows."""
    if not failure.fields:
        return failure
    chain: list[Any] = []
    while _is_transformed(tool) and len(chain) < _MOST_TRANSFORMS:
        chain.append(tool)
        tool = tool.parent_tool
    for one in reversed(chain):
        names = {name: change.name for name, change in one.transform_args.items() if isinstance(change.name, str)}
        fields = tuple(replace(problem, path=_renamed_path(problem.path, names)) for problem in failure.fields)
        is_summary = failure.message == summary(failure.fields)
        failure = failure.replace(fields=fields, message=summary(fields) if is_summary else failure.message)
    return failure


def _renamed_path(path: str, names: dict[str, str]) -> str:
    first, *rest = path_keys(path) or ("",)
    return join_path([names.get(str(first), first), *rest]) if first in names else path


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


def _watch_lookups(server: Any) -> None:
    """Make a server note which tool it found for a call, so that nobody has to look for it again."""
    get_tool = server.get_tool

    @functools.wraps(get_tool)
    async def noted(name: str, *args: Any, **kwargs: Any) -> Any:
        tool = await get_tool(name, *args, **kwargs)
        run = _running.get()
        if run is not None and run.found is UNSET and run.name == name:
            run.found = tool
        return tool

    server.get_tool = noted


async def _found(server: Any, name: str) -> Any:
    try:
        return await server.get_tool(name)
    except Exception:  # how fastmcp 2 says that there is none
        return None


async def _unreachable(server: Any, depth: int = 0) -> Exception | None:
    """Return why a remote server, whose tools a server passes on, can't be asked for them; fastmcp leaves them out."""
    for provider in map(_behind_transforms, getattr(server, "providers", ())):
        if any(cls.__name__ == "ProxyProvider" for cls in type(provider).__mro__):
            try:
                await provider.list_tools()
            except Exception as exc:
                return exc
        elif hasattr(provider, "server") and depth < _DEEPEST_MOUNT:
            found = await _unreachable(provider.server, depth + 1)
            if found is not None:
                return found
    return None


async def _names(server: Any) -> list[str]:
    try:
        return [_LAYOUT.name(tool) for tool in await _LAYOUT.listed(server)]
    except Exception:
        log.exception("the tools of %s could not be listed", server.name)
        return []


def _own_names(server: Any) -> list[str] | None:
    """Return the names of a server's tools; None if others are mounted, or something gives them other names."""
    more = ("_mounted_servers", "_transforms", "_tool_transformations")
    if len(getattr(server, "providers", ())) > 1 or any(getattr(server, name, None) for name in more):
        return None
    return [_LAYOUT.name(tool) for tool in _LAYOUT.tools(_LAYOUT.store(server))]


def _is_watched(tool: Any) -> bool:
    return getattr(getattr(tool, "fn", None), _WATCHED, False) is True


def _yields(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _watched(function: Callable[..., Any], tool: Any, run_task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tool's function so that its run is noted, and the failure it returns is raised."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def watched_async(*args: Any, **kwargs: Any) -> Any:
            _note(tool)
            if _running.get() is None and (name := background_tool()) is not None:
                return await run_task(name, kwargs, functools.partial(function, *args, **kwargs))
            return _value(await function(*args, **kwargs))

        setattr(watched_async, _WATCHED, True)
        return watched_async

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        _note(tool)
        if _LAYOUT.blocks_event_loop and is_timed():
            return watched_in_thread(*args, **kwargs)
        return _value(function(*args, **kwargs))

    @in_thread
    def watched_in_thread(*args: Any, **kwargs: Any) -> Any:
        return _value(function(*args, **kwargs))

    setattr(watched, _WATCHED, True)
    return watched


def _note(tool: Any) -> None:
    run = _running.get()
    if run is not None:
        run.tool = tool
        run.times += 1
        run.has_returned = False


def _returned(value: Any) -> tuple[Any, Failure | None]:
    """Return the value in what a tool returned, and the warning beside it.

    Raises:
        ToolFailure: it is a failure.
    """
    value, failure = value_or_failure(value)
    if failure is not None:
        raise ToolFailure(failure)
    return value_and_warning(value)


def _value(value: Any) -> Any:
    value, warning = _returned(value)
    run = _running.get()
    if run is not None:
        run.has_returned = True
        if warning is not None:
            run.warning = warning
        if not is_finite(value):
            raise NotFiniteError
    return value
