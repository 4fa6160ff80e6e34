"""The score of a demo, and all of it as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from failwell.demo.course import Course
from failwell.demo.playing import SIDES, Played

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
