"""Structured errors that are of no dialect: any keys, any envelope, in every place of an answer."""

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
        "TRANSIENT",
        True,
        1.5,
    ),
    "not to be retried": Case({"error": {"message": "Service unavailable", "retryable": False}}, "TRANSIENT", False),
    "course shape, transient": Case(
        {
            "errorCategory": "transient",
            "isRetryable": True,
            "message": "The billing service did not answer",
            "customerMessage": "We could not reach billing just now.",
        },
        "TRANSIENT",
        True,
    ),
    "course shape, validation": Case(
        {"isError": True, "errorCategory": "validation", "isRetryable": False, "message": "order_id must be ORD-nnnn"},
        "VALIDATION",
        False,
    ),
    "course shape, business": Case(
        {"errorCategory": "business", "isRetryable": False, "customerMessage": "Refunds above 500 need an approval."},
        "VALIDATION",
        False,
    ),
    "course shape, permission": Case(
        {"errorCategory": "permission", "isRetryable": False, "description": "The agent may not issue refunds"},
        "PERMISSION",
        False,
    ),
    "success false": Case(
        {"success": False, "message": "User 7 does not exist", "code": "USER_NOT_FOUND"}, "NOT_FOUND", False
    ),
    "ok false": Case({"ok": False, "error": "channel_not_found"}, "NOT_FOUND", False, code="NOT_FOUND"),
    "error true": Case({"error": True, "message": "Forbidden", "statusCode": 403}, "PERMISSION", False),
    "status error": Case(
        {"status": "error", "error_code": "quota_exceeded", "reason": "Monthly quota used"}, "PERMISSION", False
    ),
    "problem details": Case(
        {"type": "https://api.example/problems/locked", "title": "Locked", "status": 423, "detail": "Row 9 is locked"},
        "CONFLICT",
        False,
    ),
    "problem details with a delay": Case(
        {"type": "about:blank", "title": "Too Many Requests", "status": 429, "retry-after": 12}, "TRANSIENT", True, 12
    ),
    "GraphQL": Case(
        {
            "data": None,
            "errors": [{"message": "No such issue", "path": ["issue"], "extensions": {"code": "NOT_FOUND"}}],
        },
        "NOT_FOUND",
        False,
    ),
    "GraphQL, unauthenticated": Case(
        {"errors": [{"message": "Sign in first", "extensions": {"code": "UNAUTHENTICATED"}}]}, "PERMISSION", False
    ),
    "JSON:API": Case(
        {
            "errors": [
                {
                    "status": "422",
                    "code": "invalid_attribute",
                    "detail": "must not be blank",
                    "source": {"pointer": "/data/attributes/title"},
                }
            ]
        },
        "VALIDATION",
        False,
    ),
    "Google with RetryInfo": Case(
        {
            "error": {
                "code": 429,
                "status": "RESOURCE_EXHAUSTED",
                "message": "Quota exceeded for requests per minute",
                "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}],
            }
        },
        "TRANSIENT",
        True,
        34,
    ),
    "gRPC failed precondition": Case(
        {"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "The table is not empty"}},
        "CONFLICT",
        False,
    ),
    "AWS": Case({"__type": "com.amazon.coral#ThrottlingException", "message": "Rate exceeded"}, "TRANSIENT", True),
    "boto": Case({"Error": {"Code": "NoSuchKey", "Message": "The key is not there"}}, "NOT_FOUND", False),
    "Azure": Case(
        {"error": {"code": "BadRequest", "message": "Bad", "innererror": {"code": "ResourceNotFound"}}},
        "NOT_FOUND",
        False,
    ),
    "Stripe": Case(
        {
            "error": {
                "type": "card_error",
                "code": "card_declined",
                "decline_code": "insufficient_funds",
                "message": "Your card was declined.",
            }
        },
        "VALIDATION",
        False,
        code="PAYMENT_DECLINED",
    ),
    "OpenAI": Case(
        {
            "error": {
                "message": "You exceeded your current quota",
                "type": "insufficient_quota",
                "param": None,
                "code": "insufficient_quota",
            }
        },
        "PERMISSION",
        False,
    ),
    "Anthropic": Case(
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "TRANSIENT", True
    ),
    "Elasticsearch": Case(
        {
            "error": {
                "root_cause": [{"type": "index_not_found_exception", "reason": "no such index [a]"}],
                "type": "index_not_found_exception",
                "reason": "no such index [a]",
            },
            "status": 404,
        },
        "NOT_FOUND",
        False,
    ),
    "MongoDB": Case(
        {"ok": 0, "errmsg": "E11000 duplicate key", "code": 11000, "codeName": "DuplicateKey"}, "CONFLICT", False
    ),
    "FastAPI": Case(
        {"detail": [{"loc": ["body", "amount"], "msg": "ensure this value is greater than 0", "type": "value_error"}]},
        "VALIDATION",
        False,
        field="amount",
    ),
    "Rails": Case({"errors": {"email": ["is not a valid address"]}}, "VALIDATION", False, field="email"),
    "ASP.NET": Case(
        {
            "title": "One or more validation errors occurred.",
            "status": 400,
            "errors": {"Amount": ["The field Amount must be positive."]},
            "traceId": "00-af",
        },
        "VALIDATION",
        False,
        field="amount",
    ),
    "NestJS": Case({"statusCode": 404, "message": "Cannot find order 12", "error": "Not Found"}, "NOT_FOUND", False),
    "Spring": Case(
        {"timestamp": "2026-11-15T12:00:00Z", "status": 503, "error": "Service Unavailable", "path": "/orders"},
        "TRANSIENT",
        True,
    ),
    "axios": Case(
        {
            "message": "Request failed with status code 409",
            "name": "AxiosError",
            "code": "ERR_BAD_REQUEST",
            "status": 409,
            "response": {"data": {"message": "Already shipped"}},
        },
        "CONFLICT",
        False,
    ),
    "OAuth": Case(
        {"error": "invalid_grant", "error_description": "The refresh token has expired"}, "PERMISSION", False
    ),
    "JSON inside JSON": Case({"error": '{"code": "RATE_LIMITED", "retry_after_seconds": 9}'}, "TRANSIENT", True, 9),
    "a time to retry at": Case(
        {"error": {"code": "THROTTLED", "message": "Slow down", "retryAt": "2026-11-15T12:00:45Z"}},
        "TRANSIENT",
        True,
        45,
    ),
    "an ISO duration": Case({"error": {"type": "rate_limit", "backoff": "PT1M30S"}}, "TRANSIENT", True, 90),
    "an epoch": Case(
        {"error": {"code": "RATE_LIMITED", "message": "Limit", "x-ratelimit-reset": int(NOW) + 20}},
        "TRANSIENT",
        True,
        20,
    ),
    "headers of the answer": Case(
        {"status": 429, "body": "Too Many Requests", "headers": {"Retry-After": "17"}}, "TRANSIENT", True, 17
    ),
    "permanent": Case(
        {"error": {"message": "Account closed", "permanent": True, "code": "ACCOUNT_CLOSED"}}, "INTERNAL", False
    ),
    "category beside a code nobody knows": Case(
        {"code": "E4711", "category": "not_found", "message": "Nothing there"}, "NOT_FOUND", False
    ),
    "exception class": Case(
        {"exception": "TimeoutError", "message": "deadline exceeded", "retry": True}, "TRANSIENT", True
    ),
}


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
    assert found.origin == "read" or found.fields  # a validator's text is read by its own rule


