"""`Failure` is complete, checked, immutable, and safe to copy, pickle and compare."""

import copy
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given

import failwell as fw
from failwell.failure import FIELDS, PROBLEM_LENGTHS
from tests.strategies import failures
from tests.vectors import load


def test_a_code_of_the_catalog_makes_a_complete_failure() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="Slow down.")

    assert (failure.type, failure.recoverable, failure.retryable, failure.outcome, failure.kind) == (
        "TRANSIENT",
        True,
        True,
        "not_executed",
        "NetworkError",
    )


@pytest.mark.parametrize(("type_", "recoverable"), load("compact")["default_recoverable"].items())
def test_a_type_alone_gives_the_flags_of_the_contract(type_: Any, recoverable: bool) -> None:
    failure = fw.Failure(type=type_, message="m")

    assert failure.recoverable is recoverable
    assert failure.retryable is (type_ == "TRANSIENT")
    assert failure.outcome == ("unknown" if type_ in ("TRANSIENT", "INTERNAL") else "rejected")


def test_nobody_can_say_whether_a_failure_without_type_and_code_passes() -> None:
    failure = fw.Failure(message="m")

    assert (failure.type, failure.retryable, failure.recoverable) == ("INTERNAL", None, False)


def test_a_flag_that_is_given_stands() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retryable=None, recoverable=False, outcome="executed")

    assert (failure.retryable, failure.recoverable, failure.outcome) == (None, False, "executed")


def test_flags_of_a_code_do_not_apply_under_another_type() -> None:
    failure = fw.Failure(code="RATE_LIMITED", type="NOT_FOUND", message="m")

    assert (failure.retryable, failure.outcome) == (False, "rejected")


@pytest.mark.parametrize(
    ("code", "type_"),
    [
        ("TASK_NOT_FOUND", "NOT_FOUND"),
        ("ProjectNotFound", "NOT_FOUND"),
        ("WORKFLOW_TIMEOUT", "TRANSIENT"),
        ("INVALID_PORT", "VALIDATION"),
        ("InvoiceAlreadyPaid", "CONFLICT"),
        ("APPROVE_PROPOSAL_UNAUTHORIZED", "PERMISSION"),
        ("HITL_REQUIRED", "INTERNAL"),
    ],
)
def test_a_code_without_a_row_takes_the_type_its_words_tell(code: str, type_: str) -> None:
    assert fw.Failure(code=code, message="m").type == type_


def test_a_code_without_a_row_never_takes_the_outcome_of_a_row() -> None:
    assert fw.Failure(code="GITHUB_RATE_LIMITED", message="m").outcome == "unknown"


@pytest.mark.parametrize(
    ("given", "kept"),
    [(30, 30), (30.0, 30), (1.5, 1.5), (0, 0), (-1, None), (float("nan"), None), (float("inf"), None), (2**60, None)],
)
def test_a_delay_is_a_number_of_seconds_or_absent(given: float, kept: float | None) -> None:
    failure = fw.Failure(message="m", retry_after=given)

    assert failure.retry_after == kept
    assert type(failure.retry_after) is type(kept)


MISUSES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"message": ""}, ValueError, "one specific sentence"),
    ({"message": " \n"}, ValueError, "one specific sentence"),
    ({"message": 5}, TypeError, "not 5"),
    ({"type": "NOTFOUND"}, ValueError, "did you mean 'NOT_FOUND'"),
    ({"code": "has space"}, ValueError, "'has space'"),
    ({"code": ""}, ValueError, "white space"),
    ({"code": 7}, TypeError, "not 7"),
    ({"outcome": "unknwn"}, ValueError, "did you mean 'unknown'"),
    ({"severity": "fatal"}, ValueError, "warning, error, critical"),
    ({"origin": "guessed"}, ValueError, "declared, mapped, read, inferred"),
    ({"recoverable": "yes"}, TypeError, "recoverable must be True or False, not 'yes'"),
    ({"retryable": "no"}, TypeError, "retryable must be True, False or None, not 'no'"),
    ({"retry_after": "30"}, TypeError, "number of seconds"),
    ({"retry_after": True}, TypeError, "number of seconds"),
    ({"actions": "list"}, TypeError, "actions must be a list"),
    ({"fields": ["a"]}, TypeError, "FieldProblem"),
    ({"details": [1]}, TypeError, "details must be a dict"),
    ({"extra": [1]}, TypeError, "extra must be a dict"),
    ({"http_status": 7}, ValueError, "from 100 to 599"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), MISUSES, ids=str)
