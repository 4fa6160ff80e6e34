"""Learn the weights of the classifier: `python -m tools.train_classifier` reads `tests/data` and writes them anew."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
from tests.reading import corpus

from failwell import codes
from failwell.phrases import texts
from failwell.reading import classifier
from failwell.reading.classifier import CLASSES, ZERO, Model
from failwell.reading.context import Context
from failwell.reading.flat_text import plain_words

Row = dict[str, Any]

_INVERSE_PENALTY = 2.0
_RAREST = 2  # texts that must have a feature in common
_SMALLEST = 0.12  # weights below change no verdict
_STEP = 1 / 32
_OF_OWN = 8.0  # texts that rules were written for, which must stay right, count more than others


def rows() -> list[Row]:
    """Return all labelled texts with their features; the label None says that a text does not tell its type."""
    found = [_row(row, row["category_ok"]) for row in corpus.failures() if row["text"]]
    found += [_row(row, row["type"]) for row in corpus.error_texts()]
    found += [_row(row, [row["type"]]) for row in corpus.translations()]
    return found + [_row(row, row["type"] or [None], weight=1.0) for row in corpus.labelled_texts()]


def _row(row: Row, types: Sequence[str | None], *, weight: float = _OF_OWN) -> Row:
    """Return a text as it is learned from; of several right answers, the one that a rule gives counts, or the first."""
    context = Context(row.get("tool"), row.get("arguments"))
    words = plain_words(row["text"], context)
    match = texts.table().first(words)
    worded = codes.type_of(match.rule.code) if match else None
    return {
        "server": row.get("server"),
        "label": worded if worded in types else types[0],
        "weight": weight,
        "features": classifier.features(words),
    }


def learn(rows: Iterable[Row]) -> Model:
    """Return the model that fits these texts."""
    from sklearn.feature_extraction import DictVectorizer  # not installed where the texts are only read
    from sklearn.linear_model import LogisticRegression

    rows = list(rows)
    common = Counter(feature for row in rows for feature in row["features"])
    kept = [dict.fromkeys((name for name in row["features"] if common[name] >= _RAREST), 1.0) for row in rows]
    vectorizer = DictVectorizer()
    regression = LogisticRegression(C=_INVERSE_PENALTY, max_iter=1000, tol=1e-3)
    regression.fit(
        vectorizer.fit_transform(kept),
        [CLASSES.index(row["label"]) for row in rows],
        sample_weight=[row["weight"] for row in rows],
    )
    learned = zip(vectorizer.get_feature_names_out(), regression.coef_.T, strict=True)
    weights = {name: _bytes(vector) for name, vector in learned if abs(vector).max() >= _SMALLEST}
    bias = tuple(round(float(bias), 3) for bias in regression.intercept_)
    return Model(fingerprint(rows), _STEP, bias, weights)


def fingerprint(rows: Iterable[Row]) -> int:
    """Return a number that tells whether a model was learned from these texts."""
    return crc32(msgspec.json.encode([(row["label"], row["weight"], row["features"]) for row in rows]))


def _bytes(vector: Iterable[float]) -> bytes:
    return bytes(min(255, max(0, round(float(weight) / _STEP) + ZERO)) for weight in vector)


def content() -> bytes:
    """Return what the file with the weights is to hold."""
    return msgspec.json.format(msgspec.json.encode(learn(rows())), indent=1) + b"\n"


if __name__ == "__main__":
    Path(classifier.PATH).write_bytes(content())
