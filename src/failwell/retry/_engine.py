"""`Run`: the state machine of one retried call. It does no I/O and has no clock: times and failures in, effects out.

`settle` and `asettle` ask the shared limits for it.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from failwell._automatic import SWITCHED_OFF, is_automatic
from failwell._log import log
from failwell.advice import Decision, Hints, Policy, decide, is_guess, is_rate_limit
from failwell.codes import Action, Outcome
from failwell.event import CallArguments, Event, Kind, Observer, Source
from failwell.failure import Failure, is_certain, with_graver_outcome
from failwell.retry import _environment
from failwell.retry._call_key import CallKey
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import FailedAttempt, Limits, Question, RetryPermit
from failwell.retry._pacer import Turn, not_sent

_SUSPENDED = "Calls to this tool are suspended after repeated failures."
_PACED = "The server limits how often this tool is called."
_FORGOTTEN = "The server does not remember the idempotency key of this call long enough to make it again."
_KEYED = Hints(idempotent=True)
_LIMITED = "The server limits how often this tool is called, and the wait for this call is too long."


class Try(Struct, frozen=True):
    """Make the call, then tell `succeeded` or `failed`."""


class Ask(Struct, frozen=True, eq=False):
    """Ask the shared limits, then tell `answered` what they say."""

    question: Question[Any]


class Wait(Struct, frozen=True):
    """Wait this many seconds, then `begin` the next try."""

    delay: float


class Finish(Struct, frozen=True):
    """The call is over: it succeeded, *decision* says why it is not tried again, or the next try got a *refusal*."""

    decision: Decision | None = None
    refusal: Failure | None = None


Effect = Try | Ask | Wait | Finish
"""What the driver does next."""

_TRY, _DONE = Try(), Finish()
_PROBE_SPREAD = 1.0
_LONGEST_HOLD = 2.0  # times the longest delay: a call outlasts a probe that fails, and the next one may succeed


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
    is_doubtful: bool = False  # an earlier try had no effect only as its words go
    key: CallKey | None = None  # which makes the next try safe, where nothing else does
    source: Source = "retry"
    session: str = ""
    call: int | str | None = None
    principal: str = ""
    turn: Turn | None = None
    tried_at: float | None = None
    held_since: float | None = None
    held_until: float = 0.0
    on_answer: Callable[[Any], Effect] | None = None


class Run(_Progress, eq=False):
    """The state of one call, and what to do next.

    A driver does what each effect says, and tells the run how that ended:

        effect = run.begin(now)
        Try    → make the call, then effect = run.succeeded(now) or run.failed(failure, now, jitter=…)
        Ask    → effect = run.answered(question.run()), or await question.arun()
        Wait   → wait, then effect = run.begin(now)
        Finish → the call is over

    A `Wait` may come before the first try: the server limits calls, or the tool is suspended for a moment. Its fields
    are what `call` takes, the time at which the call *started*, whose credentials it is made with (`principal`), and
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

    def begin(self, now: float, *, jitter: float = 0.0) -> Effect:
        """Begin the next try: `Try`, `Wait` for its turn or for a suspended tool, `Finish` if that takes too long."""
        if not is_automatic():
            return self._begun(now, jitter, None)
        now = max(now, self.held_until)  # a sleep may end early, and does in tests
        waiting = self._wait_for_turn(now)
        if waiting is not None:
            return waiting
        found = self.shared.begin((self.server, self.tool), now, caller=self)
        if isinstance(found, Question):
            return self._ask(found, self._begun_after_asking, now, jitter)
        return self._begun(now, jitter, found)

    def succeeded(self, now: float) -> Finish:
        """Note that the try succeeded."""
        self.shared.succeeded((self.server, self.tool), self.arguments, now, paid=self.paid)
        self._emit(now, "success" if self.attempt <= 1 else "recovered")
        return _DONE

    def failed(
        self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False, key: CallKey | None = None
    ) -> Effect:
        """Note that the try failed: `Wait` and try again, `Finish` with the decision, or `Ask` first.

        *key* is the idempotency key that the server got with the call.
        """
        after_all_tries = self.with_gravest_outcome(failure)
        is_shared = bool(self.server or self.tool)
        if is_shared and is_rate_limit(failure) and is_automatic() and not is_guess(failure):
            self._note_rate_limit(failure, now, jitter=jitter)
        judged = after_all_tries
        if self.is_doubtful and not (self.policy.repeatable or Hints.of(self.hints).repeatable):
            # Words alone do not show that an earlier try had no effect, and the tool may have promised less since then.
            judged = with_graver_outcome(judged, "unknown")
        wanted = self._decide(judged, self.hints, now, jitter=jitter, retried_below=retried_below)
        self.key = None
        if key is not None and wanted.retry_delay is None and key.protects(failure):
            keyed = self._decide(after_all_tries, _KEYED, now, jitter=jitter, retried_below=retried_below)
            if keyed.retry_delay is not None and key.lasts(keyed.retry_delay):
                wanted, self.key = keyed, key
            elif keyed.retry_delay is not None:
                wanted = replace(wanted, reason=_FORGOTTEN)
        self.is_doubtful = self.is_doubtful or not (is_certain(failure) or self.policy.trust_inferred)
        found = self.shared.failed(self._failed_attempt(failure, wanted), now)
        if isinstance(found, Question):
            return self._ask(found, self._judged, now, jitter, after_all_tries, wanted)
        return self._judged(now, jitter, after_all_tries, wanted, found)

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
        """Note that the try was cancelled: its outcome is unknown. A question under way still gets its answer."""
        self.is_cancelled = True
        self.shared.released((self.server, self.tool), caller=self)

    def expired(self, now: float) -> Finish:
        """Note that the deadline passed while the call waited for its next try."""
        reason = "The deadline passed."
        if self.last is None:
            message = "The deadline passed before the call was made."
            refusal = Failure(code="TIMEOUT", message=message, outcome="not_executed", tool=self.tool or None)
            return self._refused(now, refusal, reason)
        return self._give_up(now, self.last, "wait", reason)

    def follow_up(self, now: float, kind: Kind, failure: Failure | None, *, reason: str) -> None:
        """Report what was done beside the tries: a corrected call, a question, an answer in place of the tool's."""
        if kind == "refused":
            self._log("not sent", reason)
        else:
            log.debug("%s: %s: %s", self._called, kind, reason)
        self._emit(now, kind, failure, reason=reason)

    def with_gravest_outcome(self, failure: Failure) -> Failure:
        """Return the failure of the last try with the gravest outcome of all tries: any of them may have had effect."""
        failure = with_graver_outcome(failure, self.gravest)
        self.gravest = failure.outcome
        return failure

    def _ask(self, question: Question[Any], then: Callable[..., Effect], *known: Any) -> Ask:
        self.on_answer = partial(then, *known)
        return Ask(question)

    def _wait_for_turn(self, now: float) -> Effect | None:
        self.turn = self.shared.pacer.turn((self.server, self.principal, self.tool), now, self.turn)
        if self.turn is None or self.turn.delay <= 0:
            return None
        if self._may_wait(now, self.turn.delay, longest=self.policy.max_wait):
            self._log(f"waiting {self.turn.delay:.3g} s for its turn", _PACED)
            return self._hold(now, self.turn.delay)
        return self._refused(now, not_sent(self.tool, self.turn.delay), _LIMITED)

    def _begun_after_asking(self, now: float, jitter: float, refusal: Failure | None) -> Effect:
        """Go on with what the store says; it may have told of a rate limit that another process met."""
        waiting = self._wait_for_turn(now) if refusal is None and self.turn is None else None
        if waiting is None:
            return self._begun(now, jitter, refusal)
        self.shared.released((self.server, self.tool), caller=self)  # it may have been let through to probe
        return waiting

    def _begun(self, now: float, jitter: float, refusal: Failure | None) -> Effect:
        if refusal is None and self.last is not None and self.key is not None and not self.key.lasts(0.0):
            self.shared.released((self.server, self.tool), caller=self)  # it may have been let through to probe
            return self._give_up(now, self.last, "verify", _FORGOTTEN)
        if refusal is None:
            self.attempt += 1
            self.tried_at, self.held_since = now, None
            return _TRY
        left = (refusal.retry_after or 0.0) + jitter * _PROBE_SPREAD  # or all who wait would come at once
        since = now if self.held_since is None else self.held_since
        longest = min(self.policy.longest, self._longest_hold() - (now - since))
        if refusal.retry_after is not None and self._may_wait(now, left, longest=longest):
            if self.held_since is None:
                self._log(f"waiting {left:.3g} s", _SUSPENDED)
            self.held_since = since
            return self._hold(now, left)
        return self._refused(now, refusal, _SUSPENDED)

    def _longest_hold(self) -> float:
        """Return for how many seconds a call waits for a suspended tool in all; who sets a deadline has said so."""
        policy = self.policy
        return _LONGEST_HOLD * policy.longest if policy.deadline is None else max(policy.max_wait, policy.longest)

    def _hold(self, now: float, delay: float) -> Wait:
        self.held_until = now + delay
        return Wait(delay)

    def _refused(self, now: float, refusal: Failure, reason: str) -> Finish:
        self._log("not sent" if self.last is None else "giving up", reason)
        if self.last is None:
            self._emit(now, "refused", refusal, reason=reason)
        else:  # the refusal of another try does not undo what was tried
            self._emit(now, "failure", self.last, reason=reason)
        return Finish(refusal=refusal)

    def _give_up(self, now: float, last: Failure, action: Action, reason: str) -> Finish:
        self._log("giving up", reason)
        self._emit(now, "failure", last, reason=reason)
        return Finish(Decision(action=action, reason=reason, delay=last.retry_after))

    def _may_wait(self, now: float, delay: float, *, longest: float) -> bool:
        deadline = self.policy.deadline
        is_in_time = deadline is None or now - self.started + delay <= deadline
        return is_in_time and delay <= longest and (self.key is None or self.key.lasts(delay))

    def _note_rate_limit(self, failure: Failure, now: float, *, jitter: float) -> None:
        self.turn = self.shared.pacer.limited(
            (self.server, self.principal, self.tool),
            failure,
            now,
            jitter=jitter,
            longest=self.policy.max_wait,
            tried_at=self.tried_at,
            before=self.turn,
        )

    def _decide(self, failure: Failure, hints: Any, now: float, *, jitter: float, retried_below: bool) -> Decision:
        """Return what is due by what is known of this call alone."""
        if retried_below:
            return Decision(action="stop", reason="It was already retried.", delay=failure.retry_after)
        if not is_automatic():
            return Decision(action="stop", reason=SWITCHED_OFF, delay=failure.retry_after)
        most = _environment.current.attempts
        if most is not None and self.attempt >= most:
            reason = f"At most {most} attempts are made here."
            return Decision(action="stop", reason=reason, delay=failure.retry_after)
        return decide(
            failure,
            hints,
            attempt=self.attempt,
            policy=self.policy,
            elapsed=now - self.started,
            jitter=jitter,
        )

    def _failed_attempt(self, failure: Failure, wanted: Decision) -> FailedAttempt:
        is_of_session = failure.code == "SESSION_LOST"  # many calls lose one, and it says nothing of any tool
        is_counted, self.is_counted = self.is_counted or is_of_session, self.is_counted or not is_of_session
        is_paced = self.turn is not None and not self.principal and is_rate_limit(failure) and not is_guess(failure)
        key, delay = (self.server, self.tool), wanted.retry_delay
        return FailedAttempt(key, failure, self, self.arguments, is_counted, delay, is_paced)

    def _judged(self, now: float, jitter: float, failure: Failure, wanted: Decision, permit: RetryPermit) -> Effect:
        self.last = failure
        decision = self._in_turn(self._permitted(failure, wanted, permit, now), failure, now)
        if permit.given_up and permit.paid is not None:
            decision = self._after_lost_calls(decision, failure, permit.given_up, now, jitter)
        delay = decision.retry_delay
        next_step = "giving up" if delay is None else f"trying again in {delay:.3g} s"
        self._log(f"attempt {self.attempt} failed with {failure.code or failure.type}, {next_step}", decision.reason)
        self._emit(now, "failure" if delay is None else "retry", failure, delay=delay, reason=decision.reason)
        return Finish(decision) if delay is None else self._hold(now, delay)

    def _in_turn(self, decision: Decision, failure: Failure, now: float) -> Decision:
        """Return the decision with the time until it is the turn of the call, if calls of the tool take turns."""
        if self.turn is None or not is_rate_limit(failure):
            return decision
        delay = decision.retry_delay
        if delay is None or self.turn.delay <= delay:
            return decision
        if self._may_wait(now, self.turn.delay, longest=self.policy.max_wait):
            return replace(decision, delay=self.turn.delay)
        return Decision(action="wait", reason=_LIMITED, delay=self.turn.delay)

    def _after_lost_calls(self, decision: Decision, failure: Failure, lost: int, now: float, jitter: float) -> Decision:
        """Return the decision with a longer delay: quick tries did not help the calls before this one."""
        soon = decision.retry_delay
        if soon is None or failure.retry_after is not None:
            return decision
        later = jitter * min(self.policy.throttled_base * 2.0 ** min(self.attempt + lost - 1, 60), self.policy.longest)
        if later <= soon or not self._may_wait(now, later, longest=self.policy.max_wait):
            return decision
        return replace(decision, delay=later)

    def _permitted(self, failure: Failure, wanted: Decision, permit: RetryPermit, now: float) -> Decision:
        """Return the decision, unless a limit forbids the retry that it wants."""
        if permit.keeps_failing:
            return Decision(
                action="stop", reason="The same call keeps failing the same way.", delay=failure.retry_after
            )
        if wanted.action != "retry":
            return wanted
        if permit.is_suspended:
            may_wait = self._may_wait(now, permit.left, longest=self.policy.longest)
            return Decision(action="retry" if may_wait else "wait", reason=_SUSPENDED, delay=permit.left)
        if permit.paid is None:
            return Decision(action="wait", reason="The retry budget of the server is used up.", delay=wanted.delay)
        self.paid = permit.paid
        return wanted

    def _log(self, what: str, reason: str) -> None:
        """Write one line: what is done and why, and nothing that anybody sent."""
        log.info("%s: %s: %s", self._called, what, reason)

    @property
    def _called(self) -> str:
        called = self.tool or "a call"
        return f"{called} of {self.server}" if self.server else called

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


def settle(run: Run, effect: Effect) -> Try | Wait | Finish:
    """Return what to do after the shared limits have answered, if they are to be asked."""
    while isinstance(effect, Ask):
        effect = run.answered(effect.question.run())
    return effect


async def asettle(run: Run, effect: Effect) -> Try | Wait | Finish:
    """Do what `settle` does without blocking the event loop."""
    while isinstance(effect, Ask):
        effect = run.answered(await effect.question.arun())
    return effect
