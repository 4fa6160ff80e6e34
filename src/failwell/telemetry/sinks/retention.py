"""`Retention`: what a store keeps at most, from its address: `sqlite:///calls.db?keep_age=30d&keep_size=2GB`."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from failwell.telemetry.amounts import bytes_in, seconds_in


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
