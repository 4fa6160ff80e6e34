"""The MCP SDKs that failwell knows: their versions, and the module that handles each of their classes. Imports none."""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

Version = tuple[int, ...]

SUPPORTED: dict[str, tuple[Version, Version]] = {"mcp": ((1, 21, 2), (3,)), "fastmcp": ((2, 14), (5,))}
"""The first version of each that is supported, and the first that is not."""

# By top-level package and name of a class, so that no SDK is imported to know its servers and sessions.
SERVERS = {
    ("fastmcp", "FastMCP"): "fastmcp_server",
    ("mcp", "FastMCP"): "mcp_server",
    ("mcp", "MCPServer"): "mcp_server",
    ("mcp", "Server"): "mcp_server",
}
SESSIONS = {
    ("fastmcp", "Client"): "fastmcp_client",
    ("mcp", "Client"): "mcp_client",
    ("mcp", "ClientSession"): "mcp_client",
}

# Distributions that bring the same package; frameworks depend on the small one.
_ALSO_CALLED = {"fastmcp": "fastmcp-slim"}


def load(name: str) -> Any:
    """Return a module of `failwell.sdk`, which imports an SDK."""
    return import_module(f"failwell.sdk.{name}")


def module_for(thing: object, table: Mapping[tuple[str, str], str]) -> Any:
    """Return the module of `failwell.sdk` that handles an object, or None."""
    for cls in type(thing).__mro__:
        if name := table.get((cls.__module__.partition(".")[0], cls.__name__)):
            return load(name)
    return None


def needs(package: str) -> str:
    """Return what to say where an SDK is missing or too old."""
    return f"this needs {package} {_dotted(SUPPORTED[package][0])} or newer: pip install 'failwell[{package}]'"


def installed_version(package: str) -> str:
    """Return the version of a package that is installed, under whichever name.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    from importlib import metadata  # takes longer to load than most of failwell, and `guard` needs no version

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package not in _ALSO_CALLED:
            raise
        return metadata.version(_ALSO_CALLED[package])


def supported_version(package: str, *, who: str = "protect") -> Version:
    """Return the installed version of an SDK; *who* supports it says so if it is another.

    Raises:
        ValueError: it is not one we know.
        PackageNotFoundError: it is not installed.
    """
    least, below = SUPPORTED[package]
    text = installed_version(package)
    found = tuple(int(number) for number in re.findall(r"\d+", text)[:3])
    if not least <= found < below:
        raise ValueError(f"{who} supports {package} from {_dotted(least)} to below {_dotted(below)}, not {text}")
    return found


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
