"""Hook the client sessions of the mcp SDK, versions 1 and 2; failed calls give results that carry the failure."""

import functools
import itertools
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from failwell._sdks import needs, supported_version
from failwell._trace import call_span
from failwell.client import Caller, CallResult, ToolListCache, ToolLookup, ToolPage
from failwell.client._install import Patches
from failwell.dialects import Wire, canonical
from failwell.dialects import _placement as placement
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.renderer import render_redacted
from failwell.retry._clock import CallClock
from failwell.retry._deadline import run_within
from failwell.retry._time_limit import attempt_clock
from failwell.sdk import call_request, mcp_http
from failwell.sdk.call_request import RequestLayout
from failwell.sdk.connections import Reconnect, Refresh, SessionConnection, is_calling
from failwell.sdk.errors import (
    NotAToolFailure,
    UnusableResult,
    handle_call_exception,
    is_flagged,
    is_protocol_error,
    without_carrier,
)
from failwell.server._responder import is_rpc_error

try:
    import anyio
    from mcp import ClientSession, types
    from mcp.types import CallToolResult, TextContent
    from pydantic import PrivateAttr
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing


__all__ = ["FailedResult", "FallbackResult", "SessionHook", "attach", "attach_transport", "detach", "wrap"]

FALLBACK_KEY = "dev.failwell/fallback"
REPAIR_KEY = "dev.failwell/repair"

_LONGEST_LISTING = 10.0
_WRAPPED = "_failwell_hook"


class McpClientLayout(NamedTuple):
    """What differs between versions."""

    forgets_server: bool  # a session does not keep what its server is called
    request: Callable[[Any], Any]  # a request as a session sends it
    notification: Callable[[Any], Any]  # a notification as a session sends it
    message: Callable[[Any], Any]  # a JSON-RPC message as a transport passes it on
    next_cursor: str
    requests: RequestLayout


def layout() -> McpClientLayout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    if supported_version("mcp", who="failwell") < (2,):
        wrappers = vars(types)
        return McpClientLayout(
            forgets_server=True,
            request=wrappers["ClientRequest"],
            notification=wrappers["ClientNotification"],
            message=wrappers["JSONRPCMessage"],
            next_cursor="nextCursor",
            requests=RequestLayout("_received_request", cancels=False),
        )
    return McpClientLayout(
        forgets_server=False,
        request=_unchanged,
        notification=_unchanged,
        message=_unchanged,
        next_cursor="next_cursor",
        requests=RequestLayout("dispatch_input_request", cancels=True),
    )


def _unchanged(value: Any) -> Any:
    return value


class FailedResult(CallToolResult):
    """A failed call, where the SDK's own result is due: one text for the model, the failure for the application."""

    _failure: Failure = PrivateAttr(default=cast(Failure, None))  # a default would be copied for every result
    _raw: Any = PrivateAttr(default=None)

    @property
    def failure(self) -> Failure:
        """What went wrong."""
        return self._failure

    @property
    def raw(self) -> Any:
        """What the last try ended with, untouched: the server's result or an exception; None if none was result."""
        return self._raw

    @property
    def is_fallback(self) -> bool:
        """Whether the content is what a fallback gave, and not the failure itself."""
        return False


class FallbackResult(FailedResult):
    """What a fallback gave in place of a tool that failed: no error for the model, but never the tool's own result."""

    @property
    def is_fallback(self) -> bool:
        """Whether the content is what a fallback gave, and not the failure itself."""
        return True


