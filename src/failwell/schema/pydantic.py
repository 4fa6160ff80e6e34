"""Field problems from a pydantic `ValidationError`, worded like those of every other validator.

Needs pydantic: `pip install 'failwell[pydantic]'`.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from failwell._json import is_mapping
from failwell._lazy import lazy_pattern
from failwell.failure import Failure, FieldProblem
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
from failwell.schema.tree import key_of
from failwell.schema.words import array_in_words, counted_in_words, members_in_words, number_in_words, text_in_words

try:
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError("this needs pydantic: pip install 'failwell[pydantic]'") from missing


def failure_of(
    exc: ValidationError,
    *,
    arguments: Mapping[str, Any] | None = None,
    names: Iterable[str] = (),
    tool: str | None = None,
    action: str | None = None,
) -> Failure:
    """Return the failure of a call whose arguments pydantic refused. Arguments and names are as in `problems_of`."""
    return invalid(problems_of(exc, arguments=arguments, names=names), tool=tool, action=action)


def problems_of(
    exc: ValidationError, *, arguments: Mapping[str, Any] | None = None, names: Iterable[str] = ()
) -> tuple[FieldProblem, ...]:
    """Return the field problems in a pydantic error, worded as `check_arguments` words them.

    Args:
        exc: what pydantic raised.
        arguments: what was validated. With it, the labels pydantic adds to a path for the branches of a union are
            told from keys, and of a union the problems of its nearest branch are kept.
        names: the arguments that exist, to find the one an unknown argument was meant to be.
    """
    known = tuple(names)
    unions: dict[tuple[str | int, ...], dict[tuple[str | int, ...], list[FieldProblem]]] = {}
    found: list[FieldProblem | tuple[str | int, ...]] = []
    for error in exc.errors(include_url=False)[:MOST_PROBLEMS]:
        located = _locate(error["loc"], arguments, error["type"])
        place = Argument(located.keys, UNSET if error["type"] in _NOT_SENT else error["input"])
        problem = _READERS.get(error["type"], _other)(
            _PydanticError(place, error["msg"], error.get("ctx") or {}, known)
        )
        if located.union is None:
            found.append(problem)
            continue
        if located.union not in unions:
            found.append(located.union)
        unions.setdefault(located.union, {}).setdefault(located.labels, []).append(problem)
    problems: list[FieldProblem] = []
    for item in found:
        problems += [item] if isinstance(item, FieldProblem) else _nearest(item, unions[item], arguments)
    return tuple(problems)


def _nearest(
    keys: tuple[str | int, ...], branches: dict[tuple[str | int, ...], list[FieldProblem]], arguments: Any
) -> list[FieldProblem]:
    value = arguments
    for key in keys:
        value = value[key]
    return nearest_branch(Argument(keys, value), list(branches.values()))


class _Location(NamedTuple):
    keys: tuple[str | int, ...]
    union: tuple[str | int, ...] | None = None
    labels: tuple[str | int, ...] = ()


def _locate(loc: tuple[str | int, ...], arguments: Any, kind: str) -> _Location:
    """Tell the keys in a location from the labels of unions; what comes after a label belongs to its branch."""
    if arguments is None:
        return _Location(tuple(step for step in loc if not _LABEL.search(str(step))))
    keys: list[str | int] = []
    labels: list[str | int] = []
    union: tuple[str | int, ...] | None = None
    value = arguments
    for at, step in enumerate(loc):
        if key_of(value, step) == step:
            keys.append(step)
            value = value[step]
        elif at == len(loc) - 1 and kind in _NOT_SENT:
            keys.append(step)
        elif step != "[key]":
            union = tuple(keys) if union is None else union
            labels.append(step)
    return _Location(tuple(keys), union, tuple(labels))


# Labels such as `list[int]`, `function-after[check(), str]` or `[key]`; a plain one reads like any key.
_LABEL = lazy_pattern(r"[\[\](){}]")
_NOT_SENT = frozenset(
    ("missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument")
)


class _PydanticError(NamedTuple):
    """What pydantic says of one value."""

    place: Argument
    text: str
    context: dict[str, Any]
    names: tuple[str, ...]


_Reader = Callable[[_PydanticError], FieldProblem]


def _missing(error: _PydanticError) -> FieldProblem:
    return missing_problem(error.place)


def _unknown(error: _PydanticError) -> FieldProblem:
    return unknown_problem(error.place, error.names if len(error.place.keys) == 1 else ())


def _type(name: str) -> _Reader:
    return lambda error: wrong_type_problem(error.place, [name])


def _format(name: str) -> _Reader:
    return lambda error: format_problem(error.place, name)


def _limit(kind: str, message: str, words: Callable[[Mapping[str, Any]], str], *limit: str) -> _Reader:
    """Return the reader of an error that has its limit in the context, where *limit* names it here and in schemas."""
    theirs, ours, noun = (*limit, "")[:3]

    def read(error: _PydanticError) -> FieldProblem:
        value = error.context.get(theirs)
        shown = counted_in_words(value, noun) if noun else value
        return error.place.problem(kind, message.format(shown), expected=words({ours: value}))

    return read


def _sized(array: _Reader, mapping: _Reader) -> _Reader:
    return lambda error: (mapping if isinstance(error.place.value, Mapping) else array)(error)


_LEAST, _MOST = "{} must contain at least {{}}", "{} must contain at most {{}}"
_SHORT_TEXT = _limit("length", _LEAST.format("String"), text_in_words, "min_length", "minLength", "character")
_LONG_TEXT = _limit("length", _MOST.format("String"), text_in_words, "max_length", "maxLength", "character")
_SHORT_ARRAY = _limit("length", _LEAST.format("Array"), array_in_words, "min_length", "minItems", "item")
_LONG_ARRAY = _limit("length", _MOST.format("Array"), array_in_words, "max_length", "maxItems", "item")
_SMALL_OBJECT = _limit("length", _LEAST.format("Object"), members_in_words, "min_length", "minProperties", "key")
_LARGE_OBJECT = _limit("length", _MOST.format("Object"), members_in_words, "max_length", "maxProperties", "key")


def _options(error: _PydanticError) -> FieldProblem:
    options = _listed(error.context.get("expected"))
    if not options:
        return _other(error)
    return option_problem(error.place, options, kind="const" if len(options) == 1 else "enum")


def _tag(error: _PydanticError) -> FieldProblem:
    field = str(error.context.get("discriminator", "")).strip("'")
    value = error.place.value.get(field, UNSET) if is_mapping(error.place.value) else UNSET
    place = Argument((*error.place.keys, field), value)
    options = _listed(error.context.get("expected_tags"))
    return option_problem(place, options) if options else missing_problem(place)


def _listed(text: Any) -> list[Any]:
    """Return the values in a text such as `'a', 'b' or 5`."""
    found: list[Any] = []
    for item in re.findall(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,]+""", str(text or "")):
        try:
            found.append(ast.literal_eval(item))
        except (ValueError, SyntaxError):
            continue  # the word "or", or the name of an enum's member
    return found


