"""Generate valid arguments from a schema."""

import copy
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from failwell._json import is_array, is_object
from failwell.schema.tree import SchemaTree
from failwell.schema.validator import BoundedValidator
from failwell.schema.words import FORMATS, types_of

Keys = tuple[str | int, ...]

_MOST_SHAPES = 12
_MOST_FIELDS = 60
_DEEPEST_SHAPE = 5
_CHOICES = ("oneOf", "anyOf")
_TIGHTER = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
_TYPE_OF_KEYWORD = (
    (("properties", "required", "additionalProperties"), "object"),
    (("items", "prefixItems", "minItems", "maxItems"), "array"),
    (("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
)


class SchemaField(NamedTuple):
    """A field of the arguments, or an item of an array in them, and what the schema says of it.

    `required` says whether a value must be there, however the arguments are made.
    """

    keys: Keys
    schema: Any
    required: bool

    @property
    def name(self) -> str:
        """The name of the field, for an item that of its array."""
        return next((key for key in reversed(self.keys) if isinstance(key, str)), "")


def shapes(schema: Any, tree: SchemaTree, depth: int = 0) -> list[dict[str, Any]]:
    """Return the schema without references and combinations: one for each way to choose among its alternatives."""
    if schema is False or depth > _DEEPEST_SHAPE:
        return []
    found = tree.resolved(schema)
    plain = {key: value for key, value in found.items() if key not in ("allOf", *_CHOICES)}
    made = [plain]
    for part in _list_in(found.get("allOf")):
        made = [_merge(one, two) for one in made for two in shapes(part, tree, depth + 1)][:_MOST_SHAPES]
    for keyword in _CHOICES:
        if keyword in found:
            branches = [shape for branch in _list_in(found[keyword]) for shape in shapes(branch, tree, depth + 1)]
            made = [_merge(one, two) for one in made for two in branches][:_MOST_SHAPES]
    return made


def type_of(shape: dict[str, Any]) -> str | None:
    """Return the first JSON type that a shape allows, named or implied by its keywords; None if it allows any."""
    named = types_of(shape)
    if named:
        return next((name for name in named if name != "null"), "null")
    return next((name for keywords, name in _TYPE_OF_KEYWORD if any(key in shape for key in keywords)), None)


def types_at(schema: Any, tree: SchemaTree) -> set[str]:
    """Return the JSON types that a schema allows; none if one of its alternatives does not say."""
    named = [types_of(shape) for shape in shapes(schema, tree)]
    return {name for names in named for name in names} if all(named) else set()


def options_at(schema: Any, tree: SchemaTree) -> list[Any]:
    """Return the values that are listed, if all alternatives list theirs; null beside them does not count."""
    listed: list[Any] = []
    for shape in shapes(schema, tree):
        if types_of(shape) == ["null"]:
            continue
        found = listed_in(shape)
        if not found:
            return []
        listed += [value for value in found if value not in listed]
    return listed


def listed_in(shape: dict[str, Any]) -> list[Any]:
    """Return the values that a shape lists, if it does."""
    if "const" in shape:
        return [shape["const"]]
    return list(shape["enum"]) if is_array(shape.get("enum")) else []


def schema_fields(shape: dict[str, Any], tree: SchemaTree) -> list[SchemaField]:
    """Return the fields that arguments of this shape can have, those near the top first."""
    found: list[SchemaField] = []
    queue: deque[tuple[SchemaField, dict[str, Any]]] = deque([(SchemaField((), shape, True), shape)])
    while queue and len(found) < _MOST_FIELDS:
        holder, described = queue.popleft()
        for field in _members(holder, described):
            found.append(field)
            inner = shapes(field.schema, tree)
            if inner and len(field.keys) < _DEEPEST_SHAPE:
                queue.append((field, inner[0]))
    return found[:_MOST_FIELDS]


def _members(holder: SchemaField, shape: dict[str, Any]) -> Iterator[SchemaField]:
    required = set(map(str, _list_in(shape.get("required"))))
    properties = shape.get("properties")
    if type_of(shape) == "object" and is_object(properties):
        for name, schema in properties.items():
            if schema is not False:
                yield SchemaField((*holder.keys, name), schema, holder.required and name in required)
    first = _list_in(shape.get("prefixItems"))[:1] or [shape.get("items")]
    if type_of(shape) == "array" and is_object(first[0]):
        yield SchemaField((*holder.keys, 0), first[0], holder.required)


def _merge(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    merged = {**two, **one}
    for key in one.keys() & two.keys():
        if key in _TIGHTER:
            merged[key] = _TIGHTER[key](one[key], two[key])
    if "required" in one and "required" in two:
        merged["required"] = list(dict.fromkeys([*_list_in(one["required"]), *_list_in(two["required"])]))
    if is_object(one.get("properties")) and is_object(two.get("properties")):
        merged["properties"] = _merge_properties(one["properties"], two["properties"])
    if "type" in one and "type" in two:
        merged["type"] = [name for name in types_of(one) if name in types_of(two)] or types_of(one)
    if listed_in(one) and listed_in(two):
        merged.pop("const", None)
        merged["enum"] = [value for value in listed_in(one) if value in listed_in(two)]
    return merged


def _merge_properties(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    shared = {name: {"allOf": [one[name], two[name]]} for name in one.keys() & two.keys() if one[name] != two[name]}
    return {**one, **two, **shared}


def _list_in(value: Any) -> list[Any]:
    return list(value) if is_array(value) else []


NOTHING: Any = object()
"""No value: there is none, or none could be made."""


def with_value(arguments: dict[str, Any], keys: Keys, value: Any) -> dict[str, Any] | None:
    """Return a copy of the arguments with a value at a path; None if its holder is not there."""
    made = copy.deepcopy(arguments)
    holder: Any = made
    for key in keys[:-1]:
        holder = _member(holder, key)
    if is_object(holder) and isinstance(keys[-1], str):
        holder[keys[-1]] = value
    elif is_array(holder) and isinstance(keys[-1], int) and keys[-1] <= len(holder):
        holder[keys[-1] : keys[-1] + 1] = [value]
    else:
        return None
    return made


def without_value(arguments: dict[str, Any], keys: Keys) -> dict[str, Any] | None:
    """Return a copy of the arguments without the value at a path; None if there is none."""
    made = copy.deepcopy(arguments)
    holder = value_at(made, keys[:-1])
    if not is_object(holder) or keys[-1] not in holder:
        return None
    del holder[str(keys[-1])]
    return made


def value_at(arguments: Any, keys: Keys) -> Any:
    """Return the value at a path, or `NOTHING`."""
    for key in keys:
        arguments = _member(arguments, key)
    return arguments


def _member(holder: Any, key: str | int) -> Any:
    if is_object(holder) and isinstance(key, str):
        return holder.get(key, NOTHING)
    if is_array(holder) and isinstance(key, int) and key < len(holder):
        return holder[key]
    return NOTHING


PLACEHOLDER = "failwell-probe"
"""Text that stands for any text: it names no file, no record and no command that is likely to exist."""

LONGEST = 5000
"""Longer texts and lists are not made."""

# Texts that common patterns accept.
_TEXTS = (
    *("failwell", "Failwell", "FAILWELL", "fw", "f", "F", "0", "00000000", "12345", "f0", "#0f0f0f", "en-US", "en"),
    *("EUR", "1.0.0", "v1.0.0", "00:00", "0000-00-00", "2025-01-31", "2025-01", "FW-1", "fw_1", "fw/1", "/fw"),
    *("a@example.com", "https://example.com", "+10000000000", "0" * 32, "0" * 40, "0" * 64),
    "00000000-0000-4000-8000-000000000000",
)
_TEXT_KEYWORDS = ("pattern", "minLength", "maxLength")


def _texts(shape: dict[str, Any]) -> Iterator[str]:
    if known := FORMATS.get(shape.get("format", "")):
        yield known.example
    if "pattern" in shape:
        yield from _patterned(shape)
    elif shape.get("minLength", 0) <= LONGEST:
        yield _fitted(PLACEHOLDER, shape)


def _patterned(shape: dict[str, Any]) -> Iterator[str]:
    """Yield texts that a pattern accepts; which, the validator tells."""
    try:
        fits = BoundedValidator({key: shape[key] for key in _TEXT_KEYWORDS if key in shape}).is_valid
    except ValueError:
        return
    yield from (text for text in (*_TEXTS, *(_fitted(text, shape) for text in _TEXTS)) if fits(text))


def _fitted(text: str, shape: dict[str, Any]) -> str:
    least, most = shape.get("minLength", 0), shape.get("maxLength", LONGEST)
    return text.ljust(min(least, LONGEST), "x")[:most]


def _numbers(shape: dict[str, Any]) -> Iterator[float]:
    low, high = _bound(shape, "minimum", "exclusiveMinimum", 1), _bound(shape, "maximum", "exclusiveMaximum", -1)
    value = low if low is not None else min(high, 1) if high is not None else 1
    if step := shape.get("multipleOf"):
        value = -(-value // step) * step
    is_whole = type_of(shape) == "integer" or float(value).is_integer()
    yield int(-(-value // 1)) if is_whole else value


def _bound(shape: dict[str, Any], inclusive: str, exclusive: str, inward: int) -> Any:
    limit, beyond = shape.get(inclusive), shape.get(exclusive)
    if beyond is True:  # draft 4: a flag beside the limit
        limit, beyond = None, limit
    if not isinstance(beyond, int | float) or isinstance(beyond, bool):
        return limit
    inner = beyond + inward * (1 if type_of(shape) == "integer" else 0.5)
    return inner if limit is None else max(limit, inner) if inward > 0 else min(limit, inner)


def _flags(_: dict[str, Any]) -> Iterator[bool]:
    yield from (False, True)


def _nulls(_: dict[str, Any]) -> Iterator[None]:
    yield None


MAKERS: dict[str, Callable[[dict[str, Any]], Iterator[Any]]] = {
    "string": _texts,
    "integer": _numbers,
    "number": _numbers,
    "boolean": _flags,
    "null": _nulls,
}
"""What makes values of a type, the best first."""


_DEEPEST = 6


class Values:
    """Makes values for one schema.

    With *careful*, texts are placeholders and what the schema gives as examples and defaults comes last: those may name
    something that exists.
    """

    def __init__(self, tree: SchemaTree, *, given: Mapping[str, Any] | None = None, careful: bool = False) -> None:
        self._tree = tree
        self._given = given or {}
        self._careful = careful

    def arguments(self, shape: dict[str, Any], is_valid: Callable[[Any], bool]) -> dict[str, Any] | None:
        """Return valid arguments of this shape with no more in them than must be; None if none could be made."""
        made = self._object(shape, 0)
        if not is_object(made):
            return None
        properties = shape.get("properties")
        known: dict[str, Any] = properties if is_object(properties) else {}
        made |= {name: value for name, value in self._given.items() if name in known}
        if is_valid(made):
            return made
        for name in list(made):
            for other in self.candidates(known.get(name, True)):
                changed = {**made, name: other}
                if is_valid(changed):
                    return changed
        return None

    def candidates(self, schema: Any, depth: int = 0) -> Iterator[Any]:
        """Yield values that are likely valid, the best first."""
        for shape in shapes(schema, self._tree):
            if self._careful:
                yield from self._made(shape, depth)
                yield from _published_values(shape)
            else:
                yield from _published_values(shape)
                yield from self._made(shape, depth)

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Return a value that is likely valid, or `NOTHING`."""
        found = next(self.candidates(schema, depth), NOTHING)
        return found if found is NOTHING else copy.deepcopy(found)

    def _made(self, shape: dict[str, Any], depth: int) -> Iterator[Any]:
        kind = type_of(shape) or "string"
        if listed := listed_in(shape):
            yield from listed
        elif kind in MAKERS:
            yield from MAKERS[kind](shape)
        else:
            made = self._object(shape, depth) if kind == "object" else self._array(shape, depth)
            if made is not NOTHING:
                yield made

    def _object(self, shape: dict[str, Any], depth: int) -> Any:
        if depth > _DEEPEST:
            return NOTHING
        properties = shape.get("properties")
        known: dict[str, Any] = properties if is_object(properties) else {}
        made: dict[str, Any] = {}
        for name in _list_in(shape.get("required")):
            given = self._given.get(name, NOTHING) if depth == 0 else NOTHING
            made[name] = self.value(known.get(name, True), depth + 1) if given is NOTHING else given
            if made[name] is NOTHING:
                return NOTHING
        least = shape.get("minProperties", 0)
        for name in known:
            if len(made) < least and name not in made:
                made[name] = self.value(known[name], depth + 1)
        for number in range(least - len(made)):
            made[f"failwell{number}"] = self.value(shape.get("additionalProperties", True), depth + 1)
        return NOTHING if any(value is NOTHING for value in made.values()) else made

    def _array(self, shape: dict[str, Any], depth: int) -> Any:
        least = shape.get("minItems", 0)
        if depth > _DEEPEST or least > LONGEST:
            return NOTHING if least else []
        made = [self.value(schema, depth + 1) for schema in _list_in(shape.get("prefixItems"))]
        options = list(self.candidates(shape.get("items", True), depth + 1)) if len(made) < least else []
        while options and len(made) < least:
            unused = [option for option in options if option not in made] if shape.get("uniqueItems") else options
            made.append(copy.deepcopy(unused[0]) if unused else _another(options[0], len(made)))
        return NOTHING if any(value is NOTHING for value in made) or len(made) < least else made


def _published_values(shape: dict[str, Any]) -> Iterator[Any]:
    """Yield the values that a schema gives as examples or as its default."""
    yield from _list_in(shape.get("examples"))
    if shape.get("default") is not None:
        yield shape["default"]


def _another(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return f"{value}{number}"
    return value + number if isinstance(value, int | float) and not isinstance(value, bool) else NOTHING
