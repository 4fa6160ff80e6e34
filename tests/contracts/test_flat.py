"""The flat contract: one of eight codes under `error`, a message and details."""

import json
from typing import Any, get_args

import httpx
import pytest

import failwell as fw
from failwell.integrations.pydantic import MCPError, MCPErrorCode
from tests.contracts.differences import differs

CODES = (
    "auth_required", "not_found", "rate_limited", "send_failed", "permission_denied", "parse_error", "mcp_unavailable",
    "internal_error",
)  # fmt: skip


def payload(failure: fw.Failure | fw.ToolFailure) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fw.encode(failure, "flat")["content"][0]["text"])
    return found


def test_there_are_eight_codes_and_a_model_of_them() -> None:
    assert set(get_args(MCPErrorCode)) == set(CODES)
    assert set(MCPError.model_fields) == {"error", "message", "details"}
    assert MCPError(error="not_found", message="x").details is None


@pytest.mark.parametrize("code", CODES)
def test_every_code_survives_reading_and_writing(code: str) -> None:
    text = json.dumps({"error": code, "message": "x", "details": None})

    found = fw.read({"content": [{"type": "text", "text": text}], "isError": False}, dialect="flat")

    assert found is not None
    assert payload(found)["error"] == code


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (
            httpx.HTTPStatusError(
                "x",
                request=httpx.Request("GET", "http://x"),
                response=httpx.Response(429, headers={"Retry-After": "60"}),
            ),
            "rate_limited",
        ),
        (FileNotFoundError(2, "x"), "not_found"),
        (PermissionError(13, "x"), "permission_denied"),
        (ValueError("x"), "internal_error"),
    ],
    ids=["429", "no such file", "no permission", "anything else"],
)
def test_exceptions_become_codes(exc: Exception, code: str) -> None:
    assert payload(fw.from_exception(exc))["error"] == code


def test_the_delay_of_a_rate_limit_is_in_the_details() -> None:
    assert payload(fw.RateLimited("x", retry_after=60))["details"]["retry_after"] == 60


def test_no_exception_leaves_a_tool_and_no_traceback_is_shown() -> None:
    @fw.guard(dialect="flat")
    def read_note() -> None:
        raise AttributeError("hunter2")

    text = read_note()["content"][0]["text"]

    assert json.loads(text)["error"] == "internal_error"
    assert "hunter2" not in text
    assert "Traceback" not in text


def test_the_original_of_an_internal_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    @fw.guard(dialect="flat")
    def read_note() -> None:
        raise AttributeError("hunter2")

    id = json.loads(read_note()["content"][0]["text"])["details"]["id"]

    assert id in caplog.text
    assert "hunter2" in caplog.text


def test_an_error_is_told_from_data_by_its_key() -> None:
    assert fw.read('{"error": "auth_required", "message": "x"}', dialect="flat") is not None
    assert fw.read({"content": [{"type": "text", "text": '{"notes": []}'}], "isError": False}, dialect="flat") is None


@pytest.mark.parametrize("suggestion", [None, "Run gmail-auth login."])
def test_who_must_sign_in_is_always_told_how(suggestion: str | None) -> None:
    details = payload(fw.Unauthenticated("The token has expired.", suggestion=suggestion))["details"]

    assert "sign in" in details["suggestion"] if suggestion is None else details["suggestion"] == suggestion


@differs("flat", "You give the command to sign in with as `suggestion`; otherwise the user is asked.")
def test_without_a_command_the_user_is_asked_to_sign_in() -> None:
    details = payload(fw.Unauthenticated("x"))["details"]

    assert details["suggestion"] == "Ask the user to sign in or provide valid credentials."


@differs("flat", "`isError` is set, because clients and telemetry look at it.")
def test_an_error_is_flagged() -> None:
    assert fw.encode(fw.NotFound("x"), "flat")["isError"] is True


@differs("flat", "Empty details are left out instead of null; both are read.")
def test_empty_details_are_left_out() -> None:
    assert "details" not in payload(fw.Failure(code="NOT_FOUND", message="x"))


def test_every_server_writes_the_same_shape() -> None:
    assert {tuple(payload(failure))[:2] for failure in (fw.NotFound("x"), fw.Internal("y"))} == {("error", "message")}


def test_the_shape_can_be_checked_without_the_tools() -> None:
    schema = fw.dialects.get("flat").json_schema()  # type: ignore[attr-defined]  # not every dialect has one

    assert fw.check_arguments(payload(fw.RateLimited("x", retry_after=5)), schema) is None
    assert fw.check_arguments({"error": "kaput", "message": "x"}, schema) is not None
    assert all(property_["description"] for property_ in schema["properties"].values())
