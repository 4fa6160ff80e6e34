"""The page agrees with the tables, and what was recorded of real servers holds what is promised."""

import json
import re
from pathlib import Path

import pytest

from failwell.check.grades import GRADES
from failwell.check.probes.table import ROWS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "check.md").read_text(encoding="utf-8")
RECORDED = json.loads((DOCS / "data" / "check.json").read_text(encoding="utf-8"))


def test_every_probe_is_in_the_page_in_its_order() -> None:
    section = PAGE.partition("## Probes")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*(row.name for row in ROWS), "own"]


def test_every_grade_is_in_the_page_with_its_weight() -> None:
    section = PAGE.partition("## Grades")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+) \| (.+) \|$", section, re.MULTILINE)

    assert found == [(grade.name, grade.channel, str(grade.weight), grade.title) for grade in GRADES]


def test_at_least_eight_real_servers_are_recorded() -> None:
    assert len(RECORDED) >= 8


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["server"])
def test_a_real_server_gains_behind_the_proxy(row: dict[str, dict[str, float]]) -> None:
    before, after = row["before"], row["strict proxy"]

    assert after["score"] > before["score"]
    assert after["score"] >= 85
    assert after["repairable"] >= 0.95
    assert after["unflagged"] == 0
