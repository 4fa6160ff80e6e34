"""`CallTrace`: the position of a tool call in a trace, and OpenTelemetry's names for its attributes.

The names are those of the semantic conventions for MCP. Their status is Development, so they stand here and nowhere
else. The context of a trace travels in `params._meta.traceparent`, as W3C Trace Context writes it.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import Literal

from msgspec import Struct

from failwell._json import is_mapping
from failwell._lazy import lazy_pattern

METHOD_NAME = "mcp.method.name"
OPERATION_NAME = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
ERROR_TYPE = "error.type"
STATUS_CODE = "rpc.response.status_code"
REQUEST_ID = "jsonrpc.request.id"
PROTOCOL_VERSION = "mcp.protocol.version"
SESSION_ID = "mcp.session.id"
TRANSPORT = "network.transport"
ADDRESS = "server.address"
PORT = "server.port"
DURATIONS = {"client": "mcp.client.operation.duration", "server": "mcp.server.operation.duration"}
SESSIONS = {"client": "mcp.client.session.duration", "server": "mcp.server.session.duration"}
BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: the boundaries that the conventions give for durations."""

CALL = "tools/call"
EXECUTE_TOOL = "execute_tool"
TOOL_ERROR = "tool_error"
OTHER = "_OTHER"
"""How the conventions name a value outside a known set."""

TYPE, CODE, OUTCOME, RETRYABLE = "failwell.type", "failwell.code", "failwell.outcome", "failwell.retryable"
ID = "failwell.id"
"""Of our own: `error.type` can't tell a caller's mistake from an outage, and alerts have to."""

TRACEPARENT = "traceparent"
Attribute = str | bool | int | float
_RPC_CODE = "jsonrpc_code"
_PARENT = lazy_pattern(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_LONGEST_PARENT = 200


class CallTrace(Struct, frozen=True, kw_only=True):
    """The span of a call: its ids in hexadecimal digits, that of its parent, and attributes by the conventions.

    If another library *is_recording* the span, it is not sent again. Ids that are empty are given later, the same ones
    to all records of the call.
    """

    trace_id: str = ""
    span_id: str = ""
    parent_id: str = ""
    is_sampled: bool = True
    is_recording: bool = False
    attributes: dict[str, Attribute] = {}

    @property
    def traceparent(self) -> str:
        """The span as the parent of what the call leads to."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.is_sampled else '00'}"


def parse_traceparent(text: object) -> CallTrace | None:
    """Return the span that a `traceparent` names; None if it makes no sense, as the specification wants."""
    if not isinstance(text, str) or len(text) > _LONGEST_PARENT:
        return None
    found = _PARENT.fullmatch(text)
    if found is None or (text.startswith("00-") and len(text) != 55):
        return None
    trace_id, span_id, flags = found.groups()
    return CallTrace(trace_id=trace_id, span_id=span_id, is_sampled=bool(int(flags, 16) & 1))


def begin_trace(parent: CallTrace | None, attributes: dict[str, Attribute]) -> CallTrace:
    """Return the span of a call that begins now: under its parent, or a root."""
    return CallTrace(
        trace_id=os.urandom(16).hex() if parent is None else parent.trace_id,
        span_id=os.urandom(8).hex(),
        parent_id="" if parent is None else parent.span_id,
        is_sampled=parent is None or parent.is_sampled,
        attributes=attributes,
    )


def error_attributes(details: object, *, is_answer: bool = False) -> dict[str, Attribute]:
    """Return what the conventions say of a failed call: the code of a JSON-RPC error, or that the tool failed.

    Args:
        details: those of the failure; one that was read from a JSON-RPC error has its code there.
        is_answer: a server answers with the failure, which is a result then, whatever another server told it.
    """
    code = details.get(_RPC_CODE) if is_mapping(details) and not is_answer else None
    if not isinstance(code, int):
        return {ERROR_TYPE: TOOL_ERROR}
    return {ERROR_TYPE: str(code), STATUS_CODE: str(code)}


@contextmanager
def call_span(
    observers: Iterable[object], side: Literal["client", "server"], tool: str, trace: CallTrace | None = None
) -> Generator[dict[str, str]]:
    """Begin the span of a call if one of its observers begins any, and give what to send on in `_meta`."""
    carrier: dict[str, str] = {}
    with ExitStack() as stack:
        for observer in observers:
            start = getattr(observer, "start_span", None)
            if start is not None:
                carrier.update(stack.enter_context(start(side, tool, trace)))
        yield carrier
