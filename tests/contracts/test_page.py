"""The page for users of the contracts lists the differences that tests show, and no others."""

import importlib
import re
from pathlib import Path

import pytest

from tests.contracts.differences import DIFFERENCES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "contracts.md"


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "meta", "xml"])
def test_the_page_lists_the_differences_that_are_shown(dialect: str) -> None:
    importlib.import_module(f"tests.contracts.test_{dialect}")
    section = PAGE.read_text(encoding="utf-8").partition(f"## For users of {dialect}:")[2].partition("\n## ")[0]

    rows = set(re.findall(r"^\| (.+) \| .+ \|$", section, re.MULTILINE)) - {"what differs"}

    assert rows == DIFFERENCES[dialect]
