"""`ListeningStream`: a stream that a client opened for the server's messages, also to resume one that broke off.

Answers may arrive here: those of a stream that is resumed and, with the older transport, all of them.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import ClientResponse

from failwell._json import is_object
from failwell._log import log
from failwell.failure import Failure
from failwell.proxy.bounds import MAX_DECODED, MAX_TOOL_REQUESTS
from failwell.proxy.channels import may_be_failing
from failwell.proxy.failures import ANSWER_TOO_LONG, CONNECTION_LOST, PROXY_FULL, UNREADABLE_ANSWER
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies
from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of, name_of, with_data
from failwell.proxy.http.failures import failure_from_exception, failure_from_response
from failwell.proxy.http.redaction import redacted_event
from failwell.proxy.http.reply import ClientGone, Reply
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import HttpSession, PendingCall, PostedBody, UpstreamRequest
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events
from failwell.proxy.messages import Id, ServerGlance, decode_or_raise, encode, glance_at_server, with_id
from failwell.proxy.rewriter import Message, attempts_detail


class ListeningStream:
    """Passes a stream on, with the failures in it rewritten.

    Args:
        session: the client's session.
        reply: where it goes.
        upstream: the server, to which calls are made again.
        rules: which calls are retried.
        next_id: gives ids that no client uses.
        is_resumed: it repeats what its client may not have got.
    """

    def __init__(
        self,
        session: HttpSession,
        reply: Reply,
        *,
        upstream: Upstream,
        rules: Rules,
        next_id: Callable[[], Id],
        is_resumed: bool = False,
    ) -> None:
        self.session = session
        self.reply = reply
        self.endpoint: str | None = None
        self._is_resumed = is_resumed
        self._requests: dict[Id, UpstreamRequest] = {}
        self._tool_requests: dict[Id, PostedBody] = {}
        self._upstream = upstream
        self._rules = rules
        self._next_id = next_id
        self._retries: set[asyncio.Task[None]] = set()

    def add(self, request: UpstreamRequest) -> None:
        """Note calls whose answers arrive here, so that they can be made again."""
        for pending in request.posted.calls:
            self._requests[pending.id] = request

    def add_tool_request(self, posted: PostedBody) -> None:
        """Note a request for the tools whose answer arrives here, so that the tools are learnt."""
        if posted.is_list and posted.id is not None:
            if len(self._tool_requests) >= MAX_TOOL_REQUESTS:
                self._tool_requests.clear()
            self._tool_requests[posted.id] = posted

    async def run(self, response: ClientResponse, *, on_endpoint: Callable[["ListeningStream"], object]) -> None:
        """Pass the stream on until it ends; *on_endpoint* is called when it says where to post to."""
        reason = CONNECTION_LOST
        try:
            with self._upstream.memory.share() as share:
                await self._pass(response, share, on_endpoint)
        except BROKEN:
            pass  # what it leaves unanswered is answered below
        except (BodyTooLong, TooManyBodies) as exc:
            reason = ANSWER_TOO_LONG if isinstance(exc, BodyTooLong) else PROXY_FULL
        finally:
            response.close()
            for task in self._retries:
                task.cancel()
        if self.endpoint is not None:
            await self.give_up(reason)

    @property
    def is_busy(self) -> bool:
        """Whether the client waits for the answer to a call."""
        return bool(self._retries) or any(not pending.is_cancelled for pending in self.session.all_pending())

    async def give_up(self, failure: Failure) -> None:
        """Write a failure for each call that has no answer."""
        for pending in self.session.all_pending():
            await self._write_failure(pending, failure)

    async def _pass(
        self, response: ClientResponse, share: BodyShare, on_endpoint: Callable[["ListeningStream"], object]
    ) -> None:
        async for events in read_events(response, EventSplitter(share)):
            for event in events:
                if name_of(event) == b"endpoint":
                    event = self._translate_endpoint(event)
                    on_endpoint(self)
                await self._pass_event(event)

    def _translate_endpoint(self, event: bytes) -> bytes:
        """Return the event that says where to post to, with the path through the proxy."""
        target = self._upstream.server_url.target_of(data_of(event).decode("utf-8", "replace"))
        if target is None:
            return event
        self.endpoint = target
        return with_data(event, target.encode())

    async def _pass_event(self, event: bytes) -> None:
        data = data_of(event)
        is_long = len(data) > MAX_DECODED
        glance = glance_at_server(data, is_lenient=not is_long) if data else None
        if glance is not None and glance.method is not None:
            self.session.note_notification(data)
        elif glance is not None and glance.id in self._tool_requests:
            self.session.learn(data, is_page=self._tool_requests.pop(glance.id).is_page)
        if is_long:
            await self._pass_long(glance, event)
            return
        message: Any = None
        if data and (glance is None or self.session.pending(glance.id) is not None):
            try:
                message = decode_or_raise(data)
            except RecursionError:
                if may_be_failing(data):
                    await self._drop_unreadable()
                    return
        pending = self._answered_by(message) if is_object(message) else None
        if pending is None:
            is_second = glance is not None and glance.method is None and self.session.has_answered(glance.id)
            safe = event if self._rules.dry_run else redacted_event(event)
            if safe and (not is_second or self._is_resumed):  # one that is resumed repeats what its client may lack
                await self.reply.write(safe)
            return
        self.session.remove(pending)
        self.session.note_answered(pending)
        try:
            if not await self._is_retried(pending, message):
                await self._write_answer(pending, message, event)
        except (ClientGone, *BROKEN):
            raise
        except Exception:
            log.exception("an answer could not be rewritten; the client gets a failure without its text")
            await self._write_failure(pending, UNREADABLE_ANSWER)

    async def _pass_long(self, glance: ServerGlance | None, event: bytes) -> None:
        """Pass on an event that is too long to be decoded in full, unless it answers a call with a failure."""
        id = None if glance is None or glance.method is not None else glance.id
        pending = self.session.pending(id)
        if pending is not None and glance is not None:
            self.session.note_answered(pending)
            if glance.is_failed or pending.sent_as != pending.id:
                await self._write_failure(pending, UNREADABLE_ANSWER)
                return
            self._forget(pending)
        elif self.session.has_answered(id) and not self._is_resumed:
            return
        await self.reply.write(event)

    async def _drop_unreadable(self) -> None:
        """Let the only call without an answer fail for one that is too deep to be read; of several, none is blamed."""
        pending = self.session.all_pending()
        if len(pending) == 1:
            await self._write_failure(pending[0], UNREADABLE_ANSWER)

    def _answered_by(self, message: Message) -> PendingCall | None:
        id = message.get("id")
        return self.session.pending(id) if isinstance(id, int | str) and message.get("method") is None else None

    async def _is_retried(self, pending: PendingCall, message: Message) -> bool:
        delay = await self._rules.delay(pending, self.session, message)
        request = self._requests.get(pending.id)
        if delay is None or request is None:
            return False
        task = asyncio.create_task(self._retry(pending, message, request, delay))
        self._retries.add(task)
        task.add_done_callback(self._retries.discard)
        return True

    async def _retry(self, pending: PendingCall, message: Message, request: UpstreamRequest, delay: float) -> None:
        await asyncio.sleep(delay)
        if pending.is_cancelled or await self._rules.suspension(pending) is not None:
            await self._write_answer(pending, message, None)
            return
        pending.sent_as = self._next_id()
        self.session.add(pending)
        body = with_id(pending.body, pending.sent_as)
        try:
            response = await self._upstream.send("POST", request.url, request.headers, body)
            response.release()
            failure = None if response.status < 300 else failure_from_response(response.status, response.headers, None)
        except BROKEN as exc:
            failure = failure_from_exception(exc)
        if failure is None or self.session.pending(pending.sent_as) is not pending:
            return
        if failure.outcome == "not_executed":
            await self._write_answer(pending, message, None)
        else:
            await self._write_failure(pending, failure)

    async def _write_failure(self, pending: PendingCall, failure: Failure) -> None:
        """Write a failure that the proxy found."""
        self._forget(pending)
        failure = pending.conclude(failure)
        self._rules.report(
            self.session.rewriter.event("failure", pending.call, failure, **attempts_detail(pending.attempts))
        )
        message = self.session.rewriter.failed(pending.call, failure, attempts=pending.attempts)
        await self.reply.write(event_of(encode(message)))

    async def _write_answer(self, pending: PendingCall, message: Message, event: bytes | None) -> None:
        """Write an answer of the server, unchanged if nothing in it is rewritten."""
        self._forget(pending)
        own = {**message, "id": pending.id}
        changed = self.session.rewriter.answer(pending.call, own, attempts=pending.attempts, run=pending.run)
        if event is None:
            event = event_of(encode(changed or own))
        elif changed is not None:
            event = with_data(event, encode(changed))
        elif message.get("id") != pending.id:
            event = with_data(event, with_id(data_of(event), pending.id))
        await self.reply.write(event)

    def _forget(self, pending: PendingCall) -> None:
        self._requests.pop(pending.id, None)
        self.session.remove(pending)
