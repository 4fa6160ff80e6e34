"""Run every benchmark, print one table, write the figures beside it as JSON."""

import importlib
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.measure import Figure

SUITES = (
    "imports",
    "values",
    "dialects",
    "redaction",
    "validation",
    "guards",
    "flat_text",
    "retries",
    "servers",
    "clients",
    "proxy",
    "check",
)
RESULTS = Path(__file__).parent / "results.json"


def main(names: list[str]) -> int:
    """Run the named suites, or all of them."""
    unknown = set(names) - set(SUITES)
    if unknown:
        print(f"unknown suite {', '.join(sorted(unknown))}: choose from {', '.join(SUITES)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    scores: list[dict[str, Any]] = []
    progress = Console(stderr=True)
    for name in names or SUITES:
        progress.print(f"measuring {name} …")
        suite = importlib.import_module(f"bench.{name}")
        figures += suite.run()
        scores += suite.scores() if hasattr(suite, "scores") else ()
    Console(width=None if sys.stdout.isatty() else 110).print(table(figures))
    if scores:
        Console(width=None if sys.stdout.isatty() else 110).print(score_table(scores))
    RESULTS.write_text(
        json.dumps(
            {"machine": machine(), "figures": [as_row(figure) for figure in figures], "scores": scores}, indent=1
        )
    )
    progress.print(
        f"written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS.name}"
    )
    return 0


def table(figures: list[Figure]) -> Table:
    """Return the figures as one table."""
    found = Table(title="Processor time, best of several rounds taken in turns")
    for column in ("what", "µs", "beside", "µs ", "ratio", "goal"):
        found.add_column(column, justify="left" if column in ("what", "beside") else "right")
    for figure in figures:
        found.add_row(
            figure.what,
            f"{figure.microseconds:,.2f}",
            figure.beside,
            f"{figure.beside_microseconds:,.2f}",
            f"{figure.ratio:.2f}",
            verdict(figure),
        )
    return found


def score_table(scores: list[dict[str, Any]]) -> Table:
    """Return who was right how often, as one table."""
    columns = list(dict.fromkeys(name for score in scores for name in score))
    found = Table(title="Real failures of real servers: shares of all")
    for column in columns:
        found.add_column("" if column == "who" else column, justify="left" if column == "who" else "right")
    for score in scores:
        found.add_row(*(str(score.get(column, "")) for column in columns))
    return found


def verdict(figure: Figure) -> str:
    """Return the goal, marked if it was missed."""
    if figure.goal is None:
        return ""
    return figure.goal if is_met(figure) else f"[red]{figure.goal} missed[/red]"


def is_met(figure: Figure) -> bool:
    """Return whether the ratio keeps its goal."""
    return figure.goal is None or figure.ratio <= float(figure.goal.removeprefix("≤"))


def as_row(figure: Figure) -> dict[str, object]:
    """Return a figure for the JSON file."""
    return {**msgspec.structs.asdict(figure), "ratio": round(figure.ratio, 3), "met": is_met(figure)}


def machine() -> dict[str, str]:
    """Return what the figures were measured on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "msgspec": msgspec.__version__,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
