"""What a code of somebody else means to us: a code of the catalog, what else is known, and the failure of that."""

from collections.abc import Iterator
from typing import Any

from failwell import codes
from failwell.codes import TYPES
from failwell.failure import Failure

Meaning = str | dict[str, Any]
"""A code, or fields of `Failure` with at least a code or a type."""

Rows = tuple[tuple[Meaning, str], ...]
"""A table of codes: a meaning, and the codes that have it with blanks between them.

`*` before a code says that it means the same wherever it comes from.
"""

BUG: dict[str, Any] = {"code": "INTERNAL_ERROR", "outcome": "not_executed"}
"""The tool uses a library wrongly, and the library noticed before it did anything."""

BROKEN: dict[str, Any] = {"code": "UPSTREAM_ERROR", "type": "INTERNAL"}
"""The other side is at fault, and waiting does not mend it."""

PARTLY: dict[str, Any] = {**BROKEN, "outcome": "unknown"}
"""Some of many operations failed; the others may have taken effect."""

FAULT: dict[str, Any] = {"code": "UPSTREAM_ERROR", "retryable": None}
"""The other side failed inside, and does not say whether another try helps."""

MISSING: dict[str, Any] = {"code": "MISSING_REQUIRED_FIELD", "outcome": "rejected"}
"""The other side refused it, because something that it requires was not sent."""

WRONG_TYPE: dict[str, Any] = {"code": "INVALID_FIELD_TYPE", "outcome": "rejected"}
"""The other side refused it, because a value was of the wrong type."""

RETRY_TRANSACTION: dict[str, Any] = {"code": "CONCURRENT_MODIFICATION", "outcome": "not_executed", "retryable": True}
"""The transaction was undone because of another one; the same again may pass."""


def not_executed(code: str) -> dict[str, Any]:
    """Return the meaning of a code where the other side certainly did nothing, or undid it."""
    return {"code": code, "outcome": "not_executed"}


def outcome_unknown(code: str) -> dict[str, Any]:
    """Return the meaning of a code where what failed may have reached the other side, although the code denies it."""
    return {"code": code, "outcome": "unknown"}


def by_code(rows: Rows) -> dict[str, Meaning]:
    """Return the meanings in a table, by code."""
    return {code.removeprefix("*"): meaning for code, meaning in _pairs(rows)}


def known_everywhere(rows: Rows) -> dict[str, Meaning]:
    """Return the meanings in a table of the codes that are the same wherever they come from."""
    return {code[1:]: meaning for code, meaning in _pairs(rows) if code.startswith("*")}


def by_number(rows: Rows) -> dict[int, Meaning]:
    """Return the meanings in a table of numbers, by number."""
    return {int(code): meaning for code, meaning in _pairs(rows)}


def _pairs(rows: Rows) -> Iterator[tuple[str, Meaning]]:
    for meaning, listed in rows:
        for code in listed.split():
            yield code, meaning


def fields_of(meaning: Meaning) -> dict[str, Any]:
    """Return a meaning as fields of `Failure`, in a dict of its own."""
    return {"code": meaning} if isinstance(meaning, str) else dict(meaning)


def failure_from(meaning: Meaning) -> Failure:
    """Return the failure that a meaning stands for, with the catalog's words.

    Raises:
        ValueError: a value is not one of its choices.
        TypeError: a field is unknown or of the wrong type.
    """
    given: dict[str, Any] = {"code": meaning} if isinstance(meaning, str) else _stated(meaning)
    row = codes.kin(given.get("code")) or codes.get(TYPES[given["type"]].code if given.get("type") in TYPES else None)
    row = row or codes.explain("INTERNAL_ERROR")
    given.setdefault("message", f"{row.title}.")
    given.setdefault("origin", "mapped")
    return Failure(**given)


def _stated(meaning: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in meaning.items() if value is not None or name == "retryable"}


def unmapped() -> Failure:
    """Return the failure of which nothing is known: it is unknown whether another try helps."""
    return failure_from({"code": "INTERNAL_ERROR", "retryable": None, "outcome": "unknown"})
