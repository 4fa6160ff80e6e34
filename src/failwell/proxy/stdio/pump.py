"""Lines from one end to the other: read, looked at, and written to places that are never waited for long."""

import os
import select
import socket
import stat
import sys
from collections.abc import Callable, Iterable
from time import monotonic, sleep

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

    def __init__(self, source: int, look: Callable[[bytes], bytes | None], write: Callable[[bytes], object]) -> None:
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
        each = split_lines(lines)
        changed = [self.look(line) for line in each]
        if changed.count(None) == len(changed):
            return lines
        return b"".join([line if one is None else one for line, one in zip(each, changed, strict=True)])


def split_lines(lines: bytes) -> list[bytes]:
    """Return each line with its end. Only a line feed ends one: a carriage return may stand within a message."""
    return [line + b"\n" for line in lines[:-1].split(b"\n")]


def pieces_of(data: bytes) -> Iterable[bytes | memoryview]:
    """Return data in parts, so that whoever writes them can tell that somebody reads."""
    if len(data) <= _PIECE:
        return (data,)
    view = memoryview(data)
    return [view[at : at + _PIECE] for at in range(0, len(data), _PIECE)]


def taken_of(data: bytes | memoryview, target: int) -> int:
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
    try:
        select.select([file] if is_read else [], [] if is_read else [file], [])
    except (OSError, ValueError):  # it is closed, which its next use tells, or has too high a number
        sleep(0.01)


_PATIENCE = 0.05


class Outlet:
    """Writes as much as the other end reads soon.

    Args:
        file: what is written to.
        write: takes the file and some data, never waits, and returns how many bytes were taken.
        close: ends it.
    """

    def __init__(self, file: int, write: Callable[[int, bytes | memoryview], int], close: Callable[[], object]) -> None:
        self.file = file
        self.write = write
        self.close = close

    def taken_of(self, data: bytes, taken: int) -> int:
        """Write the rest and return how many bytes were taken: all, unless the other end is gone or does not read."""
        view, until = memoryview(data), monotonic() + _PATIENCE
        while True:
            try:
                taken += self.write(self.file, view[taken:])
            except BlockingIOError:
                pass  # it is asked again once it is ready
            except OSError:
                return taken
            if taken == len(data) or not self._is_ready(until - monotonic()):
                return taken

    def _is_ready(self, seconds: float) -> bool:
        waiting = select.poll()
        waiting.register(self.file, select.POLLOUT)
        return seconds > 0 and bool(waiting.poll(seconds * 1000))


def to_server(stdin: int) -> Outlet:
    """Return a way to write to a process that was started here: nobody else has this end of its pipe."""
    os.set_blocking(stdin, False)
    return Outlet(stdin, os.write, lambda: os.set_blocking(stdin, True))


def is_stream(source: int) -> bool:
    """Return whether a source can be waited for beside others, and its end be read again: terminals end only once."""
    try:
        mode = os.fstat(source).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    except OSError:
        return False


def to_client(target: int) -> Outlet | None:
    """Return a way to write to whoever started this process; None if there is none that does not wait.

    Whether a pipe waits is a property of all who share its end. So that is not changed: a pipe is opened once more, and
    a socket is told with each write.
    """
    if not hasattr(select, "poll"):
        return None
    try:
        mode = os.fstat(target).st_mode
        if stat.S_ISFIFO(mode) and sys.platform.startswith("linux"):
            own = os.open(f"/proc/self/fd/{target}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return Outlet(own, os.write, lambda: os.close(own))
        return _to_socket(target) if stat.S_ISSOCK(mode) else None
    except OSError:
        return None


def _to_socket(target: int) -> Outlet:
    own = socket.socket(fileno=os.dup(target))
    return Outlet(own.fileno(), lambda _, data: own.send(data, socket.MSG_DONTWAIT), own.close)
