import html
import math
import re
import socket
import subprocess
import sys
from types import MappingProxyType

import jsonschema_rs
import pytest
from msgspec import UNSET

import failwell as fw
from failwell.failure import summary
from failwell.schema import validator
from failwell.schema.words import FORMATS


def of(**properties):
    return {"type": "object", "properties": properties}


def problems(arguments, schema):
    failure = fw.check_arguments(arguments, schema)
    return failure.fields if failure else ()


def sentence(arguments, schema):
    """Return what a model reads of the only problem."""
    text = fw.encode(fw.check_arguments(arguments, schema), "xml")["content"][0]["text"]
    [found] = re.findall(r"<field name=[^>]*>(.*)</field>", text, re.DOTALL)
    return html.unescape(found)


PETS = {
    "type": "object",
    "properties": {"pet": {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}},
    "$defs": {
        "Age": {"type": "integer", "minimum": 0},
        "Cat": {
            "type": "object",
            "properties": {"kind": {"const": "cat"}, "age": {"$ref": "#/$defs/Age"}},
            "required": ["kind", "age"],
            "additionalProperties": False,
        },
        "Dog": {
            "type": "object",
            "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}},
            "required": ["kind", "name"],
        },
    },
}


def test_valid_arguments_have_no_failure():
    assert fw.check_arguments({"a": 1}, of(a={"type": "integer"})) is None


def test_all_problems_are_told_at_once():
    schema = {
        **of(email={"type": "string", "format": "email"}, role={"enum": ["admin", "user"]}, age={"type": "integer"}),
        "required": ["age", "email"],
    }

    failure = fw.check_arguments(
        {"email": "bad-email", "role": "superadmin", "agee": 5}, schema, tool="users", action="add"
    )

    fields = (
        fw.FieldProblem(path="age", kind="missing", message="age is required", expected="integer", required=True),
        fw.FieldProblem(
            path="email",
            kind="format",
            message="Invalid email",
            sent="bad-email",
            expected="a valid email address (e.g. user@example.com)",
            required=True,
        ),
        fw.FieldProblem(
            path="role",
            kind="enum",
            message="Invalid enum value. Expected 'admin' | 'user', received 'superadmin'",
            sent="superadmin",
            options=("admin", "user"),
            required=False,
        ),
        fw.FieldProblem(path="agee", kind="unknown", sent=5, options=("age",), did_you_mean="age"),
    )
    assert failure == fw.Failure(
        code="VALIDATION_FAILED", message=summary(fields), fields=fields, tool="users", action="add"
    )


