"""Schemas and arguments that would take for ever, take all memory, or make the validator raise."""

import math
import time

import pytest

import failwell as fw
from failwell.schema import validator
from failwell.schema.complexity import MOST_IN_PLACE, MOST_PATTERNS, MOST_SCHEMA_VALUES, SchemaGraph

BACKTRACKING = r"^(a|a?)+\1$"
SLOW_TEXT = "a" * 60 + "b"


def of(**properties):
    return {"type": "object", "properties": properties}


def nested(levels, keyword, leaf, **beside):
    """Return a schema with two branches at each level, as large as it is wide: nothing is shared."""
    if not levels:
        return dict(leaf)
    return {keyword: [nested(levels - 1, keyword, leaf, **beside) for _ in range(2)], **beside}


def chained(levels, keyword, **beside):
    """Return a small schema whose references meet again at each level."""
    defs = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2, **beside} for n in range(levels)}
    return {**of(a={"$ref": "#/$defs/d0"}), "$defs": {**defs, f"d{levels}": {"type": "string"}}}


def unevaluated(levels):
    schema = {"properties": {"a": {"type": "string"}}}
    for _ in range(levels):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def deep(levels, last):
    value = last
    for _ in range(levels):
        value = {"next": value}
    return {"a": value}


TWO_WAYS_DOWN = {
    **of(a={"$ref": "#/$defs/Node"}),
    "$defs": {
        "Node": {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}},
                {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}, "minProperties": 1},
            ]
        }
    },
}
TOO_COMPLEX = {
    "doubling anyOf": of(a=nested(12, "anyOf", {"type": "string"})),
    "doubling oneOf": of(a=nested(12, "oneOf", {"type": "string"})),
    "doubling allOf": of(a=nested(12, "allOf", {"type": "string"})),
    "doubling references": chained(40, "anyOf"),
    "doubling references below each other": chained(4000, "allOf"),
    "what is not evaluated, nested": unevaluated(22),
    "what is not evaluated, by references": {**chained(18, "allOf"), "unevaluatedProperties": False},
    "a reference to itself": {"$ref": "#"},
    "references in a circle": {"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}},
    "many branches": of(a={"anyOf": [{"const": n} for n in range(MOST_IN_PLACE)]}),
    "many objects to compare with": of(a={"enum": [{"n": n} for n in range(MOST_IN_PLACE)]}),
    "many values": of(a={"enum": [f"option {n}" for n in range(MOST_SCHEMA_VALUES)]}),
    "many patterns": of(**{f"p{n}": {"pattern": f"^{n}"} for n in range(MOST_PATTERNS + 1)}),
    "a pattern that takes much memory": of(a={"pattern": r"^(?:.{1,1000}){1,100}$"}),
    "a huge number": of(a={"minimum": 10**5000}),
    "not a number": of(a={"minimum": math.nan}),
    "half a character": of(a={"const": "\ud800"}),
}


class TestSchemasThatAreTooComplex:
    @pytest.mark.parametrize("schema", TOO_COMPLEX.values(), ids=TOO_COMPLEX)
    def test_are_refused_before_they_cost_anything(self, schema):
        before = time.process_time()

        with pytest.raises(ValueError, match="invalid schema of users: "):
            fw.server.Checker(schema, tool="users")

        assert time.process_time() - before < 2

    def test_are_given_up_after_the_stated_number_of_steps_back(self):
        """The validator's own limit is a hundred times as high."""
        schema = of(a={"pattern": r"^(a|a?)+\1$"})

        assert fw.check_arguments({"a": "a" * 14 + "!"}, schema) is None
        assert fw.check_arguments({"a": "a!"}, schema).fields[0].path == "a"

    def test_are_remembered_as_such(self):
        schema = of(a={"enum": list(range(MOST_SCHEMA_VALUES))})
        with pytest.raises(ValueError, match="it holds more than 100,000 values"):
            fw.check_arguments({"a": 1}, schema)
        schema["properties"].clear()

        with pytest.raises(ValueError, match="it holds more than 100,000 values"):
            fw.check_arguments({"a": 1}, schema)

    def test_leave_a_failure_readable(self):
        result = {"isError": True, "content": [{"type": "text", "text": "a must be a string"}]}

        failure = fw.read(result, arguments={"a": 1}, input_schema=TOO_COMPLEX["doubling references"])

        assert failure is not None
        assert failure.type == "VALIDATION"

    @pytest.mark.parametrize("name", ["doubling anyOf", "doubling references", "a reference to itself"])
    def test_are_not_repaired_after(self, name):
        failure = fw.Failure(code="VALIDATION_FAILED", message="a", fields=(fw.FieldProblem(path="a", message="bad"),))

        assert fw.repair(failure, {"a": 1}, TOO_COMPLEX[name]) is None

    @pytest.mark.parametrize(
        "schema",
        [
            of(a={"type": ["string", "null"]}),
            {**of(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}},
            of(a=nested(6, "anyOf", {"type": "string"})),
            {**of(a={"$ref": "#part"}), "$defs": {"A": {"$anchor": "part", "type": "string"}}},
            {
                "$id": "https://a.example/root",
                **of(a={"$ref": "part"}),
                "$defs": {"A": {"$id": "part", "type": "null"}},
            },
            of(a={"enum": [f"option {n}" for n in range(5000)]}),
        ],
    )
    def test_are_not_those_that_people_write(self, schema):
        failure = fw.check_arguments({"a": 1}, schema)

        assert failure is not None
        assert failure.fields[0].path == "a"


class TestArgumentsThatCannotBeJudged:
    @pytest.mark.parametrize(
        ("schema", "arguments"),
        [
            (of(a={"pattern": BACKTRACKING}), {"a": SLOW_TEXT}),
            (of(a={"anyOf": [{"pattern": BACKTRACKING}, {"type": "null"}]}), {"a": SLOW_TEXT}),
            (of(a={"if": {"pattern": BACKTRACKING}, "else": {"maxLength": 1}}), {"a": SLOW_TEXT}),
            (
                {"type": "object", "patternProperties": {BACKTRACKING: {}}, "additionalProperties": False},
                {SLOW_TEXT: 1},
            ),
            (of(a={"pattern": "(?=.*b)c"}), {"a": "a" * 200_000}),
            (of(a={"items": {"pattern": "(?=.*b)c"}}), {"a": ["a" * 5000] * 50}),
            (TWO_WAYS_DOWN, deep(60, 5)),
        ],
        ids=["pattern", "union", "condition", "names", "long text", "many texts", "recursion"],
    )
    def test_pass(self, schema, arguments):
        before = time.process_time()

        assert fw.check_arguments(arguments, schema) is None

        assert time.process_time() - before < 2

    def test_are_still_refused_where_the_pattern_is_quick(self):
        failure = fw.check_arguments({"a": "b"}, of(a={"pattern": BACKTRACKING}))

        assert failure is not None
        assert failure.fields[0].kind == "pattern"

    def test_are_told_to_be_wrong_without_a_reason_if_finding_it_would_take_too_long(self):
        failure = fw.check_arguments(deep(12, 5), TWO_WAYS_DOWN)

        assert failure is not None
        assert [problem.message for problem in failure.fields] == ["The arguments do not match the schema"]

    def test_of_a_recursive_schema_are_judged_by_the_way_they_take(self):
        rule = {
            "anyOf": [
                {"type": "object", "properties": {"not": {"$ref": "#/$defs/Rule"}}, "required": ["not"]},
                {"type": "object", "properties": {"or": {"items": {"$ref": "#/$defs/Rule"}}}, "required": ["or"]},
                {"type": "string"},
            ]
        }
        schema = {**of(a={"$ref": "#/$defs/Rule"}), "$defs": {"Rule": rule}}
        value = "x"
        for _ in range(50):
            value = {"not": value}

        assert fw.check_arguments({"a": value}, schema) is None
        assert fw.check_arguments({"a": {"not": {"or": [5]}}}, schema) is not None

    @pytest.mark.parametrize(
        "value",
        [10**5000, -(10**5000), math.nan, math.inf, -math.inf, "\ud800", 2**200],
        ids=["huge", "tiny", "nan", "inf", "-inf", "surrogate", "big"],
    )
    @pytest.mark.parametrize(
        "part",
        [
            {"minimum": 1, "maximum": 10},
            {"multipleOf": 0.1},
            {"enum": [1, 2]},
            {"const": 1},
            {"type": "integer"},
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "integer", "exclusiveMaximum": 5}]},
            {"not": {"type": "number"}},
        ],
    )
    def test_however_odd_never_raise(self, value, part):
        failure = fw.check_arguments({"a": value, "b": [value]}, of(a=part, b={"items": part}))

        assert failure is None or failure.type == "VALIDATION"
        assert failure is None or fw.encode(failure)["isError"] is True


