"""Error bodies as services send them: the status they come with, the code they stand for, and the body."""

BODIES: dict[str, tuple[int, str, object]] = {
    "OpenAI, quota": (
        429,
        "QUOTA_EXHAUSTED",
        {"error": {"message": "hunter2", "type": "insufficient_quota", "code": "insufficient_quota"}},
    ),
    "OpenAI, rate": (429, "RATE_LIMITED", {"error": {"type": "requests", "code": "rate_limit_exceeded"}}),
    "OpenAI, length": (
        400,
        "PAYLOAD_TOO_LARGE",
        {"error": {"type": "invalid_request_error", "code": "context_length_exceeded"}},
    ),
    "OpenAI, key": (401, "UNAUTHORIZED", {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}),
    "Anthropic": (529, "OVERLOADED", {"type": "error", "error": {"type": "overloaded_error", "message": "hunter2"}}),
    "Anthropic, input": (400, "INVALID_ARGUMENT", {"type": "error", "error": {"type": "invalid_request_error"}}),
    "Google": (404, "NOT_FOUND", {"error": {"code": 404, "status": "NOT_FOUND", "message": "hunter2"}}),
    "Google, rate as 403": (403, "RATE_LIMITED", {"error": {"errors": [{"reason": "rateLimitExceeded"}], "code": 403}}),
    "Google, daily limit": (
        403,
        "QUOTA_EXHAUSTED",
        {"error": {"errors": [{"reason": "dailyLimitExceeded"}], "code": 403}},
    ),
    "AWS, JSON": (400, "RATE_LIMITED", {"__type": "com.amazonaws.dynamodb#ProvisionedThroughputExceededException"}),
    "AWS, condition": (400, "PRECONDITION_FAILED", {"__type": "ConditionalCheckFailedException"}),
    "AWS, XML": (
        403,
        "UNAUTHORIZED",
        "<?xml version='1.0'?><Error><Code>ExpiredToken</Code><Message>hunter2</Message></Error>",
    ),
    "AWS, XML, slow down": (503, "RATE_LIMITED", b"<Error><Code>SlowDown</Code></Error>"),
    "GitHub": (
        422,
        "INVALID_ARGUMENT",
        {"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]},
    ),
    "GitHub, taken": (
        422,
        "ALREADY_EXISTS",
        {
            "message": "Validation Failed",
            "errors": [{"resource": "Repository", "field": "name", "code": "already_exists"}],
        },
    ),
    "Stripe, card": (
        402,
        "PAYMENT_DECLINED",
        {"error": {"type": "card_error", "code": "card_declined", "message": "hunter2"}},
    ),
    "Stripe, missing": (
        404,
        "NOT_FOUND",
        {"error": {"type": "invalid_request_error", "code": "resource_missing", "param": "customer"}},
    ),
    "Stripe, lock": (400, "LOCK_TIMEOUT", {"error": {"type": "invalid_request_error", "code": "lock_timeout"}}),
    "Slack": (400, "RATE_LIMITED", {"ok": False, "error": "ratelimited"}),
    "Slack, channel": (400, "NOT_FOUND", {"ok": False, "error": "channel_not_found"}),
    "Microsoft, innermost": (
        400,
        "QUOTA_EXHAUSTED",
        {"error": {"code": "BadRequest", "innererror": {"code": "QuotaExceeded"}}},
    ),
    "Microsoft, unknown inner": (
        404,
        "NOT_FOUND",
        {"error": {"code": "ResourceNotFound", "innererror": {"code": "Xyzzy"}}},
    ),
    "JSON:API": (
        422,
        "INVALID_ARGUMENT",
        {
            "errors": [
                {"status": "422", "code": "INVALID", "source": {"pointer": "/data/attributes/age"}, "detail": "hunter2"}
            ]
        },
    ),
    "Kubernetes, taken": (
        409,
        "ALREADY_EXISTS",
        {"kind": "Status", "status": "Failure", "reason": "AlreadyExists", "code": 409},
    ),
    "Kubernetes, conflict": (
        409,
        "CONFLICT",
        {"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409},
    ),
    "GraphQL": (400, "UNAUTHORIZED", {"errors": [{"message": "hunter2", "extensions": {"code": "UNAUTHENTICATED"}}]}),
    "OAuth": (400, "UNAUTHORIZED", {"error": "invalid_grant", "error_description": "hunter2"}),
    "problem details": (
        403,
        "PAYMENT_DECLINED",
        {
            "type": "https://example.com/probs/insufficient-funds",
            "title": "hunter2",
            "detail": "hunter2",
            "status": 403,
        },
    ),
    "problem details, blank": (404, "NOT_FOUND", {"type": "about:blank", "title": "hunter2"}),
    "FastAPI": (
        422,
        "INVALID_ARGUMENT",
        {"detail": [{"loc": ["body", "items", 0, "sku"], "msg": "hunter2", "type": "missing"}]},
    ),
    "HTML": (502, "BAD_GATEWAY", "<html><body>hunter2</body></html>"),
    "words": (400, "TABLE_NOT_FOUND", {"code": "TableNotFoundException"}),
}
