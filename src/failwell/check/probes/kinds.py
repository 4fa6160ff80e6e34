"""Probes of the kind of a value: another type, null, something wrong deep inside."""

from collections.abc import Iterator
from typing import Any

from failwell.check.arguments import SchemaPlace, options_at, types_at, with_value
from failwell.check.probes.probe import Draft, Subject
from failwell.failure import join_path

# What no validator turns into the type that is due, by that type.
_WRONG: dict[str, tuple[Any, ...]] = {
    "string": (12345, ["failwell-probe"]),
    "integer": ("failwell-probe", ["failwell-probe"]),
    "number": ("failwell-probe", ["failwell-probe"]),
    "boolean": ("failwell-probe", ["failwell-probe"]),
    "array": (12345, "failwell-probe"),
    "object": (12345, "failwell-probe"),
    "null": ("failwell-probe", 12345),
}
_ANY: tuple[Any, ...] = (12345, "failwell-probe", ["failwell-probe"], {"failwell": "probe"}, True)
# A careless server would take a number for a text; an object it cannot.
_FOR_WRITERS: tuple[Any, ...] = ({"failwell": "probe"}, ["failwell-probe"], 12345, "failwell-probe")

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


def wrong_type(subject: Subject) -> Iterator[Draft]:
    """Each field of the arguments with a value of another type."""
    for place, base in subject.spots:
        if len(place.keys) == 1 and (draft := _wrong(subject, place, base)) is not None:
            yield draft


def nested(subject: Subject) -> Iterator[Draft]:
    """A value of another type as deep inside as the schema goes."""
    deep = [(place, base) for place, base in subject.spots if len(place.keys) > 1]
    for place, base in sorted(deep, key=lambda spot: -len(spot[0].keys)):
        if (draft := _wrong(subject, place, base)) is not None:
            yield draft
            return


def null(subject: Subject) -> Iterator[Draft]:
    """Null in the first field that does not take it."""
    for place, base in subject.spots:
        arguments = with_value(base, place.keys, None)
        if arguments is None or subject.is_valid(arguments):
            continue
        violates = f"null in {join_path(place.keys)}"
        yield Draft(arguments, base, place.keys, violates, (place.name,), expected_of(subject, place),
                    required=place.required)  # fmt: skip
        return


def expected_of(subject: Subject, place: SchemaPlace) -> tuple[str, ...]:
    """Return the words of which one says what is expected at a place: its types, or what it lists."""
    types = sorted(types_at(place.schema, subject.tree))
    words = tuple(word for type_ in types for word in TYPE_WORDS.get(type_, ()))
    return words + tuple(str(option) for option in options_at(place.schema, subject.tree)[:1])


def _wrong(subject: Subject, place: SchemaPlace, base: dict[str, Any]) -> Draft | None:
    types = types_at(place.schema, subject.tree)
    if not types:
        return None
    only = next(iter(types - {"null"}), "null")
    choices = _FOR_WRITERS if subject.careful else _WRONG[only] if len(types) == 1 and only in _WRONG else _ANY
    for value in choices:
        arguments = with_value(base, place.keys, value)
        if arguments is not None and not subject.is_valid(arguments):
            violates = f"{join_path(place.keys)} is of another type than {' or '.join(sorted(types))}"
            return Draft(
                arguments, base, place.keys, violates, (place.name,), expected_of(subject, place),
                required=place.required,
            )  # fmt: skip
    return None
