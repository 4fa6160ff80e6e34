"""Importing failwell beside msgspec and mcp, each in a fresh process; `import failwell` alone loads nothing."""

import resource
import subprocess
import sys
from collections.abc import Iterator

from bench.measure import Figure

ROUNDS = 15
FIRST_USE = "from failwell import Failure"
MORE_USE = "from failwell import Failure, guard, read"
COMPARED = ((FIRST_USE, "import msgspec"), (MORE_USE, "import msgspec"), (FIRST_USE, "import mcp"))


def run() -> Iterator[Figure]:
    """Measure the processor time of imports in turns, less the start of the interpreter itself."""
    best = dict.fromkeys(["pass", *(statement for pair in COMPARED for statement in pair)], float("inf"))
    for _ in range(ROUNDS):
        for statement in best:
            best[statement] = min(best[statement], _seconds(statement))
    cost = {statement: (seconds - best["pass"]) * 1e6 for statement, seconds in best.items()}
    for ours, beside in COMPARED:
        yield Figure(
            group="imports",
            what=ours,
            microseconds=cost[ours],
            beside=beside,
            beside_microseconds=cost[beside],
        )


def _seconds(statement: str) -> float:
    before = _used_by_children()
    subprocess.run([sys.executable, "-I", "-c", statement], check=True)
    return _used_by_children() - before


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
