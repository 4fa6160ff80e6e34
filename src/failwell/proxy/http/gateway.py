"""`Gateway`: a reverse proxy in front of one MCP server. Everything passes unchanged but the failures of its tools."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from aiohttp import ClientResponse, web
from multidict import CIMultiDict

from failwell.proxy.http.addresses import AllowedHosts
from failwell.proxy.http.event_stream import Events, data_of
from failwell.proxy.http.exchange import Exchange, pass_on
from failwell.proxy.http.headers import to_client, to_server
from failwell.proxy.http.refusals import ENDED, broken, rpc_error
from failwell.proxy.http.reply import ClientGone, ElsewhereReply, Headers, HttpReply, Reply, json_headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Ask, HttpSession, Posted, Sessions
from failwell.proxy.http.streams import ListeningStream
from failwell.proxy.http.tools import ToolLister
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.messages import decoded, encode
from failwell.proxy.rewriter import Rewriter

_LOOKED_AGAIN_AFTER = 0.02


class Drain:
    """Knows which exchanges run, lets them end, and ends them."""

    def __init__(self) -> None:
        self._running: dict[Exchange, asyncio.Task[Any]] = {}

    async def through(self, exchange: Exchange) -> None:
        """Run an exchange."""
        task = asyncio.current_task()
        assert task is not None
        self._running[exchange] = task
        try:
            await exchange.run()
        finally:
            del self._running[exchange]

    async def end(self, streams: Collection[ListeningStream], *, grace: float, hurried: asyncio.Event) -> None:
        """Wait until no call runs, for so many seconds or until somebody is in a hurry; answer those that still do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while not hurried.is_set() and (self._running or any(stream.is_busy for stream in streams)):
                    await asyncio.sleep(_LOOKED_AGAIN_AFTER)
        for exchange, task in self._running.items():
            exchange.give_up(task)
        for stream in streams:
            with suppress(ClientGone):
                await stream.give_up(ENDED)


_SESSION = "Mcp-Session-Id"
_BAD_GATEWAY, _FORBIDDEN = 502, 403
_LONGEST_LOOKED_AT = 1 << 26


