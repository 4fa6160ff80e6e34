"""Texts of a server as reports show them: without secrets, with nothing hidden in them, and not without end."""

import json
from typing import Any

from failwell._docs import docs_address
from failwell.redact.scrubber import scrub

LONGEST = 20_000
"""The number of characters that are shown of one text."""

_LAYOUT = "\n\t"


def safe_text(text: str, limit: int = LONGEST) -> str:
    """Return *text* without secrets, its invisible characters spelled out, and cut where it is too long."""
    safe = visible(scrub(text[: 2 * limit]))
    left = len(safe) - limit + max(len(text) - 2 * limit, 0)
    return safe if left <= 0 else f"{safe[:limit]}… ({left:,} more characters)"


def visible(text: str) -> str:
    r"""Return *text* with each character that nobody sees, or that changes how others are seen, as in `\u202e`."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in _LAYOUT else f"\\u{ord(one):04x}" for one in text)


def as_json(value: Any) -> str:
    """Return a JSON value for people."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def grade_address(grade: str) -> str:
    """Return the address of the page that explains a grade."""
    return f"{docs_address()}/reference/grades.md#{grade}"


def in_words(name: str) -> str:
    """Return the name of a grade or a probe as words."""
    return name.replace("_", " ")


def number(score: float | None) -> str:
    """Return a score with one decimal where it is not whole; a dash for none."""
    return "–" if score is None else f"{score:.1f}".removesuffix(".0")


def count_text(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its word."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
