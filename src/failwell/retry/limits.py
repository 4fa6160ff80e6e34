"""`Limits`: what budget, breakers and repeats are asked in each step of a call, wherever they are kept."""

from collections.abc import Sized
from typing import Any, Protocol

from msgspec import Struct

from failwell.failure import Failure

Key = tuple[str, str]
"""A server and one of its tools."""

NOBODY: Key = ("", "")
"""Calls that nobody named: they have nothing in common but a budget."""


class Failing(Struct, frozen=True, eq=False):
    """A try that failed, and the retry that is wanted after *delay* seconds; None: none is.

    A call *is_counted* once: its later tries change neither breaker nor repeats. Without *arguments* it is like no
    other.
    """

    key: Key
    failure: Failure
    caller: object
    arguments: Any = None
    is_counted: bool = False
    delay: float | None = None


class Taken(Struct, frozen=True):
    """What became of a failed try: the price that was *paid* for its retry, or why there is none."""

    paid: float | None = None
    keeps_failing: bool = False
    is_suspended: bool = False


class Limits(Protocol):
    """Asked once in each step of a call. Those who await ask the names with an a in front, and are never blocked."""

    @property
    def troubles(self) -> tuple[Sized, Sized, Sized]:
        """Three containers that are empty while a success would change nothing, so that nobody need be asked."""
        ...

    def begin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Return the failure to answer with instead of making the call, or None to make it."""
        ...

    async def abegin(self, key: Key, now: float, *, caller: object) -> Failure | None:
        """Do what `begin` does."""
        ...

    def failed(self, failing: Failing, now: float) -> Taken:
        """Count a failed try, and pay for the retry that is wanted."""
        ...

    async def afailed(self, failing: Failing, now: float) -> Taken:
        """Do what `failed` does."""
        ...

    def succeeded(self, key: Key, arguments: Any, now: float, *, paid: float) -> None:
        """Note a success, at once: *paid* is what its last retry cost."""
        ...

    def released(self, key: Key, *, caller: object) -> None:
        """Note, at once, that a call ended without an answer."""
        ...
