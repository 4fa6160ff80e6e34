"""`Pacer`: after a rate limit, calls take turns as fast as the server lets them. It has no clock and no randomness.

A rate limit is not an outage: everyone waits until the server takes calls again, then they are let through one after
another. If the server says how many calls it takes, that is the pace. If not, the pace doubles each second until the
next rate limit, and from then on it falls by some percent with each rate limit and grows slowly in between. Calls that
wait have numbers, and their turn follows from the number, so that the first to come is the first to go.
"""

import math
from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

from msgspec import Struct

from failwell.errors import RateLimited
from failwell.failure import Failure
from failwell.retry._forks import in_every_fork

PaceKey = tuple[str, str, str]
"""A server, whose credentials calls are made with, and a tool; no tool: all of them."""

_MOST_PACES = 1000
_QUIET = 60.0
_SHARE_OF_STATED = 0.97  # so that a call which comes a little late does not count in the next window
_FALL, _FALL_AFTER_DOUBLING = 0.85, 0.7
_RISE_TIME, _RISE_CALLS = 10.0, 20.0  # what was lost is won again after so many seconds, and not before so many calls
_DOUBLING = 1.0
_FIRST_PAUSE = 1.0
_SETTLING = 1.0  # most limits count by the second: the rest of that second is lost
_SLOWEST, _FASTEST = 1 / 600, 1e6
_SLOWEST_GUESS = 0.1
_SPREAD = 0.1  # of the wait, at most: processes that wait for the same moment don't come at once
_SAME_MOMENT = 0.1  # what two clocks and a round trip may make of one
_WIDE_SCOPES = frozenset(("global", "server", "account", "user", "key", "token", "organization", "project"))


class Pace(Struct, kw_only=True):
    """How the calls of a tool are let through: number *base* + 1 at *origin*, the others at a *rate*, *spread* later.

    The rate doubles every *doubling* seconds, else it grows by *rise* per second. What happens to calls that are made
    before *settled_at* says nothing new.
    """

    origin: float
    spread: float = 0.0
    base: int = 0
    issued: int = 0
    rate: float = 1.0
    doubling: float = 0.0
    rise: float = 0.0
    settled_at: float = 0.0
    used_at: float = 0.0

    def turn(self, number: int) -> float:
        """Return when it is the turn of a call."""
        calls = number - self.base - 1
        if calls <= 0:
            return self.origin
        began = self.origin + self.spread
        if self.doubling:
            return began + self.doubling * math.log2(1 + calls * math.log(2) / (self.rate * self.doubling))
        if self.rise:
            return began + (math.sqrt(self.rate**2 + 2 * self.rise * calls) - self.rate) / self.rise
        return began + calls / self.rate

    def due(self, now: float) -> int:
        """Return the highest number whose turn has come."""
        elapsed = now - self.origin - self.spread
        if elapsed < 0:
            return self.base if now < self.origin else self.base + 1
        if self.doubling:
            calls: float = self.rate * self.doubling / math.log(2) * (2.0 ** min(elapsed / self.doubling, 60.0) - 1)
        else:
            calls = self.rate * elapsed + self.rise * elapsed**2 / 2
        return self.base + 1 + int(calls + 1e-9)

    def rate_at(self, now: float) -> float:
        """Return the calls per second at a time."""
        elapsed = max(now - self.origin - self.spread, 0.0)
        grown: float
        if self.doubling:
            grown = self.rate * 2.0 ** min(elapsed / self.doubling, 60.0)
        else:
            grown = self.rate + self.rise * elapsed
        return min(max(grown, _SLOWEST), _FASTEST)

    def start(self, origin: float, base: int, rate: float) -> None:
        """Go on from here at another rate."""
        self.origin, self.base, self.rate = origin, base, min(max(rate, _SLOWEST), _FASTEST)
        self.spread = 0.0
        if self.rise:
            self.rise = (1 / _FALL - 1) * self.rate / self.rise_time

    @property
    def rise_time(self) -> float:
        """After how many seconds the rate is again as high as before it was lowered."""
        return max(_RISE_TIME, _RISE_CALLS / self.rate)

    def speed_up(self, now: float) -> None:
        """Look for another limit if there was none where the last one was."""
        if self.rise and now - self.origin > 2 * self.rise_time:
            rate, made = self.rate_at(now), min(self.due(now), self.issued)
            self.rise, self.doubling = 0.0, _RISE_TIME
            self.start(now, made, rate)


