"""`repair`: corrected arguments for a failed call, if the error and the schema determine them."""

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from failwell._json import is_array, is_object, parse_json
from failwell._lazy import lazy_pattern
from failwell._spelling import closest, normalised
from failwell.failure import ROOT, Failure, FieldProblem, join_path, split_path
from failwell.schema.complexity import SchemaGraph
from failwell.schema.tree import SchemaTree
from failwell.schema.words import json_type, types_of

_MOST_REPAIRED = 20
_LONGEST = 100_000  # of a text, in characters
_DEEPEST = 12
_BRANCHES = ("anyOf", "oneOf", "allOf")
_NOTHING = object()

_INTEGER = lazy_pattern(r"[+-]?[0-9]{1,15}")
_NUMBER = lazy_pattern(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
_FLAGS = {"true": True, "false": False}
_SHORT_DATE = lazy_pattern(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")


class Change(Struct, frozen=True, kw_only=True):
    """One correction: where, what was sent, what is proposed, and why. A value that is absent is None.

    `is_lossless`: it is what was sent, in the form that is due (`5` for `"5"`) or under its name in the right spelling.
    """

    path: str
    before: Any
    after: Any
    reason: str
    is_lossless: bool = False


class Repair(Struct, frozen=True, kw_only=True):
    """Corrected arguments. Below a confidence of 0.7 something that was sent is lost: ask before using them."""

    arguments: dict[str, Any]
    changes: tuple[Change, ...]
    confidence: float

    @property
    def is_lossless(self) -> bool:
        """Whether nothing was guessed: every value is the one that was sent, in the right form."""
        return all(change.is_lossless for change in self.changes)


def repair(failure: Failure, arguments: Any, schema: Any) -> Repair | None:
    """Return corrected arguments for a failed call, or None if the error and the schema do not determine them.

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
    SchemaGraph(schema)  # without a validator too, a schema that is too complex is not followed
    correction = _Correction(copy.deepcopy(arguments), SchemaPart.of(schema))
    known = _schema_problems(arguments, schema)
    for problem in _problems_to_mend(failure, known)[:_MOST_REPAIRED]:
        if not correction.mend(problem):
            return None
    if not correction.changes or correction.arguments == arguments:
        return None
    left = _schema_problems(correction.arguments, schema)
    ignored = {problem.path for problem in known or () if problem.kind == "unknown"}
    if any(problem.path not in ignored or problem.kind != "unknown" for problem in left or ()):
        return None
    return Repair(
        arguments=correction.arguments, changes=tuple(correction.changes), confidence=round(correction.confidence, 2)
    )


def _problems_to_mend(failure: Failure, known: tuple[FieldProblem, ...] | None) -> list[FieldProblem]:
    """Return what must be mended: what the server named and what the schema refuses, keys that are in the way first."""
    by_path = {problem.path: problem for problem in known or () if problem.kind != "unknown"}
    unknown = {problem.path: problem for problem in known or () if problem.kind == "unknown"}
    for problem in failure.fields:
        if problem.path != ROOT:
            by_path[problem.path] = unknown.get(problem.path) or by_path.get(problem.path) or problem
    is_lost = any(problem.kind == "missing" for problem in by_path.values())
    if is_lost or not by_path:  # an unknown key may be the one that is missing
        by_path |= unknown
    return sorted(by_path.values(), key=lambda problem: problem.kind != "unknown")


def _schema_problems(arguments: dict[str, Any], schema: dict[str, Any]) -> tuple[FieldProblem, ...] | None:
    """Return what the schema finds wrong with the arguments; None if it cannot be checked."""
    try:
        from failwell.schema.validator import check_arguments  # needs an optional package
    except ImportError:
        return None
    failure = check_arguments(arguments, schema)
    return failure.fields if failure else ()


class SchemaPart:
    """All that a schema says about one value: the alternatives that may hold, references followed."""

    def __init__(self, schemas: Sequence[dict[str, Any]], tree: SchemaTree) -> None:
        self.schemas = tuple(schemas)
        self._tree = tree

    @classmethod
    def of(cls, schema: Any) -> "SchemaPart":
        """Return what a whole schema says."""
        tree = SchemaTree(schema)
        return cls(list(_alternatives(schema, tree, 0)), tree)

    def at(self, keys: Sequence[str | int]) -> "SchemaPart":
        """Return what is said about the value that these keys lead to."""
        part = self
        for key in keys:
            found = [inner for schema in part.schemas for inner in _members(schema, key)]
            part = SchemaPart([one for inner in found for one in _alternatives(inner, self._tree, 0)], self._tree)
        return part

    @property
    def types(self) -> tuple[str, ...]:
        """The JSON types that are named."""
        return tuple(dict.fromkeys(name for schema in self.schemas for name in types_of(schema)))

    @property
    def options(self) -> tuple[Any, ...]:
        """The values that are listed, if any are."""
        found: list[Any] = []
        for schema in self.schemas:
            found += schema["enum"] if is_array(schema.get("enum")) else [schema["const"]] if "const" in schema else []
        return tuple(found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the properties that are known."""
        return tuple(dict.fromkeys(name for schema in self.schemas for name in _properties(schema)))

    @property
    def required(self) -> frozenset[str]:
        """The names that must be sent."""
        found = (schema.get("required") for schema in self.schemas)
        return frozenset(name for names in found if is_array(names) for name in names if isinstance(name, str))

    @property
    def default(self) -> Any:
        """The default as a list of one, or an empty list if there is none."""
        return [schema["default"] for schema in self.schemas if schema.get("default") is not None][:1]


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if is_object(found) else {}


def _members(schema: dict[str, Any], key: str | int) -> Iterator[Any]:
    if isinstance(key, str):
        known = _properties(schema)
        yield known[key] if key in known else schema.get("additionalProperties")
    else:
        first = schema.get("prefixItems")
        yield first[key] if is_array(first) and key < len(first) else schema.get("items")


def _alternatives(schema: Any, tree: SchemaTree, depth: int) -> Iterator[dict[str, Any]]:
    found = tree.resolved(schema)
    if not found or depth > _DEEPEST:
        return
    yield found
    for keyword in _BRANCHES:
        branches = found.get(keyword)
        for branch in branches if is_array(branches) else ():
            yield from _alternatives(branch, tree, depth + 1)


class Candidate(NamedTuple):
    """A value that may have been meant, why, and how surely."""

    value: Any
    reason: str
    confidence: float
    is_lossless: bool = False


def coercions(value: Any, part: SchemaPart) -> Iterator[Candidate]:
    """Yield the forms of a value that the schema's types allow, the surest first."""
    for type_ in part.types:
        for rule in _COERCIONS.get((json_type(value), type_), ()):
            found = rule(value)
            if found is not None:
                yield found
    if "array" in part.types and not isinstance(value, list | dict) and value is not None:
        yield Candidate([value], "a list is expected, so the value is put in one", 0.85)


def nearest_option(value: Any, options: tuple[Any, ...], meant: str | None = None) -> Candidate | None:
    """Return the option that a value is a slip of, if it can be only one."""
    texts = [option for option in options if isinstance(option, str)]
    others = [option for option in options if not isinstance(option, str) and str(option).lower() == str(value).lower()]
    if len(others) == 1 and not isinstance(value, dict | list):
        return Candidate(others[0], "the same value, in its own type", 0.92)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value)
    same = [option for option in texts if normalised(option) == normalised(text)]
    if len(same) == 1:
        return Candidate(same[0], "the same option in its own spelling", 0.95)
    near = closest(text, texts)
    if same or not near or (len(near) > 1 and likeness(text, near[1]) > 0.9 * likeness(text, near[0])):
        return None
    if meant is not None and meant in texts:
        near = [meant]
    return (
        Candidate(near[0], "the only option with a similar spelling", 0.8) if likeness(text, near[0]) >= 0.75 else None
    )


def likeness(one: str, two: str) -> float:
    """Return how alike two names are, from 0 to 1; case and separators do not count."""
    import difflib  # costs several ms: only when something was misspelt

    return difflib.SequenceMatcher(None, normalised(one), normalised(two)).ratio()


def respellings(value: Any) -> Iterator[Candidate]:
    """Yield a text without slips of the pen: blanks around it, a date without its zeros."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return
    if value.strip() != value:
        yield Candidate(value.strip(), "without the spaces around it", 0.85)
    if date := _SHORT_DATE.fullmatch(value.strip()):
        yield Candidate(f"{date[1]}-{int(date[2]):02}-{int(date[3]):02}", "the date with leading zeros", 0.85)


def _whole_number(value: str) -> Candidate | None:
    if not _INTEGER.fullmatch(value.strip()):
        return None
    return Candidate(int(value), "the number itself, not its text", 0.95, is_lossless=True)


def _any_number(value: str) -> Candidate | None:
    if not _NUMBER.fullmatch(value.strip()) or not math.isfinite(float(value)):
        return None
    number = int(value) if _INTEGER.fullmatch(value.strip()) else float(value)
    return Candidate(number, "the number itself, not its text", 0.95, is_lossless=True)


def _flag(value: str) -> Candidate | None:
    found = _FLAGS.get(value.strip().lower())
    return None if found is None else Candidate(found, "the boolean itself, not its text", 0.95, is_lossless=True)


def _parsed(type_: type) -> Callable[[str], Candidate | None]:
    def parse(value: str) -> Candidate | None:
        if len(value) > _LONGEST or value.lstrip()[:1] not in ("{", "["):
            return None
        found = parse_json(value)
        if not isinstance(found, type_):
            return None
        return Candidate(found, "the value itself, not its JSON text", 0.93, is_lossless=True)

    return parse


def _without_fraction(value: float) -> Candidate | None:
    if not value.is_integer():
        return None
    return Candidate(int(value), "the same number without a fraction", 0.95, is_lossless=True)


def _number_text(value: Any) -> Candidate | None:
    return Candidate(str(value), "the text of the number", 0.85)


def _flag_text(value: bool) -> Candidate | None:  # noqa: FBT001 - the value to turn into text
    return Candidate("true" if value else "false", "the text of the boolean", 0.75)


def _only_item(value: list[Any]) -> Candidate | None:
    return Candidate(value[0], "one value is expected: the only one in the list", 0.85) if len(value) == 1 else None


_COERCIONS: dict[tuple[str, str], tuple[Callable[[Any], Candidate | None], ...]] = {
    ("string", "integer"): (_whole_number,),
    ("string", "number"): (_any_number,),
    ("string", "boolean"): (_flag,),
    ("string", "object"): (_parsed(dict),),
    ("string", "array"): (_parsed(list),),
    ("number", "integer"): (_without_fraction,),
    ("integer", "string"): (_number_text,),
    ("number", "string"): (_number_text,),
    ("boolean", "string"): (_flag_text,),
    **{("array", type_): (_only_item,) for type_ in ("string", "integer", "number", "boolean", "object")},
}
"""From what was sent to what is due."""


class _Correction:
    """Arguments in the course of being mended."""

    def __init__(self, arguments: dict[str, Any], whole: SchemaPart) -> None:
        self.arguments = arguments
        self.whole = whole
        self.changes: list[Change] = []
        self.confidence = 1.0

    def mend(self, problem: FieldProblem) -> bool:
        """Correct what one problem speaks of; return whether that is possible."""
        keys = split_path(problem.path)
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
            self._take_out(keys, holder, "an unknown optional value is left out", 0.9)
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
        sent = holder[keys[-1]]
        self._note(keys, sent, found.value, found.reason, found.confidence, is_lossless=found.is_lossless)
        holder[keys[-1]] = found.value
        return True

    def _fill(self, keys: tuple[str | int, ...], holder: Any) -> bool:
        """Give a value that is missing, if only one is possible or the schema names a default; or it came already."""
        if any(change.path == join_path(keys) for change in self.changes):
            return True
        part = self.whole.at(keys)
        certain = part.options if len(part.options) == 1 else part.default
        name = keys[-1]
        if not is_object(holder) or not isinstance(name, str):
            return False
        if len(certain) == 1:
            holder[name] = certain[0]
            self._note(keys, None, certain[0], "the only possible value, or the default", 0.85)
            return True
        around = self.whole.at(keys[:-1])
        strange = [key for key in holder if key not in around.names]
        same = [key for key in strange if _is_same_name(key, name)] or closest(name, strange, most=2)
        return len(same) == 1 and self._move((*keys[:-1], same[0]), holder, name)

    def _rename(self, keys: tuple[str | int, ...], holder: Any, around: SchemaPart, meant: str | None) -> bool:
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
            self._take_out(keys, holder, "there is no such field, so it is left out", 0.6)
            return True
        if len(near) > 1 and likeness(sent, near[1]) > 0.9 * likeness(sent, near[0]):
            return False
        return self._move(keys, holder, near[0], _sureness(sent, near[0], is_needed=near[0] in needed))

    def _move(self, keys: tuple[str | int, ...], holder: dict[str, Any], name: str, confidence: float = 0.8) -> bool:
        old = str(keys[-1])
        items = [(name if key == old else key, value) for key, value in holder.items()]
        holder.clear()
        holder.update(items)
        path = join_path((*keys[:-1], name))
        is_same = _is_same_name(old, name)
        self._note((*keys[:-1], name), None, holder[name], f"{old} is called {name}", confidence, is_lossless=is_same)
        problem = FieldProblem(path=path, kind="type", message="moved")
        part = self.whole.at((*keys[:-1], name))
        if part.types and not _fits(holder[name], part):
            return any(
                self._try((*keys[:-1], name), holder, found) for found in _candidates(holder[name], part, problem)
            )
        return True

    def _take_out(self, keys: tuple[str | int, ...], holder: dict[str, Any], reason: str, confidence: float) -> None:
        self._note(keys, holder.pop(str(keys[-1])), None, reason, confidence)

    def _note(
        self,
        keys: tuple[str | int, ...],
        before: Any,
        after: Any,
        reason: str,
        confidence: float,
        *,
        is_lossless: bool = False,
    ) -> None:
        path = join_path(keys)
        self.changes.append(Change(path=path, before=before, after=after, reason=reason, is_lossless=is_lossless))
        self.confidence = min(self.confidence, confidence)


def _candidates(value: Any, part: SchemaPart, problem: FieldProblem) -> Iterator[Candidate]:
    options = part.options or problem.options
    if options and (found := nearest_option(value, options, problem.did_you_mean)):
        yield found
    if problem.kind in ("type", "union", None):
        yield from coercions(value, part)
    if problem.kind in ("format", "pattern"):
        yield from respellings(value)


_PYTHON_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _fits(value: Any, part: SchemaPart) -> bool:
    return any(_PYTHON_TYPES.get(type_, lambda _: True)(value) for type_ in part.types)


def _is_same_name(one: str, two: str) -> bool:
    return normalised(one).replace("_", "") == normalised(two).replace("_", "")


def _sureness(sent: str, name: str, *, is_needed: bool) -> float:
    return 0.8 if likeness(sent, name) >= 0.75 else 0.72 if is_needed else 0.6


def _get(holder: Any, key: str | int) -> Any:
    if is_object(holder):
        return holder.get(key, _NOTHING) if isinstance(key, str) else _NOTHING
    if is_array(holder) and isinstance(key, int) and key < len(holder):
        return holder[key]
    return _NOTHING
