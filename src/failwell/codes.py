"""The codes: one row per meaning, with its defaults and its name in each dialect; users add rows.

`Failure` takes its defaults from the rows, `decide` its advice; the docs page is generated from them.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType, ValidationError, convert

from failwell._spelling import did_you_mean, normalised

__all__ = ["TYPES", "Row", "TypeRow", "add", "explain", "get", "is_code", "rows"]

Type = Literal["NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"]
Outcome = Literal["not_executed", "rejected", "unknown", "executed"]
Action = Literal["retry", "fix_input", "use", "wait", "escalate", "verify", "stop"]


class Advice(Struct, frozen=True):
    """A next step: the action, and the sentence that words it."""

    action: Action
    sentence: str


class TypeRow(Struct, frozen=True):
    """What a failure's type alone says: the defaults of codes without a row."""

    meaning: str
    recoverable: bool
    retryable: bool
    outcome: Outcome
    kind: str  # meta's errorType
    flat: str  # flat's literal
    code: str  # the row that stands for the type in a dialect that must name a code
    action: Action  # what to do where neither the failure nor its code says more


class Row(Struct, frozen=True):
    """One code: what it means, what an agent may assume, what it is called elsewhere.

    `step` is what to do about it, and the sentence that says so; it is used where `decide` comes to the same action. A
    flag left out follows from the type; `retryable=None` says that it cannot be known. `flat`, `envelope` and `kind`
    are its names in the dialects flat, envelope and meta where they differ from the code or from the type's.
    """

    code: str
    type: Type
    http_status: int
    title: str
    step: Advice | None = None
    recoverable: bool | UnsetType = UNSET
    retryable: bool | UnsetType | None = UNSET
    outcome: Outcome | UnsetType = UNSET
    flat: str | None = None
    envelope: str | None = None
    kind: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def suggestion(self) -> str | None:
        """The next step in words."""
        return self.step.sentence if self.step else None

    @property
    def action(self) -> Action | None:
        """The action that the suggestion describes."""
        return self.step.action if self.step else None


TYPES: dict[Type, TypeRow] = {
    "NOT_FOUND": TypeRow(
        "It does not exist. Look up what does, or continue without it.",
        False, False, "rejected", "NotFoundError", "not_found", "NOT_FOUND", "stop",
    ),
    "CONFLICT": TypeRow(
        "The current state does not allow it. Wait for it to change, or change it first.",
        True, False, "rejected", "ConflictError", "internal_error", "CONFLICT", "wait",
    ),
    "VALIDATION": TypeRow(
        "The input is wrong. Fix it and call again.",
        True, False, "rejected", "ValidationError", "parse_error", "VALIDATION_FAILED", "fix_input",
    ),
    "PERMISSION": TypeRow(
        "The caller may not do this. Ask a person.",
        False, False, "rejected", "PermissionError", "permission_denied", "FORBIDDEN", "escalate",
    ),
    "TRANSIENT": TypeRow(
        "It may succeed later. Make the same call again if it had no effect or is safe to run twice.",
        True, True, "unknown", "NetworkError", "mcp_unavailable", "SERVICE_UNAVAILABLE", "stop",
    ),
    "INTERNAL": TypeRow(
        "The tool, or something behind it, is broken. Give up and say so.",
        False, False, "unknown", "InternalError", "internal_error", "INTERNAL_ERROR", "stop",
    ),
}  # fmt: skip

_TIMEOUT = "TimeoutError"
_FIX = Advice("fix_input", "Correct the fields named in the error, then call again.")
_FIX_VALUE = Advice("fix_input", "Correct the value, then call again.")
_CHOOSE = Advice("fix_input", "Choose one of the names listed in the error, then call again.")
_WAIT = Advice("retry", "Wait, then make the same call again.")
_CHECK_FIRST = Advice(
    "verify", "The call may have taken effect. If this tool changes anything, check before calling it again."
)
_TELL = Advice("stop", "Do not repeat this call. Tell the user what failed, with the error id if there is one.")
_READ_AGAIN = Advice("wait", "Read the current state before deciding whether to call again.")
_SIGN_IN = Advice("escalate", "Ask the user to sign in or provide valid credentials.")
_ASK = Advice("escalate", "Ask the user for access, or do something else.")

