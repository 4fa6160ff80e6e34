"""Structured errors that are of no dialect: any keys, any envelope, in every place of an answer."""

import json
from typing import Any, NamedTuple

import pytest

import failwell as fw

NOW = 1_794_744_000.0  # 2026-11-15T12:00:00Z
READ_ONLY = {"readOnlyHint": True}


class Case(NamedTuple):
    """An error object, and what is to be read from it; a delay of None means that none is stated."""

    body: Any
    type: str
    retryable: bool | None
    delay: float | None = None
    code: str | None = None
    field: str | None = None


CASES: dict[str, Case] = {
    "code and delay in an envelope": Case(
        {"error": {"code": "RATE_LIMITED", "retry_after": 30}}, "TRANSIENT", True, 30, "RATE_LIMITED"
    ),
    "flag in camel case": Case(
        {"error": {"code": "UPSTREAM_DOWN", "message": "Down", "isRetryable": True, "retryAfterMs": 1500}},
        "TRANSIENT", True, 1.5,
    ),
    "not to be retried": Case(
        {"error": {"message": "Service unavailable", "retryable": False}}, "TRANSIENT", False
    ),
    "course shape, transient": Case(
        {"errorCategory": "transient", "isRetryable": True, "message": "The billing service did not answer",
         "customerMessage": "We could not reach billing just now."},
        "TRANSIENT", True,
    ),
    "course shape, validation": Case(
        {"isError": True, "errorCategory": "validation", "isRetryable": False, "message": "order_id must be ORD-nnnn"},
        "VALIDATION", False,
    ),
    "course shape, business": Case(
        {"errorCategory": "business", "isRetryable": False, "customerMessage": "Refunds above 500 need an approval."},
        "VALIDATION", False,
    ),
    "course shape, permission": Case(
        {"errorCategory": "permission", "isRetryable": False, "description": "The agent may not issue refunds"},
        "PERMISSION", False,
    ),
    "success false": Case({"success": False, "message": "User 7 does not exist", "code": "USER_NOT_FOUND"}, "NOT_FOUND", False),
    "ok false": Case({"ok": False, "error": "channel_not_found"}, "NOT_FOUND", False, code="NOT_FOUND"),
    "error true": Case({"error": True, "message": "Forbidden", "statusCode": 403}, "PERMISSION", False),
    "status error": Case({"status": "error", "error_code": "quota_exceeded", "reason": "Monthly quota used"}, "PERMISSION", False),
    "problem details": Case(
        {"type": "https://api.example/problems/locked", "title": "Locked", "status": 423, "detail": "Row 9 is locked"},
        "CONFLICT", False,
    ),
    "problem details with a delay": Case(
        {"type": "about:blank", "title": "Too Many Requests", "status": 429, "retry-after": 12}, "TRANSIENT", True, 12
    ),
    "GraphQL": Case(
        {"data": None, "errors": [{"message": "No such issue", "path": ["issue"], "extensions": {"code": "NOT_FOUND"}}]},
        "NOT_FOUND", False,
    ),
    "GraphQL, unauthenticated": Case(
        {"errors": [{"message": "Sign in first", "extensions": {"code": "UNAUTHENTICATED"}}]}, "PERMISSION", False
    ),
    "JSON:API": Case(
        {"errors": [{"status": "422", "code": "invalid_attribute", "detail": "must not be blank",
                     "source": {"pointer": "/data/attributes/title"}}]},
        "VALIDATION", False,
    ),
    "Google with RetryInfo": Case(
        {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded for requests per minute",
                   "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}},
        "TRANSIENT", True, 34,
    ),
    "gRPC failed precondition": Case(
        {"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "The table is not empty"}}, "CONFLICT", False
    ),
    "AWS": Case({"__type": "com.amazon.coral#ThrottlingException", "message": "Rate exceeded"}, "TRANSIENT", True),
    "boto": Case({"Error": {"Code": "NoSuchKey", "Message": "The key is not there"}}, "NOT_FOUND", False),
    "Azure": Case(
        {"error": {"code": "BadRequest", "message": "Bad", "innererror": {"code": "ResourceNotFound"}}}, "NOT_FOUND", False
    ),
    "Stripe": Case(
        {"error": {"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds",
                   "message": "Your card was declined."}},
        "VALIDATION", False, code="PAYMENT_DECLINED",
    ),
    "OpenAI": Case(
        {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "param": None,
                   "code": "insufficient_quota"}},
        "PERMISSION", False,
    ),
    "Anthropic": Case({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "TRANSIENT", True),
    "Elasticsearch": Case(
        {"error": {"root_cause": [{"type": "index_not_found_exception", "reason": "no such index [a]"}],
                   "type": "index_not_found_exception", "reason": "no such index [a]"}, "status": 404},
        "NOT_FOUND", False,
    ),
    "MongoDB": Case({"ok": 0, "errmsg": "E11000 duplicate key", "code": 11000, "codeName": "DuplicateKey"}, "CONFLICT", False),
    "FastAPI": Case(
        {"detail": [{"loc": ["body", "amount"], "msg": "ensure this value is greater than 0", "type": "value_error"}]},
        "VALIDATION", False, field="amount",
    ),
    "Rails": Case({"errors": {"email": ["is not a valid address"]}}, "VALIDATION", False, field="email"),
    "ASP.NET": Case(
        {"title": "One or more validation errors occurred.", "status": 400,
         "errors": {"Amount": ["The field Amount must be positive."]}, "traceId": "00-af"},
        "VALIDATION", False, field="amount",
    ),
    "NestJS": Case(
        {"statusCode": 404, "message": "Cannot find order 12", "error": "Not Found"}, "NOT_FOUND", False
    ),
    "Spring": Case(
        {"timestamp": "2026-11-15T12:00:00Z", "status": 503, "error": "Service Unavailable", "path": "/orders"},
        "TRANSIENT", True,
    ),
    "axios": Case(
        {"message": "Request failed with status code 409", "name": "AxiosError", "code": "ERR_BAD_REQUEST",
         "status": 409, "response": {"data": {"message": "Already shipped"}}},
        "CONFLICT", False,
    ),
    "OAuth": Case({"error": "invalid_grant", "error_description": "The refresh token has expired"}, "PERMISSION", False),
    "JSON inside JSON": Case(
        {"error": "{\"code\": \"RATE_LIMITED\", \"retry_after_seconds\": 9}"}, "TRANSIENT", True, 9
    ),
    "a time to retry at": Case(
        {"error": {"code": "THROTTLED", "message": "Slow down", "retryAt": "2026-11-15T12:00:45Z"}}, "TRANSIENT", True, 45
    ),
    "an ISO duration": Case({"error": {"type": "rate_limit", "backoff": "PT1M30S"}}, "TRANSIENT", True, 90),
    "an epoch": Case(
        {"error": {"code": "RATE_LIMITED", "message": "Limit", "x-ratelimit-reset": int(NOW) + 20}}, "TRANSIENT", True, 20
    ),
    "headers of the answer": Case(
        {"status": 429, "body": "Too Many Requests", "headers": {"Retry-After": "17"}}, "TRANSIENT", True, 17
    ),
    "permanent": Case({"error": {"message": "Account closed", "permanent": True, "code": "ACCOUNT_CLOSED"}}, "INTERNAL", False),
    "category beside a code nobody knows": Case(
        {"code": "E4711", "category": "not_found", "message": "Nothing there"}, "NOT_FOUND", False
    ),
    "exception class": Case({"exception": "TimeoutError", "message": "deadline exceeded", "retry": True}, "TRANSIENT", True),
}  # fmt: skip


def as_text(body: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(body)}], "isError": True}


