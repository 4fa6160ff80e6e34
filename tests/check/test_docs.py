"""The page agrees with the tables, and what was recorded of real servers holds what is promised."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from failwell.check.grades import GRADES
from failwell.check.probes.table import ROWS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "howto" / "check.md").read_text(encoding="utf-8")
RECORDED = json.loads((DOCS / "data" / "check.json").read_text(encoding="utf-8"))


def test_every_probe_is_in_the_page_in_its_order() -> None:
    section = PAGE.partition("## Probes")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*(row.name for row in ROWS), "own"]


def test_every_grade_is_in_the_page_of_grades_with_its_weight() -> None:
    page = (DOCS / "reference" / "grades.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+) \| (.+) \|$", page, re.MULTILINE)

    assert found == [(grade.name, grade.channel, str(grade.weight), grade.title) for grade in GRADES]


def test_at_least_ten_servers_more_than_the_first_eighteen_are_recorded() -> None:
    assert len(RECORDED) >= 28


# They answer a call of a tool that does not exist with something else, which the proxy can't know to be an error.
ANSWER_FOR_UNKNOWN_TOOLS = ("mcp-ripgrep", "mcp-server-duckdb")


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["server"])
def test_a_real_server_gains_behind_the_proxy(row: dict[str, Any]) -> None:
    before, after = row["before"], row["strict proxy"]

    assert after["score"] > before["score"]
    assert after["score"] >= (75 if row["server"] in ANSWER_FOR_UNKNOWN_TOOLS else 85)
    assert after["repairable"] >= 0.95
    assert after["unflagged"] == 0
