"""`TimeLimit`: how long the tries of one call may take."""

import functools
import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from failwell.advice import Policy
from failwell.errors import TimedOut
from failwell.failure import Failure, in_seconds
from failwell.retry._clock import CallClock, DeadlinePassed

attempt_clock: ContextVar[CallClock | None] = ContextVar("failwell_attempt_clock", default=None)
"""The clock of the try that is under way, if its time is limited."""

_UNWINDING = 1.0
_GRACE = 0.1  # an SDK that cancels a call may wait for seconds until its transport takes the message


class NoAnswer(TimedOut):
    """A try took too long and was cancelled."""

    kind = TimedOut.kind


@functools.cache
def _has_anyio() -> bool:
    return find_spec("anyio") is not None


class TimeLimit:
    """The time of one call: *timeout* seconds for each try, *deadline* seconds from *started* for all of them.

    Time that the call spends waiting for the user does not count: `started` moves on by as much.
    """

    def __init__(
        self, timeout: float | None, deadline: float | None, *, started: float, clock: Callable[[], float]
    ) -> None:
        self.started = started
        self._timeout = math.inf if timeout is None else timeout
        self._deadline = math.inf if deadline is None else deadline
        self._clock = clock

    @classmethod
    def of(cls, policy: Policy, *, started: float, clock: Callable[[], float]) -> "TimeLimit | None":
        """Return the limit that a policy sets, if any; without anyio a deadline alone ends no try that is under way."""
        timeout, deadline = policy.timeout, policy.deadline
        if timeout is None and (deadline is None or not _has_anyio()):
            return None
        return cls(timeout, deadline, started=started, clock=clock)

    def left(self) -> float:
        """Return the seconds until the deadline."""
        return self._deadline - (self._clock() - self.started)

    async def run(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what one try returns, or raise what it raises.

        Raises:
            NoAnswer: it took too long.
        """
        left = self.left()
        if left <= 0:
            message = "The deadline passed before the call was made."
            raise NoAnswer(Failure(code="TIMEOUT", message=message, outcome="not_executed"))
        clock = CallClock(self._timeout, most=left, outer=attempt_clock.get())
        began = self._clock()
        try:
            return await self._run_within(clock, make)
        except DeadlinePassed:
            raise NoAnswer(self._failure(clock)) from None
        finally:
            self.started += max(0.0, self._clock() - began - clock.running)

    async def look_up(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return what a question beside the call gives, within a try's time; None if it gives nothing by then."""
        seconds = min(self._timeout, self.left())
        if seconds <= 0:
            return None
        try:
            return await self._run_within(CallClock(seconds), make)
        except DeadlinePassed:
            return None

    async def _run_within(self, clock: CallClock, make: Callable[[], Awaitable[Any]]) -> Any:
        from failwell.retry._deadline import run_within  # an optional dependency: only if time is limited

        return await run_within(clock, make, current=attempt_clock, grace=_GRACE, unwinding=_UNWINDING)

    def _failure(self, clock: CallClock) -> Failure:
        is_deadline = clock.outer_limit is None and (clock.limit < self._timeout or self.left() <= 0)
        seconds = self._deadline if is_deadline else clock.outer_limit or self._timeout
        which = "the deadline of " if is_deadline else ""
        details = {"timeout": seconds}
        if not clock.may_be_executed:
            message = f"The connection to the MCP server could not be renewed within {which}{in_seconds(seconds)}."
            message = f"{message} This request was not executed."
            return Failure(code="TIMEOUT", message=message, outcome="not_executed", details=details)
        since = " of the last progress" if clock.is_restarted and not is_deadline else ""
        message = f"No answer arrived within {which}{in_seconds(seconds)}{since}."
        return Failure(code="TIMEOUT", message=message, outcome="unknown", details=details)
