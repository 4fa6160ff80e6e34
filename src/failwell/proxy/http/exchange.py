"""`Exchange`: one posted call, or a batch with calls, from the first attempt to the answer that the client gets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import ClientResponse

from failwell._json import is_object
from failwell.event import Event
from failwell.exceptions.http import is_session_refused
from failwell.failure import Failure
from failwell.proxy.bounds import MAX_ANSWER, MAX_ERROR_BODY, MAX_SMALL_BODY, SESSION_END_TIMEOUT
from failwell.proxy.channels import mentions_error
from failwell.proxy.conversation import Arrival, PendingRequest, ReportEvent, Steps, ToClient, ToServer, join
from failwell.proxy.failures import (
    ANSWER_TOO_LONG,
    CONNECTION_LOST,
    NO_ANSWER,
    PROXY_ENDED,
    PROXY_FULL,
)
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies, read_body, read_head, read_start
from failwell.proxy.http.effects import AsyncEffectRunner
from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of, id_of, with_data
from failwell.proxy.http.failures import (
    failure_from_exception,
    failure_from_response,
    failure_passed_on,
    is_for_client,
    rpc_error_in,
)
from failwell.proxy.http.headers import to_client
from failwell.proxy.http.redaction import RedactingReply, redacted_headers, redacting
from failwell.proxy.http.reply import Headers, Reply, json_headers
from failwell.proxy.http.sessions import UpstreamRequest
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events
from failwell.proxy.messages import decode, encode, glance_at_server
from failwell.proxy.rewriter import is_about_tool

Found = list[tuple[bytes, Any]]
"""The messages of a batch, and what the client gets for each."""

_OK, _ACCEPTED, _ERROR, _NOT_FOUND = 200, 202, 400, 404
_NO_BODY = (_ACCEPTED, 204)


async def pass_on(response: ClientResponse, reply: Reply, share: BodyShare) -> None:
    """Write a response to the client as it arrives.

    Raises:
        BodyTooLong: the client takes whole messages, and one is too long; also `TooManyBodies`.
    """
    length, headers = response.content_length, to_client(response.headers.items())
    if response.method == "HEAD":
        headers.extend({} if length is None else {"Content-Length": str(length)})
        await reply.start(response.status, headers)
        return
    is_packed = "Content-Encoding" in response.headers  # so that its length says little
    if length is not None and length <= MAX_SMALL_BODY and not is_packed:
        await reply.send(response.status, headers, await response.read())
        return
    if reply.takes_messages or isinstance(reply, RedactingReply):
        await _pass_messages(response, reply, share)
        return
    if length is not None and not is_packed:
        headers["Content-Length"] = str(length)
    await reply.start(response.status, headers)
    async for chunk in response.content.iter_any():
        await reply.write(chunk)


async def _pass_messages(response: ClientResponse, reply: Reply, share: BodyShare) -> None:
    """Write the messages in a response, each in one piece."""
    headers = to_client(response.headers.items())
    if response.status >= _ERROR:  # of a very long one, the beginning says enough
        await reply.send(response.status, headers, await read_start(response.content, most=MAX_ERROR_BODY))
        return
    if response.content_type != "text/event-stream":
        begun = await read_head(response.content, least=MAX_SMALL_BODY)
        if not reply.takes_messages and not mentions_error(begun):  # an error says so at once
            await reply.start(response.status, headers)
            while begun:
                await reply.write(begun)
                begun = await response.content.readany()
            return
        body = await read_body(response.content, share, most=MAX_ANSWER, begun=begun)
        await reply.send(response.status, headers, body)
        return
    await reply.start(response.status, headers)
    async for events in read_events(response, EventSplitter(share)):
        for event in events:
            await reply.write(event)


class AnswerWriter:
    """Writes answers to a stream that has started, and otherwise keeps them until there are no more.

    Args:
        reply: where they go.
        is_batch: there may be several in one body.
    """

    def __init__(self, reply: Reply, *, is_batch: bool) -> None:
        self.headers: Headers | None = None
        self.is_batch = is_batch
        self.needs_no_answer = False
        self._reply = reply
        self._kept: list[bytes] = []

    async def write(self, answer: ToClient) -> None:
        """Write an answer, in its event if it has one."""
        if answer.source is None:
            await self.message(answer.data)
        else:
            await self._reply.write(in_event(answer))

    async def message(self, data: bytes) -> None:
        """Write a message."""
        if self._reply.is_started:
            await self._reply.write(event_of(data))
        else:
            self._kept.append(data)

    async def finish(self) -> None:
        """Write what is not written yet; if no answer is due here any more, only that the request was accepted."""
        if not self._kept:
            if self.needs_no_answer and not self._reply.is_started:
                await self._reply.send(_ACCEPTED, Headers(), b"")
            return
        body = b"[" + b",".join(self._kept) + b"]" if self.is_batch else self._kept[0]
        await self._reply.send(_OK, json_headers() if self.headers is None else self.headers, body)


def in_event(answer: ToClient) -> bytes:
    """Return an answer in the event that it came in, or in one of its own."""
    if answer.source is None:
        return event_of(answer.data)
    event: bytes = answer.source
    return event if answer.is_unchanged else with_data(event, answer.data)


class Exchange:
    """Makes calls, again where that is right, and writes exactly one answer to each.

    Args:
        request: what was posted.
        reply: where the answer goes.
        upstream: the server.
        effects: carries out what the conversation wants.
        sleep: waits.
    """

    def __init__(
        self,
        request: UpstreamRequest,
        reply: Reply,
        *,
        upstream: Upstream,
        effects: AsyncEffectRunner,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._request = request
        self._conversation = request.session.conversation
        self._dry_run = self._conversation.settings.dry_run
        self._reply = reply
        self._upstream = upstream
        self._effects = effects
        self._sleep = sleep
        self._share = BodyShare(upstream.memory)
        self._is_given_up = False
        self._body: bytes | None = None
        self._waiting: dict[Any, PendingRequest] = {}
        self._paused: tuple[Steps, float] | None = None
        self._writer = AnswerWriter(reply, is_batch=len(request.posted.calls) != 1 or request.posted.id is None)
        self._is_accepted = False
        self._is_resumable = False
        self._limit: asyncio.Timeout | None = None

    async def run(self) -> None:
        """Make the calls, and write their answers."""
        try:
            await self._run_attempts()
        except asyncio.CancelledError:
            if not self._is_given_up:
                raise
            await self._answer_lost()
        finally:
            self._share.resize(0)
            for pending in self._request.posted.calls:
                # A failure may still be handled on another stream, which must not make the call again.
                pending.is_resumed = pending.is_resumed or self._is_resumable
                if not self._is_resumable and not self._is_accepted:
                    self._conversation.abandon(pending)

    def give_up(self, task: asyncio.Task[None]) -> None:
        """Write failures for the calls that have no answer, in the task that runs this: the proxy ends."""
        self._is_given_up = True
        task.cancel()

    async def _run_attempts(self) -> None:
        posted, conversation = self._request.posted, self._conversation
        now = self._effects.clock()
        for pending in posted.calls:
            pending.started, pending.route, pending.is_tracked = now, self._request, self._request.is_tracked
            self._waiting[pending.sent_as] = pending
            conversation.add(pending)
        first = posted.calls[0]
        sent = self._body = posted.body if conversation.settings.trace_attributes is None else self._trace()
        if not self._writer.is_batch and conversation.must_read(first):
            self._body = None
            await self._run(conversation.call(first, sent))
        while self._paused is not None or self._body is not None:
            if self._paused is not None:
                await self._sleep(self._paused[1])
                (steps, _), self._paused = self._paused, None
                await self._run(steps, True)
                continue
            body, self._body = self._body, None
            assert body is not None
            await self._attempt(body)
        await self._writer.finish()

    def _trace(self) -> bytes:
        """Begin the spans of the calls, and return what is sent: the calls of a batch stay as they are."""
        posted, trace = self._request.posted, self._conversation.trace
        version = self._request.headers.get("Mcp-Protocol-Version", "")
        if not self._writer.is_batch:
            return trace(posted.calls[0], posted.body, version=version)
        for pending in posted.calls:
            trace(pending, pending.body or b"", version=version, is_exact=False)
        return posted.body

    async def _answer_lost(self) -> None:
        """Answer what has no answer, unless the client can resume its stream elsewhere."""
        if not self._is_resumable:
            if self._paused is not None:
                (steps, _), self._paused = self._paused, None
                await self._run(steps, False)
            for pending in list(self._waiting.values()):
                if not pending.is_ended and not pending.is_cancelled:
                    await self._run(self._conversation.fail(pending, PROXY_ENDED, is_final=True))
        await self._writer.finish()

    async def _run(self, steps: Steps, result: Any = None) -> bool:
        """Carry out steps, and return whether they go on later: the call is made again."""
        pause = await self._effects.run(steps, to_client=self._to_client, to_server=self._to_server, result=result)
        if pause is not None:
            self._paused = steps, pause.seconds
        return pause is not None

    async def _to_client(self, answer: ToClient) -> None:
        await self._writer.write(answer)

    def _to_server(self, call: ToServer) -> None:
        self._body = call.data
        self._waiting = {call.request.sent_as: call.request}

    async def _attempt(self, body: bytes) -> None:
        """Make the calls once, and stop waiting for them when they take too long."""
        settings = self._conversation.settings
        if not settings.has_time_limits or self._dry_run:
            await self._attempt_unlimited(body)
            return
        now = self._effects.clock()
        for pending in self._waiting.values():
            pending.tried = now
        try:
            async with asyncio.timeout(None) as self._limit:
                self._reset_limit()
                await self._attempt_unlimited(body)
        except TimeoutError:
            await self._time_out()

    def _reset_limit(self, *, is_lifted: bool = False) -> None:
        """Have the time limit be that of the calls that have no answer yet; if it *is_lifted*, there is none."""
        if self._limit is None or self._limit.expired():
            return
        expiry = self._conversation.settings.expiry
        ends = [end for one in self._waiting.values() if not one.is_answered and (end := expiry(one)) is not None]
        left = None if is_lifted or not ends else min(ends) - self._effects.clock()
        self._limit.reschedule(None if left is None else asyncio.get_running_loop().time() + left)

    async def _time_out(self) -> None:
        """Cancel the calls that took too long: closing the response did that, unless the protocol is an older one."""
        self._limit, self._is_resumable = None, False
        now = self._effects.clock()
        for pending in list(self._waiting.values()):
            if pending.is_answered or pending.is_cancelled:
                continue
            cancellation = self._conversation.cancellation(pending)
            steps = self._conversation.time_out(pending, now)
            if not pending.call.is_modern:
                await self._send_quietly(cancellation)
            if await self._run(steps):
                return

    async def _send_quietly(self, body: bytes) -> None:
        """Send a notification, whatever becomes of it."""
        try:
            async with asyncio.timeout(SESSION_END_TIMEOUT):
                response = await self._upstream.send("POST", self._request.url, self._request.headers, body)
                response.release()
        except BROKEN:
            return

    async def _attempt_unlimited(self, body: bytes) -> None:
        request = self._request
        self._is_resumable = False
        try:
            response = await self._upstream.send("POST", request.url, request.headers, body)
        except BROKEN as exc:
            await self._fail_all(failure_from_exception(exc))
            return
        try:
            await self._read_response(response)
        except BROKEN as exc:
            if not self._is_resumable:
                await self._fail_all(failure_from_exception(exc))
        except (BodyTooLong, TooManyBodies) as exc:
            self._is_resumable = False  # it would be as long again
            await self._fail_all(ANSWER_TOO_LONG if isinstance(exc, BodyTooLong) else PROXY_FULL, is_final=True)
        finally:
            response.release()

    async def _read_response(self, response: ClientResponse) -> None:
        status = response.status
        if status in _NO_BODY:
            self._is_accepted = True
            await pass_on(response, self._reply, self._share)
            return
        kind = response.content_type
        if status != _OK or kind not in ("application/json", "text/event-stream"):
            await self._read_error(response)
        elif kind == "application/json":
            data = await read_body(response.content, self._share, most=MAX_ANSWER)
            await self._read_json(data, to_client(response.headers.items()))
        else:
            if not self._reply.is_started:
                await self._reply.start(status, to_client(response.headers.items()))
            await self._read_stream(response)

    async def _read_error(self, response: ClientResponse) -> None:
        """Handle an HTTP error, or a response that is no message."""
        status, headers, sent = response.status, response.headers, self._request.headers
        passes_on = is_for_client(status, sent, headers)
        says_why = status == _NOT_FOUND and "json" in response.content_type  # an unknown method, perhaps
        if self._dry_run or (passes_on and not says_why):
            for pending in list(self._waiting.values()):
                self._report_passed(pending, failure_passed_on(status, sent, headers))
            await pass_on(response, redacting(self._reply, is_off=self._dry_run), self._share)
            return
        data = await read_start(response.content, most=MAX_ERROR_BODY)
        body = decode(data) if "json" in response.content_type else None
        if passes_on and is_session_refused(status, sent, body):
            for pending in list(self._waiting.values()):
                self._report_passed(pending, failure_passed_on(status, sent, headers))
            await redacting(self._reply).send(status, to_client(headers.items()), data)
            return
        self._writer.headers = redacted_headers(json_headers(to_client(headers.items())))
        error = rpc_error_in(body, status, headers) if status >= _ERROR and not self._writer.is_batch else None
        if error is None:
            said = body if body is not None else data
            await self._fail_all(failure_from_response(status, headers, said, sent=sent))
            return
        pending = next(iter(self._waiting.values()))
        message = {"jsonrpc": "2.0", "id": pending.sent_as, "error": error}
        if not is_about_tool(pending.call, message):
            self._report_passed(pending, failure_from_response(status, headers, body, sent=sent))
            await redacting(self._reply).send(status, to_client(headers.items()), data)
        else:
            data = encode(message)
            await self._write(data, self._from_server(data, pending))

    def _report_passed(self, pending: PendingRequest, failure: Failure | None) -> None:
        """Report that the client gets a response unchanged, which says nothing about the tool."""
        if failure is not None:
            event = self._conversation.rewriter.event("failure", pending.call, failure, details={"passed": True})
            self._effects.report(ReportEvent(event, pending).at(self._effects.clock()))
        self._conversation.abandon(pending)
        self._reset_limit()

    async def _read_json(self, data: bytes, headers: Headers) -> None:
        """Handle a JSON body that came with these headers."""
        pending = None if self._writer.is_batch else next(iter(self._waiting.values()))
        found = self._from_server(data, pending)
        self._writer.headers = headers
        if found is None and pending is not None and pending.is_ended:  # the only call succeeded
            await self._writer.message(data)
            return
        if not self._dry_run and mentions_error(data):
            self._writer.headers = redacted_headers(headers)
        if not await self._write(data, found):
            await self._fail_all(NO_ANSWER)

    def _from_server(self, data: bytes, pending: PendingRequest | None) -> bytes | Steps | Found | None:
        """Return what the client gets for a message; *pending* is the only call, if there is only one."""
        found = self._conversation.from_server(data, self._effects.clock(), Arrival(self._waiting, unnamed=pending))
        self._reset_limit()
        return found

    async def _write(self, data: bytes, found: bytes | Steps | Found | None) -> bool:
        """Write what came of a message, or a batch of them; return whether a call that it answers is made again."""
        is_batch = self._writer.is_batch or isinstance(found, list)
        for one, what in found if isinstance(found, list) else [(data, found)]:
            if what is None:
                if self._is_answer(one) if is_batch else next(iter(self._waiting.values())).is_ended:
                    await self._writer.message(one)
            elif isinstance(what, bytes):
                if what:
                    await self._writer.message(what)
            elif await self._run(what):
                return True
        return False

    def _is_answer(self, data: bytes) -> bool:
        """Return whether a message answers what was posted: one call, or in a batch whatever."""
        message = decode(data)
        if not is_object(message) or "method" in message or not ("result" in message or "error" in message):
            return False
        id = message.get("id")
        return self._writer.is_batch or (isinstance(id, int | str) and id in self._waiting)

    async def _read_stream(self, response: ClientResponse) -> None:
        """Handle an event stream."""
        events = EventSplitter(self._share)
        async for found in read_events(response, events):
            passed: list[bytes] = []
            for event in found:
                what = self._read_event(event)
                if what is None:
                    passed.append(event)
                elif isinstance(what, bytes):
                    passed.append(what)
                else:
                    if passed:
                        await self._reply.write(b"".join(passed))
                        passed.clear()
                    if await self._run(what):
                        return
            if passed:
                await self._reply.write(b"".join(passed))
        if events.rest.strip():
            self._effects.report(Event(source="proxy", kind="dropped", details={"bytes": len(events.rest)}))
        if not self._is_resumable:
            await self._fail_all(CONNECTION_LOST)

    def _read_event(self, event: bytes) -> bytes | Steps | None:
        """Return what the client gets for an event; None: as it is."""
        if b"id:" in event and id_of(event):
            self._is_resumable = True
        data = data_of(event)
        if not data:
            return None
        found = self._conversation.from_server(data, self._effects.clock(), Arrival(self._waiting, event))
        if self._limit is not None:
            glance = glance_at_server(data, is_lenient=False)
            # What a user is asked for takes its time.
            self._reset_limit(is_lifted=glance is not None and glance.method is not None and glance.id is not None)
        if isinstance(found, list):
            return None if all(what is None for _, what in found) else join(found, event)
        return with_data(event, found) if isinstance(found, bytes) and found else found

    async def _fail_all(self, failure: Failure, *, is_final: bool = False) -> None:
        """Handle a failure that the proxy found: it is that of each call without an answer."""
        self._reset_limit(is_lifted=True)  # it must not end what is about to answer them
        for pending in list(self._waiting.values()):
            if pending.is_answered or pending.is_cancelled:
                self._writer.needs_no_answer = pending.is_resumed or pending.is_cancelled
                continue
            if await self._run(self._conversation.fail(pending, failure, is_final=is_final)):
                return
