"""`limits_of`: the limits that a proxy's retries share with other proxies."""

from collections.abc import Callable
from urllib.parse import quote

from failwell.fleet import FleetLimits
from failwell.proxy.options import Misuse, Options
from failwell.proxy.variables import filled


def limits_of(options: Options, *, scope: str, warn: Callable[[str], object]) -> FleetLimits | None:
    """Return the limits at the address that the options name; None if they name none.

    Proxies in front of the same server share them: *scope* says which one that is.

    Raises:
        Misuse: it is no address, or it names a variable that is not set.
    """
    if options.limits is None:
        return None
    url = filled(options.limits, option="--limits", written=_quoted)
    try:
        return FleetLimits.at(url, scope=scope, warn=warn)
    except ValueError as wrong:
        raise Misuse(f"--limits: {wrong}") from None


def _quoted(value: str) -> str:
    return quote(value, safe="")
