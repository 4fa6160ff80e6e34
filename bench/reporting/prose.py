"""Figures in prose come from the results: `<!--bench:ID-->1.02<!--/bench-->` holds what the row of that id came to.

`python -m bench` fills them in, and a test fails where one is out of date.
"""

import re
from pathlib import Path

from bench.judging import Verdict
from bench.reporting import words

_PLACE = re.compile(r"(<!--bench:(?P<id>[a-z0-9-]+)-->)(?P<shown>.*?)(<!--/bench-->)", re.DOTALL)


def pages(root: Path) -> list[Path]:
    """Return README and all pages but the page of results itself and decisions, which are records of their day."""
    docs = root / "docs"
    written = [path for path in docs.rglob("*.md") if path.parent.name != "decisions" and path.name != "benchmarks.md"]
    return [root / "README.md", *sorted(written)]


def ids(text: str) -> list[str]:
    """Return the ids of the rows that a text quotes."""
    return [place["id"] for place in _PLACE.finditer(text)]


def filled(text: str, verdicts: list[Verdict]) -> str:
    """Return a text with every quoted figure as it was seen last; one that was not measured stays as it is."""
    values = {verdict.id: words.number(verdict.seen) for verdict in verdicts if verdict.seen is not None}
    return _PLACE.sub(lambda place: f"{place[1]}{values.get(place['id'], place['shown'])}{place[4]}", text)


def unquoted(text: str) -> str:
    """Return a text without the figures that it quotes."""
    return _PLACE.sub("", text)
