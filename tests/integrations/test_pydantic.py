import datetime
import enum
import subprocess
import sys
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

import pytest
from msgspec import UNSET
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, validate_call
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_core._pydantic_core import list_all_errors

from failwell import codes
from failwell.failure import Failure, FieldProblem
from failwell.integrations.pydantic import MCPError, MCPErrorCode, failure_of, problems_of
from failwell.redact.canonical import canonical
from failwell.schema.validator import check_arguments


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Cat(BaseModel):
    kind: Literal["cat"]
    age: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


class Line(BaseModel):
    sku: str
    quantity: Annotated[int, Field(ge=1, le=5)] = 1


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lines: list[Line] = []
    color: Color = Color.RED
    code: Annotated[str, Field(min_length=3, pattern="^a")] = "abc"
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    other: Cat | Dog | None = None
    number: int | list[int] | None = None
    due: datetime.date | None = None
    id: uuid.UUID | None = None
    password: str = ""
    note: str = ""
    tags: Annotated[list[str], Field(max_length=2)] = []
    labels: Annotated[dict[str, int], Field(min_length=1)] = {"a": 1}
    flag: bool = False
    price: Decimal = Decimal(1)

    @field_validator("note", "password")
    @classmethod
    def _is_polite(cls, value: str) -> str:
        if "darn" in value:
            raise ValueError(f"{value} is not polite")
        return value


def refused(model: type[BaseModel], arguments: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(arguments)
    return caught.value


def problems(arguments: dict[str, Any]) -> tuple[FieldProblem, ...]:
    return problems_of(refused(Order, arguments), arguments=arguments, names=Order.model_fields)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            {"lines": [{"quantity": 9}]},
            [
                FieldProblem(path="lines[0].sku", kind="missing", message="lines[0].sku is required", required=True),
                FieldProblem(
                    path="lines[0].quantity",
                    kind="range",
                    message="Number must be at most 5",
                    sent=9,
                    expected="a number of at most 5",
                ),
            ],
        ),
        (
            {"lines": {}},
            [
                FieldProblem(
                    path="lines", kind="type", message="Expected array, received object", sent={}, expected="array"
                )
            ],
        ),
        (
            {"color": "gren"},
            [
                FieldProblem(
                    path="color",
                    kind="enum",
                    message="Invalid enum value. Expected 'red' | 'green', received 'gren'",
                    sent="gren",
                    options=("red", "green"),
                    did_you_mean="green",
                )
            ],
        ),
        (
            {"code": "ab"},
            [
                FieldProblem(
                    path="code",
                    kind="length",
                    message="String must contain at least 3 characters",
                    sent="ab",
                    expected="a string of at least 3 characters",
                )
            ],
        ),
        (
            {"code": "bbb"},
            [
                FieldProblem(
                    path="code",
                    kind="pattern",
                    message="String must match the pattern '^a'",
                    sent="bbb",
                    expected="a string matching the pattern '^a'",
                )
            ],
        ),
        (
            {"tags": ["a", "b", "c"], "labels": {}},
            [
                FieldProblem(
                    path="tags",
                    kind="length",
                    message="Array must contain at most 2 items",
                    sent=["a", "b", "c"],
                    expected="an array of at most 2 items",
                ),
                FieldProblem(
                    path="labels",
                    kind="length",
                    message="Object must contain at least 1 key",
                    sent={},
                    expected="an object with at least 1 key",
                ),
            ],
        ),
        (
            {"due": "tomorrow"},
            [
                FieldProblem(
                    path="due",
                    kind="format",
                    message="Invalid date",
                    sent="tomorrow",
                    expected="a date as YYYY-MM-DD (e.g. 2025-01-31)",
                )
            ],
        ),
        (
            {"flag": "perhaps", "price": "much"},
            [
                FieldProblem(
                    path="flag",
                    kind="type",
                    message="Expected boolean, received string",
                    sent="perhaps",
                    expected="boolean",
                ),
                FieldProblem(
                    path="price",
                    kind="type",
                    message="Expected number, received string",
                    sent="much",
                    expected="number",
                ),
            ],
        ),
        (
            {"colour": "red"},
            [
                FieldProblem(path="colour", kind="unknown", sent="red", did_you_mean="color"),
            ],
        ),
        (
            {"note": "darn it"},
            [FieldProblem(path="note", kind="other", message="darn it is not polite", sent="darn it")],
        ),
    ],
)
def test_problems_read_as_those_of_check_arguments(arguments, expected):
    assert list(problems(arguments)) == expected


