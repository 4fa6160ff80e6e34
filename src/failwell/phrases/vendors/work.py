"""Error codes of services that teams plan and build with: code hosts, trackers, documents, alerts."""

from failwell.phrases.meanings import FAULT, MISSING, Rows, not_executed, outcome_unknown
from failwell.phrases.vendor_shapes import Vendor

GITHUB_ROWS: Rows = (
    ("NOT_FOUND", "missing"),
    (MISSING, "missing_field"),
    ("INVALID_ARGUMENT", "invalid unprocessable custom"),
    ("ALREADY_EXISTS", "already_exists"),
)
"""What GitHub calls `code`, of single errors."""

GITHUB_GRAPHQL_ROWS: Rows = (
    ("NOT_FOUND", "NOT_FOUND"),
    ("INVALID_ARGUMENT", "UNPROCESSABLE undefinedField argumentLiteralsIncompatible missingRequiredArguments"),
    ("INVALID_ARGUMENT", "MAX_NODE_LIMIT_EXCEEDED EXCESSIVE_PAGINATION"),
    ("FORBIDDEN", "FORBIDDEN INSUFFICIENT_SCOPES"),
    ("RATE_LIMITED", "RATE_LIMITED RATE_LIMIT"),
    ("CONCURRENT_MODIFICATION", "STALE_DATA"),
    ("SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"),
    (FAULT, "INTERNAL"),
)
"""What GitHub's GraphQL interface calls `type`."""

GITLAB_ROWS: Rows = (
    ("UNAUTHORIZED", "invalid_token invalid_grant invalid_client"),
    ("FORBIDDEN", "insufficient_scope insufficient_granular_scope"),
    ("INVALID_ARGUMENT", "invalid_request invalid_scope unsupported_grant_type"),
)

ATLASSIAN_ROWS: Rows = (
    ("NOT_FOUND", "NOT_FOUND"),
    ("INVALID_ARGUMENT", "INVALID_REQUEST_PARAMETER INVALID_REQUEST"),
    (MISSING, "MISSING_REQUIRED_PARAMETER"),
    ("UNAUTHORIZED", "UNAUTHORIZED"),
    ("FORBIDDEN", "FORBIDDEN PERMISSION_DENIED"),
    ("CONFLICT", "CONFLICT"),
    ("RATE_LIMITED", "RATE_LIMITED"),
    (FAULT, "INTERNAL_SERVER_ERROR"),
)
"""Codes of Confluence; Jira sends none."""

LINEAR_ROWS: Rows = (
    ("RATE_LIMITED", "ratelimited"),
    ("UNAUTHORIZED", "authentication_error AUTHENTICATION_ERROR"),
    ("FORBIDDEN", "forbidden feature_not_accessible FEATURE_NOT_ACCESSIBLE"),
    ("INVALID_ARGUMENT", "invalid_input user_error graphql_error INPUT_ERROR INVALID_INPUT GRAPHQL_VALIDATION_FAILED"),
    ("QUOTA_EXHAUSTED", "usage_limit_exceeded"),
    (outcome_unknown("LOCK_TIMEOUT"), "lock_timeout"),
    (FAULT, "internal_error bootstrap_error unknown other INTERNAL_SERVER_ERROR"),
    ("CONNECTION_LOST", "network_error"),
)
"""`type` in the extensions of an error of Linear, whose words stand apart, and `code`."""

NOTION_ROWS: Rows = (
    ("PARSE_ERROR", "invalid_json"),
    ("INVALID_ARGUMENT", "invalid_request invalid_request_url validation_error"),
    ("CONFIG_ERROR", "missing_version"),
    ("UNAUTHORIZED", "unauthorized invalid_grant"),
    ("FORBIDDEN", "restricted_resource"),
    ("NOT_FOUND", "object_not_found"),
    ("CONCURRENT_MODIFICATION", "conflict_error"),
    ("RATE_LIMITED", "rate_limited"),
    (FAULT, "internal_server_error"),
    ("BAD_GATEWAY", "bad_gateway"),
    ("SERVICE_UNAVAILABLE", "service_unavailable database_connection_unavailable"),
    ("UPSTREAM_TIMEOUT", "gateway_timeout"),
)

