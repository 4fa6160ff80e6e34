"""Where each version of fastmcp keeps what a protection needs."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from failwell.integrations.versions import supported

try:
    from fastmcp.tools import Tool
    from mcp.types import CallToolResult, TextContent
except ImportError as missing:
    raise ImportError("this needs fastmcp 2.14 or newer: pip install 'failwell[fastmcp]'") from missing


# Middleware that lists all the tools it is given. To pass by it saves copies of every schema.
_HIDE_NOTHING = frozenset((("failwell", "FailwellMiddleware"), ("fastmcp", "DereferenceRefsMiddleware")))


class Layout(NamedTuple):
    """What differs between versions; `store` is what every tool of a server is added to."""

    store: Callable[[Any], Any]
    tools: Callable[[Any], Iterable[Any]]  # those in a store
    listed: Callable[[Any], Any]  # those of a server that a client may see
    name: Callable[[Any], str]  # by which a client calls a tool
    low_level: Callable[[Any], Any]  # the server that checks arguments before any middleware, if there is one
    failed: Callable[[dict[str, Any]], Any]  # a wire-shaped result as the result of a middleware


def layout() -> Layout:
    """Return the layout of the installed version.

    Raises:
        ValueError: it is not one we know.
    """
    version = supported("fastmcp", (2, 14), (5,))
    low_level = _beneath if version < (4,) else _nothing
    failed = _replaced if version < (3, 4) else _flagged
    if version < (3,):
        return Layout(_manager, _managed, _listed_2, _key, low_level, failed)
    return Layout(_provider, _provided, _listed, _name, low_level, failed)


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


def _name(tool: Any) -> str:
    return str(tool.name)


def _beneath(server: Any) -> Any:
    return server._mcp_server


def _nothing(_: Any) -> None:
    return None


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
