"""`Exchange`: one posted call, or a batch with calls, from the first attempt to the answer that the client gets."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import ClientResponse
from msgspec import Struct

from failwell._json import is_array, is_object
from failwell._log import log
from failwell.advice import Hints, advised, decide
from failwell.exceptions.http import is_session_refused
from failwell.failure import Failure
from failwell.proxy.bounds import MAX_ANSWER, MAX_DECODED, MAX_ERROR_BODY, MAX_SMALL_BODY, MAX_TOOL_LIST_WAIT
from failwell.proxy.channels import may_be_failing
from failwell.proxy.events import ProxyEvent
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies, read_body, read_start
from failwell.proxy.http.event_stream import EventSplitter, data_of, event_of, id_of, with_data
from failwell.proxy.http.failures import (
    ANSWER_TOO_LONG,
    BOUND_FAILURES,
    CONNECTION_LOST,
    NO_ANSWER,
    PROXY_ENDED,
    PROXY_FULL,
    UNREADABLE_ANSWER,
    failure_from_exception,
    failure_from_response,
    failure_passed_on,
    is_for_client,
    rpc_error_in,
)
from failwell.proxy.http.headers import to_client
from failwell.proxy.http.redaction import redacted_body, redacted_event, redacted_message, redacting
from failwell.proxy.http.reply import ClientGone, Headers, Reply, json_headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import HttpSession, PendingCall, UpstreamRequest
from failwell.proxy.http.tools import tool_list_wait
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events
from failwell.proxy.messages import Id, ServerGlance, decode, decode_or_raise, encode, glance_at_server, with_id
from failwell.proxy.rewriter import Message, attempts_detail

_OK, _NOT_FOUND = 200, 404
_NO_BODY = (202, 204)


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
    if reply.takes_messages:
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
    if response.content_type != "text/event-stream":
        await reply.send(response.status, headers, await read_body(response.content, share, most=MAX_ANSWER))
        return
    await reply.start(response.status, headers)
    async for events in read_events(response, EventSplitter(share)):
        for event in events:
            await reply.write(event)


class CallAnswer(Struct):
    """What the server answered to a call, or the failure that the proxy found; and its event or body."""

    pending: PendingCall
    message: Message
    failure: Failure | None = None
    event: bytes | None = None
    body: bytes | None = None


class StreamScanner:
    """Reads the events that answer a posted body, no further than it must.

    Args:
        waiting: the calls in it, by the ids that the server knows them by.
        session: the client's session.
        rules: which calls are retried.
    """

    def __init__(self, waiting: dict[Id, PendingCall], session: HttpSession, rules: Rules) -> None:
        self.is_resumable = False
        self._waiting = waiting
        self._session = session
        self._rules = rules

    def scan(self, event: bytes) -> CallAnswer | bool | None:
        """Return the answer in an event; None: pass it as it is. False: drop it."""
        if b"id:" in event and id_of(event):
            self.is_resumable = True
        data = data_of(event)
        if not data:
            return None
        glance = glance_at_server(data, is_lenient=len(data) <= MAX_DECODED)
        if len(data) > MAX_DECODED:
            return self._scan_long(glance, event)
        if glance is None:
            return self._scan_fully(event, data)
        if glance.method is not None:
            return self._scan_notification(glance.method, data)
        pending = None if glance.id is None else self._waiting.get(glance.id)
        if pending is None:
            return None
        if pending.is_answered:
            return False
        if glance.is_failed or glance.result is None or self.must_read(pending):
            return self._scan_fully(event, data)
        self._session.remove(pending)
        self._session.note_answered(pending)
        pending.is_answered = True
        return None

    def _scan_long(self, glance: ServerGlance | None, event: bytes) -> CallAnswer | bool | None:
        """Return what becomes of an event that is too long to be decoded in full."""
        if glance is None or glance.method is not None:
            return None
        pending = None if glance.id is None else self._waiting.get(glance.id)
        if pending is None or pending.is_answered:
            return None if pending is None else False
        if glance.is_failed or pending.sent_as != pending.id:
            return CallAnswer(pending, self._session.failed(pending, UNREADABLE_ANSWER), UNREADABLE_ANSWER, event=event)
        self._session.remove(pending)
        self._session.note_answered(pending)
        pending.is_answered = True
        return None

    def must_read(self, pending: PendingCall) -> bool:
        """Return whether even a success must be read in full."""
        return self._rules.reads_successes or pending.run is not None or pending.sent_as != pending.id

    def _scan_fully(self, event: bytes, data: bytes) -> CallAnswer | bool | None:
        try:
            message = decode_or_raise(data)
        except RecursionError:
            pending = next((one for one in self._waiting.values() if not one.is_answered), None)
            if pending is None or self._rules.dry_run or not may_be_failing(data):
                return None
            return CallAnswer(pending, self._session.failed(pending, UNREADABLE_ANSWER), UNREADABLE_ANSWER, event=event)
        id = message.get("id") if is_object(message) and message.get("method") is None else None
        pending = self._waiting.get(id) if isinstance(id, int | str) else None
        if pending is None or not is_object(message) or ("result" not in message and "error" not in message):
            return None
        return False if pending.is_answered else CallAnswer(pending, message, event=event)

    def _scan_notification(self, method: str, data: bytes) -> bool | None:
        self._session.note_notification(data)
        if method == "notifications/progress" and len(self._waiting) == 1:
            pending = next(iter(self._waiting.values()))
            if pending.run is not None and not self._rules.is_progress(pending, decode(data)):
                return False
        return None


class AnswerWriter:
    """Writes answers to a stream that has started, and otherwise keeps them until there are no more.

    Args:
        reply: where they go.
        is_batch: there may be several in one body.
    """

    def __init__(self, reply: Reply, *, is_batch: bool) -> None:
        self.headers: Headers | None = None
        self.is_batch = is_batch
        self._reply = reply
        self._kept: list[bytes] = []

    async def message(self, message: Message, event: bytes | None = None) -> None:
        """Write a message, in its event if it has one."""
        data = encode(message)
        if event is not None:
            await self._reply.write(with_data(event, data))
        else:
            await self.raw(data)

    async def pass_on(self, answer: CallAnswer) -> bool:
        """Write an answer unchanged but for its id, unless it was one of many."""
        id = answer.pending.id
        try:
            return await self._pass_on(answer, id, has_id=answer.message.get("id") == id)
        except (ValueError, RecursionError):  # it has no id, or not one that can be found
            return False

    async def _pass_on(self, answer: CallAnswer, id: Id, *, has_id: bool) -> bool:
        if answer.event is not None:
            event = answer.event
            await self._reply.write(event if has_id else with_data(event, with_id(data_of(event), id)))
        elif answer.body is not None:
            await self.raw(answer.body if has_id else with_id(answer.body, id))
        else:
            return False
        return True

    async def raw(self, data: bytes) -> None:
        """Write a message that is encoded already."""
        if self._reply.is_started:
            await self._reply.write(event_of(data))
        else:
            self._kept.append(data)

    async def finish(self) -> None:
        """Write what is not written yet."""
        if not self._kept:
            return
        body = b"[" + b",".join(self._kept) + b"]" if self.is_batch else self._kept[0]
        await self._reply.send(_OK, json_headers() if self.headers is None else self.headers, body)


_SAFE = Hints(read_only=True)


def _advice(failure: Failure, hints: Hints | None = None) -> tuple[str, str | None]:
    return decide(failure, hints).action, advised(failure, hints).suggestion


class Exchange:
    """Makes calls, again where the rules say so, and writes exactly one answer to each.

    Args:
        request: what was posted.
        reply: where the answer goes.
        upstream: the server.
        rules: which calls are refused or retried.
        next_id: gives ids that no client uses.
        list_tools: asks the server for its tools unless they are known, and waits so long; None: the client asks.
        sleep: waits.
    """

    def __init__(
        self,
        request: UpstreamRequest,
        reply: Reply,
        *,
        upstream: Upstream,
        rules: Rules,
        next_id: Callable[[], Id],
        list_tools: Callable[[UpstreamRequest, float], Awaitable[None]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._request = request
        self._reply = reply
        self._upstream = upstream
        self._rules = rules
        self._next_id = next_id
        self._list_tools = list_tools
        self._sleep = sleep
        self._share = BodyShare(upstream.memory)
        self._started = time.monotonic()
        self._is_given_up = False
        self._last: CallAnswer | None = None
        self._waiting = {pending.sent_as: pending for pending in request.posted.calls}
        self._writer = AnswerWriter(reply, is_batch=len(self._waiting) != 1 or request.posted.id is None)
        self._is_accepted = False
        self._scanner = StreamScanner(self._waiting, request.session, rules)

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
            if not self._scanner.is_resumable and not self._is_accepted:
                for pending in self._request.posted.calls:
                    self._rules.note_end(pending)
                    self._untrack(pending)

    def give_up(self, task: asyncio.Task[None]) -> None:
        """Write failures for the calls that have no answer, in the task that runs this: the proxy ends."""
        self._is_given_up = True
        task.cancel()

    async def _run_attempts(self) -> None:
        request, body = self._request, self._request.posted.body
        first = request.posted.calls[0]
        for pending in request.posted.calls:
            self._track(pending)
        if self._list_tools is not None and self._rules.validates:
            await self._list_tools(request, MAX_TOOL_LIST_WAIT)
        if not self._writer.is_batch and (refusal := await self._rules.refusal(first, request.session)) is not None:
            self._untrack(first)
            await self._writer.message(refusal)
            await self._writer.finish()
            return
        while (again := await self._attempt(body)) is not None:
            self._last, delay = again
            await self._sleep(delay)
            pending = self._last.pending
            if pending.is_cancelled or await self._rules.suspension(pending) is not None:
                await self._write_answer(self._last)
                break
            self._last = None
            self._untrack(pending, is_answered=False)
            pending.sent_as = self._next_id()
            self._track(pending)
            self._waiting.clear()
            self._waiting[pending.sent_as] = pending
            body = with_id(pending.body, pending.sent_as)
        await self._writer.finish()

    async def _answer_lost(self) -> None:
        """Answer what has no answer, unless the client can resume its stream elsewhere."""
        if not self._scanner.is_resumable:
            for pending in list(self._waiting.values()):
                if not pending.is_answered and not pending.is_cancelled:
                    self._rules.note_end(pending)
                    lost = CallAnswer(pending, self._request.session.failed(pending, PROXY_ENDED), PROXY_ENDED)
                    await self._write_answer(self._last or lost)
        await self._writer.finish()

    def _track(self, pending: PendingCall) -> None:
        if self._request.is_tracked:
            self._request.session.add(pending)

    def _untrack(self, pending: PendingCall, *, is_answered: bool = True) -> None:
        self._request.session.remove(pending)
        pending.is_answered = is_answered
        if is_answered:
            self._request.session.note_answered(pending)

    async def _attempt(self, body: bytes) -> tuple[CallAnswer, float] | None:
        """Make the calls once. Return an answer that is not the last one, and when to try again."""
        request = self._request
        self._scanner.is_resumable = False
        try:
            response = await self._upstream.send("POST", request.url, request.headers, body)
        except BROKEN as exc:
            return await self._fail_all(failure_from_exception(exc))
        try:
            return await self._read_response(response)
        except BROKEN as exc:
            return None if self._scanner.is_resumable else await self._fail_all(failure_from_exception(exc))
        except (BodyTooLong, TooManyBodies) as exc:
            self._scanner.is_resumable = False  # it would be as long again
            return await self._fail_all(ANSWER_TOO_LONG if isinstance(exc, BodyTooLong) else PROXY_FULL)
        finally:
            response.release()

    async def _read_response(self, response: ClientResponse) -> tuple[CallAnswer, float] | None:
        status = response.status
        if status in _NO_BODY:
            self._is_accepted = True
            await pass_on(response, self._reply, self._share)
            return None
        kind = response.content_type
        if status != _OK or kind not in ("application/json", "text/event-stream"):
            return await self._read_error(response)
        if kind == "application/json":
            self._writer.headers = to_client(response.headers.items())
            return await self._read_json(await read_body(response.content, self._share, most=MAX_ANSWER))
        if not self._reply.is_started:
            await self._reply.start(status, to_client(response.headers.items()))
        return await self._read_stream(response)

    async def _read_error(self, response: ClientResponse) -> tuple[CallAnswer, float] | None:
        """Handle an HTTP error, or a response that is no message."""
        status, headers, sent = response.status, response.headers, self._request.headers
        passes_on = is_for_client(status, sent, headers)
        says_why = status == _NOT_FOUND and "json" in response.content_type  # an unknown method, perhaps
        if self._rules.dry_run or (passes_on and not says_why):
            for pending in list(self._waiting.values()):
                self._report_passed(pending, failure_passed_on(status, sent, headers))
            async with redacting(self._reply, is_off=self._rules.dry_run) as reply:
                await pass_on(response, reply, self._share)
            return None
        data = await read_start(response.content, most=MAX_ERROR_BODY)
        body = decode(data) if "json" in response.content_type else None
        if passes_on and is_session_refused(status, sent, body):
            for pending in list(self._waiting.values()):
                self._report_passed(pending, failure_passed_on(status, sent, headers))
            await self._reply.send(status, to_client(headers.items()), redacted_body(status, data))
            return None
        self._writer.headers = json_headers(to_client(headers.items()))
        if status >= 400 and not self._writer.is_batch and (error := rpc_error_in(body, status, headers)) is not None:
            pending = next(iter(self._waiting.values()))
            message = {"jsonrpc": "2.0", "id": pending.sent_as, "error": error}
            if self._request.session.rewriter.failure_in(pending.call, message) is None:
                self._report_passed(pending, failure_from_response(status, headers, body, sent=sent))
                await self._reply.send(status, to_client(headers.items()), redacted_body(status, data))
                return None
            return await self._handle_answer(CallAnswer(pending, message))
        said = body if body is not None else data
        return await self._fail_all(failure_from_response(status, headers, said, sent=sent))

    def _report_passed(self, pending: PendingCall, failure: Failure | None) -> None:
        """Report that the client gets a response unchanged, which says nothing about the tool."""
        if failure is not None:
            event = self._request.session.rewriter.event("failure", pending.call, failure, passed=True)
            self._rules.report(event)
        self._rules.note_end(pending)
        self._untrack(pending)

    async def _read_json(self, data: bytes) -> tuple[CallAnswer, float] | None:
        """Handle a JSON body."""
        glance = glance_at_server(data, is_lenient=len(data) <= MAX_DECODED)
        is_success = glance is not None and glance.result is not None and not glance.is_failed
        pending = self._waiting.get(glance.id) if glance is not None and glance.id is not None and is_success else None
        if pending is not None and not self._scanner.must_read(pending):
            self._untrack(pending)
            await self._writer.raw(data)
            return None
        if len(data) > MAX_DECODED:
            if pending is not None:
                await self._pass_unread(data)
                return None
            return await self._fail_all(UNREADABLE_ANSWER)
        try:
            message = decode_or_raise(data)
        except RecursionError:
            is_answer = any(encode(id) in data for id in self._waiting)
            if (may_be_failing(data) and not self._rules.dry_run) or not is_answer:
                return await self._fail_all(UNREADABLE_ANSWER)
            await self._pass_unread(data)
            return None
        messages = message if is_array(message) else [message]
        body = None if is_array(message) else data
        for one in messages:
            if not is_object(one) or ("result" not in one and "error" not in one):
                continue
            id = one.get("id")
            if id is None and not self._writer.is_batch:
                id = next(iter(self._waiting))
            if isinstance(id, int | str) and (pending := self._waiting.get(id)) and not pending.is_answered:
                if (again := await self._handle_answer(CallAnswer(pending, one, body=body))) is not None:
                    return again
            elif self._writer.is_batch and id not in self._waiting and (safe := redacted_message(encode(one))):
                await self._writer.raw(safe)
        return await self._fail_all(NO_ANSWER)

    async def _pass_unread(self, data: bytes) -> None:
        """Pass on a body that is too deep to be decoded here, as the answer."""
        for pending in self._waiting.values():
            self._untrack(pending)
            if pending.sent_as != pending.id:
                data = data.replace(encode(pending.sent_as), encode(pending.id), 1)
        self._writer.is_batch = False
        await self._writer.raw(data)

    async def _read_stream(self, response: ClientResponse) -> tuple[CallAnswer, float] | None:
        """Handle an event stream."""
        events = EventSplitter(self._share)
        async for found in read_events(response, events):
            passed: list[bytes] = []
            for event in found:
                answer = self._scanner.scan(event)
                if answer is None:
                    if safe := event if self._rules.dry_run else redacted_event(event):
                        passed.append(safe)
                elif isinstance(answer, CallAnswer):
                    if passed:
                        await self._reply.write(b"".join(passed))
                        passed.clear()
                    if (again := await self._handle_answer(answer)) is not None:
                        return again
            if passed:
                await self._reply.write(b"".join(passed))
        if events.rest.strip():
            self._rules.report(ProxyEvent("dropped", details={"bytes": len(events.rest)}))
        return None if self._scanner.is_resumable else await self._fail_all(CONNECTION_LOST)

    async def _fail_all(self, failure: Failure) -> tuple[CallAnswer, float] | None:
        """Handle a failure that the proxy found: it is that of each call without an answer."""
        for pending in list(self._waiting.values()):
            if pending.is_answered or pending.is_cancelled:
                continue
            message = self._request.session.failed(pending, failure)
            if (again := await self._handle_answer(CallAnswer(pending, message, failure))) is not None:
                return again
        return None

    async def _handle_answer(self, answer: CallAnswer) -> tuple[CallAnswer, float] | None:
        try:
            return await self._judge_answer(answer)
        except (ClientGone, *BROKEN):
            raise
        except Exception:
            log.exception("an answer could not be rewritten; the client gets a failure without its text")
            pending = answer.pending
            self._untrack(pending)
            await self._writer.message(self._request.session.failed(pending, UNREADABLE_ANSWER), answer.event)
            return None

    async def _judge_answer(self, answer: CallAnswer) -> tuple[CallAnswer, float] | None:
        if self._list_tools is not None and self._is_unclear(answer):
            is_decisive = answer.pending.run is not None
            await self._list_tools(
                self._request, MAX_TOOL_LIST_WAIT if is_decisive else tool_list_wait(time.monotonic() - self._started)
            )
        if answer.failure in BOUND_FAILURES:
            self._rules.note_end(answer.pending)  # it says nothing about the tool, which others call too
        elif (delay := await self._rules.delay(answer.pending, self._request.session, answer.message)) is not None:
            return answer, delay
        await self._write_answer(answer)
        return None

    def _is_unclear(self, answer: CallAnswer) -> bool:
        """Return whether the list of tools may change what the client gets for a failure."""
        failure = answer.failure  # the proxy worded it, so that only the next step may depend on the tool
        if failure is not None and _advice(failure, _SAFE) == _advice(failure):
            return False
        return self._rules.is_unclear(answer.pending, self._request.session, answer.message)

    async def _write_answer(self, answer: CallAnswer) -> None:
        """Write an answer as the client gets it."""
        pending, rewriter = answer.pending, self._request.session.rewriter
        self._untrack(pending)
        message = {**answer.message, "id": pending.id}
        if answer.failure is not None:
            failure = pending.conclude(answer.failure)
            self._rules.report(rewriter.event("failure", pending.call, failure, **attempts_detail(pending.attempts)))
            message = rewriter.failed(pending.call, failure, attempts=pending.attempts)
        else:
            changed = rewriter.answer(pending.call, message, attempts=pending.attempts, run=pending.run)
            if changed is None and await self._writer.pass_on(answer):
                return
            message = changed or message
        await self._writer.message(message, answer.event)
