"""`Conversation`: one client and one server. It does no input or output, takes no lock and has no clock.

Messages and the time go in. What comes out is None, if a message passes as it is; other bytes; or `Steps`, which yield
effects that the transport carries out, sending back what came of each:

found = conversation.from_server(data, now)   # None: pass it; b"": drop it; bytes: pass these; `Steps`: carry them out

A message gets one glance. Only what must be changed or read is decoded in full, in a `Compute`, which needs no lock.
What only failures need is loaded with the first of them: most sessions have none.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from failwell._automatic import is_automatic
from failwell._json import is_array, is_object
from failwell.proxy.bounds import (
    MAX_ANSWERED_IDS,
    MAX_DECODED,
    MAX_KEPT_CALLS,
    MAX_PENDING,
    MAX_RETRIED_CALL,
    MAX_SUBSCRIPTIONS,
    MAX_TOOL_LIST_WAIT,
    MAX_UNREAD_LENGTH,
    MIN_TOOL_LIST_INTERVAL,
    MIN_TOOL_LIST_WAIT,
)
from failwell.proxy.calls import PROTOCOL_KEY, ListedTools, ProxiedCall, agent_name
from failwell.proxy.messages import (
    MAX_COMPLAINT,
    UNREADABLE,
    Id,
    Params,
    ResultGlance,
    complains,
    decode,
    decode_line,
    decode_sent,
    encode,
    glance_at_client,
    glance_at_server,
    glance_loosely,
    may_have_failed,
    read_meta,
    with_id,
    with_meta,
)
from failwell.proxy.summary import counted_name

if TYPE_CHECKING:
    from failwell._trace import CallTrace
    from failwell.event import Event, Kind
    from failwell.failure import Failure
    from failwell.proxy.options import ProxyOptions
    from failwell.proxy.policies import ToolPolicies
    from failwell.proxy.rewriter import AnswerReading, Rewriter
    from failwell.retry import Effect as RunEffect
    from failwell.retry import Limits, Policy, Run

# Their effect lasts until the server ends, so they are repeated after a restart.
_LASTING_METHODS = frozenset(("logging/setLevel", "resources/subscribe", "resources/unsubscribe"))
_CANCELLED = "notifications/cancelled"
_TOOLS_CHANGED = "notifications/tools/list_changed"
_TASKS, _TASKS_CHANGED = "tasks/", "notifications/tasks"


class PendingRequest(Struct, eq=False):
    """A request that the server has not answered yet.

    `body` is what the client sent, unless it is too long to be kept. `sent_as` is the id that the server knows it by:
    each try has its own. `started` is when the client made it, `tried` when its last try was sent or made progress, if
    that was later, `succeeded` when the server said that it succeeded, `run` decides about its tries, `progress` is how
    far they came. In a dry run, `would_refuse` is the code that it would have been refused with. `trace` is its span,
    if calls are traced. `is_sent` says that the server may have it; `is_held` that the server has nothing of it yet, or
    that it waits for its next try. `is_tracked` says that other messages may be about it, `is_batched` that it came
    with others, and is not made again; nor is one that `is_resumed`, whose answer comes on another stream. `route` is
    how the transport sends it. A request of the proxy itself has no method, and `on_answer` gets its answer.
    """

    id: Id
    method: str
    tool: str = ""
    body: bytes | None = None
    sent_as: Id = ""
    started: float = 0.0
    tried: float = 0.0
    succeeded: float | None = None
    run: "Run | None" = None
    progress: float = float("-inf")
    known_call: ProxiedCall | None = None
    would_refuse: str | None = None
    trace: "CallTrace | None" = None
    is_page: bool = False
    is_sent: bool = False
    is_held: bool = False
    is_cancelled: bool = False
    is_answered: bool = False
    is_ended: bool = False
    is_batched: bool = False
    is_resumed: bool = False
    is_tracked: bool = True
    route: Any = None
    on_answer: Callable[[bytes], object] | None = None

    def __post_init__(self) -> None:
        if self.sent_as == "":
            self.sent_as = self.id

    @property
    def call(self) -> ProxiedCall:
        """The whole call, decoded when it is first needed; of one that is too long, what is known already."""
        if self.known_call is None:
            body = self.body if self.body is not None and len(self.body) <= MAX_DECODED else None
            found = None if body is None else ProxiedCall.of(decode(body))
            self.known_call = found or ProxiedCall(id=self.id, tool=self.tool, is_unread=True)
        return self.known_call

    @property
    def attempts(self) -> int | None:
        """How often it was made, if it was made again."""
        return self.run.attempt if self.run is not None and self.run.attempt > 1 else None


class ToServer(Struct):
    """Send this to the server: a call."""

    data: bytes
    request: PendingRequest


class ToClient(Struct):
    """Send this to the client: the answer to a request, or what takes the place of another message.

    `source` is what the transport gave with the server's message, and `is_unchanged` says that this is that message.
    """

    data: bytes
    request: PendingRequest | None = None
    source: Any = None
    is_unchanged: bool = False


class Sleep(Struct):
    """Sleep so many seconds; send back True, or False to have the request answered at once with its last failure."""

    seconds: float
    request: PendingRequest


class ListTools(Struct):
    """Ask the server for its tools, and wait a little for that: longer if it decides whether the call is made.

    Nothing waits for a list that is not *is_awaited*.
    """

    request: PendingRequest
    is_decisive: bool = False
    is_awaited: bool = True

    def wait(self, now: float) -> float:
        """Return how long to wait: a list that only makes a failure clearer may take as long as the call did."""
        if not self.is_awaited:
            return 0.0
        elapsed = now - self.request.started
        return MAX_TOOL_LIST_WAIT if self.is_decisive else min(max(elapsed, MIN_TOOL_LIST_WAIT), MAX_TOOL_LIST_WAIT)


class AskLimits(Struct):
    """Have a run begin its next try or, with a *failure*, judge its last one; ask the limits that calls share for it.

    What the run says next is sent back: `Try`, `Wait` or `Finish`.
    """

    run: "Run"
    failure: "Failure | None" = None
    is_retried_below: bool = False

    def step(self, now: float, jitter: float) -> "RunEffect":
        """Take the step, and return what the run says, or the question that it has."""
        if self.failure is None:
            return self.run.begin(now, jitter=jitter)
        return self.run.failed(self.failure, now, jitter=jitter, retried_below=self.is_retried_below)


class Succeeded(Struct):
    """Let the limits that calls share know of a success."""

    run: "Run"


class Compute(Struct):
    """Call this without holding a lock, and send back what it returns: it reads or writes a message."""

    function: Callable[[], Any]


class ReportEvent(Struct):
    """Report an event of a request."""

    event: "Event"
    request: PendingRequest | None = None

    def at(self, now: float) -> "Event":
        """Return the event with what is known of its request: how long it took so far, and what a dry run let pass."""
        event, request = self.event, self.request
        if request is None:
            return event
        details = event.details
        if request.would_refuse is not None and event.ends_call and event.kind != "refused":
            details = {**details, "refused": request.would_refuse}
        ended = now if request.succeeded is None else request.succeeded  # it may be reported later
        return replace(event, elapsed=ended - request.started, details=details, trace=request.trace)


Effect = ToServer | ToClient | Sleep | ListTools | AskLimits | Succeeded | Compute | ReportEvent
Steps = Generator[Effect, Any, None]
"""What a message leads to: effects that the transport carries out one after another."""


class RetryRules(Struct, frozen=True, eq=False):
    """How often and how long calls are made again, and the limits that they share."""

    policy: "Policy"
    limits: "Limits"

    @property
    def has_failures(self) -> bool:
        """Whether anything failed lately, so that successes count."""
        return any(self.limits.failure_state)

    @property
    def may_refuse(self) -> bool:
        """Whether a tool may be suspended or limited, so that calls must ask before they are made."""
        breakers, _, _, paces = self.limits.failure_state
        return bool(breakers or paces)


class Settings(Struct, kw_only=True, eq=False):
    """What the operator wants of all conversations of a proxy, and how many calls they had.

    `validates`: wrong arguments are refused. `dry_run`: report what would change, and change nothing.
    `marks_unflagged`: short successes with a word of an error are read, since they may be failures. `reads_unflagged`:
    all successes that may be failures by their words are read. All successes of the tools in `flip_unflagged` (`*`: of
    all) are read, and error texts among them are failures. `reports_all`: each call is reported. `load_retries` gives
    the rules of retries when they are first needed; None: there are none. `answers_cancelled`: a cancelled call still
    needs an answer. `timeout` is how long a try may take, `deadline` how long a call with all its tries; None: as long
    as it likes. Results with more than `response_size` bytes may be cut. `policies` know better for each tool; the
    three are the smallest then.
    `trace_attributes` say how the server is reached, in the spans of calls; None: there are no spans.
    """

    validates: bool = False
    dry_run: bool = False
    marks_unflagged: bool = False
    reads_unflagged: bool = False
    flip_unflagged: frozenset[str] = frozenset()
    reports_all: bool = False
    load_retries: Callable[[], RetryRules] | None = None
    shares_limits: bool = False
    answers_cancelled: bool = False
    calls: dict[str, int] = {}
    known_retries: RetryRules | None = None
    timeout: float | None = None
    deadline: float | None = None
    response_size: int | None = None
    policies: "ToolPolicies | None" = None
    trace_attributes: dict[str, str | int] | None = None

    @classmethod
    def of(
        cls, options: "ProxyOptions", *, is_observed: bool, load_retries: Callable[[], RetryRules], **more: Any
    ) -> "Settings":
        """Return what the options of a proxy say; if it *is_observed*, each call is reported."""
        return cls(
            validates=options.validate,
            dry_run=options.observe,
            marks_unflagged=is_automatic(),
            reads_unflagged=is_observed or options.observe,
            flip_unflagged=frozenset(options.flip_unflagged),
            reports_all=is_observed,
            load_retries=load_retries if options.retry else None,
            shares_limits=options.limits is not None,
            timeout=options.timeout,
            deadline=options.deadline,
            response_size=options.response_size,
            policies=options.policies,
            **more,
        )

    @property
    def has_time_limits(self) -> bool:
        """Whether calls may take too long."""
        return self.timeout is not None or self.deadline is not None

    def expiry(self, request: PendingRequest) -> float | None:
        """Return when a call has taken too long; None: never. Progress gives a try more time, and never the call."""
        timeout, deadline, policies = self.timeout, self.deadline, self.policies
        if policies is not None:
            timeout, deadline = policies.timeout(request.tool), policies.deadline(request.tool)
        ends: list[float] = []
        if timeout is not None:
            ends.append(max(request.tried, request.started) + timeout)
        if deadline is not None:
            ends.append(request.started + deadline)
        return min(ends, default=None)

    @property
    def retries(self) -> RetryRules | None:
        """The rules of retries, loaded now if they were not needed before."""
        if self.known_retries is None and self.load_retries is not None:
            self.known_retries = self.load_retries()
        return self.known_retries

    def must_ask(self) -> bool:
        """Return whether a call must ask the limits before it is made."""
        rules = self.retries if self.shares_limits else self.known_retries
        return rules is not None and rules.may_refuse

    def count(self, tool: str, calls: int = 1) -> None:
        """Count calls."""
        known = self.calls.get(tool)
        if known is None:
            tool = counted_name(tool, self.calls)
            known = self.calls.get(tool, 0)
        self.calls[tool] = known + calls


class Arrival(Struct, frozen=True):
    """Where a message of the server arrived: the requests *among* which it may answer one, if not any that is pending.

    `ToClient` names the *source*. A message without an id answers the *unnamed* request. If it *is_repeated*, it passes
    though it came before: the client may lack it. If it came on a stream that *is_other* than that of the request, the
    call is not made again: nobody would read the answer.
    """

    among: Mapping[Id, PendingRequest] | None = None
    source: Any = None
    unnamed: PendingRequest | None = None
    is_repeated: bool = False
    is_other: bool = False


_ANYWHERE = Arrival()


class Conversation:
    """Knows which requests are pending, which of them are calls, and which tools there are.

    Args:
        settings: what the operator wants.
        make_rewriter: makes the rewriter of failures, given the tools, the first time it is needed.
        next_id: gives ids that no client uses.
        server: the name of the server for this client in the limits that calls share: what one client makes fail is not
            held against others.
        session: the name of the client's session in spans, if the server gave it an id.

    Attributes:
        handshake: the client's `initialize`, and its notification that it is initialized.
        lasting: the log level (under None) and the subscriptions (under their URI) that the client requested.
        listing: the transport's own request for the tools, until the server says that they changed.
        lister: the client's last request for the tools: in its name they are listed again when they change.
        protocol_version: the version that client and server agreed on, if calls are traced and it is known.
        own_ids: ids of requests that the server has and that no client knows: of the proxy's own, and of later tries.
    """

    def __init__(
        self,
        settings: Settings,
        make_rewriter: "Callable[[ListedTools], Rewriter]",
        next_id: Callable[[], Id],
        *,
        server: str = "",
        session: str = "",
    ) -> None:
        self.settings = settings
        self.tools = ListedTools()
        self.pending: dict[Id, PendingRequest] = {}
        self.handshake: list[bytes] = []
        self.lasting: dict[str | None, bytes] = {}
        self.listing: Any = None
        self.lister: PendingRequest | None = None
        self._listed_again = float("-inf")
        self.learnt = 0
        self.answered_ids: set[Id] = set()
        self.own_ids: set[Id] = set()
        self._recently_answered: set[Id] = set()
        self._cancelled: dict[Id, PendingRequest] = {}
        self._asked: set[Id] = set()
        self._answering: dict[Id, PendingRequest] = {}
        self._unsent: deque[PendingRequest] = deque()
        self._make_rewriter = make_rewriter
        self._rewriter: Rewriter | None = None
        self._next_id = next_id
        self._server = server
        self._session = session
        self.protocol_version = ""

    @property
    def rewriter(self) -> "Rewriter":
        """Reads and writes failures."""
        if self._rewriter is None:
            self._rewriter = self._make_rewriter(self.tools)
            self._rewriter.agent = self._agent()
        return self._rewriter

    # What the client sends.

    @property
    def may_change_requests(self) -> bool:
        """Whether the server may get something else than the client sends, arguments aside: nothing, or another id."""
        return bool(self._answering) or self.settings.must_ask()

    def find_right_call(self, data: bytes) -> ProxiedCall | None:
        """Return the call in a message, if its arguments are right by what is known of its tool; this needs no lock."""
        call = None if self.tools.is_empty or len(data) > MAX_RETRIED_CALL else ProxiedCall.of(decode(data))
        if call is None or (self.rewriter.validates(call.tool) and self.rewriter.check(call) is not None):
            return None
        return call

    def from_client(
        self, data: bytes, now: float, *, is_sent: bool = False, right_call: ProxiedCall | None = None
    ) -> "bytes | Steps | None":
        """Return what the server gets for a message of the client; None: as it is. An empty text drops it.

        If it *is_sent* already, it is only noted. *right_call* is what `find_right_call` found, if that was asked.
        """
        is_exact = True
        try:
            message = decode_sent(data)
        except UNREADABLE:
            is_exact, loose = False, glance_loosely(data)
            if loose is None:
                self._read_odd_from_client(data, now)
                return None
            message = loose
        id, method, params = message.id, message.method, message.params
        if method is None:
            self._note_reply(id, now)
            return None
        if id is None:
            return self._read_client_notification(method, params, data)
        if method == "tools/call" and params is not None and params.name is not None:
            # What is encoded again must mean the same, and what is kept for many calls must be short.
            is_kept = is_exact and len(data) <= MAX_RETRIED_CALL and len(data) * len(self.pending) <= MAX_KEPT_CALLS
            request = PendingRequest(id, method, params.name, data if is_kept else None, started=now)
            self.add(request)
            sent = data if self.settings.trace_attributes is None else self.trace(request, data, is_exact=is_exact)
            is_right = is_kept and right_call is not None
            if is_right:
                request.known_call = right_call
            if not is_sent and (self.settings.must_ask() if is_right else self.must_read(request)):
                return self.call(request, sent)
            self._unsent.append(request)
            return None if sent is data else sent
        if method in _LASTING_METHODS:
            self._remember_lasting(method, data)
        is_first = method == "initialize"
        if is_first and len(data) <= MAX_RETRIED_CALL:
            self.handshake = [data]
        is_page = params is not None and params.has_cursor
        is_kept = is_first or (method == "tools/list" and len(data) <= MAX_UNREAD_LENGTH)
        request = PendingRequest(id, method, body=data if is_kept else None, is_page=is_page, started=now)
        self.add(request)
        self._unsent.append(request)
        return None

    def trace(self, request: PendingRequest, data: bytes, *, version: str = "", is_exact: bool = True) -> bytes:
        """Begin the span of a call under that of the client, and return the call with ours as the parent of the next.

        In a dry run, and if it is not written as it should be, the call stays as it is.
        """
        from failwell import _trace  # only where calls are traced

        version = read_meta(data, PROTOCOL_KEY) or version or self.protocol_version
        attributes: dict[str, Any] = {**(self.settings.trace_attributes or {}), _trace.REQUEST_ID: f"{request.id}"}
        attributes |= {_trace.PROTOCOL_VERSION: version} if isinstance(version, str) and version else {}
        attributes |= {_trace.SESSION_ID: self._session} if self._session else {}
        parent = _trace.parse_traceparent(read_meta(data, _trace.TRACEPARENT))
        request.trace = _trace.begin_trace(parent, attributes)
        if not is_exact or self.settings.dry_run:
            return data
        sent = with_meta(data, _trace.TRACEPARENT, request.trace.traceparent)
        if request.body is not None:
            request.body = sent
        return sent

    def _note_reply(self, id: Id | None, now: float) -> None:
        """Note that the client answered what the server asked: the time that its user took does not count."""
        if id in self._asked:
            self._asked.discard(id)
            for request in self.pending.values():
                request.tried = now

    def _agent(self) -> str:
        """Return the client's name and version, as its `initialize` has them."""
        first = decode_line(self.handshake[0]) if self.handshake else None
        params = first.get("params") if is_object(first) else None
        return agent_name(params.get("clientInfo")) if is_object(params) else ""

    def must_read(self, request: PendingRequest) -> bool:
        """Return whether a call must be read before it is sent. If not, it is sent as it is."""
        settings = self.settings
        return not request.is_batched and (settings.validates or settings.must_ask())

    def add(self, request: PendingRequest) -> None:
        """Note a request that is about to be sent; calls are counted."""
        if request.tool:
            self.settings.count(request.tool)
        pending = self.pending
        if not request.is_tracked:
            return
        if len(pending) >= MAX_PENDING:
            self.own_ids.discard(pending.pop(next(iter(pending))).sent_as)
        pending[request.id] = request
        if request.on_answer is not None:
            self.own_ids.add(request.id)
        self._cancelled.pop(request.id, None)
        self.answered_ids.discard(request.id)
        self._recently_answered.discard(request.id)

    def call(self, request: PendingRequest, data: bytes) -> Steps:
        """Make a call that was added, or refuse it: wrong arguments, or a tool that is suspended."""
        settings = self.settings
        request.is_held = True
        if settings.validates and self.tools.is_empty:
            yield ListTools(request, is_decisive=True)
        failure: Failure | None = None
        is_checked = settings.validates and self.rewriter.validates(request.tool)
        if is_checked and (failure := (yield Compute(lambda: self.rewriter.check(request.call)))) is not None:
            failure = failure.replace(outcome="not_executed")
        elif self._may_retry(request) and settings.must_ask():
            from failwell.retry import Finish

            request.run = self._new_run(request)
            effect: RunEffect = yield from self._turn(request, request.run)
            failure = effect.refusal if isinstance(effect, Finish) else None
            if failure is not None:
                # The server that clients share has a name of its own here for each of them.
                details = {key: value for key, value in failure.details.items() if key != "server"}
                failure = None if settings.dry_run else failure.replace(details=details)
        request.is_held = False
        if request.is_cancelled and not settings.answers_cancelled:
            return
        if request.is_cancelled and not request.is_ended and not settings.dry_run:
            from failwell.proxy.failures import CALL_CANCELLED

            yield from self._answer_refused(request.call, CALL_CANCELLED, request)
            return
        if failure is not None:
            yield from self.refuse(request.call, failure, request)
        if failure is not None and not settings.dry_run:
            return
        if not request.is_ended:
            yield ToServer(data, request)

    def refuse(self, call: ProxiedCall, failure: "Failure", request: PendingRequest | None = None) -> Steps:
        """Answer a call that is not made; in a dry run, only report that."""
        yield ReportEvent(self.rewriter.event("refused", call, failure), request)
        if request is not None and self.settings.dry_run:
            request.would_refuse = failure.code
        else:
            yield from self._answer_refused(call, failure, request)

    def _answer_refused(self, call: ProxiedCall, failure: "Failure", request: PendingRequest | None) -> Steps:
        answer = yield Compute(lambda: self.rewriter.failed(call, failure))
        if request is not None:
            self.forget(request)
        yield ToClient(encode(answer), request)

    def _read_client_notification(self, method: str, params: Params | None, data: bytes) -> bytes | None:
        if method == "notifications/initialized":
            self.handshake = [*self.handshake[:1], data]
        elif method == _CANCELLED and params is not None and params.request_id is not None:
            return self.cancel(params.request_id, data)
        return None

    def cancel(self, id: Id, data: bytes) -> bytes | None:
        """Note that a request is cancelled, and return the cancellation as the server knows it; None: as it is.

        It is empty if the server knows nothing of the request. An answer that comes all the same passes, once.
        """
        request = self.pending.get(id) or self._answering.pop(id, None)  # a new one may have the id of an old one
        if request is None:
            return None
        request.is_cancelled = True
        if request.run is not None:
            request.run.cancelled()
        if self.pending.pop(request.sent_as, None) is not None and not request.is_held:
            self._cancelled[request.sent_as] = request
            if len(self._cancelled) > MAX_PENDING:
                self.own_ids.discard(self._cancelled.pop(next(iter(self._cancelled))).sent_as)
        if request.is_held:
            return b""
        if request.sent_as == id:
            return None
        message = decode_line(data)
        if message is None:
            return b""
        message["params"]["requestId"] = request.sent_as
        return encode(message)

    def _remember_lasting(self, method: str, data: bytes) -> None:
        message = decode_line(data)
        params = message.get("params") if is_object(message) else None
        uri = params.get("uri") if is_object(params) else None
        key = uri if isinstance(uri, str) else None
        self.lasting.pop(key, None)
        if (
            method != "resources/unsubscribe"
            and len(self.lasting) < MAX_SUBSCRIPTIONS
            and len(data) <= MAX_UNREAD_LENGTH
        ):
            self.lasting[key] = data

    def _read_odd_from_client(self, data: bytes, now: float) -> None:
        """Read a message whose parts are not what they should be, and each message of a batch."""
        message = decode_line(data)
        for one in message if is_array(message) else (message,):
            if not is_object(one) or not isinstance(one.get("method"), str) or not _is_id(one.get("id")):
                continue
            request = PendingRequest(one["id"], one["method"], started=now, is_batched=True)
            params = one.get("params")
            if request.method == "tools/call" and is_object(params) and isinstance(params.get("name"), str):
                request.tool, request.body = params["name"], encode(one)
                if self.settings.trace_attributes is not None:
                    self.trace(request, request.body, is_exact=False)
            self.add(request)
            self._unsent.append(request)

    def note_unsent(self, request: PendingRequest) -> None:
        """Note that a call will be sent together with the lines that were read before it."""
        self._unsent.append(request)

    def note_all_sent(self) -> None:
        """Note that the server may have all requests that were read so far."""
        while self._unsent:
            self._unsent.popleft().is_sent = True

    def note_not_sent(self, lines: bytes) -> None:
        """Note that the server has nothing of these lines: they are sent to its successor, or to nobody."""
        for line in lines.splitlines():
            message = decode_line(line)
            if message is None and (glance := glance_at_client(line)) is not None:
                message = {"id": glance.id}
            for one in message if is_array(message) else (message,):
                id: Any = one.get("id") if is_object(one) else None
                if _is_id(id) and (request := self.pending.get(id)) is not None and request.is_sent:
                    request.is_sent = False
                    self._unsent.append(request)

    # What the server sends.

    def from_server(
        self,
        data: bytes,
        now: float,
        arrival: Arrival = _ANYWHERE,
    ) -> "bytes | Steps | list[tuple[bytes, Any]] | None":
        """Return what the client gets for a message of the server; None: as it is. An empty text drops it.

        A list has each message of a batch, and what the client gets for it.
        """
        glance = glance_at_server(data)
        if glance is None:
            return self._read_odd_from_server(data, now, arrival)
        is_failed = glance.is_failed
        if glance.method is not None:
            if glance.id is not None and self.settings.has_time_limits and len(self._asked) < MAX_PENDING:
                self._asked.add(glance.id)
            found = self._read_server_notification(glance.method, data, now, arrival)
            may_fail = is_failed or glance.method.startswith(_TASKS_CHANGED)
            return self._redact(data, arrival.source) if found is None and may_fail else found
        if not glance.is_answer:
            return None
        result = glance.result if isinstance(glance.result, ResultGlance) else None
        if glance.id is not None:
            return self.answer(glance.id, data, now, arrival, is_failed=is_failed, result=result)
        if arrival.unnamed is not None:
            return self._read_unnamed(arrival.unnamed, data, now, arrival, is_failed=is_failed, result=result)
        return self._redact(data, arrival.source) if is_failed else None

    def find(self, id: Id, arrival: Arrival = _ANYWHERE) -> PendingRequest | None:
        """Return the request that the server knows by an id, also if it was cancelled."""
        if arrival.among is not None:
            return arrival.among.get(id)
        return self.pending.get(id) or self._cancelled.get(id)

    def _settle(self, request: PendingRequest) -> None:
        """Note that the server has answered a request, or will not any more."""
        request.is_answered = True
        if not request.is_tracked:
            return
        if self.pending.get(request.sent_as) is request:
            del self.pending[request.sent_as]
        self._cancelled.pop(request.sent_as, None)
        self.own_ids.discard(request.sent_as)
        self.note_answered(request.sent_as)
        if request.tool:
            self._answering[request.id] = request

    def _end(self, request: PendingRequest) -> None:
        """Note that the client gets the answer to a request now."""
        request.is_ended = True
        if self._answering.get(request.id) is request:
            del self._answering[request.id]
        if request.sent_as != request.id and request.is_tracked:
            self.note_answered(request.id)

    def answer(
        self,
        id: Id,
        data: bytes,
        now: float,
        arrival: Arrival = _ANYWHERE,
        *,
        is_failed: bool,
        result: ResultGlance | None = None,
    ) -> bytes | Steps | None:
        """Return what the client gets for an answer of which this is known; None: as it is. An empty text drops it.

        *result* is what a glance saw of its result, if it saw one.
        """
        request, source = self.find(id, arrival), arrival.source
        if request is None and arrival.unnamed is not None:
            return None  # the call that it came for has no answer, and is told so
        if request is None:
            is_second = arrival.among is None and id in self.answered_ids and not arrival.is_repeated
            return b"" if is_second else self._redact(data, source, id) if is_failed else None
        if request.is_answered:
            return b""
        request.succeeded = None if is_failed else now
        request.is_resumed = request.is_resumed or arrival.is_other
        self._settle(request)
        if request.tool:
            if self.settings.dry_run and self._is_late(request, now):
                return self._pass_late(request, data, now, source)
            if is_failed or self._reads_success(request, data, result):
                return self._answer(request, data, source, is_failed=is_failed)
            return self._pass_success(request, data, now, source)
        if request.on_answer is not None:
            request.on_answer(data)
            return b""  # the answer to a request of the proxy itself
        if request.method == "initialize" and self.settings.trace_attributes is not None:
            self._learn_version(data)
        if request.method == "tools/list" and not is_failed:
            self.learn(data, is_page=request.is_page)
            self.lister = request
        may_fail = is_failed or request.method.startswith(_TASKS)  # what became of a task stands further within
        return self._redact(data, source, id) if may_fail else None

    def _learn_version(self, data: bytes) -> None:
        message = decode_line(data)
        result = message.get("result") if is_object(message) else None
        version = result.get("protocolVersion") if is_object(result) else None
        self.protocol_version = version if isinstance(version, str) else ""

    def _read_unnamed(
        self,
        request: PendingRequest,
        data: bytes,
        now: float,
        arrival: Arrival,
        *,
        is_failed: bool,
        result: ResultGlance | None,
    ) -> bytes | Steps | None:
        """Read an answer without an id as if it had that of its request."""
        try:
            named = with_id(data, request.sent_as)
        except (ValueError, RecursionError):
            return None  # the call that it came for has no answer, and is told so
        found = self.answer(request.sent_as, named, now, arrival, is_failed=is_failed, result=result)
        return named if found is None else found

    def _reads_success(self, request: PendingRequest, data: bytes, result: ResultGlance | None) -> bool:
        """Return whether a success is read in full: it may be a failure by its words, or too long."""
        settings = self.settings
        flipped, most = settings.flip_unflagged, settings.response_size
        if flipped and (request.tool in flipped or "*" in flipped):
            return True
        if most is not None and len(data) > most:
            return True
        if settings.reads_unflagged:
            return result is None or may_have_failed(result)
        return settings.marks_unflagged and len(data) <= MAX_COMPLAINT and (result is None or complains(result))

    def _is_late(self, request: PendingRequest, now: float) -> bool:
        end = self.settings.expiry(request)
        return end is not None and end <= now

    def _pass_late(self, request: PendingRequest, data: bytes, now: float, source: Any) -> Steps:
        """Report that a call would have timed out, and pass its answer as it is."""
        from failwell.proxy.failures import timed_out

        failure = timed_out(now - request.started).replace(tool=request.tool)
        yield ReportEvent(self.rewriter.event("failure", request.call, failure), request)
        self._end(request)
        yield ToClient(data, request, source, is_unchanged=True)

    def _pass_success(self, request: PendingRequest, data: bytes, now: float, source: Any) -> "Steps | None":
        if (run := self._run_of_success(request)) is not None:
            run.succeeded(now)
        if request.attempts is not None:
            return self._report_success(request, data, source, "recovered")
        if self.settings.reports_all:
            return self._report_success(request, data, source, "success")
        self._end(request)
        return None

    def _run_of_success(self, request: PendingRequest) -> "Run | None":
        """Return the run that learns of a success: also that of a first try, if something failed lately."""
        rules = self.settings.known_retries
        if request.is_cancelled:
            return None
        if request.run is None and rules is not None and rules.has_failures and self._may_retry(request):
            return self._new_run(request)
        return request.run

    def _report_success(self, request: PendingRequest, data: bytes, source: Any, kind: "Kind") -> Steps:
        """Report a success, and pass it."""
        renamed = self._renamed(request, data)
        if renamed is None:
            yield from self._fail_unread(request, source)
            return
        event = self.rewriter.event(kind, request.call, attempt=request.attempts or 1)
        yield ReportEvent(event, request)
        self._end(request)
        yield ToClient(renamed, request, source, is_unchanged=renamed is data)

    def _renamed(self, request: PendingRequest, data: bytes) -> bytes | None:
        """Return an answer with the client's id; None: nobody can say where its id stands."""
        try:
            return data if request.sent_as == request.id else with_id(data, request.id)
        except (ValueError, RecursionError):
            return None

    def _read_server_notification(
        self, method: str, data: bytes, now: float, arrival: Arrival
    ) -> "bytes | Steps | None":
        settings = self.settings
        if method == _TOOLS_CHANGED:
            listing = self._outdate_tools(now)
            return None if listing is None else self._pass_and_list(data, arrival.source, listing)
        if method == "notifications/progress" and (settings.load_retries is not None or settings.has_time_limits):
            return None if self._is_progress(decode_line(data), now, arrival) else b""
        return None

    def _is_progress(self, message: Any, now: float, arrival: Arrival) -> bool:
        """Return whether a notification of progress goes beyond those of earlier tries, as clients are promised."""
        params = message.get("params") if is_object(message) else None
        token, value = (params.get("progressToken"), params.get("progress")) if is_object(params) else (None, None)
        if not isinstance(token, int | str) or not isinstance(value, int | float):
            return True
        among = self.pending if arrival.among is None else arrival.among
        is_only = arrival.among is not None and len(among) == 1  # where nothing else is answered, it is about that
        for request in among.values():
            if request.tool and not request.is_batched and (is_only or request.call.token == token):
                if value <= request.progress:
                    return request.attempts is None
                request.progress, request.tried = value, now
                break
        return True

    def _read_odd_from_server(
        self, data: bytes, now: float, arrival: Arrival
    ) -> "bytes | Steps | list[tuple[bytes, Any]] | None":
        """Read a message whose parts are not what they should be, and each message of a batch."""
        message = decode_line(data)
        if message is None:
            return self._read_undecodable(data, now, arrival)
        if is_array(message):
            # A batch in a batch is no message: nobody would carry out what it leads to.
            each = [(encode(one), is_object(one)) for one in message]
            return [(one, self._read_one(one, now, arrival) if is_read else None) for one, is_read in each]
        if not is_object(message) or "method" in message or not _is_id(message.get("id")):
            return None
        if "result" not in message and "error" not in message:
            return None
        result = message.get("result")
        is_failed = "error" in message or (is_object(result) and result.get("isError") is True)
        return self.answer(message["id"], data, now, arrival, is_failed=is_failed)

    def _read_one(self, data: bytes, now: float, arrival: Arrival) -> "bytes | Steps | None":
        """Read one message of a batch."""
        found = self.from_server(data, now, arrival)
        return None if isinstance(found, list) else found

    def _redact(self, data: bytes, source: Any, id: Id | None = None) -> Steps | None:
        """Redact an error that answers no call, but perhaps another request."""
        return None if self.settings.dry_run else self._pass_redacted(data, source, id)

    def _pass_redacted(self, data: bytes, source: Any, id: Id | None) -> Steps:
        from failwell.proxy.channels import redacted_error

        safe = yield Compute(partial(redacted_error, data, answers=id))
        if safe:
            yield ToClient(safe, None, source, is_unchanged=safe is data)

    def _read_undecodable(self, data: bytes, now: float, arrival: Arrival) -> bytes | Steps | None:
        """Read an answer that is too deep or too long, as far as it tells whose it is and whether it failed."""
        if data.lstrip()[:1] not in (b"{", b"["):
            return None
        # Only now: they are seldom needed.
        from failwell.proxy.channels import may_be_failing
        from failwell.proxy.long_messages import find_id, is_no_answer, is_too_large

        if is_no_answer(data):
            return None
        is_failed = may_be_failing(data)
        if not is_failed and not is_too_large(data):
            return None  # it is not JSON, and answers nothing
        among = self.pending if arrival.among is None else arrival.among
        id = find_id(data, [one for one, request in among.items() if not request.is_answered] if is_failed else ())
        if id is None and arrival.unnamed is not None:
            return None  # the call that it came for has no answer, and is told so
        if id is None:
            return self._scrub(data, arrival.source) if is_failed and not self.settings.dry_run else None
        return self.answer(id, data, now, arrival, is_failed=is_failed)

    def _scrub(self, data: bytes, source: Any) -> Steps:
        """Redact as a text what cannot be decoded, and whose request nobody knows: its client may know it."""
        if len(data) > MAX_DECODED:
            return
        from failwell.redact.scrubber import scrub

        safe = yield Compute(lambda: scrub(data.decode("utf-8", "replace")).encode())
        yield ToClient(safe, None, source)

    @staticmethod
    def list_request(request: PendingRequest, id: Id, cursor: str | None = None) -> bytes:
        """Return a request for the tools, in the name of a client that describes itself in the `_meta` of each one."""
        message = decode(request.body) if request.body is not None else None
        params = message.get("params") if is_object(message) else None
        meta = params.get("_meta") if is_object(params) else None
        kept = {key: value for key, value in meta.items() if key != "progressToken"} if is_object(meta) else {}
        wanted = {**({"_meta": kept} if kept else {}), **({} if cursor is None else {"cursor": cursor})}
        return encode({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": wanted})

    def note_list(self, body: bytes, *, route: Any) -> None:
        """Note that the client lists the tools itself, where its requests are not tracked."""
        if len(body) <= MAX_UNREAD_LENGTH:
            self.lister = PendingRequest("", "tools/list", body=body, route=route)

    def learn(self, data: bytes, *, is_page: bool) -> str | None:
        """Learn the tools from an answer to `tools/list`, unless it is too long; return where the next page begins."""
        is_too_long = len(data) + (self.learnt if is_page else 0) > MAX_DECODED
        message = None if is_too_long else decode(data)
        result = message.get("result") if is_object(message) else None
        if is_object(result):
            is_whole = not is_page and result.get("nextCursor") is None
            self.learnt = len(data) + (0 if is_whole else self.learnt)
            self.tools.learn(result, is_whole=is_whole)
        cursor = result.get("nextCursor") if is_object(result) else None
        return cursor if isinstance(cursor, str) else None

    # How a call ends.

    def _answer(self, request: PendingRequest, data: bytes, source: Any, *, is_failed: bool) -> Steps:
        """Answer a call with what the server says, read in full; or make it again."""
        try:
            found: AnswerReading | None = yield Compute(partial(self._read, request, data, is_failed=is_failed))
            if found is None:
                yield from self._answer_unread(request, data, source, is_failed=is_failed)
                return
            reading: AnswerReading = found
            if reading.failure is not None and self.tools.is_empty:
                yield ListTools(request, self._may_retry(request))
                if not self.tools.is_empty:
                    reading = yield Compute(partial(self.rewriter.read_again, request.call, reading))
            failure = None if reading.kind == "unflagged" else reading.failure  # what stays a success is not made again
            if failure is not None:
                if self._may_retry(request) and (yield from self._is_made_again(request, failure, reading)):
                    return
            elif (run := self._run_of_success(request)) is not None:
                yield Succeeded(run)
            answer, event = yield Compute(partial(self._write, request, reading))
            if event is not None:
                yield ReportEvent(event, request)
            self._end(request)
            passed = self._renamed(request, data) if answer is None else answer
            passed = encode({**reading.message, "id": request.id}) if passed is None else passed
            yield ToClient(passed, request, source, is_unchanged=passed is data)
        except Exception:
            from failwell._log import log

            log.exception("an answer could not be handled; if it was a failure, a minimal error was sent instead")
            if not request.is_ended:
                yield self._minimal(request, data, source, is_failed=is_failed)

    def _minimal(self, request: PendingRequest, data: bytes, source: Any, *, is_failed: bool) -> ToClient:
        from failwell.proxy.channels import minimal_error

        self._end(request)
        renamed = self._renamed(request, data)
        if renamed is not None and (self.settings.dry_run or not is_failed):
            return ToClient(renamed, request, source, is_unchanged=renamed is data)
        call = request.call
        error = minimal_error(request.id, is_call=not call.is_task, is_modern=call.is_modern)
        return ToClient(encode(error), request, source)

    def _read(self, request: PendingRequest, data: bytes, *, is_failed: bool) -> "AnswerReading | None":
        """Return what an answer says; None: it cannot be decoded."""
        rewriter, call, message = self.rewriter, request.call, decode_line(data)
        return rewriter.read_answer(call, message, is_failed=is_failed) if is_object(message) else None

    def _write(self, request: PendingRequest, reading: "AnswerReading") -> "tuple[bytes | None, Event | None]":
        """Return what takes the place of an answer, None if nothing does, and its event."""
        answer, event = self.rewriter.write_answer(request.call, reading, attempts=request.attempts, run=request.run)
        if answer is None and reading.failure is None and self.settings.response_size is not None:
            answer = self.rewriter.cut(request.call, reading.message)
        return None if answer is None else encode({**answer, "id": request.id}), event

    def _answer_unread(self, request: PendingRequest, data: bytes, source: Any, *, is_failed: bool) -> Steps:
        """Answer a call with what cannot be decoded: too deep, or too long."""
        renamed = self._renamed(request, data)
        if renamed is None or (is_failed and not self.settings.dry_run):
            yield from self._fail_unread(request, source)
            return
        if not is_failed:
            if (run := self._run_of_success(request)) is not None:
                yield Succeeded(run)
            if request.attempts is not None:
                yield ReportEvent(self.rewriter.event("recovered", request.call, attempt=request.attempts), request)
            elif self.settings.reports_all:
                yield ReportEvent(self.rewriter.event("success", request.call), request)
        self._end(request)
        yield ToClient(renamed, request, source, is_unchanged=renamed is data)

    def _fail_unread(self, request: PendingRequest, source: Any) -> Steps:
        from failwell.proxy.failures import UNREADABLE_ANSWER

        yield from self.fail(request, UNREADABLE_ANSWER, source=source, is_final=True)

    def fail(self, request: PendingRequest, failure: "Failure", *, source: Any = None, is_final: bool = False) -> Steps:
        """Answer a call with a failure that the proxy found; or make it again, unless that *is_final*.

        From now on, an answer of the server is dropped. A failure that is final says nothing about the tool, which
        others call too.
        """
        self._settle(request)
        return self._fail(request, failure.replace(tool=request.tool), source, is_final=is_final)

    def _fail(self, request: PendingRequest, failure: "Failure", source: Any, *, is_final: bool) -> Steps:
        rewriter = self.rewriter
        if is_final:
            if request.run is not None:
                request.run.cancelled()
        else:
            if self.tools.is_empty and rewriter.depends_on_tool(failure):
                yield ListTools(request, self._may_retry(request))
            if self._may_retry(request) and (yield from self._is_made_again(request, failure)):
                return
        concluded = failure if request.run is None else request.run.with_gravest_outcome(failure)
        if concluded.outcome != failure.outcome:  # an earlier try may have had an effect: the next step is another one
            concluded = concluded.replace(suggestion=None)
        event = rewriter.event("failure", request.call, concluded, attempt=request.attempts or 1)
        yield ReportEvent(event, request)
        answer = yield Compute(lambda: rewriter.failed(request.call, concluded, attempts=request.attempts))
        self._end(request)
        yield ToClient(encode(answer), request, source)

    def _is_made_again(
        self, request: PendingRequest, failure: "Failure", reading: "AnswerReading | None" = None
    ) -> Generator[Effect, Any, bool]:
        """Make a call again that failed, if that is right; return whether its answer is still to come."""
        from failwell.retry import Wait

        if request.is_cancelled:
            return False
        if (run := request.run) is None:
            run = request.run = self._new_run(request, attempt=1)
        else:
            run.hints = self.rewriter.hints(request.tool)  # they may be narrower than when the call was made
        effect: RunEffect = yield AskLimits(run, failure, reading is not None and reading.is_retried_below)
        if not isinstance(effect, Wait) or request.is_cancelled:
            return False
        details = {"attempt": run.attempt, "delay": round(effect.delay, 3)}
        yield ReportEvent(self.rewriter.event("retry", request.call, failure, **details), request)
        if self.settings.dry_run:
            return False
        return (yield from self._wait_and_send(request, run, effect.delay))

    def _wait_and_send(self, request: PendingRequest, run: "Run", delay: float) -> Generator[Effect, Any, bool]:
        from failwell.retry import Try

        request.is_held, request.succeeded = True, None
        is_over = yield Sleep(delay, request)
        is_made = (
            is_over
            and not request.is_cancelled
            and self._is_as_safe(request, run)
            and isinstance((yield from self._turn(request, run)), Try)
            and self._is_as_safe(request, run)
        )
        request.is_held = False
        if request.is_cancelled and not self.settings.answers_cancelled:
            self._end(request)
            return True
        if request.is_cancelled or not is_made:
            run.cancelled()  # it may have been its turn to find out whether a suspended tool works again
            return False
        assert request.body is not None
        request.sent_as, request.is_sent, request.is_answered = self._next_id(), False, False
        if request.is_tracked:
            self.pending[request.sent_as] = request
            self.own_ids.add(request.sent_as)
            self._answering[request.id] = request  # the client knows it by this id
        yield ToServer(with_id(request.body, request.sent_as), request)
        return True

    def _turn(self, request: PendingRequest, run: "Run") -> Generator[Effect, Any, "RunEffect"]:
        """Wait until it is the turn of a call, and return what its run says then."""
        from failwell.retry import Wait

        effect: RunEffect = yield AskLimits(run)
        while isinstance(effect, Wait) and not self.settings.dry_run:
            is_over = yield Sleep(effect.delay, request)
            if not is_over or request.is_cancelled:
                break
            effect = yield AskLimits(run)
        return effect

    def _is_as_safe(self, request: PendingRequest, run: "Run") -> bool:
        """Return whether the tool still promises what it did when the next try was planned."""
        return not run.hints.repeatable or self.rewriter.hints(request.tool).repeatable

    def _may_retry(self, request: PendingRequest) -> bool:
        body = request.body
        return (
            self.settings.load_retries is not None
            and not request.is_batched
            and not request.is_resumed
            and body is not None
            and len(body) <= MAX_RETRIED_CALL
        )

    def _new_run(self, request: PendingRequest, attempt: int = 0) -> "Run":
        from failwell.retry import Run

        rules = self.settings.retries
        assert rules is not None
        call = request.call
        policies = self.settings.policies
        return Run(
            rules.policy if policies is None else policies.policy(call.tool),
            rules.limits,
            server=self._server,
            tool=call.tool,
            arguments=call.arguments,
            hints=self.rewriter.hints(call.tool),
            started=request.started,
            attempt=attempt,
        )

    def late_calls(self, now: float) -> tuple[list[PendingRequest], float | None]:
        """Return the calls that have taken too long, and when the next of the others will have; None: none will.

        While the client's user is asked for something, the time does not count.
        """
        late: list[PendingRequest] = []
        ends: list[float] = []
        for request in () if self._asked else self.pending.values():
            end = self.settings.expiry(request) if request.tool and not request.is_held else None
            if end is not None and end <= now:
                late.append(request)
            elif end is not None:
                ends.append(end)
        return late, min(ends, default=None)

    def time_out(self, request: PendingRequest, now: float) -> Steps:
        """Answer a call that has taken too long, or make it again: whether it took effect is unknown."""
        from failwell.proxy.failures import timed_out

        since = max(request.tried, request.started) if self.settings.timeout is not None else request.started
        return self.fail(request, timed_out(now - since))

    @staticmethod
    def cancellation(request: PendingRequest) -> bytes:
        """Return the notification that a call is cancelled, as the server knows it."""
        params = {"requestId": request.sent_as, "reason": "It took too long."}
        return encode({"jsonrpc": "2.0", "method": _CANCELLED, "params": params})

    def lose(self, request: PendingRequest) -> None:
        """Note that the server will not answer a request that is no call: another answer is dropped."""
        self._settle(request)
        self._end(request)

    def abandon(self, request: PendingRequest) -> None:
        """Note that a call ends without an answer of its own, unless it has one; another call may probe its tool."""
        if not request.is_ended:
            if request.run is not None:
                request.run.cancelled()
            self.lose(request)

    def forget(self, request: PendingRequest) -> None:
        """Note that the server does not get a request, or that nobody waits for its answer any more."""
        request.is_answered = request.is_ended = True
        self.own_ids.discard(request.sent_as)
        for known, id in ((self.pending, request.sent_as), (self._answering, request.id)):
            if known.get(id) is request:
                del known[id]

    def note_notification(self, data: bytes, now: float) -> ListTools | None:
        """Note a notification of the server that passes; return what it leads to: tools that changed are listed."""
        if b"list_changed" in data and (note := glance_at_server(data)) and note.method == _TOOLS_CHANGED:
            return self._outdate_tools(now)
        return None

    def _outdate_tools(self, now: float) -> ListTools | None:
        """Note that the tools changed, and return what lists them again.

        None: the client never listed them, or they were listed a moment ago, as by a server that says each time that
        they changed. Then they are listed when they are needed.
        """
        self.tools.outdate()
        self.listing = None
        self.learnt = 0
        if self.lister is None or now - self._listed_again < MIN_TOOL_LIST_INTERVAL:
            return None
        self._listed_again = now
        return ListTools(self.lister, is_awaited=False)

    @staticmethod
    def _pass_and_list(data: bytes, source: Any, listing: ListTools) -> Steps:
        yield ToClient(data, None, source, is_unchanged=True)
        yield listing

    def give_up_own_requests(self) -> None:
        """Let go whoever waits for the answer to a request of the proxy itself."""
        for request in list(self.pending.values()):
            if request.on_answer is not None:
                request.on_answer(b"")

    def note_passed(self, id: Id, *, is_requested: bool) -> None:
        """Note that an answer has passed of which only the id was read."""
        if self.pending.pop(id, None) or self._cancelled.pop(id, None) or is_requested:
            self.note_answered(id)
        else:
            self.answered_ids.discard(id)  # nobody requested it: another answer passes too

    def note_all_passed(self, ids: Collection[Id], tools: dict[Id, str]) -> bool:
        """Note calls that were sent and answered meanwhile, and take them out of *tools*, which names the tool of each.

        Return whether that was done: not if an earlier request of the same id is pending.
        """
        if not (self.pending.keys().isdisjoint(ids) and self._cancelled.keys().isdisjoint(ids)):
            return False
        for tool, calls in Counter(map(tools.pop, ids)).items():
            self.settings.count(tool, calls)
        self.answered_ids.update(ids)
        self._recently_answered.update(ids)
        self._bound_answered()
        return True

    def note_answered(self, id: Id) -> None:
        """Note that a request has its answer: another one is dropped."""
        self.answered_ids.add(id)
        self._recently_answered.add(id)
        self._bound_answered()

    def _bound_answered(self) -> None:
        known, recent = self.answered_ids, self._recently_answered
        if len(recent) >= MAX_ANSWERED_IDS:
            known.clear()
            known.update(recent)
            recent.clear()


def _is_id(value: Any) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool)


def join(found: list[tuple[bytes, "bytes | Steps | None"]], source: Any) -> Steps:
    """Carry out what came of the messages of a batch, and answer with one batch."""
    kept: list[bytes] = []
    for one, what in found:
        if what is None or isinstance(what, bytes):
            kept.append(one if what is None else what)
            continue
        result = None
        while True:
            try:
                effect = what.send(result)
            except StopIteration:
                break
            if isinstance(effect, ToClient):
                kept.append(effect.data)
                result = None
            else:
                result = yield effect
    batch = [one for one in kept if one]
    if batch:
        yield ToClient(b"[" + b",".join(batch) + b"]", None, source)
