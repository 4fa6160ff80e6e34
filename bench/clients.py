"""Calls of a wrapped session beside a bare one, to the same server in memory."""

import asyncio
import logging
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

import fastmcp
from mcp.client.client import Client

import failwell as fw
from bench.measure import Figure, compare_async
from bench.servers import new_fastmcp, new_mcp, protected
from failwell.retry import Breaker, Budget, Repeats, Shared

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "success": ("add", {"a": 1, "b": 2}),
    "error": ("find", {"task_id": "t-9"}),
    # More is done than without us: it is read, decided on and written for a model.
    "error of a bare server": ("crash", {}),
}

AT_ONCE, ROUNDS_AT_ONCE = 1000, 7


def patient() -> Shared:
    """Return what does not suspend a tool that fails a thousand times in a row."""
    return Shared(Budget(), Breaker(most=10**9), Repeats(most=10**9))


_under_way: ContextVar[int] = ContextVar("_under_way", default=0)


async def by_hand(call: Any, tool: str, arguments: dict[str, Any]) -> Any:
    """Make a call as the least of all wrappers would: count it, look at its result, and catch what it raises."""
    token = _under_way.set(_under_way.get() + 1)
    try:
        result = await call(tool, arguments)
    except Exception as exc:
        return exc
    finally:
        _under_way.reset(token)
    return result.content if result.is_error else result


def run() -> Iterator[Figure]:
    """Measure every kind of call on every SDK."""
    logging.disable(logging.CRITICAL)  # the SDKs draw pictures of tracebacks, which would hide everything else
    try:
        yield from asyncio.run(_figures())
    finally:
        logging.disable(logging.NOTSET)


async def _figures() -> list[Figure]:
    figures: list[Figure] = []
    for kind, (tool, arguments) in CALLS.items():
        make = new_mcp if "bare" in kind else lambda: protected(new_mcp)
        async with Client(make()) as ours, Client(make()) as theirs:
            fw.wrap(ours, shared=patient())
            figures.append(await _compared(kind, ours.call_tool, "mcp bare", theirs.call_tool, tool, arguments))
    for kind, (tool, arguments) in CALLS.items():
        make = new_fastmcp if "bare" in kind else lambda: protected(new_fastmcp)
        async with fw.wrap(fastmcp.Client(make()), shared=patient()) as ours, fastmcp.Client(make()) as theirs:
            figures.append(
                await _compared(kind, ours.call_tool_mcp, "fastmcp bare", theirs.call_tool_mcp, tool, arguments)
            )
    tool, arguments = CALLS["success"]
    async with Client(protected(new_mcp)) as ours, Client(protected(new_mcp)) as theirs:
        fw.wrap(ours, shared=patient())
        figures.append(await _compared_at_once(ours.call_tool, "mcp bare", theirs.call_tool, tool, arguments))
    async with (
        fw.wrap(fastmcp.Client(protected(new_fastmcp)), shared=patient()) as ours_of_fastmcp,
        fastmcp.Client(protected(new_fastmcp)) as theirs_of_fastmcp,
    ):
        mine, bare = ours_of_fastmcp.call_tool_mcp, theirs_of_fastmcp.call_tool_mcp
        figures.append(await _compared_at_once(mine, "fastmcp bare", bare, tool, arguments))
    return figures


async def _compared_at_once(ours: Any, beside: str, theirs: Any, tool: str, arguments: dict[str, Any]) -> Figure:
    """Measure a thousand calls that are under way together."""

    async def all_of(call: Any) -> None:
        await asyncio.gather(*(call(tool, arguments) for _ in range(AT_ONCE)))

    what = "1,000 successes at once, wrapped"
    return await compare_async(
        "wrap", what, lambda: all_of(ours), beside, lambda: all_of(theirs), number=1, rounds=ROUNDS_AT_ONCE
    )


async def _compared(kind: str, ours: Any, beside: str, theirs: Any, tool: str, arguments: dict[str, Any]) -> Figure:
    return await compare_async(
        "wrap",
        f"{kind}, wrapped",
        lambda: ours(tool, arguments),
        beside,
        lambda: theirs(tool, arguments),
        floor=partial(by_hand, theirs, tool, arguments),
    )
