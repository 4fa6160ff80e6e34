"""Rules for SDKs of services: OpenAI and Anthropic, GitHub, Slack, Stripe, Salesforce, Dropbox."""

from typing import Any

from failwell.exceptions.http import as_list, at, guessed_code, read_body, verdict_for_answer
from failwell.exceptions.rules import Family, Rule, Verdict, otherwise, peek
from failwell.phrases import names
from failwell.phrases.meanings import BUG, fields_of, not_executed
from failwell.phrases.vendor_codes import known_code
from failwell.phrases.vendors.commerce import SALESFORCE, STRIPE
from failwell.phrases.vendors.messages import SLACK
from failwell.phrases.vendors.models import MODEL

_MOST_TAGS = 5
_GITHUB_LEAST_WAIT = 60  # seconds, as GitHub's documentation asks for where an answer says nothing


def model_answer(exc: Any) -> Verdict:
    """Depends on the code or type in the body, which beats the HTTP status; streams carry errors with status 200."""
    body = peek(exc, "body")
    named = (peek(exc, "error_code"), peek(exc, "code"), peek(exc, "type"), *read_body(body).codes)
    meaning = next((MODEL[name] for name in named if isinstance(name, str) and name in MODEL), None)
    response = peek(exc, "response")
    status = peek(response, "status_code") or peek(exc, "status_code")
    return verdict_for_answer(status, peek(response, "headers"), {"error": body}, meaning=meaning) or "UPSTREAM_ERROR"


def model_connection(exc: Any) -> Verdict:
    """Depends on the HTTP client's error behind it."""
    cause = peek(exc, "__cause__")
    if isinstance(cause, BaseException):
        return cause
    return "UPSTREAM_TIMEOUT" if "Timeout" in type(exc).__name__ else "CONNECTION_LOST"


def github_answer(exc: Any) -> Verdict:
    """Depends on the codes in the body and the HTTP status; 405 says that the state does not allow it."""
    status = peek(exc, "status")
    meaning = "PRECONDITION_FAILED" if status == 405 else None
    return verdict_for_answer(status, peek(exc, "headers"), peek(exc, "data"), meaning=meaning)


def github_limit(exc: Any) -> Verdict:
    """Depends on the headers for the delay; the limit arrives as 403."""
    verdict = verdict_for_answer(peek(exc, "status"), peek(exc, "headers"), meaning="RATE_LIMITED")
    return {"retry_after": _GITHUB_LEAST_WAIT, **fields_of(verdict or "RATE_LIMITED")}


def slack_answer(exc: Any) -> Verdict:
    """Depends on `error` in the answer, else on its HTTP status."""
    response = peek(exc, "response")
    data = peek(response, "data") or response
    name = at(data, "error")
    name = name if isinstance(name, str) else ""
    status, headers = peek(response, "status_code"), peek(response, "headers")
    found = verdict_for_answer(status, headers, meaning=SLACK.get(name))
    if found is None and name:
        return {"code": names.code_of(name) or "INVALID_ARGUMENT", "outcome": "rejected"}
    return found or "UPSTREAM_ERROR"


def stripe_answer(exc: Any) -> Verdict:
    """Depends on the error code, else on the HTTP status; `stripe-should-retry` has the last word."""
    body = peek(exc, "json_body")
    code = peek(exc, "code") or at(body, "error", "code")
    meaning = STRIPE.get(code) if isinstance(code, str) else None
    return verdict_for_answer(peek(exc, "http_status"), peek(exc, "headers"), body, meaning=meaning)


def salesforce_answer(exc: Any) -> Verdict:
    """Depends on the first `errorCode` in the answer, else on its HTTP status."""
    content = peek(exc, "content")
    code = at(content, 0, "errorCode")
    meaning = SALESFORCE.get(code) if isinstance(code, str) else None
    return verdict_for_answer(peek(exc, "status"), None, content, meaning=meaning)


def dropbox_answer(exc: Any) -> Verdict:
    """Depends on the innermost tag of the error that the route declares."""
    error, found = peek(exc, "error"), None
    for _ in range(_MOST_TAGS):
        tag = peek(error, "_tag")
        if not isinstance(tag, str):
            break
        found = guessed_code(tag) or found
        error = peek(error, "_value")
    return {"code": found, "outcome": "rejected"} if found else None


def reddit_answer(exc: Any) -> Verdict:
    """Depends on the type of its first error: Reddit refuses what was sent, or how often."""
    first = next(iter(peek(exc, "items") or ()), None)
    return "RATE_LIMITED" if peek(first, "error_type") == "RATELIMIT" else "INVALID_ARGUMENT"


_MODEL_PROVIDERS: dict[str, Rule] = {
    "APIStatusError": model_answer,
    "APIError": model_answer,
    "APIConnectionError": model_connection,
    "APIResponseValidationError": "BAD_UPSTREAM_RESPONSE",
}


def graphql_answer(exc: Any) -> Verdict:
    """Depends on `extensions.code` of the errors in the answer."""
    codes = read_body({"errors": as_list(peek(exc, "errors"))}).codes
    found = next((code for said in codes if (code := known_code(said) or guessed_code(said))), None)
    return None if found is None else {"code": found, "outcome": "unknown"}


