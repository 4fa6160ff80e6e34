"""`Run`: decides after each attempt of one call whether to retry. It does no I/O and has no clock."""

import os
from itertools import count
from typing import Any

from msgspec import Struct

from failwell._automatic import SWITCHED_OFF, is_automatic
from failwell._log import log
from failwell.advice import Decision, Policy, decide
from failwell.codes import Outcome
from failwell.event import CallArguments, Event, Kind, Observer, Source
from failwell.failure import Failure, with_graver_outcome
from failwell.retry import _environment
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import FailedAttempt, Limits, RetryPermit

_SUSPENDED = "Calls of this tool are suspended after repeated failures."


def _call_numbers() -> "count[int]":
    """Return numbers far from those of other processes, so that each is that of one call in all of them."""
    return count((int.from_bytes(os.urandom(3)) << 28) + 1)


_numbers = _call_numbers()


def _renumber() -> None:
    global _numbers
    _numbers = _call_numbers()


in_every_fork(_renumber)


class _Progress(Struct, kw_only=True, eq=False):
    attempt: int = 0
    paid: float = 0.0
    is_counted: bool = False
    number: int = 0
    last: Failure | None = None
    gravest: Outcome = "not_executed"
    source: Source = "retry"


class Run(_Progress, eq=False):
    """Decides after each attempt of one call. The driver waits, makes the call and reports how it ended.

    Its fields are what `call` takes, and the time at which the call *started*.
    """

    policy: Policy
    shared: Limits
    server: str = ""
    tool: str = ""
    arguments: Any = None
    hints: Any = None
    hook: Observer | None = None
    started: float = 0.0

    def begin(self, now: float) -> Failure | None:
        """Return the failure of an open breaker, or None: make the next attempt."""
        refusal = self.shared.begin((self.server, self.tool), now, caller=self) if is_automatic() else None
        return self._count_attempt(refusal, now)

    async def abegin(self, now: float) -> Failure | None:
        """Do what `begin` does."""
        refusal = await self.shared.abegin((self.server, self.tool), now, caller=self) if is_automatic() else None
        return self._count_attempt(refusal, now)

    def succeeded(self, now: float) -> None:
        """Note that the attempt succeeded."""
        self.shared.succeeded((self.server, self.tool), self.arguments, now, paid=self.paid)
        self._emit(now, "success" if self.attempt <= 1 else "recovered")

    def failed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Decision:
        """Note that the attempt failed, and return whether to wait and try again."""
        wanted = self._decide(failure, now, jitter=jitter, retried_below=retried_below)
        return self._conclude(failure, wanted, self.shared.failed(self._failed_attempt(failure, wanted), now), now)

    async def afailed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Decision:
        """Do what `failed` does."""
        wanted = self._decide(failure, now, jitter=jitter, retried_below=retried_below)
        return self._conclude(
            failure, wanted, await self.shared.afailed(self._failed_attempt(failure, wanted), now), now
        )

    def cancelled(self) -> None:
        """Note that the attempt was cancelled: nothing is known of it."""
        self.shared.released((self.server, self.tool), caller=self)

    def follow_up(self, now: float, kind: Kind, failure: Failure | None, *, reason: str) -> None:
        """Report to the hook what was done after the tries: a corrected call was made, or a fallback answered."""
        self._emit(now, kind, failure, reason=reason)

    def _count_attempt(self, refusal: Failure | None, now: float) -> Failure | None:
        if refusal is None:
            self.attempt += 1
        elif self.last is None:
            self._emit(now, "refused", refusal, reason=_SUSPENDED)
        else:  # the refusal of another try does not undo what was tried
            self._emit(now, "failure", self.last, reason=_SUSPENDED)
        return refusal

    def _decide(self, failure: Failure, now: float, *, jitter: float, retried_below: bool) -> Decision:
        """Return what is due by what is known of this call alone."""
        if retried_below:
            return Decision(action="stop", reason="It was retried already.", delay=failure.retry_after)
        if not is_automatic():
            return Decision(action="stop", reason=SWITCHED_OFF, delay=failure.retry_after)
        most = _environment.current.attempts
        if most is not None and self.attempt >= most:
            reason = f"No more than {most} attempts are made here."
            return Decision(action="stop", reason=reason, delay=failure.retry_after)
        return decide(
            self.with_gravest_outcome(failure),
            self.hints,
            attempt=self.attempt,
            policy=self.policy,
            elapsed=now - self.started,
            jitter=jitter,
        )

    def with_gravest_outcome(self, failure: Failure) -> Failure:
        """Return the failure of the last try with the gravest outcome of all tries: any of them may have had effect."""
        failure = with_graver_outcome(failure, self.gravest)
        self.gravest = failure.outcome
        return failure

    def _failed_attempt(self, failure: Failure, wanted: Decision) -> FailedAttempt:
        is_counted, self.is_counted = self.is_counted, True
        return FailedAttempt((self.server, self.tool), failure, self, self.arguments, is_counted, wanted.retry_delay)

    def _conclude(self, failure: Failure, wanted: Decision, permit: RetryPermit, now: float) -> Decision:
        failure = self.last = self.with_gravest_outcome(failure)
        decision = self._permitted(failure, wanted, permit)
        kind: Kind = "retry" if decision.action == "retry" else "failure"
        self._emit(now, kind, failure, delay=decision.retry_delay, reason=decision.reason)
        return decision

    def _permitted(self, failure: Failure, wanted: Decision, permit: RetryPermit) -> Decision:
        """Return the decision, unless a limit forbids the retry that it wants."""
        if permit.keeps_failing:
            return Decision(
                action="stop", reason="The same call keeps failing the same way.", delay=failure.retry_after
            )
        if wanted.action != "retry":
            return wanted
        if permit.is_suspended:
            return Decision(action="wait", reason=_SUSPENDED, delay=wanted.delay)
        if permit.paid is None:
            return Decision(action="wait", reason="The retry budget of the server is used up.", delay=wanted.delay)
        self.paid = permit.paid
        return wanted

    def _emit(
        self,
        now: float,
        kind: Kind,
        failure: Failure | None = None,
        *,
        delay: float | None = None,
        reason: str | None = None,
    ) -> None:
        if self.hook is None:
            return
        self.number = self.number or next(_numbers)
        event = Event(
            source=self.source,
            kind=kind,
            server=self.server,
            tool=self.tool,
            call=self.number,
            attempt=self.attempt,
            elapsed=now - self.started,
            delay=delay,
            reason=reason,
            failure=failure,
            hints=self.hints,
            arguments=None if self.arguments is None else CallArguments(self.arguments),
        )
        try:
            self.hook(event)
        except Exception:
            log.exception("a retry hook failed")
