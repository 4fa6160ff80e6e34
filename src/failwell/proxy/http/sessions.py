"""`HttpSession`: what is known of one client at one server: its tools, and its pending calls."""

import asyncio
from collections.abc import Callable
from itertools import count

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.failure import Failure
from failwell.proxy.bounds import MAX_ANSWERED_IDS, MAX_BATCH, MAX_DECODED, MAX_LEARNT, MAX_PENDING, MAX_SESSIONS
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.http.bodies import BodyTooLong
from failwell.proxy.http.reply import Headers
from failwell.proxy.messages import Id, decode, encode, glance_at_client, glance_at_server
from failwell.proxy.rewriter import Message, Rewriter
from failwell.retry import Run


class PendingCall(Struct, eq=False):
    """A call without an answer: what the client sent, and the id that the server knows it by."""

    body: bytes
    id: Id
    tool: str
    sent_as: Id
    run: Run | None = None
    progress: float = float("-inf")
    is_cancelled: bool = False
    is_answered: bool = False

    @property
    def call(self) -> ProxiedCall:
        """The whole call, decoded when it is needed; of one that is too long, only what is known already."""
        found = ProxiedCall.of(decode(self.body)) if len(self.body) <= MAX_DECODED else None
        return found or ProxiedCall(id=self.id, tool=self.tool, is_unread=True)

    @property
    def attempts(self) -> int | None:
        """How often it was made, if it was made again."""
        return self.run.attempt if self.run is not None and self.run.attempt > 1 else None

    def conclude(self, failure: Failure) -> Failure:
        """Return the failure of the last try as that of the call: any of its tries may have had an effect."""
        concluded = failure if self.run is None else self.run.with_gravest_outcome(failure)
        return concluded.replace(tool=self.tool)


class PostedBody(Struct):
    """What a client posted: calls, a request for the tools, a cancellation, or anything else."""

    body: bytes
    calls: tuple[PendingCall, ...] = ()
    id: Id | None = None
    is_list: bool = False
    is_page: bool = False
    cancels: Id | None = None

    @classmethod
    def of(cls, body: bytes) -> "PostedBody":
        """Return what is in a body.

        Raises:
            BodyTooLong: it is no plain message, and too long to be decoded.
        """
        found = glance_at_client(body)
        if found is None:
            if len(body) > MAX_DECODED:
                raise BodyTooLong(MAX_DECODED)
            return cls._batch(body)
        params = found.params
        if found.method == "notifications/cancelled" and params is not None:
            return cls(body, cancels=params.request_id)
        if found.id is None or found.method is None:
            return cls(body)
        if found.method == "tools/call" and params is not None and params.name is not None:
            return cls(body, (PendingCall(body, found.id, params.name, found.id),), found.id)
        is_page = params is not None and params.has_cursor
        return cls(body, id=found.id, is_list=found.method == "tools/list", is_page=is_page)

    @classmethod
    def _batch(cls, body: bytes) -> "PostedBody":
        messages = decode(body)
        if is_array(messages) and len(messages) > MAX_BATCH:
            raise BodyTooLong(MAX_BATCH, "messages")
        written = [(encode(one), one) for one in messages] if is_array(messages) else [(body, messages)]
        found = tuple(
            PendingCall(one, call.id, call.tool, call.id)
            for one, message in written
            if (call := ProxiedCall.of(message)) is not None and isinstance(call.id, int | str)
        )
        id = messages.get("id") if is_object(messages) else None
        return cls(body, found, id if isinstance(id, int | str) else None)