@pytest.mark.parametrize(
    ("arguments", "schema", "expected"),
    [
        ({"a": "x"}, of(a={"type": "integer"}), "Expected integer, received string. You sent: 'x'. Expected: integer."),
        (
            {"a": 1.5},
            of(a={"type": ["string", "integer", "null"]}),
            "Expected string, integer or null, received number. You sent: 1.5. Expected: string, integer or null.",
        ),
        ({"a": None}, of(a={"type": "string"}), "Expected string, received null. You sent: null. Expected: string."),
        ({"a": True}, of(a={"type": "string"}), "Expected string, received boolean. You sent: true. Expected: string."),
        ({"a": []}, of(a={"type": "object"}), "Expected object, received array. You sent: []. Expected: object."),
        (
            {"a": "x"},
            of(a={"const": "y"}),
            "Invalid literal value. Expected 'y', received 'x'. You sent: 'x'. Valid options: 'y'.",
        ),
        (
            {"a": "activ"},
            of(a={"enum": ["open", "active", None, 5]}),
            (
                "Invalid enum value. Expected 'open' | 'active' | null | 5, received 'activ'. You sent: 'activ'. "
                "Valid options: 'open', 'active', null, 5. Did you mean 'active'?"
            ),
        ),
        (
            {"a": {"b": 1}},
            of(a={"enum": ["x"]}),
            """Invalid enum value. Expected 'x', received object. You sent: {"b":1}. Valid options: 'x'.""",
        ),
        (
            {"a": 5},
            of(a={"type": "string", "enum": ["5", "6"]}),
            (
                "Invalid enum value. Expected '5' | '6', received 5. You sent: 5. "
                "Valid options: '5', '6'. Did you mean '5'?"
            ),
        ),
        (
            {"a": 0},
            of(a={"type": "integer", "minimum": 1, "maximum": 100}),
            "Number must be at least 1. You sent: 0. Expected: an integer from 1 to 100.",
        ),
        (
            {"a": 101},
            of(a={"maximum": 100}),
            "Number must be at most 100. You sent: 101. Expected: a number of at most 100.",
        ),
        (
            {"a": 7},
            of(a={"exclusiveMinimum": 0, "exclusiveMaximum": 5, "multipleOf": 2}),
            (
                "Number must be less than 5. Number must be a multiple of 2. You sent: 7. "
                "Expected: a number greater than 0 and less than 5 and that is a multiple of 2."
            ),
        ),
        (
            {"a": 1},
            {"$schema": "http://json-schema.org/draft-04/schema#", **of(a={"minimum": 1, "exclusiveMinimum": True})},
            "Number must be greater than 1. You sent: 1. Expected: a number greater than 1.",
        ),
        (
            {"a": "b"},
            of(a={"minLength": 3, "maxLength": 9, "pattern": "^a"}),
            (
                "String must contain at least 3 characters. String must match the pattern '^a'. You sent: 'b'. "
                "Expected: a string of 3 to 9 characters matching the pattern '^a'."
            ),
        ),
        (
            {"a": "bb"},
            of(a={"maxLength": 1}),
            "String must contain at most 1 character. You sent: 'bb'. Expected: a string of at most 1 character.",
        ),
        (
            {"a": "b"},
            of(a={"minLength": 2, "maxLength": 2}),
            "String must contain at least 2 characters. You sent: 'b'. Expected: a string of exactly 2 characters.",
        ),
        (
            {"a": [1, 1, 2]},
            of(a={"uniqueItems": True, "maxItems": 2}),
            (
                "Array must contain at most 2 items. Array items must be unique. You sent: [1,1,2]. "
                "Expected: an array of at most 2 items that all differ."
            ),
        ),
        (
            {"a": [1, 1]},
            of(a={"uniqueItems": True}),
            "Array items must be unique. You sent: [1,1]. Expected: an array whose items all differ.",
        ),
        (
            {"a": []},
            of(a={"minItems": 1}),
            "Array must contain at least 1 item. You sent: []. Expected: an array of at least 1 item.",
        ),
        (
            {"a": [1]},
            of(a={"contains": {"const": 9}}),
            "Array must contain at least 1 item that is 9. You sent: [1]. Expected: at least 1 item that is 9.",
        ),
        (
            {"a": [9, 9]},
            of(a={"contains": {"const": 9}, "maxContains": 1}),
            "Array must contain at most 1 item that is 9. You sent: [9,9]. Expected: at most 1 item that is 9.",
        ),
        (
            {"a": [5]},
            of(a={"contains": {"properties": {}, "minimum": 9}, "minContains": 2}),
            (
                "Array must contain at least 2 items of the kind asked for. You sent: [5]. "
                "Expected: at least 2 items of the kind asked for."
            ),
        ),
        (
            {"a": {}},
            of(a={"minProperties": 1}),
            "Object must contain at least 1 key. You sent: {}. Expected: an object with at least 1 key.",
        ),
        ({"a": "x"}, of(a={"not": {"const": "x"}}), "Value is not allowed. You sent: 'x'. Expected: anything but 'x'."),
        ({"a": 5}, of(a={"not": {"minimum": 5}}), "Value is not allowed. You sent: 5."),
        ({"a": 1}, {"not": {"required": ["a"]}}, "Value is not allowed. Expected: an object without a."),
        ({"a": 1}, of(a=False), "Key is not allowed."),
        ({"a": [1, 2]}, of(a={"prefixItems": [{}], "items": False}), "Item is not allowed. You sent: 2."),
        ({}, False, "No arguments are allowed."),
        (
            {"a": [1, 2]},
            {"$schema": "http://json-schema.org/draft-07/schema#", **of(a={"items": [{}], "additionalItems": False})},
            "Array must contain at most 1 item. You sent: [1,2]. Expected: an array of at most 1 item.",
        ),
        (
            {"a": "%"},
            {"$schema": "http://json-schema.org/draft-07/schema#", **of(a={"contentEncoding": "base64"})},
            "Invalid base64. You sent: '%'. Expected: text in base64.",
        ),
        ({"a": 1}, {"dependentRequired": {"a": ["b"]}}, "b is required when a is sent."),
        (
            {"a": 1},
            {**of(a={}, b={"enum": ["x"]}), "if": {"required": ["a"]}, "then": {"required": ["b"]}},
            "b is required. Valid options: 'x'.",
        ),
        (
            {},
            {**of(a={"type": "array", "items": {"type": "string"}}), "required": ["a"]},
            "a is required. Expected: array of string.",
        ),
        (
            {},
            {**of(a={"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}), "required": ["a"]},
            "a is required. Expected: a date as YYYY-MM-DD (e.g. 2025-01-31) or null.",
        ),
        (
            {"ab": 1},
            {"propertyNames": {"maxLength": 1}},
            "Invalid key. String must contain at most 1 character. Expected: a string of at most 1 character.",
        ),
        (
            {"naem": 1},
            {"propertyNames": {"enum": ["name", "age"]}},
            (
                "Invalid key. Invalid enum value. Expected 'name' | 'age'. "
                "Valid options: 'name', 'age'. Did you mean 'name'?"
            ),
        ),
        (
            {"a": 1, "b": 2},
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            "Value matches more than one alternative. Expected: exactly one of: with a | with b.",
        ),
        (
            {"items": [{"sku": 1}]},
            of(items={"items": {"properties": {"sku": {"type": "string"}}}}),
            "Expected string, received integer. You sent: 1. Expected: string.",
        ),
    ],
)
def test_a_problem_reads_as_what_is_wrong_what_was_sent_and_what_to_send(arguments, schema, expected):
    assert sentence(arguments, schema) == expected


@pytest.mark.parametrize(("name", "known"), FORMATS.items())
def test_the_example_of_a_format_is_valid_and_its_problem_shows_it(name, known):
    schema = of(a={"type": "string", "format": name})

    (problem,) = problems({"a": "%%{ [^ ("}, schema)

    assert problems({"a": known.example}, schema) == ()
    assert problem.message == f"Invalid {known.label}"
    assert problem.expected == f"{known.words} (e.g. {known.example})"


@pytest.mark.parametrize(
    ("arguments", "schema", "paths"),
    [
        ({"items": [{"sku": 1}]}, of(items={"items": {"properties": {"sku": {"type": "string"}}}}), ["items[0].sku"]),
        ({"a.b": 1}, {"additionalProperties": {"type": "string"}}, ['["a.b"]']),
        ({"0": 1}, {"additionalProperties": {"type": "string"}}, ["0"]),
        ({"007": 1, "a": [1]}, of(**{"007": {"type": "string"}, "a": {"items": {"type": "null"}}}), ["007", "a[0]"]),
        ({"a": {}}, of(a={"required": ["b"]}), ["a.b"]),
        ({"a": {"b": 1}}, of(a={"properties": {}, "additionalProperties": False}), ["a.b"]),
    ],
)
def test_paths_lead_to_the_value_that_is_wrong(arguments, schema, paths):
    assert sorted(problem.path for problem in problems(arguments, schema)) == paths


@pytest.mark.parametrize(
    ("schema", "required"),
    [
        ({**of(a={"type": "string"}), "required": ["a"]}, True),
        (of(a={"type": "string"}), False),
        ({**of(a={"$ref": "#/$defs/T"}), "$defs": {"T": {"type": "string"}}, "required": ["a"]}, True),
        ({"additionalProperties": {"type": "string"}}, None),
        ({"allOf": [{**of(a={"type": "string"}), "required": ["a"]}]}, True),
    ],
)
def test_a_problem_says_whether_the_value_must_be_sent(schema, required):
    (problem,) = problems({"a": 1}, schema)

    assert problem.required is required


class TestUnknownArguments:
    @pytest.mark.parametrize(
        "schema",
        [
            of(a={}),
            of(),
            {**of(a={}), "additionalProperties": False},
            {**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {}}},
            {**of(a={}), "required": ["a"]},
            {**of(a={}), "unevaluatedProperties": False},
        ],
    )
    def test_are_refused_also_where_the_schema_is_silent(self, schema):
        (problem,) = problems({"a": 1, "zzz": 2} if schema["properties"] else {"zzz": 2}, schema)

        assert (problem.path, problem.kind, problem.sent, problem.message) == ("zzz", "unknown", 2, "Unrecognized key")

    @pytest.mark.parametrize(
        "more",
        [
            {"additionalProperties": True},
            {"unevaluatedProperties": True},
            {"patternProperties": {"^y": {}}},
            {"allOf": [{"properties": {"zzz": {}}}]},
            {"anyOf": [{}]},
            {"oneOf": [{}]},
            {"if": {}},
            {"not": {"required": ["q"]}},
            {"dependentSchemas": {}},
            {"$ref": "#/$defs/A", "$defs": {"A": {}}},
        ],
    )
    def test_are_left_to_a_schema_that_speaks_of_them(self, more):
        assert fw.check_arguments({"a": 1, "zzz": 2}, {**of(a={}), **more}) is None

    def test_are_left_to_a_schema_without_properties(self):
        assert fw.check_arguments({"zzz": 2}, {"type": "object"}) is None

    def test_are_not_those_that_are_required(self):
        assert fw.check_arguments({"a": 1, "b": 2}, {**of(a={}), "required": ["b"]}) is None

    def test_are_refused_also_where_they_are_required(self):
        schema = {**of(a={}), "required": ["b"], "additionalProperties": False}

        assert [(problem.path, problem.kind) for problem in problems({"b": 2}, schema)] == [("b", "unknown")]

    def test_are_refused_at_the_top_only(self):
        assert fw.check_arguments({"a": {"zzz": 1}}, of(a={"properties": {"b": {}}})) is None

    def test_are_refused_at_the_top_only_where_the_schema_refers_to_itself(self):
        schema = of(children={"type": "array", "items": {"$ref": "#"}})

        assert fw.check_arguments({"children": [{"zzz": 1}]}, schema) is None
        assert [problem.path for problem in problems({"children": [], "zzz": 1}, schema)] == ["zzz"]

    def test_name_the_argument_that_was_probably_meant(self):
        (problem,) = problems({"user_id": 1, "limt": 2}, of(user_id={}, limit={}, limits={}))

        assert problem == fw.FieldProblem(
            path="limt", kind="unknown", sent=2, options=("limit", "limits"), did_you_mean="limit"
        )

    def test_do_not_suggest_an_argument_that_was_sent_already(self):
        (problem,) = problems({"limit": 1, "limt": 2}, of(limit={}, offset={}))

        assert (problem.did_you_mean, problem.options) == (None, ("offset",))

    def test_list_no_names_where_there_are_more_than_ten(self):
        (problem,) = problems({"zzz": 2}, of(**{f"name{n}": {} for n in range(11)}))

        assert problem.options == ()

    def test_know_the_names_of_every_part_of_the_schema(self):
        schema = {"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": of(query={})}, "unevaluatedProperties": False}

        (problem,) = problems({"qurey": 1}, schema)

        assert (problem.path, problem.did_you_mean) == ("qurey", "query")

    def test_are_told_from_known_ones_that_jsonschema_counts_as_unevaluated(self):
        schema = {"allOf": [of(query={"type": "string"})], "unevaluatedProperties": False}

        found = problems({"query": 1, "zzz": 2}, schema)

        assert [(problem.path, problem.kind) for problem in found] == [("query", "type"), ("zzz", "unknown")]


class TestOptions:
    def test_of_more_than_ten_the_nearest_come_first_and_ten_are_listed(self):
        (problem,) = problems({"a": "value_17"}, of(a={"enum": [f"value{n}" for n in range(30)]}))

        assert problem.options[0] == problem.did_you_mean == "value17"
        assert len(problem.options) == 10
        assert problem.message.startswith("Invalid enum value. Expected 'value17' | ")
        assert problem.message.endswith(" | … (30 in all), received 'value_17'")

    def test_a_long_value_is_cut_in_the_message(self):
        (problem,) = problems({"a": "x" * 1000}, of(a={"enum": ["a"]}))

        assert problem.message == f"Invalid enum value. Expected 'a', received '{'x' * 79}…'"

    def test_in_the_order_of_the_schema(self):
        (problem,) = problems({"a": "?"}, of(a={"enum": ["z", "a", "m"]}))

        assert problem.options == ("z", "a", "m")


class TestUnions:
    @pytest.mark.parametrize(
        ("pet", "expected"),
        [
            ({"kind": "cat", "age": "x"}, {"pet.age": "Expected integer, received string"}),
            ({"kind": "cat", "age": -1}, {"pet.age": "Number must be at least 0"}),
            ({"kind": "cat", "age": 1, "nmae": "x"}, {"pet.nmae": "Unrecognized key"}),
            ({"kind": "dog"}, {"pet.name": "pet.name is required"}),
            (
                {"kind": "caat", "age": "x"},
                {
                    "pet.kind": "Invalid enum value. Expected 'cat' | 'dog', received 'caat'",
                    "pet.age": "Expected integer, received string",
                },
            ),
            ({"kind": "zebra!"}, {"pet.kind": "Invalid enum value. Expected 'cat' | 'dog', received 'zebra!'"}),
            ({}, {"pet.kind": "pet.kind is required"}),
            (5, {"pet": "Expected object, received integer"}),
        ],
    )
    def test_say_what_is_wrong_with_the_nearest_branch(self, pet, expected):
        assert {problem.path: problem.message for problem in problems({"pet": pet}, PETS)} == expected

    def test_name_all_values_of_a_missing_field_that_chooses_the_branch(self):
        (problem,) = problems({"pet": {}}, PETS)

        assert problem == fw.FieldProblem(
            path="pet.kind", kind="missing", message="pet.kind is required", options=("cat", "dog"), required=True
        )

    @pytest.mark.parametrize(
        ("value", "branches", "expected"),
        [
            (5, [{"type": "string"}, {"type": "null"}], "Expected string or null, received integer"),
            (5, [{"type": ["string", "null"]}, {"type": "array"}], "Expected string, null or array, received integer"),
            ("z", [{"enum": ["x", "y"]}, {"type": "null"}], "Invalid enum value. Expected 'x' | 'y', received 'z'"),
            ("z", [{"const": "x"}, {"const": "y"}], "Invalid enum value. Expected 'x' | 'y', received 'z'"),
            ("bad", [{"type": "string", "format": "email"}, {"type": "null"}], "Invalid email"),
            ([1], [{"type": "string"}, {"type": "array", "maxItems": 0}], "Array must contain at most 0 items"),
            (
                "x",
                [{"anyOf": [{"type": "null"}, {"type": "integer"}]}, {"type": "array"}],
                "Expected null, integer or array, received string",
            ),
        ],
    )
    @pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
    def test_of_plain_values_say_all_that_would_do(self, value, branches, expected, keyword):
        (problem,) = problems({"a": value}, of(a={keyword: branches}))

        assert problem.path == "a"
        assert problem.message == expected

    def test_of_the_arguments_themselves_say_the_nearest_branch(self):
        schema = {
            "anyOf": [
                {"required": ["file"], "properties": {"file": {"type": "string"}}},
                {"required": ["url", "method"]},
            ]
        }

        (problem,) = problems({"file": 5}, schema)

        assert (problem.path, problem.message) == ("file", "Expected string, received integer")


class TestSecrets:
    def test_a_value_of_a_secret_field_is_not_echoed(self):
        failure = fw.check_arguments(
            {"password": "hunter2", "auth": {"token": "s3cr3t"}, "api_key": "k-1"},
            of(password={"minLength": 8}, auth={"properties": {"token": {"enum": ["a"]}}}, api_key={"type": "integer"}),
        )

        assert failure is not None
        assert [problem.sent for problem in failure.fields] == [UNSET, UNSET, UNSET]
        assert not any(secret in str(failure) for secret in ("hunter2", "s3cr3t", "k-1"))

    def test_the_arguments_as_a_whole_are_not_echoed(self):
        (problem,) = problems({"password": "hunter2"}, {"minProperties": 2})

        assert (problem.path, problem.sent) == ("(root)", UNSET)


class TestNamelessFields:
    """JSON allows a key without a letter, which the validator leaves out of its paths."""

    @pytest.mark.parametrize(
        ("arguments", "schema", "path"),
        [
            ({"": "x"}, {"properties": {"": {"type": "integer"}}}, '[""]'),
            ({"a": {"": "x"}}, {"properties": {"a": {"properties": {"": {"type": "integer"}}}}}, 'a[""]'),
            ({"": {"b": "x"}}, {"properties": {"": {"properties": {"b": {"type": "integer"}}}}}, '[""].b'),
            ({"": {"": "x"}}, {"properties": {"": {"properties": {"": {"type": "integer"}}}}}, '[""][""]'),
            ({"": {}}, {"properties": {"": {"minProperties": 1}}}, '[""]'),
            ({"": 1}, {"minProperties": 2}, "(root)"),
        ],
    )
    def test_their_problems_are_reported_where_they_are(self, arguments, schema, path):
        (problem,) = problems(arguments, {"type": "object", **schema})

        assert problem.path == path


class _Text(str):
    __slots__ = ()


class _Number(int):
    __slots__ = ()


def _nested(depth):
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def _circular():
    value = {}
    value["a"] = value["b"] = value
    return value


class TestWhatIsNotJson:
    @pytest.mark.parametrize(
        ("arguments", "path", "message"),
        [
            ({1: 2}, "(root)", "A key is of type int; keys must be strings"),
            ({"a": {1: 2}}, "a", "A key is of type int; keys must be strings"),
            ({"a": {1, 2}}, "a", "set is not a JSON value"),
            ({"a": [object()]}, "a[0]", "object is not a JSON value"),
            ({"a": b"x"}, "a", "bytes is not a JSON value"),
            ({"a": "\ud800"}, "a", "Text holds half of a surrogate pair"),
            ({"\ud800": 1}, "(root)", "A key holds half of a surrogate pair"),
            ({"a": math.nan}, "a", "Expected string, received nan"),
            ({"a": math.inf}, "a", "Expected string, received inf"),
            ({"a": 10**5000}, "a", "Expected string, received integer"),
            ({"a": (1, 2)}, "a", "Expected string, received array"),
            ([1], "(root)", "Expected object, received array"),
            ("x", "(root)", "Expected object, received string"),
            (object(), "(root)", "Expected object, received object"),
            (_nested(100_000), "a", "Nested more than 200 levels deep"),
            (_circular(), "a", "Nested more than 200 levels deep"),
        ],
        ids=[str(number) for number in range(16)],
    )
    def test_is_told_and_never_raised(self, arguments, path, message):
        (problem,) = problems(arguments, of(a={"type": "string", "minLength": 2}))

        assert (problem.path, problem.message) == (path, message)

    @pytest.mark.parametrize("make", [lambda: _nested(100_000), _circular])
    def test_too_deep_for_a_recursive_schema_does_not_reach_the_validator(self, make):
        schema = of(a={"$ref": "#"})

        (problem,) = problems(make(), schema)

        assert problem.message == "Nested more than 200 levels deep"
        assert fw.check_arguments(_nested(150), schema) is None

    @pytest.mark.parametrize("arguments", [{"a": _Text("x")}, {_Text("a"): "x"}, MappingProxyType({"a": "x"})])
    def test_but_stands_for_it_counts_as_what_it_stands_for(self, arguments):
        schema = of(a={"type": "string", "maxLength": 1})

        assert fw.check_arguments(arguments, schema) is None
        assert [p.message for p in problems({"a": _Number(5)}, schema)] == ["Expected string, received integer"]

    def test_no_arguments_at_all_are_an_empty_object(self):
        assert fw.check_arguments(None, of(a={})) is None
        assert [problem.path for problem in problems(None, {**of(a={}), "required": ["a"]})] == ["a"]


def test_no_more_than_fifty_problems_are_gathered():
    assert len(problems({"a": ["x"] * 60}, of(a={"items": {"type": "integer"}}))) == 50
    assert len(problems({f"x{n}": 1 for n in range(60)}, of(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": {}}})) == 50


def test_of_very_many_values_the_first_problem_is_told():
    (problem,) = problems({"a": ["x"] * 100_000}, of(a={"items": {"type": "integer"}}))

    assert problem.path == "a[0]"


class TestSchemas:
    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            (
                {"type": "objekt"},
                "type: Invalid enum value. Expected 'array' | 'boolean' | 'integer' | 'null' | 'number' | ",
            ),
            (of(a={"minimum": "x"}), "properties.a.minimum: Expected number, received string"),
            (of(a={"pattern": "("}), "properties.a.pattern: Invalid regular expression"),
            (of(a={"$ref": "#/$defs/Nope"}), "properties.a.$ref: Pointer '/$defs/Nope' does not exist"),
            (
                {"$schema": "http://nowhere.example/schema"},
                "$schema: Unknown meta-schema: 'http://nowhere.example/schema'",
            ),
            (of(a={"default": {1, 2}}), "properties.a.default: set is not a JSON value"),
            ({1: 2}, "(root): A key is of type int; keys must be strings"),
        ],
    )
    def test_that_are_invalid_are_refused_with_the_part_that_is_wrong(self, schema, message):
        with pytest.raises(ValueError, match="invalid schema of users: ") as caught:
            fw.server.Checker(schema, tool="users")

        assert str(caught.value).startswith(f"invalid schema of users: {message}")
        assert type(caught.value) is ValueError
        with pytest.raises(ValueError, match="invalid schema: "):
            fw.check_arguments({}, schema)

    def test_that_hold_themselves_are_refused(self):
        schema = of(a={})
        schema["properties"]["a"] = schema["properties"]["b"] = schema

        with pytest.raises(ValueError, match=r"invalid schema: properties: Nested more than 200 levels deep"):
            fw.server.Checker(schema)

    @pytest.mark.parametrize("schema", [5, "{}", None, [1]])
    def test_that_are_none_are_refused(self, schema):
        with pytest.raises(TypeError, match="schema must be a dict or a boolean, not"):
            fw.server.Checker(schema)

    def test_are_never_fetched_from_the_network(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{closed.getsockname()[1]}/schema.json"

            with pytest.raises(ValueError, match=r"properties\.a\.\$ref: .*Retrieval is disabled"):
                fw.server.Checker(of(a={"$ref": address}))

    def test_are_never_read_from_files(self, tmp_path):
        (tmp_path / "schema.json").write_text('{"type": "integer"}')

        with pytest.raises(ValueError, match=r"properties\.a\.\$ref: .*Retrieval is disabled"):
            fw.server.Checker(of(a={"$ref": (tmp_path / "schema.json").as_uri()}))

    def test_may_be_any_mapping(self):
        assert [problem.path for problem in problems({"b": 1}, MappingProxyType(of(a={})))] == ["b"]

    def test_are_compiled_once_for_each_schema_object(self, monkeypatch):
        compiled = []
        real = jsonschema_rs.validator_for
        monkeypatch.setattr(
            validator.jsonschema_rs, "validator_for", lambda *a, **k: compiled.append(k) or real(*a, **k)
        )
        one, two = of(a={"type": "string"}), of(a={"type": "integer"})

        for _ in range(3):
            assert fw.check_arguments({"a": "x"}, one) is None
            assert fw.check_arguments({"a": 1}, two) is None

        assert [(one["validate_formats"], one["offline"]) for one in compiled] == [(True, True)] * 2

    def test_are_not_taken_for_one_another_when_many_come_and_go(self):
        for number in range(1500):
            assert fw.check_arguments({"a": number}, of(a={"const": number})) is None

        assert len(validator._checkers) <= 512


def test_a_checker_names_its_tool_and_action_in_each_failure():
    checker = fw.server.Checker(of(a={"type": "string"}), tool="users", action="create")

    failure = checker.check({"a": 1})

    assert failure is not None
    assert (failure.tool, failure.action, failure.outcome) == ("users", "create", "not_executed")
    assert checker.check({"a": "x"}) is None


def test_without_jsonschema_rs_the_import_says_what_to_install():
    code = "import sys; sys.modules['jsonschema_rs'] = None; import failwell.schema.validator"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("jsonschema-rs: pip install 'failwell[validation]'")


def test_a_misspelt_name_of_a_secret_does_not_echo_its_value():
    schema = {**of(password={"type": "string"}), "additionalProperties": False}

    (problem,) = problems({"passwrd": "planted"}, schema)

    assert (problem.did_you_mean, problem.sent) == ("password", UNSET)
