"""`Gateway`: a reverse proxy in front of one MCP server. Everything but the failures of its tools passes unchanged."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any

from aiohttp import ClientResponse, web
from multidict import MultiMapping

from failwell._net import hostname_in, is_loopback
from failwell.event import Observer
from failwell.failure import Failure
from failwell.phrases.rpc_codes import INTERNAL_ERROR, INVALID_REQUEST
from failwell.proxy.bounds import (
    BODY_TIMEOUT,
    MAX_ANSWER,
    MAX_KNOWN_HOSTS,
    MAX_POSTED_BODY,
    MAX_SESSIONS,
    MAX_STREAMS,
    MAX_STREAMS_OF_CLIENT,
)
from failwell.proxy.conversation import Conversation
from failwell.proxy.failures import ANSWER_TOO_LONG, PROXY_ENDED, PROXY_FULL
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies, UnknownEncoding, read_body
from failwell.proxy.http.effects import AsyncEffectRunner
from failwell.proxy.http.event_stream import EventSplitter, data_of
from failwell.proxy.http.exchange import Exchange, pass_on
from failwell.proxy.http.failures import failure_from_exception, rpc_error
from failwell.proxy.http.headers import identity, to_client, to_server
from failwell.proxy.http.redaction import redacting
from failwell.proxy.http.reply import ClientGone, Headers, HttpReply, Reply, StreamReply, json_headers
from failwell.proxy.http.sessions import PostedBody, Sessions, UpstreamRequest
from failwell.proxy.http.streams import ListeningStream
from failwell.proxy.http.tools import ToolLister
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events
from failwell.proxy.messages import encode

Texts = tuple[str, ...]

_POLL_INTERVAL = 0.02
_ANY = "*"
# Neither may hold credentials: what stands before the @ is no host.
_HOST = re.compile(r"(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]*)?", re.IGNORECASE)
_ORIGIN = re.compile(rf"[a-z][a-z0-9+.-]*://{_HOST.pattern}", re.IGNORECASE)
# What browsers call a request that no other site's page makes; other clients say nothing.
_OWN_SITES = frozenset(("same-origin", "none"))


class AllowedHosts:
    """Says which requests are let in: not those of foreign pages, even if their host's name resolves to this machine.

    Args:
        host: the address that is listened on. Names of hosts are only checked on loopback.
        origins: origins of pages that are let in beside local ones; `*` for all.
    """

    def __init__(self, host: str, *, origins: tuple[str, ...] = ()) -> None:
        self._is_local = is_loopback(host)
        self._host = host.lower()
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._known: dict[tuple[Texts, ...], str | None] = {}

    def objection(self, headers: MultiMapping[str]) -> str | None:
        """Return why a request with these headers is not let in, or None."""
        said = tuple(tuple(headers.getall(name, ())) for name in ("Host", "Origin", "Sec-Fetch-Site"))
        if said not in self._known:
            if len(self._known) >= MAX_KNOWN_HOSTS:
                self._known.clear()
            self._known[said] = self._objection(*said)
        return self._known[said]

    def _objection(self, hosts: Texts, origins: Texts, sites: Texts) -> str | None:
        host = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        name = hostname_in(f"//{host.group()}") if host else None
        if (hosts and host is None) or (self._is_local and not self._is_own(name)):
            return "this host is not served here"
        if not all(self._is_allowed(origin, name) for origin in origins):
            return "this origin is not allowed; to allow it, use failwell proxy --allow-origin"
        if not origins and _ANY not in self._origins and not _OWN_SITES.issuperset(sites):
            return "pages of other sites are not allowed; to allow one, use failwell proxy --allow-origin"
        return None

    def _is_own(self, name: str | None) -> bool:
        return name is not None and (is_loopback(name) or name == self._host)

    def _is_allowed(self, origin: str, name: str | None) -> bool:
        if _ANY in self._origins or origin.lower() in self._origins:
            return True
        page = hostname_in(origin) if _ORIGIN.fullmatch(origin) else None
        return page is not None and (page == name or is_loopback(page))


class RunningExchanges:
    """Runs exchanges, waits for them, and ends them."""

    def __init__(self) -> None:
        self._running: dict[Exchange, asyncio.Task[Any]] = {}

    async def run(self, exchange: Exchange) -> None:
        """Run an exchange."""
        task = asyncio.current_task()
        assert task is not None
        self._running[exchange] = task
        try:
            await exchange.run()
        finally:
            del self._running[exchange]

    async def end(self, streams: Collection[ListeningStream], *, grace: float, hurried: asyncio.Event) -> None:
        """Wait until no call runs, for so many seconds or until *hurried* is set; answer those that still run."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while not hurried.is_set() and (self._running or any(stream.is_busy for stream in streams)):
                    await asyncio.sleep(_POLL_INTERVAL)
        for exchange, task in self._running.items():
            exchange.give_up(task)
        for stream in streams:
            with suppress(ClientGone):
                await stream.give_up(PROXY_ENDED)


