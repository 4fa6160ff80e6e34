"""What is recorded: real failures and successes, the published vectors, and recorded sessions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.golden import api

DATA = Path(__file__).parents[1] / "data"

Row = dict[str, Any]


def failures() -> Iterator[tuple[str, Row]]:
    """Yield real failures of real servers, by name."""
    for corpus in ("dev", "dev2"):
        for row in rows(f"corpus/{corpus}.jsonl"):
            yield f"{corpus}/{row['id']}", row


def successes() -> Iterator[tuple[str, Row]]:
    """Yield honest results of real servers, by name, in the form that failures have."""
    for row in rows("corpus/successes.jsonl"):
        yield f"success/{row['id']}", row
    for number, row in enumerate(rows("successes.jsonl"), 1):
        yield f"success/{row['server']}-{number}", {**row, "raw": row["result"]}


def repairs() -> Iterator[tuple[str, Row]]:
    """Yield failed calls with wrong arguments, by name, in the form that failures have."""
    for number, row in enumerate(rows("repairs.jsonl"), 1):
        yield f"repair/{row['server']}-{number}", {**row, "raw": row["answer"], "inputSchema": row["schema"]}


def sessions() -> Iterator[tuple[str, Row]]:
    """Yield the failures that recorded sessions tell of, as results of calls."""
    for path in sorted((DATA / "sessions").glob("*.jsonl")):
        for number, record in enumerate(rows(f"sessions/{path.name}"), 1):
            if "failure" in record:
                block = {"type": "text", "text": record.get("text") or record["message"]}
                for form, meta in (("text", {}), ("whole", {api.META: record["failure"]})):
                    yield (
                        f"session/{path.stem}-{number}-{form}",
                        {"raw": {"content": [block], "isError": True, "_meta": meta}, "tool": record["tool"]},
                    )


def vectors() -> Iterator[tuple[str, str, Row]]:
    """Yield the published vectors: name, dialect, and what is encoded or read."""
    for dialect in api.DIALECTS:
        for key, found in json.loads((DATA / "vectors" / f"{dialect}.json").read_text()).items():
            if isinstance(found, list):
                for number, vector in enumerate(found, 1):
                    if isinstance(vector, dict):
                        yield f"{dialect}/{key}-{number}", dialect, vector


def rows(name: str) -> list[Row]:
    """Return the lines of a file; `raw` is parsed where it is a line of JSON."""
    found = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    for row in found:
        if isinstance(row.get("raw"), str):
            row["raw"] = json.loads(row["raw"])
    return found
