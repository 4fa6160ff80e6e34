"""Call protected servers and the proxy many times: nothing stays behind. `python -m bench.memory` calls more often."""

import asyncio
import gc
import logging
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Amount
from bench.proxy_clients import Connection
from bench.servers import MAKERS, connected, protected

ROUNDS = 10
# Enough to tell a leak from caches that fill; by hand 100,000 are made.
CALLS = 10_000
PROXY_CALLS = 100_000
_SERVER = (sys.executable, "-I", str(Path(__file__).with_name("proxy_server.py")))
PROXY = [str(Path(sys.executable).with_name("failwell")), "proxy", "--quiet", "--", *_SERVER]
# The least that a proxy in Python holds: the interpreter, and what decodes JSON.
PUMP = [sys.executable, "-I", str(Path(__file__).with_name("pump.py")), "--decoder", *_SERVER]


def run() -> Iterator[Amount]:
    """Count the blocks that protected servers keep of the second half of their calls, and what the proxy grows by."""
    logging.disable(logging.CRITICAL)  # the SDKs draw pictures of tracebacks, which would hide everything else
    try:
        for name, make in MAKERS.items():
            kept, kept_bare = (
                left_behind(asyncio.run(grown(server, CALLS)))[0] / CALLS * 2 * 1000
                for server in (protected(make), make())
            )
            yield Amount(
                group="memory",
                what="blocks left behind by 1,000 calls",
                beside=f"{name}, protected",
                value=kept,
                floor=max(kept_bare, 0.0),
            )
    finally:
        logging.disable(logging.NOTSET)
    resident, least = resident_memory(PROXY, PROXY_CALLS), resident_memory(PUMP, PROXY_CALLS)
    growth = resident[-1] - resident[ROUNDS // 2 - 1]
    load = "100,000 calls, 64 at once, one in ten failing"
    yield Amount(group="memory", what="growth of the proxy in the second half", beside=load, value=growth, unit="MB")
    yield Amount(
        group="memory", what="the proxy in the end", beside=load, value=resident[-1], unit="MB", floor=least[-1]
    )


def calls(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Return one call of each kind, with names and values that were not seen before."""
    return [
        ("add", {"a": number, "b": 1}),
        ("find", {"task_id": f"t-{number}"}),
        ("crash", {}),
        ("add", {"a": f"x{number}", f"c{number}": 1}),
        (f"tool_{number}", {}),
    ]


async def grown(server: Any, total: int) -> list[tuple[int, int]]:
    """Return blocks in use and the most memory used so far (KiB), after each round."""
    seen: list[tuple[int, int]] = []
    async with connected(server) as call:
        number = 0
        for _ in range(ROUNDS):
            for _ in range(total // ROUNDS // 5):
                number += 1
                for tool, arguments in calls(number):
                    await call(tool, arguments)
            gc.collect()
            seen.append((sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
    return seen


def resident_memory(command: list[str], total: int) -> list[float]:
    """Return how many megabytes a proxy holds after each round."""
    with Connection(command) as connection:
        seen: list[float] = []
        for _ in range(ROUNDS):
            for tool, share in ((b"small", 9), (b"failing", 1)):
                connection.seconds_at_once(tool, total // ROUNDS * share // 10, 64)
            seen.append(connection.resident())
    return seen


def left_behind(seen: list[tuple[int, int]]) -> tuple[int, int]:
    """Return by how many blocks and how many KiB the second half grew."""
    (before, used), (after, most) = seen[ROUNDS // 2 - 1], seen[-1]
    return after - before, most - used


def main(total: int) -> int:
    """Return 1 if the second half of the calls left more than 1 block in 20 calls behind."""
    logging.disable(logging.CRITICAL)
    leaks = False
    for name, make in MAKERS.items():
        for what, server in (("protected", protected(make)), ("bare", make())):
            blocks, kib = left_behind(asyncio.run(grown(server, total)))
            leaks = leaks or (what == "protected" and blocks > total / 2 / 20)
            print(f"{name}, {what}: {total:,} calls; the second half left {blocks:+,} blocks, {kib:+,} KiB", flush=True)
    return int(leaks)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
