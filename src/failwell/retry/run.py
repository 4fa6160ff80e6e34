"""`Run`: one call on its way through its attempts, told what happened and telling what to do. No clock of its own."""

import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from failwell.decision import Hints
from failwell.failure import Failure
from failwell.retry import surroundings
from failwell.retry.event import Event, Step
from failwell.retry.policy import Policy, Verdict
from failwell.retry.shared import Shared

_log = logging.getLogger("failwell")

Hook = Callable[[Event], object]


class _Progress(Struct, kw_only=True, eq=False):
    attempt: int = 0
    paid: float = 0.0
    is_counted: bool = False


class Run(_Progress, eq=False):
    """Decides after each attempt of one call. The driver waits, calls and asks again.

    What it is made of is what `call` takes, and the time at which the call *started*.
    """

    policy: Policy
    shared: Shared
    server: str = ""
    tool: str = ""
    arguments: Any = None
    hints: Any = None
    hook: Hook | None = None
    started: float = 0.0

    def begin(self, now: float) -> Failure | None:
        """Return the failure of an open breaker, or None: make the next attempt."""
        breaker = self.shared.breaker
        if breaker.failing and (refusal := breaker.refusal((self.server, self.tool), now, caller=self)):
            self._tell(now, "refused", refusal, reason="calls are suspended")
            return refusal
        self.attempt += 1
        return None

    def succeeded(self, now: float) -> None:
        """Note that the attempt succeeded."""
        shared, key = self.shared, (self.server, self.tool)
        shared.breaker.succeeded(key)
        shared.budget.refund(self.server, self.paid)
        shared.repeats.succeeded(key, self.arguments)
        self._tell(now, "succeeded")

    def failed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Verdict:
        """Note that the attempt failed, and return whether to wait and try again."""
        verdict = self._verdict(failure, now, jitter=jitter, retried_below=retried_below)
        step: Step = "gave_up" if verdict.delay is None else "retry"
        self._tell(now, step, failure, delay=verdict.delay, reason=verdict.reason)
        return verdict

    def cancelled(self) -> None:
        """Note that the attempt was cancelled: nothing is known of it."""
        self.shared.breaker.released((self.server, self.tool), caller=self)

    def follow_up(self, now: float, step: Step, failure: Failure | None, *, reason: str) -> None:
        """Tell the hook what was done after the tries: a corrected call was made, or a fallback answered."""
        self._tell(now, step, failure, reason=reason)

    def _verdict(self, failure: Failure, now: float, *, jitter: float, retried_below: bool) -> Verdict:
        if self._keeps_failing(failure, now):
            return Verdict(None, "the same call keeps failing the same way", failure.retry_after)
        if retried_below:
            return Verdict(None, "it was retried already", failure.retry_after)
        most = surroundings.current.attempts
        if most is not None and self.attempt >= most:
            return Verdict(None, f"no more than {most} attempts are made here", failure.retry_after)
        verdict = self.policy.verdict(
            failure,
            attempt=self.attempt,
            jitter=jitter,
            hints=self.hints and Hints.of(self.hints),
            elapsed=now - self.started,
        )
        if verdict.delay is None:
            return verdict
        shared = self.shared
        if shared.breaker.suspension((self.server, self.tool), now) > verdict.delay:
            return Verdict(None, "calls are suspended", verdict.delay)
        paid = shared.budget.spend(self.server, failure)
        if paid is None:
            return Verdict(None, "the retry budget of the server is used up", verdict.delay)
        self.paid = paid
        return verdict

    def _keeps_failing(self, failure: Failure, now: float) -> bool:
        """Count the failure, and return whether calls like this one failed like this too often.

        Calls that nobody named have nothing in common.
        """
        key = (self.server, self.tool)
        is_counted, self.is_counted = self.is_counted, True
        if key == ("", ""):
            return False
        self.shared.breaker.failed(key, failure, now, caller=self, is_counted=is_counted)
        if is_counted or self.arguments is None:
            return False
        return self.shared.repeats.failed(key, self.arguments, failure)

    def _tell(
        self,
        now: float,
        step: Step,
        failure: Failure | None = None,
        *,
        delay: float | None = None,
        reason: str | None = None,
    ) -> None:
        if self.hook is None:
            return
        event = Event(
            server=self.server,
            tool=self.tool,
            attempt=self.attempt,
            step=step,
            elapsed=now - self.started,
            failure=failure,
            delay=delay,
            reason=reason,
        )
        try:
            self.hook(event)
        except Exception:
            _log.exception("a retry hook failed")
