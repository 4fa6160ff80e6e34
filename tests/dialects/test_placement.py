"""`encode` places a failure on an MCP result, and nothing dangerous leaves with it."""

import json
from datetime import UTC, datetime
from typing import Any

import mcp.types
import pytest

import failwell as fw
from failwell.dialects import DIALECTS

TOKEN = "ghp_" + "a1B2" * 9
PASSWORD = "hunter" + "2hunter2"
FAILURE = fw.Failure(code="NOT_FOUND", message="Task 7 does not exist.", details={"task": 7})

each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@each_dialect
def test_the_error_stands_in_exactly_one_text_block(dialect: str) -> None:
    result = fw.encode(FAILURE, dialect)

    assert set(result) == {"content", "isError", "_meta"}
    [block] = result["content"]
    assert block["type"] == "text"
    assert "Task 7 does not exist." in block["text"]


@each_dialect
def test_the_whole_failure_travels_with_the_version_of_its_form(dialect: str) -> None:
    whole = fw.encode(FAILURE, dialect)["_meta"]["dev.failwell/failure"]

    assert whole["v"] == 1
    assert (whole["code"], whole["details"], whole["outcome"]) == ("NOT_FOUND", {"task": 7}, "rejected")


@each_dialect
def test_an_sdk_accepts_the_result(dialect: str) -> None:
    result = mcp.types.CallToolResult.model_validate(fw.encode(FAILURE, dialect, structured=True))

    assert fw.read(result) == FAILURE


def test_an_exception_is_encoded_by_its_failure() -> None:
    assert fw.encode(fw.NotFound(FAILURE)) == fw.encode(FAILURE)


@each_dialect
def test_structured_content_tells_the_same(dialect: str) -> None:
    result = fw.encode(FAILURE, dialect, structured=True)

    found = fw.read({"content": [], "isError": True, "structuredContent": result["structuredContent"]})

    assert found is not None
    assert (found.type, found.message, found.details) == ("NOT_FOUND", FAILURE.message, {"task": 7})


def test_structured_content_never_stands_against_an_output_schema() -> None:
    assert "structuredContent" not in fw.encode(FAILURE, structured=True, output_schema=True)


@pytest.mark.parametrize(("severity", "flag"), [(None, True), ("error", True), ("critical", True), ("warning", False)])
@each_dialect
def test_only_a_warning_is_not_flagged(dialect: str, severity: Any, flag: bool) -> None:
    assert fw.encode(FAILURE.replace(severity=severity), dialect)["isError"] is flag


def test_a_warning_in_place_of_a_value_is_flagged_where_there_is_an_output_schema() -> None:
    assert fw.encode(FAILURE.replace(severity="warning"), output_schema=True)["isError"] is True


def test_who_retried_says_so() -> None:
    assert fw.encode(FAILURE, attempts=3)["_meta"]["dev.failwell/retry"] == {"attempts": 3}