ASANA_ROWS: Rows = (
    ("PAYMENT_REQUIRED", "premium_only"),
    ("NOT_FOUND", "not_found"),
)

MONDAY_ROWS: Rows = (
    ("RATE_LIMITED", "ComplexityException COMPLEXITY_BUDGET_EXHAUSTED complexityBudgetExhausted"),
    ("RATE_LIMITED", "maxConcurrencyExceeded MAX_CONCURRENCY_EXCEEDED RateLimitExceeded IP_RATE_LIMIT_EXCEEDED"),
    ("RATE_LIMITED", "FIELD_MINUTE_RATE_LIMIT_EXCEEDED API_TEMPORARILY_BLOCKED"),
    ("QUOTA_EXHAUSTED", "DAILY_LIMIT_EXCEEDED ItemsLimitationException"),
    ("INVALID_ARGUMENT", "maxComplexityExceeded ColumnValueException CorrectedValueException InvalidArgumentException"),
    ("INVALID_ARGUMENT", "InvalidBoardIdException InvalidColumnIdException InvalidUserIdException"),
    ("INVALID_ARGUMENT", "InvalidInputException"),
    ("INVALID_ARGUMENT", "InvalidItemIdException CreateBoardException RecordInvalidException invalidUserIdException"),
    ("PAYLOAD_TOO_LARGE", "ItemNameTooLongException"),
    ("PARSE_ERROR", "JsonParseException"),
    ("CONFIG_ERROR", "InvalidVersionException"),
    ("NOT_FOUND", "ResourceNotFoundException"),
    ("FORBIDDEN", "UserUnauthorizedException UserUnauthroizedException USER_UNAUTHORIZED missingRequiredPermissions"),
    ("FORBIDDEN", "USER_ACCESS_DENIED"),
    ("PRECONDITION_FAILED", "DeleteLastGroupException"),
    (FAULT, "InternalServerError INTERNAL_SERVER_ERROR"),
)

CLICKUP_ROWS: Rows = (
    ("RATE_LIMITED", "APP_002"),
    ("UNAUTHORIZED", "OAUTH_010 OAUTH_017 OAUTH_019 OAUTH_021 OAUTH_025 OAUTH_077"),
    ("FORBIDDEN", "OAUTH_023 OAUTH_026 OAUTH_027 OAUTH_029 OAUTH_030 OAUTH_031 OAUTH_032 OAUTH_033 OAUTH_034"),
    ("FORBIDDEN", "OAUTH_035 OAUTH_036 OAUTH_037 OAUTH_038 OAUTH_039 OAUTH_040 OAUTH_041 OAUTH_042 OAUTH_043"),
    ("FORBIDDEN", "OAUTH_044 OAUTH_045"),
    ("CONFIG_ERROR", "OAUTH_007"),
    ("ALREADY_EXISTS", "OAUTH_171"),
    ("NOT_FOUND", "ITEM_013"),
)
"""What ClickUp calls `ECODE`."""

TRELLO_ROWS: Rows = (
    ("RATE_LIMITED", "API_KEY_LIMIT_EXCEEDED API_TOKEN_LIMIT_EXCEEDED API_KEY_DB_LIMIT_EXCEEDED"),
    ("RATE_LIMITED", "API_TOKEN_DB_LIMIT_EXCEEDED API_TOO_MANY_REQUESTS RATE_LIMIT_EXCEEDED"),
)

TODOIST_ROWS: Rows = (
    ("UNAUTHORIZED", "AUTH_INVALID_TOKEN UNAUTHORIZED"),
    ("FORBIDDEN", "FORBIDDEN"),
    ("NOT_FOUND", "NOT_FOUND ITEM_NOT_FOUND PROJECT_NOT_FOUND SECTION_NOT_FOUND LABEL_NOT_FOUND"),
    ("INVALID_ARGUMENT", "INVALID_ARGUMENT_VALUE BAD_REQUEST"),
    (MISSING, "REQUIRED_ARGUMENT_MISSING"),
    ("QUOTA_EXHAUSTED", "MAX_ITEMS_LIMIT_REACHED MAX_PROJECTS_LIMIT_REACHED"),
    ("RATE_LIMITED", "LIMITS_REACHED_TRY_LATER TOO_MANY_REQUESTS"),
)
"""What Todoist calls `error_tag`."""