class HttpSession:
    """One client at one server.

    Args:
        rewriter: writes its failures.
        key: tells it apart from the sessions of others, if there are any.
    """

    def __init__(self, rewriter: Rewriter, *, key: bytes = b"") -> None:
        self.rewriter = rewriter
        self.key = key
        self.tool_listing: asyncio.Future[None] | None = None
        self.is_listing_slow = False
        self.streams = 0
        self.learnt = 0
        self._pending: dict[Id, PendingCall] = {}
        self._answered: dict[Id, None] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a call is on its way, or a stream is open."""
        return bool(self._pending or self.streams)

    def add(self, pending: PendingCall) -> None:
        """Note a call, or another attempt of one, under the id that the server knows it by."""
        if len(self._pending) >= MAX_PENDING:
            self._pending.pop(next(iter(self._pending)))
        self._pending[pending.sent_as] = pending
        self._answered.pop(pending.sent_as, None)

    def note_answered(self, pending: PendingCall) -> None:
        """Note that a call has its answer: another one that comes on a stream is dropped."""
        self._answered[pending.sent_as] = None
        if len(self._answered) > MAX_ANSWERED_IDS:
            self._answered.pop(next(iter(self._answered)))

    def has_answered(self, id: Id | None) -> bool:
        """Return whether the call that the server knows by an id has its answer."""
        return id is not None and id in self._answered

    def remove(self, pending: PendingCall) -> None:
        """Forget a call that has its answer, or will get none."""
        if self._pending.get(pending.sent_as) is pending:
            del self._pending[pending.sent_as]

    def pending(self, id: Id | None) -> PendingCall | None:
        """Return the call that the server knows by an id."""
        return None if id is None else self._pending.get(id)

    def all_pending(self) -> list[PendingCall]:
        """Return all calls without an answer."""
        return list(self._pending.values())

    def cancel(self, posted: PostedBody) -> bytes | None:
        """Cancel a call, and return the cancellation as the server knows it; None: as the client sent it."""
        found = next((one for one in self._pending.values() if one.id == posted.cancels), None)
        if found is None:
            return None
        found.is_cancelled = True
        if found.run is not None:
            found.run.cancelled()
        if found.sent_as == found.id:
            return None
        message = decode(posted.body)
        message["params"]["requestId"] = found.sent_as
        return encode(message)

    def note_notification(self, data: bytes) -> None:
        """Note a notification of the server: tools that changed are forgotten."""
        if (
            b"list_changed" in data
            and (note := glance_at_server(data))
            and note.method == "notifications/tools/list_changed"
        ):
            self.rewriter.tools.forget()
            self.tool_listing = None

    def learn(self, data: bytes, *, is_page: bool) -> Message | None:
        """Learn the tools from an answer to `tools/list`, and return it, unless it is too long or no answer."""
        is_too_long = len(data) + (self.learnt if is_page else 0) > MAX_DECODED
        message = None if is_too_long else decode(data)
        result = message.get("result") if is_object(message) else None
        if is_object(result):
            is_whole = not is_page and result.get("nextCursor") is None
            self.learnt = len(data) + (0 if is_whole else self.learnt)
            self.rewriter.tools.learn(result, is_whole=is_whole)
        return message if is_object(message) else None

    def failed(self, pending: PendingCall, failure: Failure) -> Message:
        """Return a failure that the proxy found as if the server had answered with it."""
        return self.rewriter.failed(pending.call, failure.replace(tool=pending.tool))


class UpstreamRequest(Struct):
    """A posted body as it goes to the server: the URL, the headers, and the client's session.

    `is_tracked` says that other requests are known to be of the same session: they may cancel its calls.
    """

    posted: PostedBody
    url: str
    headers: Headers
    session: HttpSession
    is_tracked: bool


class Sessions:
    """The sessions of all clients, by what tells these apart."""

    def __init__(self, make: Callable[[str | None], Rewriter]) -> None:
        self._make = make
        self._known: dict[bytes, HttpSession] = {}
        self._numbers = count(1)

    def get(self, key: bytes, *, id: str | None) -> HttpSession:
        """Return a session, a new one if it is not known; the oldest without a call or a stream makes room for it."""
        found = self._known.pop(key, None)
        if found is None:
            found = HttpSession(self._make(id), key=key)
            learnt = sum(session.learnt for session in self._known.values())
            while len(self._known) >= MAX_SESSIONS or learnt > MAX_LEARNT:
                idle = next((one for one, session in self._known.items() if not session.is_busy), None)
                if idle is None:
                    return found
                learnt -= self._known.pop(idle).learnt
        self._known[key] = found
        return found

    def new(self, key: bytes) -> HttpSession:
        """Return a session that is not shared."""
        return HttpSession(self._make(None), key=key)

    def end(self, key: bytes) -> None:
        """Forget a session."""
        self._known.pop(key, None)

    def next_id(self) -> str:
        """Return an id that no client uses."""
        return f"failwell-retry-{next(self._numbers)}"
