"""One retry layer: whether somebody further out retries already, and which exceptions were retried below.

A mark has a number, since one exception may be raised again later: it counts for those who began before it was set.
"""

from collections.abc import Iterator
from contextvars import ContextVar
from threading import Lock

from failwell.failure import Failure

is_retrying: ContextVar[list[str | Failure] | bool] = ContextVar("failwell_is_retrying", default=False)
"""True inside a retried call, for the task that makes it and those it starts.

It holds a list that is emptied when the call is over, so that a task that outlives the call may retry again.
"""


def announce_retrying(failure: Failure) -> None:
    """Leave a failure for who retries further out: a framework between the two may keep its text only."""
    layer = is_retrying.get()
    if isinstance(layer, list) and layer:
        layer[1:] = [failure]


def is_retried_above() -> Failure | None:
    """Return the failure that was left since somebody asked last, or None."""
    layer = is_retrying.get()
    found = layer.pop() if isinstance(layer, list) and len(layer) > 1 else None
    return found if isinstance(found, Failure) else None


_NAME = "__failwell_retried__"
_MOST_LOOKED_AT = 20
_lock = Lock()
latest: int = 0
"""The number of the latest mark."""


def mark(exc: BaseException) -> None:
    """Note on an exception that the call which raised it was retried."""
    global latest
    with _lock:
        latest += 1
        BaseException.__setattr__(exc, _NAME, latest)  # past the class's own way, which may refuse


def is_marked(exc: BaseException, *, since: int = 0) -> bool:
    """Return whether this exception, one of its group or one it was raised from was marked after mark *since*."""
    return any(BaseException.__getattribute__(found, "__dict__").get(_NAME, 0) > since for found in _together(exc))


def _together(exc: BaseException) -> Iterator[BaseException]:
    waiting = [exc]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return
        found = waiting.pop()
        yield found
        waiting += _members(found)[:_MOST_LOOKED_AT]
        before = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        if before is not None:
            waiting.append(before)


def _members(exc: BaseException) -> tuple[BaseException, ...]:
    return getattr(exc, "exceptions", ()) if issubclass(type(exc), BaseExceptionGroup) else ()
