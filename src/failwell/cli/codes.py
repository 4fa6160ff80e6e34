"""`failwell codes`: all codes, and what is known of each as plain data."""

from collections.abc import Iterator
from typing import Annotated, Any, TextIO

import typer
from rich.text import Text

from failwell import codes as catalog
from failwell._spelling import did_you_mean
from failwell.cli.completion import type_names
from failwell.cli.console import YES_NO, list_table, list_width, page, type_text
from failwell.cli.streams import AsJson, Misuse, write_json
from failwell.codes import TYPES, Row, Type


def codes(
    context: typer.Context,
    *,
    type_: Annotated[
        str | None,
        typer.Option(
            "--type",
            help="Only codes of this type, such as TRANSIENT.",
            autocompletion=type_names,
            metavar="TYPE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List all error codes and what they mean.

    Example: failwell codes --type TRANSIENT
    """
    entries = [code_entry(row) for row in code_rows(find_type(type_) if type_ else None)]
    if as_json:
        write_json(context.obj.stdout, entries)
    else:
        _show_codes(context.obj.stdout, entries)


def _show_codes(stdout: TextIO, entries: list[dict[str, Any]]) -> None:
    """List codes, a line each, type by type."""
    rows = [
        (
            Text(entry["code"], "bold"),
            type_text(entry["type"]),
            YES_NO[entry["retryable"]],
            entry["outcome"].replace("_", " "),
            str(entry["http_status"]),
            entry["title"],
        )
        for entry in entries
    ]
    with page(stdout) as console:
        width = list_width(stdout, console)
        console.print(
            list_table(("code", "type", "retry", "effect", "HTTP", "meaning"), rows, width=width, right=("HTTP",))
        )


def code_entry(row: Row) -> dict[str, Any]:
    """Return all that is known of a code, with what follows from its type filled in."""
    derived = catalog.derive(row.code, row.type)
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
        "names": {
            "compact": row.type,
            "envelope": row.envelope or row.code,
            "flat": catalog.flat_literal(row.code, row.type),
            "meta": derived.kind,
            "xml": row.code,
        },
    }


def code_rows(type_: Type | None = None) -> Iterator[Row]:
    """Yield the rows of one type, or all rows type by type."""
    for wanted in (type_,) if type_ else TYPES:
        yield from (row for row in catalog.rows() if row.type == wanted)


def find_type(name: str) -> Type:
    """Return the type with a name, in capitals or not.

    Raises:
        Misuse: there is none; the text names them all.
    """
    by_name: dict[str, Type] = {type_: type_ for type_ in TYPES}
    found = by_name.get(name.upper())
    if found is None:
        raise Misuse(f"unknown type {name!r}: choose one of {', '.join(TYPES)}{did_you_mean(name, TYPES)}")
    return found
