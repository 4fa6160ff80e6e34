"""A run and shared limits, one step at a time: what is asked is answered before the next step."""

from typing import Any

from failwell import Failure
from failwell.retry import Finish, Limits, Question, Run, Wait, settle


def begin(run: Run, now: float) -> Failure | None:
    """Begin the next try and return why it must not be made, or None."""
    effect = settle(run, run.begin(now))
    return effect.refusal if isinstance(effect, Finish) else None


def failed(run: Run, failure: Failure, now: float, *, jitter: float = 0) -> float | None:
    """Note that a try failed, and return after how many seconds the next follows, or None."""
    effect = settle(run, run.failed(failure, now, jitter=jitter))
    return effect.delay if isinstance(effect, Wait) else None


def reason(run: Run, failure: Failure, now: float) -> str:
    """Note that a try failed, and return why no other follows; empty if one does."""
    effect = settle(run, run.failed(failure, now, jitter=0))
    return effect.decision.reason if isinstance(effect, Finish) and effect.decision else ""


def refusal(limits: Limits, key: tuple[str, str], now: float, *, caller: Any) -> Failure | None:
    """Return the failure to answer with instead of making a call, or None."""
    found = limits.begin(key, now, caller=caller)
    return found.run() if isinstance(found, Question) else found
