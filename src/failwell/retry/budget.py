"""`Budget`: how many retries a server may cost, so that many callers do not keep it down together."""

from threading import Lock

from failwell.failure import Failure

_THROTTLED = "RATE_LIMITED"


class Budget:
    """Tokens per server. A retry takes some when it is planned, a success gives some back.

    The figures are those of the AWS SDKs: 500 tokens, 14 for a retry, 5 for one that the server asked to delay, 1 back
    for each success without a retry, all back for one after a retry.
    """

    def __init__(self, *, capacity: float = 500, cost: float = 14, throttled_cost: float = 5, gain: float = 1) -> None:
        if not 0 < cost <= capacity:
            raise ValueError(f"a retry must cost more than nothing and at most {capacity!r}, not {cost!r}")
        self.capacity = capacity
        self.cost = cost
        self.throttled_cost = throttled_cost
        self.gain = gain
        self._left: dict[str, float] = {}
        self._lock = Lock()

    def left(self, server: str) -> float:
        """Return how many tokens a server has left."""
        return self._left.get(server, self.capacity)

    def spend(self, server: str, failure: Failure) -> float | None:
        """Take the price of a retry and return it, or None if there is not enough left."""
        price = self.throttled_cost if failure.code == _THROTTLED else self.cost
        with self._lock:
            left = self._left.get(server, self.capacity)
            if left < price:
                return None
            self._left[server] = left - price
        return price

    def refund(self, server: str, amount: float) -> None:
        """Give tokens back: what the last retry cost, or the gain of a success without one."""
        left = self._left.get(server)
        if left is None:  # full: nothing to give, and no lock to take
            return
        with self._lock:
            left = self._left.get(server, self.capacity) + (amount or self.gain)
            if left >= self.capacity:
                self._left.pop(server, None)
            else:
                self._left[server] = left
