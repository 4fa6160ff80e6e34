"""JSON objects of every known shape, and results that were themselves written as text."""

from typing import Any

from failwell.dialects import compact, envelope, flat, json_text, whole, xml
from failwell.dialects.wire import Wire
from failwell.failure import Failure
from failwell.reader import flat_text, foreign
from failwell.reader.incoming import take_apart

_DEEPEST_WRAPPER = 3


def from_shape(payload: dict[str, Any], depth: int = 0) -> Failure | None:
    """Return the failure in a JSON object of a known shape, or None."""
    return (
        whole.read(payload.get(whole.META_KEY))
        or (compact.from_payload(payload) if "recoverable" in payload else None)
        or envelope.from_payload(payload)
        or flat.from_payload(payload)
        or compact.from_payload(payload)
        or foreign.from_adcp(payload.get("adcp_error"))
        or foreign.from_problem(payload)
        or wrapped(payload, depth)
    )


def wrapped(payload: dict[str, Any], depth: int) -> Failure | None:
    """Return the failure in a result that was itself written as text, if it says `isError`."""
    if payload.get("isError") is not True or depth > _DEEPEST_WRAPPER:
        return None
    inner = take_apart(payload)
    texts = inner.texts if inner else []
    for text in texts:
        found = json_text.parse_object(text)
        if failure := xml.decode(Wire(text)) or (from_shape(found, depth + 1) if found else None):
            return failure
    return flat_text.classify("\n".join(texts))