class Turn(NamedTuple):
    """The number of a call that takes turns with others, and in how many seconds it is its turn; 0: now."""

    pace: Any
    number: int
    delay: float


class Pacer:
    """Lets calls of a tool take turns after a rate limit, and everything through where there was none for a minute."""

    def __init__(self) -> None:
        self.paces: OrderedDict[PaceKey, Pace] = OrderedDict()
        self._unlock()
        in_every_fork(self._unlock)

    def turn(self, key: PaceKey, now: float, before: Turn | None = None) -> Turn | None:
        """Return when a call may be made, None if there is nothing to wait for. *before* is its turn so far."""
        if not self.paces:
            return None
        with self._lock:
            pace = self._current(key, now)
            if pace is None:
                return None
            pace.speed_up(now)
            number = before.number if before is not None and before.pace is pace else _next_number(pace, now)
            turn = pace.turn(number)
            if turn > now:
                pace.used_at = max(pace.used_at, turn)
            return Turn(pace, number, max(turn - now, 0.0))

    def limited(
        self,
        key: PaceKey,
        failure: Failure,
        now: float,
        *,
        jitter: float,
        longest: float,
        tried_at: float | None = None,
        before: Turn | None = None,
    ) -> Turn | None:
        """Note that a call which was made at *tried_at* met a rate limit; return its next turn, None if it has none.

        Without a time it was made while there was nothing to wait for, so that it says nothing of the pace.
        A wait that is longer than *longest* concerns that call only: a server that lies stops nobody else.
        """
        stated = failure.retry_after
        if stated is not None and stated > longest:
            return None
        capacity, window = stated_limit(failure)
        if is_wide(failure):
            key = (*key[:2], "")
        with self._lock:
            pace = self._current(key, now)
            if pace is None:
                pace = self._first(key, now, stated, jitter, capacity, window)
            elif tried_at is not None and tried_at > pace.settled_at:
                _slow_down(pace, now, stated or 0.0, capacity, window)
            elif stated is not None and now + stated > pace.origin:
                pace.origin = pace.settled_at = now + stated  # of the same burst: it knows better how long it takes
            pace.used_at = max(pace.used_at, now)
            if before is not None and before.pace is pace:
                number, pace.base = pace.base, pace.base - 1  # before all who wait: it has waited already
            else:
                pace.issued = number = pace.issued + 1
            return Turn(pace, number, max(pace.turn(number) - now, 0.0))

    def limited_elsewhere(
        self, key: PaceKey, now: float, *, left: float, capacity: float, window: float, jitter: float
    ) -> None:
        """Note that another process met a rate limit: calls wait *left* seconds, then go at this process's share.

        Args:
            key: what calls it is about.
            now: the time.
            left: the seconds until the server takes calls again.
            capacity: how many calls this process may make in a window, 0 if the server did not say.
            window: how many seconds that takes.
            jitter: from 0 to 1, so that processes that wait for the same moment don't come at once.
        """
        with self._lock:
            pace = self._current(key, now)
            if pace is None:
                self._first(key, now, left, jitter, capacity, window)
                return
            share = _SHARE_OF_STATED * capacity / window if capacity else math.inf
            is_later = now + left > pace.origin + _SAME_MOMENT
            is_slower = not pace.doubling and not pace.rise and share < 0.99 * pace.rate
            if is_later or is_slower:
                made, rate, spread = min(pace.due(now), pace.issued), pace.rate_at(now), pace.spread
                pace.start(now + left if is_later else max(now, pace.origin), made, min(rate, share))
                pace.spread = spread if pace.origin > now else 0.0
                pace.settled_at = max(pace.settled_at, pace.origin)

    def _current(self, key: PaceKey, now: float) -> Pace | None:
        """Return the pace of all tools if the server named that scope, else that of the tool, unless it is outdated."""
        for found in ((*key[:2], ""), key):
            pace = self.paces.get(found)
            if pace is not None and now - max(pace.used_at, pace.origin) > _QUIET:
                del self.paces[found]
            elif pace is not None:
                return pace
        return None

    def _first(
        self, key: PaceKey, now: float, stated: float | None, jitter: float, capacity: float, window: float
    ) -> Pace:
        """Start with a pause, as long as the server states it. The first call may be made at once after that."""
        pause = _FIRST_PAUSE if stated is None else max(stated, 0.1)
        spread = pause * (1 + jitter / 4) if stated is None else pause * _SPREAD * jitter
        rate = _SHARE_OF_STATED * capacity / window if capacity else min(max(1 / pause, 1.0), 10.0)
        origin = now + (stated or 0.0)
        pace = Pace(
            origin=origin,
            spread=spread,
            rate=min(max(rate, _SLOWEST), _FASTEST),
            doubling=0.0 if capacity else _DOUBLING,
            settled_at=origin + (spread if stated is None else 0.0),
        )
        self.paces[key] = pace
        if len(self.paces) > _MOST_PACES:
            self.paces.popitem(last=False)
        return pace

    def _unlock(self) -> None:
        self._lock = Lock()


