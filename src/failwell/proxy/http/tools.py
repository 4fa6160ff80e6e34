"""`ToolLister`: asks a server for its tools, where the client does not or its request went through another process."""

import asyncio
from itertools import count

from aiohttp import ClientResponse
from multidict import CIMultiDict

from failwell.proxy.bounds import MAX_DECODED, MAX_TOOL_PAGES, TOOL_LIST_TIMEOUT
from failwell.proxy.conversation import Conversation, PendingRequest
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies, read_body
from failwell.proxy.http.event_stream import EventSplitter, data_of
from failwell.proxy.http.sessions import UpstreamRequest
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events
from failwell.proxy.messages import glance_at_server

_CALL_HEADERS = ("mcp-name", "mcp-param-")


class ToolLister:
    """Asks once for each session, unless its tools are known already.

    A server that does not answer soon delays few calls and none for long: once one has waited in vain, the others of
    its session do not wait, and the list is used as soon as it arrives.

    Args:
        upstream: the server.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._numbers = count(1)

    async def learn(self, request: PendingRequest, seconds: float) -> None:
        """Learn the tools of a request's session, with the rights of its client, or go on without them."""
        self.start(request, is_awaited=bool(seconds))
        route: UpstreamRequest = request.route
        session, conversation = route.session, route.session.conversation
        if seconds and conversation.listing is not None and not session.is_listing_slow:
            done, _ = await asyncio.wait((conversation.listing,), timeout=seconds)
            session.is_listing_slow = not done

    def start(self, request: PendingRequest, *, is_awaited: bool = False) -> None:
        """Ask for the tools of a request's session, unless that was done or they are known.

        If nobody waits for them and they do not come, who needs them asks again.
        """
        route: UpstreamRequest = request.route
        conversation = route.session.conversation
        if conversation.listing is None and conversation.tools.is_empty:
            conversation.listing = asyncio.ensure_future(self._list(request, route, is_awaited=is_awaited))
            route.session.is_listing_slow = False

    async def _list(self, request: PendingRequest, route: UpstreamRequest, *, is_awaited: bool) -> None:
        try:
            async with asyncio.timeout(TOOL_LIST_TIMEOUT):
                with self._upstream.memory.share() as share:
                    await self._list_all(request, route, share)
        except (
            *BROKEN,
            BodyTooLong,
            TooManyBodies,
            RuntimeError,
        ):  # the latter is aiohttp's: the proxy has ended meanwhile
            pass  # the call itself finds out what is wrong
        conversation = route.session.conversation
        if not is_awaited and conversation.tools.is_empty and conversation.listing is asyncio.current_task():
            conversation.listing = None

    async def _list_all(self, request: PendingRequest, route: UpstreamRequest, share: BodyShare) -> None:
        headers, cursor = _headers(route), None
        for _ in range(MAX_TOOL_PAGES):
            # No client uses this id.
            body = Conversation.list_request(request, f"failwell-tools-{next(self._numbers)}", cursor)
            response = await self._upstream.send("POST", route.url, headers, body)
            try:
                data = await answer_in(response, share) if response.status == 200 else b""
            finally:
                response.release()
            cursor = route.session.conversation.learn(data, is_page=True)
            if cursor is None:
                return


def _headers(request: UpstreamRequest) -> CIMultiDict[str]:
    kept = [(name, value) for name, value in request.headers.items() if not name.lower().startswith(_CALL_HEADERS)]
    headers = CIMultiDict(kept)
    if "Mcp-Method" in headers:
        headers["Mcp-Method"] = "tools/list"
    return headers


async def answer_in(response: ClientResponse, share: BodyShare) -> bytes:
    """Return the message in a response, in either form; empty: there is none.

    Raises:
        BodyTooLong: it is too long to be decoded; also `TooManyBodies`.
    """
    if response.content_type != "text/event-stream":
        return await read_body(response.content, share, most=MAX_DECODED)
    async for events in read_events(response, EventSplitter(share)):
        for event in events:
            data = data_of(event)
            glance = glance_at_server(data, is_lenient=False)
            if glance is not None and glance.id is not None and glance.method is None:
                return data
    return b""
