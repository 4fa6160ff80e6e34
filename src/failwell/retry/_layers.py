"""One retry layer: whether an outer layer retries already, and which exceptions an inner one has retried.

A mark has a number, since one exception may be raised again later: it counts for those who began before it was set.
"""

from contextvars import ContextVar
from threading import Lock
from typing import cast

from failwell.advice import Hints
from failwell.errors import exception_chain, notes_on
from failwell.failure import Failure, with_graver_outcome
from failwell.retry._call_key import CallKey

Layer = list[str | Failure | CallKey | Hints]
"""One retried call: whether it is under way or its key, then what an inner layer left: what the tool promises now, and
the failure."""

is_retrying: ContextVar[Layer | bool] = ContextVar("failwell_is_retrying", default=False)
"""True inside a retried call, for the task that makes it and those it starts.

It holds a list that is emptied when the call is over, so that a task that outlives the call may retry again.
"""


def report_to_outer_layer(failure: Failure | None, promised: Hints | None) -> None:
    """Leave a failure for the layer that retries further out: a framework between the two may pass on its text only.

    A framework may also repeat a call by itself. Its success leaves nothing, and a failure counts with the gravest
    outcome of those before it. *promised* is what the server says of the tool now, if that is known: a framework may
    know only what it said before.
    """
    layer = is_retrying.get()
    if not isinstance(layer, list) or not layer:
        return
    earlier = take_inner_failure()
    if failure is not None:
        left = failure if earlier is None else with_graver_outcome(failure, earlier.outcome)
        layer[1:] = [left] if promised is None else [promised, left]


def take_inner_failure() -> Failure | None:
    """Return the failure that an inner layer left since the last call of this, or None."""
    layer = is_retrying.get()
    is_left = isinstance(layer, list) and layer and isinstance(layer[-1], Failure)
    return cast(Failure, cast(Layer, layer).pop()) if is_left else None


def promised_within() -> Hints | None:
    """Return what an inner layer knows that the server promises of the tool, or None."""
    layer = is_retrying.get()
    found = layer[1] if isinstance(layer, list) and len(layer) > 1 else None
    return found if isinstance(found, Hints) else None


def call_key() -> CallKey | None:
    """Return the idempotency key of the retried call that this is part of; it is the same on every try."""
    layer = is_retrying.get()
    if not isinstance(layer, list) or not layer:
        return None
    found = layer[0]
    if not isinstance(found, CallKey):
        found = layer[0] = CallKey()
    return found


def sent_key() -> CallKey | None:
    """Return the key of the retried call that this is part of, if it was asked for."""
    layer = is_retrying.get()
    found = layer[0] if isinstance(layer, list) and layer else None
    return found if isinstance(found, CallKey) else None


_MARK = "__failwell_retried__"
_lock = Lock()
latest: int = 0
"""The number of the latest mark."""


def mark(exc: BaseException) -> None:
    """Note on an exception that the call which raised it was retried."""
    global latest
    with _lock:
        latest += 1
        BaseException.__setattr__(exc, _MARK, latest)  # the class's own `__setattr__` may refuse


def is_marked(exc: BaseException, *, since: int = 0) -> bool:
    """Return whether this exception, one of its group or one it was raised from was marked after mark *since*."""
    return any(notes_on(found).get(_MARK, 0) > since for found in exception_chain(exc))
