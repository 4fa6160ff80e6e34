"""Any schema, any arguments: the verdict is jsonschema-rs's, the paths lead somewhere, the advice works."""

import copy
import re
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

import failwell as fw
from failwell.failure import split_path
from failwell.schema.words import FORMATS

NAMES = ("name", "nmae", "limit", "limits", "a.b", "0", "items")
PATTERNS = {"^a+$": "aaa", "^[0-9]{2}$": "42", "x": "x"}
TYPES = {"string": "text", "integer": 3, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}

names = st.sampled_from(NAMES)
scalars = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([1.5, 2.0, True, False, None]),
    st.sampled_from(["", "red", "gren", "blue", "aaa", "42", "5", "user@example.com", "2025-01-31", "long text here"]),
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)


@st.composite
def bounds(draw: st.DrawFn, least: str, most: str, lowest: int = 0, apart: int = 0) -> dict[str, int]:
    low = draw(st.integers(lowest, 4))
    limits = {least: low, most: low + apart + draw(st.integers(0, 4))}
    return {key: limits[key] for key in draw(st.sets(st.sampled_from(sorted(limits)), max_size=2))}


leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from([{"type": name} for name in TYPES]),
    st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3, unique=True).map(lambda types: {"type": types}),
    st.lists(scalars, min_size=1, max_size=4, unique_by=repr).map(lambda options: {"enum": options}),
    st.sampled_from([{"type": "string", "enum": ["red", "green", "blue"]}, {"enum": [f"opt{n}" for n in range(15)]}]),
    scalars.map(lambda value: {"const": value}),
    bounds("minimum", "maximum", -2).map(lambda limits: {"type": "integer", **limits}),
    bounds("exclusiveMinimum", "maximum", -2, apart=1).map(
        lambda limits: {"type": "number", **limits, "multipleOf": 0.5}
    ),
    bounds("minLength", "maxLength").map(lambda limits: {"type": "string", **limits}),
    st.sampled_from(sorted(PATTERNS)).map(lambda pattern: {"type": "string", "pattern": pattern}),
    st.sampled_from(sorted(FORMATS)).map(lambda name: {"type": "string", "format": name}),
    st.sampled_from([{"$ref": "#/$defs/Color"}, {"$ref": "#/$defs/Point"}, {}]),
)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]], *, least: int = 0) -> dict[str, Any]:
    properties = st.dictionaries(names, inner, min_size=least, max_size=3)
    schema: dict[str, Any] = {"type": "object", "properties": draw(properties)}
    if required := draw(st.lists(names, max_size=2, unique=True)):
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.sampled_from([True, False, {"type": "string"}]))
    return schema


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    limits = draw(bounds("minItems", "maxItems"))
    return {"type": "array", "items": draw(inner), "uniqueItems": draw(st.booleans()), **limits}


