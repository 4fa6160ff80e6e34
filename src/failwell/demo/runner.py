"""Run the demo: start both servers, let each agent make every call, count the side effects and compute the score."""

import asyncio
import functools
import json
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ParamSpec

import msgspec

from failwell.demo.agents import OnStep, run_informed_agent, run_plain_agent
from failwell.demo.client import DemoAnswer, DemoConnection, connect
from failwell.demo.scenes import SCENES, SIDES, AgentEnding, AgentRun, AgentStep, DemoScore, Scene, SceneResult, ignore
from failwell.demo.shop import SECRET

P = ParamSpec("P")

JSON_VERSION = 1
"""The version of what `failwell demo --json` writes."""

_TIMEOUT = 120.0
_AGENTS = {"bare": run_plain_agent, "failwell": run_informed_agent}


class DemoFailed(Exception):
    """The demo cannot be run; the text is one line that says why."""


class _CannotWrite(Exception):
    """A callback could not write; it is no failure of the servers."""

    def __init__(self, failed: OSError) -> None:
        super().__init__()
        self.failed = failed


def _mark_write_errors(callback: Callable[P, None]) -> Callable[P, None]:
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            callback(*args, **kwargs)
        except OSError as failed:
            raise _CannotWrite(failed) from None

    return call


async def run_demo(
    dialect: str,
    *,
    on_step: Callable[[str, Scene, AgentStep], None] = ignore,
    on_scene: Callable[[SceneResult], None] = ignore,
) -> list[SceneResult]:
    """Run all scenes and return their results.

    *on_step* is called with each step of an agent, *on_scene* with each scene when both sides are done with it.

    Raises:
        OSError: a callback cannot write.
        DemoFailed: a server could not be started, or fell silent.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder:
            async with asyncio.timeout(_TIMEOUT):
                on_step, on_scene = _mark_write_errors(on_step), _mark_write_errors(on_scene)
                return await _run_sides(Path(folder), dialect, on_step, on_scene)
    except TimeoutError:
        raise DemoFailed(f"the demo servers did not finish within {_TIMEOUT:g} s") from None
    except ExceptionGroup as failed:
        cause: BaseException = failed
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, _CannotWrite):
            raise cause.failed from None
        raise DemoFailed(f"the demo servers could not run: {type(cause).__name__}: {cause}") from None


async def _run_sides(
    folder: Path,
    dialect: str,
    on_step: Callable[[str, Scene, AgentStep], None],
    on_scene: Callable[[SceneResult], None],
) -> list[SceneResult]:
    results: list[SceneResult] = []
    ready = {side: asyncio.Queue[AgentRun]() for side in SIDES}
    async with asyncio.TaskGroup() as group:
        for side in SIDES:
            dialect_used = dialect if side == "failwell" else None
            group.create_task(_run_side(side, folder / side, dialect_used, on_step, ready[side]))
        for scene in SCENES:
            results.append(SceneResult(scene, {side: await ready[side].get() for side in SIDES}))
            on_scene(results[-1])
    return results


async def _run_side(
    side: str,
    journal: Path,
    dialect: str | None,
    on_step: Callable[[str, Scene, AgentStep], None],
    ready: asyncio.Queue[AgentRun],
) -> None:
    async with connect(journal, dialect) as connection:
        for scene in SCENES:
            report = functools.partial(on_step, side, scene)
            ready.put_nowait(await _run_scene(_AGENTS[side], connection, scene, journal, report))


async def _run_scene(
    agent: Callable[[DemoConnection, Scene, OnStep], Awaitable[DemoAnswer | None]],
    connection: DemoConnection,
    scene: Scene,
    journal: Path,
    on_step: Callable[[AgentStep], None],
) -> AgentRun:
    steps: list[AgentStep] = []
    answers: list[DemoAnswer] = []

    def record_step(step: AgentStep, answer: DemoAnswer) -> None:
        steps.append(step)
        answers.append(answer)
        on_step(step)

    taken = await agent(connection, scene, record_step)
    return AgentRun(
        steps=tuple(steps),
        ending=_ending(taken, scene),
        effects=_count(journal, scene.effect) if scene.effect else 0,
        secrets=sum(SECRET in json.dumps(answer.received, default=str) for answer in answers),
    )


def _ending(taken: DemoAnswer | None, scene: Scene) -> AgentEnding:
    if taken is None:
        return "handed over"
    return "recovered" if scene.proof in taken.text else "misled"


def _count(journal: Path, effect: str) -> int:
    with closing(sqlite3.connect(journal)) as database:
        [count] = database.execute("SELECT count(*) FROM effects WHERE effect = ?", (effect,)).fetchone()
    return int(count)


def scores(results: Sequence[SceneResult]) -> dict[str, DemoScore]:
    """Return the score of each side."""
    return {side: _score([one.runs[side] for one in results]) for side in SIDES}


def _score(runs: list[AgentRun]) -> DemoScore:
    return DemoScore(
        scenes=len(runs),
        recovered=sum(run.recovered for run in runs),
        calls=sum(len(run.steps) for run in runs),
        wasted=sum(run.wasted for run in runs),
        duplicates=sum(run.duplicates for run in runs),
        secrets=sum(run.secrets for run in runs),
    )


def as_json(dialect: str, results: Sequence[SceneResult]) -> dict[str, Any]:
    """Return the whole demo for programs."""
    return {
        "version": JSON_VERSION,
        "dialect": dialect,
        "scenes": [
            {
                "title": one.scene.title,
                "tool": one.scene.tool,
                "arguments": one.scene.arguments,
                **{side: _run_json(one.runs[side]) for side in SIDES},
            }
            for one in results
        ],
        "score": msgspec.to_builtins(scores(results)),
    }


def _run_json(run: AgentRun) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(run),
        "recovered": run.recovered,
        "wasted": run.wasted,
        "duplicates": run.duplicates,
    }
