"""How long tools of a server may run."""

import math
from collections.abc import Callable, Mapping
from contextvars import ContextVar, copy_context
from threading import Thread
from typing import TypeVar

from failwell._log import log
from failwell.failure import Failure, in_seconds
from failwell.retry._clock import CallClock, DeadlinePassed

T = TypeVar("T")

ALL_OTHERS = "*"
"""In a mapping of limits, what stands for every tool that is not named."""

TimeLimits = float | Mapping[str, float | None] | None
"""Seconds for every tool, or seconds by the name of a tool; None: no limit."""


class Timeouts:
    """How many seconds each tool of a server may take.

    Raises:
        TypeError: a limit is not a number.
        ValueError: a limit is not a number of seconds that can pass.
    """

    def __init__(self, limits: TimeLimits) -> None:
        by_tool = limits if isinstance(limits, Mapping) else {ALL_OTHERS: limits}
        self._by_tool = {str(tool): checked_seconds(seconds) for tool, seconds in by_tool.items()}
        self._others = self._by_tool.pop(ALL_OTHERS, None)
        self.are_any = self._others is not None or bool(self._by_tool)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that are named."""
        return tuple(self._by_tool)

    def of(self, tool: str) -> float | None:
        """Return how many seconds a tool may take; None: as long as it likes."""
        return self._by_tool.get(tool, self._others)


def checked_seconds(seconds: float | None) -> float | None:
    """Return a limit as it was given.

    Raises:
        TypeError: it is not a number.
        ValueError: it is not a number of seconds that can pass.
    """
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"a timeout is a number of seconds, not {seconds!r}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"a timeout must be a positive number of seconds, not {seconds!r}")
    return seconds


def run_in_thread_within(seconds: float, body: Callable[[], T]) -> T:
    """Return what a function returns, or raise what it raises, if that takes no longer than these seconds.

    Raises:
        DeadlinePassed: it took longer; it goes on in its thread, which nothing can cancel.
    """
    from concurrent.futures import Future  # only now: few tools have a limit and run in a thread

    ended: Future[T] = Future()

    def run() -> None:
        try:
            ended.set_result(body())
        except BaseException as exc:
            ended.set_exception(exc)

    # Unlike those of an executor, the thread doesn't keep a process from ending.
    Thread(target=copy_context().run, args=(run,), name="failwell-tool", daemon=True).start()
    try:
        return ended.result(seconds)
    except TimeoutError:
        if ended.done():
            raise  # the function's own
        raise DeadlinePassed(is_running=True) from None


current_clock: ContextVar[CallClock | None] = ContextVar("failwell_call_clock", default=None)
"""The clock of the call that is running, if its time is limited."""


def timed_out(tool: str, seconds: float, *, is_running: bool) -> Failure:
    """Return the failure of a call that took too long; *is_running* says that its tool could not be cancelled."""
    ending = "It can't be cancelled and is still running." if is_running else "It was cancelled."
    log.warning("tool %s did not finish within %s. %s", tool, in_seconds(seconds), ending)
    return Failure(
        code="TIMEOUT",
        message=f"The tool did not finish within {in_seconds(seconds)}. {ending}",
        outcome="unknown",
        details={"timeout": seconds},
        tool=tool,
    )
