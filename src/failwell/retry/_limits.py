"""Limits of retries: a budget per server, a breaker per tool, and calls that keep failing the same way."""

import hashlib
from collections import OrderedDict
from collections.abc import Sized
from threading import Lock
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from failwell.advice import is_throttled
from failwell.errors import Temporary
from failwell.failure import Failure
from failwell.retry._forks import in_every_fork

Key = tuple[str, str]
"""A server and one of its tools."""

NOBODY: Key = ("", "")
"""Calls that nobody named: they have nothing in common but a budget."""


class Failing(Struct, frozen=True, eq=False):
    """A try that failed, and the retry that is wanted after *delay* seconds; None: none is.

    A call *is_counted* once: its later tries change neither breaker nor repeats. Without *arguments* it is like no
    other.
    """

    key: Key
    failure: Failure
    caller: object
    arguments: Any = None
    is_counted: bool = False
    delay: float | None = None


class Taken(Struct, frozen=True):
    """What became of a failed try: the price that was *paid* for its retry, or why there is none."""

    paid: float | None = None
    keeps_failing: bool = False
    is_suspended: bool = False


class Limits(Protocol):
    """Asked once in each step of a call. Those who await ask the names with an a in front, and are never blocked."""

    @property
    def troubles(self) -> tuple[Sized, Sized, Sized]:
        """Three containers that are empty while a success would change nothing, so that nobody need be asked."""
        ...

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Return the failure to answer with instead of making the call, or None to make it."""
        ...

    async def abegin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Do what `begin` does."""
        ...

    def failed(self, failing: Failing, now: float) -> Taken:
        """Count a failed try, and pay for the retry that is wanted."""
        ...

    async def afailed(self, failing: Failing, now: float) -> Taken:
        """Do what `failed` does."""
        ...

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:
        """Note a success, at once: *paid* is what its last retry cost."""
        ...

    def released(self, key: Key, *, caller: object) -> None:
        """Note, at once, that a call ended without an answer."""
        ...


_MOST_REPEATED_TOOLS = 250
_MOST_CALLS = 50


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


def reason_of(failure: Failure) -> str:
    """Return what two failures of the same kind have in common."""
    return failure.code or failure.type


def digest_of(arguments: Any) -> bytes:
    """Return what two calls with the same arguments have in common, in whatever order they are named."""
    try:
        told = msgspec.json.encode(arguments, enc_hook=repr, order="deterministic")
    except Exception:  # too deep, a key that JSON does not know, an object that does not like to be looked at
        told = str(id(arguments)).encode()
    return hashlib.blake2b(told, digest_size=16).digest()


_MOST_SERVERS = 1000


class Budget:
    """Tokens per server. A retry takes some when it is planned, a success gives some back.

    The figures are those of the AWS SDKs: 500 tokens, 14 for a retry, 5 for one after the server said that it has too
    much to do, 1 back for each success without a retry, all that the last retry cost for one after a retry.
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


_MOST_TOOLS = 1000


class _State(Struct):
    failures: list[float] = []
    opened: float | None = None
    prober: object = None
    probe_ends: float = 0.0


class Breaker:
    """Opens for a tool after *most* failed calls within *window* seconds, for *pause* seconds; then one call probes.

    Only failures that may pass count, and crashes of which nobody knows whether they took effect: any other answer, and
    any success, closes it. The tries of one call count once: retries do not open it by themselves. A probe that says
    nothing for *pause* seconds makes room for another.
    """

    def __init__(self, *, most: int = 5, window: float = 60.0, pause: float = 30.0) -> None:
        if most < 1:
            raise ValueError(f"a breaker opens after at least one failure, not {most!r}")
        if not (window >= 0 and pause >= 0):
            raise ValueError(f"window and pause must be numbers of seconds, not {window!r} and {pause!r}")
        self.most = most
        self.window = window
        self.pause = pause
        self.failing: OrderedDict[Key, _State] = OrderedDict()
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
        return suspended(key, left, most=self.most)

    def suspension(self, key: Key, now: float) -> float:
        """Return for how many seconds calls will be refused; 0 if the next one will be made."""
        with self._lock:
            state = self.failing.get(key)
            return 0.0 if state is None or state.opened is None else max(self._left(state, now), 0.0)

    def failed(
        self, key: Key, failure: Failure, now: float, *, caller: object = None, is_counted: bool = False
    ) -> None:
        """Count a failed call, unless it *is_counted* already. While it is open, only the probe's word counts."""
        if not counts_as_outage(failure):
            self.succeeded(key)
            return
        with self._lock:
            state = self.failing.get(key)
            if state is None:
                state = self.failing[key] = _State()
                if len(self.failing) > _MOST_TOOLS:
                    self.failing.popitem(last=False)
            if state.opened is None and not is_counted:
                recent = [at for at in state.failures if at > now - self.window]
                state.failures = [*recent[-self.most :], now]
                state.opened = now if len(state.failures) >= self.most else None
            elif state.opened is not None and state.prober is caller:
                state.opened, state.prober = now, None
            self.failing.move_to_end(key)

    def succeeded(self, key: Key) -> None:
        """Close it: the tool works."""
        if key in self.failing:
            with self._lock:
                self.failing.pop(key, None)

    def released(self, key: Key, *, caller: object = None) -> None:
        """Let another call probe, if the one that did was this one and ended without an answer."""
        if key in self.failing:
            with self._lock:
                state = self.failing.get(key)
                if state is not None and state.prober is caller:
                    state.prober = None

    def _unlock(self) -> None:
        self._lock = Lock()

    def _left(self, state: _State, now: float) -> float:
        ends = state.probe_ends if state.prober is not None else (state.opened or 0.0) + self.pause
        return ends - now


