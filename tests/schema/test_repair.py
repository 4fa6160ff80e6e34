"""Calls mended from the error and the schema alone: what is proposed, and what is left to the caller."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from tests.strategies import json_values

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "max_results": {"type": "integer"},
        "ratio": {"type": "number"},
        "mode": {"enum": ["read-only", "write"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "boolean"},
        "options": {"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": False},
        "when": {"type": "string", "format": "date"},
        "level": {"type": "integer", "minimum": 1},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
}

MENDED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"max_results": "5"}, {"max_results": 5}),
    ({"ratio": "0.5"}, {"ratio": 0.5}),
    ({"deep": "True"}, {"deep": True}),
    ({"deep": "false"}, {"deep": False}),
    ({"mode": "READ_ONLY"}, {"mode": "read-only"}),
    ({"mode": "wrte"}, {"mode": "write"}),
    ({"tags": "x"}, {"tags": ["x"]}),
    ({"tags": '["x", "y"]'}, {"tags": ["x", "y"]}),
    ({"tags": [5]}, {"tags": ["5"]}),
    ({"options": '{"limit": 3}'}, {"options": {"limit": 3}}),
    ({"options": {"limit": "3"}}, {"options": {"limit": 3}}),
    ({"options": {"Limit": 3}}, {"options": {"limit": 3}}),
    ({"when": "2026-1-5"}, {"when": "2026-01-05"}),
    ({"when": " 2026-01-05 "}, {"when": "2026-01-05"}),
    ({"max_results": None}, {}),
    ({"maxResults": 5}, {"max_results": 5}),
    ({"maxResults": "5"}, {"max_results": 5}),
    ({"maybe": "7"}, {"maybe": 7}),
]


def mended(arguments: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> fw.Repair | None:
    failure = fw.check_arguments(arguments, schema)
    assert failure is not None
    return fw.repair(failure, arguments, schema)


@pytest.mark.parametrize(("sent", "meant"), MENDED, ids=[str(sent) for sent, _ in MENDED])
def test_what_the_schema_determines_is_mended(sent: dict[str, Any], meant: dict[str, Any]) -> None:
    found = mended({"path": "a", **sent})

    assert found is not None
    assert found.arguments == {"path": "a", **meant}
    assert found.confidence >= 0.7
    assert fw.check_arguments(found.arguments, SCHEMA) is None


@pytest.mark.parametrize("name", ["Path", "PATH", "file_path", "pth"])
def test_the_only_name_that_can_be_meant_is_used(name: str) -> None:
    found = mended({name: "a"})

    assert found is not None
    assert found.arguments == {"path": "a"}


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"path": "a", "max_results": "many"},
        {"path": "a", "max_results": 2.5},
        {"path": "a", "level": 0},
        {"path": "a", "mode": "delete"},
        {"path": "a", "deep": 1},
        {"path": "a", "options": "{broken"},
        {"path": "a", "when": "soon"},
        {"path": "a", "tags": [["x", "y"]]},
        {"path": None},
        {"path": "a", "max_results": "5", "level": 0},
    ],
    ids=str,
)
def test_no_value_is_invented(sent: dict[str, Any]) -> None:
    assert mended(sent) is None


def test_what_has_no_counterpart_is_left_out_but_not_with_confidence() -> None:
    found = mended({"path": "a", "zzz": 1})

    assert found is not None
    assert (found.arguments, found.confidence < 0.7) == ({"path": "a"}, True)


def test_the_changes_say_what_was_done_and_why() -> None:
    found = mended({"Path": "a", "max_results": "5"})

    assert found is not None
    assert [(change.path, change.before, change.after) for change in found.changes] == [
        ("path", None, "a"),
        ("max_results", "5", 5),
    ]
    assert all(change.reason for change in found.changes)


def test_a_value_that_can_be_only_one_is_given() -> None:
    schema = {"properties": {"kind": {"const": "note"}, "text": {"type": "string"}}, "required": ["kind"]}

    found = mended({"text": "a"}, schema)

    assert found is not None
    assert found.arguments == {"text": "a", "kind": "note"}


def test_a_wrong_discriminator_is_mended() -> None:
    schema = {
        "properties": {
            "action": {
                "oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "create_note"}}, "required": ["kind"]},
                    {"type": "object", "properties": {"kind": {"const": "drop_table"}}, "required": ["kind"]},
                ]
            }
        }
    }

    found = mended({"action": {"kind": "createNote"}}, schema)

    assert found is not None
    assert found.arguments == {"action": {"kind": "create_note"}}


def test_flat_text_is_enough_to_mend_a_call() -> None:
    sent = {"path": "a", "max_results": "5"}
    result = {"content": [{"text": "Input validation error: '5' is not of type 'integer'"}], "isError": True}
    failure = fw.read(result, arguments=sent, input_schema=SCHEMA)
    assert failure is not None

    found = fw.repair(failure, sent, SCHEMA)

    assert found is not None
    assert found.arguments == {"path": "a", "max_results": 5}


def test_two_names_that_are_equally_near_are_not_guessed_between() -> None:
    schema = {
        "properties": {"start_date": {"type": "string"}, "start_data": {"type": "string"}},
        "additionalProperties": False,
    }

    found = mended({"start_dat": "x"}, schema)

    assert found is None or found.confidence < 0.7


@pytest.mark.parametrize("type_", ["NOT_FOUND", "TRANSIENT", "PERMISSION", "CONFLICT", "INTERNAL"])
def test_only_wrong_input_is_mended(type_: Any) -> None:
    assert fw.repair(fw.Failure(type=type_, message="m"), {"max_results": "5"}, SCHEMA) is None


def test_what_was_given_is_not_changed() -> None:
    sent = {"path": "a", "options": {"limit": "3"}, "tags": "x"}
    before = copy.deepcopy(sent)

    assert mended(sent) is not None
    assert sent == before


@given(arguments=json_values, schema=json_values)
def test_nothing_makes_it_raise(arguments: Any, schema: Any) -> None:
    failure = fw.Failure(type="VALIDATION", message="m", fields=(fw.FieldProblem(path="a.b[0]", kind="type"),))

    assert isinstance(fw.repair(failure, arguments, schema), fw.Repair | None)


@given(
    arguments=st.dictionaries(
        st.sampled_from([*SCHEMA["properties"], "Path", "x"]),
        st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.lists(st.integers(), max_size=2)),
        max_size=4,
    )
)
def test_every_proposal_fits_the_schema(arguments: dict[str, Any]) -> None:
    failure = fw.check_arguments(arguments, SCHEMA)
    found = failure and fw.repair(failure, arguments, SCHEMA)

    assert found is None or fw.check_arguments(found.arguments, SCHEMA) is None
