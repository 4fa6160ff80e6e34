"""Play the demo: two servers started, every scene attended by the agent of each, effects counted, the score."""

import asyncio
import json
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec

import msgspec
from msgspec import Struct

from failwell.demo import informed_agent, plain_agent
from failwell.demo.client import DemoAnswer, DemoConnection, connected
from failwell.demo.scenes import SCENES, Course, Ending, Scene, Step, Tell
from failwell.demo.shop import SECRET

P = ParamSpec("P")

SIDES = ("bare", "failwell")
"""The server as it is written today, and the protected one."""

_LONGEST = 120.0
_ATTENDING = {"bare": plain_agent.attend, "failwell": informed_agent.attend}


class Played(NamedTuple):
    """A scene, and what the agent of each side did about it."""

    scene: Scene
    courses: dict[str, Course]


class Stuck(Exception):
    """The demo cannot be played; the text is one line that says why."""


class _Unwatched(Exception):
    """Whoever watches can no longer write; it is no failure of the servers."""

    def __init__(self, failed: OSError) -> None:
        super().__init__()
        self.failed = failed


def _watched(watch: Callable[P, None]) -> Callable[P, None]:
    def tell(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            watch(*args, **kwargs)
        except OSError as failed:
            raise _Unwatched(failed) from None

    return tell


def unseen(*_: object) -> None:
    """Watch nothing."""


async def play(
    dialect: str,
    *,
    stepped: Callable[[str, Scene, Step], None] = unseen,
    done: Callable[[Played], None] = unseen,
) -> list[Played]:
    """Play all scenes and return them; tell of each step, and of each scene when both sides are done with it.

    Raises:
        OSError: what is told cannot be written.
        Stuck: a server could not be started, or fell silent.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="failwell-demo-") as folder:
            async with asyncio.timeout(_LONGEST):
                return await _play(Path(folder), dialect, _watched(stepped), _watched(done))
    except TimeoutError:
        raise Stuck(f"the servers of the demo did not finish within {_LONGEST:g} s") from None
    except ExceptionGroup as failed:
        cause: BaseException = failed
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, _Unwatched):
            raise cause.failed from None
        raise Stuck(f"the servers of the demo do not run: {type(cause).__name__}: {cause}") from None


async def _play(
    folder: Path, dialect: str, stepped: Callable[[str, Scene, Step], None], done: Callable[[Played], None]
) -> list[Played]:
    played: list[Played] = []
    ready = {side: asyncio.Queue[Course]() for side in SIDES}
    async with asyncio.TaskGroup() as group:
        for side in SIDES:
            spoken = dialect if side == "failwell" else None
            group.create_task(_side(side, folder / side, spoken, stepped, ready[side]))
        for scene in SCENES:
            played.append(Played(scene, {side: await ready[side].get() for side in SIDES}))
            done(played[-1])
    return played


async def _side(
    side: str,
    journal: Path,
    dialect: str | None,
    stepped: Callable[[str, Scene, Step], None],
    ready: asyncio.Queue[Course],
) -> None:
    async with connected(journal, dialect) as connection:
        for scene in SCENES:
            tell = _telling(side, scene, stepped)
            ready.put_nowait(await _attended(_ATTENDING[side], connection, scene, journal, tell))


def _telling(side: str, scene: Scene, stepped: Callable[[str, Scene, Step], None]) -> Callable[[Step], None]:
    return lambda step: stepped(side, scene, step)


async def _attended(
    attend: Callable[[DemoConnection, Scene, Tell], Awaitable[DemoAnswer | None]],
    connection: DemoConnection,
    scene: Scene,
    journal: Path,
    tell: Callable[[Step], None],
) -> Course:
    steps: list[Step] = []
    answers: list[DemoAnswer] = []

    def told(step: Step, answer: DemoAnswer) -> None:
        steps.append(step)
        answers.append(answer)
        tell(step)

    taken = await attend(connection, scene, told)
    return Course(
        steps=tuple(steps),
        ending=_ending(taken, scene),
        effects=_count(journal, scene.effect) if scene.effect else 0,
        secrets=sum(SECRET in json.dumps(answer.received, default=str) for answer in answers),
    )


def _ending(taken: DemoAnswer | None, scene: Scene) -> Ending:
    if taken is None:
        return "handed over"
    return "recovered" if scene.proof in taken.text else "misled"


def _count(journal: Path, effect: str) -> int:
    with closing(sqlite3.connect(journal)) as database:
        [count] = database.execute("SELECT count(*) FROM effects WHERE effect = ?", (effect,)).fetchone()
    return int(count)


SHAPE = 1
"""The version of what `failwell demo --json` writes."""


class Score(Struct, frozen=True, kw_only=True):
    """How one side fared."""

    scenes: int
    recovered: int
    calls: int
    wasted: int
    duplicates: int
    secrets: int


def scores(played: Sequence[Played]) -> dict[str, Score]:
    """Return the score of each side."""
    return {side: _score([one.courses[side] for one in played]) for side in SIDES}


def _score(courses: list[Course]) -> Score:
    return Score(
        scenes=len(courses),
        recovered=sum(course.recovered for course in courses),
        calls=sum(len(course.steps) for course in courses),
        wasted=sum(course.wasted for course in courses),
        duplicates=sum(course.duplicates for course in courses),
        secrets=sum(course.secrets for course in courses),
    )


def as_json(dialect: str, played: Sequence[Played]) -> dict[str, Any]:
    """Return the whole demo for programs."""
    return {
        "version": SHAPE,
        "dialect": dialect,
        "scenes": [
            {
                "title": one.scene.title,
                "tool": one.scene.tool,
                "arguments": one.scene.arguments,
                **{side: _course(one.courses[side]) for side in SIDES},
            }
            for one in played
        ],
        "score": msgspec.to_builtins(scores(played)),
    }


def _course(course: Course) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(course),
        "recovered": course.recovered,
        "wasted": course.wasted,
        "duplicates": course.duplicates,
    }
