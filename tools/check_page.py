"""The page that shows how well real servers fail, as they are and behind the proxy."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.proxy import next_steps

_RECORDED = Path(__file__).parent.parent / "docs" / "data" / "check.json"

_INTRODUCTION = """\
# How well real servers fail

How servers from PyPI and npm score in `failwell check`: on their own, behind `failwell proxy`, and behind the "strict
proxy", `failwell proxy --validate --flip-unflagged '*'`, which also refuses wrong arguments and treats error texts that
are sent as successes as errors. `python -m tools.check_real_servers` measures them again.

**Unflagged** failures are sent as successes. **Repairable** is the share of wrong calls that an agent with failwell
could correct from the error alone.

| server | tools | calls | score | unflagged | repairable | proxy: score | unflagged | repairable \
| strict proxy: score | unflagged | repairable |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""
_ANSWERS = """
## What the proxy makes of their answers

Answers to failing calls were labelled by hand from the call, the tool's schema and the server's text: which types are
right, the arguments at fault, and the next step that an expert would give. **Types** and **arguments** are the shares
of what the proxy claims that are right. **Next step** is the share of answers that give a right one, whether the server
said it or the proxy added it. **Less** counts the texts that lost a word of the server, other than a link to the
validator's website. `tests/proxy/next_steps.py` measures them again.

Rules were written with the servers recorded first, and eleven of those recorded later had been tried with the proxy.
The servers kept back were read last. At that first reading, 95 % of the blamed arguments were right; the one mistake, a
folder blamed for a note in it, was corrected afterwards. Of the servers recorded first, 22 were called again with other
wrong calls, and six new servers were called once. Of the new ones, `linear-mcp-server` is misread: its SDK rejects what
the tool returned with the error for wrong arguments, -32602.

| | servers | answers | understood | types | arguments | next step | less |
|---|---:|---:|---:|---:|---:|---:|---:|
"""
_NOTES = """
The plain proxy improves every server that flags its errors, and the strict proxy the others too. Most points still
lost are for calls to a tool that doesn't exist, which a server answers with something else.
"""


def page() -> str:
    """Return the page."""
    rows = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return _INTRODUCTION + "\n".join(map(_row, rows)) + "\n" + _NOTES + _ANSWERS + "\n".join(_answers()) + "\n"


def _answers() -> Iterator[str]:
    groups = {
        "recorded first": next_steps.answers(),
        "recorded later": next_steps.further_answers(kept_back=False),
        "kept back": next_steps.further_answers(kept_back=True),
        "called again": next_steps.answers_again(is_new=False),
        "new": next_steps.answers_again(is_new=True),
    }
    for name, answers in groups.items():
        found = next_steps.figures(answers)
        shares = (found.claimed, found.types, found.fields, found.steps)
        cells = [name, str(found.servers), str(found.answers), *(f"{share:.1%}" for share in shares), str(found.lost)]
        yield f"| {' | '.join(cells)} |"


def _row(row: dict[str, Any]) -> str:
    cells = [f"`{row['server']}`", str(row["tools"]), str(row["before"]["calls"])]
    for way in ("before", "proxy", "strict proxy"):
        cells += _cells(row[way])
    return f"| {' | '.join(cells)} |"


def _cells(figures: dict[str, Any]) -> Iterator[str]:
    yield "-" if figures["score"] is None else f"{figures['score']:g} {figures['grade']}"
    yield str(figures["unflagged"])
    yield "-" if figures["repairable"] is None else f"{figures['repairable']:.0%}"
