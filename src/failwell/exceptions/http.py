"""From an HTTP answer or a service's own error code to a verdict: status, headers and body.

Knows RFC 9457 problem details and the shapes of OpenAI, Anthropic, Google, AWS, Azure, GitHub, Stripe, Slack, JSON:API,
Kubernetes, GraphQL, FastAPI and OAuth services.

A code in the body beats the status: throttling arrives as 400, a used-up quota as 429, a rate limit as 403. Texts of
the body stay home. They are written for another program, may echo what was sent or hold secrets, and would let a
third party speak to the model; codes, field names and delays say what an agent can act on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from failwell import codes
from failwell.exceptions.verdicts import failure_from
from failwell.failure import Failure
from failwell.phrases import names
from failwell.phrases.delays import (
    delay_in_duration,
    delay_in_headers,
    delay_in_milliseconds,
    delay_in_number,
    is_used_up,
)
from failwell.phrases.language import snake
from failwell.phrases.meanings import Meaning, fields_of

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

KNOWN_CODES: dict[str, str] = {
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


class BodyFacts(NamedTuple):
    """What a body says that may be repeated."""

    codes: tuple[str, ...] = ()  # the most specific first
    fields: list[str] = []  # noqa: RUF012 - made anew by `read`
    retry_after: float | None = None


def read_body(body: object) -> BodyFacts:
    """Return what an error body says, given as text, bytes or parsed JSON. Never raises."""
    try:
        return _read(body)
    except Exception:
        return BodyFacts()


def known_code(code: str) -> str | None:
    """Return the catalog code of a service's code, if it is one that we know for certain."""
    return KNOWN_CODES.get(snake(code.rpartition("#")[2])) if len(code) <= _LONGEST_CODE else None


def guessed_code(code: str) -> str | None:
    """Return the catalog code that a service's code seems to mean, if its words say more than any status."""
    return None if snake(code) in _EMPTY_CODES else names.code_of(code)