# The same with bodies that the tables were not written for.
MORE_BODIES: list[tuple[Any, str]] = [
    ({"error": {"type": "rate_limit_exceeded", "message": "Slow down", "retryAfterSeconds": 12}}, "TRANSIENT True 12"),
    ({"error": {"kind": "Timeout", "message": "The operation took too long", "transient": True}}, "TRANSIENT True -"),
    ({"success": False, "error": {"code": "AUTH_EXPIRED", "message": "Token expired"}}, "PERMISSION False -"),
    ({"success": False, "errors": ["name is required"]}, "VALIDATION False -"),
    (
        {
            "ok": False,
            "error_code": 429,
            "description": "Too Many Requests: retry after 35",
            "parameters": {"retry_after": 35},
        },
        "TRANSIENT True 35",
    ),
    ({"status": "fail", "data": {"title": "A title is required"}}, "VALIDATION False -"),
    ({"status": "error", "code": "INSUFFICIENT_PERMISSIONS", "message": "You cannot do this"}, "PERMISSION False -"),
    ({"result": "error", "error": {"errorCode": "DUPLICATE_RECORD", "errorMessage": "exists"}}, "CONFLICT False -"),
    (
        {"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.InvalidApiKey"}}},
        "PERMISSION False -",
    ),
    ({"errors": [{"code": 88, "message": "Rate limit exceeded"}]}, "TRANSIENT True -"),
    (
        {
            "error": {
                "message": "(#4) Application request limit reached",
                "type": "OAuthException",
                "code": 4,
                "is_transient": True,
                "fbtrace_id": "x",
            }
        },
        "TRANSIENT True -",
    ),
    ({"errorMessages": [], "errors": {"summary": "You must specify a summary of the issue."}}, "VALIDATION False -"),
    ({"message": "Not Found", "documentation_url": "https://docs.github.com/rest"}, "NOT_FOUND False -"),
    (
        {"message": "API rate limit exceeded for 1.2.3.4", "documentation_url": "https://docs.github.com/rest"},
        "TRANSIENT True -",
    ),
    (
        {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]},
        "VALIDATION False -",
    ),
    (
        {"object": "error", "status": 409, "code": "conflict_error", "message": "Conflict occurred while saving"},
        "CONFLICT - -",
    ),
    (
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": 'pods "a" not found',
            "reason": "NotFound",
            "code": 404,
        },
        "NOT_FOUND False -",
    ),
    (
        {
            "kind": "Status",
            "status": "Failure",
            "reason": "TooManyRequests",
            "details": {"retryAfterSeconds": 5},
            "code": 429,
        },
        "TRANSIENT True 5",
    ),
    (
        {
            "code": 20003,
            "message": "Authenticate",
            "more_info": "https://www.twilio.com/docs/errors/20003",
            "status": 401,
        },
        "PERMISSION False -",
    ),
    ({"message": "You are being rate limited.", "retry_after": 64.57, "global": False}, "TRANSIENT True 64.57"),
    ({"code": 50013, "message": "Missing Permissions"}, "PERMISSION False -"),
    ({"code": "42P01", "message": 'relation "x" does not exist', "hint": None, "details": None}, "NOT_FOUND False -"),
    ({"error": "TABLE_NOT_FOUND"}, "NOT_FOUND False -"),
    (
        {
            "error": {
                "code": "itemNotFound",
                "message": "Item not found",
                "innerError": {"request-id": "a", "date": "2026"},
            }
        },
        "NOT_FOUND False -",
    ),
    (
        {
            "error": {"code": "TooManyRequests", "message": "Please retry", "innerError": {}},
            "headers": {"Retry-After": "10"},
        },
        "TRANSIENT True 10",
    ),
    ({"Type": "User", "message": "1 validation error detected", "__type": "ValidationException"}, "VALIDATION False -"),
    (
        {
            "error": {
                "code": 503,
                "message": "The model is overloaded. Please try again later.",
                "status": "UNAVAILABLE",
            }
        },
        "TRANSIENT True -",
    ),
    (
        {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: must be positive"}},
        "VALIDATION False -",
    ),
    (
        {"error": {"category": "RATE_LIMIT", "subCategory": "x", "message": "You have reached your secondly limit."}},
        "TRANSIENT True -",
    ),
    (
        {"status": "error", "message": "Contact already exists", "correlationId": "aeb5", "category": "CONFLICT"},
        "CONFLICT False -",
    ),
    (
        {"tool": "x", "failure": {"reason": "upstream_timeout", "retry": {"allowed": True, "after_seconds": 4}}},
        "TRANSIENT True 4",
    ),
    ({"err": {"name": "NotFoundError", "msg": "nope"}}, "NOT_FOUND False -"),
    ({"error": {"status": 403, "title": "Forbidden", "can_retry": False}}, "PERMISSION False -"),
    ({"error": "Too many requests", "retryInSeconds": 20}, "TRANSIENT True 20"),
    ({"error": "Too many requests", "retry_after": "2 minutes"}, "TRANSIENT True 120"),
    ({"error": "Busy", "retryAfter": "Sun, 15 Nov 2026 12:00:30 GMT"}, "CONFLICT True 30"),
    (
        {"error": {"reason": "quotaExceeded", "domain": "usageLimits", "message": "Quota exceeded"}},
        "PERMISSION False -",
    ),
    (
        {
            "error": {
                "errors": [{"domain": "global", "reason": "notFound", "message": "Not Found: Table x"}],
                "code": 404,
                "message": "Not Found: Table x",
            }
        },
        "NOT_FOUND False -",
    ),
    ({"detail": "Authentication credentials were not provided."}, "PERMISSION False -"),
    ({"detail": "Request was throttled. Expected available in 42 seconds."}, "TRANSIENT True 42"),
    ({"exception": {"class": "PermissionDenied", "message": "no access to bucket"}}, "PERMISSION False -"),
    ({"title": "Conflict", "status": 409, "detail": "Version mismatch", "code": "VERSION_MISMATCH"}, "CONFLICT - -"),
    ({"error": True, "code": 404, "reason": "No such document"}, "NOT_FOUND False -"),
    (
        {"statusCode": 500, "error": "Internal Server Error", "message": "An internal server error occurred"},
        "TRANSIENT - -",
    ),
    ({"errors": [{"status": "503", "title": "Service Unavailable"}]}, "TRANSIENT True -"),
    ({"isError": True, "errorCode": "RESOURCE_LOCKED", "retryable": True, "retryAfterMs": 250}, "CONFLICT True 0.25"),
    (
        {
            "code": "ENOENT",
            "errno": -2,
            "syscall": "open",
            "path": "/a",
            "message": "ENOENT: no such file or directory, open '/a'",
        },
        "NOT_FOUND False -",
    ),
    ({"code": "ECONNREFUSED", "syscall": "connect", "address": "127.0.0.1", "port": 5432}, "TRANSIENT True -"),
    ({"code": "ETIMEDOUT", "message": "connect ETIMEDOUT"}, "TRANSIENT True -"),
    (
        {
            "error": {
                "code": "E1001",
                "severity": "high",
                "type": "validation_error",
                "field": "amount",
                "message": "amount too small",
            }
        },
        "VALIDATION False -",
    ),
    ({"errorType": "TemporaryFailure", "isTemporary": True, "userMessage": "Please try later"}, "TRANSIENT True -"),
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("body", "expected"), MORE_BODIES)
def test_a_structured_error_of_another_shape_is_understood_too(body: Any, expected: str, place: Any) -> None:
    type_, retryable, delay = expected.split()

    found = fw.read(place(body), tool="x", arguments={"amount": -1, "title": ""}, now=NOW)

    assert found is not None
    assert found.type == type_
    assert retryable in ("-", str(found.retryable))
    assert found.retry_after == (None if delay == "-" else float(delay))
    assert fw.decide(found).action != "retry"


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


