"""The failures, tools and policies that the tests of agreement cross."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import failwell as fw

DIALECTS = tuple(fw.dialects.DIALECTS)
OUTCOMES = ("not_executed", "rejected", "unknown", "executed")  # from the lightest to the gravest
ATTEMPTS = (1, 2, 3)

HINTS = {"work": fw.Hints(), "look": fw.Hints(read_only=True), "put": fw.Hints(idempotent=True)}
"""What is known of each tool: nothing, that it only reads, that it may run twice."""

ANNOTATIONS: dict[str, dict[str, bool]] = {"work": {}, "look": {"readOnlyHint": True}, "put": {"idempotentHint": True}}
"""The same as servers list it."""

ORIGINS: tuple[dict[str, Any], ...] = (
    {"origin": "declared"},
    {"origin": "mapped"},
    {"origin": "read"},
    {"origin": "inferred", "confidence": 0.9},
    {"origin": "inferred", "confidence": 0.5},
)

POLICIES = {
    "default": fw.Policy(),
    "one attempt": fw.Policy(attempts=1),
    "short waits": fw.Policy(attempts=5, throttled_base=0.5, max_wait=0.7),
    "deadline": fw.Policy(attempts=4, base=1.0, deadline=2.5),
    "repeatable": fw.Policy(repeatable=True),
    "trusting": fw.Policy(trust_inferred=True),
}

_FIELD = fw.FieldProblem(path="color", kind="enum", sent="rod", options=("red", "blue"), did_you_mean="red")
_MISSING = fw.FieldProblem(path="color", kind="missing", required=True)
_SPECIAL_CODES = ("VALIDATION_FAILED", "UNKNOWN_ACTION")  # dialects write them in a way of their own
VARIANTS: tuple[dict[str, Any], ...] = (
    {"retry_after": 30},
    {"retry_after": 3600},
    {"actions": ("list_colors",)},
    {"fields": (_FIELD,)},
    {"fields": (_MISSING,)},
    {"severity": "warning"},
    {"severity": "warning", "actions": ("list_colors",)},
    {"severity": "critical"},
    {"severity": "warning", "fields": (_MISSING,)},
    {"severity": "critical", "fields": (_FIELD,)},
    {"recoverable": False, "fields": (_MISSING,)},
    {"retryable": True, "fields": (_FIELD,)},
    {"retryable": None},
    {"retryable": True},
    {"retryable": False},
    {"recoverable": False},
    {"recoverable": True},
)
"""What failures say besides their code and outcome."""


def plain_failures() -> Iterator[fw.Failure]:
    """Yield a failure for each code and outcome, and one for each type without a code."""
    for row in fw.codes.rows():
        for outcome in OUTCOMES:
            yield fw.Failure(code=row.code, message=f"{row.title}.", outcome=outcome)
    for type_ in fw.codes.TYPES:
        for outcome in OUTCOMES:
            yield fw.Failure(type=type_, message="It failed.", outcome=outcome)


def failures() -> Iterator[fw.Failure]:
    """Yield a failure for each code, outcome and origin; and with what else failures may say, for each kind of code."""
    seen: set[tuple[Any, ...]] = set()
    for failure in plain_failures():
        for origin in ORIGINS:
            yield failure.replace(**origin)
        row = fw.codes.get(failure.code)
        action = row.action if row else None
        is_of_its_own = failure.code in _SPECIAL_CODES
        kind = (failure.type, failure.recoverable, failure.retryable, failure.outcome, action, is_of_its_own)
        if kind not in seen:
            seen.add(kind)
            yield from (failure.replace(**variant) for variant in VARIANTS)


def crossed() -> Iterator[tuple[str, fw.Failure]]:
    """Yield each tool with each failure."""
    return itertools.product(HINTS, failures())


def gravest(outcomes: Iterable[str]) -> str:
    return max(outcomes, key=OUTCOMES.index)


class Disagreements:
    """Collects what does not agree, so that a failing test shows all of it by kind."""

    def __init__(self) -> None:
        self.checked = 0
        self.found: dict[str, list[Any]] = {}

    def check(self, holds: object, kind: str, *where: Any) -> None:
        self.checked += 1
        if not holds:
            self.found.setdefault(kind, []).append(where)

    def __str__(self) -> str:
        return "\n".join(
            f"{len(all_)} × {kind}, such as:\n" + "\n".join(f"  {one}" for one in all_[:5])
            for kind, all_ in self.found.items()
        )

    def assert_none(self) -> None:
        assert self.checked
        assert not self.found, f"\n{self}"


# The default of servers and proxies each time, the others in the long run.
IN_DIALECTS = [pytest.param(name, marks=[] if name == "meta" else [pytest.mark.slow]) for name in fw.dialects.DIALECTS]
