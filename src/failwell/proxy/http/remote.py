"""`speak`: standard input and output in front of a URL, for hosts that start their servers as commands."""

import asyncio
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell._json import is_object
from failwell.proxy.events import Happening
from failwell.proxy.http.addresses import ServerUrl
from failwell.proxy.http.exchange import Exchange, pass_on
from failwell.proxy.http.headers import RequestHeaders, to_server
from failwell.proxy.http.lines import LineReader, LineWriter, StdioReply
from failwell.proxy.http.refusals import LOST, broken
from failwell.proxy.http.reply import ClientGone, Headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.server import Setup, say
from failwell.proxy.http.sessions import Ask, HttpSession, Posted
from failwell.proxy.http.streams import ListeningStream
from failwell.proxy.http.tools import answer_in
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.messages import Id, decoded, encode
from failwell.proxy.options import ProxyOptions
from failwell.proxy.rewriter import Message, tried

_MOST_IN_VAIN = 3
_RESUMED_AFTER = 1.0
_OPENED_WITHIN = 10.0


class StreamHead(Protocol):
    """Gives the headers of a request."""

    def __call__(self, message: object, **more: str) -> Headers:
        """Return those that go with a message, or with a request that carries none; and more."""
        ...


class ServerStream(NamedTuple):
    """A stream of the older transport that was opened."""

    listening: ListeningStream
    task: asyncio.Task[None]


