"""What the commands show to people: in colour on a terminal, as plain text elsewhere."""

import io
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from failwell._json import write_json
from failwell.advice import Decision
from failwell.cli.read import Found, summary
from failwell.failure import Failure

_PLAIN_WIDTH = 100
WIDEST = 1000
_COLOUR_OF_TYPE = {
    "NOT_FOUND": "yellow",
    "CONFLICT": "magenta",
    "VALIDATION": "cyan",
    "PERMISSION": "blue",
    "TRANSIENT": "green",
    "INTERNAL": "red",
}
_WORD_FOR = {True: "yes", False: "no", None: "unknown"}
_ORIGINS = {"inferred": "flat text: a guess"}


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


def _pairs(rows: Iterable[tuple[str, str | Text | None]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value:
            table.add_row(name, value)
    return table


def show_codes(stdout: TextIO, entries: list[dict[str, Any]]) -> None:
    """List codes, a line each, type by type."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("code", "type", "HTTP", "retry", "effect", "meaning"):
        table.add_column(header, no_wrap=header != "meaning", justify="right" if header == "HTTP" else "left")
    for entry in entries:
        table.add_row(
            Text(entry["code"], "bold"),
            _type(entry["type"]),
            str(entry["http_status"]),
            _WORD_FOR[entry["retryable"]],
            entry["outcome"].replace("_", " "),
            entry["title"],
        )
    with page(stdout) as console:
        if not stdout.isatty():
            console.width = WIDEST
        console.print(table)


def show_entry(stdout: TextIO, entry: dict[str, Any]) -> None:
    """Show all that is known of a code, or of a type."""
    names = entry.get("names", {})
    with page(stdout) as console:
        console.print(Text(entry.get("code") or entry["type"], "bold"))
        console.print(entry.get("title") or entry["meaning"])
        console.print()
        console.print(
            _pairs(
                (
                    ("type", _type(entry["type"])),
                    ("HTTP status", str(entry.get("http_status", ""))),
                    *_flags(recoverable=entry["recoverable"], retryable=entry["retryable"], outcome=entry["outcome"]),
                    ("suggestion", entry.get("suggestion")),
                    ("also known as", ", ".join(entry.get("aliases", ()))),
                    *((f"in {dialect}", name) for dialect, name in names.items()),
                    ("codes", ", ".join(entry.get("codes", ()))),
                )
            )
        )


def show_found(stdout: TextIO, found: Found) -> None:
    """Show a failure, what to do about it, and how to mend the call."""
    failure, decision = found.failure, found.decision
    if failure is None or decision is None:
        stdout.write(f"Not a failure{f': a record of {found.kind}' if found.kind else ''}.\n")
        return
    with page(stdout) as console:
        console.print(Text.assemble(_type(failure.type), "  ", (failure.code or "", "bold")))
        console.print(failure.message)
        console.print()
        console.print(_pairs((*_facts(failure), ("rule", _rule(found)))))
        console.print()
        console.print(Text.assemble(("→ ", "dim"), (step(decision), "bold")))
        console.print(decision.reason)
        if decision.suggestion and decision.suggestion != failure.suggestion:
            console.print(Text(decision.suggestion, "dim"))
        if found.repair is not None:
            console.print()
            console.print(Text.assemble(("repair", "bold"), (f"  {found.repair.confidence:.0%} sure", "dim")))
            console.print(write_json(found.repair.arguments))
            for change in found.repair.changes:
                console.print(Text(f"{change.path}: {change.reason}", "dim"))


def show_all(stdout: TextIO, found: list[Found]) -> None:
    """List what many answers hold, a line each, and how many there are of each type."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("", "tool", "type", "code", "next", "repair", "rule"):
        table.add_column(header, no_wrap=header != "rule", justify="right" if not header else "left")
    for number, one in enumerate(found, 1):
        if one.failure is None or one.decision is None:
            table.add_row(str(number), one.tool or "", Text(one.kind or "not a failure", "dim"))
        else:
            table.add_row(
                str(number),
                one.tool or "",
                _type(one.failure.type),
                one.failure.code or "",
                step(one.decision),
                f"{one.repair.confidence:.0%}" if one.repair else "",
                _rule(one),
            )
    with page(stdout) as console:
        if not stdout.isatty():
            console.width = WIDEST
        console.print(table)
        console.print()
        console.print(", ".join(f"{count} {name}" for name, count in summary(found)))


def _rule(found: Found) -> str | None:
    if found.failure is None or found.failure.origin != "inferred":
        return None
    sure = found.failure.confidence or 0
    # Without a rule of ours and yet sure: somebody on the way, such as a proxy, has guessed and says so.
    return f"{found.rule or ('guessed by the sender' if sure else 'none fits')} ({sure:.0%} sure)"


def _facts(failure: Failure) -> Iterator[tuple[str, str | None]]:
    yield from _flags(recoverable=failure.recoverable, retryable=failure.retryable, outcome=failure.outcome)
    yield "wait at least", None if failure.retry_after is None else f"{failure.retry_after} s"
    yield "severity", failure.severity
    yield "tool", "/".join(part for part in (failure.tool, failure.action) if part)
    yield "suggestion", failure.suggestion
    yield "what helps", ", ".join(failure.actions)
    for problem in failure.fields:
        yield f"field {problem.path}", problem.message
    for key, value in failure.details.items():
        yield f"detail {key}", value if isinstance(value, str) else write_json(value)
    yield "id", failure.id
    yield "read from", _ORIGINS.get(failure.origin, "structure")


def step(decision: Decision) -> str:
    """Return a decision in a few words."""
    words = decision.action.replace("_", " ")
    if decision.delay is not None:
        return f"{words} in {decision.delay:g} s"
    return f"{words} {', '.join(decision.actions)}" if decision.action == "use" else words


def _flags(*, recoverable: bool, retryable: bool | None, outcome: str) -> tuple[tuple[str, str], ...]:
    return (
        ("may this goal be met", _WORD_FOR[recoverable]),
        ("may the same call help", _WORD_FOR[retryable]),
        ("did it take effect", outcome.replace("_", " ")),
    )


def _type(type_: str) -> Text:
    return Text(type_, _COLOUR_OF_TYPE[type_])
