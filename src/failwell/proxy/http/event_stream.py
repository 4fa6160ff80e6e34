"""Event streams (`text/event-stream`): whole events from chunks, and the fields of an event. Does no I/O.

An event is kept as the bytes that arrived, with the empty line after it, so that what is not changed passes unchanged.
"""

import re

from failwell.proxy.bounds import MAX_ANSWER
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, Pieces

_BORDER = re.compile(rb"\r\n\r\n|\n\n|\r\r|\r\n\n|\n\r\n")
_PARTS = (b"\n\n", b"\r\r", b"\n\r\n")  # one of them is in each
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LONGEST_BORDER = 4
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventSplitter:
    """Splits a stream into events.

    Args:
        share: counts the bytes that are held, if they are counted.
    """

    def __init__(self, share: BodyShare | None = None) -> None:
        self._share = share
        self._before = Pieces()  # the beginning of an event; its border can only begin after that
        self._held = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take in a chunk, and return the events that are complete now.

        Raises:
            BodyTooLong: an event has no end.
            TooManyBodies: all bodies together hold too many bytes.
        """
        held, is_between = self._held, not self._held and not len(self._before)
        if is_between and chunk.endswith(b"\n\n") and chunk.find(b"\n\n") == len(chunk) - 2 and b"\r" not in chunk:
            return [chunk]
        held += chunk
        found: list[bytes] = []
        start, at = 0, 0
        has_border = any(part in held for part in _PARTS)  # to look for these is quicker
        while has_border and (border := _BORDER.search(held, at)):
            at = border.end()
            if at == len(held) and held.endswith(b"\r\r"):
                break  # the second may be half of a line end
            found.append(self._begun() + held[start:at])
            start = at
        kept = max(start, len(held) - _LONGEST_BORDER)
        self._before.add(held[start:kept])
        del held[:kept]
        length = len(self._before) + len(held)
        if length > MAX_ANSWER:
            raise BodyTooLong(MAX_ANSWER)
        if self._share is not None:
            self._share.resize(length)
        return found

    def finish(self) -> list[bytes]:
        """Return the last event at the end of a stream, if it is complete: nothing can follow its line end any more."""
        if not self._held.endswith(b"\r\r"):
            return []
        event = self.rest
        self._begun()
        self._held.clear()
        return [event]

    @property
    def rest(self) -> bytes:
        """What follows the last complete event: part of one, which clients discard."""
        return self._before.joined() + self._held

    def _begun(self) -> bytes:
        """Take the beginning of an event."""
        begun, self._before = self._before.joined(), Pieces()
        return begun


def data_of(event: bytes) -> bytes:
    """Return the data of an event: its message, or nothing."""
    return b"\n".join(_values(event, b"data"))


def id_of(event: bytes) -> bytes | None:
    """Return the id that a client resumes from, if the event has one."""
    found = _values(event, b"id")
    return found[-1] if found else None


def name_of(event: bytes) -> bytes:
    """Return what kind of event it is: `message` unless it says otherwise."""
    found = _values(event, b"event")
    return (found[-1] if found else b"") or b"message"


def retry_of(event: bytes) -> float | None:
    """Return how many seconds a client is to wait before it resumes."""
    found = [value for value in _values(event, b"retry") if value.isdigit()]
    return int(found[-1][:9]) / 1000 if found else None


def with_data(event: bytes, data: bytes) -> bytes:
    """Return an event with other data and all else as it was: its name, its id."""
    kept = [line for line in _lines(event) if _field(line)[0] != b"data"]
    ends = b"\r\n" if b"\r\n" in event else b"\n"
    return b"".join(line + ends for line in (*kept, *(b"data: " + line for line in data.split(b"\n")))) + ends


def event_of(data: bytes) -> bytes:
    """Return a message as an event."""
    return b"event: message\ndata: " + data + b"\n\n"


def _lines(event: bytes) -> list[bytes]:
    return [line for line in _LINE_END.split(event.removeprefix(_BYTE_ORDER_MARK)) if line]


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


def _values(event: bytes, name: bytes) -> list[bytes]:
    fields = (_field(line) for line in _lines(event))
    return [value for found, value in fields if found == name]
