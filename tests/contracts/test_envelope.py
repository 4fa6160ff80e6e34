"""The envelope contract: success false, specific codes, problems by field, a hint."""

import json
from typing import Any

import pytest

import failwell as fw
from failwell import codes
from tests.contracts.differences import differs

REQUIRED = "task_id is required and must be a string"


def payload(failure: fw.Failure | fw.ToolFailure, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fw.encode(failure, "envelope", **settings)["content"][0]["text"])
    return found


def read(wire: dict[str, Any], **how: Any) -> fw.Failure:
    found = fw.read({"content": [{"type": "text", "text": json.dumps(wire)}], "isError": True}, **how)
    assert found is not None
    return found


def missing() -> fw.Failure:
    validation = fw.Validation("claim_task", message="Invalid request parameters")
    validation.add("task_id", None, REQUIRED, required=True)
    found = validation.failure
    assert found is not None
    return found


def test_a_generic_code_does_not_hide_what_the_sentence_says() -> None:
    before = {
        "success": False,
        "error_code": "TOOL_ERROR",
        "message": "Tool execution failed",
        "error": "task_id is required",
    }
    schema = {"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]}

    found = read(before)
    known = read(before, arguments={}, input_schema=schema)

    assert (found.type, found.code, found.message) == (
        "VALIDATION", "MISSING_REQUIRED_FIELD", "task_id is required",
    )  # fmt: skip
    assert [problem.path for problem in known.fields] == ["task_id"]


def test_a_generic_code_stays_where_the_sentence_says_nothing() -> None:
    found = read({"success": False, "error_code": "TOOL_ERROR", "message": "Tool execution failed", "error": "blorp"})

    assert (found.code, found.message) == ("TOOL_ERROR", "blorp")


def test_the_structured_example_is_written_as_printed() -> None:
    problem = {"value": None, "message": REQUIRED, "required": True}

    found = payload(missing(), clock=lambda: "2026-01-19T19:08:56-08:00", version="1.0.0")

    assert found == {
        "success": False,
        "error_code": "VALIDATION_FAILED",
        "message": "Invalid request parameters",
        "error": "task_id is required",
        "code": 400,
        "hint": "Add 'task_id' to your request parameters",
        "details": {
            "tool": "claim_task",
            "validation_errors": {"task_id": problem},
            "all_errors": {"task_id": problem},
        },
        "required_fields": ["task_id"],
        "timestamp": "2026-01-19T19:08:56-08:00",
        "version": "1.0.0",
    }


@pytest.mark.parametrize(
    ("code", "type_"),
    [
        ("MISSING_REQUIRED_FIELD", "VALIDATION"),
        ("INVALID_FIELD_TYPE", "VALIDATION"),
        ("INVALID_FIELD_VALUE", "VALIDATION"),
        ("VALIDATION_FAILED", "VALIDATION"),
        ("RESOURCE_NOT_FOUND", "NOT_FOUND"),
        ("RESOURCE_ALREADY_EXISTS", "CONFLICT"),
        ("CONFLICT", "CONFLICT"),
        ("UNAUTHORIZED", "PERMISSION"),
        ("FORBIDDEN", "PERMISSION"),
        ("RATE_LIMITED", "TRANSIENT"),
        ("SERVICE_UNAVAILABLE", "TRANSIENT"),
        ("INTERNAL_ERROR", "INTERNAL"),
        ("BAD_GATEWAY", "TRANSIENT"),
    ],
)
def test_every_code_is_known_and_written_as_it_is(code: str, type_: str) -> None:
    found = read({"success": False, "error_code": code, "message": "x", "error": "x"})

    assert found.type == type_
    assert payload(found)["error_code"] == code


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        ("claim_task", "MISSING_REQUIRED_FIELD"),
        ("create_proposal", "VALIDATION_FAILED"),
        ("submit_work", "INVALID_FIELD_TYPE"),
        ("approve_proposal", "UNAUTHORIZED"),
        ("create_contract", "INSCRIBE_ERROR"),
    ],
)
def test_codes_can_have_the_name_of_their_tool_in_front(tool: str, code: str) -> None:
    prefixed = codes.prefixed(tool, code)

    assert prefixed == f"{tool.upper()}_{code}"
    assert payload(fw.Failure(code=prefixed, message="x"))["error_code"] == prefixed
    assert codes.type_of(prefixed) == codes.type_of(code)


