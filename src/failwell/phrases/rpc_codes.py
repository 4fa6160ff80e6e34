"""Codes of remote procedure calls: the numbers of JSON-RPC and MCP, and the statuses of gRPC."""

from typing import NamedTuple

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


RPC_CODES: tuple[RpcCode, ...] = (
    RpcCode(PARSE_ERROR, "PARSE_ERROR", "BAD_UPSTREAM_RESPONSE", is_protocol_error=True),
    RpcCode(INVALID_REQUEST, "INVALID_ARGUMENT", "INVALID_ARGUMENT", is_unspecific=True, is_protocol_error=True),
    RpcCode(METHOD_NOT_FOUND, "METHOD_NOT_FOUND", "METHOD_NOT_FOUND", is_protocol_error=True),
    RpcCode(INVALID_PARAMS, "INVALID_ARGUMENT", "INVALID_ARGUMENT", is_unspecific=True),
    RpcCode(INTERNAL_ERROR, "INTERNAL_ERROR", BROKEN, is_unspecific=True),
    RpcCode(CONNECTION_CLOSED, "CONNECTION_LOST", "CONNECTION_LOST", is_unspecific=True),
    RpcCode(REQUEST_TIMEOUT, "TIMEOUT", "UPSTREAM_TIMEOUT", is_unspecific=True),
    RpcCode(RESOURCE_NOT_FOUND, "NOT_FOUND", "NOT_FOUND"),
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
"""Every number of JSON-RPC and MCP that we know."""

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