def as_dict(value: object) -> dict[str, Any]:
    """Return a dict as it is, and anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a list, and anything else as an empty one."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list) else []


def _read(body: object) -> BodyFacts:
    if isinstance(body, bytes | bytearray | str):
        if not 0 < len(body) <= _LARGEST_BODY:
            return BodyFacts()
        text = bytes(body).decode("utf-8", "replace") if not isinstance(body, str) else body
        stripped = text.lstrip()
        if stripped.startswith("<"):
            return BodyFacts(codes=tuple(_XML_CODE.findall(text[:10_000])[:_MOST_ITEMS]))
        body = msgspec.json.decode(text) if stripped.startswith(("{", "[")) else None
    codes: list[str] = []
    fields: list[str] = []
    delays: list[float] = []
    for item in _objects(body, 0):
        codes += _codes_in(item)
        fields += _fields(item)
        delays += _delays(item)
    return BodyFacts(
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


def _codes_in(item: dict[str, Any]) -> Iterator[str]:
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
        delay_in_number(item.get("retryAfterSeconds", item.get("retry_after", item.get("retryAfter")))),
        delay_in_milliseconds(item.get("retry_after_ms", item.get("retryAfterMs"))),
        delay_in_duration(item["retryDelay"]) if "retryDelay" in item else None,
    )
    yield from (delay for delay in said if delay is not None)


_MOST_HEADERS = 200

STATUSES: dict[int, str | dict[str, Any]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHORIZED",
    402: "PAYMENT_REQUIRED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "UNSUPPORTED_MEDIA_TYPE",
    407: "UNAUTHORIZED",
    408: "UPSTREAM_TIMEOUT",
    409: "CONFLICT",
    410: "GONE",
    411: "INVALID_ARGUMENT",
    412: "PRECONDITION_FAILED",
    413: "PAYLOAD_TOO_LARGE",
    414: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    416: "OUT_OF_RANGE",
    420: "RATE_LIMITED",  # Twitter
    421: "MISDIRECTED",
    422: "INVALID_ARGUMENT",
    423: "LOCKED",
    424: "FAILED_DEPENDENCY",
    425: "TOO_EARLY",
    426: {"code": "CONFIG_ERROR", "outcome": "rejected"},
    428: "PRECONDITION_REQUIRED",
    429: "RATE_LIMITED",
    430: "RATE_LIMITED",  # Shopify
    431: "PAYLOAD_TOO_LARGE",
    440: "UNAUTHORIZED",  # IIS: the session expired
    444: "CONNECTION_LOST",  # nginx: closed without an answer
    451: "LEGALLY_BLOCKED",
    494: "PAYLOAD_TOO_LARGE",  # nginx: header too large
    495: {"code": "UNAUTHORIZED", "outcome": "rejected"},  # nginx: client certificate invalid, then missing
    496: {"code": "UNAUTHORIZED", "outcome": "rejected"},
    498: "UNAUTHORIZED",  # Esri: token expired
    499: "CONNECTION_LOST",  # nginx: the client went away; it may have run
    500: "UPSTREAM_ERROR",
    501: "NOT_IMPLEMENTED",
    502: "BAD_GATEWAY",
    503: "SERVICE_UNAVAILABLE",
    504: "UPSTREAM_TIMEOUT",
    505: "NOT_IMPLEMENTED",
    506: {"code": "BAD_UPSTREAM_RESPONSE"},
    507: {"code": "RESOURCE_EXHAUSTED", "outcome": "not_executed"},
    508: {"code": "TOO_MANY_REDIRECTS"},
    509: "QUOTA_EXHAUSTED",  # bandwidth used up
    510: "NOT_IMPLEMENTED",
    511: "UNAUTHORIZED",
    # Cloudflare: which step to the origin failed; 522 also stands for an origin that fell silent after connecting
    521: "CONNECTION_REFUSED",
    522: {"code": "CONNECT_TIMEOUT", "outcome": "unknown"},
    523: "CONNECTION_FAILED",
    524: "UPSTREAM_TIMEOUT",
    525: "CONNECTION_FAILED",
    526: "TLS_VERIFY_FAILED",
    529: {"code": "OVERLOADED", "outcome": "not_executed"},
    530: "SERVICE_UNAVAILABLE",
    561: "UNAUTHORIZED",  # AWS load balancer
    598: "UPSTREAM_TIMEOUT",
    599: "UPSTREAM_TIMEOUT",
}
"""What each status means; others mean what 400 and 500 do."""

_GENERIC = {400, 409, 422, 500}  # statuses that services also use for what has a status of its own
_VERDICT_HEADERS = ("x-should-retry", "stripe-should-retry")
_SAID = {"true": True, "false": False}


def from_http(
    status: int,
    *,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    now: float | None = None,
) -> Failure:
    """Return the failure that an HTTP answer stands for: a status, with headers and a body (text, bytes, JSON) or bare.

    Reads the delay from `Retry-After` and its relatives, RFC 9457 problem details, and the error bodies of common
    services. Their texts stay out of the failure.

    Raises:
        ValueError: the status is not an error (below 400), or no status at all.
    """
    if type(status) is bool or not isinstance(cast(object, status), int):
        raise TypeError(f"status must be a number such as 404, not {status!r}")
    if not 100 <= status <= 999:
        raise ValueError(f"status must be an HTTP status such as 404, not {status}")
    if status < 400:
        raise ValueError(f"HTTP {status} is not an error: only statuses from 400 on are failures")
    return failure_from(verdict_for_status(status, headers, body, now=now))


def verdict_for_status(
    status: int,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    *,
    now: float | None = None,
) -> dict[str, Any]:
    """Return the fields of `Failure` that an HTTP answer gives. Never raises, whatever headers and body hold."""
    said = lowered(headers)
    facts = read_body(body)
    verdict = _by_status(status, said)
    if (coded := _by_code(status, verdict, facts.codes)) is not None:
        verdict = coded
    verdict["http_status"] = int(status) if 100 <= status <= 599 else None
    row = codes.get(verdict["code"])
    waits = row is not None and (row.type in ("TRANSIENT", "CONFLICT") or row.code == "PAYLOAD_TOO_LARGE")
    if waits:
        delay = delay_in_headers(said, limited=verdict["code"] == "RATE_LIMITED", now=now)
        verdict["retry_after"] = facts.retry_after if delay is None else delay
    for name in _VERDICT_HEADERS:
        if (word := said.get(name, "").strip().lower()) in _SAID:
            verdict["retryable"] = _SAID[word]
    if said.get("grpc-retry-pushback-ms", "").strip().startswith("-"):
        verdict["retryable"] = False
    if facts.fields:
        verdict["details"] = {**verdict.get("details", {}), "upstream_fields": facts.fields}
    return {name: value for name, value in verdict.items() if value is not None}


def verdict_for_code(code: str) -> dict[str, Any] | None:
    """Return the fields of `Failure` for an error code of a service (`NoSuchKey`, `rate_limit_exceeded`), or None."""
    known = known_code(code)
    if known is not None:
        return {"code": known, "details": {"upstream_code": code}}
    guessed = guessed_code(code)
    return None if guessed is None else {"code": guessed, "outcome": "unknown", "details": {"upstream_code": code}}


def lowered(headers: object) -> dict[str, str]:
    """Return headers of any mapping, or list of pairs, as a dict with lower-case names, unreadable ones left out."""
    found: dict[str, str] = {}
    given: Any = headers
    try:
        pairs = given.items() if hasattr(given, "items") else given or ()
        for name, value in pairs:
            if len(found) == _MOST_HEADERS:
                break
            found.setdefault(_text(name).lower().replace("_", "-"), _text(value))
    except Exception:
        return found
    return found


def _by_status(status: int, headers: dict[str, str]) -> dict[str, Any]:
    row = STATUSES.get(status) or STATUSES[400 if status < 500 else 500]
    verdict: dict[str, Any] = {"code": row} if isinstance(row, str) else dict(row)
    if status == 403 and (is_used_up(headers) or "retry-after" in headers):
        verdict = {"code": "RATE_LIMITED"}
    return verdict


def _by_code(status: int, verdict: dict[str, Any], stated: tuple[str, ...]) -> dict[str, Any] | None:
    for code in stated:
        if (known := known_code(code)) is not None:
            outcome = {"outcome": verdict["outcome"]} if known == verdict["code"] and "outcome" in verdict else {}
            return {"code": known, **outcome, "details": {"upstream_code": code}}
    type_ = codes.type_of(verdict["code"])
    for code in stated:
        guessed = guessed_code(code)
        if guessed is None:
            continue
        if codes.type_of(guessed) == type_ and type_ != "TRANSIENT":
            return {"code": guessed, "details": {"upstream_code": code}}
        if status in _GENERIC:
            return {"code": guessed, "outcome": "unknown", "details": {"upstream_code": code}}
    return None


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def verdict_for_answer(
    status: object,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    *,
    meaning: Meaning | None = None,
) -> dict[str, Any] | None:
    """Return the fields of `Failure` for an answer; a known meaning beats the status.

    None if there is neither a status nor a meaning.
    """
    number = _number(status)
    verdict = verdict_for_status(number, headers, body) if number is not None and number >= 400 else {}
    if meaning is None:
        return verdict or None
    known = fields_of(meaning)
    row = codes.get(known["code"])
    kept: dict[str, Any] = {name: verdict[name] for name in ("http_status", "details") if name in verdict}
    if row is not None and row.type in ("TRANSIENT", "CONFLICT"):
        limited = row.code == "RATE_LIMITED"
        delay = delay_in_headers(lowered(headers), limited=limited)
        kept["retry_after"] = verdict.get("retry_after") if delay is None else delay
        if "retryable" in verdict:
            kept["retryable"] = verdict["retryable"]
    return {name: value for name, value in {**kept, **known}.items() if value is not None}


def at(body: object, *path: str | int) -> Any:
    """Return what lies at a path of keys and indexes, or None if it does not lead anywhere."""
    found: Any = body
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def _number(status: object) -> int | None:
    if isinstance(status, str) and status.isascii() and status.isdigit() and len(status) == 3:
        return int(status)
    return int(status) if isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 999 else None