def _by_author(error: _PydanticError) -> FieldProblem:
    """Return the problem that a validator written by the author states in its own words."""
    text = error.text.partition(", ")[2] or error.text
    if "valid email address" in text:
        return format_problem(error.place, "email")
    is_secret = error.place.keys and error.place.sent is UNSET
    return error.place.problem("other", "Invalid value" if is_secret else text)


def _other(error: _PydanticError) -> FieldProblem:
    # The text of an exception was not written for the caller, and may echo what was sent.
    return error.place.problem("other", "Invalid value" if "error" in error.context else error.text)


_JSON_TYPES = {
    "string": (
        *("string_type", "string_unicode", "bytes_type", "date_type", "time_type", "datetime_type", "time_delta_type"),
        *("url_type", "uuid_type", "json_type"),
    ),
    "integer": ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
    "number": (
        *("float_type", "float_parsing", "decimal_type", "decimal_parsing", "fraction_type", "fraction_parsing"),
        *("complex_type", "complex_str_parsing", "finite_number"),
    ),
    "boolean": ("bool_type", "bool_parsing"),
    "array": (
        *("list_type", "tuple_type", "set_type", "frozen_set_type", "deque_type", "iterable_type", "named_tuple_type"),
    ),
    "object": (
        *("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type", "arguments_type"),
        *("dataclass_exact_type", "frozen_dict_type", "ordered_dict_type", "counter_type"),
    ),
    "null": ("none_required",),
}
_FORMATS = {
    "date": ("date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
    "date-time": ("datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
    "time": ("time_parsing",),
    "duration": ("time_delta_parsing",),
    "uri": ("url_parsing", "url_syntax_violation"),
    "uuid": ("uuid_parsing",),
    "JSON": ("json_invalid",),
}
_READERS: dict[str, _Reader] = {
    **{kind: _type(name) for name, kinds in _JSON_TYPES.items() for kind in kinds},
    **{kind: _format(name) for name, kinds in _FORMATS.items() for kind in kinds},
    **dict.fromkeys(_NOT_SENT, _missing),
    "extra_forbidden": _unknown,
    "unexpected_keyword_argument": _unknown,
    "enum": _options,
    "literal_error": _options,
    "union_tag_invalid": _tag,
    "union_tag_not_found": _tag,
    "value_error": _by_author,
    "assertion_error": _by_author,
    "greater_than": _limit("range", "Number must be greater than {}", number_in_words, "gt", "exclusiveMinimum"),
    "greater_than_equal": _limit("range", "Number must be at least {}", number_in_words, "ge", "minimum"),
    "less_than": _limit("range", "Number must be less than {}", number_in_words, "lt", "exclusiveMaximum"),
    "less_than_equal": _limit("range", "Number must be at most {}", number_in_words, "le", "maximum"),
    "multiple_of": _limit("range", "Number must be a multiple of {}", number_in_words, "multiple_of", "multipleOf"),
    "string_pattern_mismatch": _limit(
        "pattern", "String must match the pattern '{}'", text_in_words, "pattern", "pattern"
    ),
    "string_too_short": _SHORT_TEXT,
    "string_too_long": _LONG_TEXT,
    "url_too_long": _LONG_TEXT,
    "too_short": _sized(_SHORT_ARRAY, _SMALL_OBJECT),
    "too_long": _sized(_LONG_ARRAY, _LARGE_OBJECT),
}
