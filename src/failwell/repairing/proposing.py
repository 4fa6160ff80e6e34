"""`repair`: corrected arguments for a failed call, with what was changed and how surely."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from failwell import paths
from failwell.failure import ROOT, Failure, FieldProblem
from failwell.json_types import is_array, is_object
from failwell.repairing import coercion
from failwell.repairing.coercion import Candidate
from failwell.repairing.parts import Part
from failwell.suggest import closest, normalised

_MOST_PROBLEMS = 20
_NOTHING = object()


class Change(Struct, frozen=True, kw_only=True):
    """One correction: where, what was sent, what is proposed, and why. A value that is absent is None."""

    path: str
    before: Any
    after: Any
    reason: str


class Repair(Struct, frozen=True, kw_only=True):
    """Corrected arguments. Below a confidence of 0.7 something that was sent is lost: ask before using them."""

    arguments: dict[str, Any]
    changes: tuple[Change, ...]
    confidence: float


def repair(failure: Failure, arguments: Any, schema: Any) -> Repair | None:
    """Return arguments that mend a failed call, or None if the error and the schema do not determine them.

    Nothing is sent, nothing given is changed, and no value is invented. With jsonschema-rs installed, a proposal that
    the schema would refuse is never made.
    """
    if failure.type != "VALIDATION" or not is_object(arguments) or not is_object(schema):
        return None
    try:
        return _repair(failure, arguments, schema)
    except (RecursionError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None  # a schema that is none, arguments that refer to themselves


def _repair(failure: Failure, arguments: dict[str, Any], schema: dict[str, Any]) -> Repair | None:
    work = _Work(copy.deepcopy(arguments), Part.of(schema))
    known = _problems(arguments, schema)
    for problem in _complained(failure, known)[:_MOST_PROBLEMS]:
        if not work.mend(problem):
            return None
    if not work.changes or work.arguments == arguments:
        return None
    left = _problems(work.arguments, schema)
    ignored = {problem.path for problem in known or () if problem.kind == "unknown"}
    if any(problem.path not in ignored or problem.kind != "unknown" for problem in left or ()):
        return None
    return Repair(arguments=work.arguments, changes=tuple(work.changes), confidence=round(work.confidence, 2))


def _complained(failure: Failure, known: tuple[FieldProblem, ...] | None) -> list[FieldProblem]:
    """Return what must be mended: what the server named and what the schema refuses, keys that are in the way first."""
    by_path = {problem.path: problem for problem in known or () if problem.kind != "unknown"}
    unknown = {problem.path: problem for problem in known or () if problem.kind == "unknown"}
    for problem in failure.fields:
        if problem.path != ROOT:
            by_path[problem.path] = unknown.get(problem.path) or by_path.get(problem.path) or problem
    is_lost = any(problem.kind == "missing" for problem in by_path.values())
    if is_lost or not by_path:  # a key nobody knows may be the one that is missed
        by_path |= unknown
    return sorted(by_path.values(), key=lambda problem: problem.kind != "unknown")


def _problems(arguments: dict[str, Any], schema: dict[str, Any]) -> tuple[FieldProblem, ...] | None:
    """Return what the schema has against the arguments; None if nobody can tell."""
    try:
        from failwell.validation import check_arguments  # needs an optional package
    except ImportError:
        return None
    failure = check_arguments(arguments, schema)
    return failure.fields if failure else ()


class _Work:
    """Arguments in the course of being mended."""

    def __init__(self, arguments: dict[str, Any], whole: Part) -> None:
        self.arguments = arguments
        self.whole = whole
        self.changes: list[Change] = []
        self.confidence = 1.0

    def mend(self, problem: FieldProblem) -> bool:
        """Correct what one problem speaks of; return whether that is possible."""
        keys = paths.split(problem.path)
        holder = self._holder(keys)
        if holder is None or not keys:
            return False
        value = _get(holder, keys[-1])
        if value is _NOTHING:
            return self._fill(keys, holder)
        if problem.kind == "missing" and any(change.path == problem.path for change in self.changes):
            return True
        part, around = self.whole.at(keys), self.whole.at(keys[:-1])
        if problem.kind == "unknown" or (
            isinstance(keys[-1], str) and not part.schemas and keys[-1] not in around.names
        ):
            return self._rename(keys, holder, around, problem.did_you_mean)
        if value is None and "null" not in part.types and keys[-1] not in around.required and is_object(holder):
            self._take_out(keys, holder, "an optional value that is not known is left out", 0.9)
            return True
        return any(self._try(keys, holder, found) for found in _candidates(value, part, problem))

    def _holder(self, keys: tuple[str | int, ...]) -> Any:
        here: Any = self.arguments
        for key in keys[:-1]:
            here = _get(here, key)
        return here if is_object(here) or is_array(here) else None

    def _try(self, keys: tuple[str | int, ...], holder: Any, found: Candidate) -> bool:
        if found.value == holder[keys[-1]] and type(found.value) is type(holder[keys[-1]]):
            return False
        self._note(keys, holder[keys[-1]], found.value, found.reason, found.confidence)
        holder[keys[-1]] = found.value
        return True

    def _fill(self, keys: tuple[str | int, ...], holder: Any) -> bool:
        """Give a value that is missing, if only one is possible or the schema names a default; or it came already."""
        if any(change.path == paths.join(keys) for change in self.changes):
            return True
        part = self.whole.at(keys)
        certain = part.options if len(part.options) == 1 else part.default
        name = keys[-1]
        if not is_object(holder) or not isinstance(name, str):
            return False
        if len(certain) == 1:
            holder[name] = certain[0]
            self._note(keys, None, certain[0], "the only value that is possible, or the default", 0.85)
            return True
        around = self.whole.at(keys[:-1])
        strange = [key for key in holder if key not in around.names]
        same = [key for key in strange if _is_same_name(key, name)] or closest(name, strange, most=2)
        return len(same) == 1 and self._move((*keys[:-1], same[0]), holder, name)

    def _rename(self, keys: tuple[str | int, ...], holder: Any, around: Part, meant: str | None) -> bool:
        sent = str(keys[-1])
        if not is_object(holder):
            return False
        free = [name for name in around.names if name not in holder]
        same = [name for name in free if _is_same_name(name, sent)]
        if len(same) == 1:
            return self._move(keys, holder, same[0], 0.95)
        needed = [name for name in free if name in around.required]
        near = closest(sent, needed, most=2) or closest(sent, free, most=2) or ([meant] if meant in free else [])
        if not near:
            self._take_out(keys, holder, "nothing of this name is known: left out", 0.6)
            return True
        if len(near) > 1 and coercion.likeness(sent, near[1]) > 0.9 * coercion.likeness(sent, near[0]):
            return False
        return self._move(keys, holder, near[0], _sureness(sent, near[0], is_needed=near[0] in needed))

    def _move(self, keys: tuple[str | int, ...], holder: dict[str, Any], name: str, confidence: float = 0.8) -> bool:
        old = str(keys[-1])
        items = [(name if key == old else key, value) for key, value in holder.items()]
        holder.clear()
        holder.update(items)
        path = paths.join((*keys[:-1], name))
        self._note((*keys[:-1], name), None, holder[name], f"{old} is called {name}", confidence)
        problem = FieldProblem(path=path, kind="type", message="moved")
        part = self.whole.at((*keys[:-1], name))
        if part.types and not _fits(holder[name], part):
            return any(
                self._try((*keys[:-1], name), holder, found) for found in _candidates(holder[name], part, problem)
            )
        return True

    def _take_out(self, keys: tuple[str | int, ...], holder: dict[str, Any], reason: str, confidence: float) -> None:
        self._note(keys, holder.pop(str(keys[-1])), None, reason, confidence)

    def _note(self, keys: tuple[str | int, ...], before: Any, after: Any, reason: str, confidence: float) -> None:
        self.changes.append(Change(path=paths.join(keys), before=before, after=after, reason=reason))
        self.confidence = min(self.confidence, confidence)


def _candidates(value: Any, part: Part, problem: FieldProblem) -> Iterator[Candidate]:
    options = part.options or problem.options
    if options and (found := coercion.chosen(value, options, problem.did_you_mean)):
        yield found
    if problem.kind in ("type", "union", None):
        yield from coercion.coerced(value, part)
    if problem.kind in ("format", "pattern"):
        yield from coercion.respelt(value)


_PYTHON_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _fits(value: Any, part: Part) -> bool:
    return any(_PYTHON_TYPES.get(type_, lambda _: True)(value) for type_ in part.types)


def _is_same_name(one: str, two: str) -> bool:
    return normalised(one).replace("_", "") == normalised(two).replace("_", "")


def _sureness(sent: str, name: str, *, is_needed: bool) -> float:
    return 0.8 if coercion.likeness(sent, name) >= 0.75 else 0.72 if is_needed else 0.6


def _get(holder: Any, key: str | int) -> Any:
    if is_object(holder):
        return holder.get(key, _NOTHING) if isinstance(key, str) else _NOTHING
    if is_array(holder) and isinstance(key, int) and key < len(holder):
        return holder[key]
    return _NOTHING
