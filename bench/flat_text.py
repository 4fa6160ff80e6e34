"""Flat text of real servers: how long reading takes, and how often it is right, beside mcp-rescue in the same run."""

import json
import statistics
from collections.abc import Iterator
from typing import Any

from tests import corpus

import failwell as fw
from bench.measure import Figure, compare

# The categories of mcp-rescue, as the six types.
_TYPE_OF_CATEGORY = {
    "rate_limit": "TRANSIENT",
    "invalid_argument": "VALIDATION",
    "authentication": "PERMISSION",
    "permission": "PERMISSION",
    "not_found": "NOT_FOUND",
    "transient_network": "TRANSIENT",
    "upstream_unavailable": "TRANSIENT",
    "business_rule": "VALIDATION",
}


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


def scores() -> Iterator[dict[str, Any]]:
    """Yield how often failwell is right on the corpus, with servers left out, and mcp-rescue on the same lines."""
    rows = corpus.failures()
    yield {"who": "failwell", **_shares(corpus.score(rows)), "successes called failures": _false_alarms()}
    yield {"who": "failwell, each server left out", **_shares(corpus.cross_validated(rows))}
    try:
        from mcp_rescue.classifier import rescue_error
        from mcp_rescue.models import ToolInfo
    except ImportError:
        yield {"who": "mcp-rescue (not installed: pip install mcp-rescue)"}
        return

    def theirs(row: corpus.Row) -> corpus.Answer:
        hints = row["annotations"] or {}
        read_only = bool(hints.get("readOnlyHint"))
        tool = ToolInfo(row["tool"], read_only, bool(hints.get("idempotentHint")), not read_only)
        found = rescue_error(row["text"], tool)
        return corpus.Answer(_TYPE_OF_CATEGORY.get(found.category.value), found.retryable, found.confidence)

    shares = _shares(corpus.score(rows, theirs))
    yield {"who": "mcp-rescue", **shares, "unflagged found": "does not look"}


def _shares(score: corpus.Score) -> dict[str, Any]:
    return {
        "right": f"{score.right:.1%}",
        "answered": f"{score.answered:.1%}",
        "unsafe": score.unsafe,
        "fields": f"{score.fields:.1%}",
        "unflagged found": f"{score.found:.1%}",
    }


def _false_alarms() -> str:
    rows = corpus.successes()
    wrong = [
        row for row in rows if fw.read(row["result"], tool=row["tool"], arguments=row["arguments"], unflagged=True)
    ]
    return f"{len(wrong)} of {len(rows)}"
