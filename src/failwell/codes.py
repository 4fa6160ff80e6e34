"""The codes: one row per meaning, with its defaults and its name in each dialect.

Plain data. `catalog` looks rows up, `Failure` takes its defaults from them, the docs page is generated from them.
"""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

Type = Literal["NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"]
Outcome = Literal["not_executed", "rejected", "unknown", "executed"]


class TypeRow(Struct, frozen=True):
    """What a failure's type alone says: the defaults of codes nobody wrote a row for."""

    meaning: str
    recoverable: bool
    retryable: bool
    outcome: Outcome
    kind: str  # meta's errorType
    flat: str  # flat's literal
    code: str  # the row that stands for the type in a dialect that must name a code


class Row(Struct, frozen=True):
    """One code: what it means, what an agent may assume, what it is called elsewhere.

    A flag left out follows from the type; `retryable=None` says that nobody can know. `flat`, `envelope` and `kind`
    are its names in the dialects flat, envelope and meta where they differ from the code or from the type's.
    """

    code: str
    type: Type
    http_status: int
    title: str
    suggestion: str | None = None
    recoverable: bool | UnsetType = UNSET
    retryable: bool | UnsetType | None = UNSET
    outcome: Outcome | UnsetType = UNSET
    flat: str | None = None
    envelope: str | None = None
    kind: str | None = None
    aliases: tuple[str, ...] = ()


TYPES: dict[Type, TypeRow] = {
    "NOT_FOUND": TypeRow(
        "It does not exist. Look for what does, or work without it.",
        False, False, "rejected", "NotFoundError", "not_found", "NOT_FOUND",
    ),
    "CONFLICT": TypeRow(
        "The present state stands against it. Wait for it to change, or change it first.",
        True, False, "rejected", "ConflictError", "internal_error", "CONFLICT",
    ),
    "VALIDATION": TypeRow(
        "The input is wrong. Fix it and call again.",
        True, False, "rejected", "ValidationError", "parse_error", "VALIDATION_FAILED",
    ),
    "PERMISSION": TypeRow(
        "The caller may not do this. Ask a person.",
        False, False, "rejected", "PermissionError", "permission_denied", "FORBIDDEN",
    ),
    "TRANSIENT": TypeRow(
        "It may pass. Wait and make the same call again, if it is safe to run twice.",
        True, True, "unknown", "NetworkError", "mcp_unavailable", "SERVICE_UNAVAILABLE",
    ),
    "INTERNAL": TypeRow(
        "The tool, or something behind it, is broken. Give up and say so.",
        False, False, "unknown", "InternalError", "internal_error", "INTERNAL_ERROR",
    ),
}  # fmt: skip

_TIMEOUT = "TimeoutError"
_FIX = "Fix the fields named in the error and call the tool again."
_FIX_VALUE = "Correct the value and call the tool again."
_WAIT = "Wait, then make the same call again."
_CHECK_FIRST = "If it may have changed something, check whether it did before you call again."
_TELL = "Do not repeat the call. Tell the user what failed and quote the error id if there is one."
_CHOOSE = "Choose one of the names listed in the error and call again."
_READ_AGAIN = "Read the current state, then decide whether to call again."
_SIGN_IN = "Ask the user to sign in or to provide valid credentials."
_ASK = "Ask the user for access, or do something else."

