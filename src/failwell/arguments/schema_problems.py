"""Field problems from what jsonschema-rs complains of: one row per keyword."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from failwell.arguments import schema_words, wording
from failwell.arguments.branches import nearest
from failwell.arguments.schema_tree import SchemaTree, Spot, key_of
from failwell.arguments.schema_words import counted
from failwell.arguments.wording import Place
from failwell.failure import ROOT, FieldProblem
from failwell.json_types import is_array, is_object

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

MOST_PROBLEMS = 50

# What says most about a value comes first, where several problems share a path.
_RANKS = {"missing": 0, "enum": 1, "const": 1, "type": 2, "format": 3}


class Complaint(NamedTuple):
    """One error of the validator, with the place in the arguments and the spot in the schema it speaks of."""

    error: "ValidationError"
    place: Place
    spot: Spot
    tree: SchemaTree
    arguments: Any

    @property
    def said(self) -> Any:
        """The error's kind, with the attributes of its keyword."""
        return self.error.kind

    @property
    def keyword(self) -> str | int:
        """The keyword that was violated."""
        return next(reversed(self.error.evaluation_path), "")

    def child(self, name: str) -> Place:
        """Return the place of a member of the object complained of."""
        sent = self.place.value.get(name, UNSET) if is_object(self.place.value) else UNSET
        return Place((*self.place.keys, name), sent)


Reader = Callable[[Complaint], Iterable[FieldProblem]]


def problems_of(errors: Iterable["ValidationError"], arguments: Any, tree: SchemaTree) -> tuple[FieldProblem, ...]:
    """Return what is wrong with the arguments, one problem per path."""
    found = [problem for error in islice(errors, MOST_PROBLEMS) for problem in _read(error, arguments, tree)]
    by_path: dict[str, list[FieldProblem]] = {}
    for problem in found:
        by_path.setdefault(problem.path, []).append(problem)
    return tuple(map(_joined, by_path.values()))[:MOST_PROBLEMS]


def _read(error: "ValidationError", arguments: Any, tree: SchemaTree) -> Iterable[FieldProblem]:
    path = error.evaluation_path
    spot = tree.spot(path if error.kind.name == "falseSchema" else path[:-1])
    keys, value = _follow(arguments, error)
    complaint = Complaint(error, Place(keys, value, spot.required), spot, tree, arguments)
    return _READERS.get(error.kind.name, _other)(complaint)


def _follow(arguments: Any, error: "ValidationError") -> tuple[tuple[str | int, ...], Any]:
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


def _required(complaint: Complaint) -> Iterator[FieldProblem]:
    name = complaint.said.property
    if complaint.child(name).value is not UNSET:
        return  # jsonschema-rs asks for what is required and forbidden, even where it was sent
    known = complaint.spot.property(name)
    options = schema_words.options_of(known, complaint.tree)
    expected = None if options else schema_words.describe(known, complaint.tree)
    yield wording.missing(complaint.child(name), when=_trigger(complaint, name), expected=expected, options=options)


def _trigger(complaint: Complaint, name: str) -> str | None:
    """Return the path of the key that makes another one required."""
    rules = complaint.spot.schema.get(str(complaint.keyword))
    if not is_object(rules):
        return None
    keys = (key for key, needed in rules.items() if is_array(needed) and name in needed)
    return next((complaint.child(key).path for key in keys if complaint.child(key).value is not UNSET), None)


def _type(complaint: Complaint) -> Iterator[FieldProblem]:
    yield wording.wrong_type(complaint.place, schema_words.types_of(complaint.spot.schema) or complaint.said.types)


def _enum(complaint: Complaint) -> Iterator[FieldProblem]:
    yield wording.not_an_option(complaint.place, complaint.said.options)


def _const(complaint: Complaint) -> Iterator[FieldProblem]:
    yield wording.not_an_option(complaint.place, [complaint.said.expected_value], kind="const")


def _format(complaint: Complaint) -> Iterator[FieldProblem]:
    yield wording.wrong_format(complaint.place, complaint.said.format)


def _unknown(complaint: Complaint) -> Iterator[FieldProblem]:
    names = complaint.tree.names(complaint.spot.around)
    sent = complaint.place.value
    free = [name for name in names if name not in sent]
    # Where another part of the schema fails, jsonschema-rs counts the keys it knows as not evaluated.
    strange = [name for name in complaint.said.unexpected if name not in names] or complaint.said.unexpected
    yield from (wording.unknown(complaint.child(name), free) for name in strange[:MOST_PROBLEMS])


def _forbidden(complaint: Complaint) -> Iterator[FieldProblem]:
    keys = complaint.place.keys
    is_member = bool(keys) and isinstance(keys[-1], str)
    message = "Key is not allowed" if is_member else "Item is not allowed" if keys else "No arguments are allowed"
    yield complaint.place.problem("unknown" if is_member else "other", message)


def _limit(kind: str, template: str, words: Callable[[dict[str, Any]], str], noun: str = "") -> Reader:
    """Return the reader of a keyword that sets a limit."""

    def read(complaint: Complaint) -> Iterator[FieldProblem]:
        limit = complaint.said.value
        message = template.format(counted(limit, noun) if noun else limit)
        yield complaint.place.problem(kind, message, expected=words(complaint.spot.schema))

    return read


