"""Lines from one end to the other: one direction in a thread (`Pump`), or both in one (`Duplex`)."""

import os
import select
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable
from itertools import count
from threading import Event, get_ident
from time import monotonic, sleep
from typing import TYPE_CHECKING

from failwell.proxy.bounds import IDLE_WAIT, MAX_LINE, WRITE_TIMEOUT

if TYPE_CHECKING:
    from failwell.proxy.conversation import PendingRequest
    from failwell.proxy.stdio.loader import ConversationLoader

CHUNK = 1 << 14
LARGE_CHUNK = 1 << 20
_PIECE = 1 << 16
_END = 1 << 12


class LongLine:
    """What is kept of a line that is too long: how it begins, and how it ends so far."""

    def __init__(self, start: bytes) -> None:
        self.head = start[:_END]
        self.tail = b""
        self.is_over = False
        self.is_answered = False

    def add(self, chunk: bytes) -> None:
        """Take in more of it."""
        self.tail = (self.tail + chunk[-_END:])[-_END:]


class Pump:
    """Passes lines on until their source ends.

    Lines that come together and stay as they are leave together. What is longer than a line may be is dropped as it
    comes.

    Args:
        source: where lines are read.
        rewrite: returns what to write in place of a line; None: the line as it is. Empty: nothing.
        write: takes what goes on.
        replace: returns what takes the place of a line that is too long; None: that cannot be told before it is over.
    """

    def __init__(
        self,
        source: int,
        rewrite: Callable[[bytes], bytes | None],
        write: Callable[[bytes], object],
        replace: Callable[[LongLine], bytes | None] = lambda _: b"",
    ) -> None:
        self.is_reading = False
        self.source = source
        self.rewrite = rewrite
        self.long: LongLine | None = None
        self._write = write
        self._replace = replace
        self._held: list[bytes | bytearray] = []
        self._held_length = 0

    @property
    def is_holding(self) -> bool:
        """Whether part of a line has come."""
        return bool(self._held) or self.long is not None

    def run(self) -> bytes:
        """Pass lines on, and return what follows the last newline."""
        read, source, write, held = os.read, self.source, self._write, self._held
        while True:
            if self.long is not None and (lines := self.settle()):
                write(self.rewrite_all(lines))
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
                lines = self.rewrite_all(lines)
            if lines:
                write(lines)
        return b"".join(held)

    def cut(self, chunk: bytes) -> bytes:
        """Return the whole lines that a chunk completes, and hold what is behind them."""
        if self.long is not None:
            return self._cut_long(self.long, chunk)
        held = self._held
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._hold(chunk)
            return b""
        lines = chunk if end == len(chunk) else chunk[:end]
        if held:
            lines = b"".join((*held, lines))
            held.clear()
            self._held_length = 0
        if end < len(chunk):
            self._hold(chunk[end:])
        return lines

    def _hold(self, chunk: bytes) -> None:
        if len(chunk) >= _PIECE:
            self._held.append(chunk)
        else:  # many small ones would take many times their length
            if not self._held or not isinstance(self._held[-1], bytearray) or len(self._held[-1]) >= LARGE_CHUNK:
                self._held.append(bytearray())
            self._held[-1] += chunk
        self._held_length += len(chunk)
        if self._held_length > MAX_LINE:
            self.long = LongLine(b"".join(self._held[:2]))
            self._held.clear()
            self._held_length = 0

    def _cut_long(self, long: LongLine, chunk: bytes) -> bytes:
        end = chunk.find(b"\n")
        if end < 0:
            long.add(chunk)
            return b""
        long.add(chunk[:end])
        long.is_over = True
        replaced = self.settle()
        self.long = None
        rest = chunk[end + 1 :]
        return replaced + (self.cut(rest) if rest else b"")

    def settle(self) -> bytes:
        """Return the line that takes the place of one that is too long, once, as soon as it is known."""
        if self.long is None or self.long.is_answered:
            return b""
        found = self._replace(self.long)
        self.long.is_answered = found is not None
        return found or b""

    def rewrite_all(self, lines: bytes) -> bytes:
        """Return what is written in place of lines."""
        if lines.find(b"\n") + 1 == len(lines):
            found = self.rewrite(lines)
            return lines if found is None else found
        each = split_lines(lines)
        changed = [self.rewrite(line) for line in each]
        if changed.count(None) == len(changed):
            return lines
        return b"".join([line if one is None else one for line, one in zip(each, changed, strict=True)])


