"""`compact`: a JSON object with the agent's decision branch first.

{"type":"TRANSIENT","message":"rate limited","recoverable":true,"data":{"retry_after":30}}
"""

from typing import Any

from failwell._json import parse_object, write_json
from failwell.codes import TYPES
from failwell.dialects._open_part import KEYS, read_open_part, split_extra, with_extra, write_open_part
from failwell.dialects._wire import Wire, is_error
from failwell.failure import Failure
from failwell.redact.canonical import RedactedFailure

name = "compact"

_OWN = frozenset(("type", "message", "recoverable", "data"))
_WRITTEN = frozenset(("recoverable", "extra"))
_KEYS = KEYS - {"type", "message", "recoverable"}


def encode(failure: RedactedFailure) -> Wire:
    """Return a canonical failure as compact JSON."""
    payload: dict[str, Any] = {
        "type": failure.type,
        "message": failure.message,
        "recoverable": failure.recoverable,
    }
    extra, nested = with_extra(failure.extra, _OWN)
    data = write_open_part(failure, failure.code, failure.type, written=_WRITTEN, also=nested, keys=_KEYS)
    if data:
        payload["data"] = data
    return Wire(write_json({**payload, **extra}), is_error(failure))


def decode(wire: Wire) -> Failure | None:
    """Return the failure in a compact JSON text, or None."""
    payload = parse_object(wire.text)
    return None if payload is None else from_payload(payload, exact=not wire.is_error)


def from_payload(payload: dict[str, Any], *, exact: bool = False) -> Failure | None:
    """Return the failure in a compact object, or None. Exact means all three fields and no other but data."""
    type_, message = payload.get("type"), payload.get("message")
    if not isinstance(type_, str) or type_ not in TYPES or not isinstance(message, str):
        return None
    recoverable = payload.get("recoverable")
    if exact and (not isinstance(recoverable, bool) or not payload.keys() <= _OWN):
        return None
    values = read_open_part(payload.get("data"), keys=_KEYS)
    values["type"] = type_
    if isinstance(recoverable, bool):
        values["recoverable"] = recoverable
    return split_extra(payload, values, message=message, own=_OWN)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the text."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["type", "message", "recoverable"],
        "properties": {
            "type": {
                "type": "string",
                "enum": list(TYPES),
                "description": "The class of the failure, one for each reaction that an agent can have",
            },
            "message": {"type": "string", "description": "What went wrong, for a person or a model to read"},
            "recoverable": {
                "type": "boolean",
                "description": "Is another call worth making: the same one later, or one with corrected input?",
            },
            "data": {
                "type": "object",
                "additionalProperties": True,
                "description": "What helps to recover, such as `retry_after` in seconds or who holds a resource",
            },
        },
        "additionalProperties": False,
    }
