"""Flat text of real servers: how long reading takes; `corpus` says how often it is right."""

import json
import statistics
from collections.abc import Iterator
from typing import Any

from tests.reading import corpus

import failwell as fw
from bench.corpus import rescued
from bench.measure import Figure, compare


def run() -> Iterator[Figure]:
    """Measure the median failure of the corpus, and texts that grow, beside parsing the same line."""
    timed = []
    for row in corpus.failures():
        known, line = corpus.known(row), json.dumps(row["raw"])
        how: dict[str, Any] = {**known, "unflagged": corpus.is_unflagged(row)}
        timed.append(
            compare(
                "flat text",
                "read flat text, median of the corpus",
                lambda row=row, how=how: fw.read(row["raw"], **how),
                "json.loads of the line",
                lambda line=line: json.loads(line),
                floor=lambda row=row: rescued(row),
                number=20,
                rounds=5,
            )
        )
    middle = statistics.median_low(figure.microseconds for figure in timed)
    yield next(figure for figure in timed if figure.microseconds == middle)
    for size in (10_000, 100_000, 1_000_000):
        result = {"content": [{"type": "text", "text": "error: no such thing " * (size // 21)}], "isError": True}
        line = json.dumps(result)
        yield compare(
            "flat text",
            f"read {size:,} characters of flat text",
            lambda result=result: fw.read(result),
            "json.loads of the line",
            lambda line=line: json.loads(line),
            number=10,
            rounds=5,
        )
