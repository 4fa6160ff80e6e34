"""`Listening`: a stream that a client opened to hear from the server, also to resume one that broke off.

Answers may come here: those of a stream that is resumed and, with the older transport, all of them.
"""

import asyncio
from collections.abc import Callable

from aiohttp import ClientResponse

from failwell.failure import Failure
from failwell.json_types import is_object
from failwell.proxy.events import Happening
from failwell.proxy.glances import Id, came
from failwell.proxy.http.event_stream import Events, data_of, event_of, name_of, with_data
from failwell.proxy.http.exchange import Ask
from failwell.proxy.http.refusing import LOST
from failwell.proxy.http.replying import Reply
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Pending, Session
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.upgrading import Message
from failwell.proxy.watching import decoded, encode


class Listening:
    """Passes a stream on, with the failures in it upgraded.

    Args:
        session: whose stream it is.
        reply: where it goes.
        upstream: the server, to which calls are made again.
        rules: what the operator wants.
        next_id: gives ids that no client uses.
    """

    def __init__(
        self, session: Session, reply: Reply, *, upstream: Upstream, rules: Rules, next_id: Callable[[], Id]
    ) -> None:
        self.session = session
        self.reply = reply
        self.endpoint: str | None = None
        self._asked: dict[Id, Ask] = {}
        self._upstream = upstream
        self._rules = rules
        self._next_id = next_id
        self._tries: set[asyncio.Task[None]] = set()

    def posted(self, ask: Ask) -> None:
        """Note calls whose answers come here, so that they can be made again."""
        for pending in ask.posted.calls:
            self._asked[pending.id] = ask

    async def run(self, response: ClientResponse, *, opened: Callable[["Listening"], object]) -> None:
        """Pass the stream on until it ends; *opened* is told when it said where to post to."""
        try:
            await self._pass(response, opened)
        except BROKEN:
            pass
        finally:
            for task in self._tries:
                task.cancel()
        if self.endpoint is not None:
            for pending in self.session.all_pending():
                await self._write(pending, self.session.failed(pending, LOST), None, LOST)

    async def _pass(self, response: ClientResponse, opened: Callable[["Listening"], object]) -> None:
        events = Events()
        async for chunk in response.content.iter_any():
            for event in events.feed(chunk):
                if name_of(event) == b"endpoint":
                    event = self._moved(event)
                    opened(self)
                await self._event(event)

    def _moved(self, event: bytes) -> bytes:
        """Return the event that says where to post to, as it looks through the proxy."""
        target = self._upstream.place.target_of(data_of(event).decode("utf-8", "replace"))
        if target is None:
            return event
        self.endpoint = target
        return with_data(event, target.encode())

    async def _event(self, event: bytes) -> None:
        data = data_of(event)
        glance = came(data) if data else None
        pending = self.session.pending(glance.id) if glance is not None and glance.method is None else None
        if pending is None or glance is None:
            if glance is not None and glance.method is not None:
                self.session.heard(data)
            await self.reply.write(event)
            return
        self.session.ended(pending)
        message = decoded(data)
        if not is_object(message) or self._is_made_again(pending, message):
            return
        await self._write(pending, message, event)

    def _is_made_again(self, pending: Pending, message: Message) -> bool:
        delay = self._rules.delay(pending, self.session, message)
        ask = self._asked.get(pending.id)
        if delay is None or ask is None:
            return False
        task = asyncio.create_task(self._again(pending, message, ask, delay))
        self._tries.add(task)
        task.add_done_callback(self._tries.discard)
        return True

    async def _again(self, pending: Pending, message: Message, ask: Ask, delay: float) -> None:
        await asyncio.sleep(delay)
        if pending.is_cancelled or self._rules.suspension(pending, self.session) is not None:
            await self._write(pending, message, None)
            return
        pending.sent_as = self._next_id()
        self.session.began(pending)
        body = encode({**decoded(pending.body), "id": pending.sent_as})
        try:
            response = await self._upstream.send("POST", ask.url, ask.headers, body)
            response.release()
            is_taken = response.status < 300
        except BROKEN:
            is_taken = False
        if not is_taken and self.session.pending(pending.sent_as) is pending:
            self.session.ended(pending)
            await self._write(pending, message, None)

    async def _write(
        self, pending: Pending, message: Message, event: bytes | None, found: Failure | None = None
    ) -> None:
        self._asked.pop(pending.id, None)
        self.session.ended(pending)
        upgrader = self.session.upgrader
        message = {**message, "id": pending.id}
        if found is not None:
            self._rules.report(Happening("failure", pending.tool, found))
        else:
            message = upgrader.answer(pending.call, message, attempts=pending.attempts) or message
        data = encode(message)
        await self.reply.write(event_of(data) if event is None else with_data(event, data))
