"""Idempotency keys on the servers of the SDKs: around whatever handles `tools/call`, so that nothing runs before."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NamedTuple

from failwell._json import is_object
from failwell._log import log
from failwell._sdks import needs
from failwell.failure import Failure
from failwell.phrases.rpc_codes import ELICITATION_REQUIRED
from failwell.retry._call_key import DECLARED, KEY
from failwell.sdk.errors import rpc_code
from failwell.server._idempotency import (
    Claim,
    Idempotency,
    Lookup,
    Refusal,
    Replay,
    as_replayed,
    begin,
    end,
    enter,
    idempotency_of,
    leave,
    marks,
    resolved,
    unresolved,
)
from failwell.server._protection import CallInfo, Protection, meta_value

try:
    from anyio import CancelScope, to_thread
    from mcp.server.auth.middleware.auth_context import get_access_token
    from mcp.types import CallToolResult
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_LOCAL = ""  # a server on standard input and output has one caller: whoever started it


class ToolFunctions(NamedTuple):
    """The functions of a server's tools: all that are at hand, and one by its tool's name.

    `search` returns a tool of the SDK by its name, also one that is not at hand. `names` returns the names of all
    tools, or None if there may be more of them.
    """

    all: Callable[[], Iterable[Any]]
    get: Callable[[str], Any]
    search: Callable[[str], Awaitable[Any]] | None = None
    names: Callable[[], Iterable[str] | None] = lambda: None


def _no_function(_: str) -> None:
    return None


NO_FUNCTIONS = ToolFunctions(tuple, _no_function)
"""Those of a low-level server, which has one function for all its tools."""


class KeyedCall(NamedTuple):
    """A call on its way: the tool, what the caller sent, the SDK's context, and the HTTP request if there is one.

    `described` returns what a low-level server lists of the tool.
    """

    tool: str
    arguments: Any
    meta: Any
    context: Any
    request: Any
    described: Callable[[], Awaitable[CallInfo]]
    functions: ToolFunctions = NO_FUNCTIONS

    def function(self) -> Any:
        """Return the tool's function if it is at hand."""
        return self.functions.get(self.tool)

    async def any_function(self) -> Any:
        """Return the tool's function, wherever it is; None: there is none, or it is one for all tools."""
        found = self.function()
        return getattr(await self._found(), "fn", None) if found is None else found

    async def info(self) -> CallInfo:
        """Return what is known of the tool."""
        tool = await self._found()
        if tool is None:
            return await self.described()
        has_output_schema = getattr(tool, "output_schema", None) is not None
        function = getattr(tool, "fn", None)
        return CallInfo(self.tool, tool.annotations, has_output_schema, lambda: self.meta, function=function)

    async def _found(self) -> Any:
        search = self.functions.search
        return None if search is None else await search(self.tool)


def may_be_keyed(protection: Protection, tool: str, meta: Any, functions: ToolFunctions) -> bool:
    """Return whether a call has an idempotency key, or its tool takes them."""
    if tool in protection.idempotent or (meta is not None and meta_value(meta, KEY) is not None):
        return True
    return marks.are_any and idempotency_of(functions.get(tool)) is not None


async def call_once(protection: Protection, call: KeyedCall, run: Callable[[], Awaitable[Any]]) -> Any:
    """Run a call, at most once for its key if its tool takes keys; return its result, an earlier one, or a refusal."""
    key = meta_value(call.meta, KEY)
    named, marked = protection.idempotent.get(call.tool), idempotency_of(call.function())
    if named is None and marked is None and key is not None:
        marked = idempotency_of(await call.any_function())
    settings = named or marked
    if settings is None or (key is None and not settings.required):
        return await run()
    started = protection.start()
    began = await to_thread.run_sync(
        partial(
            begin,
            settings,
            key=key,
            principal=await _principal(settings, call),
            server=protection.server,
            tool=call.tool,
            arguments=call.arguments,
        )
    )
    claim = await _look_up(began.claim, call.tool, is_marked=settings is marked) if isinstance(began, Lookup) else began
    if isinstance(claim, Replay):
        protection.finish(call.tool, started, arguments=call.arguments, context=call.context)
        return _result(claim.wire)
    if isinstance(claim, Refusal):
        return await failed(protection, claim.failure, call, started)
    return await run() if claim is None else await _run(claim, run)


