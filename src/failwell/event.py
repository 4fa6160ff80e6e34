"""`Event`: what happened to a tool call, reported by guards, clients, retries and proxies; which kinds end a call."""

import os
from collections.abc import Callable
from functools import cache
from itertools import islice
from time import time as _now
from typing import Any, Literal

import msgspec
from msgspec import Struct

from failwell._json import is_object
from failwell._trace import CallTrace
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


Source = Literal["server", "client", "retry", "proxy", "recorder"]
"""Who tells: a guard or a protected server, a client, `call` and `acall`, a proxy, or a recorder of itself."""

Kind = Literal[
    "success",
    "recovered",
    "failure",
    "cancelled",
    "refused",
    "unflagged",
    "flipped",
    "retry",
    "repaired",
    "verified",
    "fallback",
    "breaker",
    "died",
    "restarted",
    "dropped",
    "lost",
    "mark",
]

SUCCEEDED: frozenset[Kind] = frozenset(("success", "recovered", "unflagged"))
FAILED: frozenset[Kind] = frozenset(("failure", "refused", "flipped"))
_NEITHER: frozenset[Kind] = frozenset(("cancelled",))
ENDS: frozenset[Kind] = SUCCEEDED | FAILED | _NEITHER
"""Kinds that end a call, each call once. A fallback, or a correction of the arguments, may follow its end."""
BESIDE_CALLS: frozenset[Kind] = frozenset(("breaker", "died", "restarted", "dropped", "lost", "mark"))
"""Kinds that are about no call."""


class Event(Struct, frozen=True, kw_only=True):
    """What happened to a tool call, or to a server.

    Kinds that end a call, which are those to count: `success`; `recovered`, after retries; `failure`; `cancelled`,
    only from a server, when the client no longer waits; `refused`, it was not made; `flipped`, an error text sent
    as a success, turned into an error; `unflagged`, the same, passed on unchanged. Before the end: `retry`, a try
    failed and the next follows after `delay` seconds. After the end: `repaired`, a call with corrected arguments
    was made, and failed if there is a `failure`; `verified`, the tool that tells whether the call took effect was
    asked; `fallback`, something else answered. Of a server: `died`, `restarted`, `dropped` (a line that no client
    could use). In records only: `breaker`, `reason` says whether that of a tool opened or closed; `lost`, `details`
    says how many records found no room; `mark`, `reason` says what happened beside the calls, such as a deployment.

    `time` is in seconds since 1970, `elapsed` in seconds since the call began. All events of one call in a `session` of
    one source have the same `call`. `agent` is the program that called, as it names itself. `attempt` counts the tries,
    `reason` says why nothing else was tried. `failure` is as it was found, not redacted; `text` is what the agent is
    sent of it. `hints` say whether the tool may run twice. `arguments` tell whether two calls are the same, and show no
    value. `trace` is the span of the call, where one was begun.
    """

    source: Source
    kind: Kind
    time: float = msgspec.field(default_factory=_now)
    session: str = ""
    server: str = ""
    tool: str = ""
    call: int | str | None = None
    agent: str = ""
    attempt: int = 1
    elapsed: float | None = None
    delay: float | None = None
    reason: str | None = None
    failure: Failure | None = None
    text: str | None = None
    hints: Any = None
    arguments: CallArguments | None = None
    details: dict[str, Any] = {}
    trace: CallTrace | None = None

    @property
    def ends_call(self) -> bool:
        """Whether it ends a call. Counters look at no other events."""
        return self.kind in ENDS

    @property
    def has_failed(self) -> bool:
        """Whether it ends a call for which the agent got an error."""
        return self.kind in FAILED


Observer = Callable[[Event], object]
"""Called with each event: what `observers` of a server and the `hook` of a client take."""
