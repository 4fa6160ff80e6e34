"""`Exchange`: one posted call, or a batch with calls, from its first try to the answer that the client gets."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from aiohttp import ClientResponse

from failwell.decision import Hints, decide
from failwell.failure import Failure
from failwell.json_types import is_array, is_object
from failwell.proxy.events import Happening
from failwell.proxy.glances import Id, came, decoded, encode, read
from failwell.proxy.http.event_stream import Events
from failwell.proxy.http.headers import to_client
from failwell.proxy.http.learning import LONGEST_WAIT, patience
from failwell.proxy.http.looking import Answer, Look
from failwell.proxy.http.passing import pass_on
from failwell.proxy.http.refusing import (
    ENDED,
    LOST,
    NO_ANSWER,
    broken,
    failure_of,
    failure_passed_on,
    is_between_client_and_server,
    stated_by,
)
from failwell.proxy.http.replying import Reply, json_headers
from failwell.proxy.http.rules import Rules
from failwell.proxy.http.sessions import Ask, Pending
from failwell.proxy.http.upstream import BROKEN, Upstream
from failwell.proxy.http.writing import Written
from failwell.proxy.renaming import renamed
from failwell.proxy.upgrading import tried

_OK = 200
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
        self._last: Answer | None = None
        self._waiting = {pending.sent_as: pending for pending in ask.posted.calls}
        self._written = Written(reply, is_batch=len(self._waiting) != 1 or ask.posted.id is None)
        self._is_elsewhere = False
        self._look = Look(self._waiting, ask.session, rules)

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
            body = renamed(pending.body, pending.sent_as)
        await self._written.finish()

    async def _lose(self) -> None:
        """Answer what has no answer, unless the client can resume its stream elsewhere."""
        if not self._look.is_resumable:
            for pending in list(self._waiting.values()):
                if not pending.is_answered and not pending.is_cancelled:
                    self._rules.ended(pending)
                    lost = Answer(pending, self._ask.session.failed(pending, ENDED), ENDED)
                    await self._settled(self._last or lost)
        await self._written.finish()

    def _track(self, pending: Pending) -> None:
        if self._ask.is_tracked:
            self._ask.session.began(pending)

    def _done(self, pending: Pending, *, is_answered: bool = True) -> None:
        self._ask.session.ended(pending)
        pending.is_answered = is_answered

    async def _attempt(self, body: bytes) -> tuple[Answer, float] | None:
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

    async def _received(self, response: ClientResponse) -> tuple[Answer, float] | None:
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

    async def _refused(self, response: ClientResponse) -> tuple[Answer, float] | None:
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
            return await self._answered(Answer(pending, message))
        return await self._found(failure_of(status, headers, body if body is not None else data))

    def _passes(self, pending: Pending, failure: Failure | None) -> None:
        """Note that the client gets what the server answered as it came, which says nothing of the tool."""
        if failure is not None:
            told = self._ask.session.upgrader.happening("failure", pending.call, failure, passed=True)
            self._rules.report(told)
        self._rules.ended(pending)
        self._done(pending)

    async def _whole(self, data: bytes) -> tuple[Answer, float] | None:
        """Deal with a JSON body."""
        glance = came(data)
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
                if (again := await self._answered(Answer(pending, one, body=body))) is not None:
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

    async def _stream(self, response: ClientResponse) -> tuple[Answer, float] | None:
        """Deal with an event stream."""
        events = Events()
        async for chunk in response.content.iter_any():
            passed: list[bytes] = []
            for event in events.feed(chunk):
                answer = self._look.at(event)
                if answer is None:
                    passed.append(event)
                elif isinstance(answer, Answer):
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

    async def _found(self, failure: Failure) -> tuple[Answer, float] | None:
        """Deal with a failure that the proxy found: it is that of each call without an answer."""
        for pending in list(self._waiting.values()):
            if pending.is_answered or pending.is_cancelled:
                continue
            message = self._ask.session.failed(pending, failure)
            if (again := await self._answered(Answer(pending, message, failure))) is not None:
                return again
        return None

    async def _answered(self, answer: Answer) -> tuple[Answer, float] | None:
        if self._learn is not None and self._is_unclear(answer):
            is_decisive = answer.pending.run is not None
            await self._learn(self._ask, LONGEST_WAIT if is_decisive else patience(time.monotonic() - self._began))
        delay = await self._rules.delay(answer.pending, self._ask.session, answer.message)
        if delay is not None:
            return answer, delay
        await self._settled(answer)
        return None

    def _is_unclear(self, answer: Answer) -> bool:
        """Return whether the list of tools may change what becomes of a failure."""
        found = answer.found  # the proxy worded it, so that only the next step may depend on the tool
        if found is not None and decide(found, _SAFE).action == decide(found).action:
            return False
        return self._rules.is_unclear(answer.pending, self._ask.session, answer.message)

    async def _settled(self, answer: Answer) -> None:
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
