"""Answers of services whose own error codes we know: the code decides, the status and the headers add to it."""

from collections.abc import Mapping
from typing import Any

from failwell import catalog
from failwell.mapping import retry_after
from failwell.mapping.http import lowered, verdict_for_status
from failwell.mapping.meanings import Meaning, fields_of


def verdict_for_answer(
    status: object,
    headers: Mapping[str, str] | None = None,
    body: object = None,
    *,
    meaning: Meaning | None = None,
) -> dict[str, Any] | None:
    """Return the fields of `Failure` for an answer; a known meaning beats the status.

    None if there is neither a status nor a meaning.
    """
    number = _number(status)
    verdict = verdict_for_status(number, headers, body) if number is not None and number >= 400 else {}
    if meaning is None:
        return verdict or None
    known = fields_of(meaning)
    row = catalog.get(known["code"])
    kept: dict[str, Any] = {name: verdict[name] for name in ("http_status", "details") if name in verdict}
    if row is not None and row.type in ("TRANSIENT", "CONFLICT"):
        limited = row.code == "RATE_LIMITED"
        delay = retry_after.from_headers(lowered(headers), limited=limited)
        kept["retry_after"] = verdict.get("retry_after") if delay is None else delay
        if "retryable" in verdict:
            kept["retryable"] = verdict["retryable"]
    return {name: value for name, value in {**kept, **known}.items() if value is not None}


def at(body: object, *path: str | int) -> Any:
    """Return what lies at a path of keys and indexes, or None if it does not lead anywhere."""
    found: Any = body
    for step in path:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError):
            return None
    return found


def _number(status: object) -> int | None:
    if isinstance(status, str) and status.isascii() and status.isdigit() and len(status) == 3:
        return int(status)
    return int(status) if isinstance(status, int) and not isinstance(status, bool) and 100 <= status <= 999 else None
