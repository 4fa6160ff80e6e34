"""Check arguments against a JSON Schema with jsonschema-rs: every problem at once, each with what to send instead.

Needs jsonschema-rs: `pip install 'failwell[validation]'`. References are never fetched, formats are checked. Schemas
and arguments may come from anywhere: `BoundedValidator` is the only way to the library, and bounds what it may cost.
"""

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET

from failwell._json import is_array, is_mapping, is_object, members
from failwell._log import log
from failwell.failure import ROOT, Failure, FieldProblem, join_path
from failwell.schema.complexity import DEEPEST, REFERENCES, SchemaGraph, holds_more_than
from failwell.schema.problems import (
    MOST_PROBLEMS,
    Argument,
    format_problem,
    invalid,
    missing_problem,
    nearest_branch,
    option_problem,
    unknown_problem,
    wrong_type_problem,
)
from failwell.schema.tree import SchemaLocation, SchemaTree, closed_names, key_of
from failwell.schema.words import (
    array_in_words,
    counted_in_words,
    members_in_words,
    number_in_words,
    options_of,
    schema_in_words,
    text_in_words,
    types_of,
)

try:
    import jsonschema_rs
    from jsonschema_rs import ValidationError
except ImportError as missing:
    raise ImportError("checking arguments needs jsonschema-rs: pip install 'failwell[validation]'") from missing

__all__ = ["BoundedValidator", "Checker", "check_arguments"]

Schema: TypeAlias = Mapping[str, Any] | bool
"""A JSON Schema as Python values."""

_MOST_CHECKERS = 512
# A step takes some 50 ns where only a yes or no is asked for, ten times as long where steps must be counted first, and
# up to 20 µs where errors are gathered and worded.
MOST_STEPS = 200_000
MOST_STEPS_EXPLAINED = 5_000
_CHEAP = 64  # steps for a value, which cost no more than it took to decode it
# Patterns that look around or back may take quadratic time; nothing else bounds it.
MOST_PATTERNED_VALUES = 256
MOST_PATTERNED_CHARACTERS = 8_192
MOST_BACKTRACKS = 10_000
_LARGEST_PATTERN = 1 << 20  # compiled, in bytes

# What says most about a value comes first, where several problems share a path.
_RANKS = {"missing": 0, "enum": 1, "const": 1, "type": 2, "format": 3}
_JSON = "null, true, false, a number, a string, an array or an object"
_UNEXPLAINED = FieldProblem(path=ROOT, kind="other", message="The arguments do not match the schema")


class BoundedValidator:
    """One compiled schema, evaluated only where that surely takes little time and memory.

    Attributes:
        is_valid: tells whether the schema accepts a value; None if telling would take too long. It raises a ValueError
            for what is not JSON.

    Raises:
        ValueError: the schema is invalid, or too complex to be checked; the message says which part, and why.
    """

    def __init__(self, schema: Any, *, tool: str | None = None) -> None:
        whose = f" of {tool}" if tool else ""
        try:
            graph = SchemaGraph(schema)
        except ValueError as bound:
            raise ValueError(f"invalid schema{whose}: {bound}") from None
        self._validator, self._looks_around = _compiled(schema, whose)
        if graph.unresolved is not None:
            raise ValueError(f"invalid schema{whose}: what {graph.unresolved} refers to is not part of it")
        self._graph = graph
        self._is_careful = self._looks_around or graph.checks_patterns
        self._is_cheap = graph.cost <= _CHEAP and not self._is_careful
        self.is_valid: Callable[[Any], bool | None] = self._validator.is_valid if self._is_cheap else self._judge

    def _judge(self, value: Any) -> bool | None:
        if not self._can_judge(value, MOST_STEPS):
            return None
        found = self._validator.is_valid(value)
        return None if not found and self._looks_around and self._gives_up(value) else found

    def errors(self, value: Any) -> Iterable[ValidationError] | None:
        """Return the errors in a value that is not valid, or the first; None if finding them would take too long.

        Raises:
            ValueError: it is not JSON.
        """
        if self._can_judge(value, MOST_STEPS_EXPLAINED, in_words=True):
            return self._validator.iter_errors(value)
        if self._graph.has_unions or not (self._is_cheap or self._can_judge(value, MOST_STEPS)):
            return None
        try:
            self._validator.validate(value)
        except ValidationError as first:
            return (first,)
        return ()

    def _can_judge(self, value: Any, most_steps: int, *, in_words: bool = False) -> bool:
        if self._graph.recurs and is_deeper_than(value, DEEPEST):
            return False
        if self._is_careful:
            if holds_more_than(value, MOST_PATTERNED_VALUES):
                return False
            if sum(map(len, _texts(value))) > MOST_PATTERNED_CHARACTERS:
                return False
        return self._graph.is_within(value, most_steps, in_words=in_words)

    def _gives_up(self, value: Any) -> bool:
        """Tell whether some pattern may have been given up on some text: then nobody knows what a refusal means."""
        compiled = (_compiled({"pattern": pattern}, "") for pattern in self._graph.patterns)
        patterns = [pattern for pattern, looks_around in compiled if looks_around]
        errors = (error for text in _texts(value) for pattern in patterns for error in pattern.iter_errors(text))
        return any(type(error.kind).__name__ in _UNCHECKED for error in errors)


