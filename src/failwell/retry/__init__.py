"""Retrying: only what is safe, only as long as it is worth it."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.advice import Decision, Policy
    from failwell.event import Event
    from failwell.retry._breaker import Breaker
    from failwell.retry._budget import Budget
    from failwell.retry._drivers import acall, call
    from failwell.retry._engine import Run
    from failwell.retry._fleet import FleetLimits
    from failwell.retry._limits import (
        FailedAttempt,
        Limits,
        LimitState,
        LimitStore,
        Repeats,
        RetryPermit,
        Shared,
        StoreUnavailable,
    )

__all__ = [
    "Breaker",
    "Budget",
    "Decision",
    "Event",
    "FailedAttempt",
    "FleetLimits",
    "LimitState",
    "LimitStore",
    "Limits",
    "Policy",
    "Repeats",
    "RetryPermit",
    "Run",
    "Shared",
    "StoreUnavailable",
    "acall",
    "call",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.advice": "Decision Policy",
        "failwell.event": "Event",
        "_breaker": "Breaker",
        "_budget": "Budget",
        "_drivers": "acall call",
        "_engine": "Run",
        "_fleet": "FleetLimits",
        "_limits": "FailedAttempt LimitState LimitStore Limits Repeats RetryPermit Shared StoreUnavailable",
    },
)
