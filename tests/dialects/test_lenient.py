"""Payloads that are nearly right are read as far as they go, and lose nothing."""

import json
from typing import Any

import pytest

import failwell as fw


def read_data(**data: Any) -> fw.Failure:
    found = fw.read(json.dumps({"type": "CONFLICT", "message": "m", "recoverable": True, "data": data}))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("code", "two words"),
        ("code", 5),
        ("retry_after", "soon"),
        ("retry_after", True),
        ("severity", "fatal"),
        ("suggestion", 5),
        ("actions", "list"),
        ("actions", [1, 2]),
        ("fields", "email"),
        ("fields", ["email"]),
        ("fields", [{"name": "email"}]),
        ("id", 7),
        ("http_status", "404"),
        ("http_status", 7),
        ("outcome", "perhaps"),
        ("retryable", "yes"),
        ("kind", ["x"]),
        ("extra", 1),
        ("type", "BANANA"),
        ("details", "text"),
    ],
)
def test_a_value_that_cannot_be_ours_is_a_detail(key: str, value: Any) -> None:
    found = read_data(**{key: value, "other": 1})

    assert found.details == {key: value, "other": 1}
    assert (found.type, found.message) == ("CONFLICT", "m")


def test_a_delay_that_is_no_delay_is_absent() -> None:
    assert read_data(retry_after=-5).retry_after is None


def test_field_problems_are_read_without_what_is_wrong_with_them() -> None:
    found = read_data(
        fields=[{"path": "a", "message": 5, "kind": "type", "options": "x", "required": "yes", "sent": [1]}]
    )

    assert found.fields == (fw.FieldProblem(path="a", kind="type", sent=[1]),)


def test_field_problems_in_good_form_are_read_whole() -> None:
    problem = fw.FieldProblem(path="a", kind="enum", sent="x", options=("y",), required=True, did_you_mean="y")
    found = fw.read(fw.encode(fw.Failure(type="VALIDATION", message="m", fields=(problem,)))["content"][0]["text"])

    assert found is not None
    assert found.fields == (problem,)


def test_details_that_stand_beside_other_keys_are_a_detail_themselves() -> None:
    assert read_data(details={"a": 1}).details == {"a": 1}
    assert read_data(details={"a": 1}, other=2).details == {"details": {"a": 1}, "other": 2}


@pytest.mark.parametrize("message", ["", "   "])
def test_an_empty_message_is_replaced_by_the_codes_own(message: str) -> None:
    found = fw.read(json.dumps({"type": "CONFLICT", "message": message, "data": {"code": "LOCKED"}}))

    assert found is not None
    assert found.message == "It is locked."


def test_an_empty_message_leaves_nothing_behind() -> None:
    found = fw.read('<tool_error code="NOT_FOUND"><message></message></tool_error>')

    assert found is not None
    assert (found.message, found.details) == ("It does not exist.", {})


def whole(**values: Any) -> fw.Failure:
    meta = {"dev.failwell/failure": {"v": 1, "message": "m", **values}}
    found = fw.read({"content": [], "isError": True, "_meta": meta})
    assert found is not None
    return found


def test_our_own_form_is_read_as_far_as_it_is_in_order() -> None:
    found = whole(type="NOT_FOUND", outcome="perhaps", details={"a": 1}, origin="mapped", confidence=0.5, actions=5)

    assert (found.type, found.outcome, found.origin, found.confidence) == ("NOT_FOUND", "rejected", "mapped", 0.5)
    assert found.details == {"a": 1, "outcome": "perhaps"}


def test_our_own_form_with_a_strange_origin_was_read() -> None:
    assert whole(origin="dreamt", confidence=True).origin == "read"
    assert whole(origin="inferred", confidence="high", outcome=5).confidence is None


@pytest.mark.parametrize("value", [None, 5, "text", {}, {"v": 1}, {"message": 5}])
def test_what_is_not_our_form_is_passed_over(value: Any) -> None:
    found = fw.read({"content": [{"text": "t"}], "isError": True, "_meta": {"dev.failwell/failure": value}})

    assert found is not None
    assert found.message == "t"


def envelope(**payload: Any) -> fw.Failure:
    found = fw.read(json.dumps({"success": False, "error_code": "X_Y", "message": "m", **payload}))
    assert found is not None
    return found


def test_required_fields_alone_are_missing_fields() -> None:
    found = envelope(required_fields=["a", 5, ""])

    assert found.fields == (fw.FieldProblem(path="a", kind="missing", required=True),)


def test_field_errors_that_are_texts_or_no_object_are_read() -> None:
    assert envelope(details={"validation_errors": {"a": "too short"}}).fields == (
        fw.FieldProblem(path="a", message="too short"),
    )
    assert envelope(details={"validation_errors": ["a"]}).fields == ()


def test_the_older_name_of_a_fields_kind_is_read() -> None:
    found = envelope(details={"all_errors": {"a": {"value": 1, "message": "m", "type": "range"}}})

    assert found.fields == (fw.FieldProblem(path="a", sent=1, message="m", kind="range"),)


