"""What `failwell events` shows to people: records a line each, and what became of failures."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TextIO

from rich.table import Table
from rich.text import Text

from failwell.cli.panels import WIDEST, page
from failwell.redact import clean
from failwell.telemetry.record import FAILED, SUCCEEDED, Record
from failwell.telemetry.recovery import VERDICTS
from failwell.telemetry.summing import Summary

_HEADERS = ("time (UTC)", "source", "server", "tool", "kind", "code", "next", "seconds", "message")
_NUMBERS = frozenset(("seconds", "troubles", "recovered", "calls wasted", "seconds wasted"))
_COLOURS = {**dict.fromkeys(SUCCEEDED, "green"), **dict.fromkeys(FAILED, "red"), "lost": "red", "died": "red"}
_LONGEST = 200


def show(stdout: TextIO, found: Iterable[Record], *, has_header: bool = True) -> None:
    """List records, the oldest first."""
    table = _table(*_HEADERS, has_header=has_header)
    for record in found:
        table.add_row(*_cells(record))
    _print(stdout, table)


def show_summary(stdout: TextIO, found: Summary) -> None:
    """Show what became of failures, those that stay broken first, and what all sessions come to."""
    overall = found.overall
    if found.sums:
        table = _table("server", "tool", "code", "troubles", "recovered", "calls wasted", "seconds wasted", "how")
        for one in found.sums:
            table.add_row(
                _safe(one.server),
                _safe(one.tool),
                _safe(one.code),
                f"{one.troubles:,}",
                f"{one.recovered / one.troubles:.0%}",
                f"{one.calls_wasted:,}",
                f"{one.seconds_wasted:,.1f}",
                ", ".join(f"{verdict} {one.verdicts[verdict]:,}" for verdict in VERDICTS if verdict in one.verdicts),
            )
        _print(stdout, table)
        stdout.write("\n")
    rate = "no trouble" if overall.rate is None else f"{overall.rate:.0%} of troubles ended well"
    stdout.write(
        f"{overall.sessions:,} sessions, {overall.calls:,} calls, {overall.failed:,} failed; {rate}.\n"
        f"{overall.calls_wasted:,} calls and {overall.seconds_wasted:,.1f} seconds wasted,"
        f" {overall.turns_saved:,} turns saved, {overall.duplicates_prevented:,} duplicates prevented.\n"
    )


def _table(*headers: str, has_header: bool = True) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=has_header)
    for header in headers:
        table.add_column(
            header,
            no_wrap=header not in ("message", "how"),
            overflow="ellipsis",
            justify="right" if header in _NUMBERS else "left",
        )
    return table


def _print(stdout: TextIO, table: Table) -> None:
    with page(stdout) as console:
        if not stdout.isatty():
            console.width = WIDEST
        console.print(table)


def _cells(record: Record) -> Iterable[str | Text]:
    yield moment(record.time)
    yield record.source
    yield _safe(record.server)
    yield _safe(record.tool)
    yield Text(record.kind, _COLOURS.get(record.kind, "yellow"))
    yield _safe(record.code or record.type)
    yield _safe(record.decision)
    yield "" if record.elapsed is None else f"{record.elapsed:.3f}"
    yield _safe(record.message or record.reason)


def moment(seconds: float) -> str:
    """Return a time of UTC, to the second; one that no calendar knows as it is."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _safe(text: str | None) -> str:
    """Return a text that does nothing to a terminal, whoever wrote the file that it stood in."""
    return clean(" ".join((text or "").split()), _LONGEST)
