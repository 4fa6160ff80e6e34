"""Bare HTTP answers."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import failwell as fw
from failwell import codes, from_http
from failwell.phrases.http_codes import STATUSES
from tests.exceptions.bodies import BODIES


def test_the_seeds_statuses_have_the_seeds_types() -> None:
    vectors = Path(__file__).parent.parent / "data" / "vectors" / "compact.json"
    table = json.loads(vectors.read_text())["http_status_to_type"]

    assert {status: from_http(int(status)).type for status in table} == table


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_in_the_table_has_a_catalog_code(status: int) -> None:
    failure = from_http(status)

    assert codes.get(failure.code) is not None
    assert failure.http_status == status
    assert failure.message.endswith(".")
    assert failure.suggestion is None  # worded by the part that knows the tool
    assert failure.origin == "mapped"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (418, "INVALID_ARGUMENT"),
        (499, "CONNECTION_LOST"),
        (599, "UPSTREAM_TIMEOUT"),
        (555, "UPSTREAM_ERROR"),
        (999, "UPSTREAM_ERROR"),
    ],
)
def test_a_status_nobody_registered_means_what_its_class_means(status: int, code: str) -> None:
    assert from_http(status).code == code


@pytest.mark.parametrize("status", [100, 200, 204, 301, 304])
def test_an_answer_that_is_no_error_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match=f"HTTP {status} is not an error: only statuses from 400 on are failures"):
        from_http(status)


@pytest.mark.parametrize("status", [0, 99, 1000, -404])
def test_a_number_that_is_no_status_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="status must be an HTTP status such as 404"):
        from_http(status)


@pytest.mark.parametrize("status", ["404", 404.0, None, True])
def test_what_is_no_number_is_refused(status: Any) -> None:
    with pytest.raises(TypeError, match="status must be a number such as 404"):
        from_http(status)


@pytest.mark.parametrize(
    "headers",
    [{"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"}, {"Retry-After": "60"}],
    ids=["primary", "secondary"],
)
def test_a_rate_limit_sent_as_403_is_one(headers: dict[str, str]) -> None:
    failure = from_http(403, headers=headers)

    assert (failure.type, failure.code, failure.retry_after) == ("TRANSIENT", "RATE_LIMITED", 60)
    assert failure.http_status == 403


def test_a_403_with_some_of_the_limit_left_is_a_denial() -> None:
    assert from_http(403, headers={"X-RateLimit-Remaining": "10", "X-RateLimit-Reset": "60"}).code == "FORBIDDEN"


@pytest.mark.parametrize("name", ["X-Should-Retry", "Stripe-Should-Retry"])
def test_the_servers_word_on_retrying_stands(name: str) -> None:
    assert from_http(500, headers={name: "false"}).retryable is False
    assert from_http(409, headers={name: "true"}).retryable is True
    assert from_http(500, headers={name: "perhaps"}).retryable is True


def test_a_negative_pushback_forbids_retrying() -> None:
    failure = from_http(503, headers={"grpc-retry-pushback-ms": "-1"})

    assert failure.retryable is False
    assert failure.retry_after is None


@pytest.mark.parametrize("name", BODIES)
def test_bodies_of_services(name: str) -> None:
    status, code, body = BODIES[name]
    forms = [body] if isinstance(body, str | bytes) else [body, json.dumps(body), json.dumps(body).encode()]

    for form in forms:
        failure = from_http(status, body=form)

        assert (failure.code, failure.http_status) == (code, status)
        assert "hunter2" not in repr(failure)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (BODIES["FastAPI"][2], ["body.items[0].sku"]),
        (BODIES["GitHub"][2], ["title"]),
        (BODIES["JSON:API"][2], ["data.attributes.age"]),
        (BODIES["Stripe, missing"][2], ["customer"]),
        ({"error": {"details": [{"fieldViolations": [{"field": "a.b", "description": "hunter2"}]}]}}, ["a.b"]),
        ({"errors": [{"field": "hunter2 with spaces <b>", "code": "x"}]}, None),
    ],
)
def test_fields_that_a_service_blames_are_details_because_they_are_its_own(body: Any, fields: list[str] | None) -> None:
    failure = from_http(422, body=body)

    assert failure.details.get("upstream_fields") == fields
    assert failure.fields == ()


@pytest.mark.parametrize(
    ("body", "delay"),
    [
        ({"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}]}}, 12.5),
        ({"kind": "Status", "details": {"retryAfterSeconds": 5}}, 5),
        ({"retry_after": 1.25, "message": "You are being rate limited."}, 1.25),
        ({"retry_after": "soon"}, None),
    ],
)
def test_a_delay_in_the_body(body: Any, delay: float | None) -> None:
    assert from_http(429, body=body).retry_after == delay


def test_a_code_that_says_what_the_status_says_leaves_the_outcome_as_it_is() -> None:
    status, _, body = BODIES["Anthropic"]

    assert from_http(status, body=body).outcome == from_http(status).outcome == "not_executed"
    assert from_http(503, body=body).outcome == "unknown"


def test_a_header_goes_before_the_body() -> None:
    assert from_http(429, headers={"Retry-After": "3"}, body={"retry_after": 9}).retry_after == 3


def test_a_delay_on_what_does_not_pass_is_left_out() -> None:
    assert from_http(404, headers={"Retry-After": "3"}).retry_after is None


def test_a_guess_from_words_never_makes_a_server_error_safe_to_repeat() -> None:
    failure = from_http(500, body={"code": "backendConnectFailed"})

    assert failure.outcome == "unknown"


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        "{" * 100_000,
        "[" * 100_000,
        "{}" * 300_000,
        [[[[[[[[[[]]]]]]]]]],
        7,
        object(),
        {"error": None},
        {"errors": "x"},
        {"error": {"code": ["x"]}},
        {1: 2},
    ],
)
def test_a_body_that_makes_no_sense_changes_nothing(body: object) -> None:
    assert from_http(404, body=body) == from_http(404)


@pytest.mark.parametrize(
    "headers", [None, {}, [], [("Retry-After", "5")], [(b"retry-after", b"5")], {"RETRY_AFTER": 5}, 7, {"a": object()}]
)
def test_headers_in_any_shape(headers: Any) -> None:
    expected = 5 if headers and headers != 7 and "retry" in repr(headers).lower() else None

    assert from_http(429, headers=headers).retry_after == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "code", "type", "details", "field", "loc", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(st.integers(400, 599), json_values | st.text(max_size=50) | st.binary(max_size=50))
def test_no_body_makes_it_raise(status: int, body: object) -> None:
    assert from_http(status, body=body).http_status == status


SESSION = {"Mcp-Session-Id": "made-up"}


def refused(status: int, body: Any, sent: dict[str, str]) -> fw.Failure:
    """The failure in the exception of an HTTP client whose request a server of MCP refused."""
    request = httpx.Request("POST", "https://mcp.example/mcp", headers=sent)
    response = httpx.Response(status, json=body, request=request)
    return fw.from_exception(httpx.HTTPStatusError("no", request=request, response=response))


def rpc(number: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": number, "message": message}}


@pytest.mark.parametrize(
    ("status", "body", "sent", "code"),
    [
        (404, {}, SESSION, "SESSION_LOST"),
        (400, {}, SESSION, "SESSION_LOST"),
        (404, rpc(-32600, "Session not found"), SESSION, "SESSION_LOST"),
        (400, rpc(-32000, "Bad Request: No valid session ID provided"), SESSION, "SESSION_LOST"),
        (404, rpc(-32000, "Nope"), SESSION, "SESSION_LOST"),
        (404, rpc(-32601, "Method not found"), SESSION, "METHOD_NOT_FOUND"),
        (400, rpc(-32602, "Invalid params"), SESSION, "INVALID_ARGUMENT"),
        (400, rpc(-32022, "Unsupported version"), SESSION, "CONFIG_ERROR"),
        (404, {}, {}, "NOT_FOUND"),
        (400, {}, {}, "INVALID_ARGUMENT"),
        (403, {}, SESSION, "FORBIDDEN"),
    ],
)
def test_a_request_of_a_session_that_the_server_does_not_know_was_not_executed(
    status: int, body: Any, sent: dict[str, str], code: str
) -> None:
    failure = refused(status, body, sent)

    assert failure.code == code
    assert failure.http_status == status
    assert code != "SESSION_LOST" or (failure.outcome, failure.type) == ("not_executed", "TRANSIENT")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (404, rpc(-32001, "Session not found"), "SESSION_LOST"),
        (400, rpc(-32000, "Bad Request: Mcp-Session-Id header is required"), "SESSION_LOST"),
        (404, rpc(-32601, "Method not found"), "METHOD_NOT_FOUND"),
        (404, {"error": "session_not_found"}, "NOT_FOUND"),
    ],
)
def test_an_answer_alone_tells_of_a_lost_session_in_the_words_of_an_sdk(status: int, body: Any, code: str) -> None:
    failure = fw.from_http(status, body=body)

    assert failure.code == code
    assert code != "SESSION_LOST" or failure.outcome == "not_executed"


@pytest.mark.parametrize(
    ("headers", "details"),
    [
        ({"RateLimit-Policy": '"default";q=5;w=1'}, {"limit": 5, "window": 1}),
        ({"RateLimit-Policy": '"burst";q=100;w=60,"daily";q=1000;w=86400'}, {"limit": 100, "window": 60}),
        ({"RateLimit-Policy": "100;w=60"}, {"limit": 100, "window": 60}),
        ({"RateLimit-Limit": "100, 100;w=60, 5000;w=3600"}, {"limit": 100, "window": 60}),
        ({"X-RateLimit-Global": "true"}, {"scope": "global"}),
        ({"X-RateLimit-Scope": "user"}, {"scope": "user"}),
        ({"X-RateLimit-Limit": "100"}, {}),
        ({"RateLimit-Policy": "q=0;w=0"}, {}),
        ({"RateLimit-Policy": "q=" + "9" * 500}, {}),
    ],
    ids=str,
)
def test_a_stated_limit_is_kept(headers: dict[str, str], details: dict[str, object]) -> None:
    assert fw.from_http(429, headers=headers).details == details
    assert fw.from_http(503, headers=headers).details == {}


BEARER = 'Bearer error="insufficient_scope", '


@pytest.mark.parametrize(
    ("header", "scopes"),
    [
        (
            BEARER + 'scope="files:read files:write", resource_metadata="https://x.example/m"',
            ["files:read", "files:write"],
        ),
        (BEARER + 'scope="https://www.googleapis.com/auth/drive"', ["https://www.googleapis.com/auth/drive"]),
        ("Bearer error=insufficient_scope, scope=files:read, realm=x", ["files:read"]),
        (BEARER + "scope=files<b>", None),
        (BEARER + 'error_description="no"', None),
        (BEARER + 'scope="<b>ignore all of that</b>"', None),
        ('Bearer error="invalid_token", scope="files:read"', None),
        (BEARER + f'scope="{"a " * 400}"', ["a"] * 10),
    ],
    ids=["two", "address", "unquoted", "unquoted words", "none", "no scope", "another error", "many"],
)
def test_missing_scopes_are_named(header: str, scopes: list[str] | None) -> None:
    failure = fw.from_http(403, headers={"WWW-Authenticate": header})

    assert failure.code == "FORBIDDEN"
    assert failure.details.get("scopes") == scopes
    assert all(scope in failure.message for scope in scopes or ())
    assert ("the scopes " in failure.message) == (len(scopes or ()) > 1)
    assert fw.decide(failure).action == "escalate"


@pytest.mark.parametrize("status", [400, 403])
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (4, ("RATE_LIMITED", True, "not_executed")),
        (613, ("RATE_LIMITED", True, "not_executed")),
        (190, ("UNAUTHORIZED", False, "rejected")),
        (200, ("FORBIDDEN", False, "rejected")),
        (506, ("ALREADY_EXISTS", False, "rejected")),
    ],
)
def test_the_numbers_of_meta_decide_not_the_class_that_all_its_errors_have(
    status: int, number: int, expected: tuple[Any, ...]
) -> None:
    body = {"error": {"message": "planted", "type": "OAuthException", "code": number, "fbtrace_id": "A"}}

    found = fw.from_http(status, body=body)

    assert (found.code, found.retryable, found.outcome) == expected
    assert found.details == {"upstream_code": str(number)}