class ServerStreams:
    """Opens streams to one server for one client.

    `url` is where messages are posted, `stream` the one that all answers come on with the older transport.

    Args:
        upstream: the server.
        rules: what the operator wants.
        session: what is known of the client.
        head: gives the headers of a request.
        next_id: gives ids that no client uses.
    """

    def __init__(
        self, upstream: Upstream, rules: Rules, session: HttpSession, *, head: StreamHead, next_id: Callable[[], Id]
    ) -> None:
        self.url = upstream.place.url
        self.stream: ListeningStream | None = None
        self._upstream = upstream
        self._rules = rules
        self._session = session
        self._head = head
        self._next_id = next_id
        self._heard: StdioReply | None = None
        self._unanswered: list[StdioReply] = []

    async def unasked(self, reply: StdioReply) -> None:
        """Pass on what the server says unasked; open the stream again when it ends, unless the server has none."""
        in_vain = 0
        while in_vain < _MOST_IN_VAIN:
            try:
                if await self._once(reply) != 200:
                    return
                in_vain = 0
            except BROKEN:
                in_vain += 1
            await asyncio.sleep(_RESUMED_AFTER if reply.patience is None else reply.patience)

    async def resume(self, reply: StdioReply) -> None:
        """Ask for the rest of a stream that broke off, as the server allows by giving its events ids."""
        for _ in range(_MOST_IN_VAIN):
            await asyncio.sleep(_RESUMED_AFTER if reply.patience is None else reply.patience)
            with suppress(*BROKEN):
                await self._once(reply)
            if reply.is_answered:
                return

    async def older(self, reply: StdioReply) -> ServerStream | None:
        """Open a stream of the older transport, which says where to post to; None: the server does not speak it."""
        response = await self._upstream.send("GET", self.url, self._head(None))
        if not _is_stream(response):
            response.release()
            return None
        opened: asyncio.Future[ListeningStream] = asyncio.get_running_loop().create_future()
        listening = self._listening(reply)
        task = asyncio.create_task(listening.run(response, opened=opened.set_result))
        await asyncio.wait((opened, task), timeout=_OPENED_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if listening.endpoint is None:
            task.cancel()
            response.close()
            return None
        self.stream, self._heard = listening, reply
        self.url = self._upstream.place.url_for(listening.endpoint)
        return ServerStream(listening, task)

    def asked(self, reply: StdioReply) -> None:
        """Note a request whose answer comes on the older transport's stream."""
        self._unanswered = [one for one in self._unanswered if not self._is_answered(one)]
        self._unanswered.append(reply)

    async def until_the_end(self, stream: ServerStream) -> None:
        """Wait until a stream ends, and answer what was asked over it with an error. Calls have their failures then."""
        await stream.task
        for reply in self._unanswered:
            if not self._is_answered(reply):
                await reply.failed(LOST.message)

    def _is_answered(self, reply: StdioReply) -> bool:
        return reply.is_answered or (self._heard is not None and reply.asked in self._heard.answered)

    async def _once(self, reply: StdioReply) -> int:
        resumed = {"Last-Event-ID": reply.last_event.decode("utf-8", "replace")} if reply.last_event else {}
        response = await self._upstream.send("GET", self.url, self._head(None, **resumed))
        try:
            if _is_stream(response):
                await self._listening(reply).run(response, opened=lambda _: None)
        finally:
            response.close()
        return response.status

    def _listening(self, reply: StdioReply) -> ListeningStream:
        return ListeningStream(self._session, reply, upstream=self._upstream, rules=self._rules, next_id=self._next_id)


def _is_stream(response: ClientResponse) -> bool:
    return response.status == 200 and response.content_type == "text/event-stream"


_OK, _SESSION_IS_GONE = 200, 404
_SESSION = "Mcp-Session-Id"
_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class SessionRenewal(Upstream):
    """A pool of connections to one server, for one client that knows nothing of sessions.

    A server that does not know a session has done nothing with the request, so that it may be made again in a new one.

    Args:
        place: where the server is.
        is_wanted: whether the operator wants it.
    """

    def __init__(self, place: ServerUrl, *, is_wanted: bool) -> None:
        super().__init__(place, keeps_cookies=True)
        self.begun: RenewedSession | None = None
        self._is_wanted = is_wanted
        self._lock = asyncio.Lock()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> ClientResponse:
        """Return the head of the server's answer, in a new session if the old one is gone."""
        response = await super().send(method, url, headers, body)
        lost = headers.get(_SESSION)
        if response.status != _SESSION_IS_GONE or lost is None or method == "DELETE" or self.begun is None:
            return response
        session = await self._renewed(self.begun, url, lost) if self._is_wanted else None
        if session is None:
            return response
        response.release()
        again = CIMultiDict(headers)
        again[_SESSION] = session
        return await super().send(method, url, again, body)

    async def _renewed(self, begun: "RenewedSession", url: str, lost: str) -> str | None:
        """Return the session that takes the place of one that is lost; None: the server begins none."""
        stamps = begun.stamps
        async with self._lock:
            if stamps.session != lost:  # another request was first to find it gone
                return stamps.session
            response = await super().send("POST", url, begun.head({"method": "initialize"}), begun.handshake)
            try:
                message = await answer_in(response) if response.status == _OK else None
            finally:
                response.release()
            session = response.headers.get(_SESSION)
            result = None if message is None else message.get("result")
            if session is None or not is_object(result):
                return None
            stamps.session, stamps.version = session, result.get("protocolVersion")
            told = await super().send("POST", url, begun.head(_INITIALIZED), encode(_INITIALIZED))
            told.release()
            begun.report(Happening("restarted"))
            return session


class RenewedSession(NamedTuple):
    """How the client began, where its session is kept, what gives the headers of a message, and who is told."""

    handshake: bytes
    stamps: RequestHeaders
    head: Callable[[Any], Headers]
    report: Callable[[Happening], object]


_GOODBYE = 0.5
_OLDER_TRANSPORT = (400, 404, 405)
_CANNOT = 1


async def speak(options: ProxyOptions, events: int | str | None, *, source: int = 0, target: int = 1) -> int:
    """Pass the client's messages to the URL until it closes its end, and return the exit code."""
    assert options.url is not None
    setup = Setup(options, events)
    upstream = SessionRenewal(ServerUrl(options.url), is_wanted=options.restart)
    remote = Remote(upstream, setup, LineWriter(target), headers=options.header)
    work = asyncio.ensure_future(remote.run(LineReader(source), grace=options.grace))

    def end(number: int) -> None:
        remote.code = 128 + number
        work.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    with suppress(asyncio.CancelledError, ClientGone):
        await work
    with suppress(TimeoutError, *BROKEN):
        async with asyncio.timeout(_GOODBYE):
            await remote.goodbye()
    await upstream.close()
    setup.close()
    setup.sum_up(say)
    return remote.code


class Remote:
    """One client with lines, one server with a URL.

    Args:
        upstream: the server.
        setup: what the operator wants.
        output: where the client reads.
        headers: what the server gets with each request.
    """

    def __init__(
        self, upstream: SessionRenewal, setup: Setup, output: LineWriter, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.code = 0
        self._upstream = upstream
        self._rules = setup.rules
        self._output = output
        basic = upstream.place.authorization
        self._headers = (*headers, ("Authorization", basic)) if basic else headers
        self._session = HttpSession(setup.upgrader())
        self._stamps = RequestHeaders(self._session.upgrader.tools)
        self._hearing = ServerStreams(upstream, self._rules, self._session, head=self._head, next_id=self._next_id)
        self._tasks: dict[Id, asyncio.Task[None]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._count = 0
        self._gone = asyncio.Event()

    async def run(self, lines: LineReader, *, grace: float) -> None:
        """Pass messages until the client has no more, and wait a while for their answers."""
        passing = asyncio.create_task(self._pass(lines))
        ended, gone = asyncio.create_task(lines.ended.wait()), asyncio.create_task(self._gone.wait())
        try:
            await asyncio.wait((passing, ended, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if not passing.done():
                await asyncio.wait((passing,), timeout=grace)
            if passing.done():
                passing.result()
                await self._last_answers(grace)
        finally:
            for task in (passing, ended, gone):
                task.cancel()

    async def _pass(self, lines: LineReader) -> None:
        async for line in lines:
            await self._line(line)

    async def _last_answers(self, grace: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=grace)

    async def goodbye(self) -> None:
        """End what still runs, and the session at the server."""
        for task in (*self._tasks.values(), *([self._listener] if self._listener else [])):
            task.cancel()
        if self._stamps.session is not None:
            response = await self._upstream.send("DELETE", self._hearing.url, self._head(None))
            response.release()

    async def _line(self, line: bytes) -> None:
        message = decoded(line)
        posted = Posted.of(line)
        method = message.get("method") if is_object(message) else None
        if posted.cancels is not None and self._is_closed_instead(posted.cancels):
            return
        reply = StdioReply(self._output, posted.id, seen=self._initialized if method == "initialize" else self._heard)
        work = self._answer(posted, message, reply)
        if posted.id is None or method == "initialize":
            await work
        else:
            task = asyncio.create_task(work)
            self._tasks[posted.id] = task
            task.add_done_callback(partial(self._over, posted.id))
        if method == "notifications/initialized" and self._hearing.stream is None:
            self._listener = asyncio.create_task(self._hear())

    def _over(self, id: Id, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id) is task:
            del self._tasks[id]

    def _is_closed_instead(self, id: Id) -> bool:
        """End a request by closing its stream, if that is how its era cancels."""
        task = self._tasks.get(id)
        if task is None or self._stamps.version is not None:
            return False
        task.cancel()
        return True

    def _head(self, message: Any, **more: str) -> Headers:
        return to_server([*self._stamps.headers(message), *more.items()], more=self._headers)

    async def _answer(self, posted: Posted, message: Any, reply: StdioReply) -> None:
        with self._unless_gone():
            try:
                await self._exchange(posted, message, reply)
            except ClientGone:
                raise
            except Exception as failed:  # whatever it is, the client gets an answer
                await reply.failed(f"failwell: {broken(failed).message}")

    async def _exchange(self, posted: Posted, message: Any, reply: StdioReply) -> None:
        headers = self._head(message)
        if posted.calls:
            ask = Ask(posted, self._hearing.url, headers, self._session, is_tracked=True)
            if self._hearing.stream is not None:
                self._hearing.stream.posted(ask)
            exchange = Exchange(ask, reply, upstream=self._upstream, rules=self._rules, next_id=self._next_id)
            await exchange.run()
        else:
            await self._post(posted, message, headers, reply)
        if not reply.is_answered and reply.last_event is not None:
            await self._hearing.resume(reply)
        if reply.is_answered:
            return
        if self._hearing.stream is not None:
            self._hearing.asked(reply)
        else:
            await self._give_up(posted, reply)

    async def _post(self, posted: Posted, message: Any, headers: Headers, reply: StdioReply) -> None:
        body = posted.body if posted.cancels is None else self._session.cancel(posted) or posted.body
        if self._hearing.stream is not None:
            self._hearing.stream.listing(posted)
        try:
            response = await self._upstream.send("POST", self._hearing.url, headers, body)
            try:
                if is_object(message) and message.get("method") == "initialize":
                    if response.status in _OLDER_TRANSPORT and await self._fell_back(body, reply):
                        return
                    self._stamps.session = response.headers.get("Mcp-Session-Id")
                    self._upstream.begun = RenewedSession(body, self._stamps, self._head, self._rules.report)
                if posted.is_list:
                    await self._listed(posted, response, reply)
                else:
                    await pass_on(response, reply)
            finally:
                response.release()
            self.code = 0
        except BROKEN as exc:
            if reply.last_event is None:
                await self._unreached(exc, reply)

    async def _unreached(self, exc: BaseException, reply: StdioReply) -> None:
        sentence = f"cannot reach {self._upstream.place.root}: {broken(exc).message}"
        if not self.code:
            say(sentence)
            self.code = _CANNOT
        await reply.failed(f"failwell: {sentence}")

    async def _listed(self, posted: Posted, response: ClientResponse, reply: StdioReply) -> None:
        """Pass on an answer to `tools/list` and take it in."""
        before = reply.seen

        def learn(data: bytes) -> None:
            before(data)
            self._session.learn(decoded(data), is_page=posted.is_page)

        reply.seen = learn
        await pass_on(response, reply)

    async def _give_up(self, posted: Posted, reply: StdioReply) -> None:
        for pending in posted.calls:
            if not pending.is_cancelled:
                self._session.ended(pending)
                told = self._session.upgrader.happening("failure", pending.call, LOST, **tried(pending.attempts))
                self._rules.report(told)
                answer = self._session.failed(pending, LOST)
                await reply.whole(200, CIMultiDict(), encode(answer))
        if not posted.calls:
            await reply.failed(LOST.message)

    async def _hear(self) -> None:
        """Hear what the server says unasked, for as long as anybody reads it."""
        with self._unless_gone():
            await self._hearing.unasked(StdioReply(self._output, None, seen=self._heard))

    async def _fell_back(self, body: bytes, reply: StdioReply) -> bool:
        """Speak the older transport from now on, if the server does."""
        stream = await self._hearing.older(StdioReply(self._output, None, seen=self._initialized))
        if stream is None:
            return False
        self._listener = asyncio.create_task(self._hear_older(stream))
        posted = await self._upstream.send("POST", self._hearing.url, self._head(None), body)
        posted.release()
        self._hearing.asked(reply)
        return True

    async def _hear_older(self, stream: ServerStream) -> None:
        with self._unless_gone():
            await self._hearing.until_the_end(stream)

    @contextmanager
    def _unless_gone(self) -> Generator[None]:
        try:
            yield
        except ClientGone:
            self._gone.set()

    def _initialized(self, data: bytes) -> None:
        message: Message = decoded(data)
        result = message.get("result") if is_object(message) else None
        version = result.get("protocolVersion") if is_object(result) else None
        if isinstance(version, str):
            self._stamps.version = version
        self._heard(data)

    def _heard(self, data: bytes) -> None:
        self._session.heard(data)

    def _next_id(self) -> str:
        self._count += 1
        return f"failwell-retry-{self._count}"
