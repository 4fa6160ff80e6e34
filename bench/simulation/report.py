"""What the simulation found, as a table for agents.md beside it."""

import json
from pathlib import Path
from typing import Any

from bench.simulation.drawing import picture
from bench.simulation.running import compare

DOCS = Path(__file__).parents[2] / "docs"
DATA, PICTURE = DOCS / "data" / "retries.json", DOCS / "data" / "retries.svg"
PAGE = Path(__file__).with_name("agents.md")
BEGINS, ENDS = "<!-- simulation -->\n", "<!-- end of simulation -->"
AGENTS, FEW_AGENTS = 10_000, 500

Columns = dict[str, tuple[str, str]]

_COLUMNS: Columns = {
    "calls": ("calls that ended", "{:,}"),
    "succeeded": ("succeeded", "{:.1%}"),
    "tries": ("tries at the server", "{:,}"),
    "peak": ("peak per second", "{:,}"),
    "tries_while_failing": ("tries while it failed", "{:,}"),
    "mean_wait": ("mean wait", "{:.1f} s"),
    "p95_wait": ("95 % wait at most", "{:.1f} s"),
    "tries_of_wrong_input": ("wrong input sent again", "{:,}"),
    "duplicates": ("side effects run twice", "{:,}"),
}


def measure() -> dict[str, Any]:
    """Return what happens with all agents, and with the few that tests can wait for."""
    return {"full": compare(AGENTS), "short": compare(FEW_AGENTS)}


def table(found: dict[str, Any], columns: Columns = _COLUMNS) -> str:
    """Return one row for each client."""
    head = ["", *(title for title, _ in columns.values())]
    rows = [
        [name, *(form.format(client[key]) for key, (_, form) in columns.items())]
        for name, client in found["clients"].items()
    ]
    rule = ["---", *("---:" for _ in columns)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def page(text: str, found: dict[str, Any], columns: Columns = _COLUMNS) -> str:
    """Return the page with its table replaced."""
    before, begins, rest = text.partition(BEGINS)
    _, ends, after = rest.partition(ENDS)
    if not (begins and ends):
        raise ValueError(f"the page has no place for the table: {BEGINS.strip()} … {ENDS}")
    return f"{before}{BEGINS}\n{table(found, columns)}\n{ENDS}{after}"


def write() -> None:
    """Measure, and write the figures, the picture and the table."""
    found = measure()
    DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(found["full"]), encoding="utf-8")
    if PAGE.exists():
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found["full"]), encoding="utf-8")
