"""`StdioSession`: a client, a server and the proxy between them, from the first line to the exit code.

A thread waits for the server to end. Another passes lines in both directions until somebody does not read what is
written; from then on there is one for each direction, which blocks where its work is. So a slow reader slows its writer
down as it would without a proxy.
"""

import os
import signal
from collections.abc import Callable
from threading import Event, Lock, Timer
from time import sleep
from typing import TYPE_CHECKING

from failwell.proxy.bounds import FIRST_LINE_WAIT, LAST_ANSWERS_WAIT, LAST_LINES_WAIT, MAX_LINE
from failwell.proxy.stdio.loader import ConversationLoader
from failwell.proxy.stdio.process import Child, ServerProcess, enlarge, start_thread
from failwell.proxy.stdio.pump import (
    Duplex,
    LongLine,
    Pump,
    client_outlet,
    end_of_taken,
    is_stream,
    server_outlet,
    split_pieces,
    write_all,
)

if TYPE_CHECKING:
    from failwell.proxy.conversation import PendingRequest
    from failwell.proxy.stdio.restarts import Restarts

_POLL_INTERVAL = 0.02
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StdioSession:
    """Everything between the client's two ends and one server, started again if the operator wants that.

    Args:
        server: the server, already started.
        loader: gives the conversation that reads the lines.
        restarts: gives what answers the requests that are lost with a server.
        source: where the client's lines come from.
        target: where the client reads.
        restart: start the server again if it dies.
    """

    def __init__(
        self,
        server: ServerProcess,
        loader: ConversationLoader,
        restarts: "Callable[[], Restarts]",
        *,
        source: int,
        target: int,
        restart: bool = False,
    ) -> None:
        self._server = server
        self._loader = loader
        self._restarts = restarts
        self._source = source
        self._target = target
        self._restart = restart
        self._client_lock = Lock()
        self._bytes_to_client = 0
        self._output_closed = Event()
        self._initializing: Child | None = None
        self._duplex: Duplex | None = None
        self._duplex_lock = Lock()
        self._unwritten = b""
        self._has_sent_rest = Event()
        self._passed_signals: set[int] = set()

    def run(self) -> int:
        """Pass lines until the server ends for good, and return its exit code.

        As in `subprocess`, a negative code is a signal: one that was passed on, and that the server died of.
        """
        self._start()
        while True:
            code = self._server.wait()
            self._leave_duplex()
            self._drain()
            if not self._restart or self._server.ending.is_set() or not self._is_restarted(code):
                break
        self._server.finish()
        if not self._server.ending.is_set():
            self._loader.client_spoke.wait(FIRST_LINE_WAIT)  # a client that has just started gets an answer
        is_used = self._loader.is_used
        is_wanted = self._server.ending.is_set()
        answers = b""
        if is_used:
            answers = self._restarts().answers(self._loader.runner, code, will_return=False, is_wanted=is_wanted)
        self._write_last(answers)
        fatal = self._server.child.fatal_signal
        return -fatal if fatal in self._passed_signals else code

    def _drain(self) -> None:
        """Let the last lines of the server pass; a client that wants to end has to read them."""
        before = self._bytes_to_client
        while not self._output_closed.wait(LAST_LINES_WAIT) and not self._loader.is_waiting_for_server:
            is_read = self._bytes_to_client != before or not self._client_lock.locked()
            if self._server.ending.is_set() and not is_read:
                return
            before = self._bytes_to_client

    def send_signal(self, number: int) -> None:
        """Pass a signal on to the server, without waiting for what becomes of it."""
        self._passed_signals.add(number)
        is_end = number in _ENDING_SIGNALS
        start_thread(self._server.end_with if is_end else self._server.child.send, number)

    def _leave_duplex(self) -> None:
        """Have each direction pass in its own thread from now on, so that others can write too."""
        with self._duplex_lock:
            if self._duplex is not None:
                self._duplex.stop()
                self._unwritten = self._duplex.take_unwritten()
                self._duplex = None

    def to_client(self, data: bytes) -> None:
        """Write to the client, after the rest of a line that it has in part; once nobody reads, the session ends."""
        duplex = self._duplex
        if duplex is not None:
            if duplex.write(data):
                return
            self._leave_duplex()
        with self._client_lock:
            data, self._unwritten = self._unwritten + data, b""
            for piece in split_pieces(data):
                taken = write_all(piece, self._target)
                self._bytes_to_client += taken
                if taken < len(piece):
                    break
            else:
                return
        self._server.hang_up(has_reader=False)

    def to_server(self, data: bytes, taken: int = 0, *, by: Child | None = None) -> None:
        """Write lines to the server; what a dying one did not take goes to its successor, or is answered at the end.

        A process may have *taken* some bytes of them already.
        """
        server, loader = self._server, self._loader
        if self._duplex is not None:
            self._leave_duplex()
        while True:
            with server.lock:
                child = server.child
                if child is not by:  # what another one took has its answer
                    data, taken, by = data[end_of_taken(data, taken) :], 0, child
                loader.note_all_sent()  # before: the server may act on a line, and die, before this thread goes on
                taken += write_all(data[taken:], child.stdin)
                if taken == len(data):
                    return
                loader.note_not_sent(data[end_of_taken(data, taken) :])
            if not self._restart or not server.wait_for_successor(child):
                return

    def send(self, data: bytes, request: "PendingRequest") -> None:
        """Write the line of a request that the proxy makes now, unless it has ended meanwhile."""
        server, duplex = self._server, self._duplex
        if duplex is not None:
            if duplex.send(data, request):
                return
            self._leave_duplex()
        self._has_sent_rest.wait()  # of a line that the server has begun to read
        while True:
            with server.lock:
                if request.is_ended or request.is_cancelled:
                    return
                child, request.is_sent = server.child, True
                if end_of_taken(data, write_all(data, child.stdin)):
                    return
                request.is_sent = False
            if not self._restart or not server.wait_for_successor(child):
                return

    def schedule(self, delay: float, action: Callable[[], object]) -> None:
        """Do something after so many seconds, unless the process ends before."""
        duplex = self._duplex
        if duplex is None or not duplex.schedule(delay, action):
            timer = Timer(delay, action)
            timer.daemon = True
            timer.start()

    def _start(self) -> None:
        loader, child = self._loader, self._server.child
        loader.up = Pump(self._source, loader.from_client, self.to_server, self._refuse_long)
        loader.down = Pump(child.stdout, loader.from_server, self.to_client, self._replace_long)
        client = client_outlet(self._target) if loader.is_lazy and is_stream(self._source) else None
        if client is None:
            self._has_sent_rest.set()
            loader.read_each_line()
            start_thread(self._up, loader.up)
            start_thread(self._down, child, loader.down, self._output_closed)
        else:
            server = server_outlet(child.stdin)
            self._duplex = Duplex(loader.up, loader.down, server=server, client=client, loader=loader)
            start_thread(self._pass_both, self._duplex, child, loader.up, loader.down)

    def _pass_both(self, duplex: Duplex, child: Child, up: Pump, down: Pump) -> None:
        closed = self._output_closed
        try:
            enlarge(child.stdout, self._target)
            duplex.run()
        finally:
            for delay, action in duplex.take_due():
                self.schedule(delay, action)
            start_thread(self._down, child, down, closed, lambda: self.to_client(b""))
            self._up(up, lambda: self._send_rest(duplex, child))

    def _send_rest(self, duplex: Duplex, child: Child) -> None:
        """Send what was not sent while both directions had one thread."""
        try:
            self.to_server(*duplex.take_unsent(), by=child)
        finally:
            self._has_sent_rest.set()
        for line, request in duplex.take_unsent_requests():
            self.send(line, request)

    def _up(self, up: Pump, begin: Callable[[], object] = lambda: None) -> None:
        loader = self._loader
        try:
            begin()
            rest = up.run()
            if rest:
                changed = loader.from_client(rest)
                self.to_server(rest if changed is None else changed)
        finally:
            loader.client_spoke.set()
            self._await_held_calls()
            self._server.hang_up()

    def _await_held_calls(self) -> None:
        """Wait until the calls that the proxy holds are sent: the client has said all, but it wants their answers."""
        server, loader = self._server, self._loader
        while loader.holds_calls and not server.ending.is_set() and not server.child.dead.is_set():
            server.ending.wait(_POLL_INTERVAL)

    def _start_down(self) -> None:
        child, self._output_closed = self._server.child, Event()
        self._loader.down = Pump(child.stdout, self._loader.from_server, self.to_client, self._replace_long)
        start_thread(self._down, child, self._loader.down, self._output_closed)

    def _down(self, child: Child, pump: Pump, closed: Event, begin: Callable[[], object] = lambda: None) -> None:
        try:
            enlarge(child.stdout, self._target)
            begin()
            rest = pump.run()
            os.close(child.stdout)
            if rest and self._loader.is_message(rest):
                rest += b"\n"  # or what comes next would stand on the same line
                changed = self._loader.from_server(rest)
                self.to_client(rest if changed is None else changed)
            elif rest:
                self._restarts().report_dropped(len(rest))
        finally:
            closed.set()
            while self._initializing is child:  # it will not answer any more, and another thread waits for that
                self._loader.runner.conversation.give_up_own_requests()
                sleep(_POLL_INTERVAL)
            self._server.end_silent(child)

    def _refuse_long(self, line: LongLine) -> bytes | None:
        """Answer a request that is too long, which the server does not get; None: whose it is is not known yet."""
        from failwell.proxy.stdio.long_lines import refusal  # only now: most sessions have none

        self._loader.client_spoke.set()
        answer = refusal(line, self._loader.runner)
        if answer:
            self.to_client(answer)
        return None if answer is None else b""

    def _replace_long(self, line: LongLine) -> bytes | None:
        """Return the error in place of an answer that is too long; None: whose it is is not known yet."""
        from failwell.proxy.stdio.long_lines import replacement  # only now: most sessions have none

        found = replacement(line, self._loader.runner.conversation)
        if found == b"":
            self._restarts().report_dropped(MAX_LINE)
        return found

    def _write_last(self, answers: bytes, *, until: Event | None = None) -> None:
        """Write to a client that may have stopped reading; wait for it a little, or *until* an event is set."""
        if answers:
            written = Event()
            start_thread(self._write_and_note, answers, written)
            while not written.wait(LAST_ANSWERS_WAIT) and until is not None and not until.is_set():
                continue

    def _write_and_note(self, answers: bytes, written: Event) -> None:
        self.to_client(answers)
        written.set()

    def _is_restarted(self, code: int) -> bool:
        """Answer the requests that were lost with the server, start it again and repeat the handshake."""
        from failwell.proxy.stdio.restarts import repeat_handshake  # only now: most servers outlive their clients

        server, restarts = self._server, self._restarts()
        delay = restarts.next_delay()
        if delay is None or server.ending.wait(delay):
            return False
        with server.lock:
            if server.ending.is_set():
                return False
            answers = restarts.answers(self._loader.runner, code, will_return=True)
            try:
                server.restart()
            except OSError:
                is_back = False
            else:
                is_back = True
                self._initializing = server.child
                self._start_down()
                repeat_handshake(self._loader.runner, server.child.stdin, number=restarts.count)
                self._initializing = None
        self._write_last(answers, until=server.ending if is_back else None)
        return is_back
