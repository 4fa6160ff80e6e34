"""Hook fastmcp's `Client`, versions 2 to 4: the error it raises for a failed call carries the failure."""

import functools
from collections.abc import Callable
from typing import Any

from failwell._sdks import needs, supported_version
from failwell.client._install import Patches, connecting
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.sdk.mcp_client import FailedResult, SessionHook, noting_tools

try:
    from fastmcp import Client
    from fastmcp.exceptions import ToolError
    from mcp.types import TextContent
except ImportError as missing:
    raise ImportError(needs("fastmcp")) from missing

__all__ = ["FailedCall", "attach", "wrap"]

_WRAPPED = "_failwell_hook"
_RESOLVE = "_resolve_claimed_result"  # where version 4 waits for a task, after its session was told that there is one


class FailedCall(ToolFailure, ToolError):
    """A tool call failed. It is a `ToolError` of fastmcp too; its text is the one for the model."""

    kind = "ToolFailure"

    def __init__(self, failure: Failure, text: str | None = None, result: FailedResult | None = None) -> None:
        super().__init__(failure)
        self.text = text or failure.message
        self.result = result
        self.args = (self.text,)

    def __str__(self) -> str:
        return self.text


def attach(patches: Patches, current: Callable[[], SessionHook | None]) -> None:
    """Hook every client of the process; its sessions are hooked as those of the mcp SDK.

    *current* gives the hook that calls go through now.

    Raises:
        ValueError: this version is not supported.
    """
    supported_version("fastmcp", who="failwell")
    hooked: Any = Client
    patches.put(hooked, "_parse_call_tool_result", _raising(hooked._parse_call_tool_result))
    if hasattr(hooked, _RESOLVE):
        patches.put(hooked, _RESOLVE, _finishing(getattr(hooked, _RESOLVE), current))


def wrap(client: Any, hook: SessionHook) -> bool:
    """Hook one client, connected or not, and its copies; return whether it was hooked before.

    Raises:
        ValueError: this version is not supported.
    """
    supported_version("fastmcp", who="failwell")
    was_wrapped = _WRAPPED in vars(client)
    setattr(client, _WRAPPED, hook)
    if not was_wrapped:
        # Not functions on the client itself: a copy, such as `client.new()`, would go on calling the first.
        client.__class__ = _hooked_class(client.__class__)
    return was_wrapped


@functools.cache
def _hooked_class(cls: type[Any]) -> type[Any]:
    async def call_tool_mcp(self: Any, name: str, arguments: dict[str, Any], *rest: Any, **options: Any) -> Any:
        hook: SessionHook = getattr(self, _WRAPPED)
        return await hook.call(functools.partial(bare, self), self.session, name, arguments, rest, options)

    async def _connect(self: Any) -> Any:
        token = connecting.set(getattr(self, _WRAPPED))
        try:
            return await connect(self)
        finally:
            connecting.reset(token)

    bare, connect = cls.call_tool_mcp, cls._connect
    hooked = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "_connect": functools.wraps(connect)(_connect),
        "_parse_call_tool_result": _raising(cls._parse_call_tool_result),
        "call_tool_mcp": functools.wraps(bare)(call_tool_mcp),
        "list_tools_mcp": _listing(cls.list_tools_mcp),
    }
    return type(cls.__name__, (cls,), hooked)


def _listing(original: Any) -> Any:
    @functools.wraps(original)
    async def list_tools_mcp(self: Any, *args: Any, **kwargs: Any) -> Any:
        bare = functools.partial(original, self)
        listing = noting_tools(bare, lambda *_: self.session, lambda: getattr(self, _WRAPPED))
        return await listing(*args, **kwargs)

    return list_tools_mcp


def _finishing(original: Any, current: Callable[[], SessionHook | None]) -> Any:
    @functools.wraps(original)
    async def _resolve_claimed_result(self: Any, name: str, result: Any, *args: Any, **kwargs: Any) -> Any:
        hook = current()
        make = functools.partial(original, self, name, result, *args, **kwargs)
        return await (make() if hook is None else hook.finish(self.session, name, result, make))

    return _resolve_claimed_result


def _raising(original: Any) -> Any:
    @functools.wraps(original)
    async def _parse_call_tool_result(self: Any, name: str, result: Any, raise_on_error: bool = False) -> Any:  # noqa: FBT001, FBT002 - the signature is fastmcp's
        if raise_on_error and isinstance(result, FailedResult) and not result.is_fallback:
            raise FailedCall(result.failure, _text(result), result)
        return await original(self, name, result, raise_on_error=raise_on_error)

    return _parse_call_tool_result


def _text(result: FailedResult) -> str | None:
    return next((block.text for block in result.content if isinstance(block, TextContent)), None)
