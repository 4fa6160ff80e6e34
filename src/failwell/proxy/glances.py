"""`sent` and `came`: as much of a message as tells whether it must be looked at closely. Nothing else is decoded."""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

Id = int | str
T = TypeVar("T")


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
        return _converted(data, Sent)


def came(data: bytes) -> Came | None:
    """Return what a server's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return _decode_came(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _converted(data, Came)


def decoded_with_halves(data: bytes) -> Any:
    """Return a message that holds half a character, which programs write that cut a text in two; None if it is no JSON.

    msgspec refuses it, and so does every strict encoder.
    """
    if b"\\u" not in data:
        return None
    import json  # only now: it is seldom needed

    try:
        return json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def encoded_with_halves(message: Any) -> bytes:
    """Return such a message as it is written."""
    import json  # only now: it is seldom needed

    return json.dumps(message, separators=(",", ":")).encode()


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _converted(data: bytes, shape: type[T]) -> T | None:
    message = decoded_with_halves(data)
    try:
        return None if message is None else msgspec.convert(message, shape)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None
