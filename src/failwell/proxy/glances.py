"""`sent` and `came`: as much of a message as tells whether it must be looked at closely. Nothing else is decoded."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

Id = int | str


class Params(Struct, gc=False):
    """The parameters that a proxy goes by."""

    name: str | None = None
    request_id: Id | None = msgspec.field(name="requestId", default=None)
    cursor: Any = None


class Sent(Struct, gc=False):
    """A message from a client."""

    id: Id | None = None
    method: str | None = None
    params: Params | None = None


class Flag(Struct, gc=False):
    """Whether a result calls itself an error."""

    is_error: bool | None = msgspec.field(name="isError", default=False)


class Came(Struct, gc=False):
    """A message from a server."""

    id: Id | None = None
    method: str | None = None
    error: Any = UNSET
    result: Flag | None = None

    @property
    def is_failed(self) -> bool:
        """Whether it is an error, or a result that calls itself one."""
        return self.error is not UNSET or (self.result is not None and self.result.is_error is True)


_decode_sent = msgspec.json.Decoder(Sent).decode
_decode_came = msgspec.json.Decoder(Came).decode


def sent(data: bytes) -> Sent | None:
    """Return what a client's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return _decode_sent(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def came(data: bytes) -> Came | None:
    """Return what a server's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return _decode_came(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
