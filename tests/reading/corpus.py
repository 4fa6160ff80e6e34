"""Real failures of real servers, and how well a reader does on them: data in `tests/data`, shared with the benchmark.

The failures were labelled by two readers; `category_ok` lists every right answer. What counts is how rules do on
servers that are not here, so `cross_validated` leaves whole servers out.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

import failwell as fw
from failwell.phrases import texts
from failwell.reading import classifier
from failwell.reading.context import Context
from failwell.reading.flat_text import deciding_phrase

DATA = Path(__file__).parents[1] / "data"
CERTAIN = 0.7
"""Below this confidence a reader does not claim to know."""

Row = dict[str, Any]


class Answer(Struct, frozen=True):
    """What a reader says of one failure."""

    type: str | None = None
    retryable: bool | None = None
    confidence: float = 0.0
    fields: frozenset[str] = frozenset()


class Score(Struct, frozen=True):
    """Shares of all failures, unless said otherwise."""

    right: float
    answered: float
    unsafe: int
    precision: float  # of the arguments that are blamed
    recall: float  # of the arguments at fault, where somebody labelled them
    found: float  # of those that were not flagged


class Bucket(Struct, frozen=True):
    """Answers of about the same confidence: how many, and how many of them are right."""

    at_least: float
    answers: int
    right: int

    @property
    def share(self) -> float:
        return self.right / self.answers


@cache
def failures() -> tuple[Row, ...]:
    """All recorded failures."""
    return first_failures() + _rows("corpus/dev2.jsonl")


@cache
def first_failures() -> tuple[Row, ...]:
    """Those of the first recording, for which most rules were written."""
    return _rows("corpus/dev.jsonl")


@cache
def error_texts() -> tuple[Row, ...]:
    return _rows("error_texts.jsonl")


MEANINGS = {
    "not found": "NOT_FOUND",
    "denied": "PERMISSION",
    "invalid": "VALIDATION",
    "required": "VALIDATION",
    "timed out": "TRANSIENT",
    "unavailable": "TRANSIENT",
    "too many": "TRANSIENT",
    "already exists": "CONFLICT",
    "internal error": "INTERNAL",
}
"""What is said in each language, and the type that it means."""


@cache
def translations() -> tuple[Row, ...]:
    return tuple(row | {"type": MEANINGS[row["meaning"]]} for row in _rows("translations.jsonl"))


@cache
def labelled_texts() -> tuple[Row, ...]:
    """Texts of servers that nobody has written, in as many wordings as possible: the classifier learns from them."""
    return _rows("labelled_texts.jsonl")


@cache
def unseen_texts() -> tuple[Row, ...]:
    """Texts of the same kind, by other authors, that nothing was learned from."""
    return _rows("unseen_texts.jsonl")


@cache
def successes() -> tuple[Row, ...]:
    return _rows("successes.jsonl")


@cache
def recorded_successes() -> tuple[Row, ...]:
    return _rows("corpus/successes.jsonl")


@cache
def repairs() -> tuple[Row, ...]:
    return _rows("repairs.jsonl")


def _rows(name: str) -> tuple[Row, ...]:
    rows = [json.loads(line) for line in (DATA / name).read_text().splitlines()]
    for row in rows:
        if isinstance(row.get("raw"), str):
            row["raw"] = json.loads(row["raw"])
    return tuple(rows)


def known(row: Row) -> dict[str, Any]:
    """What a client knows of the call beside its answer."""
    return {
        "tool": row["tool"],
        "arguments": row["arguments"],
        "input_schema": row.get("inputSchema"),
        "annotations": row.get("annotations"),
    }


def is_unflagged(row: Row) -> bool:
    return bool(row["signal"] == "unflagged_in_band")


def answer(row: Row) -> Answer | None:
    """What `read` says of a failure; None if it takes it for a success."""
    found = fw.read(row["raw"], **known(row), unflagged=is_unflagged(row))
    if found is None:
        return None
    names = frozenset(argument_of(problem.path) for problem in found.fields)
    return Answer(found.type, found.retryable, 1.0 if found.confidence is None else found.confidence, names)


def argument_of(path: str) -> str:
    """The argument that a path begins with."""
    return path.partition(".")[0].partition("[")[0]


def score(rows: Iterable[Row], reader: Callable[[Row], Answer | None] = answer) -> Score:
    rows = list(rows)
    answers = [reader(row) for row in rows]
    pairs = [(row, found or Answer()) for row, found in zip(rows, answers, strict=True)]
    labelled = [(set(row["fields"]), found.fields) for row, found in pairs if row.get("fields") is not None]
    blamed = [name in right for right, names in labelled for name in names]
    at_fault = [name in names for right, names in labelled for name in right]
    unflagged = [found for row, found in zip(rows, answers, strict=True) if is_unflagged(row)]
    return Score(
        right=_share(found.type in row["category_ok"] for row, found in pairs),
        answered=_share(found.confidence >= CERTAIN for _, found in pairs),
        unsafe=sum(is_unsafe(row, found) for row, found in pairs),
        precision=_share(blamed),
        recall=_share(at_fault),
        found=_share(found is not None for found in unflagged),
    )


def is_unsafe(row: Row, found: Answer) -> bool:
    """A failure that no retry mends, called retryable with confidence."""
    return found.retryable is True and found.confidence >= CERTAIN and not row["retryable"]


def _share(values: Iterable[bool]) -> float:
    values = list(values)
    return sum(values) / len(values) if values else 1.0


def cross_validated() -> Score:
    """Score each server with rules and weights that do not know it."""
    answers = _answers_without_own_rules()
    return score(failures(), lambda row: answers[row["id"]])


def calibration() -> list[Bucket]:
    """How often answers are right, by their confidence, each server read by what does not know it."""
    answers = _answers_without_own_rules()
    given = [(found, found.type in row["category_ok"]) for row in failures() if (found := answers[row["id"]])]
    buckets: list[Bucket] = []
    for at_least, below in zip(EDGES, (*EDGES[1:], 2.0), strict=True):
        right = [is_right for found, is_right in given if at_least <= found.confidence < below]
        buckets += [Bucket(at_least, len(right), sum(right))] if right else []
    return buckets


EDGES = (CERTAIN, 0.8, 0.85, 0.9, 0.95)
"""Where a bucket of confidence begins."""


_FOLDS = 5


@cache
def _answers_without_own_rules() -> dict[str, Answer | None]:
    """The answers for each server without the phrases that only its own texts stand for, and what was learned of it."""
    from tools import train_classifier  # needs scikit-learn

    rows = failures()
    servers: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if phrase := _deciding_phrase(row):
            servers[phrase].add(row["server"])
    learned = train_classifier.rows()
    names = sorted({row["server"] for row in rows})
    answers: dict[str, Answer | None] = {}
    for fold in (names[start::_FOLDS] for start in range(_FOLDS)):
        model = train_classifier.learn(row for row in learned if row["server"] not in fold)
        for server in fold:
            own = {phrase for phrase, where in servers.items() if where == {server}}
            reduced = texts.table().without(own)
            with (
                patch.object(texts, "table", lambda reduced=reduced: reduced),
                patch.object(classifier, "model", lambda model=model: model),
            ):
                answers |= {row["id"]: answer(row) for row in rows if row["server"] == server}
    return answers


def _deciding_phrase(row: Row) -> str | None:
    return deciding_phrase(row["text"], Context(**known(row)))
