"""Retries: only what is safe, and only as long as it is worthwhile."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports

if TYPE_CHECKING:
    from failwell.advice import Decision, Policy
    from failwell.event import Event
    from failwell.retry._drivers import acall, call
    from failwell.retry._engine import Ask, Effect, Finish, Run, Try, Wait, asettle, settle
    from failwell.retry._fleet import FleetLimits
    from failwell.retry._limits import (
        Breaker,
        Budget,
        FailedAttempt,
        Limits,
        LimitState,
        LimitStore,
        Question,
        Repeats,
        RetryPermit,
        Shared,
        StoreUnavailable,
    )

__all__ = [
    "Ask",
    "Breaker",
    "Budget",
    "Decision",
    "Effect",
    "Event",
    "FailedAttempt",
    "Finish",
    "FleetLimits",
    "LimitState",
    "LimitStore",
    "Limits",
    "Policy",
    "Question",
    "Repeats",
    "RetryPermit",
    "Run",
    "Shared",
    "StoreUnavailable",
    "Try",
    "Wait",
    "acall",
    "asettle",
    "call",
    "settle",
]

__getattr__, __dir__ = _exports(
    __name__,
    {
        "failwell.advice": "Decision Policy",
        "failwell.event": "Event",
        "_drivers": "acall call",
        "_engine": "Ask Effect Finish Run Try Wait asettle settle",
        "_fleet": "FleetLimits",
        "_limits": "Breaker Budget FailedAttempt LimitState LimitStore Limits Question Repeats RetryPermit Shared "
        "StoreUnavailable",
    },
)
