"""Let both servers fail in the same ways, and show what an agent gets from each.

`python compare.py` prints what it finds; `python compare.py --write` writes it to README.md.
"""

import asyncio
import difflib
import json
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from calendar_service import BUSY, FREE, SILENT, Calendar, running
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

import failwell as fw

FOLDER = Path(__file__).parent
PAGE = FOLDER / "README.md"
BEFORE, AFTER = "bare.py", "server.py"
VARYING = ((r'"id":"[0-9a-f]+"', '"id":"…"'), (r"pydantic\.dev/[\d.]+/", "pydantic.dev/…/"))
INTRODUCTION = """\
# A server before and after

See what failwell changes in a real server: the code, what a program knows about each failure, and what a model reads.
The server keeps tasks in sqlite and books time for them in a calendar over HTTP. [`bare.py`](bare.py) catches
exceptions and explains each in a sentence, as careful authors do. [`server.py`](server.py) is the same with failwell.

Both servers fail in the same eight ways. `python compare.py` prints what it finds, and `python compare.py --write`
writes this page.
"""


class World(NamedTuple):
    """What surrounds a server: its database and its calendar."""

    database: Path
    calendar: Calendar


def locked(world: World) -> AbstractContextManager[Any]:
    connection = sqlite3.connect(world.database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return closing(connection)


def in_mood(name: str) -> Callable[[World], AbstractContextManager[None]]:
    @contextmanager
    def wrong(world: World) -> Iterator[None]:
        world.calendar.mood = name
        yield
        world.calendar.mood = FREE

    return wrong


def stopped(world: World) -> AbstractContextManager[Any]:
    world.calendar.stop()
    return nullcontext()


class Provocation(NamedTuple):
    """A call that fails, and what is wrong in the world meanwhile."""

    title: str
    tool: str
    arguments: dict[str, Any]
    wrong: Callable[[World], AbstractContextManager[Any]] = lambda world: nullcontext(world)


# The calendar does not come back, so that provocation is the last one.
PROVOCATIONS = (
    Provocation("The task does not exist", "read_task", {"task": 99}),
    Provocation("The arguments are wrong", "add_task", {"titel": "Call the bank", "due": "soon"}),
    Provocation("The title is taken", "add_task", {"title": "Write the report", "due": "2026-12-01"}),
    Provocation("The task is still open", "delete_task", {"task": 1}),
    Provocation("Another process locks the database", "add_task", {"title": "Rest", "due": "2026-12-01"}, locked),
    Provocation("The calendar allows no more requests", "free_hours", {"day": "2026-11-20"}, in_mood(BUSY)),
    Provocation(
        "The calendar accepts and does not answer",
        "book_hour",
        {"task": 1, "day": "2026-11-20", "hour": 9},
        in_mood(SILENT),
    ),
    Provocation("The calendar is down", "free_hours", {"day": "2026-11-20"}, stopped),
)


class Observation(NamedTuple):
    """What a server answered, what it says of the tool, and how many entries the calendar had afterwards."""

    result: CallToolResult
    hints: Any
    entries: int

    @property
    def text(self) -> str:
        text = "\n".join(block.text for block in self.result.content if block.type == "text")
        for pattern, instead in VARYING:
            text = re.sub(pattern, instead, text)
        return text


async def observe(program: str) -> dict[str, Observation]:
    """Return what an agent gets from one of the servers, by title of the provocation."""
    seen: dict[str, Observation] = {}
    with tempfile.TemporaryDirectory() as folder, running() as calendar:
        world = World(Path(folder) / "tasks.sqlite", calendar)
        env = {"TASKS_DATABASE": str(world.database), "TASKS_CALENDAR": calendar.url, "TASKS_PATIENCE": "1.5"}
        server = StdioServerParameters(command=sys.executable, args=[str(FOLDER / program)], env={**os.environ, **env})
        async with Client(server) as client:
            await client.call_tool("add_task", {"title": "Write the report", "due": "2026-11-30"})
            hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
            for title, tool, arguments, wrong in PROVOCATIONS:
                with wrong(world):
                    result = await client.call_tool(tool, arguments)
                seen[title] = Observation(result, hints[tool], len(calendar.entries))
    return seen


def page(before: dict[str, Observation], after: dict[str, Observation]) -> str:
    """Return the page as Markdown."""
    return "\n".join([INTRODUCTION, *_difference(), *_overview(after), *_details(before, after)])


def _difference() -> Iterator[str]:
    one, other = ((FOLDER / name).read_text(encoding="utf-8").splitlines() for name in (BEFORE, AFTER))
    yield f"## The difference\n\n{len(one)} lines become {len(other)}.\n\n```diff"
    yield from difflib.unified_diff(one, other, BEFORE, AFTER, lineterm="", n=1)
    yield "```\n"


def _overview(after: dict[str, Observation]) -> Iterator[str]:
    yield "## What a program knows\n"
    yield "With `bare.py`, a program only knows that a call failed. With `server.py` it knows this:\n"
    yield "| what happened | type, code | did it take effect? | what to do |\n|---|---|---|---|"
    for title, seen in after.items():
        failure, step = _understood(seen)
        delay = "" if step.delay is None else f" after {step.delay:g} s"
        what = f"{step.action}{delay}{''.join(f' `{name}`' for name in step.actions)}"
        yield f"| {title} | `{failure.type}`, `{failure.code}` | {failure.outcome} | {what} |"


def _understood(seen: Observation) -> tuple[fw.Failure, fw.Decision]:
    failure = fw.read(seen.result)
    assert failure is not None
    return failure, fw.decide(failure, seen.hints)


def summary(before: dict[str, Observation], after: dict[str, Observation]) -> Iterator[str]:
    """Yield what was found, for people who run this program."""
    for title in before:
        failure, step = _understood(after[title])
        yield f"{title}\n  {BEFORE}: {before[title].text.splitlines()[0]}"
        yield f"  {AFTER}: {failure.code}, outcome {failure.outcome}, next: {step.action}\n"
    guessed = sum(_understood(seen)[0].origin == "inferred" for seen in before.values())
    yield f"A program has to guess {guessed} of {len(before)} failures of {BEFORE}, and none of {AFTER}."


def _details(before: dict[str, Observation], after: dict[str, Observation]) -> Iterator[str]:
    yield "\n## What a model reads\n"
    yield "One thing is lost: `bare.py` names the calendar. If that matters, raise your own exception."
    for title, tool, arguments, _ in PROVOCATIONS:
        yield f"\n### {title}\n\n`{tool} {json.dumps(arguments)}`"
        for name, seen in ((BEFORE, before[title]), (AFTER, after[title])):
            yield f"\n{name}:\n\n```text\n{seen.text}\n```"
        if before[title].entries and tool == "book_hour":
            yield "\nThe hour was booked. A model that follows the advice of `bare.py` books it twice."
    yield ""


async def main() -> None:
    before, after = await asyncio.gather(observe(BEFORE), observe(AFTER))
    print(*summary(before, after), sep="\n")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(before, after), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
