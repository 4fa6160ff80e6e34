"""The failure in what a function returned: only where it is one beyond doubt, since most values are none."""

from typing import Any

from failwell.dialects import whole
from failwell.failure import Failure
from failwell.reader.incoming import Incoming, take_apart
from failwell.reader.reading import read
from failwell.result import Err

_PLAIN = (str, bytes, bytearray, list, tuple, int, float, type(None))


def returned_failure(value: Any) -> Failure | None:
    """Return the failure that a function returned: a `Failure`, an `Err`, or a result that says it is an error.

    A text or an object of the tool's own domain is a value, whatever it looks like.
    """
    if isinstance(value, Failure):
        return value
    if isinstance(value, Err):
        return value.failure
    return read(value) if _is_failed(_result_of(value)) else None


def attempts_below(value: Any) -> int:
    """Return how often a result was tried by whoever sent it, as it says itself; 0 if it does not say."""
    incoming = _result_of(value)
    told: dict[str, Any] | None = incoming.meta.get(whole.RETRY_KEY) if incoming else None
    attempts = told.get("attempts") if isinstance(told, dict) else None
    return attempts if isinstance(attempts, int) else 0


def _result_of(value: Any) -> Incoming | None:
    try:
        return None if isinstance(value, _PLAIN) else take_apart(value)
    except Exception:  # an object that is no result and does not like to be looked at
        return None


def _is_failed(incoming: Incoming | None) -> bool:
    return incoming is not None and (incoming.flag is True or whole.META_KEY in incoming.meta)
