"""Scores from 0 to 100, and their letters."""

import math
from collections.abc import Iterable

from failwell.check.report import Graded, ProbeResult, ToolReport

_LETTERS = ((90.0, "A"), (75.0, "B"), (60.0, "C"), (40.0, "D"), (0.0, "F"))


def score(grades: Iterable[Graded]) -> float | None:
    """Return the share of the weights that was reached; None if there is nothing to weigh."""
    grades = tuple(grades)
    total = sum(graded.weight for graded in grades)
    return _rounded(100 * sum(graded.weight for graded in grades if graded.passed) / total) if total else None


def tool_score(probes: Iterable[ProbeResult]) -> float | None:
    """Return the score of a tool: of all grades of all its probes together."""
    return score(graded for probe in probes for graded in probe.grades)


def server_score(tools: Iterable[ToolReport]) -> float:
    """Return the score of a server: the mean of its tools, however often each was provoked."""
    return mean(tool.score for tool in tools)


def mean(scores: Iterable[float | None]) -> float:
    """Return the mean of the scores that there are; 0 if there is none."""
    known = [value for value in scores if value is not None]
    return _rounded(sum(known) / len(known)) if known else 0.0


def letter(value: float) -> str:
    """Return the letter of a score, from A to F."""
    return next(name for least, name in _LETTERS if value >= least)


def _rounded(value: float) -> float:
    """Return a score with one decimal, rounded down: 100 is only what is perfect."""
    return math.floor(round(value * 10, 6)) / 10
