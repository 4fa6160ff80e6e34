"""`ListeningStream`: a stream that a client opened for the server's messages, also to resume one that broke off.

Answers may arrive here: those of a stream that is resumed and, with the older transport, all of them.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import ClientResponse

from failwell.failure import Failure
from failwell.proxy.conversation import Arrival, PendingRequest, Sleep, Steps, ToClient, ToServer, join
from failwell.proxy.failures import ANSWER_TOO_LONG, CONNECTION_LOST, PROXY_FULL
from failwell.proxy.http.bodies import BodyShare, BodyTooLong, TooManyBodies
from failwell.proxy.http.effects import AsyncEffectRunner
from failwell.proxy.http.event_stream import EventSplitter, data_of, name_of, with_data
from failwell.proxy.http.exchange import in_event
from failwell.proxy.http.failures import failure_from_exception, failure_from_response
from failwell.proxy.http.reply import Reply
from failwell.proxy.http.sessions import HttpSession, PostedBody, UpstreamRequest
from failwell.proxy.http.upstream import BROKEN, Upstream, read_events


class ListeningStream:
    """Passes a stream on, with the failures in it rewritten.

    Args:
        session: the client's session.
        reply: where it goes.
        upstream: the server, to which calls are made again.
        effects: carries out what the conversation wants.
        is_resumed: it repeats what its client may not have got.
    """

    def __init__(
        self,
        session: HttpSession,
        reply: Reply,
        *,
        upstream: Upstream,
        effects: AsyncEffectRunner,
        is_resumed: bool = False,
    ) -> None:
        self.session = session
        self.reply = reply
        self.endpoint: str | None = None
        self._is_resumed = is_resumed
        self._conversation = session.conversation
        self._upstream = upstream
        self._effects = effects
        self._paused: dict[Steps, asyncio.Task[None]] = {}

    def add_tool_request(self, posted: PostedBody) -> None:
        """Note a request for the tools whose answer arrives here, so that the tools are learnt."""
        if posted.is_list and posted.id is not None:
            self._conversation.add(PendingRequest(posted.id, "tools/list", is_page=posted.is_page))

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
            if self.endpoint is None:
                for task in self._paused.values():
                    task.cancel()
        if self.endpoint is not None:
            await self.give_up(reason)

    @property
    def is_busy(self) -> bool:
        """Whether the client waits for the answer to a call."""
        return bool(self._paused) or any(request.tool for request in self._conversation.pending.values())

    async def give_up(self, failure: Failure) -> None:
        """Write a failure for each call that has no answer."""
        paused, self._paused = self._paused, {}
        for steps, task in paused.items():
            task.cancel()
            await self._run(steps, False)
        for pending in list(self._conversation.pending.values()):
            if pending.tool:
                await self._run(self._conversation.fail(pending, failure, is_final=True))

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
        # With the older transport all answers arrive here, those of later tries too.
        arrival = Arrival(source=event, is_repeated=self._is_resumed, is_other=self.endpoint is None)
        found = self._conversation.from_server(data, self._effects.clock(), arrival) if data else None
        if isinstance(found, list):
            found = None if all(what is None for _, what in found) else join(found, event)
        if found is None:
            await self.reply.write(event)
        elif not isinstance(found, bytes):
            await self._run(found)
        elif found:
            await self.reply.write(with_data(event, found))

    async def _run(self, steps: Steps, result: Any = None) -> None:
        sent: list[ToServer] = []
        pause = await self._effects.run(steps, to_client=self._to_client, to_server=sent.append, result=result)
        if pause is not None:
            self._paused[steps] = asyncio.create_task(self._resume(steps, pause))
        for call in sent:
            await self._send(call)

    async def _to_client(self, answer: ToClient) -> None:
        await self.reply.write(in_event(answer))

    async def _resume(self, steps: Steps, pause: Sleep) -> None:
        await asyncio.sleep(pause.seconds)
        self._paused.pop(steps, None)
        await self._run(steps, True)

    async def _send(self, call: ToServer) -> None:
        """Make a call again; its answer arrives here, but not if it cannot be made."""
        request: UpstreamRequest = call.request.route
        try:
            response = await self._upstream.send("POST", request.url, request.headers, call.data)
            response.release()
            failure = None if response.status < 300 else failure_from_response(response.status, response.headers, None)
        except BROKEN as exc:
            failure = failure_from_exception(exc)
        if failure is not None and not call.request.is_answered:
            await self._run(self._conversation.fail(call.request, failure))
