"""A function's parameters as JSON Schema, and JSON arguments as what the function takes."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Union, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature:
    """The parameters of a function: their JSON Schema, and arguments converted to their types.

    Raises:
        TypeError: a parameter cannot be passed by name, or its type has no JSON Schema.
    """

    schema: dict[str, Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        self._is_open = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        for parameter in named:
            if parameter.kind not in _NAMED:
                raise TypeError(f"{_name(function)}: parameter {parameter.name!r} cannot be passed by name")
        try:
            hints = get_type_hints(function, include_extras=True)
            fields = [_field(parameter, hints.get(parameter.name, Any)) for parameter in named]
            self._struct = msgspec.defstruct("Arguments", fields, kw_only=True)
            self.schema = _inlined(msgspec.json.schema(self._struct))
        except (TypeError, NameError) as error:
            reason = str(error).partition("\n")[0]
            raise TypeError(f"{_name(function)}: no JSON Schema for its parameters; pass schema=. {reason}") from error
        for parameter in named:
            self._note_default(parameter)
        self.schema["additionalProperties"] = self._is_open

    def _note_default(self, parameter: inspect.Parameter) -> None:
        if isinstance(parameter.default, str | int | float) and parameter.name in self.schema["properties"]:
            self.schema["properties"][parameter.name].setdefault("default", parameter.default)

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments in the types of the parameters: dates as dates, objects as their classes.

        Raises:
            msgspec.ValidationError: an argument is not of its parameter's type.
        """
        struct = msgspec.convert(arguments, self._struct)
        given = {name: getattr(struct, name) for name in struct.__struct_fields__ if name in arguments}
        return {**arguments, **given} if self._is_open else given


def _field(parameter: inspect.Parameter, hint: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    if parameter.default is parameter.empty:
        return parameter.name, hint
    # Left unset where nothing was sent, so that the function's own default applies.
    return parameter.name, Any if hint is Any else Union[hint, UnsetType], UNSET  # noqa: UP007 - built at run time


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose top is an object and not a reference to one."""
    definitions = dict(schema.get("$defs", {}))
    name = schema["$ref"].rpartition("/")[2]
    top = {key: value for key, value in definitions.pop(name).items() if key != "title"}
    return {**top, "$defs": definitions} if definitions else top


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))
