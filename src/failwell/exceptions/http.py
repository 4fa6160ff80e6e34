"""`from_http`, and what an HTTP response says about a failure: its status, headers and body.

Knows RFC 9457 problem details and the shapes of OpenAI, Anthropic, Google, AWS, Azure, GitHub, Stripe, Slack, JSON:API,
Kubernetes, GraphQL, FastAPI and OAuth services.

A code in the body beats the status: throttling arrives as 400, a used-up quota as 429, a rate limit as 403. Texts of
the body are not forwarded. They are written for another program, may echo what was sent or hold secrets, and would let
a third party speak to the model; codes, field names and delays say what an agent can act on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from failwell import codes
from failwell._json import parse_json
from failwell._lazy import lazy_pattern
from failwell.failure import Failure
from failwell.phrases import names
from failwell.phrases.delays import (
    delay_in_duration,
    delay_in_headers,
    delay_in_milliseconds,
    delay_in_number,
    is_used_up,
    stated_limit,
)
from failwell.phrases.http_codes import UNSPECIFIC_STATUSES, VAGUE_STATUSES, meaning_of_status
from failwell.phrases.meanings import Meaning, failure_from, fields_of
from failwell.phrases.rpc_codes import INVALID_REQUEST, RECEIVED, UNSPECIFIC, is_session_lost
from failwell.phrases.vendor_codes import known_code, published_code

_MOST_HEADERS = 200
_RETRY_HEADERS = ("x-should-retry", "stripe-should-retry")
_RETRY_VALUES = {"true": True, "false": False}


def from_http(
    status: int,
    *,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    now: float | None = None,
) -> Failure:
    """Return the failure that an HTTP response describes: its status and, if given, its headers and body.

    Reads the delay from `Retry-After` and similar headers, RFC 9457 problem details, and the error bodies of common
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
    fields = lower_headers(headers)
    facts = read_body(body)
    verdict = _by_rpc_error(status, body) or _by_status(status, fields)
    if (coded := _by_code(status, verdict, facts)) is not None:
        verdict = coded
    verdict["http_status"] = int(status) if 100 <= status <= 599 else None
    row = codes.get(verdict["code"])
    waits = row is not None and (row.type in ("TRANSIENT", "CONFLICT") or row.code == "PAYLOAD_TOO_LARGE")
    if waits:
        delay = delay_in_headers(fields, limited=verdict["code"] == "RATE_LIMITED", now=now)
        verdict["retry_after"] = facts.retry_after if delay is None else delay
    if verdict["code"] == "RATE_LIMITED" and (stated := stated_limit(fields)):
        verdict["details"] = {**verdict.get("details", {}), **stated}
    if verdict["code"] == "FORBIDDEN" and (scopes := _missing_scopes(fields)):
        named = "scope" if len(scopes) == 1 else "scopes"
        verdict["message"] = f"This is not permitted: it needs the {named} {', '.join(scopes)}."
        verdict["details"] = {**verdict.get("details", {}), "scopes": scopes}
    for name in _RETRY_HEADERS:
        if (word := fields.get(name, "").strip().lower()) in _RETRY_VALUES:
            verdict["retryable"] = _RETRY_VALUES[word]
    if fields.get("grpc-retry-pushback-ms", "").strip().startswith("-"):
        verdict["retryable"] = False
    if facts.fields:
        verdict["details"] = {**verdict.get("details", {}), "upstream_fields": facts.fields}
    return {name: value for name, value in verdict.items() if value is not None}


_SCOPES = lazy_pattern(r"""\bscope=(?:"([\w.:/*+ -]{1,1000})"|([\w.:/*+-]{1,1000})(?![^,\s]))""", re.ASCII)
_MOST_SCOPES = 10


def _missing_scopes(headers: Mapping[str, str]) -> list[str]:
    """Return the scopes that `WWW-Authenticate` asks for where the ones of a token do not suffice (RFC 6750)."""
    asked = headers.get("www-authenticate", "")[:_LONGEST_BODY]
    found = _SCOPES.search(asked) if "insufficient_scope" in asked else None
    return (found[1] or found[2]).split()[:_MOST_SCOPES] if found else []


_SESSION_HEADER = "mcp-session-id"
_SESSION_STATUSES = (400, 404)
_LONGEST_BODY = 2000
_SESSION_LOST: dict[str, Any] = {"code": "SESSION_LOST", "outcome": "not_executed"}


def is_session_refused(status: int, sent: object, body: object = None) -> bool:
    """Return whether a server of MCP refused a request because it does not know its session.

    *sent* are the headers of the request. A body that says something else, such as an unknown method, is believed.
    """
    if status not in _SESSION_STATUSES or not lower_headers(sent).get(_SESSION_HEADER):
        return False
    error = _rpc_error(body)
    if error is None:
        return status == 404 or _speaks_of_session(body)
    if is_session_lost(*error):
        return True
    return status == 404 and error[0] not in RECEIVED.keys() - {INVALID_REQUEST}