ROWS: tuple[Row, ...] = (
    # input
    Row("VALIDATION_FAILED", "VALIDATION", 400, "Invalid request parameters", _FIX, outcome="not_executed",
        aliases=("VALIDATION",)),
    Row("MISSING_REQUIRED_FIELD", "VALIDATION", 400, "A required field is missing",
        Advice("fix_input", "Add the missing field, then call again."), outcome="not_executed"),
    Row("INVALID_FIELD_TYPE", "VALIDATION", 400, "A field has the wrong type", _FIX, outcome="not_executed"),
    Row("INVALID_FIELD_VALUE", "VALIDATION", 400, "A field has an invalid value", _FIX, outcome="not_executed"),
    Row("MISSING_DISCRIMINATOR", "VALIDATION", 400, "The field that selects the action is missing", _CHOOSE,
        outcome="not_executed"),
    Row("UNKNOWN_ACTION", "VALIDATION", 400, "There is no such action", _CHOOSE, outcome="not_executed"),
    Row("UNKNOWN_TOOL", "NOT_FOUND", 404, "There is no such tool",
        Advice("fix_input", "List the tools and call one that exists."), outcome="not_executed", recoverable=True),
    Row("VALIDATION_ERROR", "VALIDATION", 422, "A rule forbids this input", _FIX_VALUE),
    Row("INVALID_ARGUMENT", "VALIDATION", 400, "An argument was rejected", _FIX_VALUE),
    Row("PARSE_ERROR", "VALIDATION", 400, "The input could not be parsed", _FIX_VALUE, flat="parse_error"),
    Row("ENCODING_ERROR", "VALIDATION", 400, "The text is not in the expected encoding", _FIX_VALUE),
    Row("INVALID_URL", "VALIDATION", 400, "The address is not a valid URL", _FIX_VALUE),
    Row("OUT_OF_RANGE", "VALIDATION", 416, "The value is outside the valid range", _FIX_VALUE),
    Row("PAYLOAD_TOO_LARGE", "VALIDATION", 413, "The input is too large", Advice("fix_input", "Send less at once.")),
    Row("UNSUPPORTED_MEDIA_TYPE", "VALIDATION", 415, "The format is not supported", _FIX_VALUE),
    Row("METHOD_NOT_ALLOWED", "VALIDATION", 405, "The operation is not allowed here", _TELL, recoverable=False),
    Row("PRECONDITION_REQUIRED", "VALIDATION", 428, "The request must state a precondition",
        Advice("fix_input", "Read the current state, then call again with the precondition.")),
    Row("QUERY_ERROR", "VALIDATION", 400, "The query was rejected",
        Advice("fix_input", "Correct the query, then call again.")),
    Row("CONSTRAINT_VIOLATION", "VALIDATION", 422, "A constraint forbids this value", _FIX_VALUE),
    Row("FOREIGN_KEY_VIOLATION", "VALIDATION", 422, "It references, or is referenced by, another record",
        Advice("fix_input", "Refer to a record that exists, or change the records that depend on this one first.")),
    Row("WRONG_PATH_KIND", "VALIDATION", 400, "The path is of the wrong kind",
        Advice("fix_input", "Pass a file where a file is expected, and a directory where a directory is expected.")),
    Row("PAYMENT_DECLINED", "VALIDATION", 402, "The payment was declined",
        Advice("escalate", "Ask the user for another way to pay."),
        recoverable=False),
    # what is missing
    Row("NOT_FOUND", "NOT_FOUND", 404, "It does not exist",
        Advice("stop", "Do not repeat this call. Look up what exists, or continue without it."),
        flat="not_found", envelope="RESOURCE_NOT_FOUND", aliases=("RESOURCE_NOT_FOUND",)),
    Row("FILE_NOT_FOUND", "NOT_FOUND", 404, "The file or directory does not exist",
        Advice("stop", "Do not repeat this call. List the directory to see what exists.")),
    Row("TABLE_NOT_FOUND", "NOT_FOUND", 404, "The table does not exist",
        Advice("stop", "Do not repeat this call. List the tables to see what exists.")),
    Row("COLUMN_NOT_FOUND", "NOT_FOUND", 404, "The column does not exist",
        Advice("stop", "Do not repeat this call. Describe the table to see its columns.")),
    Row("HOST_NOT_FOUND", "NOT_FOUND", 502, "The host name does not exist",
        Advice("stop", "Do not repeat this call. Check the host name."),
        outcome="not_executed"),
    Row("METHOD_NOT_FOUND", "NOT_FOUND", 404, "The server does not offer this method", _TELL, outcome="not_executed"),
    Row("GONE", "NOT_FOUND", 410, "It existed but was removed", Advice("stop", "Continue without it.")),
    Row("DEPRECATED", "NOT_FOUND", 410, "This is deprecated", Advice("stop", "Use its replacement.")),
    # what stands against it
    Row("CONFLICT", "CONFLICT", 409, "It conflicts with the current state", _READ_AGAIN),
    Row("ALREADY_EXISTS", "CONFLICT", 409, "It already exists",
        Advice("fix_input", "Use the existing one, or choose another name."),
        envelope="RESOURCE_ALREADY_EXISTS", aliases=("RESOURCE_ALREADY_EXISTS",)),
    Row("PRECONDITION_FAILED", "CONFLICT", 412, "A precondition does not hold", _READ_AGAIN),
    Row("CONCURRENT_MODIFICATION", "CONFLICT", 409, "It was changed by someone else in the meantime", _READ_AGAIN),
    Row("SERIALIZATION_FAILURE", "CONFLICT", 409, "Concurrent transactions conflicted", _WAIT, retryable=True),
    Row("DEADLOCK", "CONFLICT", 409, "Transactions waited for each other", _WAIT, retryable=True),
    Row("LOCKED", "CONFLICT", 423, "It is locked", Advice("wait", "Wait until the lock is released, then call again.")),
    Row("RESOURCE_BUSY", "CONFLICT", 409, "It is in use",
        Advice("wait", "Wait until it is released, then call again.")),
    Row("NOT_EMPTY", "CONFLICT", 409, "It is not empty", Advice("wait", "Empty it first, then call again.")),
    Row("AMBIGUOUS", "CONFLICT", 409, "More than one matches",
        Advice("fix_input", "Say more precisely which one you mean, then call again.")),
    Row("IDEMPOTENCY_MISMATCH", "CONFLICT", 409, "The idempotency key was used with different arguments",
        Advice("stop", "Use a new idempotency key for a new request."), recoverable=False),
    Row("IDEMPOTENCY_IN_PROGRESS", "CONFLICT", 409, "The call with this idempotency key is still running",
        Advice("retry", "Wait, then make the same call again with the same key."), retryable=True,
        outcome="not_executed"),
    Row("RESULT_NOT_KEPT", "CONFLICT", 409, "The call took effect, but its result was not kept",
        Advice("stop", "The call took effect. Do not repeat it."), recoverable=False, outcome="executed"),
    Row("USER_CANCELLED", "CONFLICT", 409, "The user did not answer the question",
        Advice("wait", "Ask the user before calling again. The question was neither answered nor declined.")),
    Row("FAILED_DEPENDENCY", "CONFLICT", 424, "Something it depends on failed", _TELL, recoverable=False),
    # who may not
    Row("UNAUTHORIZED", "PERMISSION", 401, "Authentication is required", _SIGN_IN, flat="auth_required",
        aliases=("AUTH_REQUIRED", "UNAUTHENTICATED")),
    Row("FORBIDDEN", "PERMISSION", 403, "This is not permitted", _ASK, flat="permission_denied",
        aliases=("PERMISSION_DENIED", "PERMISSION")),
    Row("READ_ONLY", "PERMISSION", 403, "It is read-only", _ASK),
    Row("PAYMENT_REQUIRED", "PERMISSION", 402, "Payment is required",
        Advice("escalate", "Ask the user to settle the payment.")),
    Row("QUOTA_EXHAUSTED", "PERMISSION", 403, "The quota is used up",
        Advice("escalate", "Ask the user to raise the quota.")),
    Row("USER_DECLINED", "PERMISSION", 403, "The user declined",
        Advice("stop", "The user said no. Do not ask again. Continue without it.")),
    Row("LEGALLY_BLOCKED", "PERMISSION", 451, "It is blocked for legal reasons",
        Advice("stop", "Continue without it.")),
    # what may pass
    Row("RATE_LIMITED", "TRANSIENT", 429, "Too many requests", _WAIT, outcome="not_executed", flat="rate_limited",
        aliases=("RATE_LIMIT", "RATE_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS")),
    Row("SERVER_BUSY", "TRANSIENT", 503, "The server is busy", _WAIT, outcome="not_executed"),
    Row("OVERLOADED", "TRANSIENT", 529, "The service is overloaded", _WAIT),
    Row("SERVICE_UNAVAILABLE", "TRANSIENT", 503, "The service is unavailable", _WAIT, flat="mcp_unavailable",
        aliases=("MCP_UNAVAILABLE", "UNAVAILABLE", "TRANSIENT")),
    Row("BAD_GATEWAY", "TRANSIENT", 502, "An upstream service failed", _WAIT),
    Row("UPSTREAM_ERROR", "TRANSIENT", 502, "An upstream service reported an error", _WAIT),
    Row("SEND_FAILED", "TRANSIENT", 502, "Sending failed", _CHECK_FIRST, flat="send_failed"),
    Row("TIMEOUT", "TRANSIENT", 504, "It took too long", _CHECK_FIRST, kind=_TIMEOUT, aliases=("TIMED_OUT",)),
    Row("UPSTREAM_TIMEOUT", "TRANSIENT", 504, "An upstream service took too long", _CHECK_FIRST, kind=_TIMEOUT),
    Row("CONNECT_TIMEOUT", "TRANSIENT", 504, "An upstream service did not answer", _WAIT,
        outcome="not_executed", kind=_TIMEOUT),
    Row("POOL_TIMEOUT", "TRANSIENT", 503, "No connection became free in time", _WAIT, outcome="not_executed",
        kind=_TIMEOUT),
    Row("LOCK_TIMEOUT", "TRANSIENT", 503, "A lock was not released in time", _WAIT, outcome="not_executed",
        kind=_TIMEOUT),
    Row("QUERY_TIMEOUT", "TRANSIENT", 504, "The query took too long",
        Advice("retry", "Ask for less at once, or try again later."), kind=_TIMEOUT),
    Row("PROCESS_TIMEOUT", "TRANSIENT", 504, "A program took too long", _CHECK_FIRST, kind=_TIMEOUT),
    Row("CONNECTION_FAILED", "TRANSIENT", 502, "An upstream service could not be reached", _WAIT,
        outcome="not_executed"),
    Row("CONNECTION_REFUSED", "TRANSIENT", 502, "An upstream service refused the connection", _WAIT,
        outcome="not_executed"),
    Row("CONNECTION_LOST", "TRANSIENT", 502, "The connection was lost", _CHECK_FIRST),
    Row("SESSION_LOST", "TRANSIENT", 404, "The server no longer recognizes the session",
        Advice("retry", "Make the same call again once the client has a new session.")),
    Row("DNS_TEMPORARY", "TRANSIENT", 502, "The host name could not be resolved right now", _WAIT,
        outcome="not_executed"),
    Row("TOO_EARLY", "TRANSIENT", 425, "The request came too early", _WAIT, outcome="not_executed"),
    Row("MISDIRECTED", "TRANSIENT", 421, "The request reached the wrong server", _WAIT, outcome="not_executed"),
    Row("RESOURCE_EXHAUSTED", "TRANSIENT", 507, "The server ran out of a resource", _WAIT),
    Row("READ_ONLY_REPLICA", "TRANSIENT", 503, "The database is read-only at the moment", _WAIT, outcome="rejected"),
    Row("CIRCUIT_OPEN", "TRANSIENT", 503, "Calls are suspended after repeated failures",
        Advice("retry", "Calls to this tool are suspended for now. Wait, then make the same call again."),
        outcome="not_executed"),
    # what is broken
    Row("INTERNAL_ERROR", "INTERNAL", 500, "The tool failed unexpectedly", _TELL, flat="internal_error",
        aliases=("INTERNAL_SERVER_ERROR", "INTERNAL")),
    Row("TOOL_ERROR", "INTERNAL", 500, "Tool execution failed", _TELL, retryable=None),
    Row("OUTCOME_UNKNOWN", "INTERNAL", 500, "It is unknown whether it took effect", _CHECK_FIRST),
    Row("BAD_UPSTREAM_RESPONSE", "INTERNAL", 502, "An upstream service sent an unusable response", _TELL),
    Row("TLS_VERIFY_FAILED", "INTERNAL", 502, "The identity of a service could not be verified", _TELL,
        outcome="not_executed"),
    Row("TOO_MANY_REDIRECTS", "INTERNAL", 502, "The service redirects in a loop", _TELL),
    Row("NOT_IMPLEMENTED", "INTERNAL", 501, "This is not implemented", _TELL, outcome="rejected"),
    Row("CLIENT_UNSUPPORTED", "INTERNAL", 501, "The client cannot do what the tool asked for",
        Advice("stop", "Do not repeat this call from this client. Tell the user what it cannot do."),
        outcome="rejected"),
    Row("CLIENT_FAILED", "INTERNAL", 502, "The client could not answer the tool's request", _TELL,
        retryable=None),
    Row("CONFIG_ERROR", "INTERNAL", 500, "The server is not configured correctly", _TELL, outcome="not_executed"),
    Row("DISK_FULL", "INTERNAL", 507, "There is no space left", _TELL),
    Row("PARTIAL_FAILURE", "INTERNAL", 500, "Some of the items failed",
        Advice("stop", "Do not repeat the whole call. The other items succeeded."),
        outcome="executed"),
    Row("PROCESS_FAILED", "INTERNAL", 500, "A program failed", _TELL),
    Row("WORKER_CRASHED", "INTERNAL", 500, "A worker process crashed", _TELL),
)  # fmt: skip


