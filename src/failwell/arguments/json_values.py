"""Which values JSON can hold: plain copies, and what stands in the way of one."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from failwell.arguments.wording import Place
from failwell.failure import FieldProblem
from failwell.json_types import is_array, is_mapping, members

_MOST_PROBLEMS = 50
_JSON = "null, true, false, a number, a string, an array or an object"


class Plain(NamedTuple):
    """A copy in plain JSON types, and what could not be copied."""

    value: Any
    problems: tuple[FieldProblem, ...]


def plain(value: Any, deepest: int) -> Plain:
    """Return a copy of *value* in plain JSON types: subclasses as what they derive from, tuples as arrays."""
    problems: list[FieldProblem] = []
    return Plain(_copied(value, (), deepest, problems), tuple(problems))


def _copied(value: Any, keys: tuple[str | int, ...], deepest: int, problems: list[FieldProblem]) -> Any:
    if value is None or isinstance(value, bool | float) or len(problems) >= _MOST_PROBLEMS:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        if not _is_unicode(value):
            message, expected = "Text holds half of a surrogate pair", "valid Unicode text"
            problems.append(Place(keys).problem("format", message, expected=expected))
        return str.__str__(value)
    if not is_mapping(value) and not is_array(value):
        problems.append(Place(keys).problem("type", f"{type(value).__name__} is not a JSON value", expected=_JSON))
        return None
    if len(keys) >= deepest:
        message, expected = f"Nested more than {deepest} levels deep", f"at most {deepest} levels"
        # The path itself would be as long as the value is deep.
        problems.append(Place(keys[:1]).problem("length", message, expected=expected))
        return None
    if is_mapping(value):
        return _copied_object(value, keys, deepest, problems)
    return [_copied(item, (*keys, index), deepest, problems) for index, item in enumerate(value)]


def _copied_object(
    value: Mapping[Any, Any], keys: tuple[str | int, ...], deepest: int, problems: list[FieldProblem]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            message = f"A key is of type {type(key).__name__}; keys must be strings"
            problems.append(Place(keys).problem("type", message, expected="an object whose keys are strings"))
        elif not _is_unicode(key):
            message, expected = "A key holds half of a surrogate pair", "valid Unicode text"
            problems.append(Place(keys).problem("format", message, expected=expected))
        else:
            found[str.__str__(key)] = _copied(item, (*keys, key), deepest, problems)
    return found


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_deeper_than(value: Any, levels: int) -> bool:
    """Tell whether arrays and objects nest more than *levels* deep."""
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        held, level = waiting.pop()
        if level > levels:
            return True
        waiting += [(item, level + 1) for _, item in members(held) if isinstance(item, dict | list | tuple)]
    return False


def holds_more_than(value: Any, count: int) -> bool:
    """Tell whether there are more than *count* values in arrays and objects, at any depth."""
    waiting = [value]
    while waiting:
        held = members(waiting.pop())
        count -= len(held)
        if count < 0:
            return True
        waiting += [item for _, item in held if isinstance(item, dict | list | tuple)]
    return False
