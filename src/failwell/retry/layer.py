"""Whether somebody further out retries already, so that nested layers retry once and not once each."""

from contextvars import ContextVar

from failwell.failure import Failure

is_retrying: ContextVar[list[str | Failure] | bool] = ContextVar("failwell_is_retrying", default=False)
"""True inside a retried call, for the task that makes it and those it starts.

It holds a list that is emptied when the call is over, so that a task that outlives the call may retry again.
"""


def tell(failure: Failure) -> None:
    """Leave a failure for who retries further out: a framework between the two may keep its text only."""
    layer = is_retrying.get()
    if isinstance(layer, list) and layer:
        layer[1:] = [failure]


def told() -> Failure | None:
    """Return the failure that was left since somebody asked last, or None."""
    layer = is_retrying.get()
    found = layer.pop() if isinstance(layer, list) and len(layer) > 1 else None
    return found if isinstance(found, Failure) else None
