"""Importing failwell beside msgspec and mcp, each in a fresh process; `import failwell` alone loads nothing."""

import resource
import subprocess
import sys
from collections.abc import Iterator

from bench.measure import Amount, Figure

ROUNDS = 7
FIRST_USE = "from failwell import Failure"
MORE_USE = "from failwell import Failure, guard, read"
FAILING = "import failwell as fw\n@fw.guard\ndef tool():\n    raise {}\ntool()"
FIRST_FAILURES = {
    "raised": FAILING.format("fw.NotFound('Task 7 does not exist.')"),
    "of a library": FAILING.format("ConnectionRefusedError(111, 'Connection refused')"),
}
# The least that any first failure takes: the decoder, a value with as many fields, a log, and the same answer by hand.
FLOOR = """
import logging, msgspec
Value = msgspec.defstruct("Value", [(f"field_{number}", str | None, None) for number in range(20)], frozen=True)
def tool():
    raise LookupError("Task 7 does not exist.")
try:
    tool()
except LookupError as exc:
    logging.getLogger("tool").info("%s", exc)
    text = msgspec.json.encode(Value(str(exc), "NOT_FOUND")).decode()
    answer = {"content": [{"type": "text", "text": text}], "isError": True}
"""
COMPARED = ((FIRST_USE, "import msgspec"), (MORE_USE, "import msgspec"), (FIRST_USE, "import mcp"))


def run() -> Iterator[Figure | Amount]:
    """Measure the processor time of imports in turns, less the start of the interpreter itself."""
    imports = (statement for pair in COMPARED for statement in pair)
    best = dict.fromkeys(["pass", FLOOR, *imports, *FIRST_FAILURES.values()], float("inf"))
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
    for what, statement in FIRST_FAILURES.items():
        floor = cost[FLOOR] / 1e3
        yield Amount(
            group="imports", what=f"first failure, {what}", value=cost[statement] / 1e3, unit="ms", floor=floor
        )


def _seconds(statement: str) -> float:
    before = _used_by_children()
    subprocess.run([sys.executable, "-I", "-c", statement], check=True, stderr=subprocess.DEVNULL)
    return _used_by_children() - before


def _used_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