RULES: Family = {
    "gql": {
        "TransportQueryError": otherwise(graphql_answer, "INTERNAL_ERROR"),
        "TransportClosed": "CONNECTION_LOST",
    },
    "telebot": {"ApiInvalidJSONException": "BAD_UPSTREAM_RESPONSE"},
    "groq cerebras together cloudflare perplexity": _MODEL_PROVIDERS,
    "openai": {
        **_MODEL_PROVIDERS,
        "OpenAIError": "CONFIG_ERROR",
        "ContentFilterFinishReasonError": {"code": "VALIDATION_ERROR", "outcome": "executed"},
        "LengthFinishReasonError": {"code": "PAYLOAD_TOO_LARGE", "outcome": "executed"},
        "InvalidWebhookSignatureError": "UNAUTHORIZED",
        "WebSocketConnectionClosedError": "CONNECTION_LOST",
        "WebSocketQueueFullError": "SERVER_BUSY",
    },
    "anthropic": {
        **_MODEL_PROVIDERS,
        "AnthropicError": "CONFIG_ERROR",
        "EnforcedSpendLimitReachedError": "QUOTA_EXHAUSTED",
        "CMEKKeyDisabledError": "CONFIG_ERROR",
        "CMEKKeyNetworkBlockedError": "CONFIG_ERROR",
        "OrganizationOnHoldError": "FORBIDDEN",
        "OrganizationTypeNotSupportedError": "FORBIDDEN",
        "ClaudeCodeKeyCreatorNotMemberError": "FORBIDDEN",
        "APIWebhookValidationError": "UNAUTHORIZED",
        "CredentialsError": not_executed("UNAUTHORIZED"),
        "WorkloadIdentityError": not_executed("UNAUTHORIZED"),
        "RetryableError": "SERVICE_UNAVAILABLE",
    },
    "github": {
        "GithubException": github_answer,
        "RateLimitExceededException": github_limit,
        "BadCredentialsException": "UNAUTHORIZED",
        "TwoFactorException": "UNAUTHORIZED",
        "BadUserAgentException": "CONFIG_ERROR",
        "BadAttributeException": "BAD_UPSTREAM_RESPONSE",
        "IncompletableObject": BUG,
    },
    "slack_sdk": {
        "SlackApiError": slack_answer,
        "SlackClientError": "INTERNAL_ERROR",
        "SlackRequestError": "CONNECTION_LOST",
        "SlackClientNotConnectedError": not_executed("CONNECTION_LOST"),
        "SlackClientConfigurationError": "CONFIG_ERROR",
        "SlackObjectFormationError": not_executed("INVALID_ARGUMENT"),
        "BotUserAccessError": "FORBIDDEN",
        "SlackTokenRotationError": not_executed("UNAUTHORIZED"),
    },
    "stripe": {
        "StripeError": stripe_answer,
        "APIConnectionError": model_connection,
        "CardError": "PAYMENT_DECLINED",
        "IdempotencyError": "IDEMPOTENCY_MISMATCH",
        **dict.fromkeys(("AuthenticationError", "SignatureVerificationError", "TemporarySessionExpiredError",
                         "InvalidGrantError", "InvalidClientError"), "UNAUTHORIZED"),
        **dict.fromkeys(("PermissionError", "BlockedByStripeError", "FeatureNotEnabledError",
                         "CapabilityNotEnabledError", "InvalidScopeError",
                         "ControlledByAlternateResourceError"), "FORBIDDEN"),
        **dict.fromkeys(("AlreadyCanceledError", "NotCancelableError", "FinancialAccountNotOpenError",
                         "FxQuoteNeedsRefreshError", "VerificationExpiredError", "VerificationNotInitiatedError",
                         "CannotProceedError"), "PRECONDITION_FAILED"),
        **dict.fromkeys(("InvalidPaymentMethodError", "InvalidPayoutMethodError", "RecipientNotNotifiableError",
                         "InvalidVaultedCredentialError", "VerificationAttemptFailedError", "UnsupportedGrantTypeError",
                         "UnsupportedResponseTypeError"), "INVALID_ARGUMENT"),
        "InsufficientFundsError": "PAYMENT_DECLINED",
        "QuotaExceededError": "QUOTA_EXHAUSTED",
    },
    "simple_salesforce": {"SalesforceError": salesforce_answer},
    "dropbox": {"ApiError": dropbox_answer},
    "msal": {"MsalServiceError": not_executed("UNAUTHORIZED")},
    "praw": {"RedditAPIException": reddit_answer},
    "youtube_transcript_api": {"CouldNotRetrieveTranscript": "NOT_FOUND", "RequestBlocked": "FORBIDDEN"},
    "aiogram": {"ClientDecodeError": "BAD_UPSTREAM_RESPONSE"},
    "mastodon": {"MastodonMalformedEventError": "BAD_UPSTREAM_RESPONSE"},
    "hvac": {"InvalidPath": "NOT_FOUND"},
    "wikipedia": {"PageError": "NOT_FOUND"},
}  # fmt: skip
