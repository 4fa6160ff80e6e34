"""Rules for gRPC and for Google's libraries, which speak its status codes over HTTP as well."""

from typing import Any

from failwell.mapping import retry_after, rpc_details
from failwell.mapping.answers import at, verdict_for_answer
from failwell.mapping.meanings import BROKEN, BUG, Meaning, fields_of, not_executed
from failwell.mapping.rules import Rule, Rules, Verdict, peek

STATUSES: dict[str, Meaning] = {
    "CANCELLED": "OUTCOME_UNKNOWN",
    "UNKNOWN": BROKEN,
    "INVALID_ARGUMENT": "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED": "UPSTREAM_TIMEOUT",
    "NOT_FOUND": "NOT_FOUND",
    "ALREADY_EXISTS": "ALREADY_EXISTS",
    "PERMISSION_DENIED": "FORBIDDEN",
    "UNAUTHENTICATED": "UNAUTHORIZED",
    "RESOURCE_EXHAUSTED": "RATE_LIMITED",
    "FAILED_PRECONDITION": "PRECONDITION_FAILED",
    "ABORTED": "CONCURRENT_MODIFICATION",
    "OUT_OF_RANGE": "OUT_OF_RANGE",
    "UNIMPLEMENTED": "NOT_IMPLEMENTED",
    "INTERNAL": BROKEN,
    "UNAVAILABLE": "SERVICE_UNAVAILABLE",
    "DATA_LOSS": BROKEN,
}
"""The sixteen status codes. UNAVAILABLE may come after the server began, so its outcome stays unknown."""

# Reasons of google.rpc.ErrorInfo that say more than their status.
_REASONS: dict[str, Meaning] = {
    "RATE_LIMIT_EXCEEDED": "RATE_LIMITED",
    "RESOURCE_QUOTA_EXCEEDED": "QUOTA_EXHAUSTED",
    "API_KEY_INVALID": "UNAUTHORIZED",
    "API_KEY_EXPIRED": "UNAUTHORIZED",
    "CREDENTIALS_MISSING": "UNAUTHORIZED",
    "ACCESS_TOKEN_EXPIRED": "UNAUTHORIZED",
    "SERVICE_DISABLED": "FORBIDDEN",
    "CONSUMER_SUSPENDED": "FORBIDDEN",
    "BILLING_DISABLED": "PAYMENT_REQUIRED",
    "MODEL_CAPACITY_EXHAUSTED": "OVERLOADED",
}
_WAITING = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED", "DEADLINE_EXCEEDED")


def call_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code, RetryInfo and the server's pushback."""
    name = peek(_called(exc, "code"), "name")
    if name not in STATUSES:
        return None
    metadata: dict[Any, Any] = dict(_called(exc, "trailing_metadata") or ())
    details = rpc_details.read(metadata.get("grpc-status-details-bin"))
    return _verdict(name, details, metadata.get("grpc-retry-pushback-ms"))


def grpclib_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code."""
    return STATUSES.get(peek(peek(exc, "status"), "name"))


def _called(exc: Any, name: str) -> Any:
    method: Any = peek(exc, name)
    return method() if callable(method) else method


def _verdict(name: str, details: rpc_details.Details, pushback: object = None) -> dict[str, Any]:
    verdict = fields_of(_REASONS.get(details.reason or "", STATUSES[name]))
    if name in _WAITING:
        delay = retry_after.from_milliseconds(pushback)
        verdict["retry_after"] = details.retry_after if delay is None else delay
    if pushback is not None and retry_after.from_milliseconds(pushback) is None:
        verdict["retryable"] = False  # a negative or unreadable pushback: never retry (gRPC A6)
    return verdict


def api_call_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code, else on the HTTP status and the reason in the answer."""
    parts = tuple(peek(exc, "details") or ())
    reason = peek(exc, "reason")
    details = rpc_details.Details(_retry_info(parts), reason if isinstance(reason, str) else None)
    name = peek(peek(exc, "grpc_status_code"), "name")
    response = peek(exc, "response")
    if name in STATUSES and not peek(response, "status_code"):
        return _verdict(name, details)
    errors: list[Any] = [item for item in (*(peek(exc, "errors") or ()), *parts) if isinstance(item, dict)]
    verdict = verdict_for_answer(
        _status(exc), peek(response, "headers"), {"errors": errors}, meaning=_REASONS.get(details.reason or "")
    )
    if verdict is not None and details.retry_after is not None:
        verdict.setdefault("retry_after", details.retry_after)
    return verdict or "UPSTREAM_ERROR"


def _status(exc: Any) -> object:
    code = peek(exc, "code")
    return int(code) if isinstance(code, int) else None


