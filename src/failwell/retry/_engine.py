"""`Run`: the state machine of one retried call. It does no I/O and has no clock: times and failures in, effects out."""

import os
from collections.abc import Callable
from functools import partial
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
from failwell.retry._limits import FailedAttempt, Limits, Question, RetryPermit

_SUSPENDED = "Calls of this tool are suspended after repeated failures."


class Try(Struct, frozen=True):
    """Make the call, then tell `succeeded` or `failed`."""


class Ask(Struct, frozen=True, eq=False):
    """Ask the shared limits, then tell `answered` what they say."""

    question: Question[Any]


class Wait(Struct, frozen=True):
    """Wait so many seconds, then `begin` the next try."""

    delay: float


class Finish(Struct, frozen=True):
    """The call is over: it succeeded, *decision* says why it is not tried again, or the next try got a *refusal*."""

    decision: Decision | None = None
    refusal: Failure | None = None


Effect = Try | Ask | Wait | Finish
"""What the driver does next."""

_TRY, _DONE = Try(), Finish()


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
    is_cancelled: bool = False
    last: Failure | None = None
    gravest: Outcome = "not_executed"
    source: Source = "retry"
    session: str = ""
    call: int | str | None = None
    on_answer: Callable[[Any], Effect] | None = None


class Run(_Progress, eq=False):
    """What became of one call so far, and what to do next.

    A driver does what each effect says, and tells the run how that ended:

        effect = run.begin(now)
        Try    → make the call, then effect = run.succeeded(now) or run.failed(failure, now, jitter=…)
        Ask    → effect = run.answered(question.run()), or await question.arun()
        Wait   → wait, then effect = run.begin(now)
        Finish → the call is over

    An `Ask` is never followed by another. Its fields are what `call` takes, the time at which the call *started*, and
    what its events say: `source`, `session`, `call`.
    """

    policy: Policy
    shared: Limits
    server: str = ""
    tool: str = ""
    arguments: Any = None
    hints: Any = None
    hook: Observer | None = None
    started: float = 0.0

    def begin(self, now: float) -> Effect:
        """Begin the next try, unless a breaker is open: `Try`, `Finish` with the refusal, or `Ask` first."""
        found = self.shared.begin((self.server, self.tool), now, caller=self) if is_automatic() else None
        return self._ask(found, self._begun, now) if isinstance(found, Question) else self._begun(now, found)

    def succeeded(self, now: float) -> Finish:
        """Note that the try succeeded."""
        self.shared.succeeded((self.server, self.tool), self.arguments, now, paid=self.paid)
        self._emit(now, "success" if self.attempt <= 1 else "recovered")
        return _DONE

    def failed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Effect:
        """Note that the try failed: `Wait` and try again, `Finish` with the decision, or `Ask` first."""
        after_all_tries = self.with_gravest_outcome(failure)
        wanted = self._decide(after_all_tries, now, jitter=jitter, retried_below=retried_below)
        found = self.shared.failed(self._failed_attempt(failure, wanted), now)
        if isinstance(found, Question):
            return self._ask(found, self._judged, now, after_all_tries, wanted)
        return self._judged(now, after_all_tries, wanted, found)

    def answered(self, answer: Any) -> Effect:
        """Go on with the answer to the question of the last `Ask`."""
        then, self.on_answer = self.on_answer, None
        if then is None:
            raise RuntimeError("nothing was asked")
        if self.is_cancelled:  # meanwhile: the answer may have let this call probe
            self.cancelled()
            return _DONE
        return then(answer)

    def cancelled(self) -> None:
        """Note that the try was cancelled: nothing is known of it. A question under way still gets its answer."""
        self.is_cancelled = True
        self.shared.released((self.server, self.tool), caller=self)

    def follow_up(self, now: float, kind: Kind, failure: Failure | None, *, reason: str) -> None:
        """Report to the hook what was done after the tries: a corrected call was made, or a fallback answered."""
        self._emit(now, kind, failure, reason=reason)

    def with_gravest_outcome(self, failure: Failure) -> Failure:
        """Return the failure of the last try with the gravest outcome of all tries: any of them may have had effect."""
        failure = with_graver_outcome(failure, self.gravest)
        self.gravest = failure.outcome
        return failure

    def _ask(self, question: Question[Any], then: Callable[..., Effect], *known: Any) -> Ask:
        self.on_answer = partial(then, *known)
        return Ask(question)

    def _begun(self, now: float, refusal: Failure | None) -> Effect:
        if refusal is None:
            self.attempt += 1
            return _TRY
        if self.last is None:
            self._emit(now, "refused", refusal, reason=_SUSPENDED)
        else:  # the refusal of another try does not undo what was tried
            self._emit(now, "failure", self.last, reason=_SUSPENDED)
        return Finish(refusal=refusal)

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
            failure,
            self.hints,
            attempt=self.attempt,
            policy=self.policy,
            elapsed=now - self.started,
            jitter=jitter,
        )

    def _failed_attempt(self, failure: Failure, wanted: Decision) -> FailedAttempt:
        is_counted, self.is_counted = self.is_counted, True
        return FailedAttempt((self.server, self.tool), failure, self, self.arguments, is_counted, wanted.retry_delay)

    def _judged(self, now: float, failure: Failure, wanted: Decision, permit: RetryPermit) -> Effect:
        self.last = failure
        decision = self._permitted(failure, wanted, permit)
        delay = decision.retry_delay
        self._emit(now, "failure" if delay is None else "retry", failure, delay=delay, reason=decision.reason)
        return Finish(decision) if delay is None else Wait(delay)

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
        if self.call is None:
            self.call = next(_numbers)
        event = Event(
            source=self.source,
            kind=kind,
            session=self.session,
            server=self.server,
            tool=self.tool,
            call=self.call,
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