class Checker:
    """Checks arguments against one schema, compiled once.

    Arguments that the schema does not know are refused, also where it is silent about them. Arguments that cannot be
    judged in a short time are let pass.

    Raises:
        ValueError: the schema is invalid, or too complex to be checked; the message says which part, and why.
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
        refers = any(True for _ in _references(schema))
        if self._names is not None and not refers and is_mapping(schema):
            # Said in the schema it costs nothing. Where references lead to the root, it would hold deeper down too.
            properties = {**dict.fromkeys(self._names, True), **schema["properties"]}
            schema, self._names = {**schema, "properties": properties, "additionalProperties": False}, None
        self._validator = BoundedValidator(schema, tool=tool)
        self._is_valid = self._validator.is_valid if self._names is None else self._is_valid_with_names

    def check(self, arguments: Any) -> Failure | None:
        """Return the failure of a call with these arguments, or None if they are valid."""
        problems = self.problems(arguments)
        return invalid(problems, tool=self.tool, action=self.action) if problems else None

    def accepts(self, arguments: dict[str, Any]) -> bool:
        """Return whether nothing is wrong with these arguments, as far as that can be told in a short time."""
        try:
            return self._is_valid(arguments) is not False
        except BaseException as error:
            if not isinstance(error, ValueError | OverflowError) and not _is_panic(error):
                raise
            return False  # not JSON, or a validator that failed; `problems` tells which

    def problems(self, arguments: Any) -> tuple[FieldProblem, ...]:
        """Return all that is wrong with these arguments; nothing if they are valid. None counts as no arguments."""
        if not is_object(arguments):
            if arguments is not None and not is_mapping(arguments):
                return (wrong_type_problem(Argument((), arguments), ["object"]),)
            arguments = dict(arguments or {})
        try:
            is_valid = self._is_valid(arguments)
            if is_valid:
                return ()
            if not is_deeper_than(arguments, DEEPEST):
                return () if is_valid is None else self._explain(arguments)
        except (ValueError, OverflowError):
            pass
        except BaseException as panic:
            if not _is_panic(panic):
                raise
            log.error("the validator failed on the arguments of tool %s; they were not checked", self.tool)
            return ()
        # Not JSON: keys that are not text, sets, lone surrogates, subclasses, nesting beyond any limit.
        copy, problems = _plain_copy(arguments, DEEPEST)
        return problems or (self._explain(copy) if self._is_valid(copy) is False else ())

    def _is_valid_with_names(self, arguments: dict[str, Any]) -> bool | None:
        if self._names is not None and not arguments.keys() <= self._names:
            return False
        return self._validator.is_valid(arguments)

    def _explain(self, arguments: dict[str, Any]) -> tuple[FieldProblem, ...]:
        """Return what is wrong with arguments that are not valid."""
        problems: tuple[FieldProblem, ...] = ()
        errors = self._validator.errors(arguments)
        try:
            problems = _problems_in(errors or (), arguments, self._tree)
        except Exception:
            log.exception("the problems with some arguments could not be explained")
        if self._names is not None:
            problems += tuple(self._unknown(arguments, self._names))
        return problems[:MOST_PROBLEMS] or (_UNEXPLAINED,)

    def _unknown(self, arguments: dict[str, Any], names: KeysView[str]) -> Iterable[FieldProblem]:
        free = [name for name in names if name not in arguments]
        strange = [name for name in arguments if name not in names]
        return (unknown_problem(Argument((name,), arguments[name]), free) for name in strange[:MOST_PROBLEMS])


_checkers: dict[int, tuple[Any, Checker | ValueError]] = {}
_changing = Lock()


def check_arguments(
    arguments: Any, schema: Schema, *, tool: str | None = None, action: str | None = None
) -> Failure | None:
    """Return the failure of a call with arguments that do not match the schema, or None if they do.

    The compiled schema is remembered for the schema object that was passed, so pass the same one each time, and do
    not change it in place.

    Raises:
        ValueError: the schema is invalid, or too complex to be checked; the message says which part, and why.
        TypeError: the schema is not a dict or a boolean.
    """
    held = _checkers.get(id(schema))
    checker = held[1] if held is not None else _remember(schema, tool)
    if isinstance(checker, ValueError):
        raise ValueError(*checker.args)
    problems = checker.problems(arguments)
    return invalid(problems, tool=tool, action=action) if problems else None


def _remember(schema: Schema, tool: str | None) -> Checker | ValueError:
    checker: Checker | ValueError
    try:
        checker = Checker(schema, tool=tool)
    except ValueError as refused:  # finding that out takes time too
        checker = refused.with_traceback(None)
    with _changing:
        while len(_checkers) >= _MOST_CHECKERS:
            del _checkers[next(iter(_checkers))]
        # Holding the schema keeps its id from being given to another.
        _checkers[id(schema)] = (schema, checker)
    return checker


_LINEAR = jsonschema_rs.RegexOptions(size_limit=_LARGEST_PATTERN, dfa_size_limit=_LARGEST_PATTERN)
_BACKTRACKING = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=MOST_BACKTRACKS, size_limit=_LARGEST_PATTERN, dfa_size_limit=_LARGEST_PATTERN
)


def _is_panic(error: BaseException) -> bool:
    """Tell whether an exception is a bug in Rust, which is raised beside all exceptions and has no class to import."""
    return type(error).__name__ == "PanicException"


def _compiled(schema: Any, whose: str) -> tuple[jsonschema_rs.Validator, bool]:
    """Return a compiled schema, and whether it has patterns that only a backtracking engine can match."""
    for options in (_LINEAR, _BACKTRACKING):
        try:
            validator = jsonschema_rs.validator_for(
                schema, validate_formats=True, offline=True, pattern_options=options
            )
        except (ValueError, RecursionError) as error:
            refused = error
        except BaseException as panic:
            if not _is_panic(panic):
                raise
            raise ValueError(f"invalid schema{whose}: the validator failed on it") from None
        else:
            return validator, options is _BACKTRACKING
    raise ValueError(f"invalid schema{whose}: {_reason(refused, schema)}")


def _reason(error: Exception, schema: Any) -> str:
    """Return which part of a schema is wrong, and why."""
    if not isinstance(error, ValidationError):
        found = _plain_copy(schema, DEEPEST).problems
        return f"{found[0].path}: {found[0].message}" if found else str(error)
    if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        said = error.message
        lost = (where for where, reference in _references(schema) if reference.removeprefix("#") in said)
        return f"{next(lost, '$schema')}: {said}"
    problems = _problems_in([error], schema, SchemaTree({}))
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
                yield join_path((*keys, key)), value
            elif is_mapping(value) or is_array(value):
                waiting.append(((*keys, key), value))


# From errors of jsonschema-rs to field problems: a reader for each keyword.


class SchemaViolation(NamedTuple):
    """One error of the validator, with the place in the arguments and the location in the schema it speaks of."""

    error: ValidationError
    place: Argument
    location: SchemaLocation
    tree: SchemaTree
    arguments: Any

    @property
    def kind(self) -> Any:
        """The error's kind, with the attributes of its keyword."""
        return self.error.kind

    @property
    def keyword(self) -> str | int:
        """The keyword that was violated."""
        return next(reversed(self.error.evaluation_path), "")

    def child(self, name: str) -> Argument:
        """Return the place of a member of the object complained of."""
        sent = self.place.value.get(name, UNSET) if is_object(self.place.value) else UNSET
        return Argument((*self.place.keys, name), sent)


