"""Error codes of services that carry messages and calls, and that answer customers."""

from failwell.phrases.meanings import FAULT, MISSING, WRONG_TYPE, Rows, by_code, outcome_unknown
from failwell.phrases.vendor_shapes import Vendor

SLACK_ROWS: Rows = (
    ("RATE_LIMITED", "*ratelimited *rate_limited accesslimited message_limit_exceeded"),
    ("UNAUTHORIZED", "*not_authed *invalid_auth *account_inactive *token_expired *token_revoked"),
    ("UNAUTHORIZED", "org_login_required two_factor_setup_required invalid_refresh_token"),
    ("FORBIDDEN", "*missing_scope *no_permission *not_allowed_token_type ekm_access_denied access_denied"),
    ("FORBIDDEN", "team_access_not_granted restricted_action not_in_channel user_is_restricted"),
    ("FORBIDDEN", "cant_update_message cant_delete_message cannot_dm_bot user_is_bot is_bot"),
    ("FORBIDDEN", "restricted_action_read_only_channel enterprise_is_restricted paid_only plan_upgrade_required"),
    ("FORBIDDEN", "restricted_action_thread_only_channel restricted_action_non_threadable_channel cant_invite"),
    ("FORBIDDEN", "cant_kick_self cant_invite_self not_allowed method_not_supported_for_channel_type"),
    ("NOT_FOUND", "*channel_not_found *user_not_found users_not_found *message_not_found thread_not_found"),
    ("NOT_FOUND", "file_not_found no_reaction not_reacted no_such_subteam team_not_found canvas_not_found"),
    ("NOT_FOUND", "subteam_not_found view_not_found not_pinned bookmark_not_found invalid_scheduled_message_id"),
    ("GONE", "file_deleted expired_trigger_id"),
    ("METHOD_NOT_FOUND", "unknown_method"),
    ("DEPRECATED", "method_deprecated deprecated_endpoint"),
    ("ALREADY_EXISTS", "already_reacted already_in_channel already_pinned *name_taken already_starred"),
    ("PRECONDITION_FAILED", "is_archived already_archived edit_window_closed time_in_past not_archived"),
    ("PRECONDITION_FAILED", "time_too_far trigger_exchanged hash_conflict"),
    (MISSING, "no_text missing_post_type no_user no_channel no_file_data missing_argument"),
    ("INVALID_ARGUMENT", "invalid_arguments invalid_arg_name invalid_array_arg invalid_blocks invalid_cursor"),
    ("INVALID_ARGUMENT", "invalid_channel invalid_user invalid_name invalid_name_specials invalid_name_maxlength"),
    ("INVALID_ARGUMENT", "invalid_ts_latest invalid_ts_oldest invalid_types invalid_time invalid_post_type"),
    ("INVALID_ARGUMENT", "invalid_blocks_format invalid_attachments invalid_charset invalid_form_data invalid_limit"),
    ("PARSE_ERROR", "invalid_json json_not_object"),
    ("QUOTA_EXHAUSTED", "storage_limit_reached too_many_emoji too_many_reactions too_many_pins"),
    ("PAYLOAD_TOO_LARGE", "*msg_too_long msg_blocks_too_long too_many_attachments file_uploads_too_large"),
    ("PAYLOAD_TOO_LARGE", "too_many_users post_too_long"),
    ("SERVICE_UNAVAILABLE", "service_unavailable team_added_to_org"),
    ("UPSTREAM_ERROR", "internal_error fatal_error"),
    ("UPSTREAM_TIMEOUT", "request_timeout"),
    ("OUTCOME_UNKNOWN", "duplicate_message_not_found"),
)
SLACK = by_code(SLACK_ROWS)
"""What Slack calls `error`."""

