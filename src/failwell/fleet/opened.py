"""`limits_at`: the limits at an address, the same for all who ask for them in this process."""

from threading import Lock

from failwell.fleet.limits import FleetLimits
from failwell.retry.forks import in_every_fork
from failwell.retry.shared import Shared

_Figures = tuple[float, ...]

_opened: dict[tuple[str, _Figures], FleetLimits] = {}
_lock = Lock()


def limits_at(url: str, shared: Shared | None) -> FleetLimits:
    """Return limits with their connections and threads, those of before if address and figures are the same.

    Raises:
        ValueError: that is no address.
        ImportError: the library is not installed.
    """
    local = shared or Shared.new()
    key = (url, _figures(local))
    with _lock:
        found = _opened.get(key)
        if found is None or found.is_closed:
            found = _opened[key] = FleetLimits.at(url, local)
        return found


def _figures(shared: Shared) -> _Figures:
    budget, breaker = shared.budget, shared.breaker
    prices = (budget.capacity, budget.cost, budget.throttled_cost, budget.gain)
    return (*prices, breaker.most, breaker.window, breaker.pause, shared.repeats.most)


def _unlock() -> None:
    global _lock
    _lock = Lock()


in_every_fork(_unlock)
