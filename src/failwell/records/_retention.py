"""`Retention`: how much a store keeps, parsed from its address: `sqlite:///calls.db?keep_age=30d&keep_size=2GB`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)")


def parse_seconds(text: str) -> float:
    """Return the seconds of a time span such as `90s`, `15m`, `12h`, `30d` or `2w`.

    Raises:
        ValueError: it is not a time span.
    """
    found = _product(text.lower(), _SECONDS)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a time span: write it like 90s, 15m, 12h, 30d or 2w")
    return found


def parse_bytes(text: str) -> int:
    """Return the bytes of a size such as `500MB` or `2GB`.

    Raises:
        ValueError: it is not a size.
    """
    found = _product(text.upper(), _BYTES)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not a size: write it like 500MB or 2GB")
    return int(found)


def format_size(size: float) -> str:
    """Return a number of bytes as `parse_bytes` takes it, in three digits."""
    unit, factor = next(((unit, factor) for unit, factor in reversed(_BYTES.items()) if size >= factor), ("B", 1))
    return f"{size / factor:.3g} {unit or 'B'}"


def _product(text: str, units: Mapping[str, int]) -> float | None:
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]


class Retention(Struct, frozen=True, kw_only=True):
    """What a store keeps at most: records of so many seconds, so many of them, so many bytes; None: no bound."""

    age: float | None = None
    count: int | None = None
    size: int | None = None

    def __bool__(self) -> bool:
        return self != _ALL


_ALL = Retention()
_SMALLEST = 10**6


def _parse_count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise ValueError(f"{text[:40]!r} is not a number of records: write it like 1000000")
    return int(text)


PARAMETERS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "keep_age": ("age", parse_seconds),
    "keep_count": ("count", _parse_count),
    "keep_size": ("size", parse_bytes),
}


def parse_retention(query: Mapping[str, Any], *, is_file: bool) -> Retention:
    """Return the retention in the query of an address; *is_file* for SQLite.

    Raises:
        ValueError: it makes no sense.
    """
    unknown = [name for name in query if name.startswith("keep_") and name not in PARAMETERS]
    if unknown:
        raise ValueError(f"unknown setting {unknown[0][:40]!r}: use one of {', '.join(PARAMETERS)}")
    found: dict[str, Any] = {}
    for name in sorted(PARAMETERS.keys() & query.keys()):
        if not isinstance(query[name], str):
            raise ValueError(f"{name} is given twice")
        field, parse = PARAMETERS[name]
        found[field] = parse(query[name])
    if "size" in found and not is_file:
        raise ValueError("keep_size is for SQLite: PostgreSQL keeps the space of what is deleted, so use keep_count")
    if found.get("size", _SMALLEST) < _SMALLEST:
        raise ValueError("keep_size must be at least 1MB: empty tables take space too")
    return Retention(**found)