DISCORD_ROWS: Rows = (
    ("NOT_FOUND", "10001 10002 10003 10004 10005 10006 10007 10008 10009 10010 10011 10012 10013 10014 10015 10016"),
    ("NOT_FOUND", "10020 10021 10026 10027 10029 10030 10031 10032 10036 10038 10049 10057 10059 10060 10061 10062"),
    ("NOT_FOUND", "10063 10065 10066 10067 10070 10087"),
    ("FORBIDDEN", "20001 20002 20009 20012 20018 40002 40003 40007 40061 50001 50003 50004 50005 50007 50008 50009"),
    ("FORBIDDEN", "50012 50013 50020 50021 50024 60003 160002 240000"),
    ("UNAUTHORIZED", "40001 50014 50025"),
    ("RATE_LIMITED", "20016 20022 20028 20029 30046 31001 31002"),
    ("QUOTA_EXHAUSTED", "30001 30003 30005 30007 30008 30010 30013 30015 30016 30018 30030 30031 30034 30035 30038"),
    ("QUOTA_EXHAUSTED", "30039 30040"),
    ("INVALID_ARGUMENT", "50006 50016 50033 50034 50035 50036 50041 50046 50055 50068 50083 50085 50109 50138"),
    ("PAYLOAD_TOO_LARGE", "40005 50045"),
    ("ALREADY_EXISTS", "40041 40060 160004 180000"),
    ("PRECONDITION_FAILED", "40033 40058 40066 40067 50019 160005"),
    ("SERVICE_UNAVAILABLE", "40006"),
    ("OVERLOADED", "130000"),
)
"""JSON error codes of Discord; 50035 lists the fields under `errors`."""

TELEGRAM_ROWS: Rows = (
    ("RATE_LIMITED", "FLOOD_WAIT SLOWMODE_WAIT FLOOD_PREMIUM_WAIT PEER_FLOOD"),
    ("UNAUTHORIZED", "AUTH_KEY_UNREGISTERED AUTH_KEY_INVALID SESSION_REVOKED SESSION_EXPIRED USER_DEACTIVATED"),
    ("UNAUTHORIZED", "SESSION_PASSWORD_NEEDED ACCESS_TOKEN_INVALID ACCESS_TOKEN_EXPIRED"),
    ("FORBIDDEN", "CHAT_WRITE_FORBIDDEN CHAT_ADMIN_REQUIRED USER_PRIVACY_RESTRICTED CHANNEL_PRIVATE"),
    ("FORBIDDEN", "USER_BANNED_IN_CHANNEL CHAT_SEND_MEDIA_FORBIDDEN USER_IS_BLOCKED BOT_METHOD_INVALID"),
    ("NOT_FOUND", "CHANNEL_INVALID CHAT_ID_INVALID PEER_ID_INVALID MESSAGE_ID_INVALID USERNAME_NOT_OCCUPIED"),
    ("NOT_FOUND", "USER_ID_INVALID INVITE_HASH_EXPIRED"),
    ("INVALID_ARGUMENT", "MESSAGE_EMPTY USERNAME_INVALID PHONE_NUMBER_INVALID BUTTON_DATA_INVALID"),
    ("PAYLOAD_TOO_LARGE", "MESSAGE_TOO_LONG MEDIA_CAPTION_TOO_LONG"),
    ("ALREADY_EXISTS", "USER_ALREADY_PARTICIPANT USERNAME_OCCUPIED"),
    ("PRECONDITION_FAILED", "MESSAGE_NOT_MODIFIED"),
)
"""Names of errors of Telegram; the Bot API sends the HTTP status as `error_code` and words."""

TWILIO_ROWS: Rows = (
    ("UNAUTHORIZED", "20003 20005 20101 20104 20107"),
    ("FORBIDDEN", "20006 20008 21210 21215 21408 21606 21608 21610 21614 21703 60410 63007"),
    ("NOT_FOUND", "20404 63015"),
    ("RATE_LIMITED", "20429 14107 20159 25021 63018"),
    ("INVALID_ARGUMENT", "20001 21201 21205 21211 21212 21213 21214 21217 21401 21421 21451 21609 21611 21612"),
    ("INVALID_ARGUMENT", "21617 21620 60033 63013 63016"),
    (MISSING, "21602 21603 21604 21605 21619"),
    ("METHOD_NOT_ALLOWED", "20004"),
    ("PRECONDITION_FAILED", "21218"),
    ("SERVICE_UNAVAILABLE", "20503 21730"),
    (FAULT, "20500 30008"),
)

