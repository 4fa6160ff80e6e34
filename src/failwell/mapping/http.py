"""From an HTTP answer to a verdict: status, headers and body, the most telling first.

A code in the body beats the status: throttling arrives as 400, a used-up quota as 429, a rate limit as 403. Texts of
the body stay home. They are written for another program, may echo what was sent or hold secrets, and would let a
third party speak to the model; codes, field names and delays say what an agent can act on.
"""

from collections.abc import Mapping
from typing import Any, cast

from failwell import catalog
from failwell.failure import Failure
from failwell.mapping import bodies, retry_after
from failwell.mapping.verdicts import failure_from

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
    facts = bodies.read(body)
    verdict = _by_status(status, said)
    if (coded := _by_code(status, verdict, facts.codes)) is not None:
        verdict = coded
    verdict["http_status"] = int(status) if 100 <= status <= 599 else None
    row = catalog.get(verdict["code"])
    waits = row is not None and (row.type in ("TRANSIENT", "CONFLICT") or row.code == "PAYLOAD_TOO_LARGE")
    if waits:
        delay = retry_after.from_headers(said, limited=verdict["code"] == "RATE_LIMITED", now=now)
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
    known = bodies.known(code)
    if known is not None:
        return {"code": known, "details": {"upstream_code": code}}
    guessed = bodies.guessed(code)
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
    if status == 403 and (retry_after.is_used_up(headers) or "retry-after" in headers):
        verdict = {"code": "RATE_LIMITED"}
    return verdict


def _by_code(status: int, verdict: dict[str, Any], codes: tuple[str, ...]) -> dict[str, Any] | None:
    for code in codes:
        if (known := bodies.known(code)) is not None:
            outcome = {"outcome": verdict["outcome"]} if known == verdict["code"] and "outcome" in verdict else {}
            return {"code": known, **outcome, "details": {"upstream_code": code}}
    type_ = catalog.type_of(verdict["code"])
    for code in codes:
        guessed = bodies.guessed(code)
        if guessed is None:
            continue
        if catalog.type_of(guessed) == type_ and type_ != "TRANSIENT":
            return {"code": guessed, "details": {"upstream_code": code}}
        if status in _GENERIC:
            return {"code": guessed, "outcome": "unknown", "details": {"upstream_code": code}}
    return None


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
