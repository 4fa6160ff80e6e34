"""`AsyncEffectRunner`: carries out what a `Conversation` wants, over HTTP."""

import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from failwell.event import Observer
from failwell.proxy.conversation import (
    AskLimits,
    Compute,
    Effect,
    ListTools,
    PendingRequest,
    ReportEvent,
    Sleep,
    Steps,
    Succeeded,
    ToClient,
    ToServer,
)
from failwell.retry import asettle

ListTool = Callable[[PendingRequest, float], Awaitable[None]]
"""Asks the server for its tools unless they are known, and waits so many seconds at most."""


class AsyncEffectRunner:
    """Carries out steps.

    Args:
        report: gets each event.
        list_tools: asks the server for its tools; None: the client does.
        clock: tells seconds.
        jitter: gives a number from 0 to 1.
    """

    def __init__(
        self,
        report: Observer,
        *,
        list_tools: ListTool | None = None,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.clock = clock
        self.report = report
        self._list_tools = list_tools
        self._jitter = jitter

    async def run(
        self,
        steps: Steps,
        *,
        to_client: Callable[[ToClient], Awaitable[object]],
        to_server: Callable[[ToServer], object] = lambda _: None,
        result: Any = None,
    ) -> Sleep | None:
        """Carry out steps until they end, or until they have to wait: then return how long."""
        error: Exception | None = None
        while True:
            try:
                effect = steps.send(result) if error is None else steps.throw(error)
            except StopIteration:
                return None
            result = error = None
            if isinstance(effect, Compute):
                try:
                    result = effect.function()
                except Exception as exc:  # the conversation answers all the same
                    error = exc
            elif isinstance(effect, ToClient):
                await to_client(effect)
            elif isinstance(effect, ToServer):
                to_server(effect)
            elif isinstance(effect, Sleep):
                return effect
            else:
                try:
                    result = await self._carry_out(effect)
                except Exception as exc:  # the conversation answers all the same
                    error = exc

    async def _carry_out(self, effect: Effect) -> Any:
        if isinstance(effect, ReportEvent):
            return self.report(effect.at(self.clock()))
        if isinstance(effect, AskLimits):
            return await asettle(effect.run, effect.step(self.clock(), self._jitter()))
        if isinstance(effect, Succeeded):
            return effect.run.succeeded(self.clock())
        if isinstance(effect, ListTools) and self._list_tools is not None:
            await self._list_tools(effect.request, effect.wait(self.clock()))
        return None