def _retry_info(parts: tuple[Any, ...]) -> float | None:
    for part in parts:
        if str(at(part, "@type")).endswith("google.rpc.RetryInfo"):
            return retry_after.from_duration(at(part, "retryDelay"))
        if type(part).__name__ == "RetryInfo":
            return retry_after.from_duration(peek(part, "retry_delay"))
    return None


def http_error(exc: Any) -> Verdict:
    """Depends on the reason in the answer, else on its HTTP status."""
    answer = peek(exc, "resp")
    return verdict_for_answer(peek(answer, "status"), answer, peek(exc, "content"))


def genai_error(exc: Any) -> Verdict:
    """Depends on the status in the answer's body, else on its HTTP status."""
    return verdict_for_answer(peek(exc, "code"), peek(peek(exc, "response"), "headers"), peek(exc, "details"))


def media_response(exc: Any) -> Verdict:
    """Depends on the HTTP status of the answer it carries."""
    response = peek(exc, "response")
    found = verdict_for_answer(peek(response, "status_code"), peek(response, "headers"))
    return found or "BAD_UPSTREAM_RESPONSE"


def given_up(exc: Any) -> Verdict:
    """Depends on `cause`, the last error before retrying ended."""
    cause = peek(exc, "cause")
    return cause if isinstance(cause, BaseException) else "UPSTREAM_TIMEOUT"


def token_refresh(exc: Any) -> Verdict:
    """Depends on `retryable`: whether the token may be refreshed later, or the credentials are refused."""
    return not_executed("SERVICE_UNAVAILABLE" if peek(exc, "retryable") is True else "UNAUTHORIZED")


_TABLES: dict[str, dict[str, Rule]] = {
    "grpc": {
        "RpcError": call_error,
        "FutureTimeoutError": "TIMEOUT",
        "FutureCancelledError": "OUTCOME_UNKNOWN",
        "AbortError": BUG,
        "BaseError": "INTERNAL_ERROR",
        "InternalError": BROKEN,
        "UsageError": BUG,
    },
    "grpclib": {"GRPCError": grpclib_error},
    "google": {
        # google.api_core
        "GoogleAPICallError": api_call_error,
        "GoogleAPIError": "UPSTREAM_ERROR",
        "RetryError": given_up,
        "Cancelled": "OUTCOME_UNKNOWN",
        "Redirection": "BAD_UPSTREAM_RESPONSE",
        "ResumableTransferError": "CONNECTION_LOST",
        "DuplicateCredentialArgs": BUG,
        "AsyncRestUnsupportedParameterError": BUG,
        # google.auth
        "GoogleAuthError": not_executed("UNAUTHORIZED"),
        "RefreshError": token_refresh,
        "DefaultCredentialsError": not_executed("UNAUTHORIZED"),
        "TransportError": "CONNECTION_FAILED",
        "TimeoutError": "CONNECT_TIMEOUT",
        "ResponseError": {"code": "BAD_UPSTREAM_RESPONSE", "outcome": "not_executed"},
        **dict.fromkeys(("MutualTLSChannelError", "ClientCertError"), "CONFIG_ERROR"),
        # google.genai, google.resumable_media, google.cloud.storage, google.protobuf
        "APIError": genai_error,
        "InvalidResponse": media_response,
        "DataCorruption": "BAD_UPSTREAM_RESPONSE",
        "InvalidPathError": not_executed("INVALID_ARGUMENT"),
        "DecodeError": "BAD_UPSTREAM_RESPONSE",
        "EncodeError": not_executed("INVALID_ARGUMENT"),
        "ParseError": "PARSE_ERROR",
    },
    "googleapiclient": {
        "HttpError": http_error,
        "Error": BUG,
        "InvalidJsonError": "BAD_UPSTREAM_RESPONSE",
        "BatchError": "UPSTREAM_ERROR",
        "UnknownApiNameOrVersion": "CONFIG_ERROR",
        "UnacceptableMimeTypeError": not_executed("UNSUPPORTED_MEDIA_TYPE"),
        "UnknownFileType": not_executed("UNSUPPORTED_MEDIA_TYPE"),
        "MediaUploadSizeError": not_executed("PAYLOAD_TOO_LARGE"),
        "InvalidNotificationError": "BAD_UPSTREAM_RESPONSE",
    },
    "httplib2": {
        "HttpLib2Error": "BAD_UPSTREAM_RESPONSE",
        "ServerNotFoundError": "HOST_NOT_FOUND",
        "RedirectLimit": "TOO_MANY_REDIRECTS",
        "ProxiesUnavailableError": "CONNECTION_FAILED",
    },
}

RULES: Rules = {(package, name): rule for package, rows in _TABLES.items() for name, rule in rows.items()}
