"""`CallClock`: the time that a call has left, on either side of the wire."""

import math
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, nullcontext
from time import monotonic
from typing import Any

_GRACE = 0.5


class CallClock:
    """The time that a call has left. It stands still while the user or the client is asked for something.

    It has *seconds*, again each time it is restarted, and *most* in all. `is_over` says that the call was answered
    without waiting for its end any longer; what is in `if_abandoned` is started then, or if the call is cancelled.
    `may_be_executed` is false once it is sure that the call had no effect: only the connection is renewed meanwhile.
    *outer* is the clock of the call that this one is a part of, perhaps in another thread: it is restarted and stands
    still together with this one. If its time is over, so is that of this one, which then has a moment to cancel the
    call through the SDK before whatever lies between the two is cancelled.
    """

    def __init__(self, seconds: float, *, most: float = math.inf, outer: "CallClock | None" = None) -> None:
        self.is_over = False
        self.is_restarted = False
        self.may_be_executed = True
        self.on_change: Callable[[], object] | None = None
        self.if_abandoned: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._seconds = seconds
        self._most = most
        self._spent = 0.0  # until `_since`, and since the last restart
        self._spent_before = 0.0
        self._since = monotonic()
        self._questions = 0
        self._outer = outer
        self._grace = 0.0
        if outer is not None:
            outer._grace = _GRACE

    @property
    def limit(self) -> float:
        """The seconds that it ran out of, or will first."""
        return min(self._seconds, self._most)

    @property
    def outer_limit(self) -> float | None:
        """The seconds that the call further out ran out of, if it did."""
        return self._outer.limit if self._outer is not None and self._outer._left() <= 0 else None

    @property
    def running(self) -> float:
        """The seconds that it has been running in all, without the time that it stood still."""
        return self._spent_before + self._running_now()

    def left(self) -> float:
        """Return how many seconds are left: infinitely many while it stands still."""
        left = self._left() + self._grace
        return left if self._outer is None else min(left, self._outer._left())

    def _left(self) -> float:
        if self._questions:
            return math.inf
        spent = self._running_now()
        return min(self._seconds - spent, self._most - self._spent_before - spent)

    def restart(self) -> None:
        """Give the call its seconds again, because it shows that it is being worked on."""
        self._spent_before += self._running_now()
        self._spent, self._since = 0.0, monotonic()
        self.is_restarted = True
        if self._outer is not None:
            self._outer.restart()

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Stop it while a question is open."""
        if not self._questions:
            self._spent = self._running_now()
        self._questions += 1
        self._notify()
        try:
            with nullcontext() if self._outer is None else self._outer.stopped():
                yield
        finally:
            self._questions -= 1
            self._since = monotonic()
            self._notify()

    def _running_now(self) -> float:
        return self._spent if self._questions else self._spent + monotonic() - self._since

    def _notify(self) -> None:
        if self.on_change is not None:
            self.on_change()


class DeadlinePassed(Exception):
    """The time of a call is over; `is_running` says that what it runs could not be cancelled."""

    def __init__(self, *, is_running: bool) -> None:
        super().__init__("the deadline passed")
        self.is_running = is_running
