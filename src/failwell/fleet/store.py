"""`Store`: where the limits of a fleet are kept, as those see it who use it."""

from typing import Protocol

from msgspec import Struct

from failwell.retry.limits import Failing, Key, Taken


class Away(Exception):
    """The store cannot be reached or does not serve; the text says why, and holds no secret."""


class State(Struct, frozen=True):
    """What the store knows of a tool after a step.

    For *left* seconds calls are refused; *is_probed*: until one that probes has its answer, if that comes before.
    *is_own_probe*: it is this one, and may pass. *is_noted*: something failed lately, so that successes must be told.
    """

    left: float = 0.0
    is_probed: bool = False
    is_own_probe: bool = False
    is_noted: bool = False
    taken: Taken = Taken()


class Store(Protocol):
    """Each step is one question with one answer, and nothing comes between its parts. It has a clock of its own.

    A *caller* is named by a text that no other process uses. All may raise `Away`, within a bounded time.
    """

    @property
    def name(self) -> str:
        """What to call it in a warning."""
        ...

    def begin(self, key: Key, *, caller: str) -> State:
        """Ask whether a call may be made."""
        ...

    def failed(self, failing: Failing, *, caller: str) -> State:
        """Count a failed try, and pay for the retry that is wanted."""
        ...

    def succeeded(self, key: Key, *, digest: str, refund: float) -> State:
        """Note a success: the breaker closes, tokens come back, calls with this digest have not failed."""
        ...

    def released(self, key: Key, *, caller: str) -> None:
        """Note that a call ended without an answer."""
        ...

    def check(self) -> None:
        """Make sure that it serves, with a step that changes nothing."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...
