"""Events of tool calls: `Observation` from servers, `Event` from retries, both with the call's `CallArguments`."""

import os
from collections.abc import Callable
from functools import cache
from itertools import islice
from typing import Any, Literal

import msgspec
from msgspec import Struct

from failwell._json import is_object
from failwell.failure import Failure

_MOST_NAMES = 50
_LONGEST_NAME = 200
_LONGEST_KEPT = 1024

# Short values could be guessed from a plain digest. With this key they can only be compared, and only if this process
# or one that it forked made the digests.
_KEY = os.urandom(16)

_encoder = msgspec.json.Encoder(enc_hook=repr, order="deterministic")


class CallArguments:
    """The arguments of a call: it tells whether two calls are the same, and never shows a value.

    Nothing is computed before `digest` or `names` is used. If that is later than the arguments may change, call `keep`.
    """

    __slots__ = ("_arguments", "_digest", "_encoded", "_names")

    def __init__(self, arguments: Any) -> None:
        self._arguments = arguments
        self._names: tuple[str, ...] = ()
        self._encoded: bytes | None = None
        self._digest: str | None = None

    def __repr__(self) -> str:
        return "<CallArguments>"

    def keep(self) -> None:
        """Remember the arguments as they are now."""
        arguments, self._arguments = self._arguments, None
        if arguments is None:
            return
        if is_object(arguments):
            self._names = tuple(_name(name) for name in islice(arguments, _MOST_NAMES))
        try:
            encoded = _encoder.encode(arguments)
        except Exception:  # too deep, a key that JSON does not know, an object whose `repr` raises
            encoded = os.urandom(16)
        if len(encoded) > _LONGEST_KEPT:
            self._digest = _digest(encoded)
        else:
            self._encoded = encoded

    @property
    def digest(self) -> str:
        """A text that is the same for two calls with the same arguments, whatever their order."""
        self.keep()
        if self._digest is None:
            self._encoded, self._digest = None, _digest(self._encoded or b"")
        return self._digest

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the first arguments; of a very long one only its length."""
        self.keep()
        return self._names


def _name(name: object) -> str:
    try:
        text = str(name)
        # A part of it is not shown: a secret in it may be known by the rest only.
        return text if len(text) <= _LONGEST_NAME else f"(a name of {len(text)} characters)"
    except Exception:  # an object whose `str` raises
        return "?"


def _digest(encoded: bytes) -> str:
    digest: str = _hash()(_KEY + encoded, digest_size=16).hexdigest()
    return digest


def name_of(id: str) -> str:
    """Return a name for an id that may not be shown: the same for the same id, and no way back from it."""
    # A letter first: what reads like a number is taken for one somewhere on the way.
    digest = _digest(id.encode(errors="replace"))
    return "abcdef"[int(digest[0], 16) % 6] + digest[1:16]


@cache
def _hash() -> Any:
    from hashlib import blake2b  # only now: it is slow to load, and few programs need a digest

    return blake2b


class Observation(Struct, frozen=True):
    """One finished call: the tool, how long it took in seconds, and the failure if it failed.

    `server` is the name of the server, if it is known, `text` what the agent is sent of a failure, and `sent` tells
    whether two calls are the same. `session` names the client's session, if it can be told from others.
    """

    tool: str
    seconds: float
    failure: Failure | None = None
    server: str = ""
    text: str | None = None
    sent: CallArguments | None = None
    session: str = ""


Observer = Callable[[Observation], object]
"""Called with each finished call."""


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
    sent: CallArguments | None = None
    hints: Any = None