ZOOM_ROWS: Rows = (
    ("UNAUTHORIZED", "124 4700"),
    ("FORBIDDEN", "200 1010 3003 3161 4711"),
    ("INVALID_ARGUMENT", "300"),
    ("NOT_FOUND", "404 1001 2300 3001 3301"),
    ("ALREADY_EXISTS", "1005 1009"),
    ("PRECONDITION_FAILED", "3000 3008"),
    ("RATE_LIMITED", "429"),
)

INTERCOM_ROWS: Rows = (
    (FAULT, "server_error"),
    ("INVALID_ARGUMENT", "client_error bad_request parameter_invalid data_invalid unprocessable_entity"),
    ("INVALID_ARGUMENT", "intercom_version_invalid invalid_document media_type_not_acceptable"),
    (WRONG_TYPE, "type_mismatch"),
    (MISSING, "parameter_not_found parameter_missing missing_parameter missing_authorization"),
    ("NOT_FOUND", "not_found company_not_found admin_not_found tag_not_found"),
    ("FORBIDDEN", "action_forbidden forbidden api_plan_restricted"),
    ("CONFLICT", "conflict"),
    ("ALREADY_EXISTS", "resource_conflict unique_user_constraint"),
    ("RATE_LIMITED", "rate_limit_exceeded too_many_requests"),
    ("UPSTREAM_TIMEOUT", "request_timeout"),
    ("SERVICE_UNAVAILABLE", "service_unavailable"),
    ("NOT_IMPLEMENTED", "unsupported"),
    ("UNAUTHORIZED", "unauthorized token_unauthorized token_not_found token_revoked token_blocked token_expired"),
    ("GONE", "content_not_available"),
    ("METHOD_NOT_ALLOWED", "not_restorable"),
)

ZENDESK_ROWS: Rows = (
    ("INVALID_ARGUMENT", "RecordInvalid InvalidValue InvalidFormat InvalidPaginationParameter UnprocessableEntity"),
    (MISSING, "BlankValue ParameterMissing"),
    ("NOT_FOUND", "RecordNotFound"),
    ("METHOD_NOT_FOUND", "InvalidEndpoint"),
    ("ALREADY_EXISTS", "DuplicateValue"),
    ("CONCURRENT_MODIFICATION", "DatabaseConflict UpdateConflict"),
    ("UNAUTHORIZED", "Unauthorized invalid_token"),
    ("FORBIDDEN", "Forbidden"),
    ("RATE_LIMITED", "APIRateLimitExceeded TooManyRequests TooManyJobs"),
    ("PAYLOAD_TOO_LARGE", "TooManyValues"),
)

FRESHDESK_ROWS: Rows = (
    (MISSING, "missing_field"),
    ("INVALID_ARGUMENT", "invalid_value invalid_field readonly_field inaccessible_field incompatible_field"),
    ("INVALID_ARGUMENT", "invalid_size no_content_required"),
    (WRONG_TYPE, "datatype_mismatch"),
    ("PARSE_ERROR", "invalid_json"),
    ("ALREADY_EXISTS", "duplicate_value"),
    ("UNAUTHORIZED", "invalid_credentials password_lockout password_expired"),
    ("FORBIDDEN", "access_denied require_feature account_suspended ssl_required only_contact"),
    ("QUOTA_EXHAUSTED", "max_agents_reached"),
    ("PRECONDITION_FAILED", "inconsistent_state"),
)

META_ROWS: Rows = (
    (FAULT, "1 131000"),
    ("SERVICE_UNAVAILABLE", "2 131016 133004"),
    ("METHOD_NOT_FOUND", "3"),
    ("RATE_LIMITED", "4 17 32 341 613 80000 80001 80002 80003 80004 80005 80006 80008 80009 80014 130429 131048"),
    ("RATE_LIMITED", "131056"),
    ("FORBIDDEN", "10 200 201 230 273 275 278 283 294 299 368 131031 131049"),
    ("INVALID_ARGUMENT", "100 131009 132000 132005 132012 131051"),
    (MISSING, "131008"),
    ("UNAUTHORIZED", "102 190 458 459 460 463 464 467 492 0"),
    ("ALREADY_EXISTS", "506"),
    ("NOT_FOUND", "803 132001 133010"),
    ("PRECONDITION_FAILED", "131047 132015 132016"),
    (outcome_unknown("SEND_FAILED"), "131026 130472"),
)
"""Numbers of the Graph API, and of WhatsApp."""

