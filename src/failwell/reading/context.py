"""`Context`: what is known about a call besides its error text; `Finding`: what a rule concludes from that text."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Generic, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType

from failwell._json import is_array, is_object
from failwell.codes import Outcome, Type
from failwell.failure import ROOT, FieldProblem, join_path, split_path
from failwell.redact.secrets import is_secret_name
from failwell.schema.tree import key_of

_MOST_VALUES = 200
_DEEPEST = 6
_LONGEST_NAME = 100


Value = TypeVar("Value")


class once(Generic[Value]):  # noqa: N801 - used like a decorator of the standard library
    """A property worked out when first asked for. `functools.cached_property` of Python 3.11 takes a lock each time."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, holder: None, owner: type) -> "once[Value]": ...

    @overload
    def __get__(self, holder: object, owner: type) -> Value: ...

    def __get__(self, holder: object | None, owner: type) -> "Value | once[Value]":
        if holder is None:
            return self
        value = holder.__dict__[self._name] = self._make(holder)
        return value


class Context:
    """The call that an error text answers; every part may be unknown."""

    def __init__(
        self,
        tool: str | None = None,
        arguments: Any = None,
        input_schema: Any = None,
        annotations: Any = None,
        *,
        now: float | None = None,
    ) -> None:
        self.tool = tool
        self.now = now  # what moments in a text are compared with; None: the clock
        self.arguments: dict[str, Any] = arguments if is_object(arguments) else {}
        self.schema: dict[str, Any] = input_schema if is_object(input_schema) else {}
        self.annotations: dict[str, Any] = annotations if is_object(annotations) else {}
        self.is_known = is_object(arguments)
        self.safe_text = ""  # the error's text, cleaned: what stands in it needs no cleaning again

    @once
    def properties(self) -> dict[str, Any]:
        """The schemas of the arguments, by name."""
        found = self.schema.get("properties")
        return found if is_object(found) else {}

    @once
    def required(self) -> list[str]:
        """The names of the arguments that must be sent."""
        found = self.schema.get("required")
        return [name for name in found if isinstance(name, str)] if is_array(found) else []

    @once
    def names(self) -> tuple[str, ...]:
        """The names of all arguments, those in the schema first."""
        found = dict.fromkeys(self.properties)
        for name in self.arguments:
            if isinstance(name, str):
                found[name] = None
        return tuple(found)[:_MOST_VALUES]

    @once
    def values(self) -> list[tuple[tuple[str | int, ...], Any]]:
        """Every scalar that was sent, with the keys that lead to it."""
        found: list[tuple[tuple[str | int, ...], Any]] = []
        _collect(self.arguments.items(), (), found)
        return found

    @once
    def problems(self) -> tuple[FieldProblem, ...]:
        """What the schema has against the arguments; nothing if they fit, or nobody can tell."""
        if not self.schema or not self.is_known:
            return ()
        try:
            from failwell.schema.validator import check_arguments  # needs an optional package

            failure = check_arguments(self.arguments, self.schema)
        except Exception:  # without the package, or with a schema that is none, the text alone must do
            return ()
        return failure.fields if failure else ()

    @once
    def proven(self) -> tuple[FieldProblem, ...]:
        """What the schema proves to be wrong: of an argument that it does not list, it only says that it is unknown."""
        return tuple(problem for problem in self.problems if problem.kind != "unknown")

    @once
    def keys(self) -> frozenset[str]:
        """The names of all arguments and of what is within them, in the schema and as sent."""
        found = set(self.names)
        waiting: list[Any] = [self.schema]
        for _ in range(_MOST_VALUES):
            if not waiting:
                break
            part = waiting.pop()
            if is_object(part):
                properties = part.get("properties")
                found.update(properties if is_object(properties) else ())
                waiting += part.values()
            elif is_array(part):
                waiting += part[:_MOST_VALUES]
        for keys, _ in self.values:
            found.update(key for key in keys if isinstance(key, str))
        return frozenset(found)

    def proves(self, path: str) -> bool:
        """Tell whether the schema proves that what was sent at a path is wrong."""
        return any(problem.path == path for problem in self.proven)

    def was_sent(self, keys: list[str | int]) -> bool:
        """Tell whether anything was sent where *keys* lead."""
        here: Any = self.arguments
        for key in keys:
            found = key_of(here, key)
            if found is None:
                return False
            here = here[found]
        return bool(keys)

    def problem(self, keys: list[str | int], message: str, kind: str | None = None, **more: Any) -> FieldProblem:
        """Return the problem of the argument that *keys* lead to, with what was sent there; *message* may be shown."""
        path = self.located(keys) or ROOT
        sent: Any = UNSET
        if self.is_known and (len(keys) != 1 or path != keys[0]):
            sent = _sent_at(self.arguments, path)
        elif self.is_known and not is_secret_name(path):
            sent = self.arguments.get(path, UNSET)
        was_sent = sent is not UNSET or self.was_sent(keys)  # the value of a secret is not shown
        if kind == "missing" and was_sent and sent not in (None, "", [], {}):
            kind = "type" if sent is not UNSET and self.proves(path) else None
        if kind == "type" and self.is_known and not was_sent and path != ROOT:
            kind = "missing"
        required = True if kind == "missing" else None
        return FieldProblem(path=path, kind=kind, message=message, sent=sent, required=required, **more)

    def located(self, keys: list[str | int]) -> str | None:
        """Return the path of the longest beginning of *keys* that leads somewhere in the arguments or the schema."""
        if len(keys) == 1:
            return path_of(keys[0])
        if keys and keys[0] not in self.names and len(keys) > 1 and keys[1] in self.names:
            keys = keys[1:]  # the name of the whole came first
        here: Any = self.arguments
        kept: list[str | int] = []
        for key in keys[:_DEEPEST]:
            if is_object(here) and key in here:
                here = here[str(key)] if key not in here else here[key]
            elif is_array(here) and isinstance(key, int) and 0 <= key < len(here):
                here = here[key]
            elif is_object(here) and isinstance(key, str) and key == keys[-1]:
                kept.append(key)
                break
            elif kept or self.names:
                break
            kept.append(key)
        if not kept and keys:
            kept = keys[:1]
        return join_path(kept) if kept else None


