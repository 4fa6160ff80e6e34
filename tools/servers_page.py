"""The page that shows what clients get from servers, from what the tests of the matrix recorded."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent.parent / "docs" / "data"
_LONGEST_CELL = 70

_INTRODUCTION = """\
# What clients receive

What a client gets when something fails on a bare server, and on the same server after `fw.protect(server)`, for each
SDK.

The tests record this with real servers and clients. A "low level" server registers its own handlers; "modern" is the
protocol version 2026-07-28, which has no handshake.

## Everything that can fail

The worst answer that a client gets from a bare server. With `fw.protect(server)`, every answer is **structured**, or
the call is **cancelled**:

- **leaks**: the text of an exception, including the secret in it
- **no answer**: nothing, until the client gives up
- **success**: no sign of the failure
- **text**: words for a person, or just a number
- **structured**: the whole failure, redacted
- **cancelled**: no answer to a call that the client cancelled, as the protocol requires

A dash means that the SDK doesn't have this feature.
"""

_ERAS = """
## Both protocol versions

Results that aren't failures pass unchanged, and failures are structured, whichever protocol version client and server
agreed on: on a protected server, in an agent with a wrapped session, and behind the proxy. Before 2026-07-28, a server
couldn't ask for input in its result, so its SDK answers with an error. The proxy rewrites the answers to calls. What a
server reports about a task later passes unchanged.
"""
_TEXTS = """
## The text of each failure

The answer that most of these servers send, without and with `fw.protect(server)`. `<a secret>` is a secret that the
tests planted. Long texts are cut.

| failure | without failwell | with failwell |
|---|---|---|"""
_PARTS = ("a tool that asks for input", "the handle of a task", "a task that failed")

_WHATS = (
    "tool", "task", "resource", "prompt", "completion", "elicitation", "sampling", "output", "encoding", "timeout",
    "cancel",
)  # fmt: skip
_WORST_FIRST = ("leaks", "no answer", "success", "text", "cancelled", "structured")


def page() -> str:
    """Return the page."""
    rows, eras = (json.loads((_DATA / name).read_text(encoding="utf-8")) for name in ("servers.json", "eras.json"))
    return _INTRODUCTION + "\n".join((*_summary(rows), _ERAS, *_eras(eras), _TEXTS, *_texts(rows))) + "\n"


def _summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"\n| | {' | '.join(_WHATS)} |\n|---|{'---|' * len(_WHATS)}"
    for server in sorted({_server(row) for row in rows}):
        of_server = [row for row in rows if _server(row) == server]
        cells = (_before_and_after([row for row in of_server if row["what"] == what]) for what in _WHATS)
        yield f"| {server} | {' | '.join(cells)} |"


def _eras(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"| | side | {' | '.join(_PARTS)} |\n|---|---|{'---|' * len(_PARTS)}"
    servers = defaultdict[tuple[str, ...], list[str]](list)
    for side in ("server", "agent", "proxy"):
        for server in sorted({_server(row) for row in rows}):
            found = {row["what"]: row["verdict"] for row in rows if (_server(row), row["side"]) == (server, side)}
            servers[side, *(found.get(part, "–") for part in _PARTS)].append(server)
    yield from (f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in servers.items())


def _before_and_after(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "–"
    before, after = (min((row[name] for row in rows), key=_WORST_FIRST.index) for name in ("bare", "protected"))
    return before if after in ("structured", "cancelled") else f"{before} → {after}"


def _texts(rows: list[dict[str, Any]]) -> Iterator[str]:
    by_failure = sorted(rows, key=lambda row: str(row["failure"]))
    for failure, of_failure in groupby(by_failure, key=lambda row: str(row["failure"])):
        found = list(of_failure)
        bare = Counter(row["without"] for row in found).most_common(1)[0][0]
        protected = Counter(row["with"] for row in found).most_common(1)[0][0]
        yield f"| {failure} | {_cell(bare)} | {_cell(protected)} |"


def _server(row: dict[str, Any]) -> str:
    level = " low level" if row["server"] == "lowlevel" else ""
    era = " modern" if row["era"] == "modern" else ""
    return f"{row['sdk']} {row['version']}{level}{era}"


def _cell(answer: str) -> str:
    line = " ".join(answer.split())
    if len(line) > _LONGEST_CELL:
        line = line[:_LONGEST_CELL].rstrip() + " …"
    return f"`{line.replace('|', chr(92) + '|').replace('`', chr(39))}`"
