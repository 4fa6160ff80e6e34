"""Valid values, made from what a schema says: examples, defaults, lists, limits, and what the user gives."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from failwell.arguments.schema_tree import SchemaTree
from failwell.check.editing import NOTHING
from failwell.check.scalars import LONGEST, MAKERS
from failwell.check.shapes import listed_in, shapes, type_of
from failwell.json_types import is_array, is_object

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
                yield from _said(shape)
            else:
                yield from _said(shape)
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
        for name in _list(shape.get("required")):
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
        made = [self.value(schema, depth + 1) for schema in _list(shape.get("prefixItems"))]
        options = list(self.candidates(shape.get("items", True), depth + 1)) if len(made) < least else []
        while options and len(made) < least:
            unused = [option for option in options if option not in made] if shape.get("uniqueItems") else options
            made.append(copy.deepcopy(unused[0]) if unused else _another(options[0], len(made)))
        return NOTHING if any(value is NOTHING for value in made) or len(made) < least else made


def _said(shape: dict[str, Any]) -> Iterator[Any]:
    """Yield the values that a schema gives as examples or as its default."""
    yield from _list(shape.get("examples"))
    if shape.get("default") is not None:
        yield shape["default"]


def _another(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return f"{value}{number}"
    return value + number if isinstance(value, int | float) and not isinstance(value, bool) else NOTHING


def _list(value: Any) -> list[Any]:
    return list(value) if is_array(value) else []
