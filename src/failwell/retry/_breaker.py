"""`Breaker`: calls of a tool that keeps failing are refused for a while, then one of them probes it."""

from collections import OrderedDict
from threading import Lock

from msgspec import Struct

from failwell._log import log
from failwell.advice import is_rate_limit
from failwell.errors import Temporary
from failwell.failure import Failure, is_certain
from failwell.retry._forks import in_every_fork

Key = tuple[str, str]
"""A server and one of its tools."""

_MOST_TOOLS = 1000
PROBE_TIME = 1.0
"""After how many seconds to ask again while a call probes: most have an answer by then."""


class _BreakerState(Struct):
    failures: list[float] = []
    opened: float | None = None
    prober: object = None
    probe_ends: float = 0.0


class Breaker:
    """Opens for a tool after *most* failed calls within *window* seconds, for *pause* seconds; then one call probes.

    Only transient failures count, and crashes with an unknown outcome: any other answer, and any success, closes it.
    The tries of one call count once, so retries alone don't open it. A probe without an answer for *pause* seconds
    makes room for another.
    """

    def __init__(self, *, most: int = 5, window: float = 60.0, pause: float = 15.0) -> None:
        if most < 1:
            raise ValueError(f"a breaker opens after at least one failure, not {most!r}")
        if not (window >= 0 and pause >= 0):
            raise ValueError(f"window and pause must be numbers of seconds, not {window!r} and {pause!r}")
        self.most = most
        self.window = window
        self.pause = pause
        self.failing: OrderedDict[Key, _BreakerState] = OrderedDict()
        self._unlock()
        in_every_fork(self._unlock)

    def refusal(self, key: Key, now: float, *, caller: object = None) -> Failure | None:
        """Return the failure to answer with instead of making the call, or None to make it: *caller* probes then."""
        if key not in self.failing:
            return None
        with self._lock:
            state = self.failing.get(key)
            if state is None or state.opened is None:
                return None
            left = self._left(state, now)
            if left <= 0:
                state.prober, state.probe_ends = caller, now + self.pause
                return None
            if state.prober is not None:
                left = min(left, PROBE_TIME)
        return suspended(key, left, most=self.most)

    def suspension(self, key: Key, now: float) -> float:
        """Return for how many seconds calls will be refused; 0 if the next one will be made."""
        with self._lock:
            state = self.failing.get(key)
            return 0.0 if state is None or state.opened is None else max(self._left(state, now), 0.0)

    def failed(
        self, key: Key, failure: Failure, now: float, *, caller: object = None, is_counted: bool = False
    ) -> None:
        """Count a failed call, unless it *is_counted* already. While it is open, only the probe counts."""
        if not counts_as_outage(failure):
            self.succeeded(key)
            return
        with self._lock:
            state = self.failing.get(key)
            if state is None:
                state = self.failing[key] = _BreakerState()
                if len(self.failing) > _MOST_TOOLS:
                    self.failing.popitem(last=False)
            if state.opened is None and not is_counted:
                recent = [at for at in state.failures if at > now - self.window]
                state.failures = [*recent[-self.most :], now]
                if len(state.failures) >= self.most:
                    state.opened = now
                    log.info("calls of %s are suspended for %g s after %d failures", key[1], self.pause, self.most)
            elif state.opened is not None and state.prober is caller:
                state.opened, state.prober = now, None
            self.failing.move_to_end(key)

    def succeeded(self, key: Key) -> None:
        """Close it: the tool works."""
        if key in self.failing:
            with self._lock:
                state = self.failing.pop(key, None)
            if state is not None and state.opened is not None:
                log.info("calls of %s are made again", key[1])

    def released(self, key: Key, *, caller: object = None) -> None:
        """Let another call probe, if the one that did was this one and ended without an answer."""
        if key in self.failing:
            with self._lock:
                state = self.failing.get(key)
                if state is not None and state.prober is caller:
                    state.prober = None

    def _unlock(self) -> None:
        self._lock = Lock()

    def _left(self, state: _BreakerState, now: float) -> float:
        ends = state.probe_ends if state.prober is not None else (state.opened or 0.0) + self.pause
        return ends - now


def counts_as_outage(failure: Failure) -> bool:
    """Return whether a failure says that the tool is broken, and not that a call was wrong.

    A rate limit does not: the tool works, and calls take turns. An unknown outcome alone does not either: a tool that
    refuses a call after it began has one, and so has every failure that was inferred from text, even "file not found".
    """
    if failure.type == "TRANSIENT":
        return not is_rate_limit(failure)
    return failure.type == "INTERNAL" and failure.outcome == "unknown" and is_certain(failure)


def suspended(key: Key, left: float, *, most: int) -> Failure:
    """Return the failure of a call that is not made for so many seconds more."""
    server, tool = key
    return Temporary(
        f"Calls of {tool or server} are suspended after {most} failures.",
        code="CIRCUIT_OPEN",
        retry_after=left,
        outcome="not_executed",
        tool=tool or None,
        details={"tool": tool, **({"server": server} if server else {}), "failures": most},
    ).failure
