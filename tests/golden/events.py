"""What observers, hooks and recorders are told of calls, and what stands in a file of records afterwards."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from tests.golden import api
from tests.golden.case import Case, logged, plain, steady

NOT_FOUND = api.Failure(code="NOT_FOUND", message="There is no task t-9.", actions=("list_tasks",))
BUSY = api.Failure(code="RATE_LIMITED", message="Too many requests.", retry_after=3)
LOST = api.Failure(code="TIMEOUT", message="The upstream did not answer.")
LONG = api.Failure(code="RATE_LIMITED", message="Too many requests.", retry_after=3600)
DENIED = api.Failure(code="FORBIDDEN", message="Not yours.")
ODD = api.Failure(message="Nobody knows.")
WRONG = api.Failure(
    code="VALIDATION_FAILED",
    message="Unknown field taskId.",
    fields=(api.FieldProblem(path="taskId", kind="unknown", did_you_mean="task_id", sent="t-1"),),
)
SAFE = {"readOnlyHint": True}
TASK = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]}
FINE: dict[str, Any] = {"content": [{"type": "text", "text": "fine"}], "isError": False}
FLAT = {"content": [{"type": "text", "text": "503 Service Unavailable, retry in 2 seconds"}], "isError": True}
IN_BAND = {"content": [{"type": "text", "text": "Error: file not found: a.txt"}], "isError": False}
RPC = {"code": -32602, "message": "Unknown tool: send"}

# What a tool answers, one after the other, the last for good.
ANSWERS: dict[str, list[Any]] = {
    "fine": [FINE],
    "busy once": [BUSY, FINE],
    "busy": [BUSY],
    "lost once": [LOST, FINE],
    "lost": [LOST],
    "lost, then missing": [LOST, NOT_FOUND],
    "busy for an hour": [LONG],
    "missing": [NOT_FOUND],
    "denied": [DENIED],
    "odd": [ODD],
    "wrong": [WRONG, FINE],
    "wrong twice": [WRONG],
    "flat": [FLAT, FINE],
    "in band": [IN_BAND],
    "protocol": [RPC],
}
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "repair": {"repair": True},
    "fallback": {"fallbacks": {"send": lambda failure, arguments: f"instead, after {failure.code}"}},
    "unflagged": {"unflagged": True},
    "no trust": {"trust": False},
    "five tries": {"policy": api.Policy(attempts=5, max_wait=10)},
}


class Kept:
    """A sink in memory."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def write(self, batch: Sequence[Any], /) -> None:
        self.records += batch

    def close(self) -> None:
        """Do nothing: what was written is kept."""


def cases() -> Iterator[Case]:
    """Yield a case for every way a call can go, of guarded tools, of retried functions, and of wrapped sessions."""
    yield Case("guard", _guard)
    for name in ANSWERS:
        for hints in (None, SAFE):
            for driver in (_call, _acall):
                yield Case(
                    f"{driver.__name__.strip('_')}/{name}/{'safe' if hints else 'unknown'}",
                    lambda name=name, hints=hints, driver=driver: driver(ANSWERS[name], hints),
                )
    for way, options in WAYS.items():
        for name in ANSWERS:
            for hints in (None, SAFE):
                yield Case(
                    f"mcp/{way}/{name}/{'safe' if hints else 'unknown'}",
                    lambda name=name, hints=hints, options=options: _wrapped(ANSWERS[name], hints, options),
                    "mcp",
                    is_heavy=way not in ("plain", "repair"),
                )


def _told(run: Callable[[Any, list[Any]], Any]) -> Any:
    """Return what a run gives, and all that a hook and two recorders were told of it."""
    events: list[Any] = []
    kept = Kept()
    with tempfile.TemporaryDirectory() as folder, logged() as lines:
        path = Path(folder) / "calls.jsonl"
        with api.Recorder(kept, server="tasks") as first, api.Recorder(f"jsonl:{path}", server="tasks") as second:

            def hook(event: Any) -> None:
                events.append(event)
                first(event)
                second(event)

            given = run(hook, [first, second])
        file = path.read_text().splitlines() if path.exists() else []
    return steady(
        {"given": given, "events": plain(events), "records": plain(kept.records), "file": file, "log": list(lines)}
    )