ROWS: tuple[Row, ...] = (
    # input
    Row("VALIDATION_FAILED", "VALIDATION", 400, "Invalid request parameters", _FIX, outcome="not_executed",
        aliases=("VALIDATION",)),
    Row("MISSING_REQUIRED_FIELD", "VALIDATION", 400, "A required field is missing",
        "Add the missing field and call the tool again.", outcome="not_executed"),
    Row("INVALID_FIELD_TYPE", "VALIDATION", 400, "A field has the wrong type", _FIX, outcome="not_executed"),
    Row("INVALID_FIELD_VALUE", "VALIDATION", 400, "A field has an invalid value", _FIX, outcome="not_executed"),
    Row("MISSING_DISCRIMINATOR", "VALIDATION", 400, "The field that chooses the action is missing", _CHOOSE,
        outcome="not_executed"),
    Row("UNKNOWN_ACTION", "VALIDATION", 400, "There is no such action", _CHOOSE, outcome="not_executed"),
    Row("UNKNOWN_TOOL", "NOT_FOUND", 404, "There is no such tool", _CHOOSE, outcome="not_executed", recoverable=True),
    Row("VALIDATION_ERROR", "VALIDATION", 422, "A rule forbids this input", _FIX_VALUE),
    Row("INVALID_ARGUMENT", "VALIDATION", 400, "An argument was refused", _FIX_VALUE),
    Row("PARSE_ERROR", "VALIDATION", 400, "The input could not be parsed", _FIX_VALUE, flat="parse_error"),
    Row("ENCODING_ERROR", "VALIDATION", 400, "The text is not in the expected encoding", _FIX_VALUE),
    Row("INVALID_URL", "VALIDATION", 400, "The address is not a valid URL", _FIX_VALUE),
    Row("OUT_OF_RANGE", "VALIDATION", 416, "The value lies outside the valid range", _FIX_VALUE),
    Row("PAYLOAD_TOO_LARGE", "VALIDATION", 413, "The input is too large", "Send less at once."),
    Row("UNSUPPORTED_MEDIA_TYPE", "VALIDATION", 415, "The format is not supported", _FIX_VALUE),
    Row("METHOD_NOT_ALLOWED", "VALIDATION", 405, "The operation is not allowed there", _TELL, recoverable=False),
    Row("PRECONDITION_REQUIRED", "VALIDATION", 428, "The request must state a precondition", _READ_AGAIN),
    Row("QUERY_ERROR", "VALIDATION", 400, "The query was refused", "Correct the query and call again."),
    Row("CONSTRAINT_VIOLATION", "VALIDATION", 422, "A constraint forbids this value", _FIX_VALUE),
    Row("FOREIGN_KEY_VIOLATION", "VALIDATION", 422, "It refers to, or is referred to by, another record",
        "Refer to a record that exists, or change the records that depend on this one first."),
    Row("WRONG_PATH_KIND", "VALIDATION", 400, "The path is of the wrong kind", "Give a file where a file is due, "
        "a directory where a directory is due."),
    Row("PAYMENT_DECLINED", "VALIDATION", 402, "The payment was declined", "Ask the user for another way to pay.",
        recoverable=False),
    # what is missing
    Row("NOT_FOUND", "NOT_FOUND", 404, "It does not exist",
        "Look up which ones exist, then call again with one of them.",
        flat="not_found", envelope="RESOURCE_NOT_FOUND", aliases=("RESOURCE_NOT_FOUND",)),
    Row("FILE_NOT_FOUND", "NOT_FOUND", 404, "The file or directory does not exist",
        "List the directory to see what exists."),
    Row("TABLE_NOT_FOUND", "NOT_FOUND", 404, "The table does not exist", "List the tables to see what exists."),
    Row("COLUMN_NOT_FOUND", "NOT_FOUND", 404, "The column does not exist", "Describe the table to see its columns."),
    Row("HOST_NOT_FOUND", "NOT_FOUND", 502, "The host name does not exist", "Check the host name.",
        outcome="not_executed"),
    Row("METHOD_NOT_FOUND", "NOT_FOUND", 404, "The server does not offer this method", _TELL, outcome="not_executed"),
    Row("GONE", "NOT_FOUND", 410, "It existed and was removed", "Work without it."),
    Row("DEPRECATED", "NOT_FOUND", 410, "This is deprecated", "Use what replaces it."),
    # what stands against it
    Row("CONFLICT", "CONFLICT", 409, "It conflicts with the present state", _READ_AGAIN),
    Row("ALREADY_EXISTS", "CONFLICT", 409, "It exists already", "Use the existing one, or choose another name.",
        envelope="RESOURCE_ALREADY_EXISTS", aliases=("RESOURCE_ALREADY_EXISTS",)),
    Row("PRECONDITION_FAILED", "CONFLICT", 412, "A precondition does not hold", _READ_AGAIN),
    Row("CONCURRENT_MODIFICATION", "CONFLICT", 409, "It was changed by somebody else meanwhile", _READ_AGAIN),
    Row("SERIALIZATION_FAILURE", "CONFLICT", 409, "Transactions got in each other's way", _WAIT, retryable=True),
    Row("DEADLOCK", "CONFLICT", 409, "Transactions waited for each other", _WAIT, retryable=True),
    Row("LOCKED", "CONFLICT", 423, "It is locked", "Wait until the lock is released."),
    Row("RESOURCE_BUSY", "CONFLICT", 409, "It is in use", "Wait until it is released."),
    Row("NOT_EMPTY", "CONFLICT", 409, "It is not empty", "Empty it first."),
    Row("AMBIGUOUS", "CONFLICT", 409, "More than one matches", "Say more precisely which one is meant."),
    Row("IDEMPOTENCY_MISMATCH", "CONFLICT", 409, "The idempotency key was used with other arguments",
        "Use a new idempotency key for a new request.", recoverable=False),
    Row("FAILED_DEPENDENCY", "CONFLICT", 424, "Something it depends on failed", _TELL, recoverable=False),
    # who may not
    Row("UNAUTHORIZED", "PERMISSION", 401, "Authentication is required", _SIGN_IN, flat="auth_required",
        aliases=("AUTH_REQUIRED", "UNAUTHENTICATED")),
    Row("FORBIDDEN", "PERMISSION", 403, "This is not permitted", _ASK, flat="permission_denied",
        aliases=("PERMISSION_DENIED", "PERMISSION")),
    Row("READ_ONLY", "PERMISSION", 403, "It is read-only", _ASK),
    Row("PAYMENT_REQUIRED", "PERMISSION", 402, "Payment is required", "Ask the user to settle the payment."),
    Row("QUOTA_EXHAUSTED", "PERMISSION", 403, "The quota is used up", "Ask the user to raise the quota."),
    Row("LEGALLY_BLOCKED", "PERMISSION", 451, "It is blocked for legal reasons", "Work without it."),
    # what may pass
    Row("RATE_LIMITED", "TRANSIENT", 429, "Too many requests", _WAIT, outcome="not_executed", flat="rate_limited",
        aliases=("RATE_LIMIT", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS")),
    Row("SERVER_BUSY", "TRANSIENT", 503, "The server is busy", _WAIT, outcome="not_executed"),
    Row("OVERLOADED", "TRANSIENT", 529, "The service is overloaded", _WAIT),
    Row("SERVICE_UNAVAILABLE", "TRANSIENT", 503, "The service is unavailable", _WAIT, flat="mcp_unavailable",
        aliases=("MCP_UNAVAILABLE", "UNAVAILABLE", "TRANSIENT")),
    Row("BAD_GATEWAY", "TRANSIENT", 502, "A service behind the server failed", _WAIT),
    Row("UPSTREAM_ERROR", "TRANSIENT", 502, "A service behind the server reported an error", _WAIT),
    Row("SEND_FAILED", "TRANSIENT", 502, "Sending failed", _CHECK_FIRST, flat="send_failed"),
    Row("TIMEOUT", "TRANSIENT", 504, "It took too long", _CHECK_FIRST, kind=_TIMEOUT, aliases=("TIMED_OUT",)),
    Row("UPSTREAM_TIMEOUT", "TRANSIENT", 504, "A service behind the server took too long", _CHECK_FIRST, kind=_TIMEOUT),
    Row("CONNECT_TIMEOUT", "TRANSIENT", 504, "A service behind the server did not answer", _WAIT,
        outcome="not_executed", kind=_TIMEOUT),
    Row("POOL_TIMEOUT", "TRANSIENT", 503, "No connection became free in time", _WAIT, outcome="not_executed",
        kind=_TIMEOUT),
    Row("LOCK_TIMEOUT", "TRANSIENT", 503, "A lock was not released in time", _WAIT, outcome="not_executed",
        kind=_TIMEOUT),
    Row("QUERY_TIMEOUT", "TRANSIENT", 504, "The query took too long", "Ask for less at once, or try again later.",
        outcome="not_executed", kind=_TIMEOUT),
    Row("PROCESS_TIMEOUT", "TRANSIENT", 504, "A program took too long", _CHECK_FIRST, kind=_TIMEOUT),
    Row("CONNECTION_FAILED", "TRANSIENT", 502, "A service behind the server could not be reached", _WAIT,
        outcome="not_executed"),
    Row("CONNECTION_REFUSED", "TRANSIENT", 502, "A service behind the server refused the connection", _WAIT,
        outcome="not_executed"),
    Row("CONNECTION_LOST", "TRANSIENT", 502, "The connection was lost", _CHECK_FIRST),
    Row("DNS_TEMPORARY", "TRANSIENT", 502, "The host name could not be looked up just now", _WAIT,
        outcome="not_executed"),
    Row("TOO_EARLY", "TRANSIENT", 425, "It is too early for this request", _WAIT, outcome="not_executed"),
    Row("MISDIRECTED", "TRANSIENT", 421, "The request reached the wrong server", _WAIT, outcome="not_executed"),
    Row("RESOURCE_EXHAUSTED", "TRANSIENT", 507, "The server ran out of a resource", _WAIT),
    Row("READ_ONLY_REPLICA", "TRANSIENT", 503, "The database is read-only for the moment", _WAIT, outcome="rejected"),
    Row("CIRCUIT_OPEN", "TRANSIENT", 503, "Calls are suspended after repeated failures", _WAIT, outcome="not_executed"),
    # what is broken
    Row("INTERNAL_ERROR", "INTERNAL", 500, "The tool failed unexpectedly", _TELL, flat="internal_error",
        aliases=("INTERNAL_SERVER_ERROR", "INTERNAL")),
    Row("TOOL_ERROR", "INTERNAL", 500, "Tool execution failed", _TELL, retryable=None),
    Row("OUTCOME_UNKNOWN", "INTERNAL", 500, "Nobody knows whether it took effect", _CHECK_FIRST),
    Row("BAD_UPSTREAM_RESPONSE", "INTERNAL", 502, "A service behind the server sent an unusable answer", _TELL),
    Row("TLS_VERIFY_FAILED", "INTERNAL", 502, "The identity of a service could not be verified", _TELL,
        outcome="not_executed"),
    Row("TOO_MANY_REDIRECTS", "INTERNAL", 502, "The service redirects in circles", _TELL),
    Row("NOT_IMPLEMENTED", "INTERNAL", 501, "This is not implemented", _TELL, outcome="rejected"),
    Row("CONFIG_ERROR", "INTERNAL", 500, "The server is not configured correctly", _TELL, outcome="not_executed"),
    Row("DISK_FULL", "INTERNAL", 507, "There is no space left", _TELL),
    Row("PROCESS_FAILED", "INTERNAL", 500, "A program failed", _TELL),
    Row("WORKER_CRASHED", "INTERNAL", 500, "A worker process crashed", _TELL),
)  # fmt: skip