parts: st.SearchStrategy[dict[str, Any]] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        objects(inner),
        arrays(inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.lists(inner, min_size=1, max_size=2).map(lambda branches: {"oneOf": branches}),
        inner.map(lambda schema: {"not": schema}),
    ),
    max_leaves=6,
)
DEFINITIONS = {
    "Color": {"enum": ["red", "green", "blue"]},
    "Point": {"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]},
}


GUESSES = {
    "string": st.sampled_from(["", "red", "aaa", "42", "user@example.com", "2025-01-31", "long text here"]),
    "integer": st.integers(-3, 12),
    "number": st.sampled_from([-3, 0.25, 0.5, 2.0, 7]),
    "array": st.lists(scalars, max_size=4),
    "object": st.dictionaries(names, scalars, max_size=3),
}


def guesses(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that come near a schema more often than any values do."""
    if "enum" in schema:
        return st.sampled_from([*schema["enum"], "gren", "opt_7"]) | values
    return GUESSES.get(str(schema.get("type")), values) | values


@st.composite
def calls(draw: st.DrawFn, *, contradicting: bool = True) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments and a schema, whose parts may contradict each other."""
    schema = draw(objects(leaves | parts, least=2) | objects(parts)) | {"$defs": DEFINITIONS}
    if draw(st.booleans()):
        schema["dependentRequired"] = {draw(names): [draw(names)]}
    if contradicting and draw(st.booleans()):
        schema["propertyNames"] = draw(st.sampled_from([{"maxLength": 5}, {"enum": ["name", "limit", "items"]}]))
    if contradicting and draw(st.booleans()):
        part = draw(objects(leaves))
        schema |= draw(st.sampled_from([{"anyOf": [part, {"required": ["name"]}]}, {"if": part, "then": part}]))
    value = {name: draw(guesses(part)) for name, part in schema["properties"].items() if draw(st.integers(0, 3))}
    return value | draw(st.just({}) | st.dictionaries(names, values, max_size=2)), schema


def is_valid(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    silent = {"additionalProperties", "anyOf", "if"}.isdisjoint(schema)
    has_unknown = silent and not value.keys() <= {*schema["properties"], *schema.get("required", ())}
    return not has_unknown and jsonschema_rs.validator_for(schema, validate_formats=True, offline=True).is_valid(value)


def found(value: dict[str, Any], schema: dict[str, Any]) -> tuple[fw.FieldProblem, ...]:
    failure = fw.check_arguments(value, schema)
    return failure.fields if failure else ()


@given(calls())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_arguments_fail_exactly_where_jsonschema_rs_says_so(call):
    value, schema = call
    valid = is_valid(value, schema)
    event(f"valid: {valid}")

    assert (fw.check_arguments(value, schema) is None) is valid


def at(value: Any, keys: tuple[str | int, ...]) -> Any:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return UNSET
    return value


@given(calls())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_each_path_is_in_the_arguments_or_missing_from_them(call):
    value, schema = call
    problems = found(value, schema)

    assume(problems)
    assert len({problem.path for problem in problems}) == len(problems)
    for problem in problems:
        keys = split_path(problem.path)
        assert (at(value, keys) is UNSET) is (problem.kind == "missing"), problem
        assert isinstance(at(value, keys[:-1]), dict | list), problem
        if problem.kind != "missing" and keys:
            assert problem.sent == at(value, keys)


@given(calls(contradicting=False))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_following_the_advice_removes_the_problem(call):
    value, schema = call
    advised = [
        (problem, followed) for problem in found(value, schema) if (followed := follow(problem, value)) is not None
    ]

    assume(advised)
    for problem, followed in advised:
        event(f"followed: {problem.kind}")
        after = [(p.path, p.kind) for p in found(followed, schema)]

        assert (problem.path, problem.kind) not in after, (problem, followed)


def follow(problem: fw.FieldProblem, value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments with one problem's advice taken; None if it gives none."""
    value = copy.deepcopy(value)
    *above, last = split_path(problem.path) or (UNSET,)
    holder = at(value, tuple(above))
    if problem.kind == "unknown":
        kept = holder.pop(last)
        if problem.did_you_mean:
            holder[problem.did_you_mean] = kept
        return value
    if problem.did_you_mean:
        advised: Any = problem.did_you_mean
    elif problem.options:
        advised = problem.options[0]
    else:
        advised = value_of(problem.expected) if problem.expected else UNSET
    if advised is UNSET or last is UNSET:
        return None
    holder[last] = advised
    return value


def value_of(words: str) -> Any:
    """Return a value that is what the words of `expected` ask for; UNSET if they only say what it must not be."""
    if words.startswith(("anything but", "exactly one of", "an object with")):
        return UNSET
    if example := re.search(r"\(e\.g\. (.*?)\)(?: or |$)", words):
        return example[1]
    if pattern := re.search(r"matching the pattern '(.*)'", words):
        return PATTERNS[pattern[1]]
    first = re.split(r", | or ", words)[0]
    if first in TYPES:
        return TYPES[first]
    if words.startswith("array of"):
        return []
    if words.startswith(("a string of", "an array of", "an array whose")):
        size = int((re.findall(r"\d+", words) or ["1"])[0])
        return "x" * size if words.startswith("a string") else list(range(size))
    if over := re.search(r"greater than (\S+)", words):
        return float(over[1]) + 0.5
    if limit := re.search(r"(?:from|of at least|of at most) (\S+)", words):
        return int(limit[1])
    return 0 if words.startswith("a number that is a multiple") else UNSET