def test_many_options_and_many_wrong_values_are_told_quickly():
    schema = of(a={"items": {"enum": [f"option {n}" for n in range(50_000)]}})
    before = time.process_time()

    failure = fw.check_arguments({"a": ["x"] * 1000}, schema)

    assert failure is not None
    assert failure.fields[0].path == "a[0]"
    assert time.process_time() - before < 2


@pytest.mark.parametrize("schema", [{"properties": 5, "anyOf": {}}, {"$ref": 5, "items": [1, None]}, {"$defs": []}, 5])
def test_what_is_no_schema_has_little_to_count(schema):
    assert SchemaGraph(schema).cost < 5


class PanicException(BaseException):
    """A bug in the validator."""


class TestAValidatorThatBreaks:
    def test_on_a_schema_refuses_that_schema(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(validator.jsonschema_rs, "validator_for", self._panic)

        with pytest.raises(ValueError, match="invalid schema of users: the validator failed on it"):
            fw.server.Checker(of(a={}), tool="users")

    def test_on_arguments_lets_them_pass(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checker = fw.server.Checker(of(a={"type": "string"}))
        monkeypatch.setattr(checker, "_is_valid", self._panic)

        assert checker.check({"a": 1}) is None

    def test_is_told_from_an_interruption(self, monkeypatch: pytest.MonkeyPatch) -> None:
        checker = fw.server.Checker(of(a={"type": "string"}))
        monkeypatch.setattr(checker, "_is_valid", self._interrupt)

        with pytest.raises(KeyboardInterrupt):
            checker.check({"a": 1})

    @staticmethod
    def _panic(*_, **__):
        raise PanicException("called `Option::unwrap()` on a `None` value")

    @staticmethod
    def _interrupt(*_):
        raise KeyboardInterrupt
