"""Classify a failure by all words of its text: a linear model, for texts that no rule is sure of.

Each word, and each pair of neighbouring words, speaks for or against each type. Phrases say more, a code and what to do
about it, but people word errors in more ways than a table of phrases can hold. The weights were learned from labelled
error texts: `python -m tools.train_classifier` learns them anew.
"""

import os
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from math import exp
from typing import NamedTuple

import msgspec
from msgspec import Struct

from failwell._lazy import lazy_pattern
from failwell._log import log
from failwell.codes import TYPES, Type

PATH = os.path.join(os.path.dirname(__file__), "classifier.json")
"""Where the weights are kept."""

CLASSES: tuple[Type | None, ...] = (*TYPES, None)
"""What a text can be: a failure of a type, or one that does not say which."""

ZERO = 128
"""The byte that stands for a weight of 0."""

_HEAD, _TAIL = 60, 20
_STEM = 6
_NUMERAL = "0"
_LEAST_KNOWN = 0.5
_SUREST = 0.99
_MOST_TOLD = 3
_QUOTATION = " qqq "  # a word that no server uses
_WORD = lazy_pattern(r"[a-z]+|[0-9]+")
_STEMMED = lazy_pattern(rf"([a-z]{{1,{_STEM}}})[a-z]*|[0-9]+")
_FOREIGN = lazy_pattern(r"[^\W\d_a-z]")  # English, which it has learned, needs no such letters
# What is quoted is a name or a value: its words are not the server's own.
_QUOTED = lazy_pattern(
    r"\[redacted:\w{1,40}\]|(?<!\w)[\"'`\u2018“«][^\"'`\u2018\u2019“”«»\n]{2,80}[\"'`\u2019”»](?!\w)"
)
_QUOTES = ("'", '"', "`", "\u2018", "“", "«", "[redacted:")


class Model(Struct, frozen=True):
    """What was learned: for each feature a byte per class, in steps of `step` around `ZERO`.

    The fingerprint is that of the texts, so that a test can tell whether others have come since.
    """

    fingerprint: int
    step: float
    bias: tuple[float, ...]
    weights: dict[str, bytes]


class Guess(NamedTuple):
    """The likeliest type, None if the text does not say, and how likely it is."""

    type: Type | None
    confidence: float


@cache
def model() -> Model:
    """Return what was learned; nothing if the file is missing or broken, for reading goes on without it."""
    try:
        with open(PATH, "rb") as file:
            return msgspec.json.decode(file.read(), type=Model)
    except (OSError, msgspec.MsgspecError):
        log.warning("The weights of the classifier can't be loaded: error texts are read by rules alone.")
        return Model(0, 0.0, (), {})


def classify(text: str, rule: Type | None = None, confidence: float = 0.0) -> Guess | None:
    """Return what all the words of a plain text say, with a *rule* that knows some of them as one more witness.

    None if most of its words are unknown, because they are names or in another language.
    """
    learned = model()
    weights = learned.weights
    words = _stems(text)
    distinct = set(words)
    known = distinct & weights.keys()
    if not known or len(known) < len(distinct) * _LEAST_KNOWN or (not text.isascii() and _FOREIGN.search(text)):
        return None
    vectors = [vector for vector in map(weights.get, known.union(_pairs(words))) if vector is not None]
    zero = ZERO * len(vectors)
    sums = [sum(column) - zero for column in zip(*vectors, strict=True)]
    scores = [exp(bias + learned.step * total) for bias, total in zip(learned.bias, sums, strict=True)]
    if rule is not None:
        sure = min(confidence, _SUREST)
        scores[CLASSES.index(rule)] *= sure / (1 - sure)
    best = max(scores)
    return Guess(CLASSES[scores.index(best)], best / sum(scores))


def telling_words(text: str, type_: Type) -> str:
    """Return the words of a plain text that speak most for a type, in their order."""
    weights, place = model().weights, CLASSES.index(type_)
    words = {stem: word for word in _words(text) if (stem := _stem(word)) in weights}
    telling = [stem for stem in words if weights[stem][place] > ZERO]
    most = sorted(telling, key=lambda stem: -weights[stem][place])[:_MOST_TOLD]
    return " ".join(word for stem, word in words.items() if stem in most)


def features(text: str) -> list[str]:
    """Return what the model knows a plain text by: its words, and its pairs of neighbouring words, each once."""
    words = _stems(text)
    return list(dict.fromkeys((*words, *_pairs(words))))


def _words(text: str) -> list[str]:
    return _ends(_WORD.findall(_unquoted(text)))


def _stem(word: str) -> str:
    return word[:_STEM] if word.isalpha() else _NUMERAL


def _stems(text: str) -> list[str]:
    """Return the beginnings of words; of a number counts only that it is there."""
    return [stem or _NUMERAL for stem in _ends(_STEMMED.findall(_unquoted(text)))]


def _unquoted(text: str) -> str:
    return _QUOTED.sub(_QUOTATION, text) if any(map(text.__contains__, _QUOTES)) else text


def _ends(found: list[str]) -> list[str]:
    return found if len(found) <= _HEAD + _TAIL else found[:_HEAD] + found[-_TAIL:]


def _pairs(words: list[str]) -> Iterator[str]:
    return map(" ".join, pairwise(words))
