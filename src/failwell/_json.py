"""JSON: type guards for values, and reading and writing objects for peers that may be hostile or careless."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeGuard

import msgspec

LONGEST_JSON = 1_000_000
"""Longer texts are not parsed, in characters."""

_encoder = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder().decode


# Messages are asked for their shapes dozens of times: these are the interpreter's own functions behind `isinstance`.
is_object: Callable[[Any], TypeGuard[dict[str, Any]]] = dict.__instancecheck__  # type: ignore[assignment]  # no guard
"""Tells whether a value is a JSON object."""

is_list: Callable[[Any], TypeGuard[list[Any]]] = list.__instancecheck__  # type: ignore[assignment]  # no guard
"""Tells whether a value is a JSON array as decoders make it."""

_ARRAYS = (list, tuple)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a value can be read like a JSON array."""
    return isinstance(value, _ARRAYS)


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a value can be read like a JSON object."""
    return isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101 - asking for dict first is quicker


def members(value: Any) -> list[tuple[str | int, Any]]:
    """Return the keys and values of an object, or the indices and items of an array; nothing for anything else."""
    if is_mapping(value):
        return list(value.items())
    return list(enumerate(value)) if is_array(value) else []


def write_json(payload: Any) -> str:
    """Return a value as compact JSON, keys in their order, not escaped beyond what JSON asks for."""
    return _encoder(payload).decode()


def parse_json(text: str) -> Any:
    """Return what a JSON text holds, or None if it is not JSON, too long or too deep.

    What msgspec refuses (NaN, lone surrogates, huge numbers, a byte-order mark) is read by the standard library.
    """
    if len(text) > LONGEST_JSON:
        return None
    try:
        return _decoder(text)
    except (ValueError, RecursionError):
        pass
    import json  # only now: it is seldom needed

    try:
        loose = json.loads(text.lstrip("\ufeff"))
        return json.loads(json.dumps(loose).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


@cache
def _prefix_decoder() -> Callable[[str, int], tuple[Any, int]]:
    import json  # only now: few texts hold JSON among their words

    return json.JSONDecoder().raw_decode


def parse_json_at(text: str, at: int) -> Any:
    """Return the JSON value that begins at a place in a text, whatever follows it.

    Raises:
        ValueError: none begins there.
        RecursionError: it is too deep.
    """
    return _prefix_decoder()(text, at)[0]


def parse_object(text: str) -> dict[str, Any] | None:
    """Return the object a JSON text holds, or None if it holds anything else."""
    if text[:1] != "{" and text.lstrip("\ufeff \t\r\n")[:1] != "{":
        return None
    if len(text) > LONGEST_JSON:
        return None
    try:
        found: dict[str, Any] | None = _decoder(text)
    except (ValueError, RecursionError):
        found = parse_json(text)
    return found if isinstance(found, dict) else None