AIRTABLE_ROWS: Rows = (
    ("UNAUTHORIZED", "AUTHENTICATION_REQUIRED"),
    ("FORBIDDEN", "INVALID_PERMISSIONS INVALID_PERMISSIONS_OR_MODEL_NOT_FOUND"),
    ("NOT_FOUND", "NOT_FOUND MODEL_ID_NOT_FOUND VIEW_NAME_NOT_FOUND ROW_DOES_NOT_EXIST"),
    ("TABLE_NOT_FOUND", "TABLE_NOT_FOUND"),
    ("COLUMN_NOT_FOUND", "UNKNOWN_FIELD_NAME"),
    ("INVALID_ARGUMENT", "INVALID_VALUE_FOR_COLUMN INVALID_REQUEST INVALID_REQUEST_UNKNOWN INVALID_REQUEST_BODY"),
    ("INVALID_ARGUMENT", "INVALID_MULTIPLE_CHOICE_OPTIONS INVALID_OFFSET_VALUE INVALID_ATTACHMENT_OBJECT"),
    ("INVALID_ARGUMENT", "INVALID_RECORDS CANNOT_UPDATE_COMPUTED_FIELD"),
    (MISSING, "INVALID_REQUEST_MISSING_FIELDS"),
    ("QUERY_ERROR", "INVALID_FILTER_BY_FORMULA"),
    ("ALREADY_EXISTS", "DUPLICATE_OR_EMPTY_FIELD_NAME DUPLICATE_TABLE_NAME"),
    ("PRECONDITION_FAILED", "LIST_RECORDS_ITERATOR_NOT_AVAILABLE"),
    ("RATE_LIMITED", "RATE_LIMIT_REACHED TOO_MANY_REQUESTS"),
    ("QUOTA_EXHAUSTED", "PUBLIC_API_BILLING_LIMIT_EXCEEDED"),
    ("PAYLOAD_TOO_LARGE", "REQUEST_BODY_TOO_LARGE"),
    (FAULT, "SERVER_ERROR"),
    ("SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE"),
)
"""What Airtable calls `type`, or `error`."""

SENTRY_ROWS: Rows = (
    ("UNAUTHORIZED", "sso-required sudo-required superuser-required 2fa-required"),
    ("FORBIDDEN", "member-disabled-over-limit email-verification-required"),
    ("GONE", "resource-moved project-moved"),
)

PAGERDUTY_ROWS: Rows = (
    (FAULT, "2000"),
    ("INVALID_ARGUMENT", "2001"),
    ("FORBIDDEN", "2010"),
    ("RATE_LIMITED", "2020"),
    ("NOT_FOUND", "2100"),
)

CONTENTFUL_ROWS: Rows = (
    ("UNAUTHORIZED", "AccessTokenInvalid"),
    ("FORBIDDEN", "AccessDenied"),
    ("NOT_FOUND", "NotFound UnknownKey"),
    ("INVALID_ARGUMENT", "InvalidEntry InvalidQuery BadRequest UnknownField ValidationFailed UnresolvedLinks"),
    ("INVALID_ARGUMENT", "UnprocessableEntity"),
    ("PARSE_ERROR", "InvalidJsonRequestBody"),
    ("CONCURRENT_MODIFICATION", "VersionMismatch"),
    ("CONFLICT", "Conflict"),
    ("RATE_LIMITED", "RateLimitExceeded"),
    (FAULT, "ServerError"),
    (not_executed("SERVICE_UNAVAILABLE"), "Hibernated"),
)
"""What Contentful calls `sys.id`."""

