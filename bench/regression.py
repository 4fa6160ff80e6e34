"""A handful of ratios that a change must not spoil: `python -m bench --check`, a part of `make check`.

Each is the processor time of a job of ours beside that of a job of others, call by call in turns, the medians of
hundreds. Bounds are more than twice what is seen, so that a busy machine never fails and a mistake in the order of
growth does. What is slower than its bound three times in a row fails.
"""

import asyncio
import json
import logging
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import failwell as fw
from bench.servers import CALLS, connected, new_mcp, protected

TRIES, TURNS = 3, 300

Job = Callable[[], Any]


class Limit(NamedTuple):
    """A job of ours, how many times as long as another it may take, and which that is."""

    what: str
    most: float
    beside: str


# On an idle machine and on one with ten times as much to do as it has processors, at most 40 % of each bound was seen.
SERVER_LIMITS = {
    "success": Limit("a success of a protected server", 3.0, "the bare server"),
    "error": Limit("a failure that is raised, protected", 4.0, "the bare server"),
    "crash": Limit("a crash, protected", 4.5, "the bare server"),
    "wrong arguments": Limit("wrong arguments, protected", 6.0, "the bare server"),
    "unknown tool": Limit("an unknown tool, protected", 5.5, "the bare server"),
}
TEXT = "404 Not Found: no task with the id t-9 exists in project alpha"


def check(tell: Callable[[str], None]) -> int:
    """Tell every ratio, and return 1 if one is beyond its bound."""
    failed = False
    logging.disable(logging.CRITICAL)
    try:
        for limit, measured in _jobs():
            ratio = _least(limit, measured)
            failed = failed or ratio > limit.most
            mark = "TOO SLOW: " if ratio > limit.most else ""
            tell(f"{mark}{limit.what}: {ratio:.2f} × {limit.beside}, at most {limit.most:g}")
    finally:
        logging.disable(logging.NOTSET)
    return int(failed)


def _least(limit: Limit, measured: Callable[[], float]) -> float:
    found: list[float] = []
    while len(found) < TRIES and (not found or found[-1] > limit.most):
        found.append(measured())
    return min(found)


def _jobs() -> Iterator[tuple[Limit, Callable[[], float]]]:
    for kind, limit in SERVER_LIMITS.items():
        yield limit, lambda kind=kind: asyncio.run(_of_servers(*CALLS[kind]))
    failure = fw.NotFound("Task t-9 does not exist.", actions=["list_tasks"], tool="get_task").failure
    wire = fw.encode(failure)
    line = json.dumps(wire)
    written, parsed = partial(json.dumps, wire), partial(json.loads, line)
    flat = {"content": [{"type": "text", "text": TEXT}], "isError": True}
    yield Limit("writing a failure", 7.0, "json.dumps of it"), partial(_ratio, partial(fw.encode, failure), written)
    yield Limit("reading a failure", 3.0, "json.loads of it"), partial(_ratio, partial(fw.read, wire), parsed)
    yield Limit("reading flat text", 40.0, "json.loads of a failure"), partial(_ratio, partial(fw.read, flat), parsed)


def _ratio(ours: Job, theirs: Job) -> float:
    took: tuple[list[int], list[int]] = ([], [])
    for _ in range(TURNS):
        for found, job in zip(took, (ours, theirs), strict=True):
            start = time.process_time_ns()
            for _ in range(20):
                job()
            found.append(time.process_time_ns() - start)
    return statistics.median(took[0]) / statistics.median(took[1])


async def _of_servers(tool: str, arguments: dict[str, Any]) -> float:
    async with connected(protected(new_mcp)) as call, connected(new_mcp()) as bare:
        jobs: tuple[Callable[[], Awaitable[Any]], ...] = (
            partial(call, tool, arguments),
            partial(bare, tool, arguments),
        )
        took: tuple[list[int], list[int]] = ([], [])
        for _ in range(TURNS):
            for found, job in zip(took, jobs, strict=True):
                start = time.process_time_ns()
                await job()
                found.append(time.process_time_ns() - start)
    return statistics.median(took[0]) / statistics.median(took[1])
