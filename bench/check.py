"""`failwell check` of a server with 50 tools, beside the same calls made one after another and not looked at.

Processor time of the checker and of the server together, without the start of the server.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from bench.measure import Figure
from failwell.check.peers.peer import initialize, list_tools
from failwell.check.peers.stdio import StdioPeer
from failwell.check.probes.names import tool_name_probes
from failwell.check.probes.probe import CheckedTool, Probe
from failwell.check.probes.table import make_probes
from failwell.check.runner import check

ROUNDS, TOOLS = 2, 50


def run() -> Iterator[Figure]:
    """Measure a check, the bare calls, and the start that both have in common."""
    calls = asyncio.run(_calls())
    ways = {"start": _bare([]), "bare": _bare(calls), "check": _check}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, doing in ways.items():
            best[name] = min(best[name], _cost(doing))
    yield Figure(
        group="check",
        what=f"check of {TOOLS} tools, {len(calls)} calls",
        microseconds=(best["check"] - best["start"]) * 1e6,
        beside="the calls alone",
        beside_microseconds=(best["bare"] - best["start"]) * 1e6,
    )


def _command() -> list[str]:
    return [sys.executable, str(Path(__file__).parent / "check_server.py"), str(TOOLS)]


def _cost(doing: Callable[[], Coroutine[Any, Any, None]]) -> float:
    before = sum(os.times()[:4])
    asyncio.run(doing())
    return sum(os.times()[:4]) - before


async def _check() -> None:
    await check(lambda: StdioPeer.start(_command()))


def _bare(calls: list[Probe]) -> Callable[[], Coroutine[Any, Any, None]]:
    async def doing() -> None:
        peer = await StdioPeer.start(_command())
        try:
            await initialize(peer)
            await list_tools(peer)
            for probe in calls:
                await peer.request("tools/call", {"name": probe.tool, "arguments": probe.arguments})
        finally:
            await peer.close()

    return doing


async def _calls() -> list[Probe]:
    peer = await StdioPeer.start(_command())
    try:
        await initialize(peer)
        tools = [CheckedTool(tool) for tool in await list_tools(peer)]
    finally:
        await peer.close()
    return [*(probe for tool in tools for probe in make_probes(tool)[0]), *tool_name_probes(tools)]
