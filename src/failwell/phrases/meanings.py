"""What an error code of somebody else means to us: a code of the catalog, and where it differs from its row."""

from typing import Any

Meaning = str | dict[str, Any]
"""A code, or a dict with at least the code and what else of `Failure` is known."""

BUG: dict[str, Any] = {"code": "INTERNAL_ERROR", "outcome": "not_executed"}
"""The tool uses a library wrongly, and the library noticed before it did anything."""

BROKEN: dict[str, Any] = {"code": "UPSTREAM_ERROR", "type": "INTERNAL"}
"""The other side is at fault, and waiting does not mend it."""

PARTLY: dict[str, Any] = {**BROKEN, "outcome": "unknown"}
"""Some of many operations failed; the others may have taken effect."""


def not_executed(code: str) -> dict[str, Any]:
    """Return the meaning of a code where the other side certainly did nothing, or undid it."""
    return {"code": code, "outcome": "not_executed"}


def fields_of(meaning: Meaning) -> dict[str, Any]:
    """Return a meaning as fields of `Failure`, in a dict of its own."""
    return {"code": meaning} if isinstance(meaning, str) else dict(meaning)
