"""`failwell explain`: what a code or a type means, and what an agent should do about it."""

from typing import Annotated, Any, TextIO

import typer
from rich.text import Text

import failwell as fw
from failwell.cli.codes import code_entry, code_rows, find_type
from failwell.cli.completion import code_names
from failwell.cli.console import flag_rows, page, pairs_table, type_text
from failwell.cli.streams import AsJson, Misuse, write_json
from failwell.codes import TYPES, Type


def explain(
    context: typer.Context,
    code: Annotated[
        str,
        typer.Argument(
            help="A code in any spelling, or one of the six types.",
            autocompletion=code_names,
            metavar="CODE",
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Say what a code means, and what an agent should do about it.

    Says what it is called in each dialect too.

    Example: failwell explain rate_limited
    """
    name = code.upper()
    try:
        row = fw.codes.explain(code)
    except LookupError as unknown:
        text: str = unknown.args[0]
        raise Misuse(text if text.endswith("?") else f"{text}; failwell codes lists them all") from None
    is_type_only = name in TYPES and row.code != name
    entry = _type_entry(find_type(code)) if is_type_only else code_entry(row)
    if as_json:
        write_json(context.obj.stdout, entry)
    else:
        _show_entry(context.obj.stdout, entry)


def _type_entry(type_: Type) -> dict[str, Any]:
    """Return all that a type alone says, and the codes that belong to it."""
    defaults = TYPES[type_]
    return {
        "type": type_,
        "meaning": defaults.meaning,
        "recoverable": defaults.recoverable,
        "retryable": defaults.retryable,
        "outcome": defaults.outcome,
        "codes": [row.code for row in code_rows(type_)],
    }


def _show_entry(stdout: TextIO, entry: dict[str, Any]) -> None:
    """Show all that is known of a code, or of a type."""
    names = entry.get("names", {})
    with page(stdout) as console:
        console.print(Text(entry.get("code") or entry["type"], "bold"))
        console.print(entry.get("title") or entry["meaning"])
        console.print()
        console.print(
            pairs_table(
                (
                    ("type", type_text(entry["type"])),
                    ("HTTP status", str(entry.get("http_status", ""))),
                    *flag_rows(**{flag: entry[flag] for flag in ("recoverable", "retryable", "outcome")}),
                    ("suggestion", entry.get("suggestion")),
                    ("also known as", ", ".join(entry.get("aliases", ()))),
                    *((f"in {dialect}", name) for dialect, name in names.items()),
                    ("codes", ", ".join(entry.get("codes", ()))),
                )
            )
        )
