"""`Shared`: what the calls of one process have in common."""

from typing import Any

from failwell.failure import Failure
from failwell.retry.breaker import Breaker
from failwell.retry.budget import Budget
from failwell.retry.limits import NOBODY, Failing, Key, Taken
from failwell.retry.repeats import Repeats

_NOTHING = Taken()
_KEEPS_FAILING = Taken(keeps_failing=True)
_SUSPENDED = Taken(is_suspended=True)


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
            return _NOTHING
        if self.breaker.suspension(key, now) > failing.delay:
            return _SUSPENDED
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
