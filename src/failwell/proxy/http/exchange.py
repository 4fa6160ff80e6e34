"""`Exchange`: one posted call, or a batch with calls, from its first try to the answer that the client gets."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import ClientResponse
from msgspec import Struct

from failwell._json import is_array, is_object
from failwell.advice import Hints, decide
from failwell.failure import Failure
from failwell.proxy.events import Happening
from failwell.proxy.http.event_stream import Events, data_of, event_of, id_of, with_data
from failwell.proxy.http.headers import to_client
from failwell.proxy.http.refusals import (
    ENDED,
    LOST,
    NO_ANSWER,
    broken,
    failure_of,
    failure_passed_on,
    is_between_client_and_server,
    stated_by,
)
from failwell.proxy.http.reply import Headers, Reply, json_headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Ask, HttpSession, Pending
from failwell.proxy.http.tools import LONGEST_WAIT, patience
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.messages import Id, decoded, encode, glance_at_server, read, with_id
from failwell.proxy.rewriter import Message, tried

_SMALL = 1 << 16


async def pass_on(response: ClientResponse, reply: Reply) -> None:
    """Write an answer to the client as it comes."""
    length, headers = response.content_length, to_client(response.headers.items())
    if response.method == "HEAD":
        headers.extend({} if length is None else {"Content-Length": str(length)})
        await reply.begin(response.status, headers)
        return
    if length is not None and length <= _SMALL:
        await reply.whole(response.status, headers, await response.read())
        return
    if length is not None and "Content-Encoding" not in response.headers:
        headers["Content-Length"] = str(length)
    await reply.begin(response.status, headers)
    async for chunk in response.content.iter_any():
        await reply.write(chunk)


class StreamedAnswer(Struct):
    """What the server answered to a call, or the failure that the proxy found; and the event or body it came in."""

    pending: Pending
    message: Message
    found: Failure | None = None
    event: bytes | None = None
    body: bytes | None = None


class StreamScanner:
    """Looks at the events that answer a posted body, no closer than it must.

    Args:
        waiting: the calls in it, by the ids that the server knows them by.
        session: whose calls they are.
        rules: what the operator wants.
    """

    def __init__(self, waiting: dict[Id, Pending], session: HttpSession, rules: Rules) -> None:
        self.is_resumable = False
        self._waiting = waiting
        self._session = session
        self._rules = rules

    def at(self, event: bytes) -> StreamedAnswer | bool | None:
        """Return the answer in an event; None: pass it as it is. False: drop it."""
        if b"id:" in event and id_of(event):
            self.is_resumable = True
        data = data_of(event)
        if not data:
            return None
        glance = glance_at_server(data)
        if glance is None:
            return self._at_odd(event, data)
        if glance.method is not None:
            return self._at_notification(glance.method, data)
        pending = None if glance.id is None else self._waiting.get(glance.id)
        if pending is None:
            return None
        if pending.is_answered:
            return False
        if glance.is_failed or self.is_due(pending):
            return self._at_odd(event, data)
        self._session.ended(pending)
        pending.is_answered = True
        return None

    def is_due(self, pending: Pending) -> bool:
        """Return whether even a success must be looked at."""
        return self._rules.looks_at_successes or pending.run is not None or pending.sent_as != pending.id

    def _at_odd(self, event: bytes, data: bytes) -> StreamedAnswer | bool | None:
        try:
            message = read(data)
        except RecursionError:
            return None
        id = message.get("id") if is_object(message) and message.get("method") is None else None
        pending = self._waiting.get(id) if isinstance(id, int | str) else None
        if pending is None or not is_object(message):
            return None
        return False if pending.is_answered else StreamedAnswer(pending, message, event=event)

    def _at_notification(self, method: str, data: bytes) -> bool | None:
        self._session.heard(data)
        if method == "notifications/progress" and len(self._waiting) == 1:
            pending = next(iter(self._waiting.values()))
            if pending.run is not None and not self._rules.is_progress(pending, decoded(data)):
                return False
        return None


_OK = 200


class AnswerWriter:
    """Writes answers to a stream that has begun, and else keeps them until there are no more.

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
        """Write a message, in the event that it came in if there is one."""
        data = encode(message)
        if event is not None:
            await self._reply.write(with_data(event, data))
        else:
            await self.raw(data)

    async def passed(self, answer: StreamedAnswer) -> bool:
        """Write an answer as it came but for its id, unless it was one of many."""
        id = answer.pending.id
        is_named = answer.message.get("id") == id
        if answer.event is not None:
            event = answer.event
            await self._reply.write(event if is_named else with_data(event, with_id(data_of(event), id)))
        elif answer.body is not None:
            await self.raw(answer.body if is_named else with_id(answer.body, id))
        else:
            return False
        return True

    async def raw(self, data: bytes) -> None:
        """Write a message that is encoded already."""
        if self._reply.is_begun:
            await self._reply.write(event_of(data))
        else:
            self._kept.append(data)

    async def finish(self) -> None:
        """Write what is not written yet."""
        if not self._kept:
            return
        body = b"[" + b",".join(self._kept) + b"]" if self.is_batch else self._kept[0]
        await self._reply.whole(_OK, json_headers() if self.headers is None else self.headers, body)


