"""Hook the client sessions of the mcp SDK, versions 1 and 2; failed calls give results that carry the failure."""

import functools
import itertools
from collections.abc import Awaitable, Callable
from threading import Lock
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary, ref

from failwell._sdks import needs, supported
from failwell.client import Answer, Caller, Descriptions, Page
from failwell.client._install import Patches
from failwell.dialects._placement import META_KEY, encode
from failwell.failure import Failure
from failwell.sdk import mcp_http
from failwell.sdk.errors import Passing, Useless, failure_of_exception, is_flagged

try:
    import anyio
    from mcp import ClientSession, types
    from mcp.types import CallToolResult
    from pydantic import PrivateAttr
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing


__all__ = ["FailedResult", "FallbackResult", "Hook", "attach", "attach_transport", "detach", "wrap"]

FALLBACK_KEY = "dev.failwell/fallback"
REPAIR_KEY = "dev.failwell/repair"

_LONGEST_LISTING = 10.0
_WRAPPED = "_failwell_hook"


class McpClientLayout(NamedTuple):
    """What differs between versions."""

    forgets_server: bool  # a session does not keep what its server is called
    request: Callable[[Any], Any]  # a request as a session sends it
    message: Callable[[Any], Any]  # a JSON-RPC message as a transport passes it on
    next_cursor: str


def layout() -> McpClientLayout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    if supported("mcp", who="failwell") < (2,):
        wrappers = vars(types)
        return McpClientLayout(True, wrappers["ClientRequest"], wrappers["JSONRPCMessage"], "nextCursor")
    return McpClientLayout(False, _unchanged, _unchanged, "next_cursor")


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
        """What the last try ended with, untouched: the server's result or an exception; None if none was made."""
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


def result_of(answer: Answer) -> Any:
    """Return an answer as a result of the SDK. A success is the very object that the SDK returned."""
    failure = answer.failure
    if failure is None:
        return answer.result if answer.repaired is None else _noted(answer)
    if answer.is_fallback:
        return _made(FallbackResult, _fallback_wire(answer, failure), answer, failure)
    if failure.severity == "warning" and isinstance(answer.result, CallToolResult) and not is_flagged(answer.result):
        return answer.result
    wire = encode(failure, attempts=answer.attempts if answer.attempts > 1 else None)
    wire["content"] = [_text(answer.text)]
    wire["isError"] = True
    wire["_meta"] = {**_meta(answer.result), **wire["_meta"]}
    return _made(FailedResult, wire, answer, failure)


def _made(cls: type[FailedResult], wire: dict[str, Any], answer: Answer, failure: Failure) -> FailedResult:
    made: Any = cls.model_validate(wire)
    last = answer.exception if answer.is_fallback or answer.result is None else answer.result
    made._failure = failure
    made._raw = last.raw if isinstance(last, FailedResult | Useless) else last
    return cast(FailedResult, made)


def _noted(answer: Answer) -> Any:
    """Return a success that needed corrected arguments, with a note of what was corrected, but not of the values."""
    result = answer.result
    if answer.repaired is None or not isinstance(result, CallToolResult):
        return result
    changes = [{"path": change.path, "reason": change.reason} for change in answer.repaired.changes]
    return result.model_copy(update={"meta": {**_meta(result), REPAIR_KEY: {"changes": changes}}})


def _fallback_wire(answer: Answer, failure: Failure) -> dict[str, Any]:
    value = answer.result
    content = [_text(answer.shown)]
    if isinstance(value, CallToolResult):
        content = [_text(answer.note), *value.model_dump(mode="json", by_alias=True, exclude_none=True)["content"]]
    meta = {FALLBACK_KEY: encode(failure)["_meta"][META_KEY]}
    return {"content": content, "isError": False, "_meta": meta}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _meta(result: Any) -> dict[str, Any]:
    return dict(getattr(result, "meta", None) or {})


_counter = itertools.count(1)
_lock = Lock()


