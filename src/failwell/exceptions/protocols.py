"""Rules for protocols and what runs them, such as mcp, fastmcp, websockets, anyio and tenacity."""

from typing import Any, cast

from failwell import codes
from failwell.dialects import _compact
from failwell.dialects._placement import META_KEY, read_whole
from failwell.exceptions.engine import after_several_tries
from failwell.exceptions.http import read_body, verdict_for_status
from failwell.exceptions.rules import Family, Rule, Verdict, peek
from failwell.exceptions.stdlib import raised_in
from failwell.phrases.meanings import BROKEN, Meaning, fields_of, outcome_unknown
from failwell.phrases.rpc_codes import RAISED, find_sdk_error, is_missing_resource, is_session_lost
from failwell.phrases.system_codes import WEBSOCKET_CLOSES

_SDKS = frozenset(("mcp", "fastmcp"))


def by_rpc_code(exc: Any) -> Verdict:
    """Depends on the JSON-RPC error code."""
    error = peek(exc, "error") or exc
    code = peek(error, "code")
    if not isinstance(code, int):
        return None
    message, data = peek(error, "message"), peek(error, "data")
    words = message if isinstance(message, str) else ""
    details = {"rpc_code": code}
    if (told := _carried(data)) is not None:
        return {**told, "details": details}
    if is_session_lost(code, words):
        meaning: Meaning = "SESSION_LOST"
    elif (row := find_sdk_error(code, words)) is not None:
        meaning = row.raised
    else:
        meaning = "NOT_FOUND" if is_missing_resource(code, data) else RAISED.get(code, BROKEN)
    return {**fields_of(meaning), "retry_after": read_body(data).retry_after, "details": details}


def _carried(data: Any) -> dict[str, Any] | None:
    """Return what the failure in the data of an error says, such as that of a connection that was refused.

    Its outcome counts only if all of the failure is there and nothing was guessed: a repeat may depend on it.
    """
    if type(data) is not dict:
        return None
    payload = cast("dict[str, Any]", data)
    whole = read_whole(payload.get(META_KEY))
    told = whole or _compact.from_payload(payload)
    if told is None or codes.type_of(told.code) is None:
        return None
    outcome = whole.outcome if whole is not None and whole.origin != "inferred" else "unknown"
    return {"code": told.code, "retryable": told.retryable, "outcome": outcome, "retry_after": told.retry_after}


def by_cause(exc: BaseException) -> Verdict:
    """Depends on what the SDK raised it from, else TOOL_ERROR; what an author raised speaks for itself."""
    return (peek(exc, "__cause__") if raised_in(exc, _SDKS) else None) or "TOOL_ERROR"


def by_close_code(exc: Any) -> Verdict:
    """Depends on the close code that the peer sent."""
    code = peek(peek(exc, "rcvd"), "code")
    return {"code": WEBSOCKET_CLOSES.get(code, "CONNECTION_LOST") if isinstance(code, int) else "CONNECTION_LOST",
            "outcome": "unknown"}  # fmt: skip


def by_handshake(exc: Any) -> Verdict:
    """Depends on the HTTP status that answered the handshake."""
    response = peek(exc, "response") or exc
    status = peek(response, "status_code")
    if not isinstance(status, int) or status < 400:
        return "BAD_UPSTREAM_RESPONSE"
    return verdict_for_status(status, peek(response, "headers"), peek(response, "body"))


def by_last_attempt(exc: Any) -> Verdict:
    """Depends on the exception of the last attempt; what came of those before it is unknown."""
    last = peek(exc, "last_attempt")
    inner = last.exception() if last is not None else None
    if not isinstance(inner, BaseException):
        return "SERVICE_UNAVAILABLE"
    return inner if peek(last, "attempt_number") == 1 else after_several_tries(inner)


_NO_HANDSHAKE: Rule = {"code": "BAD_UPSTREAM_RESPONSE", "outcome": "not_executed"}

_STREAMS: dict[str, Rule] = {  # anyio and trio call them the same
    "BrokenResourceError": "CONNECTION_LOST",
    "ClosedResourceError": "CONNECTION_LOST",
    "EndOfStream": "CONNECTION_LOST",
    "EndOfChannel": "CONNECTION_LOST",
    "IncompleteRead": "CONNECTION_LOST",
    "DelimiterNotFound": "BAD_UPSTREAM_RESPONSE",
    "BusyResourceError": "RESOURCE_BUSY",
    "WouldBlock": "RESOURCE_BUSY",
    "BrokenWorkerProcess": "WORKER_CRASHED",
    "BrokenWorkerInterpreter": "WORKER_CRASHED",
    "BrokenWorkerIntepreter": "WORKER_CRASHED",  # so spelt in anyio
    "ConnectionFailed": "CONNECTION_FAILED",
    "TooSlowError": "TIMEOUT",
    "RunFinishedError": "INTERNAL_ERROR",
    "NoEventLoopError": "INTERNAL_ERROR",
    "TrioInternalError": "INTERNAL_ERROR",
    "NeedHandshakeError": "INTERNAL_ERROR",
    "TypedAttributeLookupError": "INTERNAL_ERROR",
}