@pytest.mark.parametrize(
    ("status", "type_"),
    [(404, "NOT_FOUND"), (409, "CONFLICT"), (403, "PERMISSION"), (503, "TRANSIENT"), (500, "INTERNAL")],
)
def test_a_status_tells_the_type_of_a_code_nobody_knows(status: int, type_: str) -> None:
    found = envelope(code=status)

    assert (found.type, found.http_status) == (type_, status)
    assert found.retryable is (None if status == 500 else type_ == "TRANSIENT")


def test_an_envelope_with_a_type_of_its_own_is_an_envelope() -> None:
    found = fw.read(
        json.dumps({"success": False, "error_code": "RATE_LIMITED", "message": "m", "code": 429, "type": "INTERNAL"})
    )

    assert found is not None
    assert found.code == "RATE_LIMITED"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<tool_error>just text</tool_error>", ("just text", None)),
        ("<tool_error code='X'></tool_error>", ("The tool failed unexpectedly.", "X")),
        ('<?xml version="1.0"?>\n<tool_error code="X"><message>m</message></tool_error>\n', ("m", "X")),
        ("<tool_error code='two words'><message>m</message></tool_error>", ("m", None)),
    ],
)
def test_xml_is_read_in_every_dress(text: str, expected: tuple[str, str | None]) -> None:
    found = fw.read(text)

    assert found is not None
    assert (found.message, found.code) == expected


@pytest.mark.parametrize(
    "text",
    ["<tool_error><message>m</message>", "<validation_error></validation_error>", "<other>m</other>", "<tool_error/>"],
)
def test_xml_that_is_broken_or_something_else_is_flat_text(text: str) -> None:
    found = fw.read({"content": [{"text": text}], "isError": True})

    assert found is not None
    assert found.origin == "inferred"


def test_xml_elements_nobody_knows_stand_again_where_they_stood() -> None:
    found = fw.read("<tool_error><message>m</message><trace>t&amp;u</trace></tool_error>")

    assert found is not None
    assert found.extra == {"trace": "t&u"}
    assert "  <trace>t&amp;u</trace>" in fw.encode(found, "xml")["content"][0]["text"]


def test_xml_labels_are_found_behind_other_attributes() -> None:
    found = fw.read("<validation_error action='a/b'><field lang='en' name='x'>bad</field></validation_error>")

    assert found is not None
    assert (found.tool, found.action, found.fields) == ("a", "b", (fw.FieldProblem(path="x", message="bad"),))


@pytest.mark.parametrize(
    ("text", "details"),
    [
        (
            '{"type":"CONFLICT","message":"m","recoverable":true,"data":{"type":"file","message":"x"}}',
            {"type": "file", "message": "x"},
        ),
        ('{"error":"not_found","message":"m","details":{"message":"x"}}', {"message": "x"}),
        (
            '{"success":false,"error_code":"X","message":"m","details":{"code":"E5","suggestion":"s"}}',
            {"code": "E5", "suggestion": "s"},
        ),
        (
            '<tool_error code="X"><message>m</message><details><detail key="code">E5</detail></details></tool_error>',
            {"code": "E5"},
        ),
    ],
)
def test_domain_data_under_a_name_the_dialect_has_a_place_for_stays_domain_data(
    text: str, details: dict[str, str]
) -> None:
    found = fw.read(text)

    assert found is not None
    assert found.details == details
    assert found.message == "m"


def test_an_envelope_s_problems_in_words_and_of_wrong_types_are_read_beside_others() -> None:
    problems = {
        "to": "is required",
        "body": {"message": "Expected type string", "value": 5, "field_type": 7, "options": "none"},
        "retries": {"message": "Invalid value", "value": "many", "field_type": "enum", "sent": "no"},
        "": {"message": "it has no path"},
    }
    payload = {"success": False, "error_code": "X", "error": "Three are wrong.", "details": {"all_errors": problems}}

    found = fw.read(json.dumps(payload))

    assert found is not None
    assert found.fields == (
        fw.FieldProblem(path="to", message="is required"),
        fw.FieldProblem(path="body", message="Expected type string", sent=5),
        fw.FieldProblem(path="retries", message="Invalid value", sent="many", kind="enum"),
    )


@pytest.mark.parametrize(
    ("written", "delay"), [("30 seconds", 30), ("0.25 seconds", 0.25), ("9007199254740993 seconds", None)]
)
def test_a_delay_in_meta_s_text_is_a_number_of_seconds(written: str, delay: float | None) -> None:
    meta = {"errorType": "TimeoutError", "errorCode": "TIMEOUT", "retryable": True}

    found = fw.read(
        {"content": [{"type": "text", "text": f"No.\nWait at least: {written}"}], "isError": True, "_meta": meta}
    )

    assert found is not None
    assert (found.message, found.retry_after) == ("No.", delay)
