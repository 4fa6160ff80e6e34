"""Retrying: only what is safe, only as long as it is worth it."""

from failwell.advice import Policy, Verdict
from failwell.event import Event
from failwell.retry._drivers import acall, call
from failwell.retry._engine import Run
from failwell.retry._limits import Breaker, Budget, Limits, Repeats, Shared

__all__ = ["Breaker", "Budget", "Event", "Limits", "Policy", "Repeats", "Run", "Shared", "Verdict", "acall", "call"]
