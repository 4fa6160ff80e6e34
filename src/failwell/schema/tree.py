"""`SchemaTree`: find the part of a JSON Schema that a validator refers to."""

from collections.abc import Iterable, Iterator, KeysView, Sequence
from typing import Any, NamedTuple

from failwell._json import is_array, is_mapping, is_object
from failwell.schema.complexity import REFERENCES, names_in_pointer

_WITH_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"))
_IN_PLACE = REFERENCES | {"allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "dependencies"}
# With these, names that `properties` does not list may be meant: unknown ones are left to the schema.
_OPEN = frozenset(
    (
        *("additionalProperties", "unevaluatedProperties", "patternProperties", "anyOf", "oneOf", "allOf", "if", "not"),
        *("dependentSchemas", "dependencies", *REFERENCES),
    )
)
_PARTS = ("allOf", "anyOf", "oneOf")
_MOST_REFERENCES = 20

Keys = Sequence[str | int]


class SchemaLocation(NamedTuple):
    """Where in the schema a rule stands.

    `schema` holds the rule, `enclosing` are all the schemas on the way there that speak of the same value, outermost
    first, and `required` says whether the value must be sent, if it is a property.
    """

    schema: dict[str, Any]
    enclosing: tuple[dict[str, Any], ...]
    required: bool | None

    def property(self, name: str) -> Any:
        """Return the schema of a property, from the innermost schema that has it; None if none has."""
        found = (schema.get("properties", {}).get(name) for schema in reversed(self.enclosing))
        return next((schema for schema in found if schema is not None), None)


class SchemaTree:
    """A JSON Schema whose parts can be found by the path that validation took."""

    def __init__(self, root: Any) -> None:
        self.root = root

    def locate(self, path: Keys) -> SchemaLocation:
        """Return where a path leads that goes through references, as `evaluation_path` of jsonschema-rs does."""
        schema: Any = self.root
        enclosing = [schema]
        required: bool | None = None
        steps = iter(path)
        for keyword in steps:
            if not is_object(schema) or keyword not in schema:
                return SchemaLocation({}, (), required)
            held, value = schema, schema[str(keyword)]
            if keyword in REFERENCES:
                schema = self.target(value)
            elif keyword in _WITH_NAME or is_array(value):
                step = next(steps, None)
                schema = member(value, step)
                if keyword == "properties":
                    required = step in held.get("required", ())
            else:
                schema = value
            if keyword not in _IN_PLACE:
                enclosing.clear()
                required = required if keyword == "properties" else None
            enclosing.append(schema)
        return SchemaLocation(schema if is_object(schema) else {}, tuple(filter(is_object, enclosing)), required)

    def target(self, reference: Any) -> Any:
        """Return what a reference within the schema points to; None if it points elsewhere."""
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        found = self.root
        for name in names_in_pointer(reference):
            found = member(found, name)
        return found

    def resolved(self, schema: Any) -> dict[str, Any]:
        """Return a schema, or the one that it only refers to."""
        for _ in range(_MOST_REFERENCES):
            if not is_object(schema):
                return {}
            if "$ref" not in schema:
                return schema
            target: Any = self.target(schema["$ref"])
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **beside} if is_object(target) else beside
        return {}

    def names(self, schemas: Iterable[Any]) -> tuple[str, ...]:
        """Return the names of the properties that these schemas and their parts know, in order."""
        return tuple(dict.fromkeys(self._names(schemas, depth=0)))

    def _names(self, schemas: Iterable[Any], depth: int) -> Iterator[str]:
        for schema in map(self.resolved, schemas):
            yield from (name for name, part in schema.get("properties", {}).items() if part is not False)
            if depth < _MOST_REFERENCES:
                for keyword in _PARTS:
                    yield from self._names(schema.get(keyword, ()), depth + 1)
                yield from self._names((schema[k] for k in ("then", "else") if k in schema), depth + 1)


def closed_names(schema: Any) -> KeysView[str] | None:
    """Return the names in a schema that is silent about others, so that no others are meant; else None."""
    if not is_mapping(schema) or not _OPEN.isdisjoint(schema) or not is_mapping(schema.get("properties")):
        return None
    required = schema.get("required")
    return dict.fromkeys((*schema["properties"], *(required if is_array(required) else ()))).keys()


def member(holder: Any, step: Any) -> Any:
    """Return a member of an object or array by a step of a path; None if there is none.

    jsonschema-rs gives a key that reads like a number as that number.
    """
    return holder[key] if (key := key_of(holder, step)) is not None else None


def key_of(holder: Any, step: Any) -> Any:
    """Return the key or index that a step of a path means in this object or array; None if there is none."""
    if is_mapping(holder):
        if step in holder:
            return step
        if isinstance(step, int):
            return next((key for key in holder if _reads_like(key, step)), None)
    elif is_array(holder):
        if isinstance(step, str) and step.isdecimal():
            step = int(step)
        if isinstance(step, int) and 0 <= step < len(holder):
            return step
    return None


def _reads_like(key: Any, number: int) -> bool:
    return isinstance(key, str) and key.removeprefix("+").isdecimal() and int(key) == number
