"""A report on the terminal: the score, a line for each tool, what was found, and what to change."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from failwell.check.report import Change, Report, ToolReport
from failwell.cli.panels import page

_COLOURS = {"A": "green", "B": "green", "C": "yellow", "D": "yellow", "F": "red", None: "dim"}
_MOST_NAMED = 3
_MOST_WORSE = 20
_SERVER = "(server)"


@contextmanager
def progress(stderr: TextIO) -> Generator[Callable[[int, int], None] | None]:
    """Give a function that shows how far a check is, on a terminal."""
    if not stderr.isatty():
        yield None
        return

    def tell(done: int, total: int) -> None:
        stderr.write(f"\r{done} of {total} calls")
        stderr.flush()

    try:
        yield tell
    finally:
        stderr.write("\r\x1b[K")
        stderr.flush()


def show(stdout: TextIO, report: Report) -> None:
    """Show a report."""
    with page(stdout) as console:
        console.print(_headline(report))
        console.print()
        console.print(_tools(report))
        console.print()
        console.print(_counts(report))
        if report.worse:
            _print_worse(console, report)
        for number, change in enumerate(report.changes, 1):
            console.print()
            _print_change(console, number, change)
        if report.not_probed:
            console.print()
            _print_not_probed(console, report)


def _headline(report: Report) -> Text:
    about = " ".join(part for part in (report.server.name, report.server.version) if part)
    channels = ", ".join(f"{name} {value:g}" for name, value in report.channels.items())
    return Text.assemble(
        (f"{report.score:g}", "bold"), " of 100  ", (report.grade, f"bold {_COLOURS[report.grade]}"), f"  {about}",
        (f"  ({channels})", "dim"),
    )  # fmt: skip


def _tools(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("tool", "score", "", "calls", "what failed most"):
        table.add_column(header, justify="right" if header in ("score", "calls") else "left", overflow="fold")
    for tool in report.tools:
        score = Text(f"{tool.score:g}" if tool.score is not None else "-", _COLOURS[tool.grade])
        table.add_row(tool.name, score, tool.grade or "", str(len(tool.probes)), _worst(tool))
    return table


def _worst(tool: ToolReport) -> str:
    counts = Counter(graded.grade for probe in tool.probes for graded in probe.failed)
    return ", ".join(f"{name} {count}×" for name, count in counts.most_common(_MOST_NAMED))


def _counts(report: Report) -> Text:
    totals = report.totals
    endings = [f"{count} {name}" for name, count in (
        ("sent as a success", totals.unflagged), ("accepted", totals.accepted), ("hung", totals.hung),
        ("crashed the server", totals.crashed)) if count]  # fmt: skip
    share = totals.repairable_share
    mended = f"{share:.0%} of the schema violations can be mended from the error alone" if share is not None else ""
    return Text("; ".join(part for part in (f"{totals.probes} calls graded", *endings, mended) if part))


def _print_worse(console: Console, report: Report) -> None:
    worse = report.worse or ()
    console.print()
    console.print(Text(f"{len(worse)} worse than the baseline", "bold red"))
    for one in worse[:_MOST_WORSE]:
        console.print(Text(f"  {one.probe}: {one.what}"))


def _print_change(console: Console, number: int, change: Change) -> None:
    console.print(Text.assemble((f"{number}. {change.title}", "bold"), (f"  +{change.gain:g}", "green")))
    tools = ", ".join(change.tools[:_MOST_NAMED])
    more = f" and {len(change.tools) - _MOST_NAMED} more" if len(change.tools) > _MOST_NAMED else ""
    console.print(Padding(Text(f"{change.why} For {tools}{more}."), (0, 0, 0, 3)))
    for line in change.snippet.splitlines():
        console.print(Text(f"      {line}", "cyan"), soft_wrap=True)  # code that is wrapped cannot be copied


def _print_not_probed(console: Console, report: Report) -> None:
    reasons = Counter(one.reason for one in report.not_probed)
    console.print(Text("Not sent", "bold"))
    for reason, count in reasons.most_common():
        whole = [one.tool for one in report.not_probed if one.reason == reason and one.probe is None]
        names = f" ({', '.join(whole[:_MOST_NAMED])}{', …' if len(whole) > _MOST_NAMED else ''})" if whole else ""
        console.print(Text(f"  {count}× {reason}{names}", "dim"))
