"""How often reading flat text is right on recorded failures and successes, beside mcp-rescue on the same lines."""

from collections.abc import Iterator

from mcp_rescue.classifier import rescue_error
from mcp_rescue.models import ToolInfo
from tests.reading import corpus

import failwell as fw
from bench.measure import Amount

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
_READER, _LEFT_OUT, _RESCUE = "failwell", "failwell, each server left out", "mcp-rescue"


def run() -> Iterator[Amount]:
    """Score failwell, failwell with rules that do not know the server, and mcp-rescue."""
    rows = corpus.failures()
    yield _amount("failures", _READER, len(rows))
    yield _amount("servers", _READER, len({row["server"] for row in rows}))
    yield from _shares(_READER, corpus.score(rows))
    yield from _false_alarms()
    yield from _shares(_LEFT_OUT, corpus.cross_validated())
    for bucket in corpus.calibration():
        name = f"confidence from {bucket.at_least:.2f}"
        yield _amount(f"{name}: answers", _LEFT_OUT, bucket.answers)
        yield _amount(f"{name}: right", _LEFT_OUT, bucket.share * 100, "%")
    others = corpus.score(rows, rescued)
    yield _amount("right", _RESCUE, others.right * 100, "%")
    yield _amount("answered", _RESCUE, others.answered * 100, "%")
    yield _amount("unsafe answers", _RESCUE, others.unsafe)


def _shares(who: str, score: corpus.Score) -> Iterator[Amount]:
    yield _amount("right", who, score.right * 100, "%")
    yield _amount("answered", who, score.answered * 100, "%")
    yield _amount("unsafe answers", who, score.unsafe)
    yield _amount("blamed arguments at fault", who, score.precision * 100, "%")
    yield _amount("arguments at fault blamed", who, score.recall * 100, "%")
    yield _amount("unflagged ones found", who, score.found * 100, "%")


def _false_alarms() -> Iterator[Amount]:
    rows = corpus.successes()
    wrong = sum(
        fw.read(row["result"], tool=row["tool"], arguments=row["arguments"], unflagged=True) is not None for row in rows
    )
    yield _amount("successes", _READER, len(rows))
    yield _amount("successes called failures", _READER, wrong / len(rows) * 100, "%")


def rescued(row: corpus.Row) -> corpus.Answer:
    """Return what mcp-rescue says of a failure."""
    hints = row["annotations"] or {}
    read_only = bool(hints.get("readOnlyHint"))
    tool = ToolInfo(row["tool"], read_only, bool(hints.get("idempotentHint")), not read_only)
    found = rescue_error(row["text"], tool)
    return corpus.Answer(_TYPE_OF_CATEGORY.get(found.category.value), found.retryable, found.confidence)


def _amount(what: str, who: str, value: float, unit: str = "") -> Amount:
    return Amount(group="corpus", what=what, beside=who, value=value, unit=unit)
