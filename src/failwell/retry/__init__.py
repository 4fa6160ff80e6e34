"""Retrying: only what is safe, only as long as it is worth it."""

from failwell._lazy import TYPE_CHECKING
from failwell._lazy import exports as _exports
from failwell.advice import Policy, Verdict
from failwell.event import Event
from failwell.retry._breaker import Breaker
from failwell.retry._budget import Budget
from failwell.retry._drivers import acall, call
from failwell.retry._engine import Run
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

if TYPE_CHECKING:
    from failwell.retry._fleet import FleetLimits

__all__ = [
    "Breaker",
    "Budget",
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
    "Verdict",
    "acall",
    "call",
]

# Most programs share no limits with others, and the module imports asyncio.
__getattr__, _ = _exports(__name__, {"_fleet": "FleetLimits"})