_by_name: dict[str, Row] = {name: row for row in ROWS for name in (row.code, *row.aliases)}
_rows: dict[str, Row] = {row.code: row for row in ROWS}

_TYPE_OF_KIND: dict[str, Type] = {
    **{row.kind: type_ for type_, row in TYPES.items()},
    **{row.kind: row.type for row in ROWS if row.kind},
    "AuthenticationError": "PERMISSION",
    "AuthorizationError": "PERMISSION",
    "ConnectionError": "TRANSIENT",
}
_MOST_OF_A_CODE = 200
# Words that give a code nobody wrote a row for away, wherever they stand in it.
_TELLING_WORDS: dict[str, Type] = {"INVALID": "VALIDATION", "MISSING": "VALIDATION", "ALREADY": "CONFLICT"}


def rows() -> Iterator[Row]:
    """Yield every row, in the order they were added."""
    yield from _rows.values()


def get(code: str | None) -> Row | None:
    """Return the row of a code or alias, or None."""
    return _by_name.get(code) if code else None


def explain(code: str) -> Row:
    """Return the row of a code or alias, spelled in any case or in a dialect's way.

    Raises:
        LookupError: there is no such row; the message names the nearest one.
    """
    wanted = screaming(code)
    row = get(code) or get(wanted) or next((row for row in rows() if code in (row.flat, row.envelope)), None)
    if row is None:
        raise LookupError(f"unknown code {code!r}{did_you_mean(wanted, _by_name)}")
    return row


