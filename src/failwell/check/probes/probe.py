"""`Probe`: one call that must fail, proven against the schema first; `CheckedTool`: the tool that it is made for."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from failwell._json import is_object
from failwell.advice import Hints
from failwell.check.arguments import NOTHING, Keys, SchemaField, Values, schema_fields, shapes, value_at, with_value
from failwell.failure import join_path
from failwell.schema.tree import SchemaTree, key_of
from failwell.schema.validator import BoundedValidator

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError


# How converters of OpenAPI documents describe the tools that they make.
_HTTP_METHOD = re.compile(
    r"(?:^|[\s(`\[])(?:GET|POST|PUT|PATCH|DELETE)[`\])]? +`?/[\w{}~.-]*"
    r"|^\**(?:Responses|Path Parameters|Query Parameters|Request Body):?\**\s*:?\**\s*$",
    re.MULTILINE,
)
_OPEN: dict[str, Any] = {"type": "object"}


class ProposedCall(NamedTuple):
    """A call that a row of the table proposes, before it is proven that it must fail.

    *base* is valid and differs from *arguments* only at *keys*. *named* are the names that a good error holds,
    *expected* are words one of which says what was expected, *options* what it should list. *required* says whether
    what is wrong must be sent, so that no server can ignore it.
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


class CheckedTool:
    """A tool: its name, its schema, what may be sent to it.

    Raises:
        ValueError: its input schema is invalid.
    """

    def __init__(
        self,
        tool: dict[str, Any],
        *,
        given: dict[str, Any] | None = None,
        allow_writes: bool = False,
        read_only: bool | None = None,
    ) -> None:
        self.name: str = tool["name"]
        schema = tool.get("inputSchema")
        self.schema: dict[str, Any] = schema if is_object(schema) else _OPEN
        annotations = tool.get("annotations")
        self.annotations: dict[str, Any] = annotations if is_object(annotations) else {}
        self.read_only = Hints.of(self.annotations).read_only if read_only is None else read_only
        self.careful = not (self.read_only or allow_writes)
        self.is_passed_on = _HTTP_METHOD.search(str(tool.get("description", ""))) is not None
        execution = tool.get("execution")
        self.is_task = is_object(execution) and execution.get("taskSupport") == "required"
        self.tree = SchemaTree(self.schema)
        self.values = Values(self.tree, given=given, careful=self.careful)
        self._validator = BoundedValidator(self.schema, tool=self.name)

    def is_valid(self, arguments: Any) -> bool:
        """Tell whether the schema accepts arguments, or nobody can say that it does not."""
        return self._validator.is_valid(arguments) is not False

    def errors(self, arguments: Any) -> "list[ValidationError]":
        """Return the errors that the schema finds in arguments."""
        return list(self._validator.errors(arguments) or ())

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields that the schema knows, at the top."""
        return self.tree.names([self.schema])

    @cached_property
    def shapes(self) -> list[dict[str, Any]]:
        """The shapes that the arguments may have."""
        return shapes(self.schema, self.tree)

    @cached_property
    def valid_arguments(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Each shape that valid arguments could be made for, with them."""
        made = ((shape, self.values.arguments(shape, self.is_valid)) for shape in self.shapes)
        return [(shape, arguments) for shape, arguments in made if arguments is not None]

    @cached_property
    def filled_fields(self) -> list[tuple[SchemaField, dict[str, Any]]]:
        """Each field once, with valid arguments that have a value there."""
        found: dict[Keys, tuple[SchemaField, dict[str, Any]]] = {}
        for shape, base in self.valid_arguments:
            for field in schema_fields(shape, self.tree):
                filled = self._filled(base, field, found) if field.keys not in found else None
                if filled is not None:
                    found[field.keys] = (field, filled)
        return list(found.values())

    def _filled(
        self, base: dict[str, Any], field: SchemaField, before: dict[Keys, tuple[SchemaField, dict[str, Any]]]
    ) -> dict[str, Any] | None:
        """Return valid arguments with a value at a field: the base, or what its holder was found in before."""
        if value_at(base, field.keys) is not NOTHING:
            return base
        holder = before.get(field.keys[:-1])
        for value in self.values.candidates(field.schema):
            filled = with_value(base if holder is None else holder[1], field.keys, value)
            if filled is not None and self.is_valid(filled):
                return filled
        return None


class ProbeRow(NamedTuple):
    """A row of the table of probes.

    *propose* makes calls for a tool. *keywords* are those of JSON Schema that such a call breaks, *also_breaks* those
    that may break along with them. *unsafe_reason* says why it is not sent to tools that may change something; None if
    it is safe to send. *may_be_ignored* marks what many servers tolerate on purpose.
    """

    name: str
    title: str
    propose: Callable[[CheckedTool], Iterator[ProposedCall]]
    keywords: frozenset[str]
    also_breaks: frozenset[str] = frozenset()
    unsafe_reason: str | None = None
    may_be_ignored: bool = False


_WRAPPERS = frozenset(("anyOf", "oneOf"))
_ABSENT = frozenset(("required", "dependentRequired", "dependencies"))


def is_proven(tool: CheckedTool, row: ProbeRow, call: ProposedCall) -> bool:
    """Tell whether the schema refuses a call, and refuses it for what the row claims and for nothing else.

    What it was made from is valid and differs from it in one place only, so that place alone is to blame.
    """
    errors = tool.errors(call.arguments)
    if not errors or (call.base is not None and not tool.is_valid(call.base)):
        return False
    allowed = row.keywords | row.also_breaks | _WRAPPERS
    if any(error.kind.name not in allowed for error in errors):
        return False
    return any(
        keyword in row.keywords and _is_about(where, keyword, call) for where, keyword in _all_errors(errors, call)
    )


def _is_about(where: Keys, keyword: str, call: ProposedCall) -> bool:
    holder = call.keys[:-1]
    return where == call.keys or where == holder or (keyword in _ABSENT and where == holder)


def _all_errors(errors: Iterable["ValidationError"], call: ProposedCall) -> Iterator[tuple[Keys, str]]:
    for error in errors:
        yield _keys_sent(error.instance_path, call), error.kind.name
        for branch in getattr(error.kind, "context", ()):
            yield from _all_errors(branch, call)


def _keys_sent(path: Iterable[str | int], call: ProposedCall) -> Keys:
    """Return a path with keys as they were sent: jsonschema-rs gives a key that reads like a number as that number."""
    keys: list[str | int] = []
    here: object = call.arguments
    for step in path:
        key = key_of(here, step)
        keys.append(step if key is None else key)
        here = here[key] if key is not None else None  # type: ignore[index]  # key_of found it there
    return tuple(keys)
