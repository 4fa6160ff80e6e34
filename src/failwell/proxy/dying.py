"""`Deaths`: what the client learns when the server's process ends, and when it is worth starting it again."""

import time
from collections.abc import Callable

from failwell.proxy.glances import encode
from failwell.proxy.watching import Asked, Watch

_MOST = 5
_WINDOW = 60.0
_LONGEST_DELAY = 5.0
_INTERNAL_ERROR = -32603


class Deaths:
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
        if len(self._times) > _MOST:
            return None
        return 0.0 if len(self._times) == 1 else min(0.1 * 2.0 ** (len(self._times) - 2), _LONGEST_DELAY)

    def dropped(self, length: int) -> None:
        """Note that the server died in the middle of a line, which no client could read."""
        self._report("dropped", bytes=length)

    def answers(self, watch: Watch, code: int, *, will_return: bool) -> bytes:
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

    def _answer(self, watch: Watch, asked: Asked, code: int, *, will_return: bool) -> bytes:
        how = f"with exit code {code}" if code <= 128 else f"by signal {code - 128}"
        message = f"The server ended {how} before it answered."
        if asked.tool:
            return watch.settler.died(asked, message, will_return=will_return)
        error = {"code": _INTERNAL_ERROR, "message": message, "data": {"exit_code": code}}
        return encode({"jsonrpc": "2.0", "id": asked.id, "error": error}) + b"\n"
