"""Read error bodies: their codes, the fields they blame and the delay they ask for, never their texts.

Knows RFC 9457 problem details and the shapes of OpenAI, Anthropic, Google, AWS, Azure, GitHub, Stripe, Slack, JSON:API,
Kubernetes, GraphQL, FastAPI and OAuth services.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

import msgspec

from failwell.mapping import retry_after, words

_LARGEST_BODY = 256 * 1024
_DEEPEST = 6
_MOST_ITEMS = 20
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_.\-/ ][A-Za-z0-9]+)*", re.ASCII)
_LONGEST_CODE = 80
_PATH = re.compile(r"[A-Za-z_][\w.\[\]/\-]*", re.ASCII)
_XML_CODE = re.compile(r"<(?:Code|code|errorCode)>\s*([A-Za-z][A-Za-z0-9._]{0,79})\s*</")

_CODE_KEYS = ("code", "error_code", "errorCode", "__type", "Code", "reason", "type", "status", "errorType", "errcode")
_NESTED_KEYS = (
    "innererror",
    "inner_error",
    "error",
    "Error",
    "errors",
    "Errors",
    "details",
    "extensions",
    "detail",
    "fault",
)
_FIELD_KEYS = ("pointer", "parameter", "field", "param", "target", "path", "name", "loc", "fieldPath")

# Names of classes of errors, which say less than the status does.
_EMPTY_CODES = frozenset({"error", "failure", "api_error", "about_blank", "exception", "invalid_request_error", "fault",
                          "status", "object", "unknown", "bad_request", "client_error", "http_error"})  # fmt: skip

KNOWN: dict[str, str] = {
    # rate limits, which services send with many statuses
    "rate_limit_exceeded": "RATE_LIMITED", "rate_limit_error": "RATE_LIMITED", "rate_limited": "RATE_LIMITED",
    "ratelimited": "RATE_LIMITED", "rate_limit": "RATE_LIMITED", "too_many_requests": "RATE_LIMITED",
    "user_rate_limit_exceeded": "RATE_LIMITED", "concurrent_limit_exceeded": "RATE_LIMITED",
    "throttling": "RATE_LIMITED", "throttling_exception": "RATE_LIMITED", "throttled_exception": "RATE_LIMITED",
    "request_throttled": "RATE_LIMITED", "request_throttled_exception": "RATE_LIMITED", "slow_down": "RATE_LIMITED",
    "too_many_requests_exception": "RATE_LIMITED", "provisioned_throughput_exceeded_exception": "RATE_LIMITED",
    "request_limit_exceeded": "RATE_LIMITED", "bandwidth_limit_exceeded": "RATE_LIMITED",
    "limit_exceeded_exception": "RATE_LIMITED", "prior_request_not_complete": "RATE_LIMITED",
    "transaction_in_progress_exception": "RATE_LIMITED", "ec2_throttled_exception": "RATE_LIMITED",
    "lock_timeout": "LOCK_TIMEOUT",
    # limits that no waiting lifts
    "insufficient_quota": "QUOTA_EXHAUSTED", "quota_exceeded": "QUOTA_EXHAUSTED",
    "daily_limit_exceeded": "QUOTA_EXHAUSTED",
    "billing_hard_limit_reached": "QUOTA_EXHAUSTED", "billing_error": "PAYMENT_REQUIRED",
    "enforced_spend_limit_reached": "QUOTA_EXHAUSTED", "insufficient_funds": "PAYMENT_DECLINED",
    "credit_balance_too_low": "QUOTA_EXHAUSTED", "billing_not_active": "PAYMENT_REQUIRED",
    "card_declined": "PAYMENT_DECLINED", "card_error": "PAYMENT_DECLINED", "expired_card": "PAYMENT_DECLINED",
    "incorrect_cvc": "PAYMENT_DECLINED", "idempotency_error": "IDEMPOTENCY_MISMATCH",
    "idempotency_key_in_use": "RESOURCE_BUSY",
    # who is calling
    "unauthenticated": "UNAUTHORIZED", "authentication_error": "UNAUTHORIZED", "invalid_api_key": "UNAUTHORIZED",
    "invalid_token": "UNAUTHORIZED", "expired_token": "UNAUTHORIZED", "expired_token_exception": "UNAUTHORIZED",
    "invalid_client_token_id": "UNAUTHORIZED", "unrecognized_client_exception": "UNAUTHORIZED",
    "signature_does_not_match": "UNAUTHORIZED", "invalid_access_key_id": "UNAUTHORIZED", "auth_failure": "UNAUTHORIZED",
    "invalid_auth": "UNAUTHORIZED", "not_authed": "UNAUTHORIZED", "token_expired": "UNAUTHORIZED",
    "token_revoked": "UNAUTHORIZED", "account_inactive": "UNAUTHORIZED", "invalid_grant": "UNAUTHORIZED",
    "invalid_client": "UNAUTHORIZED", "unauthorized": "UNAUTHORIZED", "invalid_authentication_token": "UNAUTHORIZED",
    "missing_authentication_token": "UNAUTHORIZED", "request_expired": "UNAUTHORIZED",
    "permission_denied": "FORBIDDEN", "permission_error": "FORBIDDEN", "access_denied": "FORBIDDEN",
    "access_denied_exception": "FORBIDDEN", "unauthorized_operation": "FORBIDDEN", "forbidden": "FORBIDDEN",
    "missing_scope": "FORBIDDEN", "not_allowed_token_type": "FORBIDDEN", "no_permission": "FORBIDDEN",
    "insufficient_scope": "FORBIDDEN", "insufficient_permissions": "FORBIDDEN", "authorization_failed": "FORBIDDEN",
    # what is missing, what stands against it
    "not_found": "NOT_FOUND", "not_found_error": "NOT_FOUND", "resource_missing": "NOT_FOUND",
    "no_such_key": "NOT_FOUND",
    "no_such_bucket": "NOT_FOUND", "resource_not_found_exception": "NOT_FOUND", "no_such_entity": "NOT_FOUND",
    "channel_not_found": "NOT_FOUND", "user_not_found": "NOT_FOUND", "message_not_found": "NOT_FOUND",
    "model_not_found": "NOT_FOUND", "resource_not_found": "NOT_FOUND",
    "already_exists": "ALREADY_EXISTS", "resource_already_exists": "ALREADY_EXISTS", "name_taken": "ALREADY_EXISTS",
    "resource_already_exists_exception": "ALREADY_EXISTS", "entity_already_exists": "ALREADY_EXISTS",
    "bucket_already_exists": "ALREADY_EXISTS", "aborted": "CONCURRENT_MODIFICATION",
    "conditional_check_failed_exception": "PRECONDITION_FAILED", "precondition_failed": "PRECONDITION_FAILED",
    "failed_precondition": "PRECONDITION_FAILED", "transaction_conflict_exception": "CONCURRENT_MODIFICATION",
    # what may pass
    "unavailable": "SERVICE_UNAVAILABLE", "service_unavailable": "SERVICE_UNAVAILABLE",
    "overloaded_error": "OVERLOADED",
    "engine_overloaded": "OVERLOADED", "server_overloaded": "OVERLOADED", "deadline_exceeded": "UPSTREAM_TIMEOUT",
    "timeout_error": "UPSTREAM_TIMEOUT", "request_timeout": "UPSTREAM_TIMEOUT", "backend_error": "UPSTREAM_ERROR",
    "internal_server_error": "UPSTREAM_ERROR", "internal_failure": "UPSTREAM_ERROR", "server_error": "UPSTREAM_ERROR",
    # what is wrong with the request
    "context_length_exceeded": "PAYLOAD_TOO_LARGE", "request_too_large": "PAYLOAD_TOO_LARGE",
    "entity_too_large": "PAYLOAD_TOO_LARGE", "string_above_max_length": "PAYLOAD_TOO_LARGE",
    "msg_too_long": "PAYLOAD_TOO_LARGE",
    "out_of_range": "OUT_OF_RANGE", "invalid_argument": "INVALID_ARGUMENT", "unimplemented": "NOT_IMPLEMENTED",
    "validation_exception": "INVALID_ARGUMENT", "validation_error": "INVALID_ARGUMENT",
}  # fmt: skip
"""Codes of services, in snake_case, that say more than their status. They beat it."""


class Facts(NamedTuple):
    """What a body says that may be repeated."""

    codes: tuple[str, ...] = ()  # the most specific first
    fields: list[str] = []  # noqa: RUF012 - made anew by `read`
    retry_after: float | None = None


def read(body: object) -> Facts:
    """Return what an error body says, given as text, bytes or parsed JSON. Never raises."""
    try:
        return _read(body)
    except Exception:
        return Facts()


def known(code: str) -> str | None:
    """Return the catalog code of a service's code, if it is one that we know for certain."""
    return KNOWN.get(words.snake(code.rpartition("#")[2])) if len(code) <= _LONGEST_CODE else None


