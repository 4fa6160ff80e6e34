"""JSON objects of every known shape: dialects, JSON-RPC errors, problem details, AdCP, `toolFailure`."""

from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET

from failwell import codes
from failwell._json import is_object, parse_object
from failwell.codes import Type
from failwell.dialects import _compact, _envelope, _flat, _xml
from failwell.dialects._open_part import read_failure, read_open_part
from failwell.dialects._placement import META_KEY, read_whole
from failwell.dialects._wire import Wire
from failwell.failure import Failure, FieldProblem, join_path, seconds, valid_code, valid_status
from failwell.phrases.http_codes import code_of_status
from failwell.phrases.rpc_codes import RECEIVED, UNSPECIFIC
from failwell.reading import flat_text
from failwell.reading.context import Context
from failwell.reading.flat_text import CERTAIN, Reading
from failwell.reading.raw_result import parse_result

TOOL_FAILURE_KEY = "io.modelcontextprotocol/toolFailure"

_TYPE_OF_CLASS: dict[str, Type] = {"reliability": "TRANSIENT", "governance": "PERMISSION", "capability": "INTERNAL"}
_TYPE_OF_RECOVERY: dict[str, Type] = {"transient": "TRANSIENT", "correctable": "VALIDATION", "terminal": "INTERNAL"}
_PROBLEM_KEYS = frozenset(("type", "title", "status", "detail", "instance"))


def from_rpc_error(error: dict[str, Any]) -> Failure:
    """Return the failure in a JSON-RPC error object. What its `data` states beats the number."""
    values = read_open_part(error.get("data"))
    details = values.setdefault("details", {})
    if error.get("data") is not None and not isinstance(error["data"], dict):
        details["data"] = error["data"]
    details["jsonrpc_code"] = error["code"]
    if "code" not in values:
        values["code"] = RECEIVED.get(error["code"])
        if values["code"] in (None, "INTERNAL_ERROR"):
            values.setdefault("retryable", None)
    return read_failure(values, error["message"])


def from_tool_failure(value: dict[str, Any] | None, message: str, *, now: float) -> Failure | None:
    """Return the failure in the proposed `toolFailure` object, whose time of retry counts from *now*."""
    if not isinstance(value, dict) or not value.keys() & {"class", "code", "retryable"}:
        return None
    values: dict[str, Any] = {"extra": {}}
    if isinstance(code := valid_code(value.get("code")), str):
        values["code"] = code
    values["type"] = codes.type_of(values.get("code")) or _TYPE_OF_CLASS.get(str(value.get("class")))
    values["retryable"] = value["retryable"] if isinstance(value.get("retryable"), bool) else None
    if (delay := _seconds_until(value.get("retryNotBefore"), now)) is not None:
        values["retry_after"] = delay
    for key, name in (("correlationId", "id"), ("agentGuidance", "suggestion")):
        if isinstance(value.get(key), str) and value[key]:
            values[name] = value[key]
    return read_failure(values, message)


def _seconds_until(moment: Any, now: float) -> float | None:
    if isinstance(moment, str):
        try:
            at = datetime.fromisoformat(moment)
        except ValueError:
            return None
        moment = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    if isinstance(moment, bool) or not isinstance(moment, int | float):
        return None
    return seconds(max(0.0, round(moment - now, 3)))


def from_adcp(error: dict[str, Any] | None) -> Failure | None:
    """Return the failure in an `adcp_error` object, or None."""
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    known: dict[str, Any] = {key: error[key] for key in ("code", "retry_after", "suggestion") if key in error}
    values = read_open_part(known)
    values.pop("details", None)
    recovery: str | None = error.get("recovery")
    values["type"] = _TYPE_OF_RECOVERY.get(recovery) if isinstance(recovery, str) else None
    row = codes.get(values.get("code"))
    if row is not None and (values["type"] in (None, "INTERNAL") or row.type == values["type"]):
        values["type"] = row.type
    if recovery is not None:  # a word nobody knows is final
        values["retryable"] = recovery == "transient"
    if isinstance(error.get("field"), str) and error["field"]:
        values["fields"] = (FieldProblem(path=error["field"], message=error["message"]),)
    if isinstance(error.get("details"), dict):
        values["details"] = error["details"]
    used = {"code", "message", "recovery", "retry_after", "suggestion", "field", "details"}
    values["extra"] = {key: item for key, item in error.items() if key not in used}
    return read_failure(values, error["message"])


