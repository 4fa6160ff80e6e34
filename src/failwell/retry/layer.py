"""Whether somebody further out retries already, so that nested layers retry once and not once each."""

from contextvars import ContextVar

is_retrying: ContextVar[list[str] | bool] = ContextVar("failwell_is_retrying", default=False)
"""True inside a retried call, for the task that makes it and those it starts.

It holds a list that is emptied when the call is over, so that a task that outlives the call may retry again.
"""
