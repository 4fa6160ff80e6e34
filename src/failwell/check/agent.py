"""A mechanical agent that knows only the error: which call would it make next?

It changes only what the error names. What to put there it takes from the error, or from the tool's published schema,
as any agent can. If the error names nothing, it is at a loss.
"""

import copy
from typing import Any

from failwell._json import is_object
from failwell._spelling import closest
from failwell.check.arguments import NOTHING, Keys, SchemaPlace, places, value_at, with_value, without_value
from failwell.check.probes import Subject
from failwell.failure import ROOT, Failure, FieldProblem, last_key, parent_path, path_keys
from failwell.schema.repair import repair

_MOST_TRIES = 20


def corrected(failure: Failure | None, arguments: dict[str, Any], subject: Subject) -> dict[str, Any] | None:
    """Return arguments that the schema accepts, made by mending what the error names; None if it does not tell."""
    problems = [problem for problem in failure.fields if problem.path != ROOT] if failure else []
    if failure is None or not problems:
        return None
    named = {problem.path for problem in problems}
    proposal = repair(failure, arguments, subject.schema)
    if proposal is not None and _stays_within(proposal.changes, named) and subject.is_valid(proposal.arguments):
        return proposal.arguments
    made: dict[str, Any] | None = copy.deepcopy(arguments)
    for problem in sorted(problems, key=lambda one: one.kind != "unknown"):
        made = _mended(made, problem, subject) if made is not None else None
    return made if made is not None and subject.is_valid(made) else None


def chosen_tool(failure: Failure | None, sent: str, tools: tuple[str, ...]) -> str | None:
    """Return the tool that the error points to; None if it points to none."""
    if failure is None:
        return None
    named = [name for name in failure.actions if name in tools]
    return next(iter(closest(sent, named, most=1) or named), None)


def _stays_within(changes: Any, named: set[str]) -> bool:
    """Tell whether a repair touches nothing but what the error names, or what a named field is called rightly."""
    return all(change.path in named or _is_renamed(change.path, change.reason, named) for change in changes)


def _is_renamed(path: str, reason: str, named: set[str]) -> bool:
    return any(reason.startswith(f"{last_key(name)} is called ") and parent_path(name) == parent_path(path)
               for name in named)  # fmt: skip


def _mended(arguments: dict[str, Any], problem: FieldProblem, subject: Subject) -> dict[str, Any] | None:
    keys = path_keys(problem.path)
    place = _place(keys, subject)
    sent = value_at(arguments, keys)
    if place is None or problem.kind == "unknown":
        return _renamed(arguments, keys, problem, subject) if sent is not NOTHING else arguments
    if sent is NOTHING and value_at(arguments, keys[:-1]) is NOTHING:
        return arguments
    options = [option for option in problem.options if option is not None]
    for value in (*options[:1], *_few(subject.values.candidates(place.schema)), *options):
        made = with_value(arguments, keys, value)
        if made is not None and not _complains_of(made, keys, subject):
            return made
    return None


def _renamed(arguments: dict[str, Any], keys: Keys, problem: FieldProblem, subject: Subject) -> dict[str, Any] | None:
    rest = without_value(arguments, keys)
    if rest is None:
        return None
    name, holder = problem.did_you_mean, value_at(arguments, keys[:-1])
    if name and is_object(holder) and name not in holder and _place((*keys[:-1], name), subject):
        return with_value(rest, (*keys[:-1], name), value_at(arguments, keys))
    return rest


def _complains_of(arguments: dict[str, Any], keys: Keys, subject: Subject) -> bool:
    return any(tuple(error.instance_path)[: len(keys)] == keys for error in subject.errors(arguments))


def _few(candidates: Any) -> list[Any]:
    return [value for value, _ in zip(candidates, range(_MOST_TRIES), strict=False)]


def _place(keys: Any, subject: Subject) -> SchemaPlace | None:
    spots = (place for shape in subject.shapes for place in places(shape, subject.tree))
    wanted = tuple(0 if isinstance(key, int) else key for key in keys)
    return next((place for place in spots if place.keys == wanted), None)