def guessed(code: str) -> str | None:
    """Return the catalog code that a service's code seems to mean, if its words say more than any status."""
    return None if words.snake(code) in _EMPTY_CODES else words.code_of(code)


def as_dict(value: object) -> dict[str, Any]:
    """Return a dict as it is, and anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list, and anything else as an empty one."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list) else []


def _read(body: object) -> Facts:
    if isinstance(body, bytes | bytearray | str):
        if not 0 < len(body) <= _LARGEST_BODY:
            return Facts()
        text = bytes(body).decode("utf-8", "replace") if not isinstance(body, str) else body
        stripped = text.lstrip()
        if stripped.startswith("<"):
            return Facts(codes=tuple(_XML_CODE.findall(text[:10_000])[:_MOST_ITEMS]))
        body = msgspec.json.decode(text) if stripped.startswith(("{", "[")) else None
    codes: list[str] = []
    fields: list[str] = []
    delays: list[float] = []
    for item in _objects(body, 0):
        codes += _codes(item)
        fields += _fields(item)
        delays += _delays(item)
    return Facts(
        tuple(dict.fromkeys(codes))[:_MOST_ITEMS], list(dict.fromkeys(fields))[:_MOST_ITEMS], max(delays, default=None)
    )


def _objects(value: object, depth: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of an error body, the innermost first: they say it most precisely."""
    if depth == _DEEPEST:
        return
    for item in as_list(value)[:_MOST_ITEMS]:
        yield from _objects(item, depth + 1)
    if isinstance(value, dict):
        found = as_dict(cast(object, value))
        for key in _NESTED_KEYS:
            if inner := found.get(key):
                yield from _objects(inner, depth + 1)
        yield found