RULES: Family = {
    "mcp": {
        "MCPError": by_rpc_code,
        "McpError": by_rpc_code,
        "UrlElicitationRequiredError": {"code": "UNAUTHORIZED", "outcome": "not_executed"},
        "NoBackChannelError": "NOT_IMPLEMENTED",
        "InputRequiredRoundsExceededError": "UPSTREAM_ERROR",
        "InvalidUriTemplate": "INVALID_URL",
        "MCPServerError": by_cause,
        "FastMCPError": by_cause,
        "ResourceNotFoundError": "NOT_FOUND",
        "InvalidSignature": "INTERNAL_ERROR",
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "AuthorizeError": "FORBIDDEN",
        "TokenError": "UNAUTHORIZED",
        "RegistrationError": "UNAUTHORIZED",
        "OAuthFlowError": "UNAUTHORIZED",
    },
    "fastmcp": {
        "FastMCPError": by_cause,
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "NotFoundError": "NOT_FOUND",
        "DisabledError": "NOT_FOUND",
        "AuthorizationError": "FORBIDDEN",
        "ClientError": by_cause,
        "InvalidSignature": "INTERNAL_ERROR",
        "RateLimitError": "RATE_LIMITED",
    },
    "tenacity": {"RetryError": by_last_attempt, "TryAgain": "SERVICE_UNAVAILABLE"},
    "websockets": {
        "ConnectionClosed": by_close_code,
        "InvalidStatus": by_handshake,
        "InvalidStatusCode": by_handshake,
        "InvalidURI": {"code": "INVALID_URL", "outcome": "not_executed"},
        "InvalidProxy": "CONFIG_ERROR",
        "ProxyError": "CONNECTION_FAILED",
        "InvalidMessage": {"code": "CONNECTION_LOST", "outcome": "not_executed"},
        "InvalidHandshake": _NO_HANDSHAKE,
        "ProtocolError": "BAD_UPSTREAM_RESPONSE",
        "PayloadTooBig": "BAD_UPSTREAM_RESPONSE",
        "TooManyFragments": "BAD_UPSTREAM_RESPONSE",
        "InvalidState": "INTERNAL_ERROR",
        "ConcurrencyError": "INTERNAL_ERROR",
        "WebSocketException": "CONNECTION_LOST",
    },
    "anyio trio": _STREAMS,
    "dns": {
        "NXDOMAIN": "HOST_NOT_FOUND",
        "NoAnswer": "NOT_FOUND",
        "EmptyHostAnswers": "NOT_FOUND",
        "Timeout": outcome_unknown("DNS_TEMPORARY"),  # also of an update
        "LifetimeTimeout": "DNS_TEMPORARY",
        "NoNameservers": "DNS_TEMPORARY",
        "NoResolverConfiguration": "CONFIG_ERROR",
        "FormError": "BAD_UPSTREAM_RESPONSE",
        "SyntaxError": "INVALID_ARGUMENT",
        "DeniedByPolicy": "FORBIDDEN",
        "TooBig": "PAYLOAD_TOO_LARGE",
        "NoDOH": "CONFIG_ERROR",
        "NoDOQ": "CONFIG_ERROR",
        "DNSException": "UPSTREAM_ERROR",
    },
    "filelock": {"Timeout": "LOCK_TIMEOUT"},
    "pybreaker aiobreaker purgatory circuitbreaker": {
        "CircuitBreakerError": "CIRCUIT_OPEN",
        "OpenedState": "CIRCUIT_OPEN",
    },
    "joserfc authlib": {"JoseError": "UNAUTHORIZED"},
    "jose": {"JOSEError": "UNAUTHORIZED", "JWKError": "CONFIG_ERROR"},
    "jwt": {
        "PyJWTError": "UNAUTHORIZED",
        "PyJWKClientConnectionError": "CONNECTION_FAILED",
        "PyJWKClientError": "CONFIG_ERROR",
        "InvalidKeyError": "CONFIG_ERROR",
    },
}
