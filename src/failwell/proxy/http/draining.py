"""`Drain`: the calls that run through a gateway, which may end before it does."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from failwell.proxy.http.exchange import Exchange
from failwell.proxy.http.listening import Listening
from failwell.proxy.http.refusing import ENDED
from failwell.proxy.http.replying import ClientGone

_LOOKED_AGAIN_AFTER = 0.02


class Drain:
    """Knows which exchanges run, lets them end, and ends them."""

    def __init__(self) -> None:
        self._running: dict[Exchange, asyncio.Task[Any]] = {}

    async def through(self, exchange: Exchange) -> None:
        """Run an exchange."""
        task = asyncio.current_task()
        assert task is not None
        self._running[exchange] = task
        try:
            await exchange.run()
        finally:
            del self._running[exchange]

    async def end(self, streams: Collection[Listening], *, grace: float, hurried: asyncio.Event) -> None:
        """Wait until no call runs, for so many seconds or until somebody is in a hurry; answer those that still do."""
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while not hurried.is_set() and (self._running or any(stream.is_busy for stream in streams)):
                    await asyncio.sleep(_LOOKED_AGAIN_AFTER)
        for exchange, task in self._running.items():
            exchange.give_up(task)
        for stream in streams:
            with suppress(ClientGone):
                await stream.give_up(ENDED)
