"""`Event`: what hooks are told after each try."""

from typing import Any, Literal

from msgspec import Struct

from failwell.failure import Failure
from failwell.sent import Sent

Step = Literal["succeeded", "retry", "gave_up", "refused", "repaired", "fallback"]


class Event(Struct, frozen=True, kw_only=True):
    """One try of a call: how it ended, and what comes next. It holds no arguments, which may be secret.

    `step` is `succeeded`, `retry` (after *delay*), `gave_up` (for *reason*) or `refused` (an open breaker). A client
    that corrected the arguments or fell back says `repaired` or `fallback` after that. All events of one call have the
    same number in `call`, and no call of another process has it; `sent` tells whether two calls are the same, and
    `hints` what is known of the tool.
    """

    server: str
    tool: str
    attempt: int
    step: Step
    elapsed: float
    failure: Failure | None = None
    delay: float | None = None
    reason: str | None = None
    call: int = 0
    sent: Sent | None = None
    hints: Any = None
