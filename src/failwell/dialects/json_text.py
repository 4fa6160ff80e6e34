"""Read and write JSON objects that hostile or sloppy peers may have made."""

import json
from typing import Any

import msgspec

LONGEST = 1_000_000
"""Longer texts are not parsed, in characters."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def write(payload: Any) -> str:
    """Return a value as compact JSON, keys in their order, not escaped beyond what JSON asks for."""
    return _encode(payload).decode()


def parse(text: str) -> Any:
    """Return what a JSON text holds, or None if it is no JSON, too long or too deep.

    What msgspec refuses (NaN, lone surrogates, huge numbers, a byte-order mark) is read by the standard library.
    """
    if len(text) > LONGEST:
        return None
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        loose = json.loads(text.lstrip("\ufeff"))
        return json.loads(json.dumps(loose).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the object a JSON text holds, or None if it holds anything else."""
    if text[:1] != "{" and text.lstrip("\ufeff \t\r\n")[:1] != "{":
        return None
    if len(text) > LONGEST:
        return None
    try:
        found: dict[str, Any] | None = _decode(text)
    except (ValueError, RecursionError):
        found = parse(text)
    return found if isinstance(found, dict) else None