def test_the_words_are_those_of_check_arguments():
    class Call(BaseModel):
        model_config = ConfigDict(extra="forbid")
        role: Literal["admin", "user"]
        age: Annotated[int, Field(ge=0)]
        name: str
        when: datetime.datetime

    arguments = {"role": "superadmin", "age": -1, "when": "soon", "nmae": "x"}

    def words(found: Any) -> set[tuple[Any, ...]]:
        return {(p.path, p.kind, p.message, p.sent, p.options, p.did_you_mean) for p in found if p.kind != "unknown"}

    failure = check_arguments(arguments, Call.model_json_schema())

    assert failure is not None
    assert words(failure.fields) == words(problems_of(refused(Call, arguments), arguments=arguments))


class TestUnions:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"pet": {"kind": "cat", "age": "x"}}, {"pet.age": "Expected integer, received string"}),
            (
                {"pet": {"kind": "caat"}},
                {"pet.kind": "Invalid enum value. Expected 'cat' | 'dog', received 'caat'"},
            ),
            ({"pet": {}}, {"pet.kind": "pet.kind is required"}),
            ({"pet": 5}, {"pet": "Expected object, received integer"}),
            ({"other": {"kind": "cat"}}, {"other.age": "other.age is required"}),
            ({"other": {"kind": "dog", "name": 5}}, {"other.name": "Expected string, received integer"}),
            ({"other": 5}, {"other": "Expected object, received integer"}),
            ({"number": "x"}, {"number": "Expected integer or array, received string"}),
            ({"number": [1, "x"]}, {"number[1]": "Expected integer, received string"}),
        ],
    )
    def test_say_the_nearest_branch_without_pydantics_labels(self, arguments, expected):
        assert {problem.path: problem.message for problem in problems(arguments)} == expected

    def test_lose_only_labels_that_cannot_be_keys_where_the_arguments_are_not_known(self):
        exc = refused(Order, {"number": [1, "x"]})

        assert [problem.path for problem in problems_of(exc)] == ["number.int", "number[1]"]

    def test_the_key_of_a_mapping_is_told_by_the_key_itself(self):
        class Call(BaseModel):
            counts: dict[int, int]

        arguments = {"counts": {"x": 1}}

        (problem,) = problems_of(refused(Call, arguments), arguments=arguments)

        assert (problem.path, problem.message) == ("counts.x", "Expected integer, received string")


class TestSecrets:
    def test_are_not_echoed(self):
        arguments = {"password": "darn hunter2"}

        (problem,) = problems(arguments)

        assert problem == FieldProblem(path="password", kind="other", message="Invalid value")
        assert problem.sent is UNSET

    def test_in_the_text_of_somebody_elses_exception_stay_home(self):
        exc = ValidationError.from_exception_data(
            "call",
            [
                InitErrorDetails(
                    type="get_attribute_error", loc=("a",), input=1, ctx={"error": "postgres://u:hunter2@db"}
                )
            ],
        )

        (problem,) = problems_of(exc)

        assert problem == FieldProblem(path="a", kind="other", message="Invalid value", sent=1)


def test_a_custom_error_is_told_in_its_authors_words():
    class Call(BaseModel):
        a: int

        @field_validator("a")
        @classmethod
        def _check(cls, value: int) -> int:
            raise PydanticCustomError("odd", "{n} is odd", {"n": value})

    (problem,) = problems_of(refused(Call, {"a": 3}), arguments={"a": 3})

    assert problem == FieldProblem(path="a", kind="other", message="3 is odd", sent=3)