# The payload that lies: each row has two places that contradict each other, and what is believed.
def result(text: str, structured: Any = None) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": True, "structuredContent": structured}


PRECEDENCE: dict[str, tuple[Any, tuple[str, str | None, bool | None, float | None]]] = {
    "a stated flag beats the words of the text": (
        result("404 Not Found", {"retryable": True}),
        ("NOT_FOUND", "NOT_FOUND", True, None),
    ),
    "a stated code beats the words of the text": (
        result("Connection refused", {"error": {"code": "FORBIDDEN"}}),
        ("PERMISSION", "FORBIDDEN", False, None),
    ),
    "a stated code beats the words beside it": (
        result('{"error": {"code": "PERMISSION_DENIED", "message": "Too many requests, retry in 9 s"}}'),
        ("PERMISSION", "FORBIDDEN", False, None),
    ),
    "who says no to a retry is believed, in the text": (
        result('{"retryable": false}', {"error": {"code": "RATE_LIMITED", "retryable": True}}),
        ("TRANSIENT", "RATE_LIMITED", False, None),
    ),
    "who says no to a retry is believed, in the structured content": (
        result('{"error": {"code": "RATE_LIMITED", "retryable": true}}', {"retryable": False}),
        ("TRANSIENT", "RATE_LIMITED", False, None),
    ),
    "the longest delay counts": (
        result('{"error": {"code": "RATE_LIMITED", "retry_after": 60}}', {"retry_after": 5}),
        ("TRANSIENT", "RATE_LIMITED", True, 60),
    ),
    "structured content goes before JSON in the text": (
        result('{"error": {"code": "NOT_FOUND"}}', {"error": {"code": "RATE_LIMITED"}}),
        ("TRANSIENT", "RATE_LIMITED", True, None),
    ),
    "a status that says what happened goes before a code that says who is at fault": (
        result('{"error": {"code": "INTERNAL_ERROR", "status": 429}}'),
        ("TRANSIENT", "RATE_LIMITED", True, None),
    ),
    "data of a JSON-RPC error goes before its number": (
        {"code": -32602, "message": "No", "data": {"error": {"code": "RATE_LIMITED"}}},
        ("TRANSIENT", "RATE_LIMITED", True, None),
    ),
    "a dialect goes before any other shape": (
        result('{"type": "NOT_FOUND", "message": "m", "recoverable": false}', {"error": {"code": "RATE_LIMITED"}}),
        ("NOT_FOUND", None, False, None),
    ),
}


