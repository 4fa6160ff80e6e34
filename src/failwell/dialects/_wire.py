"""`Wire`: the parts of a result that a dialect writes and reads."""

from typing import Any, Protocol

from msgspec import Struct

from failwell.failure import Failure
from failwell.redact.canonical import RedactedFailure


class Wire(Struct, frozen=True):
    """The one text block of a result, its `isError` flag and its `_meta`."""

    text: str
    is_error: bool = True
    meta: dict[str, Any] = {}


class Dialect(Protocol):
    """A way to write failures. Each module of this package is one."""

    name: str

    def encode(self, failure: RedactedFailure) -> Wire:
        """Return a canonical failure as this dialect writes it."""
        ...

    def decode(self, wire: Wire) -> Failure | None:
        """Return the failure this dialect reads, or None if it is not of this dialect.

        Where `is_error` is false, only the dialect's exact shape counts.
        """
        ...


def is_error(failure: Failure) -> bool:
    """Return the flag a failure is sent with: a warning is no error."""
    return failure.severity != "warning"