def test_wrong_arguments_of_a_function_are_told_like_those_of_a_model():
    @validate_call
    def send(to: str, *, urgent: bool) -> None: ...

    with pytest.raises(ValidationError) as caught:
        send(too="x", urgent="perhaps")  # type: ignore[call-arg, arg-type]  # what is tested

    found = {p.path: (p.kind, p.did_you_mean) for p in problems_of(caught.value, names=["to", "urgent"])}
    assert found == {"to": ("missing", None), "too": ("unknown", "to"), "urgent": ("type", None)}


@pytest.mark.parametrize("error", list_all_errors(), ids=lambda error: error["type"])
def test_every_error_of_pydantic_has_words(error):
    by_author = error["type"] in ("value_error", "assertion_error")
    context = {"error": ValueError("bad")} if by_author else error["example_context"] or {}
    details = InitErrorDetails(type=error["type"], loc=("a", "b"), input={"b": 1}, ctx=context)
    exc = ValidationError.from_exception_data("call", [details])

    (problem,) = problems_of(exc)

    assert problem.path.startswith("a.b")
    assert problem.kind in {"missing", "type", "enum", "unknown", "format", "range", "length", "pattern", "other"}
    assert "Input should" not in problem.message or problem.kind == "other"


def test_a_failure_names_its_tool_and_action():
    arguments = {"color": 5}

    failure = failure_of(refused(Order, arguments), arguments=arguments, tool="orders", action="create")

    assert failure == Failure(
        code="VALIDATION_FAILED",
        message="color: Invalid enum value. Expected 'red' | 'green', received 5",
        fields=problems(arguments),
        tool="orders",
        action="create",
    )


def test_no_more_than_fifty_problems_are_gathered():
    assert len(problems({"lines": [{}] * 60})) == 50


class TestMCPError:
    def test_has_the_literals_of_the_catalog(self):
        assert set(get_args(MCPErrorCode)) == {row.flat for row in codes.rows() if row.flat}
        assert len(get_args(MCPErrorCode)) == 8

    def test_says_what_the_flat_dialect_says(self):
        error = MCPError.of(Failure(code="RATE_LIMITED", message="Gmail API rate limit hit", retry_after=60))

        assert error == MCPError(error="rate_limited", message="Gmail API rate limit hit", details={"retry_after": 60})

    def test_without_details_dumps_them_as_none(self):
        error = MCPError.of(Failure(code="NOT_FOUND", message="No such note."))

        assert error.model_dump() == {"error": "not_found", "message": "No such note.", "details": None}

    @pytest.mark.parametrize("row", list(codes.rows()), ids=lambda row: row.code)
    def test_gives_the_failure_back(self, row):
        failure = canonical(Failure(code=row.code, message="It failed.", details={"id": 5}))
        added = {"suggestion": row.suggestion} if row.flat == "auth_required" else {}  # as the contract promises

        assert MCPError.of(failure).failure() == failure.replace(origin="read", **added)

    def test_is_redacted(self):
        error = MCPError.of(Failure(message="cannot reach postgres://admin:hunter2@db/x"))

        assert "hunter2" not in error.model_dump_json()

    def test_made_by_hand_is_a_failure_too(self):
        failure = MCPError(error="auth_required", message="Run auth.py again").failure()

        assert (failure.code, failure.type, failure.origin) == ("UNAUTHORIZED", "PERMISSION", "read")

    def test_takes_no_other_literal(self):
        with pytest.raises(ValidationError, match="literal_error"):
            MCPError(error="kaput", message="x")  # type: ignore[arg-type]  # what is tested


def test_without_pydantic_the_import_says_what_to_install():
    code = "import sys; sys.modules['pydantic'] = None; import failwell.integrations.pydantic"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("this needs pydantic: pip install 'failwell[pydantic]'")