async def _run(claim: Claim, run: Callable[[], Awaitable[Any]]) -> Any:
    wire, is_open = None, False
    token = enter(claim)
    try:
        result = await run()
        wire = _wire(result)
        is_open = wire.get("resultType") == "input_required"
        if claim.resolution is not None:
            wire = as_replayed(wire)
            return _result(wire)
        return result
    except Exception as exc:
        is_open = rpc_code(exc) == ELICITATION_REQUIRED
        raise
    finally:
        leave(token)
        with CancelScope(shield=True):  # what is not noted counts as unknown
            await to_thread.run_sync(partial(end, claim, wire, is_open=is_open))


async def _look_up(claim: Claim, tool: str, *, is_marked: bool) -> Claim | Replay | Refusal:
    resolve: Any = claim.settings.resolve
    try:
        look_up = partial(resolve, claim.key, claim.arguments)
        found: Any = look_up() if iscoroutinefunction(resolve) else await to_thread.run_sync(look_up)
        found = await found if isawaitable(found) else found
    except Exception:
        log.exception("resolve of tool %s failed", tool)
        return await to_thread.run_sync(unresolved, claim, tool)
    return await to_thread.run_sync(partial(resolved, claim, found, tool, is_marked=is_marked))


async def failed(protection: Protection, failure: Failure, call: KeyedCall, started: float) -> Any:
    """Return the result for a failure that was found around a call, and tell the observers."""
    wire, failure = protection.result(failure, await call.info())
    protection.finish(call.tool, started, failure, arguments=call.arguments, wire=wire, context=call.context)
    return _result(wire)


def _wire(result: Any) -> dict[str, Any]:
    if is_object(result):
        return result
    found: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _result(wire: dict[str, Any]) -> Any:
    """Return a result as a handler returns it; what is no result of a tool, such as the handle of a task, as it is."""
    return CallToolResult.model_validate(wire) if "content" in wire else wire


async def _principal(settings: Idempotency, call: KeyedCall) -> str | None:
    """Return who calls; None where nobody can tell, so that one caller could be given what another one did."""
    if settings.principal is not None:
        try:
            found: Any = settings.principal(call.context)
            found = await found if isawaitable(found) else found
        except Exception:
            log.exception("principal of tool %s failed", call.tool)
            return None
        return None if found is None else str(found)
    if call.request is None:
        return _LOCAL
    token: Any = getattr(getattr(call.request, "scope", {}).get("user"), "access_token", None) or get_access_token()
    if token is None:
        return None
    claims: dict[str, Any] = getattr(token, "claims", None) or {}
    subject = getattr(token, "subject", None) or claims.get("sub")
    return "\n".join(map(str, (token.client_id, claims.get("iss", ""), subject or "")))


def declare_keys(server: Any, protection: Protection, functions: ToolFunctions, *fields: str) -> None:
    """Make a low-level server say in these fields of its capabilities that tools of it take keys, once one does.

    A server is asked for them when it starts: then its tools are there, and names in the settings can be checked.
    """
    get_capabilities = server.get_capabilities

    def capabilities(*args: Any, **kwargs: Any) -> Any:
        if (names := functions.names()) is not None:
            protection.check_names(names)
        found = get_capabilities(*args, **kwargs)
        if not protection.idempotent and not any(map(idempotency_of, functions.all())):
            return found
        return found.model_copy(update={name: {**(getattr(found, name, None) or {}), DECLARED: {}} for name in fields})

    server.get_capabilities = capabilities