def _codes(item: dict[str, Any]) -> Iterator[str]:
    for key in (*_CODE_KEYS, "error"):
        value = item.get(key)
        if not isinstance(value, str) or len(value) > 2 * _LONGEST_CODE:
            continue
        code = value.rpartition("#")[2].rstrip("/").rpartition("/")[2]  # AWS `ns#Name`, problem type URIs
        if len(code) <= _LONGEST_CODE and _CODE.fullmatch(code) and " " not in code and code != "about:blank":
            yield code


def _fields(item: dict[str, Any]) -> Iterator[str]:
    for holder in (item, as_dict(item.get("source"))):
        for key in _FIELD_KEYS:
            path = _path(holder.get(key))
            if path is not None and (key not in ("name", "path", "target") or "code" in item or "message" in item):
                yield path
                break
    violations = item.get("fieldViolations") or item.get("field_violations") or item.get("causes")
    for violation in as_list(violations)[:_MOST_ITEMS]:
        path = _path(as_dict(violation).get("field"))
        if path is not None:
            yield path


def _path(value: object) -> str | None:
    if isinstance(value, list):  # FastAPI: ["body", "items", 0, "sku"]
        parts = [part for part in as_list(cast(object, value))[:_MOST_ITEMS] if isinstance(part, str | int)]
        value = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
    if not isinstance(value, str) or len(value) > _LONGEST_CODE:
        return None
    value = value.removeprefix("#").lstrip("/").replace("/", ".")
    return value if _PATH.fullmatch(value) else None


def _delays(item: dict[str, Any]) -> Iterator[float]:
    said = (
        retry_after.from_number(item.get("retryAfterSeconds", item.get("retry_after", item.get("retryAfter")))),
        retry_after.from_milliseconds(item.get("retry_after_ms", item.get("retryAfterMs"))),
        retry_after.from_duration(item["retryDelay"]) if "retryDelay" in item else None,
    )
    yield from (delay for delay in said if delay is not None)
