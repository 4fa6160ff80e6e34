"""`Group`: several actions as one tool, chosen by a field of the arguments."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from failwell import paths
from failwell.arguments import wording
from failwell.arguments.wording import Place
from failwell.collect import invalid
from failwell.errors import Invalid
from failwell.failure import ROOT, Failure, FieldProblem
from failwell.json_types import is_mapping
from failwell.routing.group_schema import grouped
from failwell.routing.signatures import Signature
from failwell.suggest import closest

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
            raise ValueError(f"action {name!r} cannot have an argument {self.discriminator!r}: it chooses the action")
        check = self._checker(described, tool=self.name, action=name).check if self._checker else None
        self._actions[name] = _Action(handler, described, description or _first_line(handler), check, signature)

    def route(self, arguments: Any) -> Route:
        """Return which action is called, its handler, and the arguments for it.

        Raises:
            Invalid: the discriminator is missing or names no action, or the action's arguments are wrong.
        """
        if arguments is not None and not is_mapping(arguments):
            raise Invalid(invalid([wording.wrong_type(Place((), arguments), ["object"])], tool=self.name))
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
    misspelt = [wording.unknown(Place((name,), (sent or {})[name]), [field]) for name in slips[:1]]
    return Failure(
        code="MISSING_DISCRIMINATOR",
        message=f'The required field "{field}" is missing.',
        suggestion=f'Add the "{field}" field and call the tool again.',
        actions=tuple(actions),
        fields=(wording.missing(Place((field,)), options=actions), *misspelt),
    )


def unknown_action(sent: Any, field: str, actions: Sequence[str]) -> Failure:
    """Return the failure of a call that wants an action which does not exist."""
    place = Place((field,), sent, required=True)
    if isinstance(sent, str):
        text = sent if len(sent) <= _MOST_OF_A_NAME else sent[: _MOST_OF_A_NAME - 1] + "…"
        named = '"' + " ".join(text.splitlines()) + '"'
        nearest = closest(sent, actions, most=1)
        problem = msgspec.structs.replace(
            wording.not_an_option(place, actions), did_you_mean=nearest[0] if nearest else None
        )
    else:
        named = wording.shown(sent)
        problem = wording.wrong_type(place, ["string"], options=actions)
    return Failure(
        code="UNKNOWN_ACTION",
        message=f"The action {named} does not exist.",
        suggestion="Choose a valid action from available_actions and call the tool again.",
        actions=tuple(actions),
        fields=(problem,),
    )


def _problem(error: msgspec.ValidationError) -> FieldProblem:
    """Return what msgspec says of a value that its schema let pass, or that nobody checked."""
    message, _, where = str(error).partition(" - at `$")
    path = where.rstrip("`").removeprefix(".") or ROOT
    try:
        return Place(paths.split(path)).problem("type", message)
    except ValueError:
        return Place().problem("type", message)


def _checker_class(validate: bool | None) -> Callable[..., Any] | None:  # noqa: FBT001 - a setting passed on
    if validate is False:
        return None
    try:
        from failwell.validation import Checker  # optional: needs jsonschema-rs
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