class Gateway:
    """Answers the requests of many clients with what one server answers.

    Args:
        upstream: the server.
        rules: what the operator wants of calls.
        upgrader: makes what writes the failures of one client, given the id of its session if it has one.
        door: who may come in.
        headers: what the server gets with each request, where the client sends none of that name.
    """

    def __init__(
        self,
        upstream: Upstream,
        rules: Rules,
        *,
        upgrader: Callable[[str | None], Rewriter],
        door: AllowedHosts,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._upstream = upstream
        self._rules = rules
        self._door = door
        self._sessions = Sessions(upgrader)
        self._streams: dict[str, ListeningStream] = {}
        self._learner = ToolLister(upstream)
        self._drain = Drain()
        basic = upstream.place.authorization
        self._headers = (*headers, ("Authorization", basic)) if basic else headers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        objection = self._door.objection(request.headers.get("Host"), request.headers.get("Origin"))
        if objection is not None:
            return web.Response(status=_FORBIDDEN, text=f"failwell: {objection}\n")
        reply = HttpReply(request)
        headers = to_server(request.headers.items(), more=self._headers)
        try:
            if request.method == "POST" and (request.content_length or 0) <= _LONGEST_LOOKED_AT:
                await self._post(request, headers, reply)
            else:
                await self._other(request, headers, reply)
        except ClientGone:
            pass  # nobody is left to answer
        except Exception as failed:  # whatever it is, this client gets an answer and the others are served
            await self._lost(failed, None, reply)
        return reply.response or web.Response(status=_BAD_GATEWAY)

    async def _post(self, request: web.BaseRequest, headers: Headers, http: HttpReply) -> None:
        body = await _body(request)
        posted = Posted.of(body)
        target = request.raw_path
        stream = self._streams.get(target) if self._streams else None
        key = headers.get(_SESSION)
        session = stream.session if stream is not None else self._session(key, headers)
        reply: Reply = http if stream is None else ElsewhereReply(http, stream.reply)
        url = self._upstream.place.url_for(target)
        if not posted.calls:
            if stream is not None:
                stream.listing(posted)
            if posted.cancels is not None and (key is not None or stream is not None):
                body = session.cancel(posted) or body
            await self._pass(posted, url, headers, body, session, http)
            return
        ask = Ask(posted, url, headers, session, is_tracked=key is not None or stream is not None)
        if stream is not None:
            stream.posted(ask)
        exchange = Exchange(
            ask,
            reply,
            upstream=self._upstream,
            rules=self._rules,
            next_id=self._sessions.next_id,
            learn=self._learner.learn if stream is None else None,
        )
        await self._drain.through(exchange)

    async def end(self, *, grace: float, hurried: asyncio.Event) -> None:
        """Let running calls end for so many seconds, or until somebody is in a hurry, and answer the others."""
        await self._drain.end(tuple(self._streams.values()), grace=grace, hurried=hurried)

    async def _pass(
        self, posted: Posted, url: str, headers: Headers, body: bytes, session: HttpSession, reply: HttpReply
    ) -> None:
        """Pass on what is no call; what the server lists is learnt on the way."""
        try:
            response = await self._upstream.send("POST", url, headers, body)
            try:
                if posted.is_list and response.status == 200:
                    await self._listed(posted, response, session, reply)
                else:
                    await pass_on(response, reply)
            finally:
                response.release()
        except BROKEN as exc:
            await self._lost(exc, posted, reply)

    async def _listed(self, posted: Posted, response: ClientResponse, session: HttpSession, reply: HttpReply) -> None:
        """Pass on an answer to `tools/list` and take it in, in whichever form it comes."""
        if response.content_type == "application/json":
            data = await response.read()
            session.learn(decoded(data), is_page=posted.is_page)
            await reply.whole(response.status, to_client(response.headers.items()), data)
            return
        await reply.begin(response.status, to_client(response.headers.items()))
        events = Events()
        async for chunk in response.content.iter_any():
            for event in events.feed(chunk):
                session.learn(decoded(data_of(event)), is_page=posted.is_page)
            await reply.write(chunk)

    async def _other(self, request: web.BaseRequest, headers: Headers, reply: HttpReply) -> None:
        """Pass on what is not posted: streams that are opened, sessions that are ended, and all else."""
        url, key = self._upstream.place.url_for(request.raw_path), headers.get(_SESSION)
        body = request.content if request.can_read_body else None
        try:
            response = await self._upstream.send(request.method, url, headers, body)
            try:
                if response.status == 200 and response.content_type == "text/event-stream":
                    await self._listen(response, self._session(key, headers), key, reply)
                else:
                    await pass_on(response, reply)
            finally:
                response.release()
        except BROKEN as exc:
            await self._lost(exc, None, reply)
        if request.method == "DELETE" and key is not None:
            self._sessions.end(key)

    async def _listen(self, response: ClientResponse, session: HttpSession, key: str | None, reply: HttpReply) -> None:
        if key is None:  # the older transport: a stream is a session
            session = self._sessions.fresh()
        listening = ListeningStream(
            session, reply, upstream=self._upstream, rules=self._rules, next_id=self._sessions.next_id
        )
        await reply.begin(response.status, to_client(response.headers.items()))
        try:
            await listening.run(response, opened=self._opened)
        finally:
            if listening.endpoint is not None:
                self._streams.pop(listening.endpoint, None)

    def _opened(self, listening: ListeningStream) -> None:
        if listening.endpoint is not None:
            self._streams[listening.endpoint] = listening

    async def _lost(self, exc: BaseException, posted: Posted | None, reply: HttpReply) -> None:
        if reply.is_begun:
            return
        body = encode(rpc_error(posted.id if posted is not None else None, broken(exc)))
        await reply.whole(_BAD_GATEWAY, json_headers(CIMultiDict()), body)

    def _session(self, key: str | None, headers: Headers) -> HttpSession:
        """Return the session of a client; without an id, all that prove to be the same see the same tools."""
        return self._sessions.get(key or f"{hash(headers.get('Authorization'))}", id=key)


async def _body(request: web.BaseRequest) -> bytes:
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await request.content.readany()
    return body if request.content.at_eof() else body + await request.content.read()
