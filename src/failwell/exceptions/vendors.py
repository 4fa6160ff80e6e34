"""Rules for SDKs of services: OpenAI and Anthropic, GitHub, Slack, Stripe, and what automates other programs."""

from typing import Any

from failwell.exceptions import automation
from failwell.exceptions.http import at, read_body, verdict_for_answer
from failwell.exceptions.rules import Rule, Rules, Verdict, peek
from failwell.phrases import names
from failwell.phrases.meanings import BUG, Meaning, fields_of, not_executed

_GITHUB_LEAST_WAIT = 60  # seconds, as GitHub's documentation asks for where an answer says nothing

# Codes and types of model providers; what is not here is read from the body as for any service.
_MODEL_CODES: dict[str, Meaning] = {
    "insufficient_quota": "QUOTA_EXHAUSTED",
    "billing_hard_limit_reached": "QUOTA_EXHAUSTED",
    "enforced_spend_limit_reached": "QUOTA_EXHAUSTED",
    "storage_quota_exceeded": "QUOTA_EXHAUSTED",
    "billing_not_active": "PAYMENT_REQUIRED",
    "billing_error": "PAYMENT_REQUIRED",
    "organization_on_hold": "FORBIDDEN",
    "account_deactivated": "FORBIDDEN",
    "unsupported_country_region_territory": "FORBIDDEN",
    "ramp_limit_exceeded": "RATE_LIMITED",
    "rate_limit_exceeded": "RATE_LIMITED",
    "rate_limit_error": "RATE_LIMITED",
    "overloaded_error": "OVERLOADED",
    "server_overloaded": "OVERLOADED",
    "timeout_error": "UPSTREAM_TIMEOUT",
    "server_error": "UPSTREAM_ERROR",
    "authentication_error": "UNAUTHORIZED",
    "invalid_api_key": "UNAUTHORIZED",
    "permission_error": "FORBIDDEN",
    "not_found_error": "NOT_FOUND",
    "model_not_found": "NOT_FOUND",
    "request_too_large": "PAYLOAD_TOO_LARGE",
    "context_length_exceeded": "PAYLOAD_TOO_LARGE",
    "content_policy_violation": "VALIDATION_ERROR",
    "content_filter": "VALIDATION_ERROR",
    "moderation_blocked": "VALIDATION_ERROR",
    "memory_precondition_failed_error": "PRECONDITION_FAILED",
    "conflict_error": "CONFLICT",
}


def model_answer(exc: Any) -> Verdict:
    """Depends on the code or type in the body, which beats the HTTP status; streams carry errors with status 200."""
    body = peek(exc, "body")
    named = (peek(exc, "error_code"), peek(exc, "code"), peek(exc, "type"), *read_body(body).codes)
    meaning = next((_MODEL_CODES[name] for name in named if isinstance(name, str) and name in _MODEL_CODES), None)
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