def behind_words(body: Any) -> dict[str, Any]:
    text = f"Error executing tool x: the upstream said: {json.dumps(body)}"
    return {"content": [{"type": "text", "text": text}], "isError": True}


def as_structured_content(body: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "It failed."}], "isError": True, "structuredContent": body}


def as_rpc_data(body: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "It failed.", "data": body}}


PLACES = (as_text, behind_words, as_structured_content, as_rpc_data)
ARGUMENTS = {"amount": -1, "email": "x", "order_id": "7"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CASES)
def test_a_structured_error_is_understood_wherever_it_stands(name: str, place: Any) -> None:
    case = CASES[name]

    found = fw.read(place(case.body), tool="x", arguments=ARGUMENTS, now=NOW)

    assert found is not None
    assert (found.type, found.retryable, found.retry_after) == (case.type, case.retryable, case.delay)
    assert case.code in (None, found.code)
    assert case.field in (None, *(problem.path for problem in found.fields))
    assert found.origin == "read"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", CASES)
def test_no_call_that_may_do_harm_is_repeated_because_of_an_error_of_someone_else(name: str, place: Any) -> None:
    found = fw.read(place(CASES[name].body), now=NOW)

    assert found is not None
    assert fw.decide(found).action != "retry"


@pytest.mark.parametrize("place", PLACES)
def test_a_stated_delay_is_waited_out_before_a_read_is_repeated(place: Any) -> None:
    found = fw.read(place({"error": {"code": "RATE_LIMITED", "retry_after": 30}}))

    assert found is not None
    decision = fw.decide(found, READ_ONLY)
    assert (decision.action, decision.delay) == ("retry", 30)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "RATE_LIMITED", "retryable": False}},
        {"error": {"message": "Connection refused", "is_retryable": "false"}},
        {"status": 503, "non_retryable": True},
        {"error": {"message": "Timed out", "should_retry": False}},
    ],
)
def test_what_the_server_calls_final_is_not_repeated(body: Any, place: Any) -> None:
    found = fw.read(place(body))

    assert found is not None
    assert found.retryable is False
    assert fw.decide(found, READ_ONLY).action not in ("retry", "wait")
