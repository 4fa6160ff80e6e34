"""`Event`: what hooks are told after each try."""

from typing import Literal

from msgspec import Struct

from failwell.failure import Failure


class Event(Struct, frozen=True, kw_only=True):
    """One try of a call: how it ended, and what comes next. It holds no arguments, which may be secret.

    `step` is `succeeded`, `retry` (after *delay*), `gave_up` (for *reason*) or `refused` (an open breaker).
    """

    server: str
    tool: str
    attempt: int
    step: Literal["succeeded", "retry", "gave_up", "refused"]
    elapsed: float
    failure: Failure | None = None
    delay: float | None = None
    reason: str | None = None
