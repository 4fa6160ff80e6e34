"""The page that shows what clients get from servers, from what the tests of the matrix recorded."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "servers.json"
_LONGEST_CELL = 200

_INTRODUCTION = """\
# What a client gets, without and with failwell

Generated from `docs/data/servers.json`, which `make matrix` compares with real servers and clients of every SDK below.
With `fw.protect(server)` a failure looks the same wherever it happens, so it is shown once; the table below it has what
the same server answers without that line. Secrets that the tests planted are written as `<a secret>`. Low-level servers
are those that register their own handlers; "modern" is the protocol of 2026-07-28, without a handshake.
"""


def page() -> str:
    """Return the page."""
    rows = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return _INTRODUCTION + "\n".join(_sections(rows)) + "\n"


def _sections(rows: list[dict[str, Any]]) -> Iterator[str]:
    by_failure = sorted(rows, key=lambda row: str(row["failure"]))
    for failure, of_failure in groupby(by_failure, key=lambda row: str(row["failure"])):
        found = list(of_failure)
        yield f"\n## {failure[0].upper()}{failure[1:]}\n"
        for answer in sorted({row["with"] for row in found}):
            yield f"```text\n{answer}\n```\n"
        yield "| without failwell | where |\n|---|---|"
        for answer in sorted({row["without"] for row in found}):
            where = sorted({_server(row) for row in found if row["without"] == answer})
            yield f"| {_cell(answer)} | {', '.join(where)} |"


def _server(row: dict[str, Any]) -> str:
    level = " low level" if row["server"] == "lowlevel" else ""
    era = " modern" if row["era"] == "modern" else ""
    return f"{row['sdk']} {row['version']}{level}{era}"


def _cell(answer: str) -> str:
    line = " ".join(answer.split())
    if len(line) > _LONGEST_CELL:
        line = line[:_LONGEST_CELL].rstrip() + " …"
    return f"`{line.replace('|', chr(92) + '|').replace('`', chr(39))}`"
