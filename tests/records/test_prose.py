"""The pages on records and recovery name what the code has."""

import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

from failwell.records import Record, RecordedFailure, Recovery, recovery

DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str, head: str) -> list[list[str]]:
    """Return the cells of the table with this head."""
    text = (DOCS / page).read_text(encoding="utf-8")
    body = text.partition(f"\n| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [line.strip("| ").split(" | ") for line in body]


def words(cells: list[list[str]]) -> list[str]:
    return [word for cell in cells for word in re.findall(r"`(\w+)`", cell[0])]


def is_recovery(verdict: Any) -> bool:
    about: Any = dict.fromkeys(("session", "source", "server", "tool", "code", "type"), "")
    return RecordedFailure(**about, verdict=verdict, began=0.0, ended=0.0, calls=1).has_recovered


def test_the_page_names_every_field_and_every_kind() -> None:
    assert sorted(words(rows("howto/events.md", "field | what it contains"))) == sorted(Record.__struct_fields__)
    assert sorted(words(rows("howto/events.md", "kind | what happened"))) == sorted(
        get_args(get_type_hints(Record)["kind"])
    )


def test_the_page_names_every_verdict_and_says_which_are_recoveries() -> None:
    table = rows("howto/recovery.md", "verdict | what happened | recovered?")

    verdicts = list(recovery([]).verdicts)
    assert words(table) == verdicts
    assert [cell[-1] == "yes" for cell in table] == [is_recovery(verdict) for verdict in verdicts]


def test_every_figure_on_the_page_is_one_of_the_summary() -> None:
    named = words(rows("howto/recovery.md", "figure | what it counts"))

    assert named
    assert all(hasattr(Recovery, name) for name in named)