def _pattern(complaint: Complaint) -> Iterator[FieldProblem]:
    message = f"String must match the pattern '{complaint.said.pattern}'"
    yield complaint.place.problem("pattern", message, expected=schema_words.text(complaint.spot.schema))


def _unique(complaint: Complaint) -> Iterator[FieldProblem]:
    expected = schema_words.array(complaint.spot.schema)
    yield complaint.place.problem("unique", "Array items must be unique", expected=expected)


def _contains(complaint: Complaint) -> Iterator[FieldProblem]:
    schema = complaint.spot.schema
    word, count = ("at most", schema.get("maxContains")) if complaint.keyword == "maxContains" else (
        "at least", schema.get("minContains", 1))  # fmt: skip
    words = schema_words.describe(schema.get("contains"), complaint.tree)
    expected = f"{word} {counted(count, 'item')}{f' that is {words}' if words else ' of the kind asked for'}"
    yield complaint.place.problem("other", f"Array must contain {expected}", expected=expected)


def _too_many_items(complaint: Complaint) -> Iterator[FieldProblem]:
    expected = f"an array of at most {counted(complaint.said.limit, 'item')}"
    message = f"Array must contain at most {counted(complaint.said.limit, 'item')}"
    yield complaint.place.problem("length", message, expected=expected)


def _property_name(complaint: Complaint) -> Iterator[FieldProblem]:
    error = complaint.said.error
    place = complaint.child(error.instance)
    named = Complaint(error, Place((), error.instance), complaint.spot, complaint.tree, complaint.arguments)
    for problem in _READERS.get(error.kind.name, _other)(named):
        message = f"Invalid key. {problem.message}"
        did_you_mean = problem.did_you_mean
        if problem.options and isinstance(error.instance, str):
            unsent = [name for name in problem.options if name not in complaint.place.value]
            did_you_mean = wording.unknown(place, map(str, unsent)).did_you_mean
        yield place.problem(
            "unknown", message, expected=problem.expected, options=problem.options, did_you_mean=did_you_mean
        )


def _not(complaint: Complaint) -> Iterator[FieldProblem]:
    schema = complaint.spot.schema.get("not")
    names = schema.get("required") if is_object(schema) and len(schema) == 1 else None
    if names:
        expected: str | None = f"an object without {' and '.join(map(str, names))}"
    else:
        words = schema_words.describe(schema, complaint.tree)
        expected = f"anything but {words}" if words else None
    yield complaint.place.problem("other", "Value is not allowed", expected=expected)


def _union(complaint: Complaint) -> Iterable[FieldProblem]:
    branches = [
        [problem for error in errors for problem in _read(error, complaint.arguments, complaint.tree)]
        for errors in complaint.said.context
    ]
    fitting = [index for index, errors in enumerate(complaint.said.context) if not errors]
    if len(fitting) > 1:
        schemas = complaint.spot.schema.get(str(complaint.keyword), [])
        words = [_label(schema, complaint.tree, index) for index, schema in enumerate(schemas) if index in fitting]
        expected = f"exactly one of: {' | '.join(words)}" if words else None
        return [complaint.place.problem("union", "Value matches more than one alternative", expected=expected)]
    return nearest(complaint.place, branches)


def _label(schema: Any, tree: SchemaTree, index: int) -> str:
    schema = tree.resolved(schema)
    names = schema.get("required")
    with_names = f"with {' and '.join(map(str, names))}" if names else None
    return schema.get("title") or with_names or schema_words.describe(schema, tree) or f"alternative {index + 1}"


def _content(complaint: Complaint) -> Iterator[FieldProblem]:
    name = complaint.said.value
    yield complaint.place.problem("format", f"Invalid {name}", expected=f"text in {name}")


def _other(complaint: Complaint) -> Iterator[FieldProblem]:
    message = "Value could not be checked" if complaint.said.name in _UNCHECKED else "Value is not allowed"
    yield complaint.place.problem("other", message)


_UNCHECKED = ("backtrackLimitExceeded", "regexEngineFailure")
_READERS: dict[str, Reader] = {
    "required": _required,
    "type": _type,
    "enum": _enum,
    "const": _const,
    "format": _format,
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "falseSchema": _forbidden,
    "minimum": _limit("range", "Number must be at least {}", schema_words.number),
    "maximum": _limit("range", "Number must be at most {}", schema_words.number),
    "exclusiveMinimum": _limit("range", "Number must be greater than {}", schema_words.number),
    "exclusiveMaximum": _limit("range", "Number must be less than {}", schema_words.number),
    "multipleOf": _limit("range", "Number must be a multiple of {}", schema_words.number),
    "minLength": _limit("length", "String must contain at least {}", schema_words.text, "character"),
    "maxLength": _limit("length", "String must contain at most {}", schema_words.text, "character"),
    "minItems": _limit("length", "Array must contain at least {}", schema_words.array, "item"),
    "maxItems": _limit("length", "Array must contain at most {}", schema_words.array, "item"),
    "minProperties": _limit("length", "Object must contain at least {}", schema_words.members, "key"),
    "maxProperties": _limit("length", "Object must contain at most {}", schema_words.members, "key"),
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

UNEXPLAINED = FieldProblem(path=ROOT, kind="other", message="The arguments do not match the schema")
"""What is said when a validator refuses arguments and gives no reason."""
