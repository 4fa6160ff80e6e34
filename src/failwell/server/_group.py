"""`Group`: several actions as one tool, chosen by a field of the arguments.

Hosts refuse tools whose schema has `oneOf`, `anyOf` or `allOf` at the top. So the properties of all actions stand side
by side, each naming the actions it belongs to, and what an action requires is checked when it is routed.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, Union, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from failwell._json import is_array, is_mapping, is_object
from failwell._spelling import closest, names_slips
from failwell.errors import Invalid
from failwell.failure import ROOT, Failure, FieldProblem, split_path
from failwell.schema.problems import (
    Argument,
    invalid,
    missing_problem,
    option_problem,
    unknown_problem,
    wrong_type_problem,
)
from failwell.schema.tree import closed_names
from failwell.schema.words import shown_value

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


_BOOLEANS: dict[Any, dict[str, Any]] = {True: {}, False: {"not": {}}}


def grouped(
    schemas: Mapping[str, Mapping[str, Any]], *, discriminator: str, notes: Mapping[str, str]
) -> dict[str, Any]:
    """Return a schema that takes the arguments of every action, with the discriminator that chooses one."""
    moved = {name: _moved(schema, name) for name, schema in schemas.items()}
    properties: dict[str, dict[str, Any]] = {discriminator: _choice(list(schemas), notes)}
    for field in dict.fromkeys(field for schema in moved.values() for field in _arguments(schema)):
        users = {name: schema for name, schema in moved.items() if field in _arguments(schema)}
        others = [schema for name, schema in moved.items() if name not in users]
        properties[field] = _united(field, users, others)
    everywhere = [
        field for field in properties if all(field in schema.get("required", ()) for schema in moved.values())
    ]
    grouped: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [discriminator, *everywhere] if schemas else [discriminator],
    }
    if all(_is_closed(schema) for schema in moved.values()):
        grouped["additionalProperties"] = False
    if definitions := {name: moved[name] for name, schema in schemas.items() if moved[name] != schema}:
        grouped["$defs"] = definitions
    return grouped


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas of the arguments that an action takes; one that is only required may be anything."""
    properties = schema.get("properties", {})
    return {**properties, **{name: True for name in closed_names(schema) or () if name not in properties}}


def _choice(actions: list[str], notes: Mapping[str, str]) -> dict[str, Any]:
    lines = [f"{action}: {notes[action]}" for action in actions if action in notes]
    choice: dict[str, Any] = {"type": "string", "enum": actions}
    return {**choice, "description": "\n".join(["Which action to take.", *lines])} if lines else choice


