"""The page that shows how well real servers fail, as they are and behind the proxy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "check.json"

_INTRODUCTION = """\
# How well real servers fail

How servers from PyPI and npm score in `failwell check`: on their own, behind `failwell proxy`, and behind the "strict
proxy", `failwell proxy --validate --flip-unflagged '*'`, which also refuses wrong arguments and treats error texts that
are sent as successes as errors. `python -m tools.check_real_servers` measures them again.

**Unflagged** failures are sent as successes. **Repairable** is the share of wrong calls that an agent with failwell
could correct from the error alone.

| server | tools | calls | score | unflagged | repairable | proxy: score | unflagged | repairable \
| strict proxy: score | unflagged | repairable |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
_NOTES = """
The plain proxy improves every server that flags its errors, and the strict proxy the others too. Most points still
lost are for calls to a tool that doesn't exist, which a server answers with something else.
"""


def page() -> str:
    """Return the page."""
    rows = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return _INTRODUCTION + "\n".join(map(_row, rows)) + "\n" + _NOTES


def _row(row: dict[str, Any]) -> str:
    cells = [f"`{row['server']}`", str(row["tools"]), str(row["before"]["calls"])]
    for way in ("before", "proxy", "strict proxy"):
        cells += _cells(row[way])
    return f"| {' | '.join(cells)} |"


def _cells(figures: dict[str, Any]) -> Iterator[str]:
    yield "-" if figures["score"] is None else f"{figures['score']:g} {figures['grade']}"
    yield str(figures["unflagged"])
    yield "-" if figures["repairable"] is None else f"{figures['repairable']:.0%}"