@pytest.mark.parametrize("name", PRECEDENCE)
def test_a_payload_that_contradicts_itself_is_resolved_by_stated_precedence(name: str) -> None:
    what, expected = PRECEDENCE[name]

    found = fw.read(what)

    assert found is not None
    assert (found.type, found.code, found.retryable, found.retry_after) == expected


@pytest.mark.parametrize("place", [as_text, behind_words, as_structured_content, as_rpc_data])
def test_the_address_that_was_requested_is_no_argument(place: Any) -> None:
    spring = {"timestamp": "2026-01-01T00:00:00Z", "status": 422, "error": "Unprocessable Entity", "path": "/orders"}
    pointer = {"code": "INVALID_ARGUMENT", "message": "It must be a number", "path": "/items/0/price"}

    requested, blamed = fw.read(place(spring)), fw.read(place(pointer))

    assert requested is not None
    assert blamed is not None
    assert requested.fields == ()
    assert [problem.path for problem in blamed.fields] == ["items[0].price"]


def test_what_a_payload_states_beside_the_error_is_kept() -> None:
    body = {
        "error": {
            "code": "resource_missing",
            "message": "No such order",
            "hint": "List the orders",
            "limit": 5,
            "request_id": "r-1",
            "docs_url": "https://docs.example/orders",
        }
    }

    found = fw.read(as_text(body))

    assert found == fw.Failure(
        code="NOT_FOUND",
        message="No such order",
        suggestion="List the orders",
        docs_url="https://docs.example/orders",
        id="r-1",
        details={"code": "resource_missing", "limit": 5},
        origin="read",
        confidence=0.95,
    )


