"""Codes of remote procedure calls: the numbers of JSON-RPC and MCP, and the statuses of gRPC."""

import re
from typing import Any, NamedTuple

from failwell._json import is_object
from failwell._lazy import lazy_pattern
from failwell.phrases.meanings import BROKEN, Meaning, Rows, by_code, not_executed

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
RATE_LIMITED = -32023
ELICITATION_REQUIRED = -32042
REQUEST_CANCELLED = -32800


class RpcCode(NamedTuple):
    """One number.

    `received` is what it means where the server that was called sends it, None if nothing is known; `raised`, where an
    SDK raises it inside a tool, so that it is about a server behind that one. Servers send an unspecific number for
    whatever went wrong: clear words beat it. An error of the protocol is no failure of a tool, so clients must see it
    as it is; to some of these a client has an answer of its own.
    """

    number: int
    received: str | None
    raised: Meaning
    is_unspecific: bool = False
    is_protocol_error: bool = False
    is_for_client: bool = False


SERVER_DEFINED = range(-32099, -31999)
"""The numbers that JSON-RPC leaves to each server."""

RPC_CODES: tuple[RpcCode, ...] = (
    RpcCode(PARSE_ERROR, "PARSE_ERROR", "BAD_UPSTREAM_RESPONSE", is_protocol_error=True),
    RpcCode(INVALID_REQUEST, "INVALID_ARGUMENT", "INVALID_ARGUMENT", is_unspecific=True, is_protocol_error=True),
    RpcCode(METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "METHOD_NOT_FOUND", is_protocol_error=True),
    RpcCode(INVALID_PARAMS, "INVALID_ARGUMENT", "INVALID_ARGUMENT", is_unspecific=True),
    RpcCode(INTERNAL_ERROR, "INTERNAL_ERROR", BROKEN, is_unspecific=True),
    RpcCode(CONNECTION_CLOSED, None, BROKEN),
    RpcCode(REQUEST_TIMEOUT, None, BROKEN),
    RpcCode(RESOURCE_NOT_FOUND, None, BROKEN),
    RpcCode(HEADER_MISMATCH, "INVALID_ARGUMENT", "BAD_UPSTREAM_RESPONSE", is_protocol_error=True, is_for_client=True),
    RpcCode(MISSING_CAPABILITY, "CONFIG_ERROR", "NOT_IMPLEMENTED", is_protocol_error=True, is_for_client=True),
    RpcCode(UNSUPPORTED_VERSION, "CONFIG_ERROR", "NOT_IMPLEMENTED", is_protocol_error=True, is_for_client=True),
    RpcCode(RATE_LIMITED, "RATE_LIMITED", BROKEN),
    RpcCode(
        ELICITATION_REQUIRED,
        "UNAUTHORIZED",
        not_executed("UNAUTHORIZED"),
        is_protocol_error=True,
        is_for_client=True,
    ),
    RpcCode(REQUEST_CANCELLED, None, BROKEN, is_protocol_error=True),
)
"""Every number of JSON-RPC and MCP that we know.

Those from -32000 to -32019 have no meaning by themselves: each server uses them for what it likes, so words and `data`
decide, unless an SDK raised them.
"""


class SdkError(NamedTuple):
    """An error that an SDK itself raises in a client: its number, its words; what it means, and what inside a tool."""

    number: int
    words: re.Pattern[str]
    received: str
    raised: Meaning


# mcp 1 numbers a timeout as HTTP does.
_TIMED_OUT = lazy_pattern(r"Request\b.{0,200}\btimed out.{0,100}|Timed out while waiting for response to .{1,300}"
                        r"|Maximum total timeout exceeded.{0,100}", re.DOTALL | re.IGNORECASE)  # fmt: skip
SDK_ERRORS: tuple[SdkError, ...] = (
    SdkError(
        CONNECTION_CLOSED,
        lazy_pattern(r"(?:Connection closed|SSE stream (?:ended|failed)).{0,200}", re.DOTALL | re.IGNORECASE),
        "CONNECTION_LOST",
        "CONNECTION_LOST",
    ),
    SdkError(REQUEST_TIMEOUT, _TIMED_OUT, "TIMEOUT", "UPSTREAM_TIMEOUT"),
    SdkError(408, _TIMED_OUT, "TIMEOUT", "UPSTREAM_TIMEOUT"),
    SdkError(
        PARSE_ERROR,
        lazy_pattern(r"Failed to parse (?:JSON response|SSE message)\b.{0,600}", re.DOTALL),
        "BAD_UPSTREAM_RESPONSE",
        "BAD_UPSTREAM_RESPONSE",
    ),
)
"""What SDKs raise in a client under numbers that have no meaning by themselves."""

