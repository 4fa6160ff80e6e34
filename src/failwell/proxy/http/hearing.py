"""`Hearing`: the streams that a client of a URL opens: to hear what it did not ask for, and to resume others."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

from aiohttp import ClientResponse

from failwell.proxy.glances import Id
from failwell.proxy.http.listening import Listening
from failwell.proxy.http.refusing import LOST
from failwell.proxy.http.replying import Headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Session
from failwell.proxy.http.stdio import StdioReply
from failwell.proxy.http.upstream import BROKEN, Upstream

_MOST_IN_VAIN = 3
_RESUMED_AFTER = 1.0
_OPENED_WITHIN = 10.0


class Head(Protocol):
    """Gives the headers of a request."""

    def __call__(self, message: object, **more: str) -> Headers:
        """Return those that go with a message, or with a request that carries none; and more."""
        ...


class Stream(NamedTuple):
    """A stream of the older transport that was opened."""

    listening: Listening
    task: asyncio.Task[None]


class Hearing:
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
        self, upstream: Upstream, rules: Rules, session: Session, *, head: Head, next_id: Callable[[], Id]
    ) -> None:
        self.url = upstream.place.url
        self.stream: Listening | None = None
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

    async def older(self, reply: StdioReply) -> Stream | None:
        """Open a stream of the older transport, which says where to post to; None: the server does not speak it."""
        response = await self._upstream.send("GET", self.url, self._head(None))
        if not _is_stream(response):
            response.release()
            return None
        opened: asyncio.Future[Listening] = asyncio.get_running_loop().create_future()
        listening = self._listening(reply)
        task = asyncio.create_task(listening.run(response, opened=opened.set_result))
        await asyncio.wait((opened, task), timeout=_OPENED_WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if listening.endpoint is None:
            task.cancel()
            response.close()
            return None
        self.stream, self._heard = listening, reply
        self.url = self._upstream.place.url_for(listening.endpoint)
        return Stream(listening, task)

    def asked(self, reply: StdioReply) -> None:
        """Note a request whose answer comes on the older transport's stream."""
        self._unanswered = [one for one in self._unanswered if not self._is_answered(one)]
        self._unanswered.append(reply)

    async def until_the_end(self, stream: Stream) -> None:
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

    def _listening(self, reply: StdioReply) -> Listening:
        return Listening(self._session, reply, upstream=self._upstream, rules=self._rules, next_id=self._next_id)


def _is_stream(response: ClientResponse) -> bool:
    return response.status == 200 and response.content_type == "text/event-stream"
