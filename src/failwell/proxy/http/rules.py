"""`Rules`: what the operator wants of calls: how failures are written, and which calls are made again."""

import random
import time
from collections.abc import Callable
from typing import Any

from failwell._json import is_object
from failwell.advice import Hints
from failwell.failure import Failure
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.events import Happening
from failwell.proxy.http.sessions import HttpSession, Pending
from failwell.proxy.rewriter import Message, Rewriter
from failwell.reading.reader import attempts_below
from failwell.retry import Limits, Policy, Run, Shared

_LONGEST_KEPT = 1 << 20


class Rules:
    """Decides for each answer whether it is a failure, and whether the call is made again.

    Args:
        validates: wrong arguments are refused here.
        policy: how often and how long calls are made again; None: never.
        shared: budget, breaker and repeats, if not those of this proxy alone.
        safe: tools that may run twice, as the operator knows.
        looks_at_successes: answers that are not flagged may be failures too.
        dry_run: report what would change, and change nothing.
        report: told what happened.
        clock: tells seconds.
        chance: gives a number from 0 to 1.
    """

    def __init__(
        self,
        *,
        validates: bool = False,
        policy: Policy | None = None,
        shared: Limits | None = None,
        safe: tuple[str, ...] = (),
        looks_at_successes: bool = False,
        dry_run: bool = False,
        report: Callable[[Happening], object] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.looks_at_successes = looks_at_successes
        self.dry_run = dry_run
        self.report = report
        self.calls: dict[str, int] = {}
        self.validates = validates
        self._policy = policy
        self._safe = frozenset(safe)
        self._shared = shared or Shared.new()
        self._clock = clock
        self._chance = chance

    async def refusal(self, pending: Pending, session: HttpSession) -> Message | None:
        """Return the answer to a call that must not be made: wrong arguments, or an open breaker. None: make it."""
        self.calls[pending.tool] = self.calls.get(pending.tool, 0) + 1
        upgrader = session.upgrader
        is_told = self.validates or upgrader.tells_all
        if is_told and (refused := upgrader.refusal(pending.call)) is not None:
            return refused
        if self._policy is None or len(pending.body) > _LONGEST_KEPT:
            return None
        call, now = pending.call, self._clock()
        hints = self._hints(call, upgrader)
        pending.run = Run(
            self._policy, self._shared, tool=call.tool, arguments=call.arguments, hints=hints, started=now
        )
        failure = await self.suspension(pending)
        if failure is None:
            return None
        self.report(upgrader.happening("refused", call, failure))
        return upgrader.failed(call, failure)

    async def suspension(self, pending: Pending) -> Failure | None:
        """Begin the next try of a call, or return why it must not be made: calls of the tool are suspended."""
        failure = None if pending.run is None else await pending.run.abegin(self._clock())
        return None if self.dry_run else failure

    def is_unclear(self, pending: Pending, session: HttpSession, message: Message) -> bool:
        """Return whether an answer is a failure of a tool that nothing is known of: its list would make it clearer."""
        upgrader = session.upgrader
        return not upgrader.tools.names() and _failure_in(upgrader, pending.call, message) is not None

    async def delay(self, pending: Pending, session: HttpSession, message: Message) -> float | None:
        """Take in an answer, and return after how many seconds the call is made again; None: this is its answer."""
        run = pending.run
        if run is None:
            return None
        failure = _failure_in(session.upgrader, pending.call, message)
        if failure is None:
            run.succeeded(self._clock())
            return None
        run.hints = self._hints(pending.call, session.upgrader)  # more may be known than when the call was made
        below = attempts_below(message.get("result")) > 1
        delay = (await run.afailed(failure, self._clock(), jitter=self._chance(), retried_below=below)).delay
        if delay is None or pending.is_cancelled:
            return None
        told = session.upgrader.happening("retry", pending.call, failure, attempt=run.attempt, delay=round(delay, 3))
        self.report(told)
        return None if self.dry_run else delay

    def _hints(self, call: ProxiedCall, upgrader: Rewriter) -> Hints:
        return Hints(idempotent=True) if call.tool in self._safe else upgrader.hints(call.tool)

    def ended(self, pending: Pending) -> None:
        """Note that a call ended; without an answer, as when its client has gone, another one may probe."""
        if pending.run is not None and not pending.is_answered:
            pending.run.cancelled()

    def is_progress(self, pending: Pending, message: Any) -> bool:
        """Return whether a notification of progress goes beyond those of earlier tries, as clients are promised."""
        params = message.get("params") if is_object(message) else None
        made = params.get("progress") if is_object(params) else None
        if pending.run is None or not isinstance(made, int | float):
            return True
        if made <= pending.progress:
            return pending.run.attempt == 1
        pending.progress = made
        return True


def _failure_in(upgrader: Rewriter, call: ProxiedCall, message: Message) -> Failure | None:
    failure = upgrader.failure_in(call, message)
    if failure is None and upgrader.flips(call.tool):
        failure = upgrader.unflagged_in(call, message)
    return failure
