"""Tables in the docs that tests record, and compare with what they see."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "docs" / "data"
ADVICE = "write it anew: FAILWELL_TABLE=write make matrix, then python -m tools.generate_docs"

Row = dict[str, Any]


def recorded(name: str, rows: list[Row], elsewhere: Path) -> list[Row]:
    """Return what a table says of the server that these rows are of; write them first if that is wanted.

    What is to be done, the environment says: compare the table, or write it; otherwise a table *elsewhere* is written.
    """
    todo = os.environ.get("FAILWELL_TABLE", "")
    path = (DATA if todo else elsewhere) / name
    if todo != "compare":
        _write(path, rows)
    return [row for row in json.loads(path.read_text()) if _key(row) == _key(rows[0])]


def _write(path: Path, rows: list[Row]) -> None:
    """Put the rows of one server in place of its old ones; other processes may write theirs at the same time."""
    path.touch()
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        others = [row for row in json.loads(file.read() or "[]") if _key(row) != _key(rows[0])]
        text = json.dumps(sorted(others + rows, key=lambda row: (*_key(row), row["failure"])), indent=1)
        file.seek(0)
        file.truncate()
        file.write(text + "\n")


def _key(row: Row) -> tuple[str, str, str]:
    return row["version"], row["server"], row["era"]