X_ROWS: Rows = (
    ("UNAUTHORIZED", "32 89 99 135 215 416 417"),
    ("NOT_FOUND", "17 34 50 144 421"),
    ("FORBIDDEN", "63 64 87 93 179 220 226 261 326 385 453"),
    ("RATE_LIMITED", "88"),
    ("QUOTA_EXHAUSTED", "185"),
    ("INVALID_ARGUMENT", "25 44 195 214"),
    ("PAYLOAD_TOO_LARGE", "186 354"),
    ("ALREADY_EXISTS", "139 187 327"),
    ("OVERLOADED", "130"),
    (FAULT, "131"),
)
"""Numbers of version 1.1; version 2 sends problem details."""

MESSAGES: tuple[Vendor, ...] = (
    Vendor("Slack", SLACK_ROWS, ("ok=false error:str",)),
    Vendor(
        "Discord",
        DISCORD_ROWS,
        (
            "code>9999 message^Unknown",
            "code>9999 message^Missing",
            "code>9999 message^Maximum",
            "code>9999 message^Cannot",
            "code=50035 errors:object",
            "code=50035 message^Invalid",
            "code=40001 message^Unauthorized",
            "code=40005 message^Request",
            "code=40060 message^Interaction",
            "code=20016 message^This",
            "code=20028 message^The",
            "code=130000 message^API",
        ),
    ),
    Vendor("Telegram", TELEGRAM_ROWS, ("ok=false description:str", "error_message:str error_code:int")),
    Vendor("Twilio", TWILIO_ROWS, ("more_info^https://www.twilio.com", "code>9999 more_info")),
    Vendor(
        "Zoom",
        ZOOM_ROWS,
        (
            "code=124 message^Invalid",
            "code=200 message",
            "code=300 message^Validation",
            "code=300 message^Request",
            "code=1001 message^User",
            "code=1005 message",
            "code=1010 message^User",
            "code=3001 message^Meeting",
            "code=3161 message",
            "code=3301 message",
            "code=4700 message",
            "code=4711 message^Invalid",
        ),
    ),
    Vendor("Intercom", INTERCOM_ROWS, ("type=error.list errors.0.code:str",)),
    Vendor("Zendesk", ZENDESK_ROWS, ("description error:str", "error.title error.message", "details error:str")),
    Vendor("Freshdesk", FRESHDESK_ROWS, ("errors.0.field:str errors.0.code:str", "code:str message:str")),
    Vendor(
        "Meta", META_ROWS, ("error.fbtrace_id", "error.error_subcode", "error.type=OAuthException"), ("error.code",)
    ),
    Vendor(
        "X",
        X_ROWS,
        (
            "errors.0.code=32 errors.0.message^Could",
            "errors.0.code=34 errors.0.message^Sorry",
            "errors.0.code=50 errors.0.message^User",
            "errors.0.code=63 errors.0.message^User",
            "errors.0.code=64 errors.0.message^Your",
            "errors.0.code=88 errors.0.message^Rate",
            "errors.0.code=89 errors.0.message^Invalid",
            "errors.0.code=130 errors.0.message^Over",
            "errors.0.code=131 errors.0.message^Internal",
            "errors.0.code=144 errors.0.message^No",
            "errors.0.code=179 errors.0.message^Sorry",
            "errors.0.code=185 errors.0.message^User",
            "errors.0.code=186 errors.0.message^Tweet",
            "errors.0.code=187 errors.0.message^Status",
            "errors.0.code=215 errors.0.message^Bad",
            "errors.0.code=326 errors.0.message^To",
            "errors.0.code=453 errors.0.message^You",
        ),
    ),
)