def is_code(text: str) -> bool:
    """Return whether a text can be a code: short, printable and without white space."""
    return 0 < len(text) <= _MOST_OF_A_CODE and text.isprintable() and " " not in text


def add(
    code: str,
    *,
    type: Type,
    title: str,
    http_status: int | None = None,
    suggestion: str | None = None,
    action: Action | None = None,
    recoverable: bool | UnsetType = UNSET,
    retryable: bool | UnsetType | None = UNSET,
    outcome: Outcome | UnsetType = UNSET,
    flat: str | None = None,
    envelope: str | None = None,
    kind: str | None = None,
    aliases: tuple[str, ...] = (),
) -> Row:
    """Add a row for a code of your own and return it.

    The columns are those of `Row`; what is left out follows from the type. *suggestion* says in words what to do, and
    *action* which action that is: the sentence is used where `decide` comes to the same action.

    Raises:
        ValueError: a name has a row already, holds white space or is not one of its choices, or the row contradicts
            itself: a call that took effect cannot be retried.
        TypeError: a value is of the wrong type.
    """
    if type not in TYPES:
        raise ValueError(f"unknown type {type!r}: choose one of {', '.join(TYPES)}{did_you_mean(str(type), TYPES)}")
    status = http_status if http_status is not None else _rows[TYPES[type].code].http_status
    other_names = (*aliases, envelope) if envelope and envelope not in (code, *aliases) else aliases
    given = {
        "code": code, "type": type, "http_status": status, "title": title, "step": _step(type, suggestion, action),
        "recoverable": recoverable, "retryable": retryable, "outcome": outcome, "flat": flat, "envelope": envelope,
        "kind": kind, "aliases": other_names,
    }  # fmt: skip
    try:
        row = convert({name: value for name, value in given.items() if value is not UNSET}, Row)
    except ValidationError as wrong:
        raise TypeError(f"a row for {code!r} cannot be: {wrong}") from None
    _check_row(row)
    _rows[row.code] = row
    _by_name.update(dict.fromkeys((row.code, *row.aliases), row))
    derive.cache_clear()
    title_of.cache_clear()
    return row