_SLACK_ERRORS: dict[str, Meaning] = {
    **dict.fromkeys(("ratelimited", "rate_limited", "accesslimited", "message_limit_exceeded"), "RATE_LIMITED"),
    **dict.fromkeys(("not_authed", "invalid_auth", "account_inactive", "token_expired", "token_revoked",
                     "org_login_required", "two_factor_setup_required", "invalid_refresh_token"), "UNAUTHORIZED"),
    **dict.fromkeys(("missing_scope", "no_permission", "not_allowed_token_type", "ekm_access_denied", "access_denied",
                     "team_access_not_granted", "restricted_action", "not_in_channel", "user_is_restricted",
                     "cant_update_message", "cant_delete_message", "cannot_dm_bot", "user_is_bot", "is_bot",
                     "restricted_action_read_only_channel", "enterprise_is_restricted"), "FORBIDDEN"),
    **dict.fromkeys(("channel_not_found", "user_not_found", "users_not_found", "message_not_found", "thread_not_found",
                     "file_not_found", "no_reaction", "not_reacted", "no_such_subteam", "team_not_found"), "NOT_FOUND"),
    "file_deleted": "GONE",
    "unknown_method": "METHOD_NOT_FOUND",
    **dict.fromkeys(("method_deprecated", "deprecated_endpoint"), "DEPRECATED"),
    **dict.fromkeys(("already_reacted", "already_in_channel", "already_pinned", "name_taken", "already_starred"),
                    "ALREADY_EXISTS"),
    **dict.fromkeys(("is_archived", "already_archived", "edit_window_closed", "time_in_past", "not_archived"),
                    "PRECONDITION_FAILED"),
    **dict.fromkeys(("msg_too_long", "msg_blocks_too_long", "too_many_attachments", "file_uploads_too_large"),
                    "PAYLOAD_TOO_LARGE"),
    **dict.fromkeys(("service_unavailable", "team_added_to_org"), "SERVICE_UNAVAILABLE"),
    **dict.fromkeys(("internal_error", "fatal_error"), "UPSTREAM_ERROR"),
    "request_timeout": "UPSTREAM_TIMEOUT",
    "duplicate_message_not_found": "OUTCOME_UNKNOWN",
}  # fmt: skip


def slack_answer(exc: Any) -> Verdict:
    """Depends on `error` in the answer, else on its HTTP status."""
    response = peek(exc, "response")
    data = peek(response, "data") or response
    name = at(data, "error")
    name = name if isinstance(name, str) else ""
    status, headers = peek(response, "status_code"), peek(response, "headers")
    found = verdict_for_answer(status, headers, meaning=_SLACK_ERRORS.get(name))
    if found is None and name:
        return {"code": names.code_of(name) or "INVALID_ARGUMENT", "outcome": "rejected"}
    return found or "UPSTREAM_ERROR"


_STRIPE_CODES: dict[str, Meaning] = {
    "resource_missing": "NOT_FOUND",
    "livemode_mismatch": "NOT_FOUND",
    "resource_already_exists": "ALREADY_EXISTS",
    "lock_timeout": "LOCK_TIMEOUT",
    "idempotency_key_in_use": {"code": "RESOURCE_BUSY", "retryable": True},
    "rate_limit": "RATE_LIMITED",
    "balance_insufficient": "PAYMENT_DECLINED",
    "insufficient_funds": "PAYMENT_DECLINED",
    "api_key_expired": "UNAUTHORIZED",
    "platform_api_key_expired": "UNAUTHORIZED",
    "secret_key_required": "FORBIDDEN",
    "testmode_charges_only": "FORBIDDEN",
    "account_invalid": "FORBIDDEN",
    **dict.fromkeys(("payment_intent_unexpected_state", "setup_intent_unexpected_state", "charge_already_captured",
                     "charge_already_refunded", "charge_disputed", "invoice_not_editable", "subscription_canceled"),
                    "PRECONDITION_FAILED"),
}  # fmt: skip


def stripe_answer(exc: Any) -> Verdict:
    """Depends on the error code, else on the HTTP status; `stripe-should-retry` has the last word."""
    body = peek(exc, "json_body")
    code = peek(exc, "code") or at(body, "error", "code")
    meaning = _STRIPE_CODES.get(code) if isinstance(code, str) else None
    return verdict_for_answer(peek(exc, "http_status"), peek(exc, "headers"), body, meaning=meaning)


_MODEL_PROVIDERS: dict[str, Rule] = {
    "APIStatusError": model_answer,
    "APIError": model_answer,
    "APIConnectionError": model_connection,
    "APIResponseValidationError": "BAD_UPSTREAM_RESPONSE",
}

_TABLES: dict[str, dict[str, Rule]] = {
    **dict.fromkeys(("groq", "cerebras", "together", "cloudflare", "perplexity"), _MODEL_PROVIDERS),
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
}  # fmt: skip

RULES: Rules = {
    **{(package, name): rule for package, rows in _TABLES.items() for name, rule in rows.items()},
    **automation.RULES,
}
