"""`Run`: one call on its way through its attempts, told what happened and telling what to do. No clock of its own."""

import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from failwell.decision import Hints
from failwell.failure import Failure
from failwell.retry.breaker import Breaker
from failwell.retry.budget import Budget
from failwell.retry.event import Event
from failwell.retry.policy import Policy, Verdict
from failwell.retry.repeats import Repeats

_log = logging.getLogger("failwell")

Hook = Callable[[Event], object]


class Shared(NamedTuple):
    """What calls have in common: the budget of a server, the breakers of its tools, the calls that fail alike."""

    budget: Budget
    breaker: Breaker
    repeats: Repeats

    @classmethod
    def new(cls) -> "Shared":
        """Return fresh ones, with their usual figures."""
        return cls(Budget(), Breaker(), Repeats())


class Run:
    """Decides after each attempt of one call. The driver waits, calls and asks again."""

    def __init__(
        self,
        policy: Policy,
        shared: Shared,
        *,
        server: str = "",
        tool: str = "",
        arguments: Any = None,
        hints: Any = None,
        hook: Hook | None = None,
        started: float,
    ) -> None:
        self.policy = policy
        self.shared = shared
        self.server = server
        self.tool = tool
        self.arguments = arguments
        self.hints = Hints.of(hints)
        self.hook = hook
        self.started = started
        self.attempt = 0
        self._paid = 0.0

    @property
    def _key(self) -> tuple[str, str]:
        return self.server, self.tool

    def begin(self, now: float) -> Failure | None:
        """Return the failure of an open breaker, or None: make the next attempt."""
        refusal = self.shared.breaker.refusal(self._key, now)
        if refusal is None:
            self.attempt += 1
            return None
        self._tell(now, "refused", refusal, reason="calls are suspended")
        return refusal

    def succeeded(self, now: float) -> None:
        """Note that the attempt succeeded."""
        shared = self.shared
        shared.breaker.succeeded(self._key)
        shared.budget.refund(self.server, self._paid)
        shared.repeats.succeeded(self.server, self.tool, self.arguments)
        self._tell(now, "succeeded")

    def failed(self, failure: Failure, now: float, *, jitter: float, retried_below: bool = False) -> Verdict:
        """Note that the attempt failed, and return whether to wait and try again."""
        shared = self.shared
        shared.breaker.failed(self._key, failure, now)
        if retried_below:
            verdict = Verdict(None, "it was retried already", failure.retry_after)
        elif shared.repeats.failed(self.server, self.tool, self.arguments, failure):
            verdict = Verdict(None, "the same call keeps failing the same way", failure.retry_after)
        else:
            elapsed = now - self.started
            verdict = self.policy.verdict(
                failure, attempt=self.attempt, jitter=jitter, hints=self.hints, elapsed=elapsed
            )
        if verdict.delay is not None:
            paid = shared.budget.spend(self.server, failure)
            if paid is None:
                verdict = Verdict(None, "the retry budget of the server is used up", verdict.delay)
            else:
                self._paid = paid
        step = "gave_up" if verdict.delay is None else "retry"
        self._tell(now, step, failure, delay=verdict.delay, reason=verdict.reason)
        return verdict

    def cancelled(self) -> None:
        """Note that the attempt was cancelled: nothing is known of it."""
        self.shared.breaker.released(self._key)

    def _tell(
        self,
        now: float,
        step: Any,
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