def _step(type_: Type, suggestion: str | None, action: Action | None) -> dict[str, Any] | None:
    if suggestion is None:
        if action is not None:
            raise ValueError("an action needs a suggestion that describes it")
        return None
    return {"sentence": suggestion, "action": action or TYPES[type_].action}


def _check_row(row: Row) -> None:
    for problem in contradictions(row):
        raise ValueError(f"code {row.code!r} contradicts itself: {problem}")
    literals = {known.flat for known in ROWS if known.flat}
    if row.flat is not None and row.flat not in literals:
        raise ValueError(f"flat knows no literal {row.flat!r}: choose one of {', '.join(sorted(literals))}")
    if not row.title.strip():
        raise ValueError(f"code {row.code!r} needs a title: a sentence without its full stop")
    if not 400 <= row.http_status <= 599:
        raise ValueError(f"http_status of {row.code!r} must be from 400 to 599, not {row.http_status!r}")
    for name in (row.code, *row.aliases):
        if not is_code(name):
            raise ValueError(f"{name!r} is not a code: codes have no white space")
        if name in _by_name:
            raise ValueError(f"code {name!r} has a row already: {_by_name[name].title!r}; rows are never redefined")


def contradictions(row: Row) -> Iterator[str]:
    """Yield what in a row cannot hold together, in words."""
    base = TYPES[row.type]
    retryable = base.retryable if row.retryable is UNSET else row.retryable
    recoverable = base.recoverable if row.recoverable is UNSET else row.recoverable
    outcome = base.outcome if row.outcome is UNSET else row.outcome
    if retryable and outcome == "executed":
        yield "a call that took effect must not be made again (retryable with outcome 'executed')"
    if row.action == "retry" and retryable is False:
        yield "its suggestion advises a retry, but retryable is False"
    if row.action in ("fix_input", "wait") and not recoverable:
        yield f"its suggestion advises {row.action!r}, but recoverable is False"


