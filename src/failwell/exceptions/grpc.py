"""Rules for gRPC and for Google's libraries, which speak its status codes over HTTP as well."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from failwell.exceptions.engine import after_several_tries
from failwell.exceptions.http import at, verdict_for_answer
from failwell.exceptions.rules import Family, Verdict, peek
from failwell.failure import seconds
from failwell.phrases.delays import delay_in_duration, delay_in_milliseconds
from failwell.phrases.meanings import BROKEN, BUG, fields_of, not_executed
from failwell.phrases.rpc_codes import GRPC
from failwell.phrases.vendors.cloud import GOOGLE

_LARGEST_DETAILS = 16 * 1024
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DETAILS = 3  # google.rpc.Status.details, each an Any: 1 its type, 2 its value


class Details(NamedTuple):
    """What the details say that may be repeated."""

    retry_after: float | None = None
    reason: str | None = None


def read_details(status: object) -> Details:
    """Return what a serialized status holds; nothing, if it is not one. Never raises."""
    if not isinstance(status, bytes) or len(status) > _LARGEST_DETAILS:
        return Details()
    try:
        return _read(status)
    except (ValueError, IndexError):
        return Details()


def _read(status: bytes) -> Details:
    found = Details()
    for detail in _messages(status, _DETAILS):
        parts = dict(_fields(detail))
        kind, value = parts.get(1), parts.get(2)
        if not isinstance(kind, bytes) or not isinstance(value, bytes):
            continue
        if kind.endswith(b"/google.rpc.RetryInfo"):
            delay = dict(_fields(next(_messages(value, 1), b"")))
            found = found._replace(retry_after=_duration(delay.get(1, 0), delay.get(2, 0)))
        elif kind.endswith(b"/google.rpc.ErrorInfo"):
            reason = dict(_fields(value)).get(1)
            found = found._replace(reason=reason.decode("ascii", "replace")[:80] if isinstance(reason, bytes) else None)
    return found


def _duration(whole: int | bytes, nanos: int | bytes) -> float | None:
    if not isinstance(whole, int) or not isinstance(nanos, int):
        return None
    return seconds(round(whole + nanos / 1e9, 9)) if nanos else seconds(whole)


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    yield from (value for found, value in _fields(data) if found == number and isinstance(value, bytes))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError("no protobuf message")
        if position + size > len(data):
            raise ValueError("cut off")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number too long")


_WAITING = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED", "DEADLINE_EXCEEDED")


def call_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code, RetryInfo and the server's pushback."""
    name = peek(_called(exc, "code"), "name")
    if name not in GRPC:
        return None
    if name == "RESOURCE_EXHAUSTED" and (too_large := _too_large(_called(exc, "details"))) is not None:
        return too_large
    metadata: dict[Any, Any] = dict(_called(exc, "trailing_metadata") or ())
    details = read_details(metadata.get("grpc-status-details-bin"))
    return _verdict(name, details, metadata.get("grpc-retry-pushback-ms"))


def _too_large(details: object) -> Verdict:
    """Return what gRPC's own words say where a message was larger than this side takes: no limit that a wait lifts."""
    if not isinstance(details, str) or "message larger than max" not in details:
        return None
    is_ours = "Sent message larger than max" in details
    return not_executed("PAYLOAD_TOO_LARGE") if is_ours else "BAD_UPSTREAM_RESPONSE"


def grpclib_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code."""
    return GRPC.get(peek(peek(exc, "status"), "name"))


def _called(exc: Any, name: str) -> Any:
    method: Any = peek(exc, name)
    return method() if callable(method) else method


def _verdict(name: str, details: Details, pushback: object = None) -> dict[str, Any]:
    verdict = fields_of(GOOGLE.get(details.reason or "", GRPC[name]))
    if name in _WAITING:
        delay = delay_in_milliseconds(pushback)
        verdict["retry_after"] = details.retry_after if delay is None else delay
    if pushback is not None and delay_in_milliseconds(pushback) is None:
        verdict["retryable"] = False  # a negative or unreadable pushback: never retry (gRPC A6)
    return verdict


def api_call_error(exc: Any) -> Verdict:
    """Depends on the gRPC status code, else on the HTTP status and the reason in the answer."""
    parts = tuple(peek(exc, "details") or ())
    reason = peek(exc, "reason")
    details = Details(_retry_info(parts), reason if isinstance(reason, str) else None)
    name = peek(peek(exc, "grpc_status_code"), "name")
    response = peek(exc, "response")
    if name in GRPC and not peek(response, "status_code"):
        return _verdict(name, details)
    errors: list[Any] = [item for item in (*(peek(exc, "errors") or ()), *parts) if isinstance(item, dict)]
    verdict = verdict_for_answer(
        _status(exc), peek(response, "headers"), {"errors": errors}, meaning=GOOGLE.get(details.reason or "")
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
            return delay_in_duration(at(part, "retryDelay"))
        if type(part).__name__ == "RetryInfo":
            return delay_in_duration(peek(part, "retry_delay"))
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
    """Depends on `cause`, the last error before retrying ended; what came of earlier tries is unknown."""
    cause = peek(exc, "cause")
    return after_several_tries(cause) if isinstance(cause, BaseException) else "UPSTREAM_TIMEOUT"


def token_refresh(exc: Any) -> Verdict:
    """Depends on `retryable`: whether the token may be refreshed later, or the credentials are refused."""
    return not_executed("SERVICE_UNAVAILABLE" if peek(exc, "retryable") is True else "UNAUTHORIZED")


RULES: Family = {
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