def test_misuse_names_the_value_and_the_choices(wrong: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        fw.Failure(**{"message": "m", **wrong})


def test_it_cannot_be_changed() -> None:
    failure = fw.Failure(message="m")

    with pytest.raises(AttributeError):
        failure.message = "other"  # type: ignore[misc]  # that is the point


@given(failure=failures)
def test_copies_and_pickles_compare_equal(failure: fw.Failure) -> None:
    copies = [copy.copy(failure), copy.deepcopy(failure), pickle.loads(pickle.dumps(failure))]

    assert all(repr(twin) == repr(failure) for twin in copies)


def test_lists_are_taken_where_tuples_are_kept() -> None:
    failure = fw.Failure(message="m", actions=["a"], fields=[fw.FieldProblem(path="p")])  # type: ignore[arg-type]  # as people write it

    assert failure.actions == ("a",)
    assert failure.fields == (fw.FieldProblem(path="p"),)


def test_replacing_the_code_replaces_what_followed_from_it() -> None:
    failure = fw.Failure(code="RATE_LIMITED", message="m", retry_after=3)

    assert failure.replace(code="NOT_FOUND") == fw.Failure(code="NOT_FOUND", message="m", retry_after=3)


def test_replacing_the_type_keeps_what_was_stated() -> None:
    failure = fw.Failure(type="TRANSIENT", message="m", outcome="executed")

    assert failure.replace(type="NOT_FOUND") == fw.Failure(type="NOT_FOUND", message="m", outcome="executed")


def test_problems_of_one_path_are_joined() -> None:
    failure = fw.Failure(
        message="m",
        fields=(
            fw.FieldProblem(path="a", message="too short", expected="3 letters"),
            fw.FieldProblem(path="b", message="bad"),
            fw.FieldProblem(path="a", message="not a name", kind="pattern", sent="x"),
        ),
    )

    assert failure.fields == (
        fw.FieldProblem(path="a", message="too short. not a name", expected="3 letters", kind="pattern", sent="x"),
        fw.FieldProblem(path="b", message="bad"),
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "missing"}, "a is required"),
        ({"kind": "type", "expected": "string"}, "Expected type string"),
        ({"kind": "unknown"}, "Unrecognized key"),
        ({"kind": "other"}, "Invalid value"),
        ({}, "Invalid value"),
    ],
)
def test_a_problem_without_words_gets_some(given: dict[str, Any], message: str) -> None:
    assert fw.FieldProblem(path="a", **given).message == message


def test_null_for_a_required_field_is_a_missing_one() -> None:
    assert fw.FieldProblem(path="a", sent=None, required=True).kind == "missing"
    assert fw.FieldProblem(path="a", kind="missing").sent is None
    assert fw.FieldProblem(path="a").sent is msgspec.UNSET


def test_a_problem_needs_a_path() -> None:
    with pytest.raises(ValueError, match=r"items\[0\]"):
        fw.FieldProblem(path="")


@pytest.mark.table
def test_every_field_has_a_row_in_the_table_of_fields() -> None:
    assert tuple(FIELDS) == fw.Failure.__struct_fields__
    assert {*PROBLEM_LENGTHS, "required"} == set(fw.FieldProblem.__struct_fields__)


_JSON_TYPES: dict[str, set[type]] = {
    "StrType": {str},
    "LiteralType": {str},
    "BoolType": {bool},
    "IntType": {int},
    "FloatType": {int, float},
    "VarTupleType": {list},
    "DictType": {dict},
    "NoneType": {type(None)},
}


@pytest.mark.table
@pytest.mark.parametrize("field", msgspec.inspect.type_info(fw.Failure).fields, ids=lambda field: field.name)
def test_the_json_types_in_the_table_are_those_of_the_field(field: Any) -> None:
    declared = [type(one).__name__ for one in getattr(field.type, "types", [field.type])]
    types = set().union(*(_JSON_TYPES[name] for name in declared))
    # Only of `retryable` does null say something; elsewhere it is the same as nothing.
    expected = types if field.name == "retryable" else types - {type(None)}

    assert set(FIELDS[field.name].json) == expected


@pytest.mark.table
def test_what_follows_from_code_and_type_is_so_in_the_table() -> None:
    follows = {name for name, row in FIELDS.items() if row.open_part == "follows"}

    assert {"type", *follows} == set(fw.codes.derive(None, None)._fields)


@pytest.mark.parametrize("name", [name for name, row in FIELDS.items() if row.redact in ("text", "name")])
def test_a_text_leaves_redacted_and_no_longer_than_its_row_says(name: str) -> None:
    whole = fw.Failure(message="m").replace(**{name: "x " * 1000})
    leak = fw.Failure(message="m").replace(**{name: "see https://ann:s3cret@example.com/"})

    longest = FIELDS[name].longest
    assert longest is not None
    # Blanks at the two ends of a cut go too.
    assert longest - 2 <= len(getattr(fw.dialects.canonical(whole), name)) <= longest
    assert "s3cret" not in getattr(fw.dialects.canonical(leak), name)


@pytest.mark.parametrize("name", [name for name, row in FIELDS.items() if row.json == (str,) and not row.redact])
def test_a_text_that_is_not_redacted_has_a_closed_set_of_values(name: str) -> None:
    with pytest.raises(ValueError, match=f"unknown {name}"):
        fw.Failure(message="m").replace(**{name: "s3cret"})


def test_no_more_items_leave_than_their_rows_say() -> None:
    many = fw.Failure(
        message="m",
        actions=tuple(f"tool_{number}" for number in range(100)),
        fields=tuple(fw.FieldProblem(path=f"field_{number}") for number in range(100)),
    )

    safe = fw.dialects.canonical(many)

    assert (len(safe.actions), len(safe.fields)) == (FIELDS["actions"].most, FIELDS["fields"].most)