def _speaks_of_session(body: object) -> bool:
    """Return whether a body that is no JSON-RPC error leaves it at the status, or names the session."""
    said = body.decode(errors="replace") if isinstance(body, bytes) else str(body) if body else ""
    return said.strip() in ("", "{}") or "session" in said[:_LONGEST_BODY].lower()


def session_verdict(status: int) -> dict[str, Any]:
    """Return the fields of `Failure` for a request whose session the server does not know."""
    return {**_SESSION_LOST, "http_status": status}


def _by_rpc_error(status: int, body: object) -> dict[str, Any] | None:
    """Return what the JSON-RPC error says that a server of MCP sends with 400 or 404, if that has a meaning."""
    error = _rpc_error(body) if status in _SESSION_STATUSES else None
    if error is None:
        return None
    if is_session_lost(*error):
        return dict(_SESSION_LOST)
    code = RECEIVED.get(error[0]) if error[0] not in UNSPECIFIC else None
    return None if code is None else {"code": code}


def _rpc_error(body: object) -> tuple[int, str] | None:
    """Return the number and the words of the JSON-RPC error in a body, or None."""
    if isinstance(body, bytes | bytearray | str):
        text = bytes(body).decode("utf-8", "replace") if not isinstance(body, str) else body
        body = parse_json(text) if text.lstrip().startswith("{") and len(text) <= _LARGEST_BODY else None
    error = at(body, "error")
    number, message = at(error, "code"), at(error, "message")
    if "jsonrpc" not in as_dict(body) or not isinstance(number, int) or not isinstance(message, str):
        return None
    return number, message


def lower_headers(headers: object) -> dict[str, str]:
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
    verdict = fields_of(meaning_of_status(status))
    if status == 403 and (is_used_up(headers) or "retry-after" in headers):
        verdict = {"code": "RATE_LIMITED"}
    return verdict


def _by_code(status: int, verdict: dict[str, Any], facts: "BodyFacts") -> dict[str, Any] | None:
    stated = facts.codes
    for code in stated:
        if (known := known_code(code)) is not None:
            outcome = {"outcome": verdict["outcome"]} if known == verdict["code"] and "outcome" in verdict else {}
            return {"code": known, **outcome, "details": {"upstream_code": code}}
    if facts.published is not None and status in VAGUE_STATUSES:
        code, meaning = facts.published
        return {**fields_of(meaning), "details": {"upstream_code": code}}
    type_ = codes.type_of(verdict["code"])
    for code in stated:
        guessed = guessed_code(code)
        if guessed is None:
            continue
        if codes.type_of(guessed) == type_ and type_ != "TRANSIENT":
            return {"code": guessed, "details": {"upstream_code": code}}
        if status in UNSPECIFIC_STATUSES:
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
        delay = delay_in_headers(lower_headers(headers), limited=limited)
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


_LARGEST_BODY = 256 * 1024
_DEEPEST = 6
_MOST_ITEMS = 20
_CODE = lazy_pattern(r"[A-Za-z][A-Za-z0-9]*(?:[_.\-/ ][A-Za-z0-9]+)*", re.ASCII)
_LONGEST_CODE = 80
_PATH = lazy_pattern(r"[A-Za-z_][\w.\[\]/\-]*", re.ASCII)
_XML_CODE = lazy_pattern(r"<(?:Code|code|errorCode)>\s*([A-Za-z][A-Za-z0-9._]{0,79})\s*</")

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


class BodyFacts(NamedTuple):
    """What a body says that may be repeated."""

    codes: tuple[str, ...] = ()  # the most specific first
    fields: list[str] = []  # noqa: RUF012 - made anew by `read`
    retry_after: float | None = None
    published: tuple[str, Meaning] | None = None  # a code of the service whose shape the body has


def read_body(body: object) -> BodyFacts:
    """Return what an error body says, given as text, bytes or parsed JSON. Never raises."""
    try:
        return _read(body)
    except Exception:
        return BodyFacts()


def guessed_code(code: str) -> str | None:
    """Return the catalog code that a service's code seems to mean, if its words say more than any status."""
    return None if names.is_empty(code) else names.code_of(code)


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
        tuple(dict.fromkeys(codes))[:_MOST_ITEMS],
        list(dict.fromkeys(fields))[:_MOST_ITEMS],
        max(delays, default=None),
        published_code(body),
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
    found = (
        delay_in_number(item.get("retryAfterSeconds", item.get("retry_after", item.get("retryAfter")))),
        delay_in_milliseconds(item.get("retry_after_ms", item.get("retryAfterMs"))),
        delay_in_duration(item["retryDelay"]) if "retryDelay" in item else None,
    )
    yield from (delay for delay in found if delay is not None)