_Reader = Callable[[SchemaViolation], Iterable[FieldProblem]]


def _problems_in(errors: Iterable[ValidationError], arguments: Any, tree: SchemaTree) -> tuple[FieldProblem, ...]:
    """Return what is wrong with the arguments, one problem per path."""
    found = [problem for error in islice(errors, MOST_PROBLEMS) for problem in _read(error, arguments, tree)]
    by_path: dict[str, list[FieldProblem]] = {}
    for problem in found:
        by_path.setdefault(problem.path, []).append(problem)
    return tuple(map(_joined, by_path.values()))[:MOST_PROBLEMS]


def _read(error: ValidationError, arguments: Any, tree: SchemaTree) -> Iterable[FieldProblem]:
    path = error.evaluation_path
    location = tree.locate(path if error.kind.name == "falseSchema" else path[:-1])
    keys, value = _follow(arguments, error)
    violation = SchemaViolation(error, Argument(keys, value, location.required), location, tree, arguments)
    return _READERS.get(error.kind.name, _other)(violation)


def _follow(arguments: Any, error: ValidationError) -> tuple[tuple[str | int, ...], Any]:
    """Return where an error is and what was sent there. jsonschema-rs leaves keys without a letter out of its paths."""
    keys: list[str | int] = []
    for step in error.instance_path:
        key = key_of(arguments, step)
        while key is None and is_object(arguments) and "" in arguments:
            keys.append("")
            arguments = arguments[""]
            key = key_of(arguments, step)
        if key is None:
            return (*keys, step), UNSET
        keys.append(key)
        arguments = arguments[key]
    while is_object(arguments) and "" in arguments and arguments != error.instance:
        keys.append("")
        arguments = arguments[""]
    return tuple(keys), arguments


