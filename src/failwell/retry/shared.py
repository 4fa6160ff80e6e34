"""`Shared`: what calls have in common."""

from msgspec import Struct

from failwell.retry.breaker import Breaker
from failwell.retry.budget import Budget
from failwell.retry.repeats import Repeats


class Shared(Struct, frozen=True, eq=False):
    """What calls have in common: the budget of a server, the breakers of its tools, the calls that fail alike."""

    budget: Budget
    breaker: Breaker
    repeats: Repeats

    @classmethod
    def new(cls) -> "Shared":
        """Return fresh ones, with their usual figures."""
        return cls(Budget(), Breaker(), Repeats())
