"""How cost grows: the same job on ten times as much, again and again. Lookups stay flat, nothing is worse than linear.

The slope is that of a line through the cost of the three largest sizes, both axes logarithmic: 0 is flat, 1 is linear.
"""

import asyncio
import logging
import math
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, closing
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from mcp.server import MCPServer

import failwell as fw
from bench.measure import Amount
from bench.servers import connected, protected
from bench.stores import _events
from failwell.records import open_reader, open_sink
from failwell.redact.scrubber import scrub

GROUP = "growth"
SIZES = (10, 100, 1_000, 10_000)
CHARACTERS = (1_000, 10_000, 100_000, 1_000_000)
EVENTS = (100, 1_000, 10_000, 50_000)
SESSIONS = (1, 10, 100)
ROUNDS, MOST_SECONDS = 7, 0.15


class Curve(NamedTuple):
    """What is measured for each size: `ready` prepares, and gives what is timed."""

    what: str
    is_flat: bool
    sizes: tuple[int, ...]
    ready: Callable[[int, ExitStack], Callable[[], Any]]


def run() -> Iterator[Amount]:
    """Measure each curve, and its slope."""
    for curve in _curves():
        costs = [_cost(curve, size) for size in curve.sizes]
        yield from _amounts(curve.what, curve.sizes, costs, is_flat=curve.is_flat)
    logging.disable(logging.CRITICAL)
    try:
        for what, sizes, measured in (
            ("tools of a protected server", SIZES, _tools),
            ("sessions", SESSIONS, _sessions),
        ):
            costs = [asyncio.run(measured(size)) for size in sizes]
            yield from _amounts(what, sizes, costs, is_flat=True)
    finally:
        logging.disable(logging.NOTSET)


def _curves() -> tuple[Curve, ...]:
    return (
        Curve("tools to find the meant one in", False, SIZES, _misspelt),
        Curve("properties of a schema", True, SIZES, _properties),
        Curve("items of an argument", False, SIZES, _items),
        Curve("characters that are read", False, CHARACTERS, _text),
        Curve("characters that are redacted", False, CHARACTERS, _secret),
        Curve("rules for exceptions", True, SIZES, _rules),
        Curve("events in a store, its newest page", True, EVENTS, _newest),
    )


def _amounts(what: str, sizes: tuple[int, ...], costs: list[float], *, is_flat: bool) -> Iterator[Amount]:
    for size, cost in zip(sizes, costs, strict=True):
        yield Amount(group=GROUP, what=what, beside=f"{size:,}", value=cost * 1e6, unit="µs")
    kind = "flat" if is_flat else "linear"
    yield Amount(group=GROUP, what=f"slope: {what}", beside=f"{kind} at most", value=slope(sizes[-3:], costs[-3:]))


def slope(sizes: tuple[int, ...], costs: list[float]) -> float:
    """Return the slope of the line through these costs, both axes logarithmic; one that falls counts as flat."""
    logs = [math.log(max(cost, 1e-9)) for cost in costs]
    return max(statistics.linear_regression([math.log(size) for size in sizes], logs).slope, 0.0)


def _cost(curve: Curve, size: int) -> float:
    with ExitStack() as stack:
        call = curve.ready(size, stack)
        call()
        number = max(int(MOST_SECONDS / ROUNDS / max(_timed(call, 1), 1e-6)), 1)
        return min(_timed(call, min(number, 2000)) for _ in range(ROUNDS))


def _timed(call: Callable[[], Any], number: int) -> float:
    start = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - start) / number


def _misspelt(size: int, _: ExitStack) -> Callable[[], Any]:
    from failwell.schema.problems import unknown_tool

    return partial(unknown_tool, "find_tsak", [f"find_task_{number}" for number in range(size)])


def _properties(size: int, _: ExitStack) -> Callable[[], Any]:
    schema = {"type": "object", "properties": {f"p{number}": {"type": "integer"} for number in range(size)}}
    return partial(fw.check_arguments, {"p1": 1, "p2": 2, "p3": 3}, schema)


def _items(size: int, _: ExitStack) -> Callable[[], Any]:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    return partial(fw.check_arguments, {"ids": list(range(size))}, schema)


def _text(size: int, _: ExitStack) -> Callable[[], Any]:
    text = "error: no such thing " * (size // 21 + 1)
    return partial(fw.read, {"content": [{"type": "text", "text": text}], "isError": True})


def _secret(size: int, _: ExitStack) -> Callable[[], Any]:
    return partial(scrub, "the password=hunter2 was refused. " * (size // 34 + 1))


def _rules(size: int, stack: ExitStack) -> Callable[[], Any]:
    classes = [type(f"Error{number}", (Exception,), {}) for number in range(size)]
    for cls in classes:
        stack.enter_context(fw.rule(cls, "CONFLICT"))
    return partial(fw.from_exception, classes[-1]())


def _newest(size: int, stack: ExitStack) -> Callable[[], Any]:
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    address = f"sqlite:///{folder}/calls.db"
    with closing(open_sink(address)) as sink:
        sink.write(list(islice(_events(), size)))
    reader = stack.enter_context(closing(open_reader(address)))
    return partial(reader.newest, 50)


def _server(size: int) -> Any:
    """Return a server with so many tools, which are the same one under other names."""
    server = MCPServer("growth")

    @server.tool()
    async def work(number: int) -> int:
        return number

    tools = server._tool_manager._tools
    for number in range(size - 1):
        tools[f"work_{number}"] = tools["work"].model_copy(update={"name": f"work_{number}"})
    return server


async def _tools(size: int) -> float:
    async with connected(protected(partial(_server, size))) as call:
        return await _least(partial(call, "work", {"number": 1}))


async def _sessions(size: int) -> float:
    server = protected(partial(_server, 10))
    async with AsyncExitStack() as stack:
        calls = [await stack.enter_async_context(connected(server)) for _ in range(size)]
        for call in calls:
            await call("work", {"number": 1})
        return await _least(partial(calls[-1], "work", {"number": 1}))


async def _least(call: Callable[[], Awaitable[Any]]) -> float:
    least = math.inf
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(20):
            await call()
        least = min(least, (time.process_time() - start) / 20)
    return least