def test_a_code_nobody_knows_survives_under_the_type_that_the_rest_tells() -> None:
    found = fw.read(as_text({"error": {"code": "WIDGET_JAMMED", "category": "conflict", "message": "It is jammed"}}))

    assert found is not None
    assert (found.type, found.code) == ("CONFLICT", "WIDGET_JAMMED")


def test_a_payload_that_is_not_understood_claims_nothing_and_stays_as_it_was() -> None:
    text = '{"error":{"code":"WIDGET_JAMMED","message":"Blorp"}}'

    found = fw.read(result(text))

    assert found is not None
    assert (found.retryable, found.outcome, found.message) == (None, "unknown", text)
    assert found.confidence is not None
    assert found.confidence < 0.7


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Error code: 429 - {'error': {'message': 'Slow', 'code': 'rate_limit_exceeded', 'param': None}}",
            "RATE_LIMITED",
        ),
        ("<Error><Code>NoSuchKey</Code><Message>Nope</Message></Error>", "NOT_FOUND"),
        ("S3 said <?xml version='1.0'?><Error><Code>SlowDown</Code></Error>", "RATE_LIMITED"),
    ],
)
def test_objects_that_python_or_xml_wrote_are_read(text: str, code: str) -> None:
    found = fw.read(result(text))

    assert found is not None
    assert (found.code, found.origin) == (code, "read")


@pytest.mark.parametrize("rest", [{}, {"limits": (1, 2.5)}], ids=["almost JSON", "with a tuple"])
@pytest.mark.parametrize(
    "said",
    ["None of 'these' is True", 'He said "no", it\'s False', "an odd\tone", "Größe: 5 €", "It is None", 'a "big" word'],
)
def test_a_text_in_an_object_that_python_wrote_stays_as_it_was(said: str, rest: dict[str, Any]) -> None:
    body = {"code": "RATE_LIMITED", "message": said, "retry_after": None, "retryable": True, **rest}

    found = fw.read(result(f"The API said: {body}"))

    assert found is not None
    assert (found.code, found.retryable, found.origin) == ("RATE_LIMITED", True, "read")
    assert said in found.message


def test_what_the_caller_sent_is_not_taken_for_an_error() -> None:
    body = {"success": False, "error": "It could not be stored", "data": {"status": 404, "code": "RATE_LIMITED"}}

    found = fw.read(as_text(body))

    assert found is not None
    assert found.code is None


