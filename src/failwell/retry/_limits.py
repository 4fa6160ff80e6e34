"""What calls share: `Limits`; `Shared`, which keeps them for one process; `LimitStore`, which keeps them for many.

`Budget` has the tokens that pay for retries. `Breaker` refuses calls of a tool that keeps failing for a while, then
lets one of them probe it. `Repeats` counts calls that fail alike.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sized
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Struct

from failwell._log import log
from failwell.advice import is_rate_limit, is_throttled
from failwell.errors import Temporary
from failwell.failure import Failure, is_certain
from failwell.retry._forks import in_every_fork
from failwell.retry._pacer import Pacer

T = TypeVar("T")

Key = tuple[str, str]
"""A server and one of its tools."""

UNNAMED: Key = ("", "")
"""Calls without a server and a tool: they have nothing in common but a budget."""


class FailedAttempt(Struct, frozen=True, eq=False):
    """A try that failed, and the retry that is wanted after *delay* seconds, None if no retry is wanted.

    A call counts once: if it *is_counted*, the try changes neither breaker nor repeats. A call without *arguments* is
    never a repeat. If it *is_paced*, it met a rate limit that all calls of the tool wait for.
    """

    key: Key
    failure: Failure
    caller: object
    arguments: Any = None
    is_counted: bool = False
    delay: float | None = None
    is_paced: bool = False


class RetryPermit(Struct, frozen=True):
    """Whether a failed try may be retried: the price that was *paid* for it, or why there is no retry.

    While the tool *is_suspended*, that is for *left* seconds more, a retry costs nothing. *given_up* is how many calls
    of the tool in a row have used up their tries.
    """

    paid: float | None = None
    keeps_failing: bool = False
    is_suspended: bool = False
    left: float = 0.0
    given_up: int = 0


class Question(Struct, Generic[T], frozen=True, eq=False):
    """A question whose answer takes time: *run* waits for it, *arun* lets other tasks run meanwhile."""

    run: Callable[[], T]
    arun: Callable[[], Awaitable[T]]


class Limits(Protocol):
    """What limits retries, asked once in each step of a call. Where the answer takes time, it returns a `Question`."""

    @property
    def failure_state(self) -> tuple[Sized, Sized, Sized, Sized]:
        """Four containers that are empty while nothing failed lately: a success need not be reported then.

        Only if the first or the last one holds something, calls must ask before they are made.
        """
        ...

    @property
    def pacer(self) -> Pacer:
        """Lets calls take turns after a rate limit."""
        ...

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | Question[Failure | None] | None:
        """Return the failure to answer with instead of making the call, or None to make it."""
        ...

    def failed(self, attempt: FailedAttempt, now: float) -> RetryPermit | Question[RetryPermit]:
        """Count a failed try, and pay for the retry that is wanted."""
        ...

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:
        """Note a success, at once: *paid* is what its last retry cost."""
        ...

    def released(self, key: Key, *, caller: object) -> None:
        """Note, at once, that a call ended without an answer."""
        ...


_MOST_SERVERS = 1000
_MOST_TOOLS = 1000
_MOST_REPEATED_TOOLS = 250
_MOST_CALLS = 50
PROBE_TIME = 1.0
"""After how many seconds to ask again while a call probes: most have an answer by then."""


class Budget:
    """Tokens per server. A retry takes some when it is planned, a success gives some back.

    The figures are those of the AWS SDKs: 500 tokens; 14 for a retry, 5 for one after throttling; a success gives back
    1, or what its last retry cost.
    """

    def __init__(self, *, capacity: float = 500, cost: float = 14, throttled_cost: float = 5, gain: float = 1) -> None:
        for price in (cost, throttled_cost):
            if not 0 < price <= capacity:
                raise ValueError(f"a retry must cost more than nothing and at most {capacity!r}, not {price!r}")
        if not gain >= 0:
            raise ValueError(f"a success cannot cost anything: gain must be at least 0, not {gain!r}")
        self.capacity = capacity
        self.cost = cost
        self.throttled_cost = throttled_cost
        self.gain = gain
        self.spent: OrderedDict[str, float] = OrderedDict()
        self._unlock()
        in_every_fork(self._unlock)

    def left(self, server: str) -> float:
        """Return how many tokens a server has left."""
        return self.capacity - self.spent.get(server, 0)

    def price(self, failure: Failure) -> float:
        """Return what a retry after a failure costs."""
        return self.throttled_cost if is_throttled(failure) else self.cost

    def spend(self, server: str, failure: Failure) -> float | None:
        """Take the price of a retry and return it, or None if there is not enough left."""
        price = self.price(failure)
        with self._lock:
            spent = self.spent.get(server, 0) + price
            if spent > self.capacity:
                return None
            self.spent[server] = spent
            self.spent.move_to_end(server)
            if len(self.spent) > _MOST_SERVERS:
                self.spent.popitem(last=False)
        return price

    def refund(self, server: str, amount: float) -> None:
        """Give tokens back: what the last retry cost, or the gain of a success without one."""
        if server not in self.spent:  # full: nothing to give, and no lock to take
            return
        with self._lock:
            spent = self.spent.get(server, 0) - (amount or self.gain)
            if spent > 0:
                self.spent[server] = spent
            else:
                self.spent.pop(server, None)

    def _unlock(self) -> None:
        self._lock = Lock()


class _BreakerState(Struct):
    failures: list[float] = []
    given_up: int = 0
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
                if not recent:
                    state.given_up = 0
                state.failures = [*recent[-self.most :], now]
                if len(state.failures) >= self.most:
                    state.opened = now
                    log.info("calls to %s are suspended for %g s after %d failures", _name(key), self.pause, self.most)
            elif state.opened is not None and state.prober is caller:
                state.opened, state.prober = now, None
            self.failing.move_to_end(key)

    def gave_up(self, key: Key) -> None:
        """Note that a failed call is not tried again."""
        with self._lock:
            if (state := self.failing.get(key)) is not None:
                state.given_up += 1

    def succeeded(self, key: Key) -> None:
        """Close it: the tool works."""
        if key in self.failing:
            with self._lock:
                state = self.failing.pop(key, None)
            if state is not None and state.opened is not None:
                log.info("calls to %s are no longer suspended", _name(key))

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


def _name(key: Key) -> str:
    server, tool = key
    return " of ".join(filter(None, (tool, server)))


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
        f"Calls to {tool or server} are suspended after {most} failures.",
        code="CIRCUIT_OPEN",
        retry_after=left,
        outcome="not_executed",
        tool=tool or None,
        details={"tool": tool, **({"server": server} if server else {}), "failures": most},
    ).failure


class Repeats:
    """Counts how often calls of the same tool with the same arguments failed with the same code, one after another.

    The *most*-th is not tried again. The tries of one call count once. Of arguments, which may be long or secret, it
    keeps a digest only.
    """

    def __init__(self, *, most: int = 3) -> None:
        if most < 1:
            raise ValueError(f"a call may fail at least once, not {most!r}")
        self.most = most
        self.failing: OrderedDict[Key, OrderedDict[bytes, tuple[str, int]]] = OrderedDict()
        self._unlock()
        in_every_fork(self._unlock)

    def failed(self, key: Key, arguments: Any, failure: Failure) -> bool:
        """Count a failed call and return whether calls like it have failed like this too often."""
        digest = digest_of(arguments)
        reason = reason_of(failure)
        with self._lock:
            calls = self.failing.setdefault(key, OrderedDict())
            self.failing.move_to_end(key)
            before, count = calls.get(digest, (reason, 0))
            count = count + 1 if before == reason else 1
            calls[digest] = (reason, count)
            calls.move_to_end(digest)
            if len(calls) > _MOST_CALLS:
                calls.popitem(last=False)
            if len(self.failing) > _MOST_REPEATED_TOOLS:
                self.failing.popitem(last=False)
        return count >= self.most

    def succeeded(self, key: Key, arguments: Any) -> None:
        """Forget the failures of a call that succeeded."""
        if key not in self.failing:
            return
        digest = digest_of(arguments)
        with self._lock:
            calls = self.failing.get(key, OrderedDict[bytes, tuple[str, int]]())
            calls.pop(digest, None)
            if not calls:
                self.failing.pop(key, None)

    def _unlock(self) -> None:
        self._lock = Lock()


def counts_as_repeat(attempt: FailedAttempt) -> bool:
    """Return whether a failed try may be one of a call that keeps failing. A rate limit says nothing of the call."""
    return not attempt.is_counted and attempt.arguments is not None and not is_rate_limit(attempt.failure)


def reason_of(failure: Failure) -> str:
    """Return what two failures of the same kind have in common."""
    return failure.code or failure.type


def digest_of(arguments: Any) -> bytes:
    """Return what two calls with the same arguments have in common, in whatever order they are named."""
    try:
        encoded = msgspec.json.encode(arguments, enc_hook=repr, order="deterministic")
    except Exception:  # too deep, a key that JSON does not know, an object whose `repr` raises
        encoded = str(id(arguments)).encode()
    return hashlib.blake2b(encoded, digest_size=16).digest()


_NO_RETRY = RetryPermit()
_KEEPS_FAILING = RetryPermit(keeps_failing=True)
_FREE = RetryPermit(0.0)


class Shared:
    """The limits of one process: budgets of servers, breakers and paces of tools, the calls that fail alike."""

    __slots__ = ("breaker", "budget", "failure_state", "pacer", "repeats")

    def __init__(self, budget: Budget, breaker: Breaker, repeats: Repeats, pacer: Pacer | None = None) -> None:
        self.budget = budget
        self.breaker = breaker
        self.repeats = repeats
        self.pacer = pacer or Pacer()
        self.failure_state = (breaker.failing, budget.spent, repeats.failing, self.pacer.paces)

    @classmethod
    def new(cls) -> "Shared":
        """Return new ones with the default figures."""
        return cls(Budget(), Breaker(), Repeats())

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Return the failure of an open breaker, or None: make the call."""
        breaker = self.breaker
        return breaker.refusal(key, now, caller=caller) if breaker.failing else None

    def failed(self, attempt: FailedAttempt, now: float) -> RetryPermit:
        """Count a failed try, and pay for the retry that is wanted."""
        key, failure = attempt.key, attempt.failure
        if key != UNNAMED:
            self.breaker.failed(key, failure, now, caller=attempt.caller, is_counted=attempt.is_counted)
            if counts_as_repeat(attempt) and self.repeats.failed(key, attempt.arguments, failure):
                return _KEEPS_FAILING
        if attempt.delay is None:
            self.breaker.gave_up(key)
            return _NO_RETRY
        if (left := self.breaker.suspension(key, now)) > attempt.delay:
            return RetryPermit(is_suspended=True, left=left)
        if is_rate_limit(failure):
            return _FREE
        state = self.breaker.failing.get(key)
        return RetryPermit(self.budget.spend(key[0], failure), given_up=0 if state is None else state.given_up)

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:  # noqa: ARG002 - as `Limits` has it
        """Close the breaker, give back what the retry cost, and forget the failures of such a call."""
        self.breaker.succeeded(key)
        self.budget.refund(key[0], paid)
        self.repeats.succeeded(key, arguments)

    def released(self, key: Key, *, caller: object) -> None:
        """Let another call probe, if the one that did was this one."""
        self.breaker.released(key, caller=caller)


