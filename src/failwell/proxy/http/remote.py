"""`run_stdio`: standard input and output in front of a URL, for hosts that start their servers as commands."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell._json import is_object
from failwell.event import Event, Observer
from failwell.phrases.rpc_codes import INVALID_REQUEST
from failwell.proxy.bounds import (
    ENDPOINT_TIMEOUT,
    MAX_PENDING,
    MAX_POSTED_BODY,
    MAX_RESUMPTIONS,
    SESSION_END_TIMEOUT,
)
from failwell.proxy.conversation import PendingRequest
from failwell.proxy.failures import ANSWER_TOO_LONG, CONNECTION_LOST, PROXY_FULL
from failwell.proxy.http.bodies import BodyTooLong, TooManyBodies
from failwell.proxy.http.effects import AsyncEffectRunner
from failwell.proxy.http.exchange import Exchange, pass_on
from failwell.proxy.http.failures import failure_from_exception
from failwell.proxy.http.headers import RequestHeaders, to_server
from failwell.proxy.http.redaction import redacting
from failwell.proxy.http.reply import ClientGone, Headers, LineWriter, StdioReply
from failwell.proxy.http.server import CANNOT_SERVE, Setup
from failwell.proxy.http.sessions import HttpSession, PostedBody, UpstreamRequest
from failwell.proxy.http.streams import ListeningStream
from failwell.proxy.http.tools import ToolLister, answer_in
from failwell.proxy.http.upstream import BROKEN, ServerUrl, Upstream
from failwell.proxy.messages import Id, decode, encode
from failwell.proxy.options import ProxyOptions, tell_operator
from failwell.proxy.rewriter import Message
from failwell.proxy.stdio.long_lines import line_id
from failwell.proxy.stdio.pump import LongLine

if TYPE_CHECKING:
    from failwell.proxy.recorder import ProxyMetrics

_CHUNK = 1 << 16
_RESUME_DELAY = 1.0


class LineReader:
    """The lines that a client sends, read in a thread, which works for a pipe, a file and a terminal alike."""

    def __init__(self, source: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | LongLine | None] = asyncio.Queue()
        self._room = threading.Condition()
        self._held = 0
        self.ended = asyncio.Event()
        threading.Thread(target=self._read, args=(source,), daemon=True, name="failwell lines").start()

    async def __aiter__(self) -> AsyncIterator[bytes | LongLine]:
        while (line := await self._queue.get()) is not None:
            with self._room:
                self._held -= _length(line)
                self._room.notify()
            yield line

    def _read(self, source: int) -> None:
        held: bytearray | LongLine = bytearray()
        try:
            while chunk := os.read(source, _CHUNK):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    self._put(_grown(held, line))
                    held = bytearray()
                held = _grown(held, rest)
            self._put(held)
        except (OSError, RuntimeError):  # nothing to read from, or the loop is over
            pass
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)
            self._loop.call_soon_threadsafe(self.ended.set)
        except RuntimeError:
            return

    def _put(self, line: bytearray | LongLine) -> None:
        if isinstance(line, LongLine):
            line.is_over = True
        found = line if isinstance(line, LongLine) else bytes(line.strip())
        if _length(found):
            with self._room:
                self._room.wait_for(lambda: self._held <= MAX_POSTED_BODY)
                self._held += _length(found)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, found)


def _grown(held: bytearray | LongLine, more: bytes) -> bytearray | LongLine:
    """Return what is held of a line after more of it has come."""
    if isinstance(held, LongLine):
        held.add(more)
        return held
    held += more
    if len(held) <= MAX_POSTED_BODY:
        return held
    long = LongLine(bytes(held))
    long.add(bytes(held))
    return long


def _length(line: bytes | LongLine) -> int:
    return len(line.head) + len(line.tail) if isinstance(line, LongLine) else len(line)


class HeaderSource(Protocol):
    """Gives the headers of a request."""

    def __call__(self, message: object, **more: str) -> Headers:
        """Return those that go with a message, or with a request that carries none; and more."""
        ...


class ServerStreams:
    """Opens streams to one server for one client.

    `url` is where messages are posted, `stream` the one that all answers arrive on with the older transport.

    Args:
        upstream: the server.
        effects: carries out what the conversation wants.
        session: what is known of the client.
        output: where the client reads.
        headers: gives the headers of a request.
    """

    def __init__(
        self,
        upstream: Upstream,
        effects: AsyncEffectRunner,
        session: HttpSession,
        output: LineWriter,
        *,
        headers: HeaderSource,
    ) -> None:
        self.url = upstream.server_url.url
        self.stream: ListeningStream | None = None
        self._upstream = upstream
        self._effects = effects
        self._session = session
        self._headers = headers
        self._output = output
        self._unanswered: list[StdioReply] = []

    async def listen(self, reply: StdioReply) -> None:
        """Pass on the server's own messages; open the stream again when it ends, unless the server has none."""
        failures = 0
        while failures < MAX_RESUMPTIONS:
            try:
                if await self._listen_once(reply) != 200:
                    return
                failures = 0
            except BROKEN:
                failures += 1
            await asyncio.sleep(_RESUME_DELAY if reply.resume_delay is None else reply.resume_delay)

    async def resume(self, reply: StdioReply) -> None:
        """Ask for the rest of a stream that broke off, which the server allows by giving its events ids."""
        for _ in range(MAX_RESUMPTIONS):
            await asyncio.sleep(_RESUME_DELAY if reply.resume_delay is None else reply.resume_delay)
            with suppress(*BROKEN):
                await self._listen_once(reply)
            if reply.is_answered:
                return

    async def open_older(self, reply: StdioReply) -> asyncio.Task[None] | None:
        """Return the task of a stream of the older transport, which says where to post to; None: there is none."""
        response = await self._upstream.send("GET", self.url, self._headers(None))
        if not _is_stream(response):
            response.release()
            return None
        has_endpoint: asyncio.Future[ListeningStream] = asyncio.get_running_loop().create_future()
        stream = self._make_stream(reply)
        task = asyncio.create_task(stream.run(response, on_endpoint=has_endpoint.set_result))
        await asyncio.wait((has_endpoint, task), timeout=ENDPOINT_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        if stream.endpoint is None:
            task.cancel()
            response.close()
            return None
        self.stream = stream
        self.url = self._upstream.server_url.url_for(stream.endpoint)
        return task

    def add_request(self, reply: StdioReply) -> None:
        """Note a request whose answer arrives on the older transport's stream."""
        self._unanswered = [one for one in self._unanswered if not self._is_answered(one)]
        self._unanswered.append(reply)

    async def wait_for_end(self, stream: asyncio.Task[None]) -> None:
        """Wait until a stream ends, and answer its requests with an error. Calls have their failures then."""
        await stream
        for reply in self._unanswered:
            if not self._is_answered(reply):
                await reply.fail(CONNECTION_LOST.message)

    def _is_answered(self, reply: StdioReply) -> bool:
        return reply.is_answered or self._output.has_answered(reply.request_id)

    async def _listen_once(self, reply: StdioReply) -> int:
        resumed = {"Last-Event-ID": reply.last_event.decode("utf-8", "replace")} if reply.last_event else {}
        response = await self._upstream.send("GET", self.url, self._headers(None, **resumed))
        try:
            if _is_stream(response):
                await self._make_stream(reply).run(response, on_endpoint=lambda _: None)
        finally:
            response.close()
        return response.status

    def _make_stream(self, reply: StdioReply) -> ListeningStream:
        return ListeningStream(self._session, reply, upstream=self._upstream, effects=self._effects)


def _is_stream(response: ClientResponse) -> bool:
    return response.status == 200 and response.content_type == "text/event-stream"


_OK, _SESSION_IS_GONE = 200, 404
_SESSION = "Mcp-Session-Id"
_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class RenewingUpstream(Upstream):
    """A pool of connections to one server, for one client that knows nothing of sessions.

    A server that does not know a session has done nothing with the request, so that it may be made again in a new one.

    Args:
        server_url: the URL of the server.
        is_enabled: whether sessions are renewed.
    """

    def __init__(self, server_url: ServerUrl, *, is_enabled: bool) -> None:
        super().__init__(server_url, keeps_cookies=True)
        self.session_start: SessionStart | None = None
        self._is_enabled = is_enabled
        self._lock = asyncio.Lock()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: Any = None) -> ClientResponse:
        """Return the head of the server's response, in a new session if the old one is gone."""
        response = await super().send(method, url, headers, body)
        lost = headers.get(_SESSION)
        if response.status != _SESSION_IS_GONE or lost is None or method == "DELETE" or self.session_start is None:
            return response
        session = await self._renew(self.session_start, url, lost) if self._is_enabled else None
        if session is None:
            return response
        response.release()
        renewed = CIMultiDict(headers)
        renewed[_SESSION] = session
        return await super().send(method, url, renewed, body)

    async def _renew(self, start: "SessionStart", url: str, lost: str) -> str | None:
        """Return the session that replaces a lost one; None: the server begins none."""
        request_headers = start.request_headers
        async with self._lock:
            if request_headers.session != lost:  # another request was first to find it gone
                return request_headers.session
            response = await super().send("POST", url, start.headers({"method": "initialize"}), start.initialize)
            try:
                with self.memory.share() as share:
                    message = decode(await answer_in(response, share)) if response.status == _OK else None
            finally:
                response.release()
            session = response.headers.get(_SESSION)
            result = message.get("result") if is_object(message) else None
            if session is None or not is_object(result):
                return None
            request_headers.session, request_headers.version = session, result.get("protocolVersion")
            response = await super().send("POST", url, start.headers(_INITIALIZED), encode(_INITIALIZED))
            response.release()
            start.report(Event(source="proxy", kind="restarted"))
            return session


