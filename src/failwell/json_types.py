"""What a JSON value is, told to the type checkers too."""

from collections.abc import Mapping
from typing import Any, TypeGuard


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a value can be read like a JSON object."""
    return isinstance(value, Mapping)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a value can be read like a JSON array."""
    return isinstance(value, list | tuple)


def members(value: Any) -> list[tuple[str | int, Any]]:
    """Return the keys and values of an object, or the indices and items of an array; nothing for anything else."""
    if is_mapping(value):
        return list(value.items())
    return list(enumerate(value)) if is_array(value) else []
