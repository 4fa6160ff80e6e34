"""Valid texts, numbers and the like, made from the limits that a schema sets."""

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

from failwell.arguments.formats import FORMATS
from failwell.check.shapes import type_of

PLACEHOLDER = "failwell-probe"
"""Text that stands for any text: it names no file, no record and no command that is likely to exist."""

LONGEST = 5000
"""Longer texts and lists are not made."""

# Texts that common patterns accept.
_TEXTS = (
    *("failwell", "Failwell", "FAILWELL", "fw", "f", "F", "0", "00000000", "12345", "f0", "#0f0f0f", "en-US", "en"),
    *("EUR", "1.0.0", "v1.0.0", "00:00", "0000-00-00", "2025-01-31", "2025-01", "FW-1", "fw_1", "fw/1", "/fw"),
    *("a@example.com", "https://example.com", "+10000000000", "0" * 32, "0" * 40, "0" * 64),
    "00000000-0000-4000-8000-000000000000",
)
_TEXT_KEYWORDS = ("pattern", "minLength", "maxLength")


def _texts(shape: dict[str, Any]) -> Iterator[str]:
    if known := FORMATS.get(shape.get("format", "")):
        yield known.example
    if "pattern" in shape:
        yield from _patterned(shape)
    elif shape.get("minLength", 0) <= LONGEST:
        yield _fitted(PLACEHOLDER, shape)


def _patterned(shape: dict[str, Any]) -> Iterator[str]:
    """Yield texts that a pattern accepts; which, the validator tells."""
    try:
        fits = jsonschema_rs.validator_for({key: shape[key] for key in _TEXT_KEYWORDS if key in shape}).is_valid
    except ValueError:
        return
    yield from (text for text in (*_TEXTS, *(_fitted(text, shape) for text in _TEXTS)) if fits(text))


def _fitted(text: str, shape: dict[str, Any]) -> str:
    least, most = shape.get("minLength", 0), shape.get("maxLength", LONGEST)
    return text.ljust(min(least, LONGEST), "x")[:most]


def _numbers(shape: dict[str, Any]) -> Iterator[float]:
    low, high = _bound(shape, "minimum", "exclusiveMinimum", 1), _bound(shape, "maximum", "exclusiveMaximum", -1)
    value = low if low is not None else min(high, 1) if high is not None else 1
    if step := shape.get("multipleOf"):
        value = -(-value // step) * step
    is_whole = type_of(shape) == "integer" or float(value).is_integer()
    yield int(-(-value // 1)) if is_whole else value


def _bound(shape: dict[str, Any], inclusive: str, exclusive: str, inward: int) -> Any:
    limit, beyond = shape.get(inclusive), shape.get(exclusive)
    if beyond is True:  # draft 4: a flag beside the limit
        limit, beyond = None, limit
    if not isinstance(beyond, int | float) or isinstance(beyond, bool):
        return limit
    inner = beyond + inward * (1 if type_of(shape) == "integer" else 0.5)
    return inner if limit is None else max(limit, inner) if inward > 0 else min(limit, inner)


def _flags(_: dict[str, Any]) -> Iterator[bool]:
    yield from (False, True)


def _nulls(_: dict[str, Any]) -> Iterator[None]:
    yield None


MAKERS: dict[str, Callable[[dict[str, Any]], Iterator[Any]]] = {
    "string": _texts,
    "integer": _numbers,
    "number": _numbers,
    "boolean": _flags,
    "null": _nulls,
}
"""What makes values of a type, the best first."""
