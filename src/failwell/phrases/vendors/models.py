"""Error codes of model providers, and of services that search and read the web for models."""

from failwell.phrases.meanings import BROKEN, FAULT, MISSING, Rows, by_code
from failwell.phrases.vendor_shapes import Vendor

MODEL_ROWS: Rows = (
    ("QUOTA_EXHAUSTED", "*insufficient_quota *billing_hard_limit_reached *enforced_spend_limit_reached"),
    ("QUOTA_EXHAUSTED", "storage_quota_exceeded"),
    ("PAYMENT_REQUIRED", "*billing_not_active *billing_error"),
    ("FORBIDDEN", "organization_on_hold account_deactivated unsupported_country_region_territory"),
    ("FORBIDDEN", "*permission_error mismatched_organization ip_not_authorized"),
    ("RATE_LIMITED", "ramp_limit_exceeded rate_limit_exceeded *rate_limit_error tokens requests"),
    ("OVERLOADED", "*overloaded_error *server_overloaded"),
    ("UPSTREAM_TIMEOUT", "*timeout_error"),
    ("UPSTREAM_ERROR", "*server_error"),
    (FAULT, "api_error"),
    ("UNAUTHORIZED", "*authentication_error *invalid_api_key invalid_organization"),
    ("NOT_FOUND", "*not_found_error *model_not_found"),
    ("PAYLOAD_TOO_LARGE", "*request_too_large *context_length_exceeded"),
    ("PAYLOAD_TOO_LARGE", "string_above_max_length array_above_max_length"),
    ("INVALID_ARGUMENT", "unsupported_parameter unsupported_value unknown_parameter invalid_value invalid_type"),
    ("INVALID_ARGUMENT", "integer_below_min_value integer_above_max_value invalid_image invalid_json_schema"),
    ("INVALID_ARGUMENT", "invalid_function_parameters"),
    (MISSING, "missing_required_parameter"),
    ("VALIDATION_ERROR", "content_policy_violation content_filter moderation_blocked"),
    ("PRECONDITION_FAILED", "memory_precondition_failed_error"),
    ("CONFLICT", "conflict_error"),
)
MODEL = by_code(MODEL_ROWS)
"""Codes and types of OpenAI, Anthropic and providers with the same API."""

BRAVE_ROWS: Rows = (
    ("UNAUTHORIZED", "SUBSCRIPTION_TOKEN_INVALID SUBSCRIPTION_TOKEN_MISSING SUBSCRIPTION_NOT_FOUND"),
    ("RATE_LIMITED", "RATE_LIMITED"),
    ("QUOTA_EXHAUSTED", "QUOTA_LIMITED"),
    ("INVALID_ARGUMENT", "VALIDATION"),
    ("FORBIDDEN", "OPTION_NOT_IN_PLAN RESOURCE_NOT_ALLOWED"),
    ("NOT_FOUND", "NOT_FOUND"),
    (FAULT, "INTERNAL"),
)

FIRECRAWL_ROWS: Rows = (
    ("UPSTREAM_TIMEOUT", "SCRAPE_TIMEOUT MAP_TIMEOUT"),
    (BROKEN, "SCRAPE_ALL_ENGINES_FAILED SCRAPE_SITE_ERROR SCRAPE_PDF_PREFETCH_FAILED SCRAPE_PDF_ANTIBOT_ERROR"),
    ("TLS_VERIFY_FAILED", "SCRAPE_SSL_ERROR"),
    ("HOST_NOT_FOUND", "SCRAPE_DNS_RESOLUTION_ERROR"),
    ("INVALID_ARGUMENT", "SCRAPE_PDF_INSUFFICIENT_TIME_ERROR SCRAPE_ACTION_ERROR BAD_REQUEST"),
    ("UNSUPPORTED_MEDIA_TYPE", "SCRAPE_UNSUPPORTED_FILE_ERROR"),
    ("FORBIDDEN", "SCRAPE_ZDR_VIOLATION_ERROR"),
    ("PARSE_ERROR", "BAD_REQUEST_INVALID_JSON"),
    ("UPSTREAM_ERROR", "SCRAPE_RACED_REDIRECT_ERROR"),
    (FAULT, "UNKNOWN_ERROR"),
)

