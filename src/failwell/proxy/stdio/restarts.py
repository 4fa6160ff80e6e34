"""When the server's process ends: what the client learns, whether to start it again, the repeated handshake."""

import os
import select
import time
from collections.abc import Callable
from threading import Event

from failwell._json import is_object
from failwell.proxy.messages import decoded, encode
from failwell.proxy.stdio.pump import taken_of
from failwell.proxy.stdio.tracker import PendingRequest, Tracker

_MOST_RESTARTS = 5
_WINDOW = 60.0
_LONGEST_DELAY = 5.0
_INTERNAL_ERROR = -32603
_CLIENT_PATIENCE = 1.0
_CHUNK = 1 << 16
_MOST_HELD = 1 << 20


class Restarts:
    """Counts how often a server dies, and answers the requests it took along.

    Args:
        dry_run: answer nothing.
        report: told of each death, with the exit code and the number of requests.
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

    def delay(self) -> float | None:
        """Return how long to wait before the server is started again; None: it dies too often."""
        now = self._clock()
        self.count += 1
        self._times = [*(at for at in self._times if at > now - _WINDOW), now]
        if len(self._times) > _MOST_RESTARTS:
            return None
        return 0.0 if len(self._times) == 1 else min(0.1 * 2.0 ** (len(self._times) - 2), _LONGEST_DELAY)

    def dropped(self, length: int) -> None:
        """Note that the server died in the middle of a line, which no client could read."""
        self._report("dropped", bytes=length)

    def answers(self, watch: Tracker, code: int, *, will_return: bool) -> bytes:
        """Return answers to all that the server took along, each as honest as can be.

        A call that the server got may have taken effect. What it did not get goes to its successor, if there is one.
        """
        taken = [asked for asked in list(watch.pending.values()) if asked.is_sent or not will_return]
        waiting = [] if will_return or not watch.has_settler else watch.settler.waiting()
        pending = len(taken) + len(waiting)
        if pending or code:
            self._report("restarted" if will_return else "died", exit_code=code, pending=pending)
        if self._dry_run:
            return b""
        found = [watch.settler.give_up(asked) for asked in waiting]
        for asked in taken:
            if will_return and asked.method == "initialize":
                continue
            id = asked.id if asked.sent_as is None else asked.sent_as
            if watch.take(id) is not None and asked.method:
                watch.answered(id)
                found.append(self._answer(watch, asked, code, will_return=will_return))
        return b"".join(found)

    def _answer(self, watch: Tracker, asked: PendingRequest, code: int, *, will_return: bool) -> bytes:
        how = f"with exit code {code}" if code <= 128 else f"by signal {code - 128}"
        message = f"The server ended {how} before it answered."
        if asked.tool:
            return watch.settler.died(asked, message, will_return=will_return)
        error = {"code": _INTERNAL_ERROR, "message": message, "data": {"exit_code": code}}
        return encode({"jsonrpc": "2.0", "id": asked.id, "error": error}) + b"\n"


_PATIENCE = 10.0


def repeat_handshake(watch: Tracker, stdin: int, *, number: int) -> None:
    """Send `initialize` again, what followed, and what was to last: the level of the log, and subscriptions.

    Ids are our own, so that the client does not see the answers. A client that still waits for its first answer gets
    this one. Servers since 2026-07-28 know no handshake.
    """
    if watch.handshake:
        line, *rest = watch.handshake
        if decoded(line)["id"] in watch.pending:
            taken_of(line, stdin)
            return
        shaken = Event()
        _ask(watch, stdin, line, f"failwell-handshake-{number}", shaken.set)
        shaken.wait(_PATIENCE)
        for line in rest:
            taken_of(line, stdin)
    for at, line in enumerate(list(watch.lasting.values())):
        _ask(watch, stdin, line, f"failwell-again-{number}-{at}", lambda: None)


def _ask(watch: Tracker, stdin: int, line: bytes, id: str, answered: Callable[[], None]) -> None:
    watch.pending[id] = PendingRequest(id, "", sent_as=id, give_up=answered)
    taken_of(encode({**decoded(line), "id": id}) + b"\n", stdin)


def refuse_client(sentence: str, *, source: int, target: int, patience: float = _CLIENT_PATIENCE) -> None:
    """Answer the first requests of a client with a JSON-RPC error that it can show; a silent one is not waited for."""
    held = b""
    until = time.monotonic() + patience
    while (left := until - time.monotonic()) > 0 and len(held) < _MOST_HELD:
        if not select.select([source], [], [], left)[0] or not (chunk := os.read(source, _CHUNK)):
            return
        held += chunk
        answers = b"".join(_refusal(line, sentence) for line in held.split(b"\n")[:-1])
        if answers:
            os.write(target, answers)
            return


def _refusal(line: bytes, sentence: str) -> bytes:
    message = decoded(line)
    if not is_object(message) or "method" not in message or message.get("id") is None:
        return b""
    error = {"code": _INTERNAL_ERROR, "message": f"failwell: {sentence}"}
    return encode({"jsonrpc": "2.0", "id": message["id"], "error": error}) + b"\n"
