"""Results that can't be sent: an SDK that fails to write one leaves the client waiting, or ends the connection."""

import re
from typing import Any

from failwell._json import is_array, is_object
from failwell._sdks import needs

try:
    from mcp.types import CallToolResult, TextContent
    from pydantic import BaseModel
    from pydantic_core import PydanticSerializationError, from_json, to_json
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_NOT_UNICODE = "it contains text that is not valid Unicode"
_NOT_JSON = "it contains a value that JSON cannot represent"
NOT_FINITE = "it contains NaN or Infinity, which JSON does not allow"
_TOO_DEEP = "it is nested too deeply"

# What an error says, as the encoder and the decoder of the SDKs word it, and what that means.
_MEANINGS = (
    (NOT_FINITE.lower(), NOT_FINITE),
    ("surrogates", _NOT_UNICODE),
    ("utf-8", _NOT_UNICODE),
    ("depth", _TOO_DEEP),
    ("circular", _TOO_DEEP),
    ("recursion", _TOO_DEEP),
    ("out of range", "it contains an integer of more than 4,300 digits"),
    ("expected value", NOT_FINITE),
    ("invalid number", NOT_FINITE),
    ("unexpected return type", "it is not a tool result"),
)


class NotFiniteError(Exception):
    """A tool returned NaN or Infinity, which an SDK would make null."""

    def __init__(self) -> None:
        super().__init__(NOT_FINITE)


ENCODING_ERRORS = (NotFiniteError, PydanticSerializationError, UnicodeError, RecursionError)
"""What SDKs raise, after a tool returned, if its value has no form in JSON."""
_FEW_BRACKETS = 100  # too few for what clients call deep
_FEW_ITEMS, _FEW_LEVELS, _LARGE = 20, 3, 2**63
_LONGEST_INTEGER = 4300  # in digits, that Python reads
_LONG_INTEGER = re.compile(rb"[0-9]{%d}" % _LONGEST_INTEGER)


class FailureResult(CallToolResult):
    """The result for a failure. What it holds is plain and bounded, so any client can read it."""


def failed_result(wire: dict[str, Any]) -> CallToolResult:
    """Return the result for a wire-shaped failure."""
    blocks = [TextContent(type="text", text=block["text"]) for block in wire["content"]]  # no kind has to be found
    return _FAILED.model_validate({**wire, "content": blocks})


# mcp 1 would write a class of our own as the base of all results, which is empty.
_FAILED = FailureResult if "is_error" in CallToolResult.model_fields else CallToolResult
_STRUCTURED = "structured_content" if _FAILED is FailureResult else "structuredContent"


def unsendable(result: Any) -> str | None:
    """Return why no client could read a result, or None."""
    if type(result) is FailureResult:
        return None
    if type(result) is CallToolResult and all(map(_is_plain_text, result.content)):
        fields = vars(result)
        structured, meta = fields[_STRUCTURED], fields["meta"]
        reason = None if structured is None else _unreadable(structured)
        return reason if meta is None else reason or _unreadable(meta)
    if isinstance(result, BaseModel):
        try:
            return _unreadable(result.model_dump(by_alias=True, exclude_none=True))
        except Exception as exc:
            return meaning(str(exc))
    return _unreadable(result) if is_object(result) else f"{type(result).__name__} is not a tool result"


def _is_plain_text(block: Any) -> bool:
    if type(block) is not TextContent or block.annotations is not None or block.meta is not None:
        return False
    return block.text.isascii() or _unreadable(block.text) is None


def _unreadable(value: Any) -> str | None:
    """Return why a part of a result can't be written, or not be read again by a client of the SDKs."""
    if _is_simple(value):
        return None
    try:
        encoded = to_json(value, inf_nan_mode="constants")
        if _is_suspicious(encoded):
            from_json(b'{"result":{"part":%b}}' % encoded, allow_inf_nan=False)
    except Exception as exc:
        return meaning(str(exc))
    return None


def _is_simple(value: Any, depth: int = 0) -> bool:
    """Return whether a small object or list holds nothing but plain values, so that nothing has to be written."""
    if is_object(value):
        for key in value:
            if type(key) is not str or not key.isascii():
                return False
        value = value.values()
    elif not is_array(value):
        return False
    if depth > _FEW_LEVELS or len(value) > _FEW_ITEMS:
        return False
    for item in value:
        if type(item) is str:
            if not item.isascii():
                return False
        elif type(item) is int:
            if not -_LARGE < item < _LARGE:
                return False
        elif item is not None and type(item) is not bool and not _is_simple(item, depth + 1):
            return False
    return True


def _is_suspicious(encoded: bytes) -> bool:
    """Return whether JSON may hold what its readers refuse. Few results are long enough for all of that."""
    if _may_hold_no_number(encoded):
        return True
    if len(encoded) <= _FEW_BRACKETS:
        return False
    if encoded.count(b"[") + encoded.count(b"{") > _FEW_BRACKETS:
        return True
    return len(encoded) >= _LONGEST_INTEGER and _LONG_INTEGER.search(encoded) is not None


def _may_hold_no_number(encoded: bytes) -> bool:
    return b"NaN" in encoded or b"Infinity" in encoded


def is_finite(value: Any) -> bool:
    """Return whether a value that an SDK is about to convert holds no NaN and no Infinity, which become null."""
    if type(value) in (str, int, bool) or value is None:
        return True
    try:
        encoded = to_json(value, inf_nan_mode="constants", serialize_unknown=True)
        return not _may_hold_no_number(encoded) or _unreadable(from_json(encoded)) != NOT_FINITE
    except Exception:  # the SDK will say so too
        return True


def meaning(said: str) -> str:
    """Return what an error of an encoder or a decoder says of a result."""
    said = said.lower()
    return next((reason for words, reason in _MEANINGS if words in said), _NOT_JSON)
