"""`Listening`: a stream that a client opened to hear from the server, also to resume one that broke off.

Answers may come here: those of a stream that is resumed and, with the older transport, all of them.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aiohttp import ClientResponse

from failwell._json import is_object
from failwell.failure import Failure
from failwell.proxy.http.event_stream import Events, data_of, event_of, name_of, with_data
from failwell.proxy.http.refusals import LOST, broken, failure_of
from failwell.proxy.http.reply import Reply
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Ask, HttpSession, Pending, Posted
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.messages import Id, decoded, encode, glance_at_server, read, with_id
from failwell.proxy.rewriter import Message, tried

_MOST_LISTS = 64


class ListeningStream:
    """Passes a stream on, with the failures in it upgraded.

    Args:
        session: whose stream it is.
        reply: where it goes.
        upstream: the server, to which calls are made again.
        rules: what the operator wants.
        next_id: gives ids that no client uses.
    """

    def __init__(
        self, session: HttpSession, reply: Reply, *, upstream: Upstream, rules: Rules, next_id: Callable[[], Id]
    ) -> None:
        self.session = session
        self.reply = reply
        self.endpoint: str | None = None
        self._asked: dict[Id, Ask] = {}
        self._lists: dict[Id, Posted] = {}
        self._upstream = upstream
        self._rules = rules
        self._next_id = next_id
        self._tries: set[asyncio.Task[None]] = set()

    def posted(self, ask: Ask) -> None:
        """Note calls whose answers come here, so that they can be made again."""
        for pending in ask.posted.calls:
            self._asked[pending.id] = ask

    def listing(self, posted: Posted) -> None:
        """Note a request for the tools whose answer comes here, so that they are known."""
        if posted.is_list and posted.id is not None:
            if len(self._lists) >= _MOST_LISTS:
                self._lists.clear()
            self._lists[posted.id] = posted

    async def run(self, response: ClientResponse, *, opened: Callable[["ListeningStream"], object]) -> None:
        """Pass the stream on until it ends; *opened* is told when it said where to post to."""
        try:
            await self._pass(response, opened)
        except BROKEN:
            pass  # what it leaves unanswered is answered below
        finally:
            for task in self._tries:
                task.cancel()
        if self.endpoint is not None:
            await self.give_up(LOST)

    @property
    def is_busy(self) -> bool:
        """Whether the client waits for the answer to a call."""
        return bool(self._tries) or any(not pending.is_cancelled for pending in self.session.all_pending())

    async def give_up(self, failure: Failure) -> None:
        """Write a failure for each call that has no answer."""
        for pending in self.session.all_pending():
            await self._failed(pending, failure)

    async def _pass(self, response: ClientResponse, opened: Callable[["ListeningStream"], object]) -> None:
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
        glance = glance_at_server(data) if data else None
        if glance is not None and glance.method is not None:
            self.session.heard(data)
        elif glance is not None and glance.id in self._lists:
            self.session.learn(decoded(data), is_page=self._lists.pop(glance.id).is_page)
        message: Any = None
        if data and (glance is None or self.session.pending(glance.id) is not None):
            with suppress(RecursionError):
                message = read(data)
        pending = self._answered_by(message) if is_object(message) else None
        if pending is None:
            await self.reply.write(event)
            return
        self.session.ended(pending)
        if not await self._is_made_again(pending, message):
            await self._write(pending, message, event)

    def _answered_by(self, message: Message) -> Pending | None:
        id = message.get("id")
        return self.session.pending(id) if isinstance(id, int | str) and message.get("method") is None else None

    async def _is_made_again(self, pending: Pending, message: Message) -> bool:
        delay = await self._rules.delay(pending, self.session, message)
        ask = self._asked.get(pending.id)
        if delay is None or ask is None:
            return False
        task = asyncio.create_task(self._again(pending, message, ask, delay))
        self._tries.add(task)
        task.add_done_callback(self._tries.discard)
        return True

    async def _again(self, pending: Pending, message: Message, ask: Ask, delay: float) -> None:
        await asyncio.sleep(delay)
        if pending.is_cancelled or await self._rules.suspension(pending) is not None:
            await self._write(pending, message, None)
            return
        pending.sent_as = self._next_id()
        self.session.began(pending)
        body = with_id(pending.body, pending.sent_as)
        try:
            response = await self._upstream.send("POST", ask.url, ask.headers, body)
            response.release()
            found = None if response.status < 300 else failure_of(response.status, response.headers, None)
        except BROKEN as exc:
            found = broken(exc)
        if found is None or self.session.pending(pending.sent_as) is not pending:
            return
        if found.outcome == "not_executed":
            await self._write(pending, message, None)
        else:
            await self._failed(pending, found)

    async def _failed(self, pending: Pending, failure: Failure) -> None:
        """Write a failure that the proxy found."""
        self._forget(pending)
        self._rules.report(self.session.upgrader.happening("failure", pending.call, failure, **tried(pending.attempts)))
        failure = failure.replace(tool=pending.tool)
        message = self.session.upgrader.failed(pending.call, failure, attempts=pending.attempts)
        await self.reply.write(event_of(encode(message)))

    async def _write(self, pending: Pending, message: Message, event: bytes | None) -> None:
        """Write an answer of the server, as it came where nothing in it changes."""
        self._forget(pending)
        own = {**message, "id": pending.id}
        changed = self.session.upgrader.answer(pending.call, own, attempts=pending.attempts)
        if event is None:
            event = event_of(encode(changed or own))
        elif changed is not None:
            event = with_data(event, encode(changed))
        elif message.get("id") != pending.id:
            event = with_data(event, with_id(data_of(event), pending.id))
        await self.reply.write(event)

    def _forget(self, pending: Pending) -> None:
        self._asked.pop(pending.id, None)
        self.session.ended(pending)