def result_of(call_result: CallResult) -> Any:
    """Return how a call ended as a result of the SDK. A success is the very object that the SDK returned."""
    failure = call_result.failure
    if failure is None:
        return call_result.result if call_result.repaired is None else _with_repair_note(call_result)
    if call_result.is_fallback:
        return _build(FallbackResult, _fallback_wire(call_result, failure), call_result, failure)
    if (
        failure.severity == "warning"
        and isinstance(call_result.result, CallToolResult)
        and not is_flagged(call_result.result)
    ):
        return call_result.result
    redacted = canonical(failure)
    attempts = call_result.attempts
    text = render_redacted(redacted, call_result.hints, attempt=max(attempts, 1))
    wire = placement.result_of(
        redacted, Wire(call_result.with_notes(text)), attempts=attempts if attempts > 1 else None
    )
    wire["_meta"] = {**_meta(call_result.result), **wire["_meta"]}
    return _build(FailedResult, wire, call_result, failure)


def _build(cls: type[FailedResult], wire: dict[str, Any], call_result: CallResult, failure: Failure) -> FailedResult:
    result: Any = cls.model_validate(wire)
    last = call_result.exception if call_result.is_fallback or call_result.result is None else call_result.result
    result._failure = failure
    result._raw = last.raw if isinstance(last, FailedResult | UnusableResult) else last
    return cast(FailedResult, result)


def _with_repair_note(call_result: CallResult) -> Any:
    """Return a success that needed corrected arguments and says so to the model; the values are not repeated."""
    result = call_result.result
    if call_result.repaired is None or not isinstance(result, CallToolResult):
        return result
    changes = [{"path": change.path, "reason": change.reason} for change in call_result.repaired.changes]
    note = TextContent(type="text", text=call_result.repair_note)
    meta = {**_meta(result), REPAIR_KEY: {"changes": changes}}
    return result.model_copy(update={"content": [*result.content, note], "meta": meta})


def _fallback_wire(call_result: CallResult, failure: Failure) -> dict[str, Any]:
    value = call_result.result
    content = [_text(call_result.model_text)]
    if isinstance(value, CallToolResult):
        content = [_text(call_result.note), *value.model_dump(mode="json", by_alias=True, exclude_none=True)["content"]]
    meta = {FALLBACK_KEY: placement.write_whole(canonical(failure))}
    return {"content": content, "isError": False, "_meta": meta}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _meta(result: Any) -> dict[str, Any]:
    return dict(getattr(result, "meta", None) or {})


_counter = itertools.count(1)
_lock = Lock()
_MOST_TASKS = 1000


class SessionInfo:
    """What is known of a session: what its server is called, and what its tools are. It does not keep it alive."""

    def __init__(self, session: Any) -> None:
        self.server = _server_name(session) or f"session {next(_counter)}"
        self.connection = SessionConnection(session, on_renewed=self._renewed)
        self.descriptions = ToolListCache(functools.partial(_page, self.connection), lock=anyio.Lock())
        self._tasks: OrderedDict[str, float] = OrderedDict()
        self._listen(session)

    def note_task(self, task_id: str, started: float) -> None:
        """Note when the call started that its server runs as a task."""
        self._tasks[task_id] = started
        if len(self._tasks) > _MOST_TASKS:
            self._tasks.popitem(last=False)

    def forget_task(self, task_id: object) -> float | None:
        """Return when the call of a task started, once."""
        return self._tasks.pop(task_id, None) if isinstance(task_id, str) else None

    def lookup(self, tool: str) -> ToolLookup:
        """Return how to learn what the server says of a tool."""
        tools = self.descriptions
        return ToolLookup(functools.partial(tools.of, tool), functools.partial(tools.known, tool))

    def _renewed(self, session: Any) -> None:
        """Learn anew what the tools are: the server may have been started with others."""
        self.descriptions.forget()
        self._listen(getattr(session, "session", session))

    def _listen(self, session: Any) -> None:
        """Hear of changes of the list of tools from now on."""
        handler = session._message_handler
        if not (isinstance(handler, _ToolListListener) and handler.descriptions is self.descriptions):
            session._message_handler = _ToolListListener(handler, self.descriptions)


class _ToolListListener:
    """A session's handler of messages that also hears when the list of tools changed."""

    def __init__(self, handler: Any, descriptions: ToolListCache) -> None:
        self.handler = handler
        self.descriptions = descriptions

    async def __call__(self, message: Any) -> None:
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            self.descriptions.forget()
        await self.handler(message)


