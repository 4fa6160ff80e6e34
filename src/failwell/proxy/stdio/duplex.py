"""`Duplex`: both ways in one thread, for as long as nobody has to be waited for.

With a thread for each way, the two are woken on different processors and find their caches cold, which takes longer
than all that a proxy does. But one thread must not wait for one end while the other waits for it: it leaves before.
"""

import os
import select
from threading import Event

from failwell.proxy.stdio.first_lines import FirstLines
from failwell.proxy.stdio.pump import (
    CHUNK,
    LARGE_CHUNK,
    Outlet,
    Pump,
)


class Duplex:
    """Passes lines up as they are, and down as they are looked at. Nobody else may write to either end meanwhile.

    Args:
        up: reads what the client writes.
        down: reads what the server writes.
        server: where the server reads.
        client: where the client reads.
        opening: what looks at lines.
    """

    def __init__(self, up: Pump, down: Pump, *, server: Outlet, client: Outlet, opening: FirstLines) -> None:
        self._unsent = (b"", 0)
        self._unwritten = b""
        self._up = up
        self._down = down
        self._server = server
        self._client = client
        self._opening = opening
        self._has_left = Event()
        self._asked_to_leave, self._ask_to_leave = os.pipe()

    def run(self) -> None:
        """Pass lines until one of the ends closes or does not read; then each way needs a thread of its own."""
        try:
            self._pass()
        finally:
            try:
                self._opening.look_at_each()
            finally:
                self._client.close()
                self._server.close()
                os.close(self._asked_to_leave)
                self._has_left.set()

    def leave(self) -> None:
        """Have `run` return soon, and wait for that."""
        os.close(self._ask_to_leave)
        self._has_left.wait()

    def take_unsent(self) -> tuple[bytes, int]:
        """Return the lines that the server has not got, and how many bytes of them it has."""
        unsent, self._unsent = self._unsent, (b"", 0)
        return unsent

    def take_unwritten(self) -> bytes:
        """Return what the client has not got."""
        unwritten, self._unwritten = self._unwritten, b""
        return unwritten

    def _pass(self) -> None:
        up, down, opening = self._up, self._down, self._opening
        stdin, send, stdout, write = self._server.file, self._server.write, self._client.file, self._client.write
        waiting, read, client, size = select.poll(), os.read, up.source, CHUNK
        for source in (client, down.source, self._asked_to_leave):
            waiting.register(source, select.POLLIN)
        wait, backlog = waiting.poll, opening.backlog
        while True:
            for source, _ in wait():
                try:
                    chunk = lines = read(source, size)
                except OSError:
                    return
                if size != CHUNK or chunk[-1:] != b"\n":
                    if not chunk:
                        return
                    lines = (up if source == client else down).cut(chunk)
                    size = LARGE_CHUNK if up.is_holding or down.is_holding else CHUNK
                    if not lines:
                        continue
                if source == client:
                    try:
                        taken = send(stdin, lines)
                    except OSError:
                        taken = 0
                    if taken != len(lines) and not self._is_sent(lines, taken):
                        return
                    if backlog is None:
                        opening.took(lines)
                        backlog = opening.backlog
                    else:
                        backlog.up(lines)
                    continue
                if backlog is None or not backlog.passes(lines):
                    lines = down.looked_at(lines)
                    if not lines:
                        continue
                try:
                    taken = write(stdout, lines)
                except OSError:
                    taken = 0
                if taken != len(lines) and not self._is_written(lines, taken):
                    return

    def _is_sent(self, lines: bytes, taken: int) -> bool:
        """Return whether the server soon takes the rest; if not, look at all of it, since others will send it."""
        taken = self._server.taken_of(lines, taken)
        if taken == len(lines):
            return True
        self._opening.look_at_each()
        self._up.looked_at(lines)
        whole = lines.rfind(b"\n", 0, taken) + 1
        self._opening.sent_only(lines[:whole])
        self._unsent = (lines[whole:], taken - whole)
        return False

    def _is_written(self, data: bytes, taken: int) -> bool:
        taken = self._client.taken_of(data, taken)
        self._unwritten = data[taken:]
        return not self._unwritten