EXA_ROWS: Rows = (
    ("UNAUTHORIZED", "INVALID_API_KEY"),
    ("QUOTA_EXHAUSTED", "NO_MORE_CREDITS API_KEY_BUDGET_EXCEEDED"),
    ("FORBIDDEN", "ACCESS_DENIED FEATURE_DISABLED PROHIBITED_CONTENT ROBOTS_FILTER_FAILED"),
    ("INVALID_ARGUMENT", "INVALID_REQUEST INVALID_REQUEST_BODY INVALID_URLS INVALID_NUM_RESULTS INVALID_JSON_SCHEMA"),
    ("INVALID_ARGUMENT", "NUM_RESULTS_EXCEEDED"),
    ("NOT_FOUND", "NO_CONTENT_FOUND CRAWL_NOT_FOUND"),
    ("RATE_LIMITED", "RATE_LIMIT_EXCEEDED"),
    ("UPSTREAM_TIMEOUT", "CRAWL_TIMEOUT"),
    (BROKEN, "FETCH_DOCUMENT_ERROR UNABLE_TO_GENERATE_RESPONSE"),
    (FAULT, "INTERNAL_ERROR DEFAULT_ERROR"),
)
"""What Exa calls `tag`."""

APIFY_ROWS: Rows = (
    ("NOT_FOUND", "record-not-found page-not-found actor-not-found record-or-token-not-found"),
    ("UNAUTHORIZED", "user-or-token-not-found token-not-provided token-not-valid"),
    ("FORBIDDEN", "insufficient-permissions full-permission-actor-not-approved actor-is-not-rented access-forbidden"),
    ("RATE_LIMITED", "rate-limit-exceeded"),
    ("QUOTA_EXHAUSTED", "not-enough-usage-to-run-paid-actor actor-memory-limit-exceeded monthly-usage-limit-too-low"),
    ("QUOTA_EXHAUSTED", "platform-feature-disabled concurrent-runs-limit-exceeded"),
    ("INVALID_ARGUMENT", "invalid-input invalid-value invalid-request invalid-parameter"),
    ("PARSE_ERROR", "invalid-json"),
    ("ALREADY_EXISTS", "actor-name-already-taken access-right-already-exists"),
    (FAULT, "internal-server-error"),
)

NEWSAPI_ROWS: Rows = (
    ("UNAUTHORIZED", "apiKeyInvalid apiKeyMissing apiKeyDisabled"),
    ("QUOTA_EXHAUSTED", "apiKeyExhausted maximumResultsReached"),
    ("INVALID_ARGUMENT", "parameterInvalid sourcesTooMany"),
    (MISSING, "parametersMissing"),
    ("RATE_LIMITED", "rateLimited"),
    ("NOT_FOUND", "sourceDoesNotExist"),
    (FAULT, "unexpectedError"),
)

MODELS: tuple[Vendor, ...] = (
    Vendor(
        "OpenAI, Anthropic",
        (*MODEL_ROWS, ("INVALID_ARGUMENT", "invalid_request_error")),
        (
            "error.param error.type:str",
            "type=error error.type:str",
            "error.type=invalid_request_error",
            "error.type=insufficient_quota",
            "error.type=server_error",
            "error.type=tokens",
            "error.type=requests",
            "error.type:str error.code error.message:str",
            "error.type=api_error",
        ),
    ),
    Vendor("Brave", BRAVE_ROWS, ("type=ErrorResponse",)),
    Vendor("Firecrawl", FIRECRAWL_ROWS, ("success=false error:str code:str",)),
    Vendor("Exa", EXA_ROWS, ("tag:str requestId:str",), ("tag",)),
    Vendor("Apify", APIFY_ROWS, ("error.type:str error.message:str",)),
    Vendor("NewsAPI", NEWSAPI_ROWS, ("status=error code:str",)),
)