@pytest.mark.parametrize(
    "what", [{"id": 1, "error": None}, {"code": "ABC", "name": "x"}, {"errors": []}, {"status": 404, "url": "x"}, "{}"]
)
def test_an_object_that_nobody_flagged_and_that_declares_no_error_is_none(what: Any) -> None:
    assert fw.read(what) is None


def test_an_object_that_nobody_flagged_is_read_if_it_declares_an_error() -> None:
    found = fw.read({"error": {"code": "RATE_LIMITED", "retry_after": 30}})

    assert found is not None
    assert (found.code, found.retry_after) == ("RATE_LIMITED", 30)


# Tasks.
TASKS: list[tuple[dict[str, Any], str | None]] = [
    ({"taskId": "1", "status": "failed", "statusMessage": "Rate limit exceeded"}, "RATE_LIMITED"),
    ({"status": "failed", "error": {"code": -32603, "message": "Connection refused"}}, "CONNECTION_REFUSED"),
    ({"status": "failed", "error": {"code": "NOT_FOUND", "message": "No such row"}}, "NOT_FOUND"),
    ({"status": "failed", "error": "Permission denied"}, "FORBIDDEN"),
    ({"task": {"taskId": "1", "status": "failed", "error": {"code": "RATE_LIMITED"}}}, "RATE_LIMITED"),
    ({"status": "completed", "result": result("Permission denied")}, "FORBIDDEN"),
    ({"status": "completed", "result": {**result("Permission denied"), "isError": False}}, None),
    ({"taskId": "1", "status": "working"}, None),
    ({"taskId": "1", "status": "input_required", "statusMessage": "Error: which one?"}, None),
    ({"status": "input_required", "error": "which one?"}, None),
    ({"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}}, None),
]


@pytest.mark.parametrize("is_answer", [False, True])
@pytest.mark.parametrize(("task", "code"), TASKS)
def test_tasks_that_failed_are_failures_and_questions_are_not(
    task: dict[str, Any], code: str | None, is_answer: bool
) -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "result": task} if is_answer else task)

    assert (found and found.code) == code


# JSON-RPC.
@pytest.mark.parametrize("number", range(-32019, -31999))
def test_numbers_that_every_server_uses_as_it_likes_leave_it_to_the_words(number: int) -> None:
    found = [fw.read({"code": number, "message": text}, tool="x") for text in ("Oh dear", "Rate limit exceeded")]

    assert [one and (one.code, one.type) for one in found] == [(None, "INTERNAL"), ("RATE_LIMITED", "TRANSIENT")]
    assert found[0] is not None
    assert found[0].retryable is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": -32000, "message": "Connection closed"}, "CONNECTION_LOST"),
        ({"code": -32001, "message": "Request 'tools/call' timed out"}, "TIMEOUT"),
        ({"code": -32001, "message": "MCP error -32001: Request timed out"}, "TIMEOUT"),
        (
            {"code": 408, "message": "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds."},
            "TIMEOUT",
        ),
        ({"code": -32002, "message": "Nope", "data": {"uri": "file:///x"}}, "NOT_FOUND"),
        ({"code": -32602, "message": "Nope", "data": {"uri": "file:///x"}}, "NOT_FOUND"),
        ({"code": -32020, "message": "m"}, "INVALID_ARGUMENT"),
        ({"code": -32021, "message": "m"}, "CONFIG_ERROR"),
        ({"code": -32022, "message": "m"}, "CONFIG_ERROR"),
        ({"code": -32023, "message": "m", "data": {"retryAfterMs": 7000}}, "RATE_LIMITED"),
        ({"code": -32600, "message": "Session terminated"}, "SESSION_LOST"),
        ({"code": 32600, "message": "Session terminated"}, "SESSION_LOST"),
        ({"code": -32000, "message": "Bad Request: No valid session ID provided"}, "SESSION_LOST"),
        ({"code": -32001, "message": "Session not found"}, "SESSION_LOST"),
        ({"code": -32600, "message": "Not Found: Invalid or expired session ID"}, "SESSION_LOST"),
        ({"code": -32601, "message": "Session not found"}, "METHOD_NOT_FOUND"),
    ],
)
def test_numbers_that_an_sdk_or_the_protocol_gives_a_meaning_have_it(error: dict[str, Any], code: str) -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "error": error})

    assert found is not None
    assert found.code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"code": -32000, "message": "Tool failed", "data": "Connection refused"}, "CONNECTION_REFUSED"),
        ({"code": -32603, "message": "Internal error", "data": "No such user: bob"}, "NOT_FOUND"),
        ({"code": -32603, "message": "Internal error", "data": 'HTTP 409: {"message": "Locked"}'}, "CONFLICT"),
        ({"code": -32000, "message": "boom", "data": "x" * 20}, None),
    ],
)
def test_data_that_is_a_text_is_read_like_the_message(error: dict[str, Any], code: str | None) -> None:
    found = fw.read({"jsonrpc": "2.0", "id": 1, "error": error})

    assert found is not None
    assert found.code == code
    assert found.details["data"] == error["data"]


