"""Check arguments against a JSON Schema: every problem at once, each with what to send instead.

Needs jsonschema-rs: `pip install 'failwell[validation]'`. References are never fetched, formats are checked.
"""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from threading import Lock
from typing import Any, TypeAlias

from failwell import paths
from failwell.arguments import wording
from failwell.arguments.json_values import holds_more_than, is_deeper_than, plain
from failwell.arguments.schema_problems import MOST_PROBLEMS, UNEXPLAINED, problems_of
from failwell.arguments.schema_tree import REFERENCES, SchemaTree, closed_names
from failwell.arguments.wording import Place
from failwell.collect import invalid
from failwell.failure import Failure, FieldProblem
from failwell.json_types import is_array, is_mapping, is_object, members

try:
    import jsonschema_rs
except ImportError as missing:
    raise ImportError("checking arguments needs jsonschema-rs: pip install 'failwell[validation]'") from missing

__all__ = ["Checker", "check_arguments"]

# A recursive schema follows the arguments down on the stack; at some 20 000 levels that ends the process.
_DEEPEST = 200
# jsonschema-rs gathers all errors before it gives the first, at 12 µs each.
_MOST_VALUES = 5_000
_MOST_CHECKERS = 512

Schema: TypeAlias = Mapping[str, Any] | bool
"""A JSON Schema as Python values."""


class Checker:
    """Checks arguments against one schema, compiled once.

    Arguments that the schema does not know are refused, also where it is silent about them.

    Raises:
        ValueError: the schema is invalid; the message says which part, and why.
        TypeError: the schema is not a dict or a boolean.
    """

    def __init__(self, schema: Schema, *, tool: str | None = None, action: str | None = None) -> None:
        self.tool = tool
        self.action = action
        if not isinstance(schema, bool):
            if not is_mapping(schema):
                raise TypeError(f"schema must be a dict or a boolean, not {type(schema).__name__}")
            schema = dict(schema)
        self._tree = SchemaTree(schema)
        self._names = closed_names(schema)
        recurs = any(True for _ in _references(schema))
        if self._names is not None and not recurs and is_mapping(schema):
            # Said in the schema it costs nothing. Where references lead to the root, it would hold deeper down too.
            properties = {**dict.fromkeys(self._names, True), **schema["properties"]}
            schema, self._names = {**schema, "properties": properties, "additionalProperties": False}, None
        self._validator = _compiled(schema, tool)
        self._is_valid = self._is_valid_with_care if recurs else self._validator.is_valid

    def check(self, arguments: Any) -> Failure | None:
        """Return the failure of a call with these arguments, or None if they are valid."""
        problems = self.problems(arguments)
        return invalid(problems, tool=self.tool, action=self.action) if problems else None

    def problems(self, arguments: Any) -> tuple[FieldProblem, ...]:
        """Return all that is wrong with these arguments; nothing if they are valid. None counts as no arguments."""
        if not is_object(arguments):
            if arguments is not None and not is_mapping(arguments):
                return (wording.wrong_type(Place((), arguments), ["object"]),)
            arguments = dict(arguments or {})
        try:
            if self._is_valid(arguments):
                return ()
            if not is_deeper_than(arguments, _DEEPEST):
                return self._explain(arguments)
        except (ValueError, OverflowError):
            pass
        # Not JSON: keys that are not text, sets, lone surrogates, subclasses, nesting beyond any limit.
        copy, problems = plain(arguments, _DEEPEST)
        return problems or self._explain(copy)

    def _is_valid_with_care(self, arguments: dict[str, Any]) -> bool:
        if self._names is not None and not arguments.keys() <= self._names:
            return False
        return not is_deeper_than(arguments, _DEEPEST) and self._validator.is_valid(arguments)

    def _explain(self, arguments: dict[str, Any]) -> tuple[FieldProblem, ...]:
        problems = problems_of(self._errors(arguments), arguments, self._tree)
        if self._names is not None:
            problems += tuple(self._unknown(arguments, self._names))
        if not problems and not self._is_valid(arguments):
            return (UNEXPLAINED,)
        return problems[:MOST_PROBLEMS]

    def _errors(self, arguments: dict[str, Any]) -> Iterable[jsonschema_rs.ValidationError]:
        if not holds_more_than(arguments, _MOST_VALUES):
            return self._validator.iter_errors(arguments)
        try:
            self._validator.validate(arguments)
        except jsonschema_rs.ValidationError as first:
            return (first,)
        return ()

    def _unknown(self, arguments: dict[str, Any], names: KeysView[str]) -> Iterable[FieldProblem]:
        free = [name for name in names if name not in arguments]
        strange = [name for name in arguments if name not in names]
        return (wording.unknown(Place((name,), arguments[name]), free) for name in strange[:MOST_PROBLEMS])


_checkers: dict[int, tuple[Any, Checker]] = {}
_changing = Lock()


def check_arguments(
    arguments: Any, schema: Schema, *, tool: str | None = None, action: str | None = None
) -> Failure | None:
    """Return the failure of a call with arguments that do not match the schema, or None if they do.

    The compiled schema is remembered for the schema object that was passed, so pass the same one each time, and do
    not change it in place.

    Raises:
        ValueError: the schema is invalid; the message says which part, and why.
        TypeError: the schema is not a dict or a boolean.
    """
    held = _checkers.get(id(schema))
    checker = held[1] if held is not None else _remember(schema, tool)
    problems = checker.problems(arguments)
    return invalid(problems, tool=tool, action=action) if problems else None


def _remember(schema: Schema, tool: str | None) -> Checker:
    checker = Checker(schema, tool=tool)
    with _changing:
        while len(_checkers) >= _MOST_CHECKERS:
            del _checkers[next(iter(_checkers))]
        # Holding the schema keeps its id from being given to another.
        _checkers[id(schema)] = (schema, checker)
    return checker


def _compiled(schema: Any, tool: str | None) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True, offline=True)
    except (ValueError, RecursionError) as error:
        whose = f" of {tool}" if tool else ""
        raise ValueError(f"invalid schema{whose}: {_reason(error, schema)}") from None


def _reason(error: Exception, schema: Any) -> str:
    """Return which part of a schema is wrong, and why."""
    if not isinstance(error, jsonschema_rs.ValidationError):
        found = plain(schema, _DEEPEST).problems
        return f"{found[0].path}: {found[0].message}" if found else str(error)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        said = error.message
        lost = (where for where, reference in _references(schema) if reference.removeprefix("#") in said)
        return f"{next(lost, '$schema')}: {said}"
    problems = problems_of([error], schema, SchemaTree({}))
    return "; ".join(f"{problem.path}: {problem.message}" for problem in problems)


def _references(schema: Any) -> Iterator[tuple[str, str]]:
    """Yield the path and the value of every reference in a schema."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), schema)]
    seen: set[int] = set()
    while waiting:
        keys, part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        for key, value in members(part):
            if key in REFERENCES and isinstance(value, str):
                yield paths.join((*keys, key)), value
            elif is_mapping(value) or is_array(value):
                waiting.append(((*keys, key), value))
