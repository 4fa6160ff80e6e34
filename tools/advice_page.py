"""The page of what agents are told: every code with the next step, for each kind of tool."""

from collections.abc import Iterator

import failwell as fw
from failwell.advice import advised

_INTRODUCTION = """\
# What the agent is told

This page lists the exact sentence that a model gets for every code, by what is known of the tool. Guards, protected
servers and the proxy add it to a failure whose author gave no suggestion of their own.

`decide` chooses the action, and each sentence is worded from it. No sentence asks for another call while it is unknown
whether the first one took effect, unless the tool is read-only or idempotent. The sentences hold no values, so a client
that uses failwell recognises them and gives its own advice for its own attempt and policy.

Only what a model cannot see for itself is said. Where the message, its fields or its delay say enough, the cell holds
the action alone. The page shows failures that an author raised; two others get no sentence at all:

- what was read from plain text with little confidence: the server's own text stands alone;
- what a rule mapped to a code whose operation had no effect, such as a refused connection, in a tool that may have done
  something else before: nothing suggests that it did.

| code | a tool that nothing is known of | a read-only tool | an idempotent tool |
|---|---|---|---|
"""
_TOOLS = (None, fw.Hints(read_only=True), fw.Hints(idempotent=True))


def page() -> str:
    """Return the page."""
    return _INTRODUCTION + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for row in fw.codes.rows():
        failure = fw.Failure(code=row.code, message=f"{row.title}.")
        cells = [_cell(failure, hints) for hints in _TOOLS]
        others = ("the same" if cell == cells[0] else cell for cell in cells[1:])
        yield f"| [{row.code}](codes.md#{row.code.lower()}) | {' | '.join((cells[0], *others))} |"


def _cell(failure: fw.Failure, hints: fw.Hints | None) -> str:
    sentence = advised(failure, hints).suggestion
    return f"**{fw.decide(failure, hints).action}**" + (f": {sentence}" if sentence else "")
