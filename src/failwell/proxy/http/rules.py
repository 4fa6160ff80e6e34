"""`Rules`: which calls are refused, and which are made again, as the operator wants."""

import random
import time
from collections.abc import Callable
from typing import Any

from failwell._json import is_object
from failwell.event import Observer
from failwell.failure import Failure
from failwell.proxy.bounds import MAX_RETRIED_BODY
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.http.sessions import HttpSession, PendingCall
from failwell.proxy.rewriter import Message, Rewriter
from failwell.proxy.summary import counted_name
from failwell.reading.reader import attempts_below
from failwell.retry import Limits, Policy, Run, Shared


class Rules:
    """Decides for each answer whether it is a failure, and whether the call is made again.

    Args:
        validates: wrong arguments are refused here.
        policy: how often and how long calls are made again; None: never.
        shared: budget, breaker and repeats, if not those of this proxy alone.
        reads_successes: answers that are not flagged may be failures too.
        dry_run: report what would change, and change nothing.
        report: gets each event.
        clock: tells seconds.
        jitter: gives a number from 0 to 1.
    """

    def __init__(
        self,
        *,
        validates: bool = False,
        policy: Policy | None = None,
        shared: Limits | None = None,
        reads_successes: bool = False,
        dry_run: bool = False,
        report: Observer = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.reads_successes = reads_successes
        self.dry_run = dry_run
        self.report = report
        self.calls: dict[str, int] = {}
        self.validates = validates
        self._policy = policy
        self._shared = shared or Shared.new()
        self._clock = clock
        self._jitter = jitter

    async def refusal(self, pending: PendingCall, session: HttpSession) -> Message | None:
        """Return the answer to a call that must not be made: wrong arguments, or an open breaker. None: make it."""
        name = counted_name(pending.tool, self.calls)
        self.calls[name] = self.calls.get(name, 0) + 1
        rewriter = session.rewriter
        is_read = self.validates or rewriter.reports_all
        if is_read and (refused := rewriter.refusal(pending.call)) is not None:
            return refused
        if self._policy is None or len(pending.body) > MAX_RETRIED_BODY:
            return None
        call, now = pending.call, self._clock()
        hints = rewriter.hints(call.tool)
        pending.run = Run(
            self._policy, self._shared, tool=call.tool, arguments=call.arguments, hints=hints, started=now
        )
        failure = await self.suspension(pending)
        if failure is None:
            return None
        self.report(rewriter.event("refused", call, failure))
        return rewriter.failed(call, failure)

    async def suspension(self, pending: PendingCall) -> Failure | None:
        """Begin the next attempt of a call, or return why it must not be made: calls of the tool are suspended."""
        failure = None if pending.run is None else await pending.run.abegin(self._clock())
        return None if self.dry_run else failure

    def is_unclear(self, pending: PendingCall, session: HttpSession, message: Message) -> bool:
        """Return whether an answer is a failure while no tool is known: the list of tools would make it clearer."""
        rewriter = session.rewriter
        return not rewriter.tools.names() and _failure_in(rewriter, pending.call, message) is not None

    async def delay(self, pending: PendingCall, session: HttpSession, message: Message) -> float | None:
        """Return after how many seconds a call with this answer is made again; None: the client gets the answer."""
        run = pending.run
        if run is None:
            return None
        failure = _failure_in(session.rewriter, pending.call, message)
        if failure is None:
            run.succeeded(self._clock())
            return None
        run.hints = session.rewriter.hints(pending.tool)  # more may be known than when the call was made
        below = attempts_below(message.get("result")) > 1
        delay = (await run.afailed(failure, self._clock(), jitter=self._jitter(), retried_below=below)).retry_delay
        if delay is None or pending.is_cancelled:
            return None
        event = session.rewriter.event("retry", pending.call, failure, attempt=run.attempt, delay=round(delay, 3))
        self.report(event)
        return None if self.dry_run else delay

    def note_end(self, pending: PendingCall) -> None:
        """Note that a call ended; without an answer, as when its client has gone, another call may probe the tool."""
        if pending.run is not None and not pending.is_answered:
            pending.run.cancelled()

    def is_progress(self, pending: PendingCall, message: Any) -> bool:
        """Return whether a notification of progress goes beyond those of earlier tries, as clients are promised."""
        params = message.get("params") if is_object(message) else None
        value = params.get("progress") if is_object(params) else None
        if pending.run is None or not isinstance(value, int | float):
            return True
        if value <= pending.progress:
            return pending.run.attempt == 1
        pending.progress = value
        return True


def _failure_in(rewriter: Rewriter, call: ProxiedCall, message: Message) -> Failure | None:
    failure = rewriter.failure_in(call, message)
    if failure is None and rewriter.flips(call.tool):
        failure = rewriter.unflagged_in(call, message)
    return failure
