"""`import failwell` beside `import msgspec` and `import mcp`, each in a fresh process."""

import subprocess
import sys
import time
from collections.abc import Iterator

from bench.measure import Figure

_ROUNDS = 15


def run() -> Iterator[Figure]:
    """Measure imports in turns, less the start of the interpreter itself."""
    statements = [
        "pass",
        "import failwell",
        "import failwell; failwell.read, failwell.guard",
        "import msgspec",
        "import mcp",
    ]
    best = dict.fromkeys(statements, float("inf"))
    for _ in range(_ROUNDS):
        for statement in statements:
            best[statement] = min(best[statement], _seconds(statement))
    cost = {statement: (seconds - best["pass"]) * 1e6 for statement, seconds in best.items()}
    for ours, goal in (("import failwell", "≤ 2"), ("import failwell; failwell.read, failwell.guard", None)):
        yield _figure(ours, cost, "import msgspec", goal)
    yield _figure("import failwell", cost, "import mcp", "≤ 0.2")


def _figure(ours: str, cost: dict[str, float], beside: str, goal: str | None) -> Figure:
    return Figure(
        group="imports",
        what=ours,
        microseconds=cost[ours],
        beside=beside,
        beside_microseconds=cost[beside],
        goal=goal,
    )


def _seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", statement], check=True)
    return time.perf_counter() - start