class StoreUnavailable(Exception):
    """The store cannot be reached or does not serve; the text says why, and holds no secret."""


class Gate(Struct, frozen=True):
    """A rate limit that some process met: calls wait *left* seconds.

    After that each process may make *capacity* calls in *window* seconds; 0: the server did not say how many.
    *is_wide*: that is so for all tools of the server.
    """

    left: float
    capacity: float = 0.0
    window: float = 0.0
    is_wide: bool = False


class LimitState(Struct, frozen=True):
    """What the store knows about a tool after a step.

    For *left* seconds calls are refused; *is_probed*: until one that probes has its answer, if that comes before.
    *is_own_probe*: it is this one, and may pass. *has_failures*: something failed lately, so successes count.
    *gates* are the rate limits that calls wait for.
    """

    left: float = 0.0
    is_probed: bool = False
    is_own_probe: bool = False
    has_failures: bool = False
    permit: RetryPermit = RetryPermit()
    gates: tuple[Gate, ...] = ()


class LimitStore(Protocol):
    """Keeps limits for many processes, by a clock of its own. Each step is one atomic question with one answer.

    No other process uses the name of a *caller*. Every method may raise `StoreUnavailable`, within a bounded time.
    """

    @property
    def name(self) -> str:
        """What to call it in a warning."""
        ...

    def begin(self, key: Key, *, caller: str) -> LimitState:
        """Ask whether a call may be made."""
        ...

    def failed(self, attempt: FailedAttempt, *, caller: str) -> LimitState:
        """Count a failed try, and pay for the retry that is wanted."""
        ...

    def succeeded(self, key: Key, *, digest: str, refund: float) -> LimitState:
        """Note a success: the breaker closes, tokens come back, calls with this digest have not failed."""
        ...

    def released(self, key: Key, *, caller: str) -> None:
        """Note that a call ended without an answer."""
        ...

    def check(self) -> None:
        """Make sure that the store can be read and written."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