class SessionStart(NamedTuple):
    """The client's `initialize`, the headers that hold its session, what gives those of a message, and a reporter."""

    initialize: bytes
    request_headers: RequestHeaders
    headers: Callable[[Any], Headers]
    report: Observer


_OLDER_TRANSPORT = (400, 404, 405)


async def run_stdio(
    options: ProxyOptions,
    events: int | str | None,
    *,
    metrics: "ProxyMetrics | None" = None,
    source: int = 0,
    target: int = 1,
) -> int:
    """Pass the client's messages to the URL until it closes its end, and return the exit code."""
    assert options.url is not None
    setup = Setup(options, events, metrics)
    upstream = RenewingUpstream(ServerUrl(options.url), is_enabled=options.restart)
    remote = RemoteSession(upstream, setup, LineWriter(target), headers=options.header)
    work = asyncio.ensure_future(remote.run(LineReader(source), grace=options.grace))

    def end(number: int) -> None:
        remote.code = 128 + number
        work.cancel()

    with suppress(NotImplementedError):  # Windows has no such handlers; there Ctrl-C ends it
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end, number)
    with suppress(asyncio.CancelledError, ClientGone):
        await work
    with suppress(TimeoutError, *BROKEN):
        async with asyncio.timeout(SESSION_END_TIMEOUT):
            await remote.close()
    await upstream.close()
    setup.close()
    setup.write_summary()
    return remote.code


