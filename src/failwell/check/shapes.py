"""A schema taken apart: the shapes that arguments may have, and the places in them."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from failwell.arguments.schema_tree import SchemaTree
from failwell.arguments.schema_words import types_of
from failwell.json_types import is_array, is_object

Keys = tuple[str | int, ...]

_MOST_SHAPES = 12
_MOST_PLACES = 60
_DEEPEST = 5
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


class Place(NamedTuple):
    """Where a value can stand in the arguments, and what the schema says of it.

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
    if schema is False or depth > _DEEPEST:
        return []
    found = tree.resolved(schema)
    plain = {key: value for key, value in found.items() if key not in ("allOf", *_CHOICES)}
    made = [plain]
    for part in _list(found.get("allOf")):
        made = [_merged(one, two) for one in made for two in shapes(part, tree, depth + 1)][:_MOST_SHAPES]
    for keyword in _CHOICES:
        if keyword in found:
            branches = [shape for branch in _list(found[keyword]) for shape in shapes(branch, tree, depth + 1)]
            made = [_merged(one, two) for one in made for two in branches][:_MOST_SHAPES]
    return made


def type_of(shape: dict[str, Any]) -> str | None:
    """Return the first JSON type that a shape allows, named or told by its keywords; None if it allows any."""
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


def places(shape: dict[str, Any], tree: SchemaTree) -> list[Place]:
    """Return the places that values can have in arguments of this shape, those near the top first."""
    found: list[Place] = []
    waiting: deque[tuple[Place, dict[str, Any]]] = deque([(Place((), shape, True), shape)])
    while waiting and len(found) < _MOST_PLACES:
        holder, described = waiting.popleft()
        for place in _members(holder, described):
            found.append(place)
            inner = shapes(place.schema, tree)
            if inner and len(place.keys) < _DEEPEST:
                waiting.append((place, inner[0]))
    return found[:_MOST_PLACES]


def _members(holder: Place, shape: dict[str, Any]) -> Iterator[Place]:
    required = set(map(str, _list(shape.get("required"))))
    properties = shape.get("properties")
    if type_of(shape) == "object" and is_object(properties):
        for name, schema in properties.items():
            if schema is not False:
                yield Place((*holder.keys, name), schema, holder.required and name in required)
    first = _list(shape.get("prefixItems"))[:1] or [shape.get("items")]
    if type_of(shape) == "array" and is_object(first[0]):
        yield Place((*holder.keys, 0), first[0], holder.required)


def _merged(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    merged = {**two, **one}
    for key in one.keys() & two.keys():
        if key in _TIGHTER:
            merged[key] = _TIGHTER[key](one[key], two[key])
    if "required" in one and "required" in two:
        merged["required"] = list(dict.fromkeys([*_list(one["required"]), *_list(two["required"])]))
    if is_object(one.get("properties")) and is_object(two.get("properties")):
        merged["properties"] = _both(one["properties"], two["properties"])
    if "type" in one and "type" in two:
        merged["type"] = [name for name in types_of(one) if name in types_of(two)] or types_of(one)
    if listed_in(one) and listed_in(two):
        merged.pop("const", None)
        merged["enum"] = [value for value in listed_in(one) if value in listed_in(two)]
    return merged


def _both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    shared = {name: {"allOf": [one[name], two[name]]} for name in one.keys() & two.keys() if one[name] != two[name]}
    return {**one, **two, **shared}


def _list(value: Any) -> list[Any]:
    return list(value) if is_array(value) else []