def split_lines(lines: bytes) -> list[bytes]:
    """Return each line with its end. Only a line feed ends one: a carriage return may stand within a message."""
    return [line + b"\n" for line in lines[:-1].split(b"\n")]


def end_of_taken(lines: bytes, taken: int) -> int:
    """Return where the last message ends that is among so many bytes: it may be read before its line ends."""
    end = lines.find(b"\n", taken) + 1
    has_rest = not taken or lines[taken:end].strip()
    return lines.rfind(b"\n", 0, taken) + 1 if has_rest else max(end, taken)


def split_pieces(data: bytes) -> Iterable[bytes | memoryview]:
    """Return data in pieces, so that whoever writes them can see that the other end reads."""
    if len(data) <= _PIECE:
        return (data,)
    view = memoryview(data)
    return [view[at : at + _PIECE] for at in range(0, len(data), _PIECE)]


def write_all(data: bytes | memoryview, target: int) -> int:
    """Write, and return how many bytes were taken: all, unless nobody reads any more."""
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
    """Wait until an end can be used that does not block, as whoever shares it with us may have made it."""
    try:
        select.select([file] if is_read else [], [] if is_read else [file], [])
    except (OSError, ValueError):  # it is closed, which its next use tells, or has too high a number
        sleep(0.01)


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

    def write_rest(self, data: bytes, taken: int) -> int:
        """Write the rest and return how many bytes were taken: all, unless the other end is gone or does not read."""
        view, until = memoryview(data), monotonic() + WRITE_TIMEOUT
        while True:
            try:
                taken += self.write(self.file, view[taken:])
            except BlockingIOError:
                pass  # it is written to again once it is ready
            except OSError:
                return taken
            if taken == len(data) or not self._is_ready(until - monotonic()):
                return taken

    def _is_ready(self, seconds: float) -> bool:
        waiting = select.poll()
        waiting.register(self.file, select.POLLOUT)
        return seconds > 0 and bool(waiting.poll(seconds * 1000))


def server_outlet(stdin: int) -> Outlet:
    """Return the outlet to a process that was started here: nobody else has this end of its pipe."""
    os.set_blocking(stdin, False)
    return Outlet(stdin, os.write, lambda: os.set_blocking(stdin, True))


def is_stream(source: int) -> bool:
    """Return whether a source can be waited for beside others, and its end be read again: terminals end only once."""
    try:
        mode = os.fstat(source).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    except OSError:
        return False


