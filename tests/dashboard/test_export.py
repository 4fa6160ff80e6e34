"""Files that others open: no cell of a sheet is a formula, whatever a server wrote."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failwell.dashboard.export import as_csv, as_json

FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "|calc",
    " =1",
    "\u00a0=1",
    "\uff1d1",
    '=HYPERLINK("x")',
    "\n=1",
]


def cells(raw: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(raw.decode(), newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_a_sheet_would_evaluate_is_made_a_text(text: str) -> None:
    [_, [cell]] = cells(as_csv(["message"], [{"message": text}]))

    assert cell == f"'{text}"


def test_numbers_stay_numbers_and_nothing_stays_empty() -> None:
    raw = as_csv(["a", "b", "c", "time"], [{"a": -1.5, "b": None, "c": 3, "time": 0.25}])

    assert raw.decode().splitlines()[1] == '-1.5,"",3,"1970-01-01T00:00:00.250+00:00"'


@given(st.text())
def test_no_cell_begins_as_a_formula_and_none_breaks_out_of_its_place(text: str) -> None:
    rows = cells(as_csv(["a", "b"], [{"a": text, "b": "end"}]))

    assert len(rows) == 2
    assert len(rows[1]) == 2
    assert rows[1][1] == "end"
    assert not rows[1][0].lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))


def test_json_is_one_array_with_the_same_texts() -> None:
    rows = [{"message": '</script>"\u2028'}, {"message": None}]

    assert json.loads(as_json(rows)) == rows
