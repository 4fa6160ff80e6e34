"""The page of limits states the bounds that hold."""

from pathlib import Path

import pytest

from failwell.proxy import bounds
from failwell.redact import json_value
from failwell.schema import complexity, validator

pytestmark = pytest.mark.table

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "bounds.md").read_text()


@pytest.mark.parametrize(
    ("row", "stated"),
    [
        ("a line over standard input or output", f"{bounds.MAX_LINE >> 20} MiB"),
        ("a message that a proxy decodes in full", f"{bounds.MAX_DECODED >> 20} MiB"),
        ("a call that the proxy can make again", f"{bounds.MAX_RETRIED_CALL >> 20} MiB"),
        ("calls kept until they are answered", f"{bounds.MAX_KEPT_CALLS >> 20} MiB"),
        ("unanswered requests of one proxied session", f"{bounds.MAX_PENDING:,}"),
        ("what a proxy redacts", f"{json_value.MOST_CHARACTERS:,} characters"),
        ("a schema that arguments are checked against", f"{complexity.MOST_SCHEMA_VALUES:,} values"),
        ("a schema that arguments are checked against", f"{complexity.DEEPEST} levels"),
        ("a schema that arguments are checked against", f"{complexity.MOST_PATTERNS} patterns"),
        ("a schema that arguments are checked against", f"{complexity.MOST_IN_PLACE:,} parts"),
        ("work for checking one call", f"{validator.MOST_STEPS:,} steps"),
        ("work for checking one call", f"{validator.MOST_STEPS_EXPLAINED:,} to say"),
        ("work for checking one call", f"{validator.MOST_BACKTRACKS:,} backtracking steps"),
        ("work for checking one call", f"{validator.MOST_PATTERNED_VALUES} values"),
        ("work for checking one call", f"{validator.MOST_PATTERNED_CHARACTERS:,} characters"),
    ],
)
def test_a_bound_is_stated_as_it_is(row: str, stated: str) -> None:
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {row}")]

    assert stated in line