WORDPRESS_ROWS: Rows = (
    ("METHOD_NOT_FOUND", "rest_no_route"),
    ("UNAUTHORIZED", "rest_not_logged_in rest_cookie_invalid_nonce invalid_username incorrect_password"),
    ("UNAUTHORIZED", "woocommerce_rest_authentication_error jwt_auth_invalid_token"),
    ("FORBIDDEN", "rest_forbidden rest_forbidden_context rest_cannot_create rest_cannot_edit rest_cannot_delete"),
    ("FORBIDDEN", "rest_cannot_view rest_cannot_publish rest_user_cannot_view woocommerce_rest_cannot_view"),
    ("FORBIDDEN", "woocommerce_rest_cannot_create woocommerce_rest_cannot_edit woocommerce_rest_cannot_delete"),
    ("NOT_FOUND", "rest_post_invalid_id rest_user_invalid_id rest_term_invalid rest_comment_invalid_id"),
    ("NOT_FOUND", "rest_post_invalid_parent woocommerce_rest_product_invalid_id"),
    ("NOT_FOUND", "woocommerce_rest_shop_order_invalid_id"),
    ("INVALID_ARGUMENT", "rest_invalid_param rest_invalid_field product_invalid_sku"),
    (MISSING, "rest_missing_callback_param rest_empty_content"),
    ("PARSE_ERROR", "rest_invalid_json"),
    ("ALREADY_EXISTS", "rest_post_exists term_exists existing_user_login existing_user_email"),
    ("GONE", "rest_already_trashed"),
    ("METHOD_NOT_ALLOWED", "rest_trash_not_supported"),
    (FAULT, "db_insert_error db_update_error rest_upload_unknown_error internal_server_error"),
)

WORK: tuple[Vendor, ...] = (
    Vendor(
        "GitHub",
        GITHUB_ROWS,
        (
            "documentation_url^https://docs.github.com",
            "documentation_url^https://developer.github.com",
            "errors.0.resource:str errors.0.code:str",
        ),
    ),
    Vendor("GitHub GraphQL", GITHUB_GRAPHQL_ROWS, ("errors.0.type:str errors.0.message:str",)),
    Vendor("GitLab", GITLAB_ROWS, ("error_description:str error:str",)),
    Vendor("Atlassian", ATLASSIAN_ROWS, ("errors.0.title:str errors.0.code:str", "errorMessages")),
    Vendor(
        "Linear",
        LINEAR_ROWS,
        (
            "errors.0.extensions.type:str",
            "errors.0.extensions.userPresentableMessage",
            "errors.0.extensions.userError",
        ),
        ("errors.0.extensions.type",),
    ),
    Vendor("Notion", NOTION_ROWS, ("object=error code:str",)),
    Vendor("Asana", ASANA_ROWS, ("errors.0.help:str errors.0.error:str",)),
    Vendor(
        "monday",
        MONDAY_ROWS,
        (
            "error_code:str status_code:int",
            "error_code:str error_message:str error_data",
            "errors.0.extensions.status_code",
            "errors.0.extensions.error_data",
            "errors.0.extensions.code:str account_id",
        ),
    ),
    Vendor("ClickUp", CLICKUP_ROWS, ("ECODE:str",), ("ECODE",)),
    Vendor("Trello", TRELLO_ROWS, ("error^API_",)),
    Vendor("Todoist", TODOIST_ROWS, ("error_tag:str",)),
    Vendor("Airtable", AIRTABLE_ROWS, ("error.type:str error.message:str", "error:str")),
    Vendor("Sentry", SENTRY_ROWS, ("detail.code:str detail.message:str",)),
    Vendor(
        "PagerDuty",
        PAGERDUTY_ROWS,
        (
            "error.errors:list error.code=2001",
            "error.code=2010 error.message^Access",
            "error.code=2020 error.message^Rate",
            "error.code=2100 error.message^Not",
            "error.code=2000 error.message^An",
        ),
    ),
    Vendor("Contentful", CONTENTFUL_ROWS, ("sys.type=Error sys.id:str",), ("sys.id",)),
    Vendor("WordPress", WORDPRESS_ROWS, ("data.status:int code:str", "code^rest_", "code^woocommerce_")),
)
