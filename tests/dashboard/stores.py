"""Stores that the tests fill, and what they come to."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from tools import sample_records

from failwell.dashboard.access import Access
from failwell.dashboard.data import DashboardData
from failwell.dashboard.server import listening
from failwell.records import Record, open_sink, recovery

NOW = 1_794_000_000.0
Found = TypeVar("Found")


def write(address: str, records: Iterable[Record]) -> None:
    sink = open_sink(address)
    sink.write(list(records))
    sink.close()


def some_sessions(count: int = 120, *, days: float = 6, seed: int = 3) -> list[Record]:
    """Records of several sessions, mixed as they were made at the same time."""
    found = [one for session in sample_records.sessions(seed, until=NOW, days=days, count=count) for one in session]
    return sorted(found, key=lambda record: record.time)


def source_of(address: str, *, now: float = NOW) -> DashboardData:
    return DashboardData(address, clock=lambda: now)


def counted(source: DashboardData) -> DashboardData:
    """Let a source count all there is."""
    while source.count():
        pass
    return source


def served(
    source: DashboardData, ask: Callable[[str], Awaitable[Found]], *, token: str | None = None, host: str = "127.0.0.1"
) -> Found:
    """Serve a source on a free port, ask it something by its address, and return what was found."""

    async def run() -> Found:
        async with listening(source, Access(host, token), "127.0.0.1", 0) as port:
            return await ask(f"http://127.0.0.1:{port}")

    try:
        return asyncio.run(run())
    finally:
        source.close()


class Serving:
    """A dashboard on a free port, in a thread of its own."""

    def __init__(self, store: str, token: str | None = None, *, now: float = NOW) -> None:
        self._source = source_of(store, now=now)
        self._door = Access("127.0.0.1", token)
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        assert self._ready.wait(30)

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        async with listening(self._source, self._door, "127.0.0.1", 0) as port:
            self.address = f"http://127.0.0.1:{port}"
            self._ready.set()
            await self._ended.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(30)
        self._loop.close()
        self._source.close()


def figures_of(records: Iterable[Record]) -> dict[str, Any]:
    """What the records come to by the definition itself."""
    whole = recovery(records)
    return {
        "calls": whole.calls,
        "failed": whole.failed,
        **whole.verdicts,
        "calls_wasted": whole.calls_wasted,
        "seconds_lost": round(whole.seconds_lost, 3),
        "turns_saved": whole.turns_saved,
        "duplicates_avoided": whole.duplicates_avoided,
    }