def _next_number(pace: Pace, now: float) -> int:
    due = pace.due(now)
    if due > pace.issued:  # nobody waits: what was not used is lost, and nothing has grown meanwhile
        pace.start(now, pace.issued, pace.rate_at(min(now, pace.turn(pace.issued + 1))))
    pace.issued += 1
    return pace.issued


def _slow_down(pace: Pace, now: float, pause: float, capacity: float, window: float) -> None:
    """Lower the rate, from the end of a pause on. Who has waited so far goes on waiting."""
    made = min(pace.due(now), pace.issued)
    if capacity:
        rate = _SHARE_OF_STATED * capacity / window
        if not pace.doubling and not pace.rise:  # it was kept to, and others use the limit too
            rate = min(rate, _FALL * pace.rate)
        pace.doubling, pace.rise = 0.0, 0.0
    elif pause > now - pace.origin:  # a long window was used up at once: as many calls again, in all of it
        rate = min(pace.rate_at(now), max(made - pace.base, 1) / (now + pause - pace.origin))
        pace.doubling, pace.rise = max(pause, _DOUBLING), 0.0
    else:
        rate = (_FALL_AFTER_DOUBLING if pace.doubling else _FALL) * pace.rate_at(now)
        rate = max(rate, 1 / max(pause, 1.0) if pause else _SLOWEST_GUESS)  # what the server asks for is enough
        pace.doubling, pace.rise = 0.0, 1.0
    pace.settled_at = now + (pause or _SETTLING)
    pace.start(now + (pause or min(2 / rate, _SETTLING)), made, rate)


def stated_limit(failure: Failure) -> tuple[float, float]:
    """Return how many calls a server takes in how many seconds, if it says both, else 0."""
    limit, window = (_positive(failure.details.get(name)) for name in ("limit", "window"))
    return (limit, window) if limit and window else (0.0, 0.0)


def _positive(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9
    return float(value) if is_number and isinstance(value, int | float) else 0.0


def is_wide(failure: Failure) -> bool:
    """Return whether a rate limit is one of all tools of the server, as it says itself."""
    return failure.details.get("scope") in _WIDE_SCOPES


def not_sent(tool: str, delay: float) -> Failure:
    """Return the failure of a call that is not made because it would have to wait for its turn too long."""
    return RateLimited(
        f"The server limits how often {tool or 'it'} is called. The wait is too long, so this call was not sent.",
        retry_after=delay,
        outcome="not_executed",
        tool=tool or None,
    ).failure
