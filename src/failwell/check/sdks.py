"""Which SDK a server is made with, as far as what it sends tells."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from failwell.json_types import is_object

UNKNOWN = "unknown"


class _Sign(NamedTuple):
    sdk: str
    shows: Callable[["_Sent"], bool]


class _Sent(NamedTuple):
    """What a server has sent: its hello, its tools, the texts of its failures, and the command that starts it."""

    hello: dict[str, Any]
    tools: list[dict[str, Any]]
    texts: str
    command: str


def sdk_of(hello: dict[str, Any], tools: list[dict[str, Any]], texts: list[str], command: str) -> str:
    """Return `fastmcp`, `mcp` (the Python SDK), `typescript` or `unknown`."""
    sent = _Sent(hello, tools, "\n".join(texts), command)
    return next((sign.sdk for sign in _SIGNS if sign.shows(sent)), UNKNOWN)


def _has_fastmcp_mark(sent: _Sent) -> bool:
    marks = (tool.get("_meta") for tool in sent.tools)
    return any(is_object(mark) and ("fastmcp" in mark or "_fastmcp" in mark) for mark in marks)


def _has_zod_schemas(sent: _Sent) -> bool:
    schemas = (tool.get("inputSchema") for tool in sent.tools)
    return any(is_object(schema) and "$schema" in schema for schema in schemas)


def _is_of_python_sdk(sent: _Sent) -> bool:
    # The Python SDK announces `experimental`, empty or not; no other one does.
    capabilities = sent.hello.get("capabilities")
    titles = (tool.get("inputSchema", {}).get("title", "") for tool in sent.tools)
    return (is_object(capabilities) and "experimental" in capabilities) or any(
        isinstance(title, str) and title.endswith("Arguments") for title in titles
    )


def _texts_hold(*words: str) -> Callable[[_Sent], bool]:
    def shows(sent: _Sent) -> bool:
        return any(word in sent.texts for word in words)

    return shows


def _command_matches(pattern: str) -> Callable[[_Sent], bool]:
    def shows(sent: _Sent) -> bool:
        return re.search(pattern, sent.command) is not None

    return shows


_SIGNS = (
    _Sign("fastmcp", _has_fastmcp_mark),
    _Sign("fastmcp", _texts_hold("for call[")),
    _Sign("mcp", _texts_hold("Error executing tool", "errors.pydantic.dev")),
    _Sign("typescript", _texts_hold("MCP error -32", "invalid_type")),
    _Sign("typescript", _has_zod_schemas),
    _Sign("mcp", _is_of_python_sdk),
    _Sign("typescript", _command_matches(r"(?:^|[/\s])(?:node|npx|bun|deno|tsx)\b|\.[cm]?[jt]s\b")),
    _Sign("mcp", _command_matches(r"(?:^|[/\s])(?:python[\d.]*|uvx?|pipx)\b|\.py\b")),
)
"""Signs from the surest to the least sure."""