def client_outlet(target: int) -> Outlet | None:
    """Return the outlet to whoever started this process; None if there is none that does not wait.

    Whether a pipe waits is a property of all who share its end. So that is not changed: a pipe is opened once more, and
    a socket gets a flag with each write.
    """
    if not hasattr(select, "poll"):
        return None
    try:
        mode = os.fstat(target).st_mode
        if stat.S_ISFIFO(mode) and sys.platform.startswith("linux"):
            own = os.open(f"/proc/self/fd/{target}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return Outlet(own, os.write, lambda: os.close(own))
        return _socket_outlet(target) if stat.S_ISSOCK(mode) else None
    except OSError:
        return None


def _socket_outlet(target: int) -> Outlet:
    import socket  # only where the host gives one: it loads much more than a pipe needs

    own = socket.socket(fileno=os.dup(target))
    return Outlet(own.fileno(), lambda _, data: own.send(data, socket.MSG_DONTWAIT), own.close)


class Duplex:
    """Passes lines in both directions in one thread, for as long as nobody has to be waited for.

    Lines pass up unchanged, unless the `LazyReader` wants to read them before, and down as they are rewritten. What
    comes of a line later on is done here too: others must not write to either end meanwhile. With a thread for each
    direction, the two are woken on different processors and find their caches cold, which takes longer than all that a
    proxy does. But one thread must not wait for one end while the other waits for it: it leaves before.

    Args:
        up: reads what the client writes.
        down: reads what the server writes.
        server: where the server reads.
        client: where the client reads.
        loader: gives the conversation that reads the lines.
    """

    def __init__(self, up: Pump, down: Pump, *, server: Outlet, client: Outlet, loader: "ConversationLoader") -> None:
        self._unsent = (b"", 0)
        self._unwritten = b""
        self._up = up
        self._down = down
        self._server = server
        self._client = client
        self._loader = loader
        self._thread: int | None = None
        self._outgoing: deque[tuple[bytes, PendingRequest | None]] = deque()
        self._unsent_requests: list[tuple[bytes, PendingRequest]] = []
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._has_stopped = Event()
        # Whoever closes the one end wakes the thread that polls the other.
        self._stop_source, self._stop_target = os.pipe()

    def run(self) -> None:
        """Pass lines until one of the ends closes or does not read; then each direction needs its own thread."""
        self._thread = get_ident()
        try:
            self._pass()
        finally:
            self._thread = None
            self._leave_outgoing()
            try:
                self._loader.read_each_line()
            finally:
                self._client.close()
                self._server.close()
                os.close(self._stop_source)
                self._has_stopped.set()

    def stop(self) -> None:
        """Have `run` return soon, and wait for that."""
        os.close(self._stop_target)
        self._has_stopped.wait()

    def send(self, data: bytes, request: "PendingRequest") -> bool:
        """Send the line of a request to the server soon, if it is this thread that wants that; return whether it is."""
        return self._take(data, request)

    def write(self, data: bytes) -> bool:
        """Write lines to the client soon, if it is this thread that wants that; return whether it is."""
        return self._take(data, None)

    def schedule(self, delay: float, action: Callable[[], object]) -> bool:
        """Do something after so many seconds, if it is this thread that wants that; return whether it is."""
        is_own = self._thread == get_ident()
        if is_own:
            self._due.append((monotonic() + delay, next(self._numbers), action))
            self._due.sort()
        return is_own

    def _take(self, data: bytes, request: "PendingRequest | None") -> bool:
        is_own = self._thread == get_ident()
        if is_own:
            self._outgoing.append((data, request))
        return is_own

    def take_unsent(self) -> tuple[bytes, int]:
        """Return the lines that the server does not have, and how many bytes of them it has."""
        unsent, self._unsent = self._unsent, (b"", 0)
        return unsent

    def take_unsent_requests(self) -> "list[tuple[bytes, PendingRequest]]":
        """Return the requests that the proxy makes and that the server does not have, and their lines."""
        unsent, self._unsent_requests = self._unsent_requests, []
        return unsent

    def take_unwritten(self) -> bytes:
        """Return what the client does not have."""
        unwritten, self._unwritten = self._unwritten, b""
        return unwritten

    def take_due(self) -> list[tuple[float, Callable[[], object]]]:
        """Return what is to be done yet, and after how many seconds."""
        found = [(max(at - monotonic(), 0.0), action) for at, _, action in self._due]
        self._due.clear()
        return found

    def _leave_outgoing(self) -> None:
        """Leave what is not written yet to the threads that come after this one."""
        for data, request in self._outgoing:
            if request is None:
                self._unwritten += data
            else:
                self._unsent_requests.append((data, request))
        self._outgoing.clear()

    def _pass(self) -> None:
        up, down, loader = self._up, self._down, self._loader
        stdin, send, stdout, write = self._server.file, self._server.write, self._client.file, self._client.write
        waiting, read, client, size = select.poll(), os.read, up.source, CHUNK
        for source in (client, down.source, self._stop_source):
            waiting.register(source, select.POLLIN)
        wait, lazy_reader, due, outgoing = waiting.poll, loader.lazy_reader, self._due, self._outgoing
        while True:
            if due or outgoing or (lazy_reader is not None and lazy_reader.passed):
                if lazy_reader is not None and lazy_reader.is_behind:
                    lazy_reader.catch_up()
                self._do_due()
                if not self._has_flushed():
                    return
                ready = wait(self._patience())
                if not ready and lazy_reader is not None:
                    lazy_reader.catch_up()
            else:
                ready = wait()
            for source, _ in ready:
                try:
                    chunk = lines = read(source, size)
                except OSError:
                    return
                if size != CHUNK or chunk[-1:] != b"\n":
                    if not chunk:
                        return
                    lines = (up if source == client else down).cut(chunk)
                    if up.long is not None:
                        return  # the client gets an answer, which only another thread may wait to write
                    if down.long is not None and source != client:
                        lines += down.settle()
                    size = LARGE_CHUNK if up.is_holding or down.is_holding else CHUNK
                    if not lines:
                        continue
                if source == client:
                    if lazy_reader is None:
                        is_read = loader.validates
                    else:
                        is_read = lazy_reader.may_change_requests and lazy_reader.must_read(lines)
                    if is_read:
                        lines = self._read_up(lines)
                        lazy_reader = loader.lazy_reader
                        if not lines:
                            continue
                    try:
                        taken = send(stdin, lines)
                    except OSError:
                        taken = 0
                    if taken != len(lines) and not self._is_sent(lines, taken, is_read=is_read):
                        return
                    # That is early enough: whoever answers for a server that died waits until this thread has ended.
                    if is_read:
                        continue
                    if lazy_reader is None:
                        loader.note_sent(lines)
                        lazy_reader = loader.lazy_reader
                    else:
                        lazy_reader.note_sent(lines)
                    continue
                found = down.rewrite_all(lines) if lazy_reader is None else lazy_reader.from_server(lines)
                if found is not None:
                    lines = found
                    if not lines:
                        continue
                try:
                    taken = write(stdout, lines)
                except OSError:
                    taken = 0
                if taken != len(lines) and not self._is_written(lines, taken):
                    return

    def _read_up(self, lines: bytes) -> bytes:
        """Return what the server gets in place of lines, and may have from now on."""
        if self._loader.lazy_reader is not None:
            self._loader.lazy_reader.catch_up()
        lines = self._up.rewrite_all(lines)
        self._loader.note_all_sent()
        return lines

    def _patience(self) -> float | None:
        """Return for how many milliseconds to wait for lines before something else is done."""
        waits = [max(self._due[0][0] - monotonic(), 0.0)] if self._due else []
        if self._loader.lazy_reader is not None and self._loader.lazy_reader.passed:
            waits.append(IDLE_WAIT)
        return 1000 * min(waits) if waits else None

    def _do_due(self) -> None:
        while self._due and self._due[0][0] <= monotonic():
            self._due.pop(0)[2]()

    def _has_flushed(self) -> bool:
        """Write what other lines led to, and return whether all of it was taken."""
        outgoing = self._outgoing
        while outgoing:
            data, request = outgoing.popleft()
            if request is None:
                if not self._is_written(data, 0):
                    return False
            elif not request.is_ended and not request.is_cancelled:
                request.is_sent = True
                if not self._is_sent(data, 0, is_read=True):
                    return False
        return True

    def _is_sent(self, lines: bytes, taken: int, *, is_read: bool) -> bool:
        """Return whether the server soon takes the rest; if not, read all of it, since others will send it."""
        taken = self._server.write_rest(lines, taken)
        if taken == len(lines):
            return True
        self._loader.read_each_line()
        if not is_read:
            self._up.rewrite_all(lines)
            self._loader.note_all_sent()
        self._loader.note_not_sent(lines[end_of_taken(lines, taken) :])
        whole = lines.rfind(b"\n", 0, taken) + 1
        self._unsent = (lines[whole:], taken - whole)
        return False

    def _is_written(self, data: bytes, taken: int) -> bool:
        taken = self._client.write_rest(data, taken)
        self._unwritten = data[taken:]
        return not self._unwritten