_NO_BODY = (202, 204)
_LONGEST_ERROR = 1 << 20
_SAFE = Hints(read_only=True)


class Exchange:
    """Makes calls, again where the rules say so, and writes exactly one answer to each.

    Args:
        ask: what was posted.
        reply: where the answer goes.
        upstream: the server.
        rules: what the operator wants.
        next_id: gives ids that no client uses.
        learn: asks the server for its tools unless they are known here, and waits so long; None: the client asks.
        sleep: waits.
    """

    def __init__(
        self,
        ask: Ask,
        reply: Reply,
        *,
        upstream: Upstream,
        rules: Rules,
        next_id: Callable[[], Id],
        learn: Callable[[Ask, float], Awaitable[None]] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._ask = ask
        self._reply = reply
        self._upstream = upstream
        self._rules = rules
        self._next_id = next_id
        self._learn = learn
        self._sleep = sleep
        self._began = time.monotonic()
        self._is_given_up = False
        self._last: StreamedAnswer | None = None
        self._waiting = {pending.sent_as: pending for pending in ask.posted.calls}
        self._written = AnswerWriter(reply, is_batch=len(self._waiting) != 1 or ask.posted.id is None)
        self._is_elsewhere = False
        self._look = StreamScanner(self._waiting, ask.session, rules)

    async def run(self) -> None:
        """Make the calls, and write their answers."""
        try:
            await self._make()
        except asyncio.CancelledError:
            if not self._is_given_up:
                raise
            await self._lose()
        finally:
            if not self._look.is_resumable and not self._is_elsewhere:
                for pending in self._ask.posted.calls:
                    self._rules.ended(pending)
                    self._done(pending)

    def give_up(self, task: asyncio.Task[None]) -> None:
        """Write failures for the calls that have no answer, in the task that runs this: the proxy ends."""
        self._is_given_up = True
        task.cancel()

    async def _make(self) -> None:
        ask, body = self._ask, self._ask.posted.body
        first = ask.posted.calls[0]
        for pending in ask.posted.calls:
            self._track(pending)
        if self._learn is not None and self._rules.validates:
            await self._learn(ask, LONGEST_WAIT)
        if not self._written.is_batch and (refusal := await self._rules.refusal(first, ask.session)) is not None:
            self._done(first)
            await self._written.message(refusal)
            await self._written.finish()
            return
        while (again := await self._attempt(body)) is not None:
            self._last, delay = again
            await self._sleep(delay)
            pending = self._last.pending
            if pending.is_cancelled or await self._rules.suspension(pending) is not None:
                await self._settled(self._last)
                break
            self._last = None
            self._done(pending, is_answered=False)
            pending.sent_as = self._next_id()
            self._track(pending)
            self._waiting.clear()
            self._waiting[pending.sent_as] = pending
            body = with_id(pending.body, pending.sent_as)
        await self._written.finish()

    async def _lose(self) -> None:
        """Answer what has no answer, unless the client can resume its stream elsewhere."""
        if not self._look.is_resumable:
            for pending in list(self._waiting.values()):
                if not pending.is_answered and not pending.is_cancelled:
                    self._rules.ended(pending)
                    lost = StreamedAnswer(pending, self._ask.session.failed(pending, ENDED), ENDED)
                    await self._settled(self._last or lost)
        await self._written.finish()

    def _track(self, pending: Pending) -> None:
        if self._ask.is_tracked:
            self._ask.session.began(pending)

    def _done(self, pending: Pending, *, is_answered: bool = True) -> None:
        self._ask.session.ended(pending)
        pending.is_answered = is_answered

    async def _attempt(self, body: bytes) -> tuple[StreamedAnswer, float] | None:
        """Make the calls once. Return an answer that is not the last one, and when to try again."""
        ask = self._ask
        self._look.is_resumable = False
        try:
            response = await self._upstream.send("POST", ask.url, ask.headers, body)
        except BROKEN as exc:
            return await self._found(broken(exc))
        try:
            return await self._received(response)
        except BROKEN as exc:
            return None if self._look.is_resumable else await self._found(broken(exc))
        finally:
            response.release()

    async def _received(self, response: ClientResponse) -> tuple[StreamedAnswer, float] | None:
        status = response.status
        if status in _NO_BODY:
            self._is_elsewhere = True
            await pass_on(response, self._reply)
            return None
        kind = response.content_type
        if status != _OK or kind not in ("application/json", "text/event-stream"):
            return await self._refused(response)
        if kind == "application/json":
            self._written.headers = to_client(response.headers.items())
            return await self._whole(await response.read())
        if not self._reply.is_begun:
            await self._reply.begin(status, to_client(response.headers.items()))
        return await self._stream(response)

    async def _refused(self, response: ClientResponse) -> tuple[StreamedAnswer, float] | None:
        """Deal with an HTTP error, or an answer in a form that is no message."""
        status, headers = response.status, response.headers
        if self._rules.dry_run or is_between_client_and_server(status, self._ask.headers, headers):
            for pending in list(self._waiting.values()):
                self._passes(pending, failure_passed_on(status, self._ask.headers, headers))
            await pass_on(response, self._reply)
            return None
        data = await response.content.read(_LONGEST_ERROR)
        body = decoded(data) if "json" in response.content_type else None
        self._written.headers = json_headers(to_client(headers.items()))
        if status >= 400 and not self._written.is_batch and (error := stated_by(body, status, headers)) is not None:
            pending = next(iter(self._waiting.values()))
            message = {"jsonrpc": "2.0", "id": pending.sent_as, "error": error}
            if self._ask.session.upgrader.failure_in(pending.call, message) is None:
                self._passes(pending, failure_of(status, headers, body))
                await self._reply.whole(status, to_client(headers.items()), data)
                return None
            return await self._answered(StreamedAnswer(pending, message))
        return await self._found(failure_of(status, headers, body if body is not None else data))

    def _passes(self, pending: Pending, failure: Failure | None) -> None:
        """Note that the client gets what the server answered as it came, which says nothing of the tool."""
        if failure is not None:
            told = self._ask.session.upgrader.happening("failure", pending.call, failure, passed=True)
            self._rules.report(told)
        self._rules.ended(pending)
        self._done(pending)

    async def _whole(self, data: bytes) -> tuple[StreamedAnswer, float] | None:
        """Deal with a JSON body."""
        glance = glance_at_server(data)
        pending = None if glance is None or glance.id is None or glance.is_failed else self._waiting.get(glance.id)
        if pending is not None and not self._look.is_due(pending):
            self._done(pending)
            await self._written.raw(data)
            return None
        try:
            message = read(data)
        except RecursionError:
            await self._unread(data)
            return None
        messages = message if is_array(message) else [message]
        body = None if is_array(message) else data
        for one in messages:
            if not is_object(one) or ("result" not in one and "error" not in one):
                continue
            id = one.get("id")
            if id is None and not self._written.is_batch:
                id = next(iter(self._waiting))
            if isinstance(id, int | str) and (pending := self._waiting.get(id)) and not pending.is_answered:
                if (again := await self._answered(StreamedAnswer(pending, one, body=body))) is not None:
                    return again
            elif self._written.is_batch:
                await self._written.message(one)
        return await self._found(NO_ANSWER)

    async def _unread(self, data: bytes) -> None:
        """Pass on a body that is too deep to be read here: it is the answer, for all that can be told."""
        for pending in self._waiting.values():
            self._done(pending)
            if pending.sent_as != pending.id:
                data = data.replace(encode(pending.sent_as), encode(pending.id), 1)
        self._written.is_batch = False
        await self._written.raw(data)

    async def _stream(self, response: ClientResponse) -> tuple[StreamedAnswer, float] | None:
        """Deal with an event stream."""
        events = Events()
        async for chunk in response.content.iter_any():
            passed: list[bytes] = []
            for event in events.feed(chunk):
                answer = self._look.at(event)
                if answer is None:
                    passed.append(event)
                elif isinstance(answer, StreamedAnswer):
                    if passed:
                        await self._reply.write(b"".join(passed))
                        passed.clear()
                    if (again := await self._answered(answer)) is not None:
                        return again
            if passed:
                await self._reply.write(b"".join(passed))
        if events.rest.strip():
            self._rules.report(Happening("dropped", details={"bytes": len(events.rest)}))
        return None if self._look.is_resumable else await self._found(LOST)

    async def _found(self, failure: Failure) -> tuple[StreamedAnswer, float] | None:
        """Deal with a failure that the proxy found: it is that of each call without an answer."""
        for pending in list(self._waiting.values()):
            if pending.is_answered or pending.is_cancelled:
                continue
            message = self._ask.session.failed(pending, failure)
            if (again := await self._answered(StreamedAnswer(pending, message, failure))) is not None:
                return again
        return None

    async def _answered(self, answer: StreamedAnswer) -> tuple[StreamedAnswer, float] | None:
        if self._learn is not None and self._is_unclear(answer):
            is_decisive = answer.pending.run is not None
            await self._learn(self._ask, LONGEST_WAIT if is_decisive else patience(time.monotonic() - self._began))
        delay = await self._rules.delay(answer.pending, self._ask.session, answer.message)
        if delay is not None:
            return answer, delay
        await self._settled(answer)
        return None

    def _is_unclear(self, answer: StreamedAnswer) -> bool:
        """Return whether the list of tools may change what becomes of a failure."""
        found = answer.found  # the proxy worded it, so that only the next step may depend on the tool
        if found is not None and decide(found, _SAFE).action == decide(found).action:
            return False
        return self._rules.is_unclear(answer.pending, self._ask.session, answer.message)

    async def _settled(self, answer: StreamedAnswer) -> None:
        """Write an answer as the client gets it."""
        pending, upgrader = answer.pending, self._ask.session.upgrader
        self._done(pending)
        message = {**answer.message, "id": pending.id}
        if answer.found is not None:
            told = upgrader.happening("failure", pending.call, answer.found, **tried(pending.attempts))
            self._rules.report(told)
            failure = answer.found.replace(tool=pending.tool)
            message = upgrader.failed(pending.call, failure, attempts=pending.attempts)
        else:
            changed = upgrader.answer(pending.call, message, attempts=pending.attempts)
            if changed is None and await self._written.passed(answer):
                return
            message = changed or message
        await self._written.message(message, answer.event)
