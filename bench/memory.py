"""Call protected servers many times, and show that nothing stays behind: `python -m bench.memory [CALLS]`."""

import asyncio
import gc
import logging
import resource
import sys
from typing import Any

from bench.servers import MAKERS, connected, protected

ROUNDS = 10


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


def main(total: int) -> int:
    """Return 1 if the second half of the calls left more than 1 block in 20 calls behind."""
    logging.disable(logging.CRITICAL)
    leaks = False
    for name, make in MAKERS.items():
        for what, server in (("protected", protected(make)), ("bare", make())):
            seen = asyncio.run(grown(server, total))
            (before, used), (after, most) = seen[ROUNDS // 2 - 1], seen[-1]
            leaks = leaks or (what == "protected" and after - before > total / 2 / 20)
            print(
                f"{name}, {what}: {total:,} calls; in the second half {after - before:+,} blocks, "
                f"{most - used:+,} KiB of {most:,}",
                flush=True,
            )
    return int(leaks)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
