"""Every generated probe breaks the schema, and breaks exactly what it claims to."""

import copy
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from failwell.check.arguments import NOTHING, Values, value_at
from failwell.check.probes.probe import CheckedTool, Probe, ProposedCall, is_proven
from failwell.check.probes.table import ROWS, make_probes

KEYWORDS = {row.name: row.keywords for row in ROWS}
IMPLIED = {row.name: row.also_breaks | {"anyOf", "oneOf"} for row in ROWS}

leaves = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
              st.integers(0, 5), st.integers(0, 30)),
    st.builds(lambda name: {"type": "string", "format": name}, st.sampled_from(["date", "email", "uuid", "uri"])),
    st.builds(lambda text: {"type": "string", "pattern": text}, st.sampled_from(["^[a-z]+$", r"^\d+$", "^FW-"])),
    st.builds(lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
              st.integers(-5, 5), st.integers(0, 9)),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.integers(-5, 5)),
    st.builds(lambda step: {"type": "integer", "multipleOf": step}, st.integers(1, 9)),
    st.just({"type": "boolean"}),
    st.builds(lambda options: {"enum": options}, st.lists(st.sampled_from(["red", "green", "blue", 3]), min_size=1,
                                                           unique=True)),
    st.builds(lambda value: {"const": value}, st.sampled_from(["circle", "square", 7])),
    st.just({"type": ["string", "null"]}),
    st.just({"type": "integer", "enum": [1, 2], "maximum": 5}),
    st.just({"type": "string", "minLength": 2, "pattern": "^[a-z]+$", "format": "hostname"}),
    st.just({"$ref": "#/$defs/node"}),
)  # fmt: skip
names = st.sampled_from(["name", "size", "items", "pace", "kind"])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def made(properties: dict[str, Any], needed: set[str], is_closed: bool) -> dict[str, Any]:
        required = sorted(needed & properties.keys())
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        return {**schema, "additionalProperties": False} if is_closed else schema

    return st.builds(made, st.dictionaries(names, inner, max_size=3), st.sets(names), st.booleans())


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        objects(inner),
        st.builds(lambda item, least: {"type": "array", "items": item, "minItems": least}, inner, st.integers(0, 2)),
        st.builds(lambda parts: {"anyOf": parts}, lists),
        st.builds(lambda parts: {"oneOf": parts}, lists),
        st.builds(lambda parts: {"allOf": parts}, lists),
    )


parts = st.recursive(leaves, combined, max_leaves=6)
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
    "required": ["name"],
}


