"""Read `grpc-status-details-bin`: the delay and the reason in a serialized google.rpc.Status, without protobuf."""

from collections.abc import Iterator
from typing import NamedTuple

from failwell.failure import seconds

_LARGEST = 16 * 1024
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DETAILS = 3  # google.rpc.Status.details, each an Any: 1 its type, 2 its value


class Details(NamedTuple):
    """What the details say that may be repeated."""

    retry_after: float | None = None
    reason: str | None = None


def read(status: object) -> Details:
    """Return what a serialized status holds; nothing, if it is not one. Never raises."""
    if not isinstance(status, bytes) or len(status) > _LARGEST:
        return Details()
    try:
        return _read(status)
    except (ValueError, IndexError):
        return Details()


def _read(status: bytes) -> Details:
    found = Details()
    for detail in _messages(status, _DETAILS):
        parts = dict(_fields(detail))
        kind, value = parts.get(1), parts.get(2)
        if not isinstance(kind, bytes) or not isinstance(value, bytes):
            continue
        if kind.endswith(b"/google.rpc.RetryInfo"):
            delay = dict(_fields(next(_messages(value, 1), b"")))
            found = found._replace(retry_after=_duration(delay.get(1, 0), delay.get(2, 0)))
        elif kind.endswith(b"/google.rpc.ErrorInfo"):
            reason = dict(_fields(value)).get(1)
            found = found._replace(reason=reason.decode("ascii", "replace")[:80] if isinstance(reason, bytes) else None)
    return found


def _duration(whole: int | bytes, nanos: int | bytes) -> float | None:
    if not isinstance(whole, int) or not isinstance(nanos, int):
        return None
    return seconds(round(whole + nanos / 1e9, 9)) if nanos else seconds(whole)


def _messages(data: bytes, number: int) -> Iterator[bytes]:
    yield from (value for found, value in _fields(data) if found == number and isinstance(value, bytes))


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError("no protobuf message")
        if position + size > len(data):
            raise ValueError("cut off")
        yield number, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number too long")
