"""The gateway under full load of 1, 64 and 512 sessions, beside a plain pass-through of aiohttp and fastmcp's proxy.

All are measured in turns in front of the same server, each in a process of its own: `python -m bench sessions`.
"""

import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator

from bench.gateway import Latencies
from bench.http_proxy import FASTMCP, HEADERS, PASS_THROUGH, SERVER, Way
from bench.measure import Amount, Figure

GROUP = "sessions"
SESSIONS = (1, 64, 512)
ROUNDS = 2
CALLS, CALLS_OF_SLOW = 1000, 100
IDLE = 512


class Load:
    """What calls through one way took, by the number of sessions."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.took = {number: Latencies() for number in SESSIONS}
        self.per_second: dict[int, list[float]] = {number: [] for number in SESSIONS}

    def measure(self, sessions: int, calls: int) -> None:
        """Let so many sessions call as often as they can."""
        found = Latencies()
        seconds = asyncio.run(crowd(self.way.port, sessions, max(calls, sessions), found))
        self.took[sessions] += found
        self.per_second[sessions].append(len(found) / seconds)


def run() -> Iterator[Figure | Amount]:
    """Measure all ways in turns, and what a session that does nothing takes of memory."""
    direct = Way("direct", [sys.executable, "-c", SERVER])
    ways = [direct]
    try:
        ways.append(Way("aiohttp pass-through", [sys.executable, "-c", PASS_THROUGH, direct.url]))
        command = [sys.executable, "-m", "failwell", "proxy", "--url", direct.url, "--listen", "127.0.0.1:0", "--quiet"]
        ways.append(Way("failwell", command, stream="stderr"))
        ways.append(Way("fastmcp's proxy", [sys.executable, "-c", FASTMCP, direct.url, "connected"]))
        loads = [Load(way) for way in ways]
        for load in loads:
            asyncio.run(crowd(load.way.port, 1, 5, Latencies()))  # a first round that does not count
        for sessions in SESSIONS:
            for _ in range(ROUNDS):
                for load in loads:
                    load.measure(sessions, CALLS_OF_SLOW if load is loads[-1] else CALLS)
        yield from _figures(loads)
        for way in ways[1:3]:
            yield Amount(
                group=GROUP, what="memory of an idle session", beside=way.name, value=_kilobytes(way), unit="kB"
            )
    finally:
        for way in ways:
            way.process.kill()
            way.process.communicate()  # waits, and closes its pipe


def _figures(loads: list[Load]) -> Iterator[Figure | Amount]:
    _, floor, ours, peer = loads
    for sessions in SESSIONS:
        for load in loads:
            value = statistics.median(load.per_second[sessions])
            yield Amount(
                group=GROUP, what=f"requests per second, {_counted(sessions)}", beside=load.way.name, value=value
            )
        for other in (floor, peer):
            yield Figure(
                group=GROUP,
                what=f"a call at full load, {_counted(sessions)}",
                microseconds=1e6 / statistics.median(ours.per_second[sessions]),
                beside=other.way.name,
                beside_microseconds=1e6 / statistics.median(other.per_second[sessions]),
            )
            yield Figure(
                group=GROUP,
                what=f"p99 of a call, {_counted(sessions)}",
                microseconds=ours.took[sessions].part(99) * 1e6,
                beside=other.way.name,
                beside_microseconds=other.took[sessions].part(99) * 1e6,
            )


async def crowd(port: int, sessions: int, calls: int, found: Latencies) -> float:
    """Make so many calls, spread over so many sessions at once, and return how many seconds all of them took."""
    from aiohttp import ClientSession, TCPConnector

    url, left = f"http://127.0.0.1:{port}/mcp", iter(range(calls))
    params = {"name": "work", "arguments": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    async with ClientSession(connector=TCPConnector(limit=0)) as client:

        async def session(number: int) -> None:
            headers = {**HEADERS, "Mcp-Session-Id": f"session-{number}"}
            for _ in left:
                begin = time.perf_counter()
                async with client.post(url, data=body, headers=headers) as response:
                    answer = await response.read()
                assert b'"result"' in answer, answer[:200]
                found.append(time.perf_counter() - begin)

        gc.collect()
        gc.disable()  # a pause of this process is none of the gateway
        try:
            begin = time.perf_counter()
            await asyncio.gather(*(session(number) for number in range(sessions)))
            return time.perf_counter() - begin
        finally:
            gc.enable()


def _kilobytes(way: Way) -> float:
    """Return what each of many sessions leaves in a process after its call, when its connection is closed."""
    before = way.resident_mb
    asyncio.run(_once_each(way.port))
    return max(way.resident_mb - before, 0.0) * 1024 / IDLE


async def _once_each(port: int) -> None:
    from aiohttp import ClientSession

    params = {"name": "work", "arguments": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    async with ClientSession() as client:
        for number in range(IDLE):
            headers = {**HEADERS, "Mcp-Session-Id": f"idle-{number}"}
            async with client.post(f"http://127.0.0.1:{port}/mcp", data=body, headers=headers) as response:
                await response.read()


def _counted(sessions: int) -> str:
    return f"{sessions} session{'s' if sessions > 1 else ''}"
