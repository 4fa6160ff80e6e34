"""`Watch`: what each line between a client and a server means. It does no input or output and keeps no clock.

Most lines are decoded no further than their id and method. Whatever fails, or must be looked at closely, goes to a
`Settler`, which is made when it is first needed: most sessions never load what it stands on.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.proxy.calls import ListedTools
from failwell.proxy.messages import Id, Params, decoded, encode, glance_at_client, glance_at_server, glance_loosely

if TYPE_CHECKING:
    from failwell.proxy.stdio.failures import FailureHandler

_MOST_PENDING = 4096
_MOST_ANSWERED = 4096
_MOST_LASTING = 1024
_LONGEST_KEPT = 1 << 18
# What stays in force until the server ends.
_LASTING = frozenset(("logging/setLevel", "resources/subscribe", "resources/unsubscribe"))


class PendingRequest(Struct, eq=False):
    """A request that the server has not answered yet.

    `line` is what the client sent, unless it is too long to be kept. `sent_as` is the id the server knows it by if it
    was sent again, `run` its way through its attempts, `give_up` answers it with its last failure.
    `is_sent` says that the server got all of it.
    """

    id: Id
    method: str
    tool: str = ""
    line: bytes | None = None
    is_page: bool = False
    is_sent: bool = False
    sent_as: Id | None = None
    run: Any = None
    give_up: Callable[[], bytes | None] | None = None


class Tracker:
    """Knows which requests are on their way, which of them are calls, and which tools there are.

    Args:
        settler: makes what deals with failures, the first time it is needed.
        answer: sends the client an answer to a call that is not passed on.
        looks_at_calls: each call must be looked at before it is sent: arguments are checked, or calls are retried.
        looks_at_successes: answers that are not flagged may be failures too.
    """

    def __init__(
        self,
        settler: "Callable[[Tracker], FailureHandler]",
        answer: Callable[[bytes], object],
        *,
        looks_at_calls: bool = False,
        looks_at_successes: bool = False,
    ) -> None:
        self.pending: dict[Id, PendingRequest] = {}
        self.tools = ListedTools()
        self.calls: dict[str, int] = {}
        self.handshake: list[bytes] = []
        self.lasting: dict[str | None, bytes] = {}
        self.answered_ids: set[Id] = set()
        self._answered_lately: set[Id] = set()
        self._unsent: deque[PendingRequest] = deque()
        self._make = settler
        self._answer = answer
        self._settler: FailureHandler | None = None
        self._looks_at_calls = looks_at_calls
        self.looks_at_successes = looks_at_successes

    @property
    def settler(self) -> "FailureHandler":
        """What deals with failures."""
        if self._settler is None:
            self._settler = self._make(self)
        return self._settler

    @property
    def has_settler(self) -> bool:
        """Whether anything has failed, or had to be looked at closely."""
        return self._settler is not None

    def from_client(self, line: bytes) -> bytes | None:
        """Return what to send to the server in place of a line; None: pass it on. An empty text drops it."""
        sent = glance_at_client(line)
        is_exact = sent is not None
        sent = sent or glance_loosely(line)
        if sent is None:
            self._odd_from_client(line)
            return None
        id, method, params = sent.id, sent.method, sent.params
        if method is None:
            return None
        if id is None:
            return self._notified(method, params, line)
        if method == "tools/call" and params is not None and params.name is not None:
            is_kept = is_exact and len(line) <= _LONGEST_KEPT  # what is written anew must not say anything else
            return self._called(PendingRequest(id, method, params.name, line if is_kept else None))
        if method in _LASTING:
            self._told_to_last(method, line)
        is_first = method == "initialize"
        if is_first:
            self.handshake = [line]
        is_page = params is not None and params.cursor is not None
        self._remember(PendingRequest(id, method, line=line if is_first else None, is_page=is_page))
        return None

    def from_server(self, line: bytes) -> bytes | None:
        """Return what to send to the client in place of a line; None: pass it on. An empty text drops it."""
        came = glance_at_server(line)
        if came is None:
            return self._odd_from_server(line)
        if came.method is not None:
            return self._told(came.method, line)
        if came.id is None:
            return None
        return self._came(came.id, line, is_failed=came.is_failed)

    @staticmethod
    def is_message(line: bytes) -> bool:
        """Return whether a line without its end is a whole message."""
        return decoded(line) is not None

    def count(self, tool: str) -> None:
        """Count a call."""
        self.calls[tool] = self.calls.get(tool, 0) + 1

    def take(self, id: Id) -> PendingRequest | None:
        """Return a pending request and forget it."""
        return self.pending.pop(id, None)

    def give_up_own(self) -> None:
        """Let go whoever waits for an answer to what the proxy asked itself."""
        for asked in list(self.pending.values()):
            if not asked.method and asked.give_up is not None:
                asked.give_up()

    def _called(self, asked: PendingRequest) -> bytes | None:
        self.count(asked.tool)
        self._remember(asked)
        if not self._looks_at_calls or (refusal := self.settler.refusal(asked)) is None:
            return None
        self.pending.pop(asked.id, None)
        with suppress(ValueError):  # another line was sent meanwhile
            self._unsent.remove(asked)
        self._answer(refusal)
        return b""

    def _remember(self, asked: PendingRequest) -> None:
        pending = self.pending
        if len(pending) >= _MOST_PENDING:
            with suppress(RuntimeError, StopIteration):  # answers took some out meanwhile, which makes room too
                pending.pop(next(iter(pending)), None)
        pending[asked.id] = asked
        self._unsent.append(asked)
        self.answered_ids.discard(asked.id)
        self._answered_lately.discard(asked.id)

    def resend(self, asked: PendingRequest, id: Id) -> None:
        """Note that a request is about to be sent again, under another id."""
        asked.sent_as, asked.is_sent = id, False
        self.pending[id] = asked
        self._unsent.append(asked)

    def sent(self) -> None:
        """Note that the server has got all lines that were looked at so far."""
        while self._unsent:
            self._unsent.popleft().is_sent = True

    def sent_only(self, lines: bytes) -> None:
        """Note that the server has got these lines, and none of the others that were looked at."""
        for line in lines.splitlines():
            message = decoded(line)
            for one in message if is_array(message) else (message,):
                id: Any = one.get("id") if is_object(one) else None
                if _is_id(id) and (asked := self.pending.get(id)) is not None:
                    asked.is_sent = True

    def _notified(self, method: str, params: Params | None, line: bytes) -> bytes | None:
        if method == "notifications/initialized":
            self.handshake = [*self.handshake[:1], line]
        elif method == "notifications/cancelled" and params is not None and params.request_id is not None:
            changed = self._settler.cancelled(params.request_id, line) if self._settler is not None else None
            if changed is not None:
                return changed
            self.take(params.request_id)
        return None

    def _told_to_last(self, method: str, line: bytes) -> None:
        message = decoded(line)
        params = message.get("params") if is_object(message) else None
        uri = params.get("uri") if is_object(params) else None
        key = uri if isinstance(uri, str) else None
        self.lasting.pop(key, None)
        if method != "resources/unsubscribe" and len(self.lasting) < _MOST_LASTING:
            self.lasting[key] = line

    def _told(self, method: str, line: bytes) -> bytes | None:
        if method == "notifications/tools/list_changed":
            self.tools.forget()
        elif method == "notifications/progress" and self._settler is not None:
            return self._settler.progressed(line)
        return None

    def _came(self, id: Id, line: bytes, *, is_failed: bool) -> bytes | None:
        asked = self.pending.pop(id, None)
        if asked is None:
            return b"" if id in self.answered_ids else None
        self.answered(id)
        if asked.tool:
            if is_failed or self.looks_at_successes or asked.run is not None:
                return self.settler.answer(asked, line)
        elif asked.method == "tools/list" and not is_failed:
            self._listed(asked, line)
        elif not asked.method and asked.give_up is not None:
            asked.give_up()
            return b""  # an answer to what the proxy asked itself
        return None

    def answered(self, id: Id) -> None:
        """Note that a request has its answer: another one is dropped."""
        known, lately = self.answered_ids, self._answered_lately
        known.add(id)
        lately.add(id)
        if len(lately) >= _MOST_ANSWERED:
            known.clear()
            known.update(lately)
            lately.clear()

    def passed(self, id: Id, *, was_asked: bool) -> None:
        """Note that an answer has passed of which nothing had to be known but its id."""
        if self.pending.pop(id, None) is not None or was_asked:
            self.answered(id)
        else:
            self.answered_ids.discard(id)  # nobody asked: another answer passes too

    def _listed(self, asked: PendingRequest, line: bytes) -> None:
        message = decoded(line)
        result = message.get("result") if is_object(message) else None
        if is_object(result):
            self.tools.learn(result, is_whole=not asked.is_page and result.get("nextCursor") is None)

    def _odd_from_client(self, line: bytes) -> None:
        """Look at a line whose parts are not what they should be, and at each message of a batch."""
        message = decoded(line)
        for one in message if is_array(message) else (message,):
            if not is_object(one) or not isinstance(one.get("method"), str) or not _is_id(one.get("id")):
                continue
            asked = PendingRequest(one["id"], one["method"])
            params = one.get("params")
            if asked.method == "tools/call" and is_object(params) and isinstance(params.get("name"), str):
                asked.tool, asked.line = params["name"], encode(one)
                self.count(asked.tool)
            self._remember(asked)

    def _odd_from_server(self, line: bytes) -> bytes | None:
        message = decoded(line)
        if not is_array(message):
            return self._odd_answer(message, line)
        found = [self._odd_answer(one, encode(one) + b"\n") for one in message]
        if all(one is None for one in found):
            return None
        kept = (encode(one) if new is None else new.rstrip(b"\n") for one, new in zip(message, found, strict=True))
        return b"[" + b",".join(one for one in kept if one) + b"]\n"

    def _odd_answer(self, message: Any, line: bytes) -> bytes | None:
        if not is_object(message) or "method" in message or not _is_id(message.get("id")):
            return None
        result = message.get("result")
        is_failed = "error" in message or (is_object(result) and result.get("isError") is True)
        return self._came(message["id"], line, is_failed=is_failed)


def _is_id(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)