def alternatives(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    def chosen(schema: dict[str, Any], kind: str) -> dict[str, Any]:
        properties = {**schema["properties"], "kind": {"const": kind}}
        return {**schema, "properties": properties, "required": sorted({*schema["required"], "kind"})}

    return {"oneOf": [chosen(one, "one"), chosen(two, "two")]}


schemas = st.one_of(
    objects(parts),
    st.builds(lambda one, two: {"allOf": [one, two]}, objects(parts), objects(parts)),
    st.builds(alternatives, objects(leaves), objects(leaves)),
).map(lambda schema: {**schema, "$defs": {"node": NODE}})


def tool_with(schema: dict[str, Any], *, reads: bool = True) -> CheckedTool:
    return CheckedTool({"name": "tool", "inputSchema": schema, "annotations": {"readOnlyHint": reads}})


def broken_keywords(errors: Any) -> Iterator[str]:
    for error in errors:
        yield error.kind.name
        for branch in getattr(error.kind, "context", ()):
            yield from broken_keywords(branch)


def differences(one: Any, two: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(one, dict) and isinstance(two, dict):
        for key in one.keys() | two.keys():
            if key not in one or key not in two:
                yield (*keys, key)
            else:
                yield from differences(one[key], two[key], (*keys, key))
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for index, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from differences(left, right, (*keys, index))
    elif type(one) is not type(two) or one != two:
        yield keys


def mended(probe: Probe, tool: CheckedTool) -> bool:
    """Tell whether there are valid arguments that differ from the probe's only at the place that it claims."""
    valid = [filled for _, filled in tool.filled_fields] + [base for _, base in tool.valid_arguments]
    holder = probe.keys[:-1]
    for base in valid:
        found = set(differences(base, probe.arguments))
        is_there = found == {probe.keys} or (bool(found) and all(keys[: len(holder)] == holder for keys in found))
        if is_there and (probe.row in ("misspelt_field", "empty") or found == {probe.keys}):
            return True
    return False


@given(schemas)
def test_a_probe_is_refused_for_what_it_claims_and_valid_without_it(schema: dict[str, Any]) -> None:
    tool = tool_with(schema)
    validator = jsonschema_rs.validator_for(copy.deepcopy(schema), validate_formats=True, offline=True)

    probes, _ = make_probes(tool)

    assume(probes)
    for probe in probes:
        errors = list(validator.iter_errors(probe.arguments))
        assert errors, probe.id
        assert {error.kind.name for error in errors} <= KEYWORDS[probe.row] | IMPLIED[probe.row], probe.id
        assert KEYWORDS[probe.row] & set(broken_keywords(errors)), probe.id
        assert probe.row == "empty" or mended(probe, tool), probe.id


@given(schemas)
def test_what_is_made_as_valid_arguments_is_valid(schema: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(schema, validate_formats=True, offline=True)

    valid = tool_with(schema).valid_arguments
    assume(valid)
    assert all(validator.is_valid(arguments) for _, arguments in valid)


@given(schemas)
def test_a_writing_tool_only_gets_what_breaks_something_required(schema: dict[str, Any]) -> None:
    tool = tool_with(schema, reads=False)
    probes, _ = make_probes(tool)

    assume(probes)
    assert not any(tool.is_valid(probe.arguments) for probe in probes)
    assert {probe.row for probe in probes}.isdisjoint({"unknown_field", "wrong_format"})


RICH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 2, "maxLength": 40},
        "pace": {"enum": ["quick", "gentle"]},
        "hours": {"type": "integer", "minimum": 1, "maximum": 8},
        "day": {"type": "string", "format": "date"},
        "sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        "order": {"$ref": "#/$defs/order"},
    },
    "required": ["path", "pace"],
    "additionalProperties": False,
    "$defs": {
        "order": {
            "type": "object",
            "properties": {"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}},
            "required": ["lines"],
        },
        "line": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
    },
}


def test_a_rich_schema_gives_every_probe_but_the_discriminator() -> None:
    probes, left_out = make_probes(tool_with(RICH))

    assert {probe.row for probe in probes} == {row.name for row in ROWS} - {"discriminator"}
    assert left_out == []
    assert [probe.field for probe in probes if probe.row == "nested_wrong_type"] == ["order.lines[0].amount"]


BOUNDED = {"type": "object", "properties": {"level": {"type": "integer", "enum": [1, 2], "maximum": 5}}}


@pytest.mark.parametrize(
    ("row", "call", "is_right"),
    [
        ("wrong_type", ProposedCall({"level": "x"}, {"level": 1}, ("level",), ""), True),
        ("wrong_type", ProposedCall({"level": 1}, {"level": 1}, ("level",), ""), False),
        ("wrong_type", ProposedCall({"level": 3}, {"level": 1}, ("level",), ""), False),
        ("wrong_type", ProposedCall({"level": "x"}, {"level": "y"}, ("level",), ""), False),
        ("wrong_type", ProposedCall({"level": "x"}, {"level": 1}, ("elsewhere", "level"), ""), False),
        ("not_listed", ProposedCall({"level": 3}, {"level": 1}, ("level",), ""), True),
        ("not_listed", ProposedCall({"level": 9}, {"level": 1}, ("level",), ""), False),
    ],
    ids=["right", "valid", "another reason", "base is wrong", "another place", "listed", "too much is wrong"],
)
def test_only_what_breaks_exactly_what_it_claims_is_proven(row: str, call: ProposedCall, is_right: bool) -> None:
    [claimed] = [known for known in ROWS if known.name == row]

    assert is_proven(tool_with(BOUNDED), claimed, call) is is_right


def test_alternatives_give_probes_of_their_discriminator() -> None:
    schema = {
        "oneOf": [
            {"type": "object", "properties": {"action": {"const": "list"}}, "required": ["action"]},
            {
                "type": "object",
                "properties": {"action": {"const": "create"}, "title": {"type": "string"}},
                "required": ["action", "title"],
            },
        ]
    }
    probes, _ = make_probes(tool_with(schema))

    found = {probe.id: (probe.arguments, probe.options) for probe in probes if probe.row == "discriminator"}
    assert found == {
        "tool/discriminator/action/missing": ({}, ("list", "create")),
        "tool/discriminator/action/unknown": ({"action": "failwell-probe"}, ("list", "create")),
        "tool/discriminator/action/misspelt": ({"action": "lits"}, ("list", "create")),
    }


def test_a_tool_that_takes_anything_gives_no_probes() -> None:
    assert make_probes(tool_with({"type": "object"})) == ([], [])


def test_a_tool_whose_arguments_cannot_be_made_is_listed() -> None:
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "pattern": "^(?:zq){7}$"}},
        "required": ["key"],
    }
    probes, left_out = make_probes(tool_with(schema))

    assert [probe.row for probe in probes] == ["empty"]
    assert [one.reason for one in left_out] == [
        "no valid arguments could be made from its schema, so only an empty call was made: give them with --values"
    ]


@pytest.mark.parametrize("careful", [False, True])
def test_examples_and_defaults_are_used_only_where_nothing_can_happen(careful: bool) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "examples": ["/etc/passwd"]}},
              "required": ["path"]}  # fmt: skip
    tool = tool_with(schema, reads=not careful)

    [(_, arguments)] = tool.valid_arguments
    assert arguments == {"path": "failwell-probe" if careful else "/etc/passwd"}


def test_given_values_take_part() -> None:
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "pattern": "^(?:zq){7}$"}},
        "required": ["key"],
    }
    tool = CheckedTool({"name": "tool", "inputSchema": schema}, given={"key": "zq" * 7})

    assert [arguments for _, arguments in tool.valid_arguments] == [{"key": "zq" * 7}]


def test_a_value_is_made_for_nothing_that_is_impossible() -> None:
    tool = tool_with({"type": "object"})

    assert Values(tool.tree).value(False) is NOTHING
    assert value_at({}, ("a",)) is NOTHING