def test_a_lost_session_is_neither_missing_nor_wrong_input_and_may_have_had_an_effect() -> None:
    found = fw.read({"code": -32600, "message": "Session terminated"})

    assert found is not None
    assert (found.code, found.type, found.outcome) == ("SESSION_LOST", "TRANSIENT", "unknown")
    assert fw.decide(found).action == "verify"


def test_a_tool_that_speaks_of_a_session_of_its_own_has_not_lost_the_clients() -> None:
    found = fw.read(result("Session not found"))

    assert found is not None
    assert found.code == "NOT_FOUND"


# Batches.
BATCHES: dict[str, tuple[Any, list[Any], int]] = {
    "a list of results": (
        {"results": [{"id": "a", "status": "ok"}, {"id": "b", "status": "error", "error": {"code": "NOT_FOUND"}}]},
        ["b"],
        1,
    ),
    "Elasticsearch bulk": (
        {
            "errors": True,
            "items": [
                {"index": {"_id": "1", "status": 201}},
                {"index": {"_id": "2", "status": 409, "error": {"type": "x", "reason": "a b"}}},
            ],
        },
        ["2"],
        1,
    ),
    "SQS": ({"Successful": [{"Id": "1"}, {"Id": "3"}], "Failed": [{"Id": "2", "Code": "InternalError"}]}, ["2"], 2),
    "GraphQL": ({"data": {"a": {"id": 1}, "b": None}, "errors": [{"message": "b is gone", "path": ["b"]}]}, ["b"], 1),
    "counts": ({"succeeded": 3, "failed": 1, "errors": [{"id": 9, "message": "email is invalid"}]}, [9], 3),
    "flags": (
        {
            "success": False,
            "results": [{"to": "a@x", "success": True}, {"to": "b@x", "success": False, "error": "full"}],
        },
        ["b@x"],
        1,
    ),
    "statuses": ({"responses": [{"id": "1", "status": 200}, {"id": "2", "status": 429}]}, ["2"], 1),
    "a bare list": ([{"id": 1, "ok": True}, {"id": 2, "ok": False, "error": "x y"}], [2], 1),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_of_which_some_items_failed_is_no_total_failure(name: str, place: Any) -> None:
    body, failed, succeeded = BATCHES[name]

    found = fw.read(place(body))

    assert found is not None
    assert (found.code, found.outcome, found.retryable) == ("PARTIAL_FAILURE", "executed", False)
    assert [item["item"] for item in found.failed_items] == failed
    assert found.details["succeeded"] == succeeded
    decision = fw.decide(found)
    assert (decision.action, decision.suggestion) == (
        "stop",
        "Do not repeat the whole call. The other items succeeded.",
    )


@pytest.mark.parametrize(
    "body",
    [
        {"results": [{"id": "a", "status": "error"}, {"id": "b", "status": "error"}]},
        {"results": [{"id": "a", "status": "ok"}, {"id": "b", "status": "ok"}]},
        {"data": None, "errors": [{"message": "gone", "path": ["b"]}]},
        {"errors": [{"message": "email is invalid"}, {"message": "name is missing"}]},
    ],
)
def test_what_failed_as_a_whole_is_no_partial_failure(body: Any) -> None:
    found = fw.read(as_text(body))

    assert found is not None
    assert found.code != "PARTIAL_FAILURE"


@pytest.mark.parametrize("dialect", [name for name in fw.dialects.DIALECTS if name != "meta"])
def test_the_items_that_failed_survive_in_the_text_of_a_dialect(dialect: str) -> None:
    found = fw.read(as_text(BATCHES["a list of results"][0]))
    assert found is not None
    wire = fw.encode(found, dialect)
    del wire["_meta"]["dev.failwell/failure"]

    again = fw.read(wire)

    assert again is not None
    assert (
        again.failed_items
        == found.failed_items
        == ({"index": 1, "item": "b", "code": "NOT_FOUND", "message": "NOT_FOUND"},)
    )
    assert again.outcome == "executed"


def test_a_reader_of_words_alone_is_told_which_items_failed() -> None:
    found = fw.read(as_text(BATCHES["counts"][0]))

    assert found is not None
    assert found.message == "1 of 4 items failed: 9: email is invalid"


# Whatever stands under the keys that mean something.
TELLING_KEYS = [
    "error",
    "errors",
    "code",
    "type",
    "reason",
    "status",
    "message",
    "detail",
    "details",
    "retryable",
    "permanent",
    "retry_after",
    "retryDelay",
    "retry",
    "headers",
    "field",
    "path",
    "loc",
    "source",
    "category",
    "recovery",
    "hint",
    "data",
    "results",
    "items",
    "success",
    "ok",
    "failed",
    "succeeded",
    "request_id",
    "docs_url",
    "__type",
    "extensions",
    "isError",
    "content",
    "taskId",
    "result",
    "version",
    "error_code",
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["NOT_FOUND", "429", "failed", "2026-11-15T12:00:00Z", "PT5S", "{}", '{"code": 1}', "#/a/0", "no"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(TELLING_KEYS), inner, max_size=5),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(st.sampled_from(TELLING_KEYS), values, max_size=6))
def test_no_error_object_breaks_the_reader(body: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()

    for place in PLACES:
        fw.read(place(body), tool="x", arguments=ARGUMENTS, unflagged=True)
    fw.read(body)
    fw.read({"jsonrpc": "2.0", "id": 1, "result": body})

    assert not caplog.records


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ([{"mode": "url", "url": "https://auth.example/connect"}], " The user must open https://auth.example/connect"),
        (
            [
                {
                    "mode": "url",
                    "elicitationId": "550e8400",
                    "url": "https://bank.example/confirm?x=1",
                    "message": "This field is required: confirm the payment.",
                }
            ],
            " The user must open https://bank.example/confirm?x=1",
        ),
        ([{"mode": "url", "url": "javascript:alert(1)"}, {"url": 5}, "https://x.example"], ""),
        ([{"url": "https://x.example/ and tell nobody"}], ""),
        ([{"url": "https://x.example/" + "a" * 600}], ""),
        (None, ""),
    ],
    ids=["address", "as the protocol asks", "none that can be opened", "words", "long", "nothing"],
)
def test_the_address_is_shown_that_the_user_must_open(asked: object, shown: str) -> None:
    error = {"code": -32042, "message": "Connect your account.", "data": {"elicitations": asked}}

    failure = fw.read({"jsonrpc": "2.0", "id": 1, "error": error})

    assert failure is not None
    assert failure.message == f"Connect your account.{shown}"
    assert fw.decide(failure).action == "escalate"


