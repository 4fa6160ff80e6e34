"""Messages as a proxy sees them: `sent` and `came` glance at what tells whether to look closely, `decoded` looks."""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

Id = int | str
T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises if a message is not what it should be."""


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


class Plain(Flag, gc=False):
    """A result that lists no tools."""

    tools: None = None


class Success(Struct, gc=False):
    """An answer that nothing must be known of, unless its result calls itself an error. No other message is one."""

    id: Id
    result: Plain
    method: None = None
    error: None = None


_sent = msgspec.json.Decoder(Sent)
_success = msgspec.json.Decoder(Success)
_decode_sent, decode_all_sent = _sent.decode, _sent.decode_lines
decode_success, decode_successes = _success.decode, _success.decode_lines
_decode_came = msgspec.json.Decoder(Came).decode
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def sent(data: bytes) -> Sent | None:
    """Return what a client's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return _decode_sent(data)
    except UNREADABLE:
        return None


def sent_loosely(data: bytes) -> Sent | None:
    """Return what a client's message is about that only a lenient server reads."""
    return _converted(data, Sent)


def came(data: bytes) -> Came | None:
    """Return what a server's message is about; None if its parts are not what they should be, as in a batch."""
    try:
        return _decode_came(data)
    except UNREADABLE:
        return _converted(data, Came)


def read(data: bytes) -> Any:
    """Return a message as lenient programs read it, or None if it is not JSON.

    Half a character of a text that was cut in two, NaN or a wrong byte do no harm: they are no failure of a call.

    Raises:
        RecursionError: it is too deep to be read here, which says nothing of the two ends.
    """
    try:
        return _decode(data)
    except UNREADABLE:
        import json  # only now: it is seldom needed
    try:
        return json.loads(data.decode("utf-8-sig", "replace"), strict=False)
    except ValueError:
        return None


def decoded(data: bytes) -> Any:
    """Return a message, or None if it is not JSON or too deep."""
    try:
        return read(data)
    except RecursionError:
        return None


def encode(message: Any) -> bytes:
    """Return a message as it is written."""
    try:
        return _encode(message)
    except UnicodeEncodeError:  # half a character, which only an escape can write
        import json  # only now: it is seldom needed

        return json.dumps(message, separators=(",", ":")).encode()


def _converted(data: bytes, shape: type[T]) -> T | None:
    try:
        return msgspec.convert(decoded(data), shape)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None
