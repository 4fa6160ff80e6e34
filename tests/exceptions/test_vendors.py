"""Real SDKs of services against answers on loopback."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import anthropic
import github
import openai
import pytest
import slack_sdk
import slack_sdk.web.async_client
import stripe

from tests.exceptions.caught import caught
from tests.exceptions.seen import mapped, seen
from tests.exceptions.servers import answering_whole, closing_whole, hanging_whole

SHORT = 0.2
SAID: list[Any] = [{"role": "user", "content": "planted"}]


def _openai(url: str, patience: float = 5) -> None:
    with openai.OpenAI(api_key="planted", base_url=url, max_retries=0, timeout=patience) as client:
        client.chat.completions.create(model="planted", messages=SAID)


def _openai_async(url: str, patience: float = 5) -> None:
    async def call() -> None:
        async with openai.AsyncOpenAI(api_key="planted", base_url=url, max_retries=0, timeout=patience) as client:
            await client.chat.completions.create(model="planted", messages=SAID)

    asyncio.run(call())


def _openai_stream(url: str) -> None:
    with openai.OpenAI(api_key="planted", base_url=url, max_retries=0) as client:
        for _ in client.chat.completions.create(model="planted", messages=SAID, stream=True):
            pass


def _anthropic(url: str, patience: float = 5) -> None:
    with anthropic.Anthropic(api_key="planted", base_url=url, max_retries=0, timeout=patience) as client:
        client.messages.create(model="planted", messages=SAID, max_tokens=5)


def _anthropic_async(url: str, patience: float = 5) -> None:
    async def call() -> None:
        async with anthropic.AsyncAnthropic(api_key="planted", base_url=url, max_retries=0, timeout=patience) as client:
            await client.messages.create(model="planted", messages=SAID, max_tokens=5)

    asyncio.run(call())


def _anthropic_stream(url: str) -> None:
    with anthropic.Anthropic(api_key="planted", base_url=url, max_retries=0) as client:
        for _ in client.messages.create(model="planted", messages=SAID, max_tokens=5, stream=True):
            pass


def _openai_error(code: str | None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"code": code, "type": kind, "message": "planted", "param": None}}


OPENAI = [
    (400, _openai_error(None), "VALIDATION INVALID_ARGUMENT rejected"),
    (400, _openai_error("context_length_exceeded"), "VALIDATION PAYLOAD_TOO_LARGE rejected"),
    (400, _openai_error("content_policy_violation"), "VALIDATION VALIDATION_ERROR rejected"),
    (400, _openai_error("billing_hard_limit_reached"), "PERMISSION QUOTA_EXHAUSTED rejected"),
    (401, _openai_error("invalid_api_key"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _openai_error("unsupported_country_region_territory"), "PERMISSION FORBIDDEN rejected"),
    (404, _openai_error("model_not_found"), "NOT_FOUND NOT_FOUND rejected"),
    (409, _openai_error(None), "CONFLICT CONFLICT rejected"),
    (422, _openai_error(None), "VALIDATION INVALID_ARGUMENT rejected"),
    (429, _openai_error("rate_limit_exceeded", "tokens"), "TRANSIENT RATE_LIMITED not_executed"),
    (429, _openai_error("insufficient_quota", "insufficient_quota"), "PERMISSION QUOTA_EXHAUSTED rejected"),
    (429, _openai_error(None, "insufficient_quota"), "PERMISSION QUOTA_EXHAUSTED rejected"),
    (500, _openai_error(None, "server_error"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, b"planted", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), OPENAI)
def test_the_code_of_openai_beats_its_status(serve: Callable[..., str], status: int, body: Any, expected: str) -> None:
    exc = caught(_openai, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


def _anthropic_error(kind: str, **details: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": "planted", "details": details or None}}


ANTHROPIC = [
    (400, _anthropic_error("invalid_request_error"), "VALIDATION INVALID_ARGUMENT rejected"),
    (401, _anthropic_error("authentication_error"), "PERMISSION UNAUTHORIZED rejected"),
    (402, _anthropic_error("billing_error"), "PERMISSION PAYMENT_REQUIRED rejected"),
    (403, _anthropic_error("permission_error"), "PERMISSION FORBIDDEN rejected"),
    (404, _anthropic_error("not_found_error"), "NOT_FOUND NOT_FOUND rejected"),
    (413, _anthropic_error("request_too_large"), "VALIDATION PAYLOAD_TOO_LARGE rejected"),
    (429, _anthropic_error("rate_limit_error"), "TRANSIENT RATE_LIMITED not_executed"),
    (
        429,
        _anthropic_error("rate_limit_error", error_code="enforced_spend_limit_reached"),
        "PERMISSION QUOTA_EXHAUSTED rejected",
    ),
    (500, _anthropic_error("api_error"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (504, _anthropic_error("timeout_error"), "TRANSIENT UPSTREAM_TIMEOUT unknown"),
    (529, _anthropic_error("overloaded_error"), "TRANSIENT OVERLOADED unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), ANTHROPIC)
def test_the_type_of_an_anthropic_error_beats_its_status(
    serve: Callable[..., str], status: int, body: Any, expected: str
) -> None:
    exc = caught(_anthropic, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


@pytest.mark.parametrize(
    ("stream", "event", "expected"),
    [
        (_anthropic_stream, _anthropic_error("overloaded_error"), "TRANSIENT OVERLOADED unknown"),
        (_anthropic_stream, _anthropic_error("rate_limit_error"), "TRANSIENT RATE_LIMITED not_executed"),
        (_anthropic_stream, _anthropic_error("api_error"), "TRANSIENT UPSTREAM_ERROR unknown"),
        (_openai_stream, _openai_error("rate_limit_exceeded"), "TRANSIENT RATE_LIMITED not_executed"),
        (_openai_stream, _openai_error("server_error"), "TRANSIENT UPSTREAM_ERROR unknown"),
        (_openai_stream, _openai_error("planted_by_nobody"), "TRANSIENT UPSTREAM_ERROR unknown"),
    ],
)
def test_an_error_within_a_stream_that_began_well_is_told(
    serve: Callable[..., str], stream: Callable[[str], None], event: dict[str, Any], expected: str
) -> None:
    body = b"event: error\ndata: " + json.dumps(event).encode() + b"\n\n"

    exc = caught(stream, serve(answering_whole(200, {"Content-Type": "text/event-stream"}, body)))

    assert seen(exc) == expected


@pytest.mark.parametrize("call", [_openai, _anthropic, _openai_async, _anthropic_async], ids=lambda call: call.__name__)
def test_calls_of_models_fail_before_or_while_something_is_executed(
    serve: Callable[..., str], refused: str, unanswered: str, call: Callable[..., None]
) -> None:
    assert seen(caught(call, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(call, unanswered, SHORT)) == "TRANSIENT CONNECT_TIMEOUT not_executed"
    assert seen(caught(call, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(caught(call, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, (True, 1.5)),
        ({"retry-after": "9"}, (True, 9)),
        ({"x-should-retry": "false"}, (False, None)),
    ],
)
@pytest.mark.parametrize("call", [_openai, _anthropic], ids=lambda call: call.__name__)
def test_what_a_provider_says_about_retrying_is_told(
    serve: Callable[..., str], call: Callable[..., None], headers: dict[str, str], expected: tuple[bool, float | None]
) -> None:
    failure = mapped(caught(call, serve(answering_whole(429, headers, _anthropic_error("rate_limit_error")))))

    assert (failure.code, failure.retryable, failure.retry_after) == ("RATE_LIMITED", *expected)


def test_an_unusable_answer_and_a_missing_key_are_no_fault_of_the_caller(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    url = serve(answering_whole(200, body={"choices": "planted"}))

    def strictly() -> None:
        with openai.OpenAI(api_key="planted", base_url=url, _strict_response_validation=True) as client:
            client.chat.completions.create(model="planted", messages=SAID)

    assert seen(caught(openai.OpenAI)) == "INTERNAL CONFIG_ERROR not_executed"
    assert seen(caught(strictly)) == "INTERNAL BAD_UPSTREAM_RESPONSE unknown"


def _github(url: str, patience: float = 5) -> None:
    auth = github.Auth.Token("planted")
    with github.Github(base_url=url, auth=auth, retry=None, timeout=patience, seconds_between_requests=None) as client:
        client.get_repo("planted/planted")


def _github_error(message: str = "planted", *codes: str) -> dict[str, Any]:
    errors = [{"resource": "Issue", "field": "title", "code": code} for code in codes]
    return {"message": message, "errors": errors, "documentation_url": "https://docs.example/planted"}


GITHUB = [
    (401, _github_error("Bad credentials"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _github_error("Resource not accessible planted"), "PERMISSION FORBIDDEN rejected"),
    (403, _github_error("API rate limit exceeded for planted"), "TRANSIENT RATE_LIMITED not_executed"),
    (403, _github_error("You have exceeded a secondary rate limit planted"), "TRANSIENT RATE_LIMITED not_executed"),
    (404, _github_error("Not Found"), "NOT_FOUND NOT_FOUND rejected"),
    (405, _github_error("planted is not mergeable"), "CONFLICT PRECONDITION_FAILED rejected"),
    (409, _github_error(), "CONFLICT CONFLICT rejected"),
    (410, _github_error(), "NOT_FOUND GONE rejected"),
    (422, _github_error("Validation Failed", "already_exists"), "CONFLICT ALREADY_EXISTS rejected"),
    (422, _github_error("Validation Failed", "missing_field"), "VALIDATION INVALID_ARGUMENT rejected"),
    (429, _github_error(), "TRANSIENT RATE_LIMITED not_executed"),
    (451, _github_error(), "PERMISSION LEGALLY_BLOCKED rejected"),
    (500, _github_error(), "TRANSIENT UPSTREAM_ERROR unknown"),
    (502, b"planted", "TRANSIENT BAD_GATEWAY unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), GITHUB)
def test_what_github_answers_is_told(serve: Callable[..., str], status: int, body: Any, expected: str) -> None:
    exc = caught(_github, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


def test_how_long_github_asks_to_wait_is_told(serve: Callable[..., str]) -> None:
    limited = _github_error("API rate limit exceeded for planted")
    reset = int(time.time()) + 120
    by_reset = serve(answering_whole(403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}, limited))
    by_header = serve(answering_whole(403, {"retry-after": "30"}, limited))
    unsaid = serve(answering_whole(403, {}, _github_error("You have exceeded a secondary rate limit planted")))

    assert 100 < (mapped(caught(_github, by_reset)).retry_after or 0) <= 120
    assert mapped(caught(_github, by_header)).retry_after == 30
    assert mapped(caught(_github, unsaid)).retry_after == 60


def test_github_calls_fail_before_or_while_something_is_executed(serve: Callable[..., str], refused: str) -> None:
    assert seen(caught(_github, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_github, serve(hanging_whole), 1)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"


def _slack(url: str, patience: float = 5) -> None:
    client = slack_sdk.WebClient(token="planted", base_url=f"{url}/", timeout=patience, retry_handlers=[])  # type: ignore[arg-type]
    client.chat_postMessage(channel="planted", text="planted")


def _slack_async(url: str, patience: float = 5) -> None:
    async def call() -> None:
        client = slack_sdk.web.async_client.AsyncWebClient(
            token="planted", base_url=f"{url}/", timeout=patience, retry_handlers=[]
        )
        await client.chat_postMessage(channel="planted", text="planted")

    asyncio.run(call())


SLACK = [
    (200, "channel_not_found", "NOT_FOUND NOT_FOUND rejected"),
    (200, "thread_not_found", "NOT_FOUND NOT_FOUND rejected"),
    (200, "invalid_auth", "PERMISSION UNAUTHORIZED rejected"),
    (200, "token_revoked", "PERMISSION UNAUTHORIZED rejected"),
    (200, "missing_scope", "PERMISSION FORBIDDEN rejected"),
    (200, "not_in_channel", "PERMISSION FORBIDDEN rejected"),
    (200, "ratelimited", "TRANSIENT RATE_LIMITED not_executed"),
    (429, "ratelimited", "TRANSIENT RATE_LIMITED not_executed"),
    (200, "msg_too_long", "VALIDATION PAYLOAD_TOO_LARGE rejected"),
    (200, "invalid_blocks", "VALIDATION INVALID_ARGUMENT rejected"),
    (200, "is_archived", "CONFLICT PRECONDITION_FAILED rejected"),
    (200, "already_reacted", "CONFLICT ALREADY_EXISTS rejected"),
    (200, "name_taken", "CONFLICT ALREADY_EXISTS rejected"),
    (200, "method_deprecated", "NOT_FOUND DEPRECATED rejected"),
    (200, "fatal_error", "TRANSIENT UPSTREAM_ERROR unknown"),
    (200, "service_unavailable", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
    (200, "some_planet_not_found", "NOT_FOUND NOT_FOUND rejected"),
    (200, "nobody_knows", "VALIDATION INVALID_ARGUMENT rejected"),
    (503, "", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
]


@pytest.mark.parametrize(("status", "error", "expected"), SLACK)
@pytest.mark.parametrize("call", [_slack, _slack_async], ids=lambda call: call.__name__)
def test_what_slack_answers_is_told_by_its_error(
    serve: Callable[..., str], call: Callable[..., None], status: int, error: str, expected: str
) -> None:
    exc = caught(call, serve(answering_whole(status, body={"ok": False, "error": error, "needed": "planted"})))

    assert seen(exc) == expected


@pytest.mark.parametrize("call", [_slack, _slack_async], ids=lambda call: call.__name__)
def test_how_long_slack_asks_to_wait_is_told(serve: Callable[..., str], call: Callable[..., None]) -> None:
    url = serve(answering_whole(429, {"Retry-After": "30"}, {"ok": False, "error": "ratelimited"}))

    assert mapped(caught(call, url)).retry_after == 30


def test_slack_calls_fail_before_or_while_something_is_executed(serve: Callable[..., str], refused: str) -> None:
    assert seen(caught(_slack, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_slack, serve(hanging_whole), 1)).endswith("TIMEOUT unknown")
    assert seen(caught(_slack, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"


def _stripe(url: str, patience: float = 5) -> None:
    client = stripe.StripeClient(
        "planted",
        base_addresses={"api": url},
        max_network_retries=0,
        http_client=stripe.RequestsClient(timeout=patience),
    )
    client.v1.charges.create({"amount": 100, "currency": "eur", "source": "planted"})


def _stripe_error(kind: str = "invalid_request_error", code: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"type": kind, "code": code, "message": "planted", "param": "amount", **more}}


STRIPE = [
    (400, _stripe_error(code="parameter_missing"), "VALIDATION MISSING_REQUIRED_FIELD rejected"),
    (400, _stripe_error(code="resource_missing"), "NOT_FOUND NOT_FOUND rejected"),
    (400, _stripe_error("idempotency_error"), "CONFLICT IDEMPOTENCY_MISMATCH rejected"),
    (400, _stripe_error(code="payment_intent_unexpected_state"), "CONFLICT PRECONDITION_FAILED rejected"),
    (401, _stripe_error(), "PERMISSION UNAUTHORIZED rejected"),
    (402, _stripe_error("card_error", "card_declined", decline_code="planted"), "VALIDATION PAYMENT_DECLINED rejected"),
    (402, _stripe_error("card_error", "expired_card"), "VALIDATION PAYMENT_DECLINED rejected"),
    (403, _stripe_error(), "PERMISSION FORBIDDEN rejected"),
    (404, _stripe_error(code="resource_missing"), "NOT_FOUND NOT_FOUND rejected"),
    (409, _stripe_error(code="idempotency_key_in_use"), "CONFLICT RESOURCE_BUSY rejected"),
    (429, _stripe_error(code="rate_limit"), "TRANSIENT RATE_LIMITED not_executed"),
    (429, _stripe_error(code="lock_timeout"), "TRANSIENT LOCK_TIMEOUT not_executed"),
    (500, _stripe_error("api_error"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, b"planted", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), STRIPE)
def test_the_code_of_stripe_beats_its_status(serve: Callable[..., str], status: int, body: Any, expected: str) -> None:
    exc = caught(_stripe, serve(answering_whole(status, body=body)))

    assert seen(exc) == expected


def test_what_stripe_says_about_retrying_has_the_last_word(serve: Callable[..., str]) -> None:
    never = serve(answering_whole(500, {"Stripe-Should-Retry": "false"}, _stripe_error("api_error")))
    later = serve(answering_whole(409, {}, _stripe_error(code="idempotency_key_in_use")))

    assert mapped(caught(_stripe, never)).retryable is False
    assert mapped(caught(_stripe, later)).retryable is True


def test_stripe_calls_fail_before_or_while_something_is_executed(serve: Callable[..., str], refused: str) -> None:
    assert seen(caught(_stripe, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(_stripe, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(caught(_stripe, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"
