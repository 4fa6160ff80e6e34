"""`EffectRunner`: carries out what a `Conversation` wants, for the threads of one session on standard input and output.

The conversation is used by one thread at a time, which holds a lock. Messages are read and rewritten without it.
"""

import random
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from failwell.proxy.bounds import MAX_TOOL_PAGES
from failwell.proxy.conversation import (
    AskLimits,
    Compute,
    Conversation,
    Effect,
    ListTools,
    PendingRequest,
    ReportEvent,
    Sleep,
    Steps,
    Succeeded,
    ToClient,
    ToServer,
)

if TYPE_CHECKING:
    from failwell.event import Event

Schedule = Callable[[float, Callable[[], None]], object]
"""Runs something after so many seconds."""

Write = Callable[[bytes], object]


def schedule(delay: float, action: Callable[[], None]) -> None:
    """Run something after so many seconds, unless the process ends before."""
    timer = Timer(delay, action)
    timer.daemon = True
    timer.start()


class EffectRunner:
    """Gives lines to a conversation, and carries out their steps.

    Args:
        conversation: what is known of the client and the server.
        to_client: writes lines to the client.
        to_server: writes lines to the server.
        report: gets each event.
        clock: tells seconds.
        jitter: gives a number from 0 to 1.
        schedule: runs something later.

    Attributes:
        lock: held by whoever uses the conversation.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        to_client: Write,
        to_server: Write,
        report: "Callable[[Event], object]",
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        schedule: Schedule = schedule,
    ) -> None:
        self.conversation = conversation
        self.lock = Lock()
        self._to_client = to_client
        self._to_server = to_server
        self._report = report
        self._clock = clock
        self._jitter = jitter
        self._schedule = schedule
        self._parked: dict[Steps, PendingRequest] = {}
        self._numbers = count(1)

    def from_client(self, line: bytes) -> bytes | None:
        """Return what to send to the server in place of a line; None: pass it on. An empty text drops it."""
        with self.lock:
            found = self.conversation.from_client(line, self._clock())
        if found is None:
            return None
        if isinstance(found, bytes):
            return _as_line(found)
        sent: list[bytes] = []
        self._run(found, to_server=sent.append)
        return b"".join(sent)

    def from_server(self, line: bytes) -> bytes | None:
        """Return what to send to the client in place of a line; None: pass it on. An empty text drops it."""
        with self.lock:
            found = self.conversation.from_server(line, self._clock())
        if found is None:
            return None
        if not isinstance(found, list):
            return self._answered(found)
        if all(what is None for _, what in found):
            return None
        kept = [one if what is None else self._answered(what).rstrip(b"\n") for one, what in found]
        return b"[" + b",".join(one for one in kept if one) + b"]\n"

    def _answered(self, found: bytes | Steps) -> bytes:
        return _as_line(found) if isinstance(found, bytes) else self.collect(found)

    def collect(self, steps: Steps, *, has_server: bool = True) -> bytes:
        """Carry out steps, and return the lines that the client gets now."""
        answers: list[bytes] = []
        self._run(steps, to_client=answers.append, has_server=has_server)
        return b"".join(answers)

    def note_all_sent(self) -> None:
        """Note that the server has all lines that were read so far."""
        with self.lock:
            self.conversation.note_all_sent()

    def note_only_sent(self, lines: bytes) -> None:
        """Note that the server has these lines, and none of the others that were read."""
        with self.lock:
            self.conversation.note_only_sent(lines)

    def waiting(self) -> int:
        """Return how many calls wait for another try."""
        with self.lock:
            waiting = (one for one in self._parked.values() if one.is_held and one.is_answered)
            return sum(not request.is_cancelled for request in waiting)

    def give_up(self) -> bytes:
        """Return the last failures of the calls that wait for another try, as their answers."""
        with self.lock:
            parked, self._parked = self._parked, {}
        answers: list[bytes] = []
        for steps in parked:
            self._run(steps, to_client=answers.append, to_server=lambda _: None, result=False, has_server=False)
        return b"".join(answers)

    def _run(
        self,
        steps: Steps,
        *,
        to_client: Write | None = None,
        to_server: Write | None = None,
        result: Any = None,
        has_server: bool = True,
    ) -> None:
        """Carry out steps until they end, or have to wait: what they send after that is written at once."""
        error: Exception | None = None
        while True:
            try:
                with self.lock:
                    effect = steps.send(result) if error is None else steps.throw(error)
            except StopIteration:
                return
            result = error = None
            if isinstance(effect, ToClient):
                (to_client or self._to_client)(_as_line(effect.data))
            elif isinstance(effect, ToServer):
                (to_server or self._to_server)(_as_line(effect.data))
            elif isinstance(effect, Sleep):
                self._park(steps, effect.request)
                self._schedule(effect.seconds, partial(self._resume, steps))
                return
            elif isinstance(effect, ListTools):
                if has_server and self._list_tools(steps, effect, to_server):
                    return
            else:
                try:
                    result = self._carry_out(effect)
                except Exception as exc:  # the conversation answers all the same
                    error = exc

    def _carry_out(self, effect: Effect) -> Any:
        if isinstance(effect, Compute):
            return effect.function()
        if isinstance(effect, ReportEvent):
            return self._report(effect.event)
        if isinstance(effect, AskLimits):
            return self._ask_limits(effect)
        if isinstance(effect, Succeeded):
            return effect.run.succeeded(self._clock())
        return None

    def _ask_limits(self, effect: AskLimits) -> Any:
        from failwell.retry import settle  # only now: most sessions need no limits

        return settle(effect.run, effect.step(self._clock(), self._jitter()))

    def _park(self, steps: Steps, request: PendingRequest) -> None:
        with self.lock:
            self._parked[steps] = request

    def _list_tools(self, steps: Steps, effect: ListTools, to_server: Write | None) -> bool:
        """Ask for the tools, unless that was done, and have steps go on with the answer or without it.

        With *to_server* the request goes where the call would have gone, after what the client sent before it.
        """
        with self.lock:
            listing = self.conversation.listing
            if listing is None:
                listing = self.conversation.listing = _Listing()
            elif listing.is_over:
                return False
            listing.waiting.append(steps)
            is_first = len(listing.waiting) == 1
        self._park(steps, effect.request)
        if is_first and to_server is not None:
            self._ask_for_tools(effect.request, listing, write=to_server)
        elif is_first:
            self._schedule(0.0, partial(self._ask_for_tools, effect.request, listing))
        self._schedule(effect.wait(self._clock()), partial(self._stop_waiting, steps, listing))
        return True

    def _ask_for_tools(
        self, request: PendingRequest, listing: "_Listing", cursor: str | None = None, *, write: Write | None = None
    ) -> None:
        listing.pages += 1
        id = f"failwell-tools-{next(self._numbers)}"  # no client uses it
        with self.lock:
            self.conversation.add(PendingRequest(id, "", on_answer=lambda data: self._learn(request, listing, data)))
        (write or self._to_server)(_as_line(self.conversation.list_request(request, id, cursor)))

    def _learn(self, request: PendingRequest, listing: "_Listing", data: bytes) -> None:
        """Learn a page of tools, while holding the lock."""
        cursor = self.conversation.learn(data, is_page=True)
        if cursor is not None and listing.pages < MAX_TOOL_PAGES:
            self._schedule(0.0, partial(self._ask_for_tools, request, listing, cursor))
            return
        listing.is_over = True
        for steps in listing.waiting:
            self._schedule(0.0, partial(self._resume, steps))

    def _stop_waiting(self, steps: Steps, listing: "_Listing") -> None:
        listing.is_over = True  # it is used as soon as it arrives, but no other call waits for it
        self._resume(steps)

    def _resume(self, steps: Steps) -> None:
        with self.lock:
            is_waiting = self._parked.pop(steps, None) is not None
        if is_waiting:
            self._run(steps, result=True)


class _Listing:
    """The proxy's own request for the tools, and the steps that wait for it."""

    def __init__(self) -> None:
        self.waiting: list[Steps] = []
        self.pages = 0
        self.is_over = False


def _as_line(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"