def from_problem(payload: dict[str, Any]) -> Failure | None:
    """Return the failure in problem details (RFC 9457), or None."""
    status = valid_status(payload.get("status"))
    title, detail = payload.get("title"), payload.get("detail")
    text = next((text for text in (detail, title) if isinstance(text, str) and text.strip()), None)
    kind: str | None = payload.get("type")
    is_named = isinstance(kind, str) and kind.startswith(("https://", "http://", "urn:", "about:", "tag:"))
    if text is None or not (isinstance(title, str) or isinstance(kind, str)) or (status is UNSET and not is_named):
        return None
    if status is not UNSET and status < 400:
        return None
    rest = {key: item for key, item in payload.items() if key not in _PROBLEM_KEYS}
    values = read_open_part(rest)
    if status is not UNSET:
        values["http_status"] = status
        values.setdefault("code", code_of_status(status))
    if isinstance(kind, str) and kind.startswith("https://"):
        values["docs_url"] = kind
    if fields := _problem_fields(payload.get("errors")):
        values.setdefault("fields", fields)
    if isinstance(payload.get("instance"), str) and payload["instance"]:
        values["id"] = payload["instance"]
    return read_failure(values, text)


def _problem_fields(errors: list[Any] | None) -> tuple[FieldProblem, ...]:
    """Return the field problems in the `errors` of problem details: a JSON pointer and what is wrong there."""
    found: list[FieldProblem] = []
    for error in errors if isinstance(errors, list) else []:
        if is_object(error) and isinstance(pointer := error.get("pointer"), str):
            keys = [part.replace("~1", "/").replace("~0", "~") for part in pointer.lstrip("#").split("/")[1:]]
            path = join_path(int(key) if key.isascii() and key.isdecimal() else key for key in keys)
            found.append(FieldProblem(path=path, message=str(error.get("detail") or "")))
    return tuple(found)


_DEEPEST_WRAPPER = 3


def from_shape(payload: dict[str, Any], depth: int = 0) -> Failure | None:
    """Return the failure in a JSON object of a known shape, or None."""
    return (
        read_whole(payload.get(META_KEY))
        or (_compact.from_payload(payload) if "recoverable" in payload else None)
        or _envelope.from_payload(payload)
        or _flat.from_payload(payload)
        or _compact.from_payload(payload)
        or from_adcp(payload.get("adcp_error"))
        or from_problem(payload)
        or from_nested_result(payload, depth)
    )


def from_nested_result(payload: dict[str, Any], depth: int) -> Failure | None:
    """Return the failure in a result that was itself written as text, if it says `isError`."""
    if payload.get("isError") is not True or depth > _DEEPEST_WRAPPER:
        return None
    inner = parse_result(payload)
    texts = inner.texts if inner else []
    for text in texts:
        found = parse_object(text)
        if failure := _xml.decode(Wire(text)) or (from_shape(found, depth + 1) if found else None):
            return failure
    return flat_text.read_error_text("\n".join(texts), Context()).failure


def from_rpc_data(error: dict[str, Any]) -> Failure | None:
    """Return the failure of a known shape that a JSON-RPC error carries, or None."""
    for payload in (error.get("data"), parse_object(error["message"])):
        if is_object(payload) and (found := from_shape(payload)):
            return found
    return None


def from_rpc(error: dict[str, Any], context: Context) -> Reading:
    """Return the failure that the number and the words of a JSON-RPC error tell of."""
    numbered = from_rpc_error(error)
    if numbered.origin != "read" or (is_object(error.get("data")) and "code" in error["data"]):
        return Reading(numbered)
    if error["code"] not in UNSPECIFIC and numbered.code is not None:
        return Reading(numbered)
    reading = flat_text.read_error_text(error["message"], context)
    worded = reading.failure
    if worded.confidence is None or worded.confidence < CERTAIN:
        return Reading(numbered)
    if worded.type == numbered.type and not worded.fields:
        return Reading(numbered)
    return Reading(worded.replace(details=numbered.details, message=numbered.message), reading.rule)
