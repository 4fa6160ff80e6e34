"""The meta contract: classes of errors, whether to retry, and `_meta` beside the message."""

from typing import Any

import pytest

import failwell as fw
from tests.contracts.differences import differs

SAFE = {"idempotentHint": True}


class AuthenticationError(fw.ToolFailure):
    """Credentials do not hold; the user must sign in again."""

    retryable = False


def meta(failure: fw.ToolFailure) -> dict[str, Any]:
    result = fw.encode(failure, "meta")
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(failure.failure.message)
    return {key: value for key, value in result["_meta"].items() if not key.startswith("dev.failwell/")}


@pytest.mark.parametrize(
    ("failure", "kind", "code", "retryable"),
    [
        (fw.Invalid("Port must be between 0 and 65535", code="INVALID_PORT"), "ValidationError", "INVALID_PORT", False),
        (
            fw.Invalid("Module name is required", code="MISSING_PARAMETER"),
            "ValidationError",
            "MISSING_PARAMETER",
            False,
        ),
        (fw.Invalid("Invalid JSON in configuration", code="INVALID_JSON"), "ValidationError", "INVALID_JSON", False),
        (fw.TimedOut("Not done within 600 seconds", code="WORKFLOW_TIMEOUT"), "TimeoutError", "WORKFLOW_TIMEOUT", True),
        (
            fw.TimedOut("Not started within 120 seconds", code="STARTUP_TIMEOUT"),
            "TimeoutError",
            "STARTUP_TIMEOUT",
            True,
        ),
        (fw.TimedOut("Not ready in time", code="EMULATOR_TIMEOUT"), "TimeoutError", "EMULATOR_TIMEOUT", True),
        (fw.NetworkFailure("No workflow run", code="GITHUB_API_ERROR"), "NetworkError", "GITHUB_API_ERROR", True),
        (
            fw.NetworkFailure("No connection", code="FIRESTORE_CONNECTION_ERROR"),
            "NetworkError",
            "FIRESTORE_CONNECTION_ERROR",
            True,
        ),
        (fw.NetworkFailure("Status 503", code="SERVICE_UNAVAILABLE"), "NetworkError", "SERVICE_UNAVAILABLE", True),
        (AuthenticationError("Sign in again", code="TOKEN_EXPIRED"), "AuthenticationError", "TOKEN_EXPIRED", False),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_scenarios_carry_class_code_and_flag(
    failure: fw.ToolFailure, kind: str, code: str, retryable: bool
) -> None:
    found = meta(failure)

    assert (found["errorType"], found["errorCode"], found["retryable"]) == (kind, code, retryable)


def test_the_code_is_optional() -> None:
    assert "errorCode" not in meta(fw.ToolFailure("x", type="VALIDATION"))


@pytest.mark.parametrize(
    ("error", "terminal"),
    [
        (fw.Invalid("x"), True),
        (AuthenticationError("x"), True),
        (fw.TimedOut("x"), False),
        (fw.NetworkFailure("x"), False),
        (RuntimeError("x"), False),
    ],
    ids=repr,
)
def test_terminal_errors_are_those_that_no_retry_mends(error: Exception, terminal: bool) -> None:
    assert fw.is_terminal(error) is terminal


def _tries(error: Exception) -> int:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        fw.call(fail, hints=SAFE, sleep=lambda _: None)
    return len(calls)


@pytest.mark.parametrize(
    ("error", "tries"),
    [(fw.Invalid("x"), 1), (fw.TimedOut("x"), 3), (fw.NetworkFailure("y"), 3), (RuntimeError("z"), 3)],
)
def test_the_guidelines_for_retries_hold(error: Exception, tries: int) -> None:
    assert _tries(error) == tries


def test_the_wait_between_tries_grows() -> None:
    policy = fw.Policy()
    failure = fw.TimedOut("x").failure

    delays = [policy.delay(failure, attempt=attempt) for attempt in (1, 2, 3)]

    assert delays == [delays[0], delays[0] * 2, delays[0] * 4]


@differs("meta", "An unknown error is retried only on a tool that is safe to run twice.")
def test_an_unknown_error_of_another_tool_is_not_retried() -> None:
    assert fw.decide(fw.from_exception(RuntimeError("x"))).action == "stop"


@differs("meta", "A new class itself says whether it is terminal.")
def test_a_class_of_your_own_needs_no_entry_elsewhere() -> None:
    assert fw.is_terminal(AuthenticationError("x"))


@differs("meta", "`retryable` is left out if it is unknown.")
def test_an_unknown_answer_is_left_out() -> None:
    assert "retryable" not in meta(fw.ToolFailure("x", retryable=None))


@differs("meta", "Next step, delay, names to use and field problems follow the message in the text.")
def test_advice_follows_the_message() -> None:
    text = fw.encode(fw.RateLimited("Too many.", retry_after=30), "meta")["content"][0]["text"]

    assert text == "Too many.\nWait at least: 30 seconds"


def test_a_tool_returns_an_error_or_a_success() -> None:
    @fw.guard(dialect="meta")
    def check(port: int) -> object:
        if not 0 <= port <= 65535:
            return fw.fail(fw.Invalid("Port must be 0-65535", code="INVALID_PORT"))
        return "Port is valid"

    refused, fine = check(-1), check(80)

    assert (refused["isError"], refused["_meta"]["errorCode"]) == (True, "INVALID_PORT")
    assert (fine["isError"], fine["content"][0]["text"]) == (False, "Port is valid")


def test_a_failed_test_run_can_be_a_success() -> None:
    assert fw.success("Tests failed: 3 of 80")["isError"] is False


def test_codes_are_screaming() -> None:
    assert fw.codes.screaming("invalidPort") == "INVALID_PORT"