def _joined(problems: list[FieldProblem]) -> FieldProblem:
    if len(problems) == 1:
        return problems[0]
    problems = sorted(problems, key=lambda problem: _RANKS.get(problem.kind or "", 9))
    first = problems[0]
    kept = [p for p in problems if not _is_implied(p, first)]
    expected = dict.fromkeys(p.expected for p in kept if p.expected)
    values = {name: getattr(first, name) for name in first.__struct_fields__}
    values["message"] = ". ".join(dict.fromkeys(p.message for p in kept))
    values["expected"] = " and ".join(expected) or None
    return FieldProblem(**values)


def _is_implied(problem: FieldProblem, first: FieldProblem) -> bool:
    """Tell whether a problem says nothing beside the first: what is an option is of the right type."""
    return problem is not first and (problem.kind == "unknown" or (problem.kind == "type" and bool(first.options)))


def _required(violation: SchemaViolation) -> Iterator[FieldProblem]:
    name = violation.kind.property
    if violation.child(name).value is not UNSET:
        return  # jsonschema-rs asks for what is required and forbidden, even where it was sent
    known = violation.location.property(name)
    options = options_of(known, violation.tree)
    expected = None if options else schema_in_words(known, violation.tree)
    yield missing_problem(violation.child(name), when=_trigger(violation, name), expected=expected, options=options)


def _trigger(violation: SchemaViolation, name: str) -> str | None:
    """Return the path of the key that makes another one required."""
    rules = violation.location.schema.get(str(violation.keyword))
    if not is_object(rules):
        return None
    keys = (key for key, needed in rules.items() if is_array(needed) and name in needed)
    return next((violation.child(key).path for key in keys if violation.child(key).value is not UNSET), None)


def _type(violation: SchemaViolation) -> Iterator[FieldProblem]:
    yield wrong_type_problem(violation.place, types_of(violation.location.schema) or violation.kind.types)


def _enum(violation: SchemaViolation) -> Iterator[FieldProblem]:
    yield option_problem(violation.place, violation.kind.options)


def _const(violation: SchemaViolation) -> Iterator[FieldProblem]:
    yield option_problem(violation.place, [violation.kind.expected_value], kind="const")