def _united(field: str, users: Mapping[str, Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one schema for a field of some actions, and say in words of which; others may take anything there."""
    variants: list[dict[str, Any]] = []
    for schema in users.values():
        held = _arguments(schema)[field]
        variant: dict[str, Any] = held if is_object(held) else _BOOLEANS[held]
        if variant not in variants:
            variants.append(variant)
    if not all(map(_is_closed, others)):
        variants.append({})
    united: dict[str, Any] = dict(variants[0]) if len(variants) == 1 else {"anyOf": variants}
    needing = [name for name, schema in users.items() if field in schema.get("required", ())]
    notes = [f"For {', '.join(users)}."] if others and needing != list(users) else []
    if needing and (others or needing != list(users)):
        notes.append(f"Required for {', '.join(needing)}.")
    note = " ".join(notes)
    if note:
        united["description"] = f"{united['description']} {note}" if united.get("description") else note
    return united


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Tell whether an action takes no arguments but its properties."""
    if schema.get("additionalProperties") is False:
        return "patternProperties" not in schema
    return closed_names(schema) is not None


def _moved(schema: Any, action: str) -> Any:
    """Return a schema with its references to itself pointing to where it stands in the grouped one."""
    if is_mapping(schema):
        place = "#/$defs/" + action.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        return {
            key: place + value[1:]
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else _moved(value, action)
            for key, value in schema.items()
        }
    return [_moved(item, action) for item in schema] if is_array(schema) else schema


Handler = Callable[..., Any]
_F = TypeVar("_F", bound=Handler)
Check = Callable[[Any], Failure | None]

_MOST_OF_A_NAME = 80


class Route(NamedTuple):
    """Where a call goes: the action, its handler, and the arguments without the discriminator."""

    action: str
    handler: Handler
    arguments: dict[str, Any]


class _Action(NamedTuple):
    handler: Handler
    schema: dict[str, Any]
    description: str | None
    check: Check | None
    signature: Signature | None


class Group:
    """Turns several actions into one tool with a discriminator.

    ```python
    billing = Group("billing")


    @billing.action("refund")
    def refund(invoice: str, amount: int) -> str: ...


    billing.call({"action": "refund", "invoice": "inv_1", "amount": 5})
    ```

    An action's arguments are described by *schema*, else by its type hints. They are checked where jsonschema-rs is
    installed; with `validate=True` it must be, with `validate=False` nothing is checked.
    """

    @names_slips
    def __init__(self, name: str, *, discriminator: str = "action", validate: bool | None = None) -> None:
        for what, text in (("name", name), ("discriminator", discriminator)):
            _check_name(what, text)
        self.name = self.__name__ = name  # a guard calls a tool by its __name__
        self.discriminator = discriminator
        self._actions: dict[str, _Action] = {}
        self._checker = _checker_class(validate)

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions, in the order they were added."""
        return tuple(self._actions)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the grouped tool."""
        schemas = {name: action.schema for name, action in self._actions.items()}
        notes = {name: action.description for name, action in self._actions.items() if action.description}
        return grouped(schemas, discriminator=self.discriminator, notes=notes)

    def action(
        self, name: str, *, schema: Mapping[str, Any] | None = None, description: str | None = None
    ) -> Callable[[_F], _F]:
        """Decorate the handler of an action."""

        def register(handler: _F) -> _F:
            self.add(name, handler, schema=schema, description=description)
            return handler

        return register

    def add(
        self,
        name: str,
        handler: Handler,
        *,
        schema: Mapping[str, Any] | None = None,
        description: str | None = None,
    ) -> None:
        """Add an action. Without a description, the first line of the handler's docstring is its description.

        Raises:
            ValueError: there is such an action already, its schema is invalid or has the discriminator as a property.
            TypeError: there is no schema, and none follows from the type hints.
        """
        _check_name("an action's name", name)
        if name in self._actions:
            raise ValueError(f"{self.name} has an action {name!r} already")
        signature = Signature(handler) if schema is None else None
        described = dict(schema) if schema is not None else signature.schema if signature else {}
        if self.discriminator in described.get("properties", {}):
            raise ValueError(f"action {name!r} cannot have an argument {self.discriminator!r}: it selects the action")
        check = self._checker(described, tool=self.name, action=name).check if self._checker else None
        self._actions[name] = _Action(handler, described, description or _first_line(handler), check, signature)

    def route(self, arguments: Any) -> Route:
        """Return which action is called, its handler, and the arguments for it.

        Raises:
            Invalid: the discriminator is missing or names no action, or the action's arguments are wrong.
        """
        if arguments is not None and not is_mapping(arguments):
            raise Invalid(invalid([wrong_type_problem(Argument((), arguments), ["object"])], tool=self.name))
        remaining = dict(arguments or {})
        chosen = remaining.pop(self.discriminator, None)
        if chosen is None:
            raise Invalid(missing_discriminator(self.discriminator, self.actions, sent=remaining))
        action = self._actions.get(chosen) if isinstance(chosen, str) else None
        if action is None:
            raise Invalid(unknown_action(chosen, self.discriminator, self.actions))
        if action.check and (failure := action.check(remaining)):
            raise Invalid(failure)
        return Route(chosen, action.handler, self._converted(chosen, action.signature, remaining))

    def call(self, arguments: Any) -> Any:
        """Call the action that the arguments choose and return its result.

        Raises:
            Invalid: as `route` does.
            TypeError: the handler is asynchronous; await `acall`.
        """
        route = self.route(arguments)
        if inspect.iscoroutinefunction(route.handler):
            raise TypeError(f"action {route.action!r} is asynchronous: await acall")
        return route.handler(**route.arguments)

    def __call__(self, arguments: Any = None, /, **named: Any) -> Any:
        """Call the action that the arguments, as one object or by name, choose: a group is a tool.

        An asynchronous action gives its coroutine, to be awaited.

        Raises:
            Invalid: as `route` does.
        """
        route = self.route({**arguments, **named} if is_mapping(arguments) else arguments or named)
        return route.handler(**route.arguments)

    async def acall(self, arguments: Any) -> Any:
        """Call the action that the arguments choose, await it if need be, and return its result.

        Raises:
            Invalid: as `route` does.
        """
        route = self.route(arguments)
        result = route.handler(**route.arguments)
        return await result if inspect.isawaitable(result) else result

    def _converted(self, name: str, signature: Signature | None, arguments: dict[str, Any]) -> dict[str, Any]:
        if signature is None:
            return arguments
        try:
            return signature.convert(arguments)
        except msgspec.ValidationError as error:
            raise Invalid(invalid([_problem(error)], tool=self.name, action=name)) from None


def missing_discriminator(field: str, actions: Sequence[str], *, sent: Mapping[str, Any] | None = None) -> Failure:
    """Return the failure of a call that does not say which action it wants; *sent* are its arguments."""
    slips = [name for name in sent or {} if closest(name, [field])]
    misspelt = [unknown_problem(Argument((name,), (sent or {})[name]), [field]) for name in slips[:1]]
    return Failure(
        code="MISSING_DISCRIMINATOR",
        message=f'The required field "{field}" is missing.',
        suggestion=f'Add the "{field}" field and call the tool again.',
        actions=tuple(actions),
        fields=(missing_problem(Argument((field,)), options=actions), *misspelt),
    )


def unknown_action(sent: Any, field: str, actions: Sequence[str]) -> Failure:
    """Return the failure of a call that wants an action which does not exist."""
    place = Argument((field,), sent, required=True)
    if isinstance(sent, str):
        text = sent if len(sent) <= _MOST_OF_A_NAME else sent[: _MOST_OF_A_NAME - 1] + "…"
        named = '"' + " ".join(text.splitlines()) + '"'
        nearest = closest(sent, actions, most=1)
        problem = msgspec.structs.replace(option_problem(place, actions), did_you_mean=nearest[0] if nearest else None)
    else:
        named = shown_value(sent)
        problem = wrong_type_problem(place, ["string"], options=actions)
    return Failure(
        code="UNKNOWN_ACTION",
        message=f"The action {named} does not exist.",
        suggestion="Choose a valid action from available_actions and call the tool again.",
        actions=tuple(actions),
        fields=(problem,),
    )


def _problem(error: msgspec.ValidationError) -> FieldProblem:
    """Return what msgspec says of a value that its schema let pass, or that was not checked."""
    message, _, where = str(error).partition(" - at `$")
    path = where.rstrip("`").removeprefix(".") or ROOT
    try:
        return Argument(split_path(path)).problem("type", message)
    except ValueError:
        return Argument().problem("type", message)


def _checker_class(validate: bool | None) -> Callable[..., Any] | None:  # noqa: FBT001 - a setting passed on
    if validate is False:
        return None
    try:
        from failwell.schema.validator import Checker  # optional: needs jsonschema-rs
    except ImportError:
        if validate:
            raise
        return None
    return Checker


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"{what} must be a non-empty string, not {name!r}")


def _first_line(handler: Handler) -> str | None:
    lines = (inspect.getdoc(handler) or "").splitlines()
    return lines[0] if lines else None
