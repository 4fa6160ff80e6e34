"""`Tracker`: which requests between a client and a server are pending. It does no input or output and has no clock.

Most lines are decoded no further than their id and method. Whatever fails, or must be read in full, goes to a
`FailureHandler`, which is made when it is first needed: most sessions never load what it needs.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.proxy.bounds import (
    MAX_ANSWERED_IDS,
    MAX_KEPT_CALLS,
    MAX_PENDING,
    MAX_RETRIED_CALL,
    MAX_SUBSCRIPTIONS,
    MAX_UNREAD_ANSWERS,
    MAX_UNREAD_LENGTH,
    MAX_UNREAD_REQUESTS,
)
from failwell.proxy.calls import ListedTools
from failwell.proxy.messages import (
    UNREADABLE,
    Id,
    Params,
    decode_all_sent,
    decode_line,
    decode_success,
    decode_successes,
    encode,
    glance_at_client,
    glance_at_server,
    glance_loosely,
)
from failwell.proxy.stdio.pump import split_lines
from failwell.proxy.summary import counted_name

if TYPE_CHECKING:
    from failwell.proxy.stdio.failures import FailureHandler

# Their effect lasts until the server ends, so they are repeated after a restart.
_LASTING_METHODS = frozenset(("logging/setLevel", "resources/subscribe", "resources/unsubscribe"))


class PendingRequest(Struct, eq=False):
    """A request that the server has not answered yet.

    `line` is what the client sent, unless it is too long to be kept. `sent_as` is the id that the server knows it by if
    it was sent again, `run` counts its attempts, `give_up` returns its last failure as its answer. `is_sent` says that
    the server has all of it. A request of the proxy itself has no method, and `give_up` is called when it is answered.
    """

    id: Id
    method: str
    tool: str = ""
    line: bytes | None = None
    is_page: bool = False
    is_sent: bool = False
    is_cancelled: bool = False
    sent_as: Id | None = None
    run: Any = None
    give_up: Callable[[], bytes | None] | None = None


class Tracker:
    """Knows which requests are pending, which of them are calls, and which tools there are.

    Args:
        make_handler: makes the `FailureHandler`, the first time it is needed.
        answer: sends the client an answer to a call that is not passed on.
        reads_calls: each call must be read before it is sent: arguments are checked, or calls are retried.
        reads_successes: answers that are not flagged may be failures too.

    Attributes:
        handshake: the client's `initialize`, and its notification that it is initialized.
        lasting: the log level (under None) and the subscriptions (under their URI) that the client request for.
    """

    def __init__(
        self,
        make_handler: "Callable[[Tracker], FailureHandler]",
        answer: Callable[[bytes], object],
        *,
        reads_calls: bool = False,
        reads_successes: bool = False,
    ) -> None:
        self.pending: dict[Id, PendingRequest] = {}
        self.tools = ListedTools()
        self.calls: dict[str, int] = {}
        self.handshake: list[bytes] = []
        self.lasting: dict[str | None, bytes] = {}
        self.answered_ids: set[Id] = set()
        self._recently_answered: set[Id] = set()
        self._cancelled: dict[Id, PendingRequest] = {}
        self._unsent: deque[PendingRequest] = deque()
        self._make_handler = make_handler
        self._answer = answer
        self._handler: FailureHandler | None = None
        self._reads_calls = reads_calls
        self.reads_successes = reads_successes

    @property
    def handler(self) -> "FailureHandler":
        """The handler of failures."""
        if self._handler is None:
            self._handler = self._make_handler(self)
        return self._handler

    @property
    def has_handler(self) -> bool:
        """Whether anything has failed, or had to be read in full."""
        return self._handler is not None

    def from_client(self, line: bytes) -> bytes | None:
        """Return what to send to the server in place of a line; None: pass it on. An empty text drops it."""
        message = glance_at_client(line)
        is_exact = message is not None
        message = message or glance_loosely(line)
        if message is None:
            self._read_odd_from_client(line)
            return None
        id, method, params = message.id, message.method, message.params
        if method is None:
            return None
        if id is None:
            return self._read_client_notification(method, params, line)
        if method == "tools/call" and params is not None and params.name is not None:
            # What is encoded again must mean the same, and what is kept for many calls must be short.
            is_kept = is_exact and len(line) <= MAX_RETRIED_CALL and len(line) * len(self.pending) <= MAX_KEPT_CALLS
            return self._read_call(PendingRequest(id, method, params.name, line if is_kept else None))
        if method in _LASTING_METHODS:
            self._remember_lasting(method, line)
        is_first = method == "initialize"
        if is_first and len(line) <= MAX_RETRIED_CALL:
            self.handshake = [line]
        is_page = params is not None and params.has_cursor
        self._remember(PendingRequest(id, method, line=line if is_first else None, is_page=is_page))
        return None

    def from_server(self, line: bytes) -> bytes | None:
        """Return what to send to the client in place of a line; None: pass it on. An empty text drops it."""
        message = glance_at_server(line)
        if message is None:
            return self._read_odd_from_server(line)
        if message.method is not None:
            return self._read_server_notification(message.method, line)
        if message.id is None:
            return self._redacted(None, line) if message.is_failed else None
        return self._read_answer(message.id, line, is_failed=message.is_failed)

    @staticmethod
    def is_message(line: bytes) -> bool:
        """Return whether a line without its end is a whole message."""
        return decode_line(line) is not None or glance_at_server(line) is not None

    def count(self, tool: str) -> None:
        """Count a call."""
        known = self.calls.get(tool)
        if known is None:
            tool = counted_name(tool, self.calls)
            known = self.calls.get(tool, 0)
        self.calls[tool] = known + 1

    def take(self, id: Id) -> PendingRequest | None:
        """Return a pending request and forget it."""
        return self.pending.pop(id, None)

    def cancel(self, id: Id) -> bool:
        """Note that nobody waits for the answer to a request any more: one that comes all the same passes, once."""
        request = self.pending.pop(id, None)
        if request is None:
            return False
        request.is_cancelled = True
        self._cancelled[id] = request
        if len(self._cancelled) > MAX_PENDING:
            self._cancelled.pop(next(iter(self._cancelled)))
        return True

    def give_up_own_requests(self) -> None:
        """Let go whoever waits for the answer to a request of the proxy itself."""
        for request in list(self.pending.values()):
            if not request.method and request.give_up is not None:
                request.give_up()

    def _read_call(self, request: PendingRequest) -> bytes | None:
        self.count(request.tool)
        self._remember(request)
        if not self._reads_calls or (refusal := self.handler.refusal(request)) is None:
            return None
        self.pending.pop(request.id, None)
        with suppress(ValueError):  # another line was sent meanwhile
            self._unsent.remove(request)
        self._answer(refusal)
        return b""

    def _remember(self, request: PendingRequest) -> None:
        pending = self.pending
        if len(pending) >= MAX_PENDING:
            with suppress(RuntimeError, StopIteration):  # answers took some out meanwhile, which makes room too
                pending.pop(next(iter(pending)), None)
        pending[request.id] = request
        self._unsent.append(request)
        self._cancelled.pop(request.id, None)
        self.answered_ids.discard(request.id)
        self._recently_answered.discard(request.id)

    def resend(self, request: PendingRequest, id: Id) -> None:
        """Note that a request is about to be sent again, under another id."""
        request.sent_as, request.is_sent = id, False
        self.pending[id] = request
        self._unsent.append(request)

    def note_all_sent(self) -> None:
        """Note that the server has all lines that were read so far."""
        while self._unsent:
            self._unsent.popleft().is_sent = True

    def note_only_sent(self, lines: bytes) -> None:
        """Note that the server has these lines, and none of the others that were read."""
        for line in lines.splitlines():
            message = decode_line(line)
            if message is None and (glance := glance_at_client(line)) is not None:
                message = {"id": glance.id}
            for one in message if is_array(message) else (message,):
                id: Any = one.get("id") if is_object(one) else None
                if _is_id(id) and (request := self.pending.get(id)) is not None:
                    request.is_sent = True

    def _read_client_notification(self, method: str, params: Params | None, line: bytes) -> bytes | None:
        if method == "notifications/initialized":
            self.handshake = [*self.handshake[:1], line]
        elif method == "notifications/cancelled" and params is not None and params.request_id is not None:
            changed = self._handler.cancel(params.request_id, line) if self._handler is not None else None
            if changed is not None:
                return changed
            self.cancel(params.request_id)
        return None

    def _remember_lasting(self, method: str, line: bytes) -> None:
        message = decode_line(line)
        params = message.get("params") if is_object(message) else None
        uri = params.get("uri") if is_object(params) else None
        key = uri if isinstance(uri, str) else None
        self.lasting.pop(key, None)
        if (
            method != "resources/unsubscribe"
            and len(self.lasting) < MAX_SUBSCRIPTIONS
            and len(line) <= MAX_UNREAD_LENGTH
        ):
            self.lasting[key] = line

    def _read_server_notification(self, method: str, line: bytes) -> bytes | None:
        if method == "notifications/tools/list_changed":
            self.tools.forget()
        elif method == "notifications/progress" and self._handler is not None:
            return self._handler.filter_progress(line)
        return None

    def _read_answer(self, id: Id, line: bytes, *, is_failed: bool) -> bytes | None:
        request = self.pending.pop(id, None) or self._cancelled.pop(id, None)
        if request is None:
            return b"" if id in self.answered_ids else self._redacted(id, line) if is_failed else None
        self.note_answered(id)
        if request.tool:
            if is_failed or self.reads_successes or request.run is not None:
                return self.handler.answer(request, line)
        elif request.method == "tools/list" and not is_failed:
            self._read_tools(request, line)
        elif not request.method and request.give_up is not None:
            request.give_up()
            return b""  # the answer to a request of the proxy itself
        return self._redacted(id, line) if is_failed else None

    def _redacted(self, id: Id | None, line: bytes) -> bytes | None:
        return self.handler.redacted(id, line)

    def note_answered(self, id: Id) -> None:
        """Note that a request has its answer: another one is dropped."""
        known, recent = self.answered_ids, self._recently_answered
        known.add(id)
        recent.add(id)
        if len(recent) >= MAX_ANSWERED_IDS:
            known.clear()
            known.update(recent)
            recent.clear()

    def note_passed(self, id: Id, *, is_requested: bool) -> None:
        """Note that an answer has passed of which only the id was read."""
        if self.pending.pop(id, None) or self._cancelled.pop(id, None) or is_requested:
            self.note_answered(id)
        else:
            self.answered_ids.discard(id)  # nobody requested it: another answer passes too

    def _read_tools(self, request: PendingRequest, line: bytes) -> None:
        message = decode_line(line)
        result = message.get("result") if is_object(message) else None
        if is_object(result):
            self.tools.learn(result, is_whole=not request.is_page and result.get("nextCursor") is None)

    def _read_odd_from_client(self, line: bytes) -> None:
        """Read a line whose parts are not what they should be, and each message of a batch."""
        message = decode_line(line)
        for one in message if is_array(message) else (message,):
            if not is_object(one) or not isinstance(one.get("method"), str) or not _is_id(one.get("id")):
                continue
            request = PendingRequest(one["id"], one["method"])
            params = one.get("params")
            if request.method == "tools/call" and is_object(params) and isinstance(params.get("name"), str):
                request.tool, request.line = params["name"], encode(one)
                self.count(request.tool)
            self._remember(request)

    def _read_odd_from_server(self, line: bytes) -> bytes | None:
        message = decode_line(line)
        if message is None:
            return self._read_unreadable(line)
        if not is_array(message):
            return self._read_odd_answer(message, line)
        found = [self._read_odd_answer(one, encode(one) + b"\n") for one in message]
        if all(one is None for one in found):
            return None
        kept = (encode(one) if new is None else new.rstrip(b"\n") for one, new in zip(message, found, strict=True))
        return b"[" + b",".join(one for one in kept if one) + b"]\n"

    def _read_unreadable(self, line: bytes) -> bytes | None:
        """Read an answer that is too deep or too long, as far as its ends tell whose it is."""
        from failwell.proxy.long_messages import id_in  # only now: it is seldom needed

        id = id_in(line)
        request = None if id is None else self.pending.get(id)
        if id is None or request is None or not request.tool:
            return None
        return self._read_answer(id, line, is_failed=True)

    def _read_odd_answer(self, message: Any, line: bytes) -> bytes | None:
        if not is_object(message) or "method" in message or not _is_id(message.get("id")):
            return None
        result = message.get("result")
        is_failed = "error" in message or (is_object(result) and result.get("isError") is True)
        return self._read_answer(message["id"], line, is_failed=is_failed)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


class LazyTracker:
    """Passes most lines unread, and has the tracker read them later, since most calls succeed.

    It stands before a `Tracker` that changes nothing on the way to the server. Requests are kept unread. An answer
    passes if it is the first to its id and a success that nothing can be learnt from: which request it answers does not
    matter then. Anything else is read in full, after all that was kept. Right after a process was woken each step takes
    several times as long as in a loop, so little is done then.
    """

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        self._unread: deque[bytes | Id] = deque()
        self._max_unread = -1 if tracker.reads_successes else MAX_UNREAD_ANSWERS
        self._answered = tracker.answered_ids
        self._lock = Lock()

    def note_sent(self, lines: bytes) -> None:
        """Note lines that were sent to the server unread."""
        unread = self._unread
        if len(unread) > MAX_UNREAD_REQUESTS:
            self.catch_up()
        unread.append(lines)
        if len(lines) > MAX_UNREAD_LENGTH:
            self.catch_up()

    def passes(self, lines: bytes) -> bool:
        """Return whether lines from the server pass unread, and note that they do."""
        try:
            answer = decode_success(lines)
        except UNREADABLE:
            return self._pass_together(lines)
        id = answer.id
        if id in self._answered or answer.result.is_error or len(self._unread) > self._max_unread:
            return False
        self._answered.add(id)
        self._unread.append(id)
        return True

    def _pass_together(self, lines: bytes) -> bool:
        if lines.find(b"\n") + 1 == len(lines):
            return False
        try:
            answers = decode_successes(lines)
        except UNREADABLE:
            return False
        ids = {answer.id for answer in answers if not answer.result.is_error}
        if len(ids) < len(answers) or len(self._unread) > self._max_unread or not ids.isdisjoint(self._answered):
            return False
        self._answered |= ids
        self._unread.extend(ids)
        return True

    def from_server(self, line: bytes) -> bytes | None:
        """Return what `Tracker.from_server` returns."""
        if self.passes(line):
            return None
        self.catch_up()
        return self._tracker.from_server(line)

    def catch_up(self) -> None:
        """Have the tracker read all that has passed."""
        unread, tracker = self._unread, self._tracker
        with self._lock:
            answered = {one for one in tuple(unread) if not isinstance(one, bytes)}
            counted: set[Id] = set()
            while unread:
                one = unread[0]
                if isinstance(one, bytes):
                    for line in self._unanswered(one, answered, counted):
                        tracker.from_client(line)
                    tracker.note_all_sent()
                else:
                    tracker.note_passed(one, is_requested=one in counted)
                    answered.discard(one)
                unread.popleft()

    def _unanswered(self, lines: bytes, answered: set[Id], counted: set[Id]) -> list[bytes]:
        """Return the lines that must be read; a call that is answered later on is only counted."""
        try:
            messages = decode_all_sent(lines)
        except UNREADABLE:
            return split_lines(lines)
        if len(messages) != lines.count(b"\n"):  # there are empty ones
            return split_lines(lines)
        left: list[int] = []
        for at, message in enumerate(messages):
            tool = message.params.name if message.method == "tools/call" and message.params is not None else None
            if tool is not None and message.id is not None and message.id in answered:
                self._tracker.count(tool)
                counted.add(message.id)
            else:
                left.append(at)
        if not left:
            return []
        each = split_lines(lines)
        return [each[at] for at in left]
