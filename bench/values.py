"""Making a `Failure` beside making a pydantic model with the same fields."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

import failwell as fw
from bench.measure import Figure, compare


class Model(BaseModel):
    """The fields of `Failure` as a pydantic user would write them."""

    model_config = ConfigDict(frozen=True)

    message: str
    type: Literal["NOT_FOUND", "CONFLICT", "VALIDATION", "PERMISSION", "TRANSIENT", "INTERNAL"] = "INTERNAL"
    code: str | None = None
    recoverable: bool = False
    retryable: bool | None = None
    outcome: Literal["not_executed", "rejected", "unknown", "executed"] = "unknown"
    retry_after: float | None = None
    severity: Literal["warning", "error", "critical"] | None = None
    kind: str | None = None
    suggestion: str | None = None
    actions: tuple[str, ...] = ()
    fields: tuple[dict[str, Any], ...] = ()
    details: dict[str, Any] = {}
    tool: str | None = None
    action: str | None = None
    http_status: int | None = None
    docs_url: str | None = None
    id: str | None = None
    origin: Literal["declared", "mapped", "read", "inferred"] = "declared"
    confidence: float | None = None
    extra: dict[str, Any] = {}


def run() -> Iterator[Figure]:
    """Measure the value and the exception that carries it."""
    given: dict[str, Any] = {
        "code": "RATE_LIMITED",
        "message": "Slow down.",
        "retry_after": 30,
        "details": {"limit": 100},
    }
    yield compare("values", "Failure(…)", lambda: fw.Failure(**given), "pydantic model", lambda: Model(**given))
    yield compare(
        "values",
        "RateLimited(…)",
        lambda: fw.RateLimited("Slow down.", retry_after=30),
        "pydantic model",
        lambda: Model(**given),
    )
