"""`Policy`: whether to try again, and after how long. Pure: no clock, no chance, no state."""

import threading

from msgspec import Struct

from failwell.decision import Hints
from failwell.failure import Failure

_THROTTLED = frozenset(("RATE_LIMITED", "SERVER_BUSY", "OVERLOADED", "RESOURCE_EXHAUSTED"))
_MOST_ATTEMPTS_IF_NOBODY_KNOWS = 3
_MAY_PASS_IF_NOBODY_KNOWS = ("INTERNAL", "TRANSIENT")
_NO_HINTS = Hints()


def is_throttled(failure: Failure) -> bool:
    """Return whether the server said that it has too much to do."""
    return failure.code in _THROTTLED


class Verdict(Struct, frozen=True):
    """Wait so many seconds and try again, or stop; and why.

    A verdict to stop because the wait is too long keeps the whole of it in `asked`.
    """

    delay: float | None
    reason: str
    asked: float | None = None


class Policy(Struct, frozen=True, kw_only=True):
    """How often and how long to try. Immutable: share one between tasks and threads.

    Delays grow from *base* (from *throttled_base* where the server is overloaded) to *longest*, and chance picks one up
    to that. A delay that the server asks for is never shortened: beyond *max_wait*, or past the *deadline* of the whole
    call, there is no further try. With *repeatable* the caller vouches that running a tool twice does no harm.

    Raises:
        ValueError: a number makes no sense.
        TypeError: it is not a number.
    """

    attempts: int = 3
    base: float = 0.05
    throttled_base: float = 1.0
    longest: float = 20.0
    max_wait: float = 120.0
    deadline: float | None = None
    repeatable: bool = False

    def __post_init__(self) -> None:
        if type(self.attempts) is not int:
            raise TypeError(f"attempts must be a whole number, not {self.attempts!r}")
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {self.attempts!r}")
        for name in ("base", "throttled_base", "longest", "max_wait", "deadline"):
            value = getattr(self, name)
            if value is None and name == "deadline":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number of seconds, not {value!r}")
            if not value >= 0:
                raise ValueError(f"{name} must be a number of seconds, not {value!r}")
        if type(self.repeatable) is not bool:
            raise TypeError(f"repeatable must be True or False, not {self.repeatable!r}")

    def verdict(
        self, failure: Failure, *, attempt: int, jitter: float, hints: Hints | None = None, elapsed: float = 0.0
    ) -> Verdict:
        """Return what to do after failed *attempt*, *elapsed* seconds into the call; *jitter* is from 0 to 1."""
        if reason := self._reason_to_stop(failure, attempt, hints or _NO_HINTS):
            return Verdict(None, reason, failure.retry_after)
        delay = self._delay(failure, attempt, jitter)
        longest = min(self.max_wait, threading.TIMEOUT_MAX)  # more cannot be slept
        if delay > longest:
            return Verdict(None, f"waiting {delay:g} s is more than the {longest:g} s that are waited", delay)
        if self.deadline is not None and elapsed + delay > self.deadline:
            return Verdict(None, f"waiting {delay:g} s would pass the deadline", delay)
        return Verdict(delay, "it may pass, and trying again is safe")

    def next_delay(
        self, failure: Failure, *, attempt: int, jitter: float, hints: Hints | None = None, elapsed: float = 0.0
    ) -> float | None:
        """Return seconds to wait after failed *attempt*, or None to stop."""
        return self.verdict(failure, attempt=attempt, jitter=jitter, hints=hints, elapsed=elapsed).delay

    def _reason_to_stop(self, failure: Failure, attempt: int, hints: Hints) -> str | None:
        is_repeatable = self.repeatable or hints.repeatable
        if failure.retryable is False:
            return "the same call cannot succeed"
        if failure.severity == "critical":
            return "the failure is critical: a person must know"
        if failure.severity == "warning" or failure.outcome == "executed":
            return "the call took effect"
        if (failure.outcome == "unknown" or failure.origin == "inferred") and not is_repeatable:
            return "nobody knows whether it took effect, and the tool may not be safe to run twice"
        if failure.retryable is None:
            if not is_repeatable:
                return "nobody knows whether it may pass, and the tool may not be safe to run twice"
            if failure.type not in _MAY_PASS_IF_NOBODY_KNOWS:
                return "nobody says that the same call may succeed later"
        most = self.attempts if failure.retryable else min(self.attempts, _MOST_ATTEMPTS_IF_NOBODY_KNOWS)
        return f"it failed {attempt} times" if attempt >= most else None

    def _delay(self, failure: Failure, attempt: int, jitter: float) -> float:
        base = self.throttled_base if is_throttled(failure) else self.base
        backoff = jitter * min(base * 2.0 ** min(attempt - 1, 60), self.longest)
        return max(backoff, failure.retry_after or 0.0)
