"""`Session`: a client, a server and the proxy between them, from the first line to the exit code.

A thread waits for the server to end. One passes lines both ways until somebody does not read what is written; from then
on there is one for each way, which blocks where its work is. So a slow reader slows its writer down as it would without
a proxy.
"""

import os
import signal
from collections.abc import Callable
from threading import Event, Lock
from time import sleep
from typing import TYPE_CHECKING

from failwell.proxy.stdio.duplex import Duplex
from failwell.proxy.stdio.first_lines import FirstLines
from failwell.proxy.stdio.process import Child, ServerProcess, enlarge, start_thread
from failwell.proxy.stdio.pump import Pump, is_stream, pieces_of, taken_of, to_client, to_server

if TYPE_CHECKING:
    from failwell.proxy.stdio.restarts import Restarts

_LAST_LINES = 0.3
_FIRST_LINE = 0.7
_LAST_ANSWERS = 0.3
_BETWEEN_LOOKS = 0.02
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StdioSession:
    """Everything between the client's two ends and one server, started again if the operator wants that.

    Args:
        server: the server, already started.
        opening: what looks at lines.
        deaths: gives what becomes of the requests that a dying server takes along.
        source: where the client's lines come from.
        target: where the client reads.
        restart: start the server again if it dies.
    """

    def __init__(
        self,
        server: ServerProcess,
        opening: FirstLines,
        deaths: "Callable[[], Restarts]",
        *,
        source: int,
        target: int,
        restart: bool = False,
    ) -> None:
        self._server = server
        self._opening = opening
        self._deaths = deaths
        self._source = source
        self._target = target
        self._restart = restart
        self._client_lock = Lock()
        self._taken_by_client = 0
        self._silent = Event()
        self._greeted: Child | None = None
        self._both: Duplex | None = None

    def run(self) -> int:
        """Pass lines until the server ends for good, and return its exit code."""
        self._start()
        while True:
            code = self._server.wait()
            if self._both is not None:
                self._both.leave()
                self._both = None
            self._hear_out()
            if not self._restart or self._server.ending.is_set() or not self._is_started_again(code):
                break
        self._server.finish()
        if not self._server.ending.is_set():
            self._opening.spoken.wait(_FIRST_LINE)  # so that a client that has just begun learns what happened
        is_used = self._opening.is_used
        answers = self._deaths().answers(self._opening.watch, code, will_return=False) if is_used else b""
        self._say_last(answers)
        return code

    def _hear_out(self) -> None:
        """Let what the server said last be dealt with; a client that wants to end has to read it."""
        before = self._taken_by_client
        while not self._silent.wait(_LAST_LINES) and not self._opening.is_waiting_for_server:
            is_read = self._taken_by_client != before or not self._client_lock.locked()
            if self._server.ending.is_set() and not is_read:
                return
            before = self._taken_by_client

    def signalled(self, number: int) -> None:
        """Pass a signal on to the server, without waiting for what becomes of it."""
        is_end = number in _ENDING_SIGNALS
        start_thread(self._server.end_with if is_end else self._server.child.send, number)

    def to_client(self, data: bytes) -> None:
        """Write to the client; once nobody reads, the session ends."""
        with self._client_lock:
            for piece in pieces_of(data):
                taken = taken_of(piece, self._target)
                self._taken_by_client += taken
                if taken < len(piece):
                    break
            else:
                return
        self._server.hang_up()

    def to_server(self, data: bytes, taken: int = 0, *, by: Child | None = None) -> None:
        """Write lines to the server; what a dying one did not take goes to its successor, or is answered at the end.

        A process may have *taken* some bytes of them already.
        """
        server, opening = self._server, self._opening
        while True:
            with server.lock:
                child = server.child
                taken = taken if child is by else 0
                taken += taken_of(data[taken:], child.stdin)
                if taken == len(data):
                    opening.sent()
                    return
                whole = data.rfind(b"\n", 0, taken) + 1
                opening.sent_only(data[:whole])
            data, by = data[whole:], None
            if not self._restart or not server.wait_for_successor(child):
                return

    def _start(self) -> None:
        opening, child = self._opening, self._server.child
        opening.up = Pump(self._source, opening.from_client, self.to_server)
        opening.down = Pump(child.stdout, opening.from_server, self.to_client)
        client = to_client(self._target) if opening.is_lazy and is_stream(self._source) else None
        if client is None:
            opening.look_at_each()
            start_thread(self._up, opening.up)
            start_thread(self._down, child, opening.down, self._silent)
        else:
            self._both = Duplex(opening.up, opening.down, server=to_server(child.stdin), client=client, opening=opening)
            start_thread(self._pass_both, self._both, child, opening.up, opening.down)

    def _pass_both(self, both: Duplex, child: Child, up: Pump, down: Pump) -> None:
        silent = self._silent
        try:
            enlarge(child.stdout, self._target)
            both.run()
        finally:
            start_thread(self._down, child, down, silent, lambda: self.to_client(both.take_unwritten()))
            self._up(up, lambda: self.to_server(*both.take_unsent(), by=child))

    def _up(self, up: Pump, begin: Callable[[], object] = lambda: None) -> None:
        opening = self._opening
        try:
            begin()
            rest = up.run()
            if rest:
                found = opening.from_client(rest)
                self.to_server(rest if found is None else found)
        finally:
            opening.spoken.set()
            self._server.hang_up()

    def _start_down(self) -> None:
        child, self._silent = self._server.child, Event()
        self._opening.down = Pump(child.stdout, self._opening.from_server, self.to_client)
        start_thread(self._down, child, self._opening.down, self._silent)

    def _down(self, child: Child, pump: Pump, silent: Event, begin: Callable[[], object] = lambda: None) -> None:
        try:
            enlarge(child.stdout, self._target)
            begin()
            rest = pump.run()
            os.close(child.stdout)
            if rest and self._opening.watch.is_message(rest):
                rest += b"\n"  # or what comes next would stand on the same line
                found = self._opening.from_server(rest)
                self.to_client(rest if found is None else found)
            elif rest:
                self._deaths().dropped(len(rest))
        finally:
            silent.set()
            while self._greeted is child:  # it will not answer any more, and whoever greets it waits for that
                self._opening.watch.give_up_own()
                sleep(_BETWEEN_LOOKS)
            self._server.end_silent(child)

    def _say_last(self, answers: bytes, *, until: Event | None = None) -> None:
        """Write to a client that may not read any more, which is not waited for, or not once a moment has come."""
        if answers:
            written = Event()
            start_thread(self._write_last, answers, written)
            while not written.wait(_LAST_ANSWERS) and until is not None and not until.is_set():
                continue

    def _write_last(self, answers: bytes, written: Event) -> None:
        self.to_client(answers)
        written.set()

    def _is_started_again(self, code: int) -> bool:
        """Answer what the dead server took along, start another one and repeat the handshake."""
        from failwell.proxy.stdio.restarts import (
            repeat_handshake,  # only now: most servers live longer than their clients
        )

        server, deaths = self._server, self._deaths()
        delay = deaths.delay()
        if delay is None or server.ending.wait(delay):
            return False
        with server.lock:
            if server.ending.is_set():
                return False
            answers = deaths.answers(self._opening.watch, code, will_return=True)
            try:
                server.restart()
            except OSError:
                is_back = False
            else:
                is_back = True
                self._greeted = server.child
                self._start_down()
                repeat_handshake(self._opening.watch, server.child.stdin, number=deaths.count)
                self._greeted = None
        self._say_last(answers, until=server.ending if is_back else None)
        return is_back