def kin(code: str | None) -> Row | None:
    """Return the row of a code, or the row whose code it ends in: `TASK_NOT_FOUND` and `TaskNotFound` are NOT_FOUND."""
    if not code:
        return None
    row = _by_name.get(code)
    if row is not None or len(code) > 100:
        return row
    tail = screaming(code)
    while tail:
        if tail in _by_name:
            return _by_name[tail]
        tail = tail.partition("_")[2]
    return None


def type_of(code: str | None) -> Type | None:
    """Return the type a code stands for, from its row, its ending or a telling word in it; None if it tells nothing."""
    if row := kin(code):
        return row.type
    words = screaming(code).split("_") if code else ()
    return next((type_ for word, type_ in _TELLING_WORDS.items() if word in words), None)


def type_of_kind(kind: str) -> Type | None:
    """Return the type an exception's class name stands for; None if it tells nothing."""
    return _TYPE_OF_KIND.get(kind) or type_of(kind.removesuffix("Exception").removesuffix("Error"))


class Derived(NamedTuple):
    """What nobody stated about a failure, from its code's row, then from its type."""

    type: Type
    recoverable: bool
    retryable: bool | None
    outcome: Outcome
    kind: str


@lru_cache(maxsize=1024)
def derive(code: str | None, type_: Type | None) -> Derived:
    """Return what follows from a code and a type, either of which may be absent.

    With neither, or a code that tells nothing, the type is INTERNAL and nobody can say whether a retry helps.
    """
    told = type_ or type_of(code)
    if told is None:
        base = TYPES["INTERNAL"]
        return Derived("INTERNAL", base.recoverable, None, base.outcome, base.kind)
    base = TYPES[told]
    row = kin(code)
    if row is None or row.type != told:
        return Derived(told, base.recoverable, base.retryable, base.outcome, base.kind)
    kind = row.kind or base.kind
    if row.code != code and code not in row.aliases:  # only akin: its flags are not stated for this code
        return Derived(told, base.recoverable, base.retryable, base.outcome, kind)
    return Derived(
        told,
        base.recoverable if row.recoverable is UNSET else row.recoverable,
        base.retryable if row.retryable is UNSET else row.retryable,
        base.outcome if row.outcome is UNSET else row.outcome,
        kind,
    )