def _format(violation: SchemaViolation) -> Iterator[FieldProblem]:
    yield format_problem(violation.place, violation.kind.format)


def _unknown(violation: SchemaViolation) -> Iterator[FieldProblem]:
    names = violation.tree.names(violation.location.enclosing)
    sent = violation.place.value
    free = [name for name in names if name not in sent]
    # Where another part of the schema fails, jsonschema-rs counts the keys it knows as not evaluated.
    strange = [name for name in violation.kind.unexpected if name not in names] or violation.kind.unexpected
    yield from (unknown_problem(violation.child(name), free) for name in strange[:MOST_PROBLEMS])


def _forbidden(violation: SchemaViolation) -> Iterator[FieldProblem]:
    keys = violation.place.keys
    is_member = bool(keys) and isinstance(keys[-1], str)
    message = "Key is not allowed" if is_member else "Item is not allowed" if keys else "No arguments are allowed"
    yield violation.place.problem("unknown" if is_member else "other", message)


def _limit(kind: str, template: str, words: Callable[[dict[str, Any]], str], noun: str = "") -> _Reader:
    """Return the reader of a keyword that sets a limit."""

    def read(violation: SchemaViolation) -> Iterator[FieldProblem]:
        limit = violation.kind.value
        message = template.format(counted_in_words(limit, noun) if noun else limit)
        yield violation.place.problem(kind, message, expected=words(violation.location.schema))

    return read


def _pattern(violation: SchemaViolation) -> Iterator[FieldProblem]:
    message = f"String must match the pattern '{violation.kind.pattern}'"
    yield violation.place.problem("pattern", message, expected=text_in_words(violation.location.schema))


def _unique(violation: SchemaViolation) -> Iterator[FieldProblem]:
    expected = array_in_words(violation.location.schema)
    yield violation.place.problem("unique", "Array items must be unique", expected=expected)


def _contains(violation: SchemaViolation) -> Iterator[FieldProblem]:
    schema = violation.location.schema
    word, count = ("at most", schema.get("maxContains")) if violation.keyword == "maxContains" else (
        "at least", schema.get("minContains", 1))  # fmt: skip
    words = schema_in_words(schema.get("contains"), violation.tree)
    expected = f"{word} {counted_in_words(count, 'item')}{f' that is {words}' if words else ' of the kind asked for'}"
    yield violation.place.problem("other", f"Array must contain {expected}", expected=expected)


def _too_many_items(violation: SchemaViolation) -> Iterator[FieldProblem]:
    expected = f"an array of at most {counted_in_words(violation.kind.limit, 'item')}"
    message = f"Array must contain at most {counted_in_words(violation.kind.limit, 'item')}"
    yield violation.place.problem("length", message, expected=expected)


def _property_name(violation: SchemaViolation) -> Iterator[FieldProblem]:
    error = violation.kind.error
    place = violation.child(error.instance)
    named = violation._replace(error=error, place=Argument((), error.instance))
    for problem in _READERS.get(error.kind.name, _other)(named):
        message = f"Invalid key. {problem.message}"
        did_you_mean = problem.did_you_mean
        if problem.options and isinstance(error.instance, str):
            unsent = [name for name in problem.options if name not in violation.place.value]
            did_you_mean = unknown_problem(place, map(str, unsent)).did_you_mean
        yield place.problem(
            "unknown", message, expected=problem.expected, options=problem.options, did_you_mean=did_you_mean
        )


def _not(violation: SchemaViolation) -> Iterator[FieldProblem]:
    schema = violation.location.schema.get("not")
    names = schema.get("required") if is_object(schema) and len(schema) == 1 else None
    if names:
        expected: str | None = f"an object without {' and '.join(map(str, names))}"
    else:
        words = schema_in_words(schema, violation.tree)
        expected = f"anything but {words}" if words else None
    yield violation.place.problem("other", "Value is not allowed", expected=expected)


def _union(violation: SchemaViolation) -> Iterable[FieldProblem]:
    branches = [
        [problem for error in errors for problem in _read(error, violation.arguments, violation.tree)]
        for errors in violation.kind.context
    ]
    fitting = [index for index, errors in enumerate(violation.kind.context) if not errors]
    if len(fitting) > 1:
        schemas = violation.location.schema.get(str(violation.keyword), [])
        words = [_label(schema, violation.tree, index) for index, schema in enumerate(schemas) if index in fitting]
        expected = f"exactly one of: {' | '.join(words)}" if words else None
        return [violation.place.problem("union", "Value matches more than one alternative", expected=expected)]
    return nearest_branch(violation.place, branches)