def _guard() -> Any:
    def run(_: Any, recorders: list[Any]) -> Any:
        meter = api.Meter()

        @api.guard(observers=[*recorders, meter], schema=TASK)
        def find(task_id: str) -> Any:
            match task_id:
                case "missing":
                    raise api.EXCEPTIONS["NotFound"]("There is no such task.")
                case "crash":
                    raise KeyError("x")
                case "failure":
                    return BUSY
            return "done"

        asked = [{"task_id": name} for name in ("fine", "missing", "crash", "failure", "missing")]
        found = [find(**arguments) for arguments in [*asked, {}, {"task_id": 5}, {"taskId": "t"}]]  # type: ignore[arg-type]  # wrong on purpose
        return [plain(found), plain({tool: [usage.calls, usage.failures] for tool, usage in meter.snapshot().items()})]

    return _told(run)


def _answer(answers: list[Any]) -> Callable[[], Any]:
    """Return a function that gives one answer after the other; a failure is raised, or returned on the wire."""
    left = list(answers)

    def next_one() -> Any:
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, api.Failure):
            raise api.ToolFailure(answer)
        return {"jsonrpc": "2.0", "id": 1, "error": answer} if "code" in answer else answer

    return next_one


def _ended(make: Callable[[], Any]) -> Any:
    try:
        return plain(make())
    except api.ToolFailure as failed:
        return {"raised": plain(failed.failure)}


def _settings(hook: Any, hints: Any) -> dict[str, Any]:
    ticks = count()
    return {
        "server": "tasks",
        "tool": "send",
        "arguments": {"to": "ann"},
        "hints": hints,
        "hook": hook,
        "shared": api.new_shared(),
        "clock": lambda: next(ticks) / 8,
        "chance": lambda: 0.5,
    }


def _call(answers: list[Any], hints: Any) -> Any:
    naps: list[float] = []

    def run(hook: Any, _: Any) -> Any:
        return _ended(lambda: api.call(_answer(answers), sleep=naps.append, **_settings(hook, hints)))

    return {**_told(run), "naps": naps}


def _acall(answers: list[Any], hints: Any) -> Any:
    naps: list[float] = []

    async def sleep(seconds: float) -> None:
        naps.append(seconds)

    def run(hook: Any, _: Any) -> Any:
        answer = _answer(answers)

        async def function() -> Any:
            return answer()

        async def main() -> Any:
            return await api.acall(function, sleep=sleep, **_settings(hook, hints))

        return _ended(lambda: asyncio.run(main()))

    return {**_told(run), "naps": naps}


def _wrapped(answers: list[Any], hints: Any, options: dict[str, Any]) -> Any:
    import anyio

    from tests.client.scripted import Naps, Scripted

    naps, ticks = Naps(), count()
    server = Scripted("tasks")
    wire = [api.encode(one) if isinstance(one, api.Failure) else one for one in answers]
    server.tool("send", *wire, inputSchema=TASK, **({"annotations": hints} if hints else {}))
    options = {**options}
    policy = options.pop("policy", api.Policy())

    def run(hook: Any, _: Any) -> Any:
        async def main() -> list[Any]:
            found = []
            async with server.connected() as session:
                api.wrap(
                    session,
                    policy,
                    hook=hook,
                    shared=api.new_shared(),
                    sleep=naps,
                    clock=lambda: next(ticks) / 8,
                    chance=lambda: 0.5,
                    **options,
                )
                for arguments in ({"taskId": "t-1"}, {"task_id": "t-1"}):
                    result = await session.call_tool("send", arguments)
                    failure = getattr(result, "failure", None)
                    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
                    found.append({"result": wire, "failure": plain(failure)})
            return found

        return anyio.run(main)

    return {**_told(run), "naps": list(naps), "calls": plain(server.calls)}
