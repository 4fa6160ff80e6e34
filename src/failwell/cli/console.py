"""Output for people: coloured on a terminal, plain text elsewhere."""

import io
import os
from collections.abc import Container, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST = 1000
"""The width of lists that are not written to a terminal: their lines are not wrapped."""

YES_NO = {True: "yes", False: "no", None: "unknown"}

_PLAIN_WIDTH = 100
_LEAST_LAST = 24
_GAP = 2
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


Cell = str | Text


def list_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    width: int,
    drop: Sequence[str] = (),
    right: Container[str] = (),
    has_header: bool = True,
    before: Iterable[Sequence[Cell]] = (),
) -> Table:
    """Return a list with a line for each row, as wide as the terminal allows.

    Where it is too wide, columns are left out: those to *drop*, in that order, then the others from the right. The
    first column says which row it is, and the last one what it means; both stay. It continues a list of the rows
    *before*, with the same columns.
    """
    cells = [_as_texts(row) for row in rows]
    needed = _needed_widths(headers, [*cells, *map(_as_texts, before)])
    shown = _columns_shown(headers, needed, width=width, drop=drop)
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=has_header)
    for place in shown:
        is_last = place == shown[-1]
        table.add_column(
            headers[place],
            no_wrap=not is_last,
            overflow="fold" if is_last else "ellipsis",
            justify="right" if headers[place] in right else "left",
            min_width=None if is_last or has_header else needed[place],
        )
    for row in cells:
        table.add_row(*(row[place] for place in shown))
    return table


def fits(
    header: str, headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, width: int, drop: Sequence[str] = ()
) -> bool:
    """Return whether a list of these rows has a column, or leaves it out."""
    needed = _needed_widths(headers, [_as_texts(row) for row in rows])
    return headers.index(header) in _columns_shown(headers, needed, width=width, drop=drop)


def _as_texts(row: Sequence[Cell]) -> list[Text]:
    return [Text(cell) if isinstance(cell, str) else cell for cell in row]


def _needed_widths(headers: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[int]:
    return [max([len(header), *(row[place].cell_len for row in rows)]) for place, header in enumerate(headers)]


def _columns_shown(headers: Sequence[str], needed: Sequence[int], *, width: int, drop: Sequence[str]) -> list[int]:
    shown = list(range(len(headers)))
    for header in (*drop, *(header for header in reversed(headers[1:-1]) if header not in drop)):
        if _least_width(needed, shown) > width:
            shown.remove(headers.index(header))
    return shown


def _least_width(needed: Sequence[int], shown: Sequence[int]) -> int:
    """Return how wide columns are at least: the last one may wrap, the others may not."""
    return sum(needed[place] for place in shown[:-1]) + min(needed[shown[-1]], _LEAST_LAST) + _GAP * (len(shown) - 1)


def list_width(stdout: TextIO, console: Console) -> int:
    """Return how wide lists are: as the terminal, or without a bound where there is none."""
    if not stdout.isatty():
        console.width = WIDEST
    return console.width


def flag_rows(
    *, recoverable: bool | None, retryable: bool | None, outcome: str, note: str = ""
) -> tuple[tuple[str, str], ...]:
    """Return the answers to the three questions about a failure, as rows; *note* follows what is claimed."""
    answers = {
        "worth another call?": YES_NO[recoverable],
        "same call later?": YES_NO[retryable],
        "side effects": outcome.replace("_", " "),
    }
    return tuple(
        (question, f"{answer} ({note})" if note and answer != YES_NO[None] else answer)
        for question, answer in answers.items()
    )


def type_text(type_: str) -> Text:
    """Return the name of a type in its colour."""
    return Text(type_, _COLOURS[type_])
