"""`Restarts`: what to answer when the server's process ends, when to start it again, and the repeated handshake."""

import os
import select
import time
from collections.abc import Callable
from threading import Event

from failwell._json import is_object
from failwell.phrases.rpc_codes import INTERNAL_ERROR
from failwell.proxy.bounds import (
    HANDSHAKE_TIMEOUT,
    MAX_REFUSED_INPUT,
    MAX_RESTART_DELAY,
    MAX_RESTARTS,
    REFUSAL_WAIT,
    RESTART_WINDOW,
)
from failwell.proxy.messages import decode, encode
from failwell.proxy.stdio.pump import write_all
from failwell.proxy.stdio.tracker import PendingRequest, Tracker

_CHUNK = 1 << 16


class Restarts:
    """Counts how often a server dies, and answers the requests that were lost with it.

    Args:
        dry_run: answer nothing.
        report: gets the kind of each event and its details: the exit code, and the number of requests.
        clock: tells seconds.
    """

    def __init__(
        self,
        *,
        dry_run: bool = False,
        report: Callable[..., object] = lambda *_, **__: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.count = 0
        self._times: list[float] = []
        self._dry_run = dry_run
        self._report = report
        self._clock = clock

    def next_delay(self) -> float | None:
        """Return how long to wait before the server is started again; None: it dies too often."""
        now = self._clock()
        self.count += 1
        self._times = [*(at for at in self._times if at > now - RESTART_WINDOW), now]
        if len(self._times) > MAX_RESTARTS:
            return None
        return 0.0 if len(self._times) == 1 else min(0.1 * 2.0 ** (len(self._times) - 2), MAX_RESTART_DELAY)

    def report_dropped(self, length: int) -> None:
        """Report that the server died in the middle of a line, which no client could read."""
        self._report("dropped", bytes=length)

    def answers(self, tracker: Tracker, code: int, *, will_return: bool) -> bytes:
        """Return answers to all requests that were lost with the server.

        A call that the server got may have taken effect. What it did not get goes to its successor, if there is one.
        """
        lost = [request for request in list(tracker.pending.values()) if request.is_sent or not will_return]
        waiting = [] if will_return or not tracker.has_handler else tracker.handler.waiting()
        pending = len(lost) + len(waiting)
        if pending or code:
            self._report("restarted" if will_return else "died", exit_code=code, pending=pending)
        if self._dry_run:
            return b""
        answers = [tracker.handler.give_up(request) for request in waiting]
        for request in lost:
            if will_return and request.method == "initialize":
                continue
            id = request.id if request.sent_as is None else request.sent_as
            if tracker.take(id) is not None and request.method:
                tracker.note_answered(id)
                answers.append(self._answer(tracker, request, code, will_return=will_return))
        return b"".join(answers)

    def _answer(self, tracker: Tracker, request: PendingRequest, code: int, *, will_return: bool) -> bytes:
        how = f"with exit code {code}" if code <= 128 else f"by signal {code - 128}"
        message = f"The server ended {how} before it answered."
        if request.tool:
            return tracker.handler.answer_lost(request, message, will_return=will_return)
        error = {"code": INTERNAL_ERROR, "message": message, "data": {"exit_code": code}}
        return encode({"jsonrpc": "2.0", "id": request.id, "error": error}) + b"\n"


def repeat_handshake(tracker: Tracker, stdin: int, *, number: int) -> None:
    """Send `initialize` again, the notification that followed, the level of the log, and the subscriptions.

    Ids are our own, so that the client does not see the answers. A client that still waits for its first answer gets
    this one. Servers since 2026-07-28 know no handshake.
    """
    if tracker.handshake:
        line, *rest = tracker.handshake
        if decode(line)["id"] in tracker.pending:
            write_all(line, stdin)
            return
        answered = Event()
        _request(tracker, stdin, line, f"failwell-handshake-{number}", answered.set)
        answered.wait(HANDSHAKE_TIMEOUT)
        for line in rest:
            write_all(line, stdin)
    for at, line in enumerate(list(tracker.lasting.values())):
        _request(tracker, stdin, line, f"failwell-again-{number}-{at}", lambda: None)


def _request(tracker: Tracker, stdin: int, line: bytes, id: str, on_answer: Callable[[], None]) -> None:
    tracker.pending[id] = PendingRequest(id, "", sent_as=id, give_up=on_answer)
    write_all(encode({**decode(line), "id": id}) + b"\n", stdin)


def refuse_client(sentence: str, *, source: int, target: int, patience: float = REFUSAL_WAIT) -> None:
    """Answer the first requests of a client with a JSON-RPC error that it can show; do not wait for a silent one."""
    held = b""
    until = time.monotonic() + patience
    while (left := until - time.monotonic()) > 0 and len(held) < MAX_REFUSED_INPUT:
        if not select.select([source], [], [], left)[0] or not (chunk := os.read(source, _CHUNK)):
            return
        held += chunk
        answers = b"".join(_refusal(line, sentence) for line in held.split(b"\n")[:-1])
        if answers:
            os.write(target, answers)
            return


def _refusal(line: bytes, sentence: str) -> bytes:
    message = decode(line)
    if not is_object(message) or "method" not in message or message.get("id") is None:
        return b""
    error = {"code": INTERNAL_ERROR, "message": f"failwell: {sentence}"}
    return encode({"jsonrpc": "2.0", "id": message["id"], "error": error}) + b"\n"
