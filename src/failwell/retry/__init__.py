"""Retrying: only what is safe, only as long as it is worth it."""

from failwell.retry.breaker import Breaker
from failwell.retry.budget import Budget
from failwell.retry.drivers import acall, call
from failwell.retry.event import Event
from failwell.retry.limits import Limits
from failwell.retry.policy import Policy, Verdict
from failwell.retry.repeats import Repeats
from failwell.retry.run import Run
from failwell.retry.shared import Shared

__all__ = ["Breaker", "Budget", "Event", "Limits", "Policy", "Repeats", "Run", "Shared", "Verdict", "acall", "call"]
