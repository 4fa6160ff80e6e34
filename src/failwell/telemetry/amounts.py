"""Spans of time and sizes as people write them: `30d`, `2GB`."""

import re
from collections.abc import Mapping

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
