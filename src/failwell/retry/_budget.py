"""`Budget`: the tokens that pay for retries, one account for each server."""

from collections import OrderedDict
from threading import Lock

from failwell.advice import is_throttled
from failwell.failure import Failure
from failwell.retry._forks import in_every_fork

_MOST_SERVERS = 1000


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
