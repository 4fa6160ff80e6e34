"""`Run`: one call on its way through its attempts, told what happened and telling what to do. No clock of its own."""

import os
from collections.abc import Callable
from itertools import count
from typing import Any

from msgspec import Struct

from failwell._log import log
from failwell.advice import Hints, Policy, Verdict
from failwell.event import Event, Sent, Step
from failwell.failure import Failure
from failwell.retry import _environment
from failwell.retry._forks import in_every_fork
from failwell.retry._limits import Failing, Limits, Taken

_SUSPENDED = "calls are suspended"

Hook = Callable[[Event], object]


def _numbering() -> "count[int]":
    """Return numbers far from those of other processes, so that each is that of one call in all of them."""
    return count((int.from_bytes(os.urandom(3)) << 28) + 1)


_numbers = _numbering()


def _number_anew() -> None:
    global _numbers
    _numbers = _numbering()


in_every_fork(_number_anew)


class _Progress(Struct, kw_only=True, eq=False):
    attempt: int = 0
    paid: float = 0.0
    is_counted: bool = False
    number: int = 0
    last: Failure | None = None


class Run(_Progress, eq=False):
    """Decides after each attempt of one call. The driver waits, calls and asks again.

    What it is made of is what `call` takes, and the time at which the call *started*.
    """

    policy: Policy
    shared: Limits
    server: str = ""
    tool: str = ""
    arguments: Any = None
    hints: Any = None
    hook: Hook | None = None
    started: float = 0.0

    def begin(self, now: float) -> Failure | None:
        """Return the failure of an open breaker, or None: make the next attempt."""
        return self._begun(self.shared.begin((self.server, self.tool), now, caller=self), now)

    async def abegin(self, now: float) -> Failure | None:
        """Do what `begin` does."""
        return self._begun(await self.shared.abegin((self.server, self.tool), now, caller=self), now)

    def succeeded(self, now: float) -> None:
        """Note that the attempt succeeded."""
        self.shared.succeeded((self.server, self.tool), self.arguments, now, paid=self.paid)
        self._tell(now, "succeeded")

    def failed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Verdict:
        """Note that the attempt failed, and return whether to wait and try again."""
        wish = self._wish(failure, now, jitter=jitter, retried_below=retried_below)
        return self._settled(failure, wish, self.shared.failed(self._failing(failure, wish), now), now)

    async def afailed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Verdict:
        """Do what `failed` does."""
        wish = self._wish(failure, now, jitter=jitter, retried_below=retried_below)
        return self._settled(failure, wish, await self.shared.afailed(self._failing(failure, wish), now), now)

    def cancelled(self) -> None:
        """Note that the attempt was cancelled: nothing is known of it."""
        self.shared.released((self.server, self.tool), caller=self)

    def follow_up(self, now: float, step: Step, failure: Failure | None, *, reason: str) -> None:
        """Tell the hook what was done after the tries: a corrected call was made, or a fallback answered."""
        self._tell(now, step, failure, reason=reason)

    def _begun(self, refusal: Failure | None, now: float) -> Failure | None:
        if refusal is None:
            self.attempt += 1
        elif self.last is None:
            self._tell(now, "refused", refusal, reason=_SUSPENDED)
        else:  # what was tried is not untold by a refusal of another try
            self._tell(now, "gave_up", self.last, reason=_SUSPENDED)
        return refusal

    def _wish(self, failure: Failure, now: float, *, jitter: float, retried_below: bool) -> Verdict:
        """Return what is due by what is known of this call alone."""
        if retried_below:
            return Verdict(None, "it was retried already", failure.retry_after)
        most = _environment.current.attempts
        if most is not None and self.attempt >= most:
            return Verdict(None, f"no more than {most} attempts are made here", failure.retry_after)
        return self.policy.verdict(
            failure,
            attempt=self.attempt,
            jitter=jitter,
            hints=self.hints and Hints.of(self.hints),
            elapsed=now - self.started,
        )

    def _failing(self, failure: Failure, wish: Verdict) -> Failing:
        is_counted, self.is_counted = self.is_counted, True
        return Failing((self.server, self.tool), failure, self, self.arguments, is_counted, wish.delay)

    def _settled(self, failure: Failure, wish: Verdict, taken: Taken, now: float) -> Verdict:
        self.last = failure
        verdict = self._verdict(failure, wish, taken)
        step: Step = "gave_up" if verdict.delay is None else "retry"
        self._tell(now, step, failure, delay=verdict.delay, reason=verdict.reason)
        return verdict

    def _verdict(self, failure: Failure, wish: Verdict, taken: Taken) -> Verdict:
        """Return what is done about a wish, by what calls share."""
        if taken.keeps_failing:
            return Verdict(None, "the same call keeps failing the same way", failure.retry_after)
        if wish.delay is None:
            return wish
        if taken.is_suspended:
            return Verdict(None, _SUSPENDED, wish.delay)
        if taken.paid is None:
            return Verdict(None, "the retry budget of the server is used up", wish.delay)
        self.paid = taken.paid
        return wish

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
        self.number = self.number or next(_numbers)
        event = Event(
            server=self.server,
            tool=self.tool,
            attempt=self.attempt,
            step=step,
            elapsed=now - self.started,
            failure=failure,
            delay=delay,
            reason=reason,
            call=self.number,
            sent=None if self.arguments is None else Sent(self.arguments),
            hints=self.hints,
        )
        try:
            self.hook(event)
        except Exception:
            log.exception("a retry hook failed")