def http_status_of(code: str | None, type_: Type) -> int:
    """Return the HTTP status that a code is sent with."""
    row = kin(code)
    return row.http_status if row and row.type == type_ else _rows[TYPES[type_].code].http_status


@lru_cache(maxsize=1024)
def title_of(code: str | None, type_: Type) -> str:
    """Return the constant sentence of a code, without its full stop."""
    return (kin(code) or _rows[TYPES[type_].code]).title


def flat_literal(code: str | None, type_: Type) -> str:
    """Return which of the eight literals of the flat dialect says a code."""
    row = get(code)
    return row.flat if row and row.flat and row.type == type_ else TYPES[type_].flat


def canonical_code(code: str, tool: str | None = None) -> str:
    """Return the one code of a meaning: aliases resolved, and the prefix of a known tool split off.

    A code that is a row is never split: `RESOURCE_NOT_FOUND` says nothing about a tool named "resource".
    """
    row = _by_name.get(code)
    if row is not None:
        return row.code
    if tool:
        prefix = screaming(tool) + "_"
        if code.startswith(prefix) and len(code) > len(prefix):
            return canonical_code(code[len(prefix) :], tool)
    return code


def prefixed(tool: str, code: str) -> str:
    """Return a code prefixed with its tool: `claim_task` and `ALREADY_CLAIMED` give `CLAIM_TASK_ALREADY_CLAIMED`."""
    return f"{screaming(tool)}_{code}"


def screaming(name: str) -> str:
    """Return a name in SCREAMING_SNAKE_CASE, whatever case it came in."""
    return normalised(name).upper()
