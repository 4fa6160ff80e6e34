"""`EffectRunner`: carries out what a `Conversation` wants, for the threads of one session on standard input and output.

The conversation is used by one thread at a time, which holds a lock. Messages are read and rewritten without it.
"""

import time
from collections.abc import Callable
from functools import partial
from itertools import count
from threading import Lock
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
from failwell.proxy.messages import Success

if TYPE_CHECKING:
    from failwell.event import Event

_SHORTEST_WATCH = 0.01

Schedule = Callable[[float, Callable[[], None]], object]
"""Runs something after so many seconds."""

Write = Callable[[bytes], object]
Send = Callable[[bytes, PendingRequest], object]
"""Sends a request to the server."""


class EffectRunner:
    """Gives lines to a conversation, and carries out their steps.

    Args:
        conversation: what is known of the client and the server.
        to_client: writes lines to the client.
        to_server: writes the line of a request to the server.
        report: gets each event.
        schedule: runs something later.
        clock: tells seconds.
        jitter: gives a number from 0 to 1; a random one by default.

    Attributes:
        lock: held by whoever uses the conversation.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        to_client: Write,
        to_server: Send,
        report: "Callable[[Event], object]",
        schedule: Schedule,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self.conversation = conversation
        self.lock = Lock()
        self._to_client = to_client
        self._to_server = to_server
        self._report = report
        self.clock = clock
        self._jitter = jitter
        self._schedule = schedule
        self._validates = conversation.settings.validates
        self._parked: dict[Steps, PendingRequest] = {}
        self._resumed = 0
        self._numbers = count(1)

    def from_client(self, line: bytes, sent_at: float | None = None) -> bytes | None:
        """Return what to send to the server in place of a line; None: pass it on. An empty text drops it.

        *sent_at* is when it was sent, if that was before.
        """
        right_call = self.conversation.find_right_call(line) if self._validates else None
        with self.lock:
            now = self.clock() if sent_at is None else sent_at
            found = self.conversation.from_client(line, now, right_call=right_call)
        if found is None:
            return None
        if isinstance(found, bytes):
            return _as_line(found)
        sent: list[bytes] = []

        def keep(line: bytes, request: PendingRequest) -> None:
            sent.append(line)
            with self.lock:
                self.conversation.note_unsent(request)

        self._run(found, to_server=keep)
        return b"".join(sent)

    def from_server(self, line: bytes, answer: Success | None = None) -> bytes | None:
        """Return what to send to the client in place of a line; None: pass it on. An empty text drops it.

        *answer* is what is known of the line already.
        """
        with self.lock:
            if answer is None:
                found = self.conversation.from_server(line, self.clock())
            else:
                is_failed, result = bool(answer.result.is_error), answer.result
                found = self.conversation.answer(answer.id, line, self.clock(), is_failed=is_failed, result=result)
        if found is None:
            return None
        if not isinstance(found, list):
            return _as_line(found) if isinstance(found, bytes) else self.collect(found)
        if all(what is None for _, what in found):
            return None
        kept = [
            one if what is None else what if isinstance(what, bytes) else self.collect(what).rstrip(b"\n")
            for one, what in found
        ]
        return b"[" + b",".join(one for one in kept if one) + b"]\n"

    def collect(self, steps: Steps, *, has_server: bool = True) -> bytes:
        """Carry out steps, and return the lines that the client gets now."""
        answers: list[bytes] = []
        self._run(steps, to_client=answers.append, has_server=has_server)
        return b"".join(answers)

    def watch_times(self) -> None:
        """Answer calls that take too long, from now on: no line may pass unread."""
        settings = self.conversation.settings
        shortest = min(one for one in (settings.timeout, settings.deadline) if one is not None)

        def watch() -> None:
            now = self.clock()
            with self.lock:
                late, next_end = self.conversation.late_calls(now)
                lines = {one.sent_as: self.conversation.cancellation(one) for one in late if one.is_sent}
            for request in late:
                with self.lock:
                    if request.is_answered:
                        continue
                    steps = self.conversation.time_out(request, now)
                if (line := lines.get(request.sent_as)) is not None:
                    self._to_server(_as_line(line), PendingRequest("", ""))
                self._run(steps)
            again = shortest if next_end is None else min(next_end - self.clock(), shortest)
            self._schedule(max(again, _SHORTEST_WATCH), watch)

        self._schedule(shortest, watch)

    def note_all_sent(self) -> None:
        """Note that the server may have all lines that were read so far."""
        with self.lock:
            self.conversation.note_all_sent()

    def note_not_sent(self, lines: bytes) -> None:
        """Note that the server has nothing of these lines."""
        with self.lock:
            self.conversation.note_not_sent(lines)

    def holds_calls(self) -> bool:
        """Return whether calls wait to be sent for the first time: for the list of tools, or for their turn."""
        with self.lock:
            held = (one for one in self._parked.values() if one.is_held and not one.is_answered)
            return self._resumed > 0 or any(not request.is_ended for request in held)

    def waiting(self) -> int:
        """Return how many calls wait for another try."""
        with self.lock:
            waiting = (one for one in self._parked.values() if one.is_held and one.is_answered)
            return sum(not request.is_cancelled for request in waiting)

    def give_up(self) -> bytes:
        """Return the last failures of the calls that wait for another try, as their answers."""
        answers: list[bytes] = []
        while self._parked:  # one that waited for the tools may want to wait for another try then
            with self.lock:
                parked, self._parked = self._parked, {}
            for steps in parked:
                self._run(steps, to_client=answers.append, to_server=_drop, result=False, has_server=False)
        return b"".join(answers)

    def _run(
        self,
        steps: Steps,
        *,
        to_client: Write | None = None,
        to_server: Send | None = None,
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
            if isinstance(effect, Compute):
                try:
                    result = effect.function()
                except Exception as exc:  # the conversation answers all the same
                    error = exc
            elif isinstance(effect, ToClient):
                (to_client or self._to_client)(_as_line(effect.data))
            elif isinstance(effect, ToServer):
                effect.request.tried = self.clock()
                (to_server or self._to_server)(_as_line(effect.data), effect.request)
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
        if isinstance(effect, ReportEvent):
            return self._report(effect.at(self.clock()))
        if isinstance(effect, AskLimits):
            return self._ask_limits(effect)
        if isinstance(effect, Succeeded):
            return effect.run.succeeded(self.clock())
        return None

    def _ask_limits(self, effect: AskLimits) -> Any:
        from random import random  # only now: most sessions need no limits

        from failwell.retry import settle

        return settle(effect.run, effect.step(self.clock(), (self._jitter or random)()))

    def _park(self, steps: Steps, request: PendingRequest) -> None:
        with self.lock:
            self._parked[steps] = request

    def _list_tools(self, steps: Steps, effect: ListTools, to_server: Send | None) -> bool:
        """Ask for the tools, unless that was done, and return whether steps wait: they go on, with the answer or not.

        With *to_server* the request goes where the call would have gone, after what the client sent before it.
        """
        with self.lock:
            listing = self.conversation.listing
            is_first = listing is None
            if listing is None:
                listing = self.conversation.listing = _Listing()
            elif listing.is_over:
                return False
            if effect.is_awaited:
                listing.waiting.append(steps)
        if effect.is_awaited:
            self._park(steps, effect.request)
        if is_first and to_server is not None:
            self._ask_for_tools(effect.request, listing, send=to_server)
        elif is_first:
            self._schedule(0.0, partial(self._ask_for_tools, effect.request, listing))
        if effect.is_awaited:
            self._schedule(effect.wait(self.clock()), partial(self._stop_waiting, steps, listing))
        return effect.is_awaited

    def _ask_for_tools(
        self, request: PendingRequest, listing: "_Listing", cursor: str | None = None, *, send: Send | None = None
    ) -> None:
        listing.pages += 1
        id = f"failwell-tools-{next(self._numbers)}"  # no client uses it
        own = PendingRequest(id, "", on_answer=lambda data: self._learn(request, listing, data))
        with self.lock:
            self.conversation.add(own)
        (send or self._to_server)(_as_line(self.conversation.list_request(request, id, cursor)), own)

    def _learn(self, request: PendingRequest, listing: "_Listing", data: bytes) -> None:
        """Learn a page of tools, while holding the lock."""
        cursor = self.conversation.learn(data, is_page=True)
        if cursor is not None and listing.pages < MAX_TOOL_PAGES:
            self._schedule(0.0, partial(self._ask_for_tools, request, listing, cursor))
            return
        listing.is_over = True
        waiting, listing.waiting = listing.waiting, []
        if not waiting and self.conversation.tools.is_empty and self.conversation.listing is listing:
            self.conversation.listing = None  # nobody waited in vain for it yet: who needs the tools asks again
        for steps in waiting:
            self._schedule(0.0, partial(self._resume, steps))

    def _stop_waiting(self, steps: Steps, listing: "_Listing") -> None:
        listing.is_over = True  # it is used as soon as it arrives, but no other call waits for it
        self._resume(steps)

    def _resume(self, steps: Steps) -> None:
        with self.lock:
            is_waiting = self._parked.pop(steps, None) is not None
            self._resumed += is_waiting
        if not is_waiting:
            return
        try:
            self._run(steps, result=True)
        finally:
            with self.lock:
                self._resumed -= 1


class _Listing:
    """The proxy's own request for the tools, and the steps that wait for it."""

    def __init__(self) -> None:
        self.waiting: list[Steps] = []
        self.pages = 0
        self.is_over = False


def _drop(line: bytes, request: PendingRequest) -> None:
    """Send a request to nobody."""


def _as_line(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"