_sessions: WeakKeyDictionary[Any, SessionInfo] = WeakKeyDictionary()


def _session_info(session: Any) -> SessionInfo:
    found = _sessions.get(session)
    if found is None:
        with _lock:
            found = _sessions.get(session) or _sessions.setdefault(session, SessionInfo(session))
    return found


def _other_tool(
    info: SessionInfo, original: Callable[..., Awaitable[Any]], tool: str
) -> tuple[Any, Callable[[dict[str, Any]], Awaitable[Any]]]:
    """Return the description of another tool of a server, and what makes one call of it."""

    def make(arguments: dict[str, Any]) -> Awaitable[Any]:
        return without_carrier(info.connection.call(original, attempt_clock.get(), tool, arguments))

    return info.lookup(tool), make


def _is_continuation(options: dict[str, Any]) -> bool:
    """Return whether a call answers questions of an earlier one."""
    return options.get("input_responses") is not None or options.get("request_state") is not None


def _is_awaited(result: Any) -> bool:
    """Return whether a result only says that the server runs the call as a task, for which fastmcp's client waits."""
    is_task = getattr(result, "result_type", None) == "task" and isinstance(getattr(result, "task_id", None), str)
    return is_task and type(result).__module__.startswith("fastmcp")


_NO_SPAN = nullcontext()


@contextmanager
def _span(hook: Any, tool: str) -> Generator[None]:
    """Have a call run in a span, if the hook begins spans, and send that on."""
    with call_span((hook,), "client", tool) as carrier:
        token = call_request.carried_meta.set(carrier)
        try:
            yield
        finally:
            call_request.carried_meta.reset(token)


@functools.cache
def _has_spans() -> bool:
    return supported_version("mcp", who="failwell") >= (2,)