_PREFIX = lazy_pattern(r"(?:MCP error -?\d{1,6}: )?")
# How SDKs word that they do not know the session of a request. A tool says the same of sessions of its own.
_SESSION_LOST = lazy_pattern(
    r"(?:(?:bad request|not found|invalid request|error): ?)?"
    r"(?:session (?:has been |was )?(?:terminated|closed|expired)(?: before the request completed)?"
    r"|(?:no valid|invalid or expired|missing|invalid|unknown|expired) session(?: ?id)?(?: provided)?"
    r"|(?:mcp )?session(?: id)?(?: [\w-]{1,100})? (?:not found|does not exist|is (?:required|invalid|unknown|expired))"
    r"|mcp-session-id header is required|server not initialized)[.!]?",
    re.IGNORECASE,
)
# mcp 1 forgets the minus.
_SESSION_NUMBERS = frozenset((INVALID_REQUEST, -INVALID_REQUEST, CONNECTION_CLOSED, REQUEST_TIMEOUT, INTERNAL_ERROR))


def is_session_lost(number: int, message: str) -> bool:
    """Return whether a JSON-RPC error says, in the words of an SDK, that the session is not known any more."""
    words = _PREFIX.sub("", message[:300].strip(), count=1)
    return number in _SESSION_NUMBERS and _SESSION_LOST.fullmatch(words) is not None


_RELAYED = lazy_pattern(
    r"(?:(?:Streamable HTTP error|Error): )?"
    r"(?:MCP error -?\d{1,6}: |Error POSTing to endpoint(?: \(HTTP 40[04]\))?: ){1,3}(.{1,300})",
    re.DOTALL,
)
_RELAYED_MESSAGE = lazy_pattern(r"\"message\": ?\"([^\"]{1,300})\"")


def relays_lost_session(text: str) -> bool:
    """Return whether a text is what an SDK's client says when the server does not know the session any more."""
    relayed = _RELAYED.fullmatch(text[:600].strip())
    if relayed is None:
        return False
    stated = _RELAYED_MESSAGE.search(relayed[1])
    return _SESSION_LOST.fullmatch((stated or relayed)[1].strip()) is not None


def find_sdk_error(number: int, message: str) -> SdkError | None:
    """Return the row of an error that an SDK raised in a client, or None if a server sent it."""
    words = _PREFIX.sub("", message[:600].strip(), count=1)
    return next((row for row in SDK_ERRORS if row.number == number and row.words.fullmatch(words)), None)


# The second from version 2026-07-28 of the protocol on.
_MISSING_RESOURCE = (RESOURCE_NOT_FOUND, INVALID_PARAMS)


def is_missing_resource(number: object, data: Any) -> bool:
    """Return whether an error answers `resources/read`, the one request whose `data` names a `uri` that is missing."""
    return number in _MISSING_RESOURCE and is_object(data) and isinstance(data.get("uri"), str)


RECEIVED: dict[int, str] = {row.number: row.received for row in RPC_CODES if row.received is not None}
"""The code of the catalog by the number that a server sent."""

RAISED: dict[int, Meaning] = {row.number: row.raised for row in RPC_CODES}
"""The meaning of a number that an SDK raised; of any other it is `BROKEN`."""

UNSPECIFIC = frozenset(row.number for row in RPC_CODES if row.is_unspecific)
"""Numbers that clear words beat."""

PROTOCOL_ERRORS = frozenset(row.number for row in RPC_CODES if row.is_protocol_error)
"""Numbers of errors that are no failures of a tool, and that clients must see as they are."""

CLIENT_ERRORS = frozenset(row.number for row in RPC_CODES if row.is_for_client)
"""Those of them that a client answers by itself: it sends other headers, another version, or asks its user."""

GRPC_ROWS: Rows = (
    ("OUTCOME_UNKNOWN", "CANCELLED"),
    (BROKEN, "UNKNOWN INTERNAL DATA_LOSS"),
    ("INVALID_ARGUMENT", "*INVALID_ARGUMENT"),
    ("UPSTREAM_TIMEOUT", "*DEADLINE_EXCEEDED"),
    ("NOT_FOUND", "*NOT_FOUND"),
    ("ALREADY_EXISTS", "*ALREADY_EXISTS"),
    ("FORBIDDEN", "*PERMISSION_DENIED"),
    ("UNAUTHORIZED", "*UNAUTHENTICATED"),
    ("RATE_LIMITED", "RESOURCE_EXHAUSTED"),
    ("PRECONDITION_FAILED", "*FAILED_PRECONDITION"),
    ("CONCURRENT_MODIFICATION", "*ABORTED"),
    ("OUT_OF_RANGE", "*OUT_OF_RANGE"),
    ("NOT_IMPLEMENTED", "*UNIMPLEMENTED"),
    ("SERVICE_UNAVAILABLE", "*UNAVAILABLE"),  # also after the server began, so the outcome stays unknown
)
GRPC = by_code(GRPC_ROWS)
"""The sixteen status codes of gRPC."""
