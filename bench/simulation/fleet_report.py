"""What the simulation of a fleet found, as a table for fleet.md beside it."""

import json
from typing import Any

from bench.simulation import report
from bench.simulation.drawing import picture
from bench.simulation.fleet import compare

DATA, PICTURE = report.DOCS / "data" / "fleet.json", report.DOCS / "data" / "fleet.svg"
PAGE = report.PAGE.with_name("fleet.md")
PROXIES, FEW_PROXIES = 1000, 50

COLUMNS: report.Columns = {
    "calls": ("calls that ended", "{:,}"),
    "succeeded": ("succeeded", "{:.1%}"),
    "tries": ("tries at the server", "{:,}"),
    "peak": ("peak per second", "{:,}"),
    "tries_while_failing": ("tries while it failed", "{:,}"),
    "mean_wait": ("mean wait", "{:.1f} s"),
    "duplicates": ("side effects run twice", "{:,}"),
    "asked_per_second": ("round trips per second", "{:,.0f}"),
}


def measure() -> dict[str, Any]:
    """Return what happens with all proxies, and with the few that tests can wait for."""
    return {"full": compare(PROXIES), "short": compare(FEW_PROXIES)}


def table(found: dict[str, Any]) -> str:
    """Return one row for each kind of proxy."""
    return report.table(found, COLUMNS)


def page(text: str, found: dict[str, Any]) -> str:
    """Return the page with its table replaced."""
    return report.page(text, found, COLUMNS)


def write() -> None:
    """Measure, and write the figures, the picture and the table."""
    found = measure()
    DATA.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    PICTURE.write_text(picture(found["full"]), encoding="utf-8")
    if PAGE.exists():
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found["full"]), encoding="utf-8")
