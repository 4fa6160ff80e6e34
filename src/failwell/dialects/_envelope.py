"""`envelope`: a JSON object with a code, an HTTP status, a hint and every problem by field.

{"success":false,"error_code":"RESOURCE_NOT_FOUND","message":"It does not exist","error":"Task 7 does not exist.",
 "code":404,"hint":"…","details":{"tool":"claim_task"},"timestamp":"…","version":"1.0.0"}
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from time import time
from typing import Any

from msgspec import UNSET

from failwell import codes
from failwell._json import parse_object, write_json
from failwell.codes import TYPES, Type
from failwell.dialects._open_part import (
    FIELD_KEYS,
    KEYS,
    read_open_part,
    read_problems,
    split_extra,
    with_extra,
    write_open_part,
)
from failwell.dialects._wire import Wire, is_error
from failwell.failure import Failure, FieldProblem, valid_code, valid_status, wants_correction
from failwell.redact.canonical import RedactedFailure

name = "envelope"

Clock = Callable[[], datetime | str]

_OWN = frozenset(
    ("success", "error_code", "message", "error", "code", "hint", "details", "required_fields", "timestamp", "version")
)
_KEYS = KEYS - {"code", "message", "suggestion", "fields", "http_status"} | FIELD_KEYS
_WRITTEN = frozenset(("code", "suggestion", "fields", "http_status", "extra"))
# 500 says nothing: it is what a failure of unknown type is sent with.
_TYPE_OF_STATUS: dict[int, Type] = {
    400: "VALIDATION", 401: "PERMISSION", 402: "PERMISSION", 403: "PERMISSION", 404: "NOT_FOUND", 408: "TRANSIENT",
    409: "CONFLICT", 410: "NOT_FOUND", 412: "CONFLICT", 422: "VALIDATION", 423: "CONFLICT", 429: "TRANSIENT",
    502: "TRANSIENT", 503: "TRANSIENT", 504: "TRANSIENT",
}  # fmt: skip


def _now() -> str:
    return _written(int(time()))


@lru_cache(maxsize=1)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat(timespec="seconds")


def encode(failure: RedactedFailure, *, clock: Clock = _now, version: str = "1.0.0") -> Wire:
    """Return a canonical failure as an envelope, dated by *clock*."""
    code = failure.code or TYPES[failure.type].code
    row = codes.get(code)
    status = failure.http_status or codes.http_status_of(failure.code, failure.type)
    payload: dict[str, Any] = {
        "success": False,
        "error_code": row.envelope if row and row.envelope else code,
        "message": codes.title_of(failure.code, failure.type),
        "error": failure.message,
        "code": status,
    }
    missing = [problem.path for problem in failure.fields if problem.is_missing]
    if hint := failure.suggestion or (wants_correction(failure) and _hint(missing)):
        payload["hint"] = hint
    extra, nested = with_extra(failure.extra, _OWN)
    also = nested or {}
    if failure.action:
        also = {"action": failure.action, **also}
    if failure.tool:
        also = {"tool": failure.tool, **also}
    if failure.fields:
        problems = {problem.path: _problem_payload(problem) for problem in failure.fields}
        also = {**also, "validation_errors": problems, "all_errors": problems}
    details = write_open_part(failure, code, _type_read(code, status), written=_WRITTEN, also=also, keys=_KEYS)
    if details:
        payload["details"] = details
    if missing:
        payload["required_fields"] = missing
    now = clock()
    payload["timestamp"] = now if isinstance(now, str) else now.isoformat(timespec="seconds")
    payload["version"] = version
    return Wire(write_json({**payload, **extra}), is_error(failure))


def _type_read(code: str, status: int | None) -> Type | None:
    return codes.type_of(code) or _TYPE_OF_STATUS.get(status or 0)


def _hint(missing: Iterable[str]) -> str | None:
    names = ", ".join(f"'{name}'" for name in missing)
    return f"Add {names} to your request parameters" if names else None


def _problem_payload(problem: FieldProblem) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    if problem.sent is not UNSET:
        payload["value"] = problem.sent
    payload["message"] = problem.message
    if problem.expected is not None:
        payload["expected"] = problem.expected
    if problem.kind is not None and not (problem.kind == "missing" and problem.sent is None and problem.required):
        payload["field_type"] = problem.kind
    if problem.required is not None:
        payload["required"] = problem.required
    if problem.options:
        payload["options"] = list(problem.options)
    if problem.did_you_mean is not None:
        payload["did_you_mean"] = problem.did_you_mean
    return payload


def decode(wire: Wire) -> Failure | None:
    """Return the failure in an envelope text, or None."""
    payload = parse_object(wire.text)
    return None if payload is None else from_payload(payload, exact=not wire.is_error)


def from_payload(payload: dict[str, Any], *, exact: bool = False) -> Failure | None:
    """Return the failure in an envelope, or None. Exact means success is false, with a code and a message."""
    code = valid_code(payload.get("error_code"))
    text = payload.get("error") or payload.get("message")
    if code is UNSET or not isinstance(text, str) or payload.get("success", False) is not False:
        return None
    if exact and not ("success" in payload and isinstance(payload.get("message"), str)):
        return None
    details: dict[str, Any] | None = payload.get("details")
    required: list[Any] | None = payload.get("required_fields")
    fields: tuple[FieldProblem, ...] = ()
    if isinstance(details, dict) and not FIELD_KEYS.isdisjoint(details):
        fields = _problems(details, required if isinstance(required, list) else [])
        details = {key: value for key, value in details.items() if key not in FIELD_KEYS}
    elif isinstance(required, list):
        fields = _problems({}, required)
    values = read_open_part(details, keys=_KEYS)
    if fields:
        values["fields"] = fields
    values["code"] = code
    hint, status = payload.get("hint"), payload.get("code")
    if isinstance(hint, str) and hint:
        values["suggestion"] = hint
    if valid_status(status) is status:
        values["http_status"] = status
    if "type" not in values:
        code = codes.canonical_code(code, values.get("tool"))
        values["type"] = _type_read(code, values.get("http_status"))
    return split_extra(payload, values, message=text, own=_OWN)


def _problems(details: dict[str, Any], required: list[Any]) -> tuple[FieldProblem, ...]:
    by_path: dict[str, Any] = details.get("validation_errors") or details.get("all_errors") or {}
    if not isinstance(by_path, dict):
        by_path = {}
    stated = [_stated(path, item, required) for path, item in by_path.items() if isinstance(path, str) and path]
    found: tuple[FieldProblem, ...] = read_problems(stated) if stated else ()
    missing = [path for path in required if isinstance(path, str) and path and path not in by_path]
    return (*found, *(FieldProblem(path=path, kind="missing", required=True) for path in missing)) if missing else found


def _stated(path: str, item: dict[str, Any], required: list[Any]) -> dict[str, Any]:
    """Return the JSON form of the problem that an envelope states of a path."""
    if not isinstance(item, dict):
        return {"path": path, "message": str(item)}
    kind = item.get("field_type", item.get("type"))
    if not isinstance(kind, str):
        kind = "missing" if path in required and item.get("value", UNSET) is None else None
    values = {**item, "path": path, "kind": kind}
    if "value" in item:
        values["sent"] = item["value"]
    else:
        values.pop("sent", None)
    return values


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the text."""
    problem = {
        "type": "object",
        "properties": {
            "value": {"description": "What was sent, or null if nothing was"},
            "message": {"type": "string", "description": "What is wrong with the field"},
            "expected": {"type": "string", "description": "What should have been sent"},
            "field_type": {"type": "string", "description": "The kind of problem, such as a wrong type"},
            "required": {"type": "boolean", "description": "Whether the field must be sent"},
        },
        "required": ["message"],
    }
    problems = {"type": "object", "additionalProperties": problem}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["success", "error_code", "message", "error", "code", "timestamp", "version"],
        "properties": {
            "success": {"const": False, "description": "An error is never a success"},
            "error_code": {"type": "string", "description": "The reason, for programs to branch on"},
            "message": {"type": "string", "description": "A summary of the reason for people"},
            "error": {"type": "string", "description": "What went wrong in this call"},
            "code": {"type": "integer", "minimum": 100, "maximum": 599, "description": "The HTTP status that fits"},
            "hint": {"type": "string", "description": "The next step that fixes it"},
            "details": {
                "type": "object",
                "description": "The tool, the problems by field, and other specifics",
                "properties": {"tool": {"type": "string"}, "validation_errors": problems, "all_errors": problems},
            },
            "required_fields": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The required fields that were not sent",
            },
            "timestamp": {"type": "string", "description": "When it failed, in ISO 8601"},
            "version": {"type": "string", "description": "The version of the API"},
        },
    }
