"""`Retention`: what a store keeps at most, from its address: `sqlite:///calls.db?keep_age=30d&keep_size=2GB`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([A-Za-z]*)")


def seconds_in(text: str) -> float:
    """Return how many seconds a span is, such as `90s`, `15m`, `12h`, `30d` or `2w`.

    Raises:
        ValueError: it is none.
    """
    found = _product(text.lower(), _SECONDS)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no span of time: write it like 90s, 15m, 12h, 30d or 2w")
    return found


def bytes_in(text: str) -> int:
    """Return how many bytes a size is, such as `500MB` or `2GB`.

    Raises:
        ValueError: it is none.
    """
    found = _product(text.upper(), _BYTES)
    if found is None:
        raise ValueError(f"{text[:40]!r} is no size: write it like 500MB or 2GB")
    return int(found)


def size_in_words(size: float) -> str:
    """Return a number of bytes as `bytes_in` takes it, in three digits."""
    unit, factor = next(((unit, factor) for unit, factor in reversed(_BYTES.items()) if size >= factor), ("B", 1))
    return f"{size / factor:.3g} {unit or 'B'}"


def _product(text: str, units: Mapping[str, int]) -> float | None:
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]


class Retention(Struct, frozen=True, kw_only=True):
    """What is kept at most: records of so many seconds, so many records, so many bytes of a file; None for all."""

    age: float | None = None
    count: int | None = None
    size: int | None = None

    def __bool__(self) -> bool:
        return self != _ALL


_ALL = Retention()
_SMALLEST = 10**6


def _count_in(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise ValueError(f"{text[:40]!r} is no number of records: write it like 1000000")
    return int(text)


PARTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "keep_age": ("age", seconds_in),
    "keep_count": ("count", _count_in),
    "keep_size": ("size", bytes_in),
}


def retention_in(query: Mapping[str, Any], *, is_file: bool) -> Retention:
    """Return what the query of an address says about keeping; *is_file* for SQLite.

    Raises:
        ValueError: it makes no sense.
    """
    unknown = [name for name in query if name.startswith("keep_") and name not in PARTS]
    if unknown:
        raise ValueError(f"what a store keeps is told by {', '.join(PARTS)}, not by {unknown[0][:40]}")
    found: dict[str, Any] = {}
    for name in sorted(PARTS.keys() & query.keys()):
        if not isinstance(query[name], str):
            raise ValueError(f"{name} is given twice")
        field, parse = PARTS[name]
        found[field] = parse(query[name])
    if "size" in found and not is_file:
        raise ValueError("keep_size is for SQLite: PostgreSQL keeps the space of what is deleted, so use keep_count")
    if found.get("size", _SMALLEST) < _SMALLEST:
        raise ValueError("keep_size must be at least 1MB: empty tables take space too")
    return Retention(**found)
