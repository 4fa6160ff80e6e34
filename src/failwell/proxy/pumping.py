"""`Pump`: lines from one end to the other, each looked at and otherwise passed as it is."""

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CHUNK = 1 << 14
LARGE_CHUNK = 1 << 20
_PIECE = 1 << 16


class Pump:
    """Passes lines on until their source ends.

    Lines that come together and stay as they are leave together. A line may have any length.

    Args:
        source: where lines are read.
        look: returns what to write in place of a line; None: the line as it is. Empty: nothing.
        write: takes what goes on.
    """

    def __init__(
        self, source: int, look: "Callable[[bytes], bytes | None]", write: "Callable[[bytes], object]"
    ) -> None:
        self.is_reading = False
        self.source = source
        self.look = look
        self._write = write
        self._held: list[bytes] = []

    @property
    def is_holding(self) -> bool:
        """Whether part of a line has come."""
        return bool(self._held)

    def run(self) -> bytes:
        """Pass lines on, and return what came behind the last newline."""
        read, source, write, held = os.read, self.source, self._write, self._held
        while True:
            self.is_reading = True
            try:
                chunk = read(source, LARGE_CHUNK if held else CHUNK)
            except BlockingIOError:
                _wait_for(source, is_read=True)
                continue
            except OSError:
                break
            self.is_reading = False
            if not chunk:
                break
            lines = self.cut(chunk)
            if lines:
                lines = self.looked_at(lines)
            if lines:
                write(lines)
        return b"".join(held)

    def cut(self, chunk: bytes) -> bytes:
        """Return the whole lines that a chunk completes, and hold what is behind them."""
        held = self._held
        end = chunk.rfind(b"\n") + 1
        if not end:
            held.append(chunk)
            return b""
        lines = chunk if end == len(chunk) else chunk[:end]
        if held:
            lines = b"".join((*held, lines))
            held.clear()
        if end < len(chunk):
            held.append(chunk[end:])
        return lines

    def looked_at(self, lines: bytes) -> bytes:
        """Return what goes on in place of lines."""
        if lines.find(b"\n") + 1 == len(lines):
            found = self.look(lines)
            return lines if found is None else found
        each = split(lines)
        changed = [self.look(line) for line in each]
        if changed.count(None) == len(changed):
            return lines
        return b"".join([line if one is None else one for line, one in zip(each, changed, strict=True)])


def split(lines: bytes) -> list[bytes]:
    """Return each line with its end. Only a line feed ends one: a carriage return may stand within a message."""
    return [line + b"\n" for line in lines[:-1].split(b"\n")]


def pieces(data: bytes) -> "Iterable[bytes | memoryview]":
    """Return data in parts, so that whoever writes them can tell that somebody reads."""
    if len(data) <= _PIECE:
        return (data,)
    view = memoryview(data)
    return [view[at : at + _PIECE] for at in range(0, len(data), _PIECE)]


def taken_of(data: "bytes | memoryview", target: int) -> int:
    """Write and return how many bytes were taken: all, unless nobody reads any more."""
    total, rest = 0, data
    while True:
        try:
            total += os.write(target, rest)
        except BlockingIOError:
            _wait_for(target, is_read=False)
        except OSError:
            return total  # the caller sees it by the number
        if total == len(data):
            return total
        rest = memoryview(data)[total:]


def _wait_for(file: int, *, is_read: bool) -> None:
    """Wait until an end can be used that does not block, which whoever shares it with us may have asked for."""
    from select import select  # only now: hardly anybody does
    from time import sleep

    try:
        select([file] if is_read else [], [] if is_read else [file], [])
    except (OSError, ValueError):  # it is closed, which its next use tells, or has too high a number
        sleep(0.01)
