"""Build the failure that a verdict stands for, with the catalog's words and never those of an exception."""

from typing import Any

from failwell import codes
from failwell.codes import TYPES
from failwell.failure import Failure


def failure_from(verdict: str | dict[str, Any]) -> Failure:
    """Return the failure for a code, or for fields of `Failure` with at least a code or a type.

    Raises:
        ValueError: a value is not one of its choices.
        TypeError: a field is unknown or of the wrong type.
    """
    said: dict[str, Any] = {"code": verdict} if isinstance(verdict, str) else _stated(verdict)
    row = codes.kin(said.get("code")) or codes.get(TYPES[said["type"]].code if said.get("type") in TYPES else None)
    row = row or codes.explain("INTERNAL_ERROR")
    said.setdefault("message", f"{row.title}.")
    said.setdefault("suggestion", row.suggestion)
    said.setdefault("origin", "mapped")
    return Failure(**said)


def unmapped() -> Failure:
    """Return the failure of which nothing is known: nobody can say whether another try helps."""
    return failure_from({"code": "INTERNAL_ERROR", "retryable": None, "outcome": "unknown"})


def _stated(verdict: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in verdict.items() if value is not None or name == "retryable"}