@pytest.mark.parametrize("number", [-32000, -32002, -32010])
def test_nothing_is_claimed_of_a_protocol_error_that_nobody_understands(number: int) -> None:
    found = fw.read(
        {"jsonrpc": "2.0", "id": 1, "error": {"code": number, "message": "Frobnication level nine"}}, tool="x"
    )

    assert found is not None
    assert (found.code, found.retryable, found.recoverable, found.confidence) == (None, None, True, 0.0)
    assert found.message == "Frobnication level nine"


@pytest.mark.parametrize("before", ["", "Error executing tool x: upstream said: "])
def test_a_map_of_fields_says_which_were_refused(before: str) -> None:
    body = {"email": ["Enter a valid email address."], "age": ["This field is required."]}

    found = fw.read({"content": [{"type": "text", "text": before + json.dumps(body)}], "isError": True})

    assert found is not None
    assert found.type == "VALIDATION"


def test_words_do_not_contradict_a_server_that_says_that_a_call_may_be_made_again() -> None:
    body = {"code": "E_TABS", "message": "Too many tabs open", "retryable": True, "wait": "PT10S"}

    found = fw.read({"content": [{"type": "text", "text": json.dumps(body)}], "isError": True})

    assert found is not None
    assert (found.type, found.retryable, found.retry_after) == ("TRANSIENT", True, 10)
