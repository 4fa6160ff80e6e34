"""All figures as one table for a terminal."""

from rich.table import Table
from rich.text import Text

from bench.judging import Verdict
from bench.reporting import words

_STYLES = {"met": "green", "missed": "bold red", "": ""}


def table(verdicts: list[Verdict]) -> Table:
    """Return one line for every row, by suite; where a row covers several figures, the worst counts."""
    found = Table(title="Seen and promised: × is the ratio to what stands beside it in the same run")
    for column, justify in (("suite", "left"), ("what", "left"), ("seen", "right"), ("goal", "right"), ("", "left")):
        found.add_column(column, justify=justify)  # type: ignore[arg-type]  # rich names the four words
    last = None
    for verdict in verdicts:
        if last not in (None, verdict.suite):
            found.add_section()
        mark = words.mark(verdict)
        found.add_row(
            "" if verdict.suite == last else verdict.suite,
            Text(verdict.row.says.replace("`", "")),
            words.seen(verdict),
            words.goal(verdict),
            Text(mark, style=_STYLES[mark]),
        )
        last = verdict.suite
    return found
