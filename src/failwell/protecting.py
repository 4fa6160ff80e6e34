"""`protect`: every failure of every tool of a server structured, in one line."""

from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from typing import Any

from failwell.errors import ToolFailure
from failwell.meter import Observer
from failwell.protection import Protection

# By top-level package and name of a class, so that no SDK is imported to know its servers.
_INTEGRATIONS = {
    ("fastmcp", "FastMCP"): "fastmcp",
    ("mcp", "FastMCP"): "mcp",
    ("mcp", "MCPServer"): "mcp",
    ("mcp", "Server"): "mcp",
}


def protect(
    server: Any,
    /,
    *,
    dialect: str = "compact",
    dialects: Mapping[str, str] | None = None,
    client_choice: bool = False,
    structured: bool = False,
    describe: bool = False,
    single_effect: Collection[str] = (),
    raises: Mapping[str, Iterable[type[ToolFailure] | str]] | None = None,
    observers: Iterable[Observer] = (),
    **settings: Any,
) -> Protection:
    """Make a server of fastmcp or the mcp SDK, high level or low level, answer every failure as a `Failure`.

    Declared failures, returned ones, any exception, wrong arguments, unknown tools and results that break their schema
    arrive in the dialect; what succeeds is not touched. Tools may be added before or after. What was done is logged,
    and said in `says` of what this returns.

    Args:
        server: the server.
        dialect: how failures are written.
        dialects: another dialect for some tools, by name.
        client_choice: let a client choose the dialect, by `dev.failwell/dialect` in the `_meta` of its request.
        structured: put failures into `structuredContent` too, for tools without an output schema.
        describe: name the failures a tool declares in its description too.
        single_effect: tools that have one effect at most, the operation that may fail; then the outcome of that
            operation is the outcome of the call.
        raises: what tools fail with, by name, besides what their functions declare.
        observers: called with an `Observation` after each call, such as a `Meter`.
        settings: what the dialect takes.

    Raises:
        TypeError: this is no server, or the dialect does not take a setting.
        ValueError: the server is protected already, its SDK is not supported, or there is no such dialect.
    """
    integration = _integration_for(server)
    protection = Protection(
        dialect=dialect,
        dialects=dialects,
        client_choice=client_choice,
        structured=structured,
        describe=describe,
        single_effect=single_effect,
        raises=raises,
        observers=observers,
        **settings,
    )
    protection.put_on(server, import_module(f"failwell.integrations.{integration}").attach)
    return protection


def _integration_for(server: Any) -> str:
    for cls in type(server).__mro__:
        if found := _INTEGRATIONS.get((cls.__module__.partition(".")[0], cls.__name__)):
            return found
    raise TypeError(f"protect takes a server of fastmcp or the mcp SDK, not {type(server).__name__}")