class SessionHook(NamedTuple):
    """How calls are made from now on: through a caller, to a server of a given name; what to do if it is gone."""

    caller: Caller
    server: str | None = None
    reconnect: Reconnect | None = None
    refresh: Refresh | None = None

    async def call(
        self,
        original: Callable[..., Awaitable[Any]],
        session: Any,
        name: str,
        arguments: dict[str, Any] | None,
        rest: tuple[Any, ...],
        options: dict[str, Any],
        *,
        is_pending: Callable[[Any], bool] | None = None,
    ) -> Any:
        """Call a tool and return a result of the SDK; *original* makes one call.

        Where a result *is_pending*, its client waits for a task by `finish`, and the call has not ended before.
        """
        info = _session_info(session)
        info.connection.reconnect = self.reconnect or info.connection.reconnect
        make, outer = self._refreshing(info.connection, info.connection.call), attempt_clock.get()

        def make_call(sent: dict[str, Any]) -> Awaitable[Any]:
            return make(original, outer, name, sent or arguments, *rest, **options)

        hook, started = self.caller.hook, self.caller.clock()
        try:
            with _NO_SPAN if hook is None or _has_spans() else _span(hook, name):
                call_result = await self.caller.run(
                    make_call,
                    server=self.server or info.server,
                    tool=name,
                    arguments=arguments,
                    description=info.lookup(name),
                    other_tool=functools.partial(_other_tool, info, original),
                    is_continuation=_is_continuation(options),
                    is_pending=is_pending,
                    started=started,
                )
        except NotAToolFailure as other:
            raise other.exception from other.exception.__cause__
        if is_pending is not None and is_pending(call_result.result):
            info.note_task(call_result.result.task_id, started)
        return result_of(call_result)

    def _refreshing(
        self, connection: SessionConnection, make: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        """Return what makes a request, and renews the credentials the first time that the server refuses them."""
        refresh = self.refresh
        if refresh is None:
            return make
        is_refreshed = False

        async def make_or_refresh(*args: Any, **options: Any) -> Any:
            nonlocal is_refreshed
            seen = connection.credentials
            try:
                return await make(*args, **options)
            except Exception as exc:
                if is_refreshed or not mcp_http.is_unauthorized(exc):
                    raise
                is_refreshed = True
                renewed = await connection.refresh(refresh, seen=seen)
                if renewed is None:
                    raise
                raise renewed from exc

        return make_or_refresh

    async def finish(self, session: Any, tool: str, task: Any, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return a result of the SDK for a call that its server runs as a task; *make* waits for the task.

        The call has been made, and is not made again here.
        """
        info = _session_info(session)

        async def wait(_: dict[str, Any]) -> Any:
            call_request.note_task(session, task)
            try:
                return await make()
            except Exception as exc:
                return handle_call_exception(exc)

        run = self.caller.run(
            wait,
            server=self.server or info.server,
            tool=tool,
            description=info.lookup(tool),
            is_continuation=True,
            is_once=True,
            started=info.forget_task(getattr(task, "task_id", None)),
        )
        return result_of(await without_carrier(run))

    async def connect(self, session: Any, method: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Make a request that changes nothing, such as the first one of a session, again where it may succeed later.

        Raises:
            Exception: what the last try raised.
        """
        if method != "initialize":
            make = self._refreshing(_session_info(session).connection, make)

        async def make_request(_: dict[str, Any]) -> Any:
            try:
                return _Made(await make())
            except Exception as exc:
                if isinstance(exc, ToolFailure) or (is_rpc_error(exc) and not is_protocol_error(exc)):
                    raise
                raise NotAToolFailure(exc) from exc

        known = _sessions.get(session)  # before the first answer it is not known what the server is called
        server = self.server or (known.server if known else f"session at {id(session)}")
        run = self.caller.run(
            make_request,
            server=server,
            tool=method,
            description=_HARMLESS,
            cancellable=method != "initialize",
            is_tool_call=False,
        )
        ended = await without_carrier(run)
        if ended.failure is None:
            return ended.result.value
        raise ended.exception or ToolFailure(ended.failure)


_HARMLESS = {"annotations": {"readOnlyHint": True}}


class _Made(NamedTuple):
    """What a request gave. What it looks like says nothing."""

    value: Any


def attach(
    patches: Patches, current: Callable[[], SessionHook | None], connector: Callable[[], SessionHook | None]
) -> None:
    """Hook every session of the process: calls if there is a *current* hook, connecting if there is a *connector*.

    Raises:
        ValueError: this version is not supported.
    """
    version = layout()
    original = ClientSession.call_tool

    @functools.wraps(original)
    async def call_tool(
        self: Any, name: str, arguments: dict[str, Any] | None = None, *rest: Any, **options: Any
    ) -> Any:
        bare: Any = functools.partial(original, self)
        hook = current()
        if hook is None:  # uninstalled, but this function is still in use
            return await bare(name, arguments, *rest, **options)
        return await hook.call(bare, self, name, arguments, rest, options, is_pending=_is_awaited)

    patches.put(ClientSession, "call_tool", call_tool)
    patches.put(ClientSession, "list_tools", noting_tools(ClientSession.list_tools, _itself, connector))
    initialize = _keeping_server_name(ClientSession.initialize) if version.forgets_server else ClientSession.initialize
    patches.put(ClientSession, "initialize", _connecting(initialize, connector))


def attach_transport(patches: Patches) -> None:
    """Hook what every session sends, and its HTTP transport.

    Raises:
        ValueError: this version is not supported.
    """
    version = layout()
    mcp_http.attach(patches, version.message)
    call_request.attach(patches, version.requests, version.notification)


def detach() -> None:
    """Forget every session that is known, and hear its messages no more."""
    with _lock:
        for session in list(_sessions):
            if isinstance(session._message_handler, _ToolListListener):
                session._message_handler = session._message_handler.handler
        _sessions.clear()


def wrap(session: Any, hook: SessionHook) -> bool:
    """Hook one session, or the session of an mcp `Client`; return whether it was hooked before.

    Raises:
        ValueError: this version is not supported.
        RuntimeError: the client is not connected, so that it has no session yet.
    """
    layout()  # a version that is not supported is refused
    session = session if isinstance(session, ClientSession) else session.session
    was_wrapped = _WRAPPED in vars(session)
    setattr(session, _WRAPPED, hook)
    if was_wrapped:
        return True
    bare: Any = session.call_tool

    @functools.wraps(bare)
    async def call_tool(name: str, arguments: dict[str, Any] | None = None, *rest: Any, **options: Any) -> Any:
        current: SessionHook = getattr(session, _WRAPPED)
        return await current.call(bare, session, name, arguments, rest, options)

    session.call_tool = call_tool
    found: Any = session
    itself, hook_now = functools.partial(_itself, session), lambda: getattr(session, _WRAPPED)
    found.list_tools = noting_tools(found.list_tools, itself, hook_now)
    found.initialize = functools.partial(_connecting(_initialize_bare(found), hook_now), found)
    return False


def noting_tools(original: Any, session_of: Callable[..., Any], connector: Callable[..., SessionHook | None]) -> Any:
    """Return a function that lists tools so that what the application is told of them counts from then on."""

    @functools.wraps(original)
    async def list_tools(*args: Any, **kwargs: Any) -> Any:
        session, hook = session_of(*args), connector()
        make = functools.partial(original, *args, **kwargs)
        clock = attempt_clock.get() if is_calling.get() else None
        if clock is not None:
            listed = await _list_for_check(clock, make)
        else:
            listed = await (make() if hook is None else hook.connect(session, "tools/list", make))
        _session_info(session).descriptions.note(listed.tools)
        return listed

    return list_tools


async def _list_for_check(clock: CallClock, make: Callable[[], Awaitable[Any]]) -> Any:
    """List the tools to check the answer of a call, and give up while there is time left to pass on the answer.

    Raises:
        DeadlinePassed: it took too long.
    """
    clock.restart()  # the server has answered
    seconds = min(clock.left(), clock.limit) / 2
    with clock.stopped():  # of two that end at the same moment, this one is to be first
        return await run_within(CallClock(seconds), make, current=attempt_clock, grace=0)


def _initialize_bare(session: Any) -> Any:
    """Return the class's own way to begin a session, past the hook of `install`."""
    hooked = session.__class__.initialize
    return getattr(hooked, "__wrapped__", hooked)


def _connecting(original: Any, connector: Callable[[], SessionHook | None]) -> Any:
    """Return `initialize`, made again where the server may be there a moment later."""

    @functools.wraps(original)
    async def initialize(self: Any, *args: Any, **kwargs: Any) -> Any:
        hook, make = connector(), functools.partial(original, self, *args, **kwargs)
        return await (make() if hook is None else hook.connect(self, "initialize", make))

    return initialize


def _itself(session: Any, *_: Any) -> Any:
    return session


def _keeping_server_name(original: Any) -> Any:
    """Return `initialize` of version 1, which drops what the server is called."""

    @functools.wraps(original)
    async def initialize(self: Any) -> Any:
        result = await original(self)
        _session_info(self).server = result.serverInfo.name
        return result

    return initialize


def _server_name(session: Any) -> str | None:
    info = getattr(session, "server_info", None)
    return None if info is None else str(info.name)


async def _page(connection: SessionConnection, cursor: str | None) -> ToolPage:
    """Fetch a page of `tools/list` past the session's own cache, which decides how it checks results."""
    params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
    version = layout()
    connected: Any = connection.session()
    connected = getattr(connected, "session", connected)
    with anyio.fail_after(_LONGEST_LISTING):
        request = version.request(types.ListToolsRequest(params=params))
        listed = await connected.send_request(request, types.ListToolsResult)
    return ToolPage(listed.tools, getattr(listed, version.next_cursor))
