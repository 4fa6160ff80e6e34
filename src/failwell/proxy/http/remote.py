"""`speak`: standard input and output in front of a URL, for hosts that start their servers as commands."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell.json_types import is_object
from failwell.proxy.glances import Id, decoded, encode
from failwell.proxy.http.exchange import Exchange
from failwell.proxy.http.headers import to_server
from failwell.proxy.http.hearing import Hearing, Stream
from failwell.proxy.http.passing import pass_on
from failwell.proxy.http.places import Place
from failwell.proxy.http.refusing import LOST, broken
from failwell.proxy.http.renewing import Begun, Renewing
from failwell.proxy.http.replying import ClientGone, Headers
from failwell.proxy.http.serving import Setup, say
from failwell.proxy.http.sessions import Ask, Posted, Session
from failwell.proxy.http.stamping import Stamps
from failwell.proxy.http.stdio import Lines, Output, StdioReply
from failwell.proxy.http.upstream import BROKEN
from failwell.proxy.options import Options
from failwell.proxy.upgrading import Message, tried

_GOODBYE = 0.5
_OLDER_TRANSPORT = (400, 404, 405)
_CANNOT = 1


async def speak(options: Options, events: int | str | None, *, source: int = 0, target: int = 1) -> int:
    """Pass the client's messages to the URL until it closes its end, and return the exit code."""
    assert options.url is not None
    setup = Setup(options, events)
    upstream = Renewing(Place(options.url), is_wanted=options.restart)
    remote = Remote(upstream, setup, Output(target), headers=options.header)
    work = asyncio.ensure_future(remote.run(Lines(source), grace=options.grace))

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
        self, upstream: Renewing, setup: Setup, output: Output, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.code = 0
        self._upstream = upstream
        self._rules = setup.rules
        self._output = output
        basic = upstream.place.authorization
        self._headers = (*headers, ("Authorization", basic)) if basic else headers
        self._session = Session(setup.upgrader())
        self._stamps = Stamps(self._session.upgrader.tools)
        self._hearing = Hearing(upstream, self._rules, self._session, head=self._head, next_id=self._next_id)
        self._tasks: dict[Id, asyncio.Task[None]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._count = 0
        self._gone = asyncio.Event()

    async def run(self, lines: Lines, *, grace: float) -> None:
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

    async def _pass(self, lines: Lines) -> None:
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
                    self._upstream.begun = Begun(body, self._stamps, self._head, self._rules.report)
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

    async def _hear_older(self, stream: Stream) -> None:
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