def _label(schema: Any, tree: SchemaTree, index: int) -> str:
    schema = tree.resolved(schema)
    names = schema.get("required")
    with_names = f"with {' and '.join(map(str, names))}" if names else None
    return schema.get("title") or with_names or schema_in_words(schema, tree) or f"alternative {index + 1}"


def _content(violation: SchemaViolation) -> Iterator[FieldProblem]:
    name = violation.kind.value
    yield violation.place.problem("format", f"Invalid {name}", expected=f"text in {name}")


def _other(violation: SchemaViolation) -> Iterator[FieldProblem]:
    yield violation.place.problem("other", "Value is not allowed")


_UNCHECKED = ("BacktrackLimitExceeded", "RegexEngineFailure")
_READERS: dict[str, _Reader] = {
    "required": _required,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "format": _format,
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "falseSchema": _forbidden,
    "minimum": _limit("range", "Number must be at least {}", number_in_words),
    "maximum": _limit("range", "Number must be at most {}", number_in_words),
    "exclusiveMinimum": _limit("range", "Number must be greater than {}", number_in_words),
    "exclusiveMaximum": _limit("range", "Number must be less than {}", number_in_words),
    "multipleOf": _limit("range", "Number must be a multiple of {}", number_in_words),
    "minLength": _limit("length", "String must contain at least {}", text_in_words, "character"),
    "maxLength": _limit("length", "String must contain at most {}", text_in_words, "character"),
    "minItems": _limit("length", "Array must contain at least {}", array_in_words, "item"),
    "maxItems": _limit("length", "Array must contain at most {}", array_in_words, "item"),
    "minProperties": _limit("length", "Object must contain at least {}", members_in_words, "key"),
    "maxProperties": _limit("length", "Object must contain at most {}", members_in_words, "key"),
    "pattern": _pattern,
    "uniqueItems": _unique,
    "contains": _contains,
    "additionalItems": _too_many_items,
    "propertyNames": _property_name,
    "not": _not,
    "anyOf": _union,
    "oneOf": _union,
    "contentEncoding": _content,
    "contentMediaType": _content,
}


# Arguments that JSON cannot hold, or that are too deep or too large to be checked as they are.


class _PlainArguments(NamedTuple):
    """A copy in plain JSON types, and what could not be copied."""

    value: Any
    problems: tuple[FieldProblem, ...]


def _plain_copy(value: Any, deepest: int) -> _PlainArguments:
    """Return a copy of *value* in plain JSON types: subclasses as what they derive from, tuples as arrays."""
    problems: list[FieldProblem] = []
    return _PlainArguments(_copied(value, (), deepest, problems), tuple(problems))


def _copied(value: Any, keys: tuple[str | int, ...], deepest: int, problems: list[FieldProblem]) -> Any:
    if value is None or isinstance(value, bool | float) or len(problems) >= MOST_PROBLEMS:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        if not _is_unicode(value):
            message, expected = "Text holds half of a surrogate pair", "valid Unicode text"
            problems.append(Argument(keys).problem("format", message, expected=expected))
        return str.__str__(value)
    if not is_mapping(value) and not is_array(value):
        problems.append(Argument(keys).problem("type", f"{type(value).__name__} is not a JSON value", expected=_JSON))
        return None
    if len(keys) >= deepest:
        message, expected = f"Nested more than {deepest} levels deep", f"at most {deepest} levels"
        # The path itself would be as long as the value is deep.
        problems.append(Argument(keys[:1]).problem("length", message, expected=expected))
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
            problems.append(Argument(keys).problem("type", message, expected="an object whose keys are strings"))
        elif not _is_unicode(key):
            message, expected = "A key holds half of a surrogate pair", "valid Unicode text"
            problems.append(Argument(keys).problem("format", message, expected=expected))
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


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts and names in a value."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield here
        for key, item in members(here):
            if isinstance(key, str):
                yield key
            waiting.append(item)
