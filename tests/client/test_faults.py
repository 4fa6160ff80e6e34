"""Thousands of calls that go wrong in every way: effects happen at most once, and every call ends."""

import json
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

import failwell as fw
from failwell.retry import Breaker, Budget, Repeats, Shared
from failwell.retry._pacer import Pacer
from tests.client import faulty
from tests.client.faulty import FAULTS, OVER_HTTP
from tests.matrix import sdks
from tests.matrix.test_http import served

AT_ONCE = 50
# A call that is answered needs far less than its time, also on a busy machine; one that hangs is given up soon.
POLICY = fw.Policy(
    timeout=60,
    deadline=10,
    base=0.001,
    throttled_base=0.001,
    tools={"*_and_hang": fw.Tool(timeout=1), "effects": fw.Tool(timeout=60, deadline=60)},
)
_PROGRAM = Path(faulty.__file__)
_HANGS = ("hang", "hang before", "cut")


@asynccontextmanager
async def over_stdio() -> AsyncIterator[ClientSession]:
    command = StdioServerParameters(command=sys.executable, args=[str(_PROGRAM)])
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def over_http() -> AsyncIterator[Any]:
    with served(faulty.application(faulty.FaultyServer())) as url:
        async with sdks.session("mcp", url) as connected:
            yield getattr(connected, "session", connected)


TRANSPORTS = {"stdio": (over_stdio, FAULTS), "http": (over_http, FAULTS + OVER_HTTP)}


class Unpaced(Pacer):
    """Lets every call through at once. With a pace, most calls would wait for their turn until their deadline."""

    def limited(self, *_: Any, **__: Any) -> None:
        return None


def patient() -> Shared:
    """Return limits that suspend nothing and hold nothing up: every call is to be made."""
    return Shared(Budget(capacity=1e9), Breaker(most=10**9), Repeats(most=10**9), Unpaced())


async def made(transport: str, count: int) -> tuple[dict[int, Any], Counter[int], dict[int, tuple[str, str]]]:
    """Return how each call ended, how often each payment was made, and what was asked for."""
    connect, faults = TRANSPORTS[transport]
    chance = random.Random(7)  # the same calls each time
    # Those that hang take a second each: few of many.
    weights = [1 if fault in _HANGS else 8 for fault in faults]
    asked = {number: (chance.choice(("pay", "search")), chance.choices(faults, weights)[0]) for number in range(count)}
    ended: dict[int, Any] = {}
    places = anyio.CapacityLimiter(AT_ONCE)

    async with connect() as session:
        fw.wrap(session, POLICY, shared=patient())

        async def call(number: int) -> None:
            tool, fault = asked[number]
            async with places:
                name = f"{tool}_and_hang" if fault in _HANGS else tool
                ended[number] = await session.call_tool(name, {"number": number, "fault": fault})

        async with anyio.create_task_group() as group:
            for number in asked:
                group.start_soon(call, number)
        told = await session.call_tool("effects", {})
    effects = Counter({int(number): times for number, times in json.loads(told.content[0].text).items()})
    return ended, effects, asked


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_whatever_goes_wrong_effects_happen_at_most_once_and_every_call_ends(transport: str, count: int) -> None:
    async def main() -> Any:
        with anyio.fail_after(60 + count * POLICY.deadline / AT_ONCE):  # if each were to take all its time
            return await made(transport, count)

    ended, effects, asked = anyio.run(main)

    assert len(ended) == count
    assert max(effects.values()) == 1
    failed = {number: result.failure for number, result in ended.items() if hasattr(result, "failure")}
    paid = {number for number, (tool, _) in asked.items() if tool == "pay"}
    assert paid.isdisjoint(effects.keys() - paid)
    # What is said of the outcome is true.
    assert all(number not in effects for number, failure in failed.items() if failure.outcome == "not_executed")
    assert all(number in effects for number in paid - failed.keys())
    assert {asked[number][1] for number in failed} >= {"busy", "invalid", "lost", "crash", "error", "hang", "cut"}
    assert sum(failure.code == "RATE_LIMITED" for failure in failed.values()) < count / 4  # the others were not held up