class Known:
    """What is known of a session: what its server is called, and what its tools are. It does not keep it alive."""

    def __init__(self, session: Any) -> None:
        self.server = _server_name(session) or f"session {next(_counter)}"
        self.descriptions = Descriptions(functools.partial(_page, ref(session)), lock=anyio.Lock())

    async def described(self, session: Any, tool: str) -> Any:
        """Return what the server says of a tool, and listen for news of that from then on."""
        if not isinstance(session._message_handler, _HeardSession):
            session._message_handler = _HeardSession(session._message_handler, self.descriptions)
        return await self.descriptions.of(tool)


class _HeardSession:
    """A session's handler of messages that also hears when the list of tools changed."""

    def __init__(self, handler: Any, descriptions: Descriptions) -> None:
        self.handler = handler
        self._descriptions = descriptions

    async def __call__(self, message: Any) -> None:
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            self._descriptions.forget()
        await self.handler(message)


_known: WeakKeyDictionary[Any, Known] = WeakKeyDictionary()


def _known_of(session: Any) -> Known:
    found = _known.get(session)
    if found is None:
        with _lock:
            found = _known.setdefault(session, Known(session))
    return found


class Hook(NamedTuple):
    """How calls are made from now on: through a caller, to a server of a given name."""

    caller: Caller
    server: str | None = None

    async def call(
        self,
        original: Callable[..., Awaitable[Any]],
        session: Any,
        name: str,
        arguments: dict[str, Any] | None,
        rest: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """Call a tool and return a result of the SDK; *original* makes one call."""
        known = _known_of(session)

        async def make_call(sent: dict[str, Any]) -> Any:
            try:
                return await original(name, sent or arguments, *rest, **options)
            except Exception as exc:
                return failure_of_exception(exc)

        try:
            answer = await self.caller.run(
                make_call,
                server=self.server or known.server,
                tool=name,
                arguments=arguments,
                described=functools.partial(known.described, session, name),
            )
        except Passing as passing:
            raise passing.exception from passing.exception.__cause__
        return result_of(answer)


def attach(patches: Patches, current: Callable[[], Hook | None]) -> None:
    """Hook every session of the process, as long as there is a *current* hook.

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
        if hook is None:  # uninstalled, but somebody still holds this function
            return await bare(name, arguments, *rest, **options)
        return await hook.call(bare, self, name, arguments, rest, options)

    patches.put(ClientSession, "call_tool", call_tool)
    if version.forgets_server:
        patches.put(ClientSession, "initialize", _remembering(ClientSession.initialize))


def attach_transport(patches: Patches) -> None:
    """Hook the HTTP transport of every session.

    Raises:
        ValueError: this version is not supported.
    """
    mcp_http.attach(patches, layout().message)


def detach() -> None:
    """Forget every session that is known, and hear its messages no more."""
    with _lock:
        for session in list(_known):
            if isinstance(session._message_handler, _HeardSession):
                session._message_handler = session._message_handler.handler
        _known.clear()


def wrap(session: Any, hook: Hook) -> bool:
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
        current: Hook = getattr(session, _WRAPPED)
        return await current.call(bare, session, name, arguments, rest, options)

    session.call_tool = call_tool
    return False


def _remembering(original: Any) -> Any:
    """Return `initialize` of version 1, which drops what the server is called."""

    @functools.wraps(original)
    async def initialize(self: Any) -> Any:
        result = await original(self)
        _known_of(self).server = result.serverInfo.name
        return result

    return initialize


def _server_name(session: Any) -> str | None:
    info = getattr(session, "server_info", None)
    return None if info is None else str(info.name)


async def _page(session: "ref[Any]", cursor: str | None) -> Page:
    """Fetch a page of `tools/list` past the session's own cache, which decides how it checks results."""
    params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
    version = layout()
    connected: Any = session()
    with anyio.fail_after(_LONGEST_LISTING):
        request = version.request(types.ListToolsRequest(params=params))
        listed = await connected.send_request(request, types.ListToolsResult)
    return Page(listed.tools, getattr(listed, version.next_cursor))