def test_several_fields_are_reported_at_once() -> None:
    validation = fw.Validation("create_proposal", message="Invalid request parameters")
    validation.add("title", "", "title is required and must be a non-empty string", required=True, kind="missing")
    validation.add("visible_pixel_hash", "", "visible_pixel_hash is required", required=True, kind="missing")
    validation.add("budget_sats", -100, "budget_sats must be a non-negative number", required=False)
    assert validation.failure is not None

    found = payload(validation.failure)

    assert list(found["details"]["validation_errors"]) == ["title", "visible_pixel_hash", "budget_sats"]
    assert found["details"]["validation_errors"]["budget_sats"] == {
        "value": -100,
        "message": "budget_sats must be a non-negative number",
        "required": False,
    }
    assert found["required_fields"] == ["title", "visible_pixel_hash"]


def test_a_wrong_type_names_the_type_that_is_expected() -> None:
    validation = fw.Validation("claim_task")
    validation.add("task_id", 123, "Expected type string", expected="string", kind="type", required=True)
    assert validation.failure is not None

    assert payload(validation.failure)["details"]["validation_errors"]["task_id"] == {
        "value": 123,
        "message": "Expected type string",
        "expected": "string",
        "field_type": "type",
        "required": True,
    }


def test_the_schema_describes_every_field_of_the_table() -> None:
    schema = fw.dialects.get("envelope").json_schema()  # type: ignore[attr-defined]  # not every dialect has one

    assert list(schema["properties"]) == [
        "success", "error_code", "message", "error", "code", "hint", "details", "required_fields", "timestamp",
        "version",
    ]  # fmt: skip
    assert all(property_["description"] for property_ in schema["properties"].values())


def test_a_handler_collects_problems_and_goes_on_without() -> None:
    @fw.guard(dialect="envelope")
    def claim_task(task_id: Any = None) -> str:
        validation = fw.Validation("claim_task", message="Invalid request parameters")
        if not isinstance(task_id, str) or not task_id:
            validation.add("task_id", task_id, REQUIRED, required=True)
        validation.raise_if_any()
        return "claimed"

    assert json.loads(claim_task()["content"][0]["text"])["required_fields"] == ["task_id"]
    assert claim_task("t-1")["content"][0]["text"] == "claimed"


def test_a_message_of_your_own_stands_before_the_problems() -> None:
    validation = fw.Validation("claim_task", message="The task cannot be claimed").add("task_id", 5, "no text")

    assert validation.failure is not None
    assert validation.failure.message == "The task cannot be claimed: task_id: no text"


def test_common_errors_have_constructors() -> None:
    gone = fw.NotFound.of("task", "t-1", tool="claim_task")
    taken = fw.Conflict("Task has already been claimed", code=codes.prefixed("claim_task", "ALREADY_CLAIMED"))

    assert payload(gone)["error_code"] == "RESOURCE_NOT_FOUND"
    assert payload(gone)["code"] == 404
    assert payload(taken)["error_code"] == "CLAIM_TASK_ALREADY_CLAIMED"


@differs("envelope", 'On the server, exception texts are not searched for words such as "not found": classes decide.')
def test_the_text_of_an_exception_does_not_decide() -> None:
    assert fw.from_exception(RuntimeError("task not found")).code == "INTERNAL_ERROR"


def test_a_client_branches_on_the_code_of_a_tool() -> None:
    found = read({"success": False, "error_code": "CLAIM_TASK_UNAUTHORIZED", "message": "x"}, tool="claim_task")

    assert (found.code, found.type) == ("UNAUTHORIZED", "PERMISSION")


@differs("envelope", "`hint` is left out if no next step is known.")
def test_a_failure_without_a_next_step_has_no_hint() -> None:
    assert "hint" not in payload(fw.NotFound("x"))


def test_the_fields_of_older_clients_stay() -> None:
    found = payload(fw.Internal("x"))

    assert (found["success"], found["error"], found["code"]) == (False, "x", 500)
