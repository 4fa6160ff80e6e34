"""Sessions as agents have them, played for real: through the proxy in front of a server, and by a wrapped client.

`python -m tests.records.sessions` writes the records of each into tests/data/sessions.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio

import failwell as fw
from failwell.records import Record, Recorder
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never
from tests.proxy.clients import Client
from tests.records.samples import Kept, read_file

DATA = Path(__file__).parents[1] / "data" / "sessions"
MISSING = fw.encode(fw.Failure(code="NOT_FOUND", message="There is no task t-9.", actions=("list_tasks",)))
WRONG = fw.encode(
    fw.Failure(
        code="VALIDATION_FAILED",
        message="Unknown field taskId.",
        fields=(fw.FieldProblem(path="taskId", kind="unknown", did_you_mean="task_id", sent="t-1"),),
    )
)
SAFE = {"annotations": {"readOnlyHint": True}}
TASK = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]}

Calls = list[tuple[str, dict[str, Any]]]


class Played(NamedTuple):
    """How to play a session, and what its failures come to: tool, code, verdict, calls wasted."""

    play: Callable[[Path], list[Record]]
    verdicts: list[tuple[str, str, str, int]]
    duplicates: int = 0


def proxied(*calls: tuple[str, dict[str, Any]]) -> Callable[[Path], list[Record]]:
    """Return what makes calls through the proxy, with retries and validation."""

    def play(folder: Path) -> list[Record]:
        path = folder / "calls.jsonl"
        with Client("--events", str(path), "--retry", "--validate", "--name", "tasks") as client:
            for tool, arguments in calls:
                client.call(tool, **arguments)
        return read_file(path)

    return play


def wrapped(
    calls: Calls, tools: dict[str, tuple[list[Any], dict[str, Any]]], **options: Any
) -> Callable[[Path], list[Record]]:
    """Return what makes calls with a wrapped session."""

    def play(_: Path) -> list[Record]:
        sink, server = Kept(), Scripted("tasks")
        for name, (answers, described) in tools.items():
            server.tool(name, *answers, **described)

        async def main() -> None:
            async with server.connected() as session:
                fw.wrap(session, hook=recorder, sleep=Naps(), chance=never, **options)
                for tool, arguments in calls:
                    await session.call_tool(tool, arguments)

        with Recorder(sink) as recorder:
            anyio.run(main)
        return sink.records

    return play


SESSIONS = {
    "proxy_retry": Played(
        proxied(("look", {"n": 1, "do": "fail until:2"})),
        [("look", "SERVICE_UNAVAILABLE", "by_retry", 0)],
    ),
    "proxy_corrected": Played(
        proxied(("look", {"n": "one"}), ("look", {"n": 1})),
        [("look", "VALIDATION_FAILED", "corrected", 0)],
    ),
    "proxy_elsewhere": Played(
        proxied(("act", {"n": 1, "do": "fail:404 Not Found"}), ("look", {"n": 1})),
        [("act", "NOT_FOUND", "moved_on", 1)],
    ),
    "proxy_looped": Played(
        proxied(*[("act", {"n": 1, "do": "fail:404 Not Found"})] * 3),
        [("act", "NOT_FOUND", "looped", 3)],
    ),
    "proxy_duplicate_prevented": Played(
        proxied(("act", {"n": 1, "do": "fail:504 Gateway Timeout"})),
        [("act", "UPSTREAM_TIMEOUT", "unresolved", 1)],
        duplicates=1,
    ),
    "client_retry": Played(
        wrapped([("send", {"to": "ann"})], {"send": ([BUSY, BUSY, FINE], {})}),
        [("send", "RATE_LIMITED", "by_retry", 0)],
    ),
    "client_later": Played(
        wrapped([("find", {"id": str(number)}) for number in range(3)], {"find": ([MISSING, MISSING, FINE], {})}),
        [("find", "NOT_FOUND", "corrected", 1)],
    ),
    "client_helped": Played(
        wrapped(
            [("find", {"id": "9"}), ("send", {"to": "ann"}), ("list_tasks", {})],
            {"find": ([MISSING], {}), "send": ([LOST], {}), "list_tasks": ([FINE], SAFE)},
        ),
        [("find", "NOT_FOUND", "named_tool", 0), ("send", "TIMEOUT", "moved_on", 1)],
        duplicates=1,
    ),
    "client_repaired": Played(
        wrapped([("claim", {"taskId": "t-1"})], {"claim": ([WRONG, FINE], {"inputSchema": TASK})}, repair=True),
        [("claim", "VALIDATION_FAILED", "by_repair", 0)],
    ),
    "client_fallback": Played(
        wrapped(
            [("rate", {"of": "EUR"})],
            {"rate": ([LOST], SAFE)},
            fallbacks={"rate": lambda failure, arguments: "1.0, as of yesterday"},
        ),
        [("rate", "TIMEOUT", "by_fallback", 0)],
    ),
}  # fmt: skip


def main(folder: Path) -> None:
    """Play every session and keep its records."""
    DATA.mkdir(exist_ok=True)
    for name, played in SESSIONS.items():
        (folder / name).mkdir()
        records = played.play(folder / name)
        (DATA / f"{name}.jsonl").unlink(missing_ok=True)
        sink = fw.records.open_sink(f"jsonl:{DATA / name}.jsonl")
        sink.write(records)
        sink.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
