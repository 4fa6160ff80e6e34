"""Find what a schema says about one place in the arguments."""

from collections.abc import Iterator, Sequence
from typing import Any

from failwell.arguments.schema_tree import SchemaTree
from failwell.arguments.schema_words import types_of
from failwell.json_types import is_array, is_object

_DEEPEST = 12
_BRANCHES = ("anyOf", "oneOf", "allOf")


class Part:
    """All that a schema says about one value: the alternatives that may hold, references followed."""

    def __init__(self, schemas: Sequence[dict[str, Any]], tree: SchemaTree) -> None:
        self.schemas = tuple(schemas)
        self._tree = tree

    @classmethod
    def of(cls, schema: Any) -> "Part":
        """Return what a whole schema says."""
        tree = SchemaTree(schema)
        return cls(list(_alternatives(schema, tree, 0)), tree)

    def at(self, keys: Sequence[str | int]) -> "Part":
        """Return what is said about the value that these keys lead to."""
        part = self
        for key in keys:
            found = [inner for schema in part.schemas for inner in _members(schema, key)]
            part = Part([one for inner in found for one in _alternatives(inner, self._tree, 0)], self._tree)
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
