"""What can be said of a code, as plain data: its flags spelled out and its name in each dialect."""

from collections.abc import Iterator
from typing import Any

from failwell import codes
from failwell.codes import TYPES, Row, Type


def code_entry(row: Row) -> dict[str, Any]:
    """Return all that is known of a code, with what follows from its type filled in."""
    derived = codes.derive(row.code, row.type)
    return {
        "code": row.code,
        "title": row.title,
        "type": row.type,
        "http_status": row.http_status,
        "recoverable": derived.recoverable,
        "retryable": derived.retryable,
        "outcome": derived.outcome,
        "suggestion": row.suggestion,
        "aliases": list(row.aliases),
        "names": names_in_dialects(row),
    }


def names_in_dialects(row: Row) -> dict[str, str]:
    """Return what a code is called in each dialect, by dialect."""
    return {
        "compact": row.type,
        "envelope": row.envelope or row.code,
        "flat": codes.flat_literal(row.code, row.type),
        "meta": codes.derive(row.code, row.type).kind,
        "xml": row.code,
    }


def type_entry(type_: Type) -> dict[str, Any]:
    """Return all that a type alone says, and the codes that belong to it."""
    of_type = TYPES[type_]
    return {
        "type": type_,
        "meaning": of_type.meaning,
        "recoverable": of_type.recoverable,
        "retryable": of_type.retryable,
        "outcome": of_type.outcome,
        "codes": [row.code for row in code_rows(type_)],
    }


def code_rows(type_: Type | None = None) -> Iterator[Row]:
    """Yield the rows of one type, or all rows type by type."""
    for wanted in (type_,) if type_ else TYPES:
        yield from (row for row in codes.rows() if row.type == wanted)
