"""What commands show to people: in colour on a terminal, as plain text elsewhere."""

import io
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST = 1000
"""The width of lists that are not written to a terminal: their lines are not wrapped."""

YES_NO = {True: "yes", False: "no", None: "unknown"}

_PLAIN_WIDTH = 100
_COLOURS = {
    "NOT_FOUND": "yellow",
    "CONFLICT": "magenta",
    "VALIDATION": "cyan",
    "PERMISSION": "blue",
    "TRANSIENT": "green",
    "INTERNAL": "red",
}


def console_for(stdout: TextIO, file: TextIO) -> Console:
    """Return a console that prints to a file what suits a stream: colours on terminals that want them."""
    is_terminal = stdout.isatty()
    in_colour = is_terminal and not os.environ.get("NO_COLOR")
    return Console(
        file=file,
        force_terminal=is_terminal,
        color_system="auto" if in_colour else None,
        width=None if is_terminal or os.environ.get("COLUMNS") else _PLAIN_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


@contextmanager
def page(stdout: TextIO) -> Generator[Console]:
    """Give a console to print on, and write what was printed without the blanks that fill its lines."""
    printed = io.StringIO()
    yield console_for(stdout, printed)
    for line in printed.getvalue().splitlines():
        stdout.write(line.rstrip() + "\n")


def pairs_table(rows: Iterable[tuple[str, str | Text | None]]) -> Table:
    """Return names and values side by side, without those that have no value."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, value)
    return table


def flag_rows(
    *, recoverable: bool, retryable: bool | None, outcome: str, is_guess: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the answers to the three questions about a failure, as rows for `pairs_table`."""
    evidence = " (guessed from text)" if is_guess else ""
    return (
        ("worth another call?", YES_NO[recoverable] + evidence),
        ("same call later?", YES_NO[retryable] + evidence),
        ("side effects", outcome.replace("_", " ") + evidence),
    )


def type_text(type_: str) -> Text:
    """Return the name of a type in its colour."""
    return Text(type_, _COLOURS[type_])
