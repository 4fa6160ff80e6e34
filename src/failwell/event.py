"""What is told of tool calls: `Observation` by servers, `Event` by retries; `Sent` stands for the arguments."""

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

# Short values could be guessed from a plain digest. With this they can only be compared, and only where this process
# and those it forked wrote them.
_KEY = os.urandom(16)

_encoder = msgspec.json.Encoder(enc_hook=repr, order="deterministic")


class Sent:
    """The arguments of a call, for who wants to know whether two calls are the same. It never shows a value.

    Nothing is looked at before somebody asks. Who wants to ask later says `keep`, before the arguments change.
    """

    __slots__ = ("_arguments", "_digest", "_names", "_told")

    def __init__(self, arguments: Any) -> None:
        self._arguments = arguments
        self._names: tuple[str, ...] = ()
        self._told: bytes | None = None
        self._digest: str | None = None

    def __repr__(self) -> str:
        return "<Sent>"

    def keep(self) -> None:
        """Remember the arguments as they are now."""
        arguments, self._arguments = self._arguments, None
        if arguments is None:
            return
        if is_object(arguments):
            self._names = tuple(_cut(name) for name in islice(arguments, _MOST_NAMES))
        try:
            told = _encoder.encode(arguments)
        except Exception:  # too deep, a key that JSON does not know, an object that does not like to be looked at
            told = os.urandom(16)
        if len(told) > _LONGEST_KEPT:
            self._digest = _digest(told)
        else:
            self._told = told

    @property
    def digest(self) -> str:
        """What two calls with the same arguments have in common, in whatever order they are named."""
        self.keep()
        if self._digest is None:
            self._told, self._digest = None, _digest(self._told or b"")
        return self._digest

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the first arguments, those that are too long cut."""
        self.keep()
        return self._names


def _cut(name: object) -> str:
    try:
        return str(name)[:_LONGEST_NAME]
    except Exception:  # an object that does not like to be looked at
        return "?"


def _digest(told: bytes) -> str:
    digest: str = _hash()(_KEY + told, digest_size=16).hexdigest()
    return digest


@cache
def _hash() -> Any:
    from hashlib import blake2b  # only now: it takes longer to load than all that is loaded without it

    return blake2b


class Observation(Struct, frozen=True):
    """One finished call: the tool, how long it took in seconds, and the failure if it failed.

    `server` is what the server is called, where that is known, `text` what the agent is told of a failure, and `sent`
    tells whether two calls are the same. `session` names the client's session, if it can be told from others.
    """

    tool: str
    seconds: float
    failure: Failure | None = None
    server: str = ""
    text: str | None = None
    sent: Sent | None = None
    session: str = ""


Observer = Callable[[Observation], object]
"""What is told of each finished call."""


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