_SESSION = "Mcp-Session-Id"
_FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED, _BAD_GATEWAY, _UNAVAILABLE = 403, 404, 405, 502, 503
# The methods that pass, by what the target is.
_METHODS = {
    "endpoint": ("POST", "GET", "HEAD", "DELETE", "OPTIONS"),
    "stream": ("POST", "OPTIONS"),
    "metadata": ("GET", "HEAD", "OPTIONS"),
}


# What supervisors ask to know whether the gateway runs and takes calls, which it does as long as it listens.
_PROBES = frozenset(("/healthz", "/readyz"))


class BodyTooSlow(Exception):
    """The body of a request takes too long to arrive."""


class TooManyStreams(Exception):
    """A client opens a stream, and there are as many as there may be."""


# What a client gets for a request that is not passed on: the status, and a sentence.
_REFUSALS: dict[type[Exception], tuple[int, str]] = {
    BodyTooLong: (413, "the body of the request is {}"),
    BodyTooSlow: (408, f"the body of the request took longer than {BODY_TIMEOUT:g} seconds"),
    UnknownEncoding: (415, "{}"),
    TooManyBodies: (_UNAVAILABLE, "too many long bodies are being held"),
    TooManyStreams: (_UNAVAILABLE, "too many streams are open"),
}


