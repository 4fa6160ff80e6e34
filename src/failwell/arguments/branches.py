"""Unions: which branch was probably meant, and what is wrong with it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from failwell import paths
from failwell.arguments import wording
from failwell.arguments.wording import Place
from failwell.failure import FieldProblem

_CHOICES = ("enum", "const")


def nearest(place: Place, branches: Sequence[list[FieldProblem]]) -> list[FieldProblem]:
    """Return the problems of the branch of a union that the value at *place* comes closest to.

    Where no branch takes a value of this type, all their types are named. Where the branches differ by a field
    that chooses between them, and none has the value sent, all its values are named.
    """
    fitting = [branch for branch in branches if not _is_of_wrong_type(branch, place.path)]
    if not fitting:
        return _all_types(place, branches)
    if len(fitting) > 1 and (found := _choice(fitting) or _missing_choice(fitting)):
        return found
    return min(fitting, key=_distance)


def _is_of_wrong_type(branch: Sequence[FieldProblem], path: str) -> bool:
    return any(problem.kind == "type" and problem.path == path for problem in branch)


def _all_types(place: Place, branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    here = [problem for branch in branches for problem in branch if problem.path == place.path]
    types = [name for p in here if p.kind == "type" and p.expected for name in re.split(", | or ", p.expected)]
    options = _united(problem for problem in here if problem.kind in _CHOICES)
    return [wording.wrong_type(place, types, options=options)] if types else []


def _distance(branch: Sequence[FieldProblem]) -> tuple[int, int]:
    """Rank a branch: one whose constants were sent is meant, then one with fewer problems."""
    return sum(problem.kind == "const" for problem in branch), len(branch)


def _choice(branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    """Return the problem of a value that all branches list options for, with the options of all."""
    shared = _shared(branches, lambda problem: problem.kind in _CHOICES)
    if not shared:
        return []
    first = shared[0]
    place = Place(paths.split(first.path), first.sent, first.required)
    problem = wording.not_an_option(place, _united(shared))
    chosen = [b for b, p in zip(branches, shared, strict=True) if problem.did_you_mean in p.options]
    rest = [other for other in chosen[0] if other.path != problem.path] if problem.did_you_mean and chosen else []
    return [problem, *rest]


def _missing_choice(branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    """Return the problem of a missing value that chooses the branch, with the options of all."""
    shared = _shared(branches, lambda problem: problem.kind == "missing" and bool(problem.options))
    if not shared or len({problem.options for problem in shared}) == 1:
        return []
    return [wording.missing(Place(paths.split(shared[0].path)), options=_united(shared))]


def _shared(branches: Sequence[Sequence[FieldProblem]], wanted: Callable[[FieldProblem], bool]) -> list[FieldProblem]:
    """Return each branch's wanted problem at the first path where all have one; nothing if there is no such path."""
    found = [{problem.path: problem for problem in branch if wanted(problem)} for branch in branches]
    path = next((path for path in found[0] if all(path in others for others in found)), None)
    return [] if path is None else [problems[path] for problems in found]


def _united(problems: Iterable[FieldProblem]) -> list[Any]:
    options: list[Any] = []
    for problem in problems:
        options += [option for option in problem.options if option not in options]
    return options
