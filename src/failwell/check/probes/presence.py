"""Probes of what is there and what is not: missing, misspelt and unknown fields."""

from collections.abc import Iterator
from typing import Any

from failwell._json import is_array
from failwell.check.arguments import value_at, with_value, without_value
from failwell.check.probes.probe import Draft, Subject
from failwell.failure import join_path

STRANGER = "failwell_probe"
"""The name of a field that no tool has."""

REQUIRED = ("required", "missing", "must", "needed", "need", "mandatory", "undefined", "expected", "provide")
_UNKNOWN = (
    *("unknown", "unexpected", "unrecognized", "unrecognised", "extra", "additional", "not allowed", "not permitted"),
    *("no such", "not known", "invalid key"),
)


def empty(subject: Subject) -> Iterator[Draft]:
    """An empty object, where something is required."""
    if subject.is_valid({}):
        return
    required = subject.schema.get("required")
    names = tuple(name for name in required if isinstance(name, str)) if is_array(required) else ()
    yield Draft({}, None, (), "no arguments at all, though some are required", names, REQUIRED)


def missing(subject: Subject) -> Iterator[Draft]:
    """Each required field left out, the others valid."""
    for place, base in subject.spots:
        name = place.keys[-1]
        arguments = without_value(base, place.keys)
        if arguments is not None and isinstance(name, str) and not subject.is_valid(arguments):
            violates = f"the required field {join_path(place.keys)} is left out"
            yield Draft(arguments, base, place.keys, violates, (name,), REQUIRED, required=place.required)


def misspelt(subject: Subject) -> Iterator[Draft]:
    """The first required field under a name that is almost right."""
    for place, base in subject.spots:
        name = place.keys[-1]
        slip = misspelling(str(name))
        rest = without_value(base, place.keys)
        if rest is None or slip is None or subject.is_valid(rest):
            continue
        arguments = with_value(rest, (*place.keys[:-1], slip), value_at(base, place.keys))
        if arguments is not None and slip not in _names_beside(base, place.keys):
            violates = f"the field {join_path(place.keys)} is spelt {slip}"
            yield Draft(arguments, base, place.keys, violates, (str(name),), required=place.required)
            return


def unknown(subject: Subject) -> Iterator[Draft]:
    """A field that nobody knows, beside valid ones."""
    for _, base in subject.bases[:1]:
        arguments: dict[str, Any] = {**base, STRANGER: 1}
        if not subject.is_valid(arguments):
            violates = f"a field {STRANGER} that the schema does not allow"
            yield Draft(arguments, base, (STRANGER,), violates, (STRANGER,), _UNKNOWN)


def misspelling(word: str) -> str | None:
    """Return a word with two of its letters swapped, or else one dropped; None if it is too short for that."""
    middle = len(word) // 2
    for index in (*range(middle, len(word) - 1), *range(1, middle)):
        one, two = word[index], word[index + 1]
        if one != two and one.isalnum() and two.isalnum():
            return word[:index] + two + one + word[index + 2 :]
    return word[:-1] if len(word) > 3 else None


def _names_beside(base: dict[str, Any], keys: tuple[str | int, ...]) -> Any:
    return value_at(base, keys[:-1])
