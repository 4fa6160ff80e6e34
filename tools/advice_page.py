"""The page of what agents are told: every code with the next step, for each kind of tool."""

from collections import defaultdict
from collections.abc import Iterator

import failwell as fw
from failwell.advice import advised

_INTRODUCTION = """\
# What the model reads

The next step for every code, and the exact sentence that failwell adds for the model. Guards, protected servers and the
proxy add it to failures without a suggestion of their own.

`decide` chooses the action, which depends on what is known about the tool. No sentence asks for another call while it
is unknown whether the first one took effect, unless the tool is read-only or idempotent. If the message, its fields or
its delay already say enough, no sentence is added, and the cell shows the action alone. Nothing is added either to a
text that was understood with little confidence.

| codes | any tool | a read-only tool | an idempotent tool |
|---|---|---|---|
"""
_TOOLS = (None, fw.Hints(read_only=True), fw.Hints(idempotent=True))


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    codes = defaultdict[tuple[str, ...], list[str]](list)
    for row in fw.codes.rows():
        failure = fw.Failure(code=row.code, message=f"{row.title}.")
        cells = tuple(_cell(failure, hints) for hints in _TOOLS)
        codes[cells].append(f"[{row.code}](codes.md#{row.code.lower()})")
    for (first, *others), found in codes.items():
        cells = (first, *("same" if cell == first else cell for cell in others))
        yield f"| {', '.join(found)} | {' | '.join(cells)} |"


def _cell(failure: fw.Failure, hints: fw.Hints | None) -> str:
    sentence = advised(failure, hints).suggestion
    return f"**{fw.decide(failure, hints).action}**" + (f": {sentence}" if sentence else "")
