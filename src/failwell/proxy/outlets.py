"""`Outlet`: a place to write to that is never waited for long; `to_server` and `to_client` make one."""

import os
import select
import sys
from time import monotonic

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 0.05
# `stat` names them; it takes longer to load than these take to read.
_KIND, _PIPE, _SOCKET = 0o170000, 0o010000, 0o140000


class Outlet:
    """Writes as much as the other end reads soon.

    Args:
        file: what is written to.
        write: takes the file and some data, never waits, and returns how many bytes were taken.
        close: ends it.
    """

    def __init__(
        self, file: int, write: "Callable[[int, bytes | memoryview], int]", close: "Callable[[], object]"
    ) -> None:
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
        return os.fstat(source).st_mode & _KIND in (_PIPE, _SOCKET)
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
        kind = os.fstat(target).st_mode & _KIND
        if kind == _PIPE and sys.platform.startswith("linux"):
            own = os.open(f"/proc/self/fd/{target}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            return Outlet(own, os.write, lambda: os.close(own))
        return _to_socket(target) if kind == _SOCKET else None
    except (OSError, ImportError):
        return None


def _to_socket(target: int) -> Outlet:
    from _socket import MSG_DONTWAIT, socket  # what `socket` stands on, which loads much more

    own = socket(fileno=os.dup(target))
    return Outlet(own.fileno(), lambda _, data: own.send(data, MSG_DONTWAIT), own.close)