def counts_as_outage(failure: Failure) -> bool:
    """Return whether a failure says that the tool does not work, and not that a call was wrong.

    An unknown outcome alone does not: a call that is refused by a tool that had begun has one, and so has every failure
    that was guessed from a text, be it of a file that does not exist.
    """
    if failure.type == "TRANSIENT":
        return True
    return failure.type == "INTERNAL" and failure.outcome == "unknown" and failure.origin != "inferred"


def suspended(key: Key, left: float, *, most: int) -> Failure:
    """Return the failure of a call that is not made for so many seconds more."""
    server, tool = key
    return Temporary(
        f"Calls of {tool or server} are suspended after {most} failures.",
        code="CIRCUIT_OPEN",
        suggestion="Wait, then make the same call again.",
        retry_after=left,
        outcome="not_executed",
        tool=tool or None,
        details={"tool": tool, **({"server": server} if server else {}), "failures": most},
    ).failure


_NO_TAKEN = Taken()
_KEEPS_FAILING = Taken(keeps_failing=True)
_SUSPENDED_REASON = Taken(is_suspended=True)


class Shared:
    """What calls have in common: the budget of a server, the breakers of its tools, the calls that fail alike."""

    __slots__ = ("breaker", "budget", "repeats", "troubles")

    def __init__(self, budget: Budget, breaker: Breaker, repeats: Repeats) -> None:
        self.budget = budget
        self.breaker = breaker
        self.repeats = repeats
        self.troubles = (breaker.failing, budget.spent, repeats.failing)

    @classmethod
    def new(cls) -> "Shared":
        """Return fresh ones, with their usual figures."""
        return cls(Budget(), Breaker(), Repeats())

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Return the failure of an open breaker, or None: make the call."""
        breaker = self.breaker
        return breaker.refusal(key, now, caller=caller) if breaker.failing else None

    async def abegin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Do what `begin` does, which takes no time."""
        return self.begin(key, now, caller=caller)

    def failed(self, failing: Failing, now: float) -> Taken:
        """Count a failed try, and pay for the retry that is wanted."""
        key, failure = failing.key, failing.failure
        if key != NOBODY:
            self.breaker.failed(key, failure, now, caller=failing.caller, is_counted=failing.is_counted)
            is_known = not failing.is_counted and failing.arguments is not None
            if is_known and self.repeats.failed(key, failing.arguments, failure):
                return _KEEPS_FAILING
        if failing.delay is None:
            return _NO_TAKEN
        if self.breaker.suspension(key, now) > failing.delay:
            return _SUSPENDED_REASON
        return Taken(self.budget.spend(key[0], failure))

    async def afailed(self, failing: Failing, now: float) -> Taken:
        """Do what `failed` does, which takes no time."""
        return self.failed(failing, now)

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:  # noqa: ARG002 - as `Limits` has it
        """Close the breaker, give back what the retry cost, and forget the failures of such a call."""
        self.breaker.succeeded(key)
        self.budget.refund(key[0], paid)
        self.repeats.succeeded(key, arguments)

    def released(self, key: Key, *, caller: object) -> None:
        """Let another call probe, if the one that did was this one."""
        self.breaker.released(key, caller=caller)