def _sent_at(arguments: Any, path: str) -> Any:
    """Return what was sent at a path; `UNSET` if nothing was, or if it is a secret or the arguments as a whole."""
    try:
        keys = split_path(path)
    except ValueError:
        return UNSET
    if not keys or any(isinstance(key, str) and is_secret_name(key) for key in keys):
        return UNSET
    for key in keys:
        found = key_of(arguments, key)
        if found is None:
            return UNSET
        arguments = arguments[found]
    return arguments


def path_of(key: str | int) -> str:
    """Return the path of an argument by its name, or of an item by its index."""
    return _named(key) if type(key) is str and len(key) <= _LONGEST_NAME else join_path([key])


@lru_cache(maxsize=1024)
def _named(name: str) -> str:
    return join_path([name])


def _collect(
    members: Iterable[tuple[str | int, Any]],
    keys: tuple[str | int, ...],
    found: list[tuple[tuple[str | int, ...], Any]],
) -> None:
    """Add the scalars among *members*, and those within them, to what was found."""
    if len(keys) == _DEEPEST:
        return
    for key, value in members:
        if len(found) == _MOST_VALUES:
            return
        if is_object(value):
            _collect(value.items(), (*keys, key), found)
        elif not isinstance(value, str) and is_array(value):
            _collect(enumerate(value[:_MOST_VALUES]), (*keys, key), found)
        else:
            found.append(((*keys, key), value))


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule found: a code, how sure it is, and the fields, delay or status that the text states with it.

    Without a code, only the type is known. `span` is where in the text the telling words stand; the argument at fault
    is usually named near them.
    """

    rule: str
    code: str | None
    confidence: float
    type: Type | None = None  # where no code says it
    retryable: bool | UnsetType | None = UNSET
    outcome: Outcome | None = None  # where it does not follow from the code
    fields: tuple[FieldProblem, ...] = ()
    http_status: int | None = None
    retry_after: float | None = None
    span: tuple[int, int] | None = None
    blames: bool = True  # whether an argument can be at fault
    words: str | None = None  # by which the rule knows it, as it compares them
