"""`CallKey`: the idempotency key of one call, and the names that servers and clients use for keys."""

import math
import os
from collections.abc import Callable
from time import monotonic
from typing import Any

from failwell._json import is_object
from failwell.failure import Failure

KEY = "dev.failwell/idempotency_key"
"""Where in a request's `_meta` the caller puts its key."""
DECLARED = "dev.failwell/idempotency"
"""Where a tool's `_meta` and the server's capabilities say that keys are taken."""
VERIFIED_BY = "dev.failwell/verified_by"
"""Where a tool's `_meta` names the tool that tells whether its effect happened."""

_OPEN = "OUTCOME_UNKNOWN"


class CallKey:
    """The key of one call, the same on every try, for whoever sends the call to a server that takes keys.

    `is_sent`: every request of the call so far carried it. `retention`: for how many seconds the tool remembers it, as
    far as that is known. `is_known_within`: an inner layer, which has the session, found that out. `question`: the tool
    and the arguments by which that layer would have asked whether the call took effect.
    """

    def __init__(self) -> None:
        self.value = os.urandom(16).hex()
        self.is_sent = False
        self.is_refused = False
        self.retention = 0.0
        self.is_known_within = False
        self.question: tuple[str, dict[str, Any]] | None = None
        self.on_refusal: Callable[[], object] | None = None
        self._has_bare_request = False
        self._first_sent = 0.0

    def note_request(self, *, is_keyed: bool) -> None:
        """Note that a request of the call is sent with a key, or without one."""
        self._first_sent = self._first_sent or monotonic()
        self._has_bare_request |= not is_keyed
        self.is_sent = not self._has_bare_request

    def protects(self, failure: Failure) -> bool:
        """Return whether the call may be made again after a failure, because it takes effect only once."""
        is_open = failure.code == _OPEN  # the server does not know either, and won't run the call again
        return self.is_sent and not is_open and self.lasts(0.0)

    def lasts(self, seconds: float) -> bool:
        """Return whether the tool still remembers the key in so many seconds."""
        return monotonic() - self._first_sent + seconds < self.retention

    def refuse(self) -> None:
        """Note that the server takes no key from this caller, and take it off the call."""
        self.is_refused, self.is_sent, self._has_bare_request = True, False, True
        if self.on_refusal is not None:
            self.on_refusal()


def declared_retention(meta: Any) -> float | None:
    """Return for how many seconds a tool remembers keys, by its `_meta`; None: it takes none."""
    said = meta.get(DECLARED) if is_object(meta) else None
    seconds = said.get("retention") if is_object(said) else None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        return None
    return float(seconds)