@pytest.mark.parametrize(
    ("dialect", "words"), [("xmll", "did you mean 'xml'"), ("", "compact, envelope, flat, meta, xml"), (None, "None")]
)
def test_an_unknown_dialect_is_misuse(dialect: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fw.encode(FAILURE, dialect)


@pytest.mark.parametrize("wrong", ["text", None, ValueError("x"), {}])
def test_what_is_no_failure_is_misuse(wrong: Any) -> None:
    with pytest.raises(TypeError, match=type(wrong).__name__):
        fw.encode(wrong)


def test_a_setting_the_dialect_does_not_take_is_misuse() -> None:
    with pytest.raises(TypeError, match="clock"):
        fw.encode(FAILURE, "compact", clock=str)


def test_the_date_of_an_envelope_comes_from_its_clock() -> None:
    text = fw.encode(FAILURE, "envelope", version="2")["content"][0]["text"]

    assert json.loads(text)["version"] == "2"
    assert json.loads(text)["timestamp"].endswith("+00:00")


def test_a_tool_prefix_is_sent_as_it_was_given() -> None:
    failure = fw.Failure(code="CLAIM_TASK_ALREADY_CLAIMED", message="m", tool="claim_task")

    payload = json.loads(fw.encode(failure, "envelope")["content"][0]["text"])

    assert payload["error_code"] == "CLAIM_TASK_ALREADY_CLAIMED"


PLACES: dict[str, Any] = {
    "message": lambda secret: fw.Failure(message=f"Login with {secret} failed."),
    "suggestion": lambda secret: fw.Failure(message="m", suggestion=f"Use {secret}."),
    "code": lambda secret: fw.Failure(message="m", code=secret),
    "kind": lambda secret: fw.Failure(message="m", kind=secret),
    "an action": lambda secret: fw.Failure(message="m", actions=(f"use-{secret}", secret)),
    "the tool": lambda secret: fw.Failure(message="m", tool=secret, action=secret),
    "the id": lambda secret: fw.Failure(message="m", id=secret),
    "the link": lambda secret: fw.Failure(message="m", docs_url=f"https://u:{secret}@example.com/?token={secret}"),
    "a detail": lambda secret: fw.Failure(message="m", details={"note": f"token={secret}"}),
    "a nested detail": lambda secret: fw.Failure(message="m", details={"a": [{"b": (secret,)}]}),
    "a key": lambda secret: fw.Failure(message="m", details={secret: 1}),
    "a header": lambda secret: fw.Failure(message="m", details={"headers": {"Authorization": f"Bearer {secret}"}}),
    "extra": lambda secret: fw.Failure(message="m", extra={"trace": {"env": f"API_KEY={secret}"}}),
    "a sent value": lambda secret: fw.Failure(
        message="m",
        code="VALIDATION_FAILED",
        fields=(fw.FieldProblem(path="a", sent=secret, message=f"{secret} is bad"),),
    ),
    "an option": lambda secret: fw.Failure(message="m", fields=(fw.FieldProblem(path="a", options=(secret,)),)),
    "an expectation": lambda secret: fw.Failure(message="m", fields=(fw.FieldProblem(path="a", expected=secret),)),
    "a proposal": lambda secret: fw.Failure(message="m", fields=(fw.FieldProblem(path="a", did_you_mean=secret),)),
    "a path": lambda secret: fw.Failure(message="m", fields=(fw.FieldProblem(path=secret),)),
    "an object": lambda secret: fw.Failure(message="m", details={"exc": ValueError(f"password={secret}")}),
}


@pytest.mark.parametrize("place", PLACES)
@each_dialect
def test_a_secret_leaves_no_trace_wherever_it_was_put(dialect: str, place: str) -> None:
    assert TOKEN not in json.dumps(fw.encode(PLACES[place](TOKEN), dialect, structured=True))


@pytest.mark.parametrize("name", ["password", "api_key", "Authorization", "clientSecret", "x-api-key"])
@each_dialect
def test_values_under_a_secret_name_are_not_echoed(dialect: str, name: str) -> None:
    problem = fw.FieldProblem(path=f"login.{name}", sent=PASSWORD, message=f"{PASSWORD} is too short")
    failure = fw.Failure(
        code="VALIDATION_FAILED", message="m", fields=(problem,), details={name: PASSWORD, "n": {name: [PASSWORD]}}
    )

    assert PASSWORD not in json.dumps(fw.encode(failure, dialect))


@pytest.mark.parametrize(
    "failure",
    [
        fw.Validation().add("password", PASSWORD, f"{PASSWORD} is too short").failure,
        fw.Validation().add("pin.secret", 1234567, "1234567 is not a string").failure,
        fw.Validation().add('["api.key"].x', PASSWORD, f"{PASSWORD} is bad").failure,
        fw.Validation().add("credentials.value", PASSWORD, f"not {PASSWORD}").failure,
        fw.Failure(message="m", details={"db_pass": PASSWORD, "password_old": PASSWORD}),
        fw.Failure(message="m", details={"headers": [["password", PASSWORD]]}),
        fw.Failure(message="m", details={"name": "password", "value": PASSWORD}),
    ],
    ids=lambda failure: str(failure.fields[0].path if failure.fields else failure.details)[:30],
)
def test_values_under_secret_names_leave_in_no_sentence(failure: fw.Failure) -> None:
    text = json.dumps(fw.encode(failure))

    assert PASSWORD not in text
    assert "1234567" not in text


def test_a_short_secret_does_not_mangle_the_sentence() -> None:
    failure = fw.Validation().add("password", "a", "it must have at least eight characters").failure
    assert failure is not None

    assert fw.dialects.canonical(failure).fields[0].message == "it must have at least eight characters"


def test_names_to_choose_from_are_told_though_one_of_them_is_secret() -> None:
    schema = {"type": "object", "properties": {"password": {}, "number": {}}}
    failure = fw.check_arguments({"pasword": PASSWORD}, schema)
    assert failure is not None

    assert fw.dialects.canonical(failure).fields[0].options == ("password", "number")


@pytest.mark.parametrize("name", ["bogus_token", "password", "api_key"])
def test_our_own_words_about_a_field_with_a_secret_name_stay_readable(name: str) -> None:
    schemas: list[dict[str, Any]] = [
        {"type": "number", "minimum": 5},
        {"type": "number", "multipleOf": 2},
        {"type": "array", "minItems": 2},
        {"type": "object", "minProperties": 2},
        {"enum": ["a", "b"]},
        {"type": "string", "minLength": 3},
        {"type": "integer"},
    ]
    for schema in schemas:
        sent: Any = {"number": 3, "array": [], "object": {}}.get(schema.get("type", ""), "xy")
        failure = fw.check_arguments({name: sent}, {"type": "object", "properties": {name: schema}})
        assert failure is not None
        assert "redacted:token]" not in json.dumps(fw.encode(failure)), schema
        assert fw.dialects.canonical(failure).message == failure.message
    unknown = fw.check_arguments({name: 1}, {"type": "object", "properties": {"zzz": {}}})
    assert unknown is not None
    assert fw.dialects.canonical(unknown).message == f"{name}: Unrecognized key"


@each_dialect
def test_what_cannot_be_seen_does_not_leave(dialect: str) -> None:
    failure = fw.Failure(message="a\u202eb\x1b[31mc\x00d\u200be", details={"k\u2066": "\x07v"})

    text = json.dumps(fw.encode(failure, dialect), ensure_ascii=False)

    assert not any(character in text for character in "\u202e\x1b\x00\u200b\u2066\x07")
    assert "abcde" in text


@each_dialect
def test_the_whole_error_stays_small(dialect: str) -> None:
    failure = fw.Failure(
        message="m" * 10**6,
        suggestion="s" * 10**6,
        actions=tuple("a" * 10**4 + str(n) for n in range(1000)),
        fields=tuple(fw.FieldProblem(path=f"p{n}", sent="v" * 10**4, options=("o" * 999,) * 99) for n in range(1000)),
        details={f"k{n}": "d" * 10**4 for n in range(1000)},
    )

    assert len(json.dumps(fw.encode(failure, dialect))) < 150_000


def test_cutting_never_splits_a_character() -> None:
    message = fw.dialects.canonical(fw.Failure(message="👩‍🚀é" * 2000)).message

    assert "…" in message
    assert len(message) <= 1000
    message.encode()


def test_what_was_left_out_is_said() -> None:
    failure = fw.dialects.canonical(
        fw.Failure(message="m", details={"ids": list(range(60)), "by": {str(n): n for n in range(60)}})
    )

    assert failure.details["ids"] == [*range(49), "… and 11 more"]
    assert failure.details["by"] == {**{str(n): n for n in range(49)}, "…": "and 11 more"}


def test_an_envelope_is_dated_by_the_second_in_utc() -> None:
    before = datetime.now(UTC).replace(microsecond=0)

    written = json.loads(fw.encode(FAILURE, "envelope")["content"][0]["text"])["timestamp"]

    assert before <= datetime.fromisoformat(written) <= datetime.now(UTC)
    assert written.endswith("+00:00")
    assert "." not in written