class RemoteSession:
    """One client on standard input and output, one server with a URL.

    Args:
        upstream: the server.
        setup: the parts that the options ask for.
        output: where the client reads.
        headers: what the server gets with each request.
    """

    def __init__(
        self, upstream: RenewingUpstream, setup: Setup, output: LineWriter, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.code = 0
        self._upstream = upstream
        self._effects = AsyncEffectRunner(setup.report, list_tools=self._list_tools)
        self._lister = ToolLister(upstream)
        self._dry_run = setup.settings.dry_run
        self._output = output
        basic = upstream.server_url.authorization
        self._headers = (*headers, ("Authorization", basic)) if basic else headers
        self._session = HttpSession(setup.make_conversation())
        self._conversation = self._session.conversation
        self._request_headers = RequestHeaders(self._conversation.tools)
        self._streams = ServerStreams(upstream, self._effects, self._session, output, headers=self._make_headers)
        self._tasks: dict[Id, asyncio.Task[None]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._client_gone = asyncio.Event()

    async def run(self, lines: LineReader, *, grace: float) -> None:
        """Pass messages until the client has no more, and wait a little for their answers."""
        passing = asyncio.create_task(self._pass(lines))
        ended, gone = asyncio.create_task(lines.ended.wait()), asyncio.create_task(self._client_gone.wait())
        try:
            await asyncio.wait((passing, ended, gone), return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if not passing.done():
                await asyncio.wait((passing,), timeout=grace)
            if passing.done():
                passing.result()
                await self._wait_for_answers(grace)
        finally:
            for task in (passing, ended, gone):
                task.cancel()

    async def _pass(self, lines: LineReader) -> None:
        async for line in lines:
            if isinstance(line, LongLine):
                await self._refuse(line_id(line), f"the line is longer than {MAX_POSTED_BODY >> 20} MiB")
            else:
                await self._pass_line(line)

    async def _wait_for_answers(self, grace: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=grace)

    async def close(self) -> None:
        """End what still runs, and the session at the server."""
        running = [*self._tasks.values(), *([self._listener] if self._listener else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._request_headers.session is not None:
            response = await self._upstream.send("DELETE", self._streams.url, self._make_headers(None))
            response.release()

    async def _refuse(self, id: Id | None, sentence: str) -> None:
        """Answer a request that is not passed on."""
        error = {"code": INVALID_REQUEST, "message": f"failwell: {sentence}"}
        with self._until_client_gone():
            await self._output.message(encode({"jsonrpc": "2.0", "id": id, "error": error}))

    async def _pass_line(self, line: bytes) -> None:
        try:
            posted = PostedBody.of(line)
        except BodyTooLong as exc:
            await self._refuse(None, f"the batch is {exc}")
            return
        if posted.id is not None and len(self._tasks) >= MAX_PENDING:
            await self._refuse(posted.id, f"more than {MAX_PENDING} requests have no answer yet")
            return
        message = decode(line)
        method = message.get("method") if is_object(message) else None
        if posted.cancels is not None and self._is_cancelled_by_closing(posted.cancels):
            return
        for id in [posted.id] if posted.id is not None else [pending.id for pending in posted.calls]:
            if id is not None:
                self._output.note_request(id)
        reply = StdioReply(
            self._output,
            posted.id,
            on_message=self._note_initialized if method == "initialize" else self._note_notification,
        )
        work = self._answer(posted, message, reply)
        if posted.id is None or method == "initialize":
            await work
        else:
            task = asyncio.create_task(work)
            self._tasks[posted.id] = task
            task.add_done_callback(partial(self._remove_task, posted.id))
        if method == "notifications/initialized" and self._streams.stream is None:
            self._listener = asyncio.create_task(self._listen())

    def _remove_task(self, id: Id, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id) is task:
            del self._tasks[id]

    def _is_cancelled_by_closing(self, id: Id) -> bool:
        """End a request by closing its stream, if that is how its version of the protocol cancels."""
        task = self._tasks.get(id)
        if task is None or self._request_headers.version is not None:
            return False
        task.cancel()
        return True

    def _make_headers(self, message: Any, **more: str) -> Headers:
        return to_server([*self._request_headers.headers(message), *more.items()], more=self._headers)

    async def _answer(self, posted: PostedBody, message: Any, reply: StdioReply) -> None:
        with self._until_client_gone():
            try:
                await self._exchange(posted, message, reply)
            except ClientGone:
                raise
            except Exception as failed:  # whatever it is, the client gets an answer
                await reply.fail(f"failwell: {failure_from_exception(failed).message}")

    async def _exchange(self, posted: PostedBody, message: Any, reply: StdioReply) -> None:
        headers = self._make_headers(message)
        if posted.calls:
            request = UpstreamRequest(posted, self._streams.url, headers, self._session, is_tracked=True)
            await Exchange(request, reply, upstream=self._upstream, effects=self._effects).run()
        else:
            await self._post(posted, message, headers, reply)
        if not reply.is_answered and reply.last_event is not None:
            await self._streams.resume(reply)
        if reply.is_answered:
            return
        if self._streams.stream is not None:
            self._streams.add_request(reply)
        else:
            await self._answer_lost(posted, reply)

    async def _post(self, posted: PostedBody, message: Any, headers: Headers, reply: StdioReply) -> None:
        body = (
            posted.body
            if posted.cancels is None
            else self._conversation.cancel(posted.cancels, posted.body) or posted.body
        )
        if self._streams.stream is not None:
            self._streams.stream.add_tool_request(posted)
        try:
            response = await self._upstream.send("POST", self._streams.url, headers, body)
            try:
                if is_object(message) and message.get("method") == "initialize":
                    if response.status in _OLDER_TRANSPORT and await self._is_older_transport(body, reply):
                        return
                    self._request_headers.session = response.headers.get("Mcp-Session-Id")
                    self._upstream.session_start = SessionStart(
                        body, self._request_headers, self._make_headers, self._effects.report
                    )
                if posted.is_list:
                    await self._pass_tools(posted, headers, response, reply)
                else:
                    await self._pass_on(response, reply)
            finally:
                response.release()
            self.code = 0
        except BROKEN as exc:
            if reply.last_event is None:
                await self._answer_broken(exc, reply)

    async def _answer_broken(self, exc: BaseException, reply: StdioReply) -> None:
        sentence = f"cannot reach {self._upstream.server_url.root}: {failure_from_exception(exc).message}"
        if not self.code:
            tell_operator(sentence)
            self.code = CANNOT_SERVE
        await reply.fail(f"failwell: {sentence}")

    async def _pass_tools(
        self, posted: PostedBody, headers: Headers, response: ClientResponse, reply: StdioReply
    ) -> None:
        """Pass on an answer to `tools/list`, and learn the tools."""
        on_message = reply.on_message
        route = UpstreamRequest(posted, self._streams.url, headers, self._session, is_tracked=True)
        self._conversation.note_list(posted.body, route=route)

        def learn(data: bytes) -> None:
            on_message(data)
            self._conversation.learn(data, is_page=posted.is_page)

        reply.on_message = learn
        await self._pass_on(response, reply)

    async def _pass_on(self, response: ClientResponse, reply: StdioReply) -> None:
        try:
            with self._upstream.memory.share() as share:
                safe = redacting(reply, answers=reply.request_id, is_off=self._dry_run)
                await pass_on(response, safe, share)
        except (BodyTooLong, TooManyBodies) as exc:
            too_long = ANSWER_TOO_LONG if isinstance(exc, BodyTooLong) else PROXY_FULL
            await reply.fail(f"failwell: {too_long.message}")

    async def _answer_lost(self, posted: PostedBody, reply: StdioReply) -> None:
        for pending in posted.calls:
            if not pending.is_cancelled and not pending.is_ended:
                steps = self._conversation.fail(pending, CONNECTION_LOST, is_final=True)
                await self._effects.run(steps, to_client=lambda answer: reply.send(200, CIMultiDict(), answer.data))
        if not posted.calls:
            await reply.fail(CONNECTION_LOST.message)

    async def _listen(self) -> None:
        """Pass on the server's own messages, for as long as the client reads."""
        with self._until_client_gone():
            await self._streams.listen(StdioReply(self._output, None, on_message=self._note_notification))

    async def _is_older_transport(self, body: bytes, reply: StdioReply) -> bool:
        """Use the older transport from now on, if the server does."""
        stream = await self._streams.open_older(StdioReply(self._output, None, on_message=self._note_initialized))
        if stream is None:
            return False
        self._listener = asyncio.create_task(self._listen_to_older(stream))
        posted = await self._upstream.send("POST", self._streams.url, self._make_headers(None), body)
        posted.release()
        self._streams.add_request(reply)
        return True

    async def _listen_to_older(self, stream: asyncio.Task[None]) -> None:
        with self._until_client_gone():
            await self._streams.wait_for_end(stream)

    @contextmanager
    def _until_client_gone(self) -> Generator[None]:
        try:
            yield
        except ClientGone:
            self._client_gone.set()

    def _note_initialized(self, data: bytes) -> None:
        message: Message = decode(data)
        result = message.get("result") if is_object(message) else None
        version = result.get("protocolVersion") if is_object(result) else None
        if isinstance(version, str):
            self._request_headers.version = version
        self._note_notification(data)

    def _note_notification(self, data: bytes) -> None:
        listing = self._conversation.note_notification(data, self._effects.clock())
        if listing is not None and self._lists_tools:
            self._lister.start(listing.request)

    @property
    def _lists_tools(self) -> bool:
        """Whether the proxy lists tools again that the client listed: the older transport would answer the client."""
        return self._streams.stream is None and self._conversation.lister is not None

    async def _list_tools(self, request: PendingRequest, seconds: float) -> None:
        if self._lists_tools:
            await self._lister.learn(request, seconds)
