"""`Probe`: one call that must fail, proven against the schema first; `Subject`: the tool that it is made for."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jsonschema_rs
from msgspec import Struct

from failwell._json import is_object
from failwell.advice import Hints
from failwell.check.arguments import NOTHING, Keys, SchemaPlace, Values, places, shapes, value_at, with_value
from failwell.failure import join_path
from failwell.schema.tree import SchemaTree, key_of

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


_OPEN: dict[str, Any] = {"type": "object"}


class Draft(NamedTuple):
    """A call as a row of the table draws it up, before anybody has proven that it must fail.

    *base* is valid and differs from *arguments* only at *keys*. *named* are the names that a good error holds,
    *expected* are words one of which says what was expected, *options* what it should list.
    """

    arguments: dict[str, Any]
    base: dict[str, Any] | None
    keys: Keys
    violates: str
    named: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    required: bool = True
    variant: str = ""


class Probe(Struct, frozen=True, kw_only=True):
    """One call that must fail.

    `row` names the row of the table; `keys` lead to what is wrong; `types` are the failure types that fit, and `code`
    is the code that the user asked for. `may_be_ignored` marks what many servers tolerate on purpose.
    """

    id: str
    row: str
    tool: str
    arguments: dict[str, Any]
    violates: str
    keys: Keys = ()
    named: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    types: tuple[str, ...] = ("VALIDATION",)
    code: str | None = None
    breaks_schema: bool = True
    may_be_ignored: bool = False

    @property
    def field(self) -> str | None:
        """The path of what is wrong, if it is one field."""
        return join_path(self.keys) if self.keys else None


class Subject:
    """A tool: its name, its schema, what may be sent to it.

    Raises:
        ValueError: its input schema is invalid.
    """

    def __init__(
        self, tool: dict[str, Any], *, given: dict[str, Any] | None = None, allow_writes: bool = False
    ) -> None:
        self.name: str = tool["name"]
        schema = tool.get("inputSchema")
        self.schema: dict[str, Any] = schema if is_object(schema) else _OPEN
        annotations = tool.get("annotations")
        self.annotations: dict[str, Any] = annotations if is_object(annotations) else {}
        self.read_only = Hints.of(self.annotations).read_only
        self.careful = not (self.read_only or allow_writes)
        execution = tool.get("execution")
        self.is_task = is_object(execution) and execution.get("taskSupport") == "required"
        self.tree = SchemaTree(self.schema)
        self.values = Values(self.tree, given=given, careful=self.careful)
        self._validator = jsonschema_rs.validator_for(self.schema, validate_formats=True, offline=True)

    def is_valid(self, arguments: Any) -> bool:
        """Tell whether the schema accepts arguments."""
        return self._validator.is_valid(arguments)

    def errors(self, arguments: Any) -> list[jsonschema_rs.ValidationError]:
        """Return all that the schema has against arguments."""
        return list(self._validator.iter_errors(arguments))

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields that the schema knows, at the top."""
        return self.tree.names([self.schema])

    @cached_property
    def shapes(self) -> list[dict[str, Any]]:
        """The shapes that the arguments may have."""
        return shapes(self.schema, self.tree)

    @cached_property
    def bases(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Each shape that valid arguments could be made for, with them."""
        made = ((shape, self.values.arguments(shape, self.is_valid)) for shape in self.shapes)
        return [(shape, arguments) for shape, arguments in made if arguments is not None]

    @cached_property
    def spots(self) -> list[tuple[SchemaPlace, dict[str, Any]]]:
        """Each place once, with valid arguments that have a value there."""
        found: dict[Keys, tuple[SchemaPlace, dict[str, Any]]] = {}
        for shape, base in self.bases:
            for place in places(shape, self.tree):
                filled = self._filled(base, place, found) if place.keys not in found else None
                if filled is not None:
                    found[place.keys] = (place, filled)
        return list(found.values())

    def _filled(
        self, base: dict[str, Any], place: SchemaPlace, before: dict[Keys, tuple[SchemaPlace, dict[str, Any]]]
    ) -> dict[str, Any] | None:
        """Return valid arguments with a value at a place: the base, or what its holder was found in before."""
        if value_at(base, place.keys) is not NOTHING:
            return base
        holder = before.get(place.keys[:-1])
        for value in self.values.candidates(place.schema):
            filled = with_value(base if holder is None else holder[1], place.keys, value)
            if filled is not None and self.is_valid(filled):
                return filled
        return None


class ProbeRow(NamedTuple):
    """A row of the table of probes.

    *keywords* are those of JSON Schema that such a call breaks, *also* those that may break along with them. *writers*
    says how tools that are not read-only are treated: None if it is safe to send, else the reason why not; with
    *needs_required* only for fields that must be sent.
    """

    name: str
    title: str
    draw: Callable[[Subject], Iterator[Draft]]
    keywords: frozenset[str]
    also: frozenset[str] = frozenset()
    writers: str | None = None
    may_be_ignored: bool = False


_WRAPPERS = frozenset(("anyOf", "oneOf"))
_ABSENT = frozenset(("required", "dependentRequired", "dependencies"))


def is_proven(subject: Subject, row: ProbeRow, draft: Draft) -> bool:
    """Tell whether the schema refuses a call, and refuses it for what the row claims and for nothing else.

    What it was made from is valid and differs from it in one place only, so that place alone is to blame.
    """
    errors = subject.errors(draft.arguments)
    if not errors or (draft.base is not None and not subject.is_valid(draft.base)):
        return False
    allowed = row.keywords | row.also | _WRAPPERS
    if any(error.kind.name not in allowed for error in errors):
        return False
    return any(keyword in row.keywords and _speaks_of(where, keyword, draft) for where, keyword in _flat(errors, draft))


def _speaks_of(where: Keys, keyword: str, draft: Draft) -> bool:
    holder = draft.keys[:-1]
    return where == draft.keys or where == holder or (keyword in _ABSENT and where == holder)


def _flat(errors: Iterable["ValidationError"], draft: Draft) -> Iterator[tuple[Keys, str]]:
    for error in errors:
        yield _place_of(error.instance_path, draft), error.kind.name
        for branch in getattr(error.kind, "context", ()):
            yield from _flat(branch, draft)


def _place_of(path: Iterable[str | int], draft: Draft) -> Keys:
    """Return a path with keys as they were sent: jsonschema-rs gives a key that reads like a number as that number."""
    keys: list[str | int] = []
    here: object = draft.arguments
    for step in path:
        key = key_of(here, step)
        keys.append(step if key is None else key)
        here = here[key] if key is not None else None  # type: ignore[index]  # key_of found it there
    return tuple(keys)
