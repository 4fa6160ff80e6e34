"""The page that shows how well real servers fail, as they are and behind the proxy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "check.json"

_INTRODUCTION = """\
# How well real servers fail

Servers from PyPI and npm, started for real and checked with `failwell check`: as they are, behind `failwell proxy`, and
behind `failwell proxy --validate --flip-unflagged '*'`, which also refuses wrong arguments itself and takes error texts
that a server sends as a success for what they are. Generated from `docs/data/check.json`, which
`python -m tools.check_real_servers` writes.

Unflagged are failures that are sent as a success. Repairable is the share of calls that break the tool's schema which
an agent could mend from the error alone, if it reads errors as failwell does.

| server | tools | calls | score | unflagged | repairable | proxy: score | unflagged | repairable \
| strict proxy: score | unflagged | repairable |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
_NOTES = """
The plain proxy raises every server that flags its errors; only the operator may call a success an error, and with that
the strict proxy raises the others too. What is left to lose is mostly a call of a tool that does not exist, where a
server answers something else.
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
