"""Arguments with one thing changed: a value put somewhere, a value taken out."""

import copy
from typing import Any

from failwell.check.shapes import Keys
from failwell.json_types import is_array, is_object

NOTHING: Any = object()
"""No value: there is none, or none could be made."""


def placed(arguments: dict[str, Any], keys: Keys, value: Any) -> dict[str, Any] | None:
    """Return a copy of the arguments with a value at a place; None if its holder is not there."""
    made = copy.deepcopy(arguments)
    holder: Any = made
    for key in keys[:-1]:
        holder = _get(holder, key)
    if is_object(holder) and isinstance(keys[-1], str):
        holder[keys[-1]] = value
    elif is_array(holder) and isinstance(keys[-1], int) and keys[-1] <= len(holder):
        holder[keys[-1] : keys[-1] + 1] = [value]
    else:
        return None
    return made


def without(arguments: dict[str, Any], keys: Keys) -> dict[str, Any] | None:
    """Return a copy of the arguments without the value at a place; None if there is none."""
    made = copy.deepcopy(arguments)
    holder = at(made, keys[:-1])
    if not is_object(holder) or keys[-1] not in holder:
        return None
    del holder[str(keys[-1])]
    return made


def at(arguments: Any, keys: Keys) -> Any:
    """Return the value at a place, or `NOTHING`."""
    for key in keys:
        arguments = _get(arguments, key)
    return arguments


def _get(holder: Any, key: str | int) -> Any:
    if is_object(holder) and isinstance(key, str):
        return holder.get(key, NOTHING)
    if is_array(holder) and isinstance(key, int) and key < len(holder):
        return holder[key]
    return NOTHING
