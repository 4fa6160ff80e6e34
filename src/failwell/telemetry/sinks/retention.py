"""`Retention`: what a store keeps at most, from its address: `sqlite:///calls.db?keep_age=30d&keep_size=2GB`."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from failwell.telemetry.amounts import bytes_in, seconds_in

try:
    from sqlalchemy import URL
except ImportError as missing:
    raise ImportError("this needs sqlalchemy: pip install 'failwell[telemetry]'") from missing


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


_PARTS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "keep_age": ("age", seconds_in),
    "keep_count": ("count", _count_in),
    "keep_size": ("size", bytes_in),
}


def split(url: URL) -> tuple[URL, Retention]:
    """Return the address of a store without what it says about keeping, and that.

    Raises:
        ValueError: it makes no sense.
    """
    found: dict[str, Any] = {}
    for name, (field, parse) in _PARTS.items():
        if name in url.query:
            value = url.query[name]
            if not isinstance(value, str):
                raise ValueError(f"{name} is given twice")
            found[field] = parse(value)
    if found.get("size", _SMALLEST) < _SMALLEST:
        raise ValueError("keep_size must be at least 1MB: empty tables take space too")
    if "size" in found and url.get_backend_name() != "sqlite":
        raise ValueError("keep_size is for SQLite: PostgreSQL keeps the space of what is deleted, so use keep_count")
    unknown = [name for name in url.query if name.startswith("keep_") and name not in _PARTS]
    if unknown:
        raise ValueError(f"what a store keeps is told by {', '.join(_PARTS)}, not by {unknown[0][:40]}")
    return url.difference_update_query(_PARTS), Retention(**found)
