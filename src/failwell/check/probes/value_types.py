"""Probes with values of a wrong type: another type, null, something wrong deep inside."""

from collections.abc import Iterator
from typing import Any

from failwell.check.arguments import PLACEHOLDER, SchemaField, options_at, types_at, with_value
from failwell.check.probes.probe import CheckedTool, ProposedCall
from failwell.failure import join_path

# What no validator turns into the type that is due, by that type.
_WRONG: dict[str, tuple[Any, ...]] = {
    "string": (12345, [PLACEHOLDER]),
    "integer": (PLACEHOLDER, [PLACEHOLDER]),
    "number": (PLACEHOLDER, [PLACEHOLDER]),
    "boolean": (PLACEHOLDER, [PLACEHOLDER]),
    "array": (12345, PLACEHOLDER),
    "object": (12345, PLACEHOLDER),
    "null": (PLACEHOLDER, 12345),
}
_ANY: tuple[Any, ...] = (12345, PLACEHOLDER, [PLACEHOLDER], {"failwell": "probe"}, True)
# A careless server would take a number for a text; an object it cannot.
_FOR_WRITERS: tuple[Any, ...] = ({"failwell": "probe"}, [PLACEHOLDER], 12345, PLACEHOLDER)

TYPE_WORDS: dict[str, tuple[str, ...]] = {
    "string": ("string", "str", "text"),
    "integer": ("integer", "int", "number", "numeric"),
    "number": ("number", "float", "numeric", "integer", "double"),
    "boolean": ("boolean", "bool", "true or false"),
    "array": ("array", "list", "sequence"),
    "object": ("object", "dict", "dictionary", "mapping", "map", "struct"),
    "null": ("null", "none"),
}
"""What the types of JSON are called in error texts."""


def wrong_type(tool: CheckedTool) -> Iterator[ProposedCall]:
    """Each field of the arguments with a value of another type."""
    for field, base in tool.filled_fields:
        if len(field.keys) == 1 and (call := _with_wrong_type(tool, field, base)) is not None:
            yield call


def nested(tool: CheckedTool) -> Iterator[ProposedCall]:
    """A value of another type as deep inside as the schema goes."""
    deep = [(field, base) for field, base in tool.filled_fields if len(field.keys) > 1]
    for field, base in sorted(deep, key=lambda filled: -len(filled[0].keys)):
        if (call := _with_wrong_type(tool, field, base)) is not None:
            yield call
            return


def null(tool: CheckedTool) -> Iterator[ProposedCall]:
    """Null in the first field that does not take it."""
    for field, base in tool.filled_fields:
        arguments = with_value(base, field.keys, None)
        if arguments is None or tool.is_valid(arguments):
            continue
        violates = f"null in {join_path(field.keys)}"
        yield ProposedCall(arguments, base, field.keys, violates, (field.name,), expected_of(tool, field),
                    required=field.required)  # fmt: skip
        return


def expected_of(tool: CheckedTool, field: SchemaField) -> tuple[str, ...]:
    """Return the words of which one says what is expected of a field: its types, or what it lists."""
    types = sorted(types_at(field.schema, tool.tree))
    words = tuple(word for type_ in types for word in TYPE_WORDS.get(type_, ()))
    return words + tuple(str(option) for option in options_at(field.schema, tool.tree)[:1])


def _with_wrong_type(tool: CheckedTool, field: SchemaField, base: dict[str, Any]) -> ProposedCall | None:
    types = types_at(field.schema, tool.tree)
    if not types:
        return None
    only = next(iter(types - {"null"}), "null")
    choices = _FOR_WRITERS if tool.careful else _WRONG[only] if len(types) == 1 and only in _WRONG else _ANY
    for value in choices:
        arguments = with_value(base, field.keys, value)
        if arguments is not None and not tool.is_valid(arguments):
            violates = f"{join_path(field.keys)} is of a type other than {' or '.join(sorted(types))}"
            return ProposedCall(
                arguments, base, field.keys, violates, (field.name,), expected_of(tool, field),
                required=field.required,
            )  # fmt: skip
    return None
