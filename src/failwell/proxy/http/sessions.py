"""`HttpSession`: the conversation of one client with one server, over HTTP."""

from collections.abc import Callable

from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.proxy.bounds import MAX_BATCH, MAX_DECODED, MAX_LEARNT, MAX_SESSIONS
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.conversation import Conversation, PendingRequest
from failwell.proxy.http.bodies import BodyTooLong
from failwell.proxy.http.reply import Headers
from failwell.proxy.messages import Id, decode, encode, glance_at_client


class PostedBody(Struct):
    """What a client posted: calls, a request for the tools, a cancellation, or anything else."""

    body: bytes
    calls: tuple[PendingRequest, ...] = ()
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
            return cls(body, (PendingRequest(found.id, found.method, params.name, body),), found.id)
        is_page = params is not None and params.has_cursor
        return cls(body, id=found.id, is_list=found.method == "tools/list", is_page=is_page)

    @classmethod
    def _batch(cls, body: bytes) -> "PostedBody":
        messages = decode(body)
        if is_array(messages) and len(messages) > MAX_BATCH:
            raise BodyTooLong(MAX_BATCH, "messages")
        written = [(encode(one), one) for one in messages] if is_array(messages) else [(body, messages)]
        found = tuple(
            PendingRequest(call.id, "tools/call", call.tool, one, known_call=call, is_batched=is_array(messages))
            for one, message in written
            if (call := ProxiedCall.of(message)) is not None and isinstance(call.id, int | str)
        )
        id = messages.get("id") if is_object(messages) else None
        return cls(body, found, id if isinstance(id, int | str) else None)


class HttpSession:
    """One client at one server.

    Args:
        conversation: its calls and tools.
    """

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.is_listing_slow = False
        self.streams = 0

    @property
    def is_busy(self) -> bool:
        """Whether a call is on its way, or a stream is open."""
        return bool(self.conversation.pending or self.streams)


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
    """The sessions of all clients, by what tells these apart.

    Args:
        make: makes the conversation of a client, given the id of its session if it has one, and what tells it apart.
    """

    def __init__(self, make: Callable[[str | None, bytes], Conversation]) -> None:
        self._make = make
        self._known: dict[bytes, HttpSession] = {}

    def get(self, key: bytes, *, id: str | None) -> HttpSession:
        """Return a session, a new one if it is not known; the oldest without a call or a stream makes room for it."""
        found = self._known.pop(key, None)
        if found is None:
            found = HttpSession(self._make(id, key))
            learnt = sum(session.conversation.learnt for session in self._known.values())
            while len(self._known) >= MAX_SESSIONS or learnt > MAX_LEARNT:
                idle = next((one for one, session in self._known.items() if not session.is_busy), None)
                if idle is None:
                    return found
                learnt -= self._known.pop(idle).conversation.learnt
        self._known[key] = found
        return found

    def new(self, key: bytes) -> HttpSession:
        """Return a session that is not shared."""
        return HttpSession(self._make(None, key))

    def end(self, key: bytes) -> None:
        """Forget a session."""
        self._known.pop(key, None)