class Gateway:
    """Answers the requests of many clients with what one server answers.

    Args:
        upstream: the server.
        report: gets each event.
        make_conversation: makes that of one client, given the id of its session if it has one, and what tells it apart.
        end_session: gets how many seconds a session lasted that began and ended here.
        dry_run: change nothing.
        allowed_hosts: which requests are let in.
        headers: what the server gets with each request, where the client sends none of that name.
    """

    def __init__(
        self,
        upstream: Upstream,
        report: Observer,
        *,
        make_conversation: Callable[[str | None, bytes], Conversation],
        end_session: Callable[[float], object],
        dry_run: bool,
        allowed_hosts: AllowedHosts,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._upstream = upstream
        self._dry_run = dry_run
        self._allowed_hosts = allowed_hosts
        self._sessions = Sessions(make_conversation)
        self._end_session = end_session
        self._began: dict[str, float] = {}
        self._streams: dict[str, dict[bytes, ListeningStream]] = {}
        self._open_streams: Counter[bytes] = Counter()
        self._lister = ToolLister(upstream)
        self._effects = AsyncEffectRunner(report, list_tools=self._lister.learn)
        self._stream_effects = AsyncEffectRunner(report)  # whose client lists the tools itself
        self._running = RunningExchanges()
        basic = upstream.server_url.authorization
        self._headers = (*headers, ("Authorization", basic)) if basic else headers

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if (objection := self._allowed_hosts.objection(request.headers)) is not None:
            return web.Response(status=_FORBIDDEN, text=f"failwell: {objection}\n")
        if (kind := self._kind(request.raw_path)) is None:
            if request.raw_path in _PROBES and request.method in ("GET", "HEAD"):
                return web.Response(text="ok\n")
            return web.Response(status=_NOT_FOUND, text=f"failwell: only {self._upstream.server_url.path} is served\n")
        if request.method not in _METHODS[kind]:
            return web.Response(status=_NOT_ALLOWED, headers={"Allow": ", ".join(_METHODS[kind])})
        reply = HttpReply(request)
        has_credentials = kind != "metadata" and request.method != "OPTIONS"  # which browsers ask without them too
        headers = to_server(request.headers.items(), more=self._headers if has_credentials else ())
        try:
            with self._upstream.memory.share() as share:
                if request.method == "POST":
                    await self._post(request, headers, reply, share)
                else:
                    await self._pass_other(request, headers, reply, share)
        except ClientGone:
            pass  # there is nobody left to answer
        except tuple(_REFUSALS) as refused:
            status, sentence = _REFUSALS[type(refused)]
            await self._refuse(status, sentence.format(refused), reply)
        except Exception as failed:  # whatever it is, this client gets an answer and the others are served
            await self._answer_broken(failure_from_exception(failed), None, reply)
        return reply.response or web.Response(status=_BAD_GATEWAY)

    def _kind(self, target: str) -> str | None:
        """Return what a request target is; None: nothing that clients of the server need."""
        if self._upstream.server_url.is_endpoint(target):
            return "endpoint"
        if target in self._streams:
            return "stream"
        return "metadata" if self._upstream.server_url.is_metadata(target) else None

    async def _post(self, request: web.BaseRequest, headers: Headers, http: HttpReply, share: BodyShare) -> None:
        body = await _body(request, share)
        posted = PostedBody.of(body)
        target = request.raw_path
        client = _identity(request, headers)
        stream = self._streams.get(target, {}).get(_identity(request, headers, query="")) if self._streams else None
        key = headers.get(_SESSION)
        session = stream.session if stream is not None else self._sessions.get(client, id=key)
        reply: Reply = http if stream is None else StreamReply(http, stream.reply)
        url = self._upstream.server_url.url_for(target)
        if not posted.calls:
            if stream is not None:
                stream.add_tool_request(posted)
            if posted.cancels is not None and (key is not None or stream is not None):
                body = session.conversation.cancel(posted.cancels, body) or body
            await self._pass(UpstreamRequest(posted, url, headers, session, is_tracked=False), body, http)
            return
        upstream_request = UpstreamRequest(
            posted, url, headers, session, is_tracked=key is not None or stream is not None
        )
        effects = self._effects if stream is None else self._stream_effects
        exchange = Exchange(upstream_request, reply, upstream=self._upstream, effects=effects)
        await self._running.run(exchange)

    async def end(self, *, grace: float, hurried: asyncio.Event) -> None:
        """Let running calls end for so many seconds, or until *hurried* is set, and answer the others."""
        streams = tuple(stream for posters in self._streams.values() for stream in posters.values())
        await self._running.end(streams, grace=grace, hurried=hurried)

    async def _pass(self, request: UpstreamRequest, body: bytes, reply: HttpReply) -> None:
        """Pass on what is no call, and learn the tools that the server lists."""
        try:
            response = await self._upstream.send("POST", request.url, request.headers, body)
            if _SESSION not in request.headers:
                self._note_begin(response)
            try:
                with self._upstream.memory.share() as share:
                    if request.posted.is_list and response.status == 200:
                        await self._pass_tools(request, response, reply, share)
                    else:
                        safe = redacting(reply, answers=request.posted.id, is_off=self._dry_run)
                        await pass_on(response, safe, share)
            finally:
                response.release()
        except BROKEN as exc:
            await self._answer_broken(failure_from_exception(exc), request.posted, reply)
        except (BodyTooLong, TooManyBodies) as exc:
            await self._answer_broken(_too_long(exc), request.posted, reply)

    async def _pass_tools(
        self, request: UpstreamRequest, response: ClientResponse, reply: HttpReply, share: BodyShare
    ) -> None:
        """Pass on an answer to `tools/list` in either form, and learn the tools."""
        conversation, headers = request.session.conversation, response.headers.items()
        learn = partial(conversation.learn, is_page=request.posted.is_page)
        safe = redacting(reply, answers=request.posted.id, is_off=self._dry_run)
        conversation.note_list(request.posted.body, route=request)
        if response.content_type == "application/json":
            data = await read_body(response.content, share, most=MAX_ANSWER)
            learn(data)
            await safe.send(response.status, to_client(headers), data)
            return
        await safe.start(response.status, to_client(headers))
        async for events in read_events(response, EventSplitter(share)):
            for event in events:
                learn(data_of(event))
                await safe.write(event)
                if (listing := conversation.note_notification(data_of(event), time.monotonic())) is not None:
                    self._lister.start(listing.request)

    async def _pass_other(self, request: web.BaseRequest, headers: Headers, reply: HttpReply, share: BodyShare) -> None:
        """Pass on what is not posted: streams that are opened, sessions that are ended, and all else."""
        url, key = self._upstream.server_url.url_for(request.raw_path), headers.get(_SESSION)
        body = await _body(request, share) if request.can_read_body else None
        try:
            response = await self._upstream.send(request.method, url, headers, body)
            if request.method == "DELETE" and key is not None and response.ok:
                self._note_end(key)
            try:
                if response.status == 200 and response.content_type == "text/event-stream":
                    await self._listen(request, response, headers, reply)
                else:
                    await pass_on(response, redacting(reply, is_off=self._dry_run), share)
            finally:
                response.release()
        except BROKEN as exc:
            await self._answer_broken(failure_from_exception(exc), None, reply)
        except (BodyTooLong, TooManyBodies) as exc:
            await self._answer_broken(_too_long(exc), None, reply)
        if request.method == "DELETE" and key is not None:
            self._sessions.end(_identity(request, headers))

    def _note_begin(self, response: ClientResponse) -> None:
        """Note when a session began: its id comes with the answer to `initialize`, which has none itself."""
        id = response.headers.get(_SESSION)
        if id is not None and response.ok:
            if len(self._began) >= MAX_SESSIONS:
                self._began.pop(next(iter(self._began)))
            self._began.setdefault(id, time.monotonic())

    def _note_end(self, id: str) -> None:
        began = self._began.pop(id, None)
        if began is not None:
            self._end_session(time.monotonic() - began)

    async def _listen(
        self, request: web.BaseRequest, response: ClientResponse, headers: Headers, reply: HttpReply
    ) -> None:
        key = headers.get(_SESSION)
        # Without an id it is the older transport, where a stream is a session.
        poster = _identity(request, headers, query="")
        session = self._sessions.new(poster) if key is None else self._sessions.get(_identity(request, headers), id=key)
        if self._open_streams.total() >= MAX_STREAMS or self._open_streams[poster] >= MAX_STREAMS_OF_CLIENT:
            raise TooManyStreams
        stream = ListeningStream(
            session,
            reply,
            upstream=self._upstream,
            effects=self._stream_effects if key is None else self._effects,
            is_resumed="Last-Event-ID" in headers,
        )
        await reply.start(response.status, to_client(response.headers.items()))
        session.streams += 1
        self._open_streams[poster] += 1
        try:
            await stream.run(response, on_endpoint=partial(self._add_stream, poster))
        finally:
            session.streams -= 1
            self._open_streams[poster] -= 1
            self._open_streams += Counter()  # which forgets those who have none
            self._remove_stream(poster, stream)

    def _add_stream(self, poster: bytes, stream: ListeningStream) -> None:
        """Note who may post where for a stream: another client that posts there does not speak for this one."""
        if stream.endpoint is not None:
            self._streams.setdefault(stream.endpoint, {})[poster] = stream

    def _remove_stream(self, poster: bytes, stream: ListeningStream) -> None:
        posters = self._streams.get(stream.endpoint or "", {})
        if posters.get(poster) is stream:
            del posters[poster]
        if not posters:
            self._streams.pop(stream.endpoint or "", None)

    async def _answer_broken(self, failure: Failure, posted: PostedBody | None, reply: HttpReply) -> None:
        if not reply.is_started:
            body = encode(rpc_error(posted.id if posted is not None else None, failure))
            await reply.send(_BAD_GATEWAY, json_headers(), body)

    async def _refuse(self, status: int, sentence: str, reply: HttpReply) -> None:
        """Answer a request that is not passed on."""
        if reply.is_started:
            return
        error = {"code": INVALID_REQUEST if status < 500 else INTERNAL_ERROR, "message": f"failwell: {sentence}"}
        headers = json_headers()
        if status == _UNAVAILABLE:
            headers["Retry-After"] = "1"
        await reply.send(status, headers, encode({"jsonrpc": "2.0", "id": None, "error": error}))


def _too_long(exc: Exception) -> Failure:
    return ANSWER_TOO_LONG if isinstance(exc, BodyTooLong) else PROXY_FULL


def _identity(request: web.BaseRequest, headers: Headers, *, query: str | None = None) -> bytes:
    """Return what tells a client apart: all that a server may know it by."""
    tls = request.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    said = request.raw_path.partition("?")[2] if query is None else query
    return identity(headers.items(), query=said, certificate=certificate)


async def _body(request: web.BaseRequest, share: BodyShare) -> bytes:
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if (request.content_length or 0) > MAX_POSTED_BODY:
        raise BodyTooLong(MAX_POSTED_BODY)
    encoding = ", ".join(request.headers.getall("Content-Encoding", ())) or None
    try:
        async with asyncio.timeout(BODY_TIMEOUT):
            return await read_body(request.content, share, most=MAX_POSTED_BODY, encoding=encoding)
    except TimeoutError:
        raise BodyTooSlow from None
