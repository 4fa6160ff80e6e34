"""`Restarts`: what to answer when the server's process ends, when to start it again, and the repeated handshake."""

import os
import select
import time
from collections.abc import Callable
from threading import Event
from typing import Any

from failwell._json import is_object
from failwell.proxy.bounds import (
    HANDSHAKE_TIMEOUT,
    MAX_REFUSED_INPUT,
    MAX_RESTART_DELAY,
    MAX_RESTARTS,
    REFUSAL_WAIT,
    RESTART_WINDOW,
)
from failwell.proxy.conversation import PendingRequest
from failwell.proxy.messages import decode, encode
from failwell.proxy.stdio.effects import EffectRunner
from failwell.proxy.stdio.pump import write_all

_CHUNK = 1 << 16
# The next step after a call that the server did not get, by whether the server is started again.
_SUGGESTIONS = {
    True: "Make the same call again.",
    False: "Connect again, then make the same call again.",
}


class Restarts:
    """Counts how often a server dies, and answers the requests that were lost with it.

    Args:
        dry_run: answer no request that the server did not answer.
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

    def answers(self, runner: EffectRunner, code: int, *, will_return: bool, is_wanted: bool = False) -> bytes:
        """Return answers to all requests that were lost with the server.

        A call that the server got may have taken effect. What it did not get goes to its successor, if there is one. A
        server that ended because its client or the operator wanted it to (*is_wanted*) did not die.
        """
        with runner.lock:
            pending = list(runner.conversation.pending.values())
        lost = [request for request in pending if request.is_sent or not will_return]
        count = sum(bool(request.method) for request in lost) + (0 if will_return else runner.waiting())
        if (count or code) and not is_wanted:
            self._report("restarted" if will_return else "died", exit_code=code, pending=count)
        answers = b"" if will_return else runner.give_up()
        if self._dry_run:
            return answers  # the server's own, which waited for the list of tools
        for request in lost:
            if not (will_return and request.method == "initialize"):
                answers += self._answer(runner, request, code, will_return=will_return)
        return answers

    def _answer(self, runner: EffectRunner, request: PendingRequest, code: int, *, will_return: bool) -> bytes:
        """Return the answer to a request that was lost; nothing if it got one meanwhile, as when it took too long."""
        how = f"with exit code {code}" if code <= 128 else f"by signal {code - 128}"
        message = f"The server ended {how} before it answered."
        with runner.lock:
            if request.is_answered:
                return b""
            if not request.tool:
                runner.conversation.lose(request)
                if request.on_answer is not None:
                    request.on_answer(b"")
                    return b""
                return _error(request.id, message, data={"exit_code": code})
            from failwell.proxy.failures import CONNECTION_LOST  # only now: most sessions end without a lost call

            failure = CONNECTION_LOST.replace(
                message=message,
                outcome="unknown" if request.is_sent else "not_executed",
                suggestion=None if request.is_sent else _SUGGESTIONS[will_return],
            )
            steps = runner.conversation.fail(request, failure, is_final=not will_return)
        return runner.collect(steps, has_server=False)


def repeat_handshake(runner: EffectRunner, stdin: int, *, number: int) -> None:
    """Send `initialize` again, the notification that followed, the level of the log, and the subscriptions.

    Ids are our own, so that the client does not see the answers. A client that still waits for its first answer gets
    this one. Servers since 2026-07-28 know no handshake.
    """
    conversation = runner.conversation
    with runner.lock:
        handshake, lasting = list(conversation.handshake), list(conversation.lasting.values())
        is_awaited = bool(handshake) and decode(handshake[0])["id"] in conversation.pending
    if handshake:
        line, *rest = handshake
        if is_awaited:
            write_all(line, stdin)
            return
        answered = Event()
        _request(runner, stdin, line, f"failwell-handshake-{number}", lambda _: answered.set())
        answered.wait(HANDSHAKE_TIMEOUT)
        for line in rest:
            write_all(line, stdin)
    for at, line in enumerate(lasting):
        _request(runner, stdin, line, f"failwell-again-{number}-{at}", lambda _: None)


def _request(runner: EffectRunner, stdin: int, line: bytes, id: str, on_answer: Callable[[bytes], object]) -> None:
    with runner.lock:
        runner.conversation.add(PendingRequest(id, "", is_sent=True, on_answer=on_answer))
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
    return _error(message["id"], f"failwell: {sentence}")


def _error(id: Any, message: str, **more: Any) -> bytes:
    from failwell.phrases.rpc_codes import INTERNAL_ERROR  # only now: most sessions end without an error

    error = {"code": INTERNAL_ERROR, "message": message, **more}
    return encode({"jsonrpc": "2.0", "id": id, "error": error}) + b"\n"
