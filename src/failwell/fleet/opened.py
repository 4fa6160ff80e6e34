"""`limits_at`: the limits at an address, the same for all who ask for them in this process."""

from threading import Lock

from failwell.fleet.limits import FleetLimits
from failwell.retry.shared import Shared

_opened: dict[tuple[str, int | None], FleetLimits] = {}
_lock = Lock()


def limits_at(url: str, figures: Shared | None) -> FleetLimits:
    """Return limits with their connections and threads, those of before if address and figures are the same.

    Raises:
        ValueError: that is no address.
        ImportError: the library is not installed.
    """
    key = (
        url,
        None if figures is None else id(figures),
    )  # which the limits keep, so that the number stays theirs
    with _lock:
        found = _opened.get(key)
        if found is None or found.is_closed:
            found = _opened[key] = FleetLimits.at(url, figures)
        return found
