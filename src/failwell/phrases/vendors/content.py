"""Error codes of services for files, media, maps and social sites."""

from failwell.phrases.meanings import FAULT, MISSING, Rows
from failwell.phrases.vendor_shapes import Vendor

DROPBOX_ROWS: Rows = (
    ("NOT_FOUND", "not_found path_lookup/not_found"),
    ("INVALID_ARGUMENT", "malformed_path disallowed_name invalid_cursor unsupported_content_type invalid_select_user"),
    ("WRONG_PATH_KIND", "not_file not_folder"),
    ("CONFLICT", "conflict"),
    ("ALREADY_EXISTS", "file folder file_ancestor shared_link_already_exists bad_member"),
    ("FORBIDDEN", "no_write_permission no_permission access_denied restricted_content missing_scope"),
    ("FORBIDDEN", "invalid_account_type"),
    ("FORBIDDEN", "paper_access_denied team_folder email_unverified"),
    ("QUOTA_EXHAUSTED", "insufficient_space insufficient_quota"),
    ("UNAUTHORIZED", "expired_access_token invalid_access_token user_suspended"),
    ("RATE_LIMITED", "too_many_requests too_many_write_operations"),
    ("PAYLOAD_TOO_LARGE", "too_many_files payload_too_large"),
    ("GONE", "reset expired"),
    ("LOCKED", "locked"),
    (FAULT, "internal_error"),
)
"""Tags of errors of Dropbox, which stand behind each other in `error_summary`."""

BOX_ROWS: Rows = (
    ("INVALID_ARGUMENT", "bad_request invalid_parameter item_name_invalid item_name_too_long bad_digest"),
    ("INVALID_ARGUMENT", "requested_page_out_of_range cyclical_folder_structure invalid_request_parameters"),
    (MISSING, "missing_destination content_length_required"),
    ("UNAUTHORIZED", "unauthorized password_reset_required user_email_confirmation_required"),
    ("FORBIDDEN", "forbidden forbidden_by_policy access_denied_insufficient_permissions insufficient_scope"),
    ("FORBIDDEN", "terms_of_service_required access_denied_location_blocked task_assignee_not_allowed"),
    ("FORBIDDEN", "corrs_origin_not_whitelisted"),
    ("LOCKED", "access_denied_item_locked"),
    ("NOT_FOUND", "not_found preview_cannot_be_generated"),
    ("GONE", "trashed"),
    ("ALREADY_EXISTS", "item_name_in_use user_already_collaborator user_login_already_used conflict"),
    ("PRECONDITION_FAILED", "precondition_failed not_trashed collaborations_not_available_on_root_folder"),
    ("NOT_EMPTY", "folder_not_empty"),
    ({"code": "RESOURCE_BUSY", "retryable": True}, "operation_blocked_temporary name_temporarily_reserved"),
    ({"code": "CONCURRENT_MODIFICATION"}, "sync_item_move_failure sync_state_set_failed"),
    ("QUOTA_EXHAUSTED", "storage_limit_exceeded"),
    ("PAYLOAD_TOO_LARGE", "file_size_limit_exceeded"),
    ("METHOD_NOT_ALLOWED", "method_not_allowed"),
    ("RATE_LIMITED", "rate_limit_exceeded"),
    (FAULT, "internal_server_error"),
    ("SERVICE_UNAVAILABLE", "unavailable"),
)

SPOTIFY_ROWS: Rows = (
    ("PRECONDITION_FAILED", "NO_PREV_TRACK NO_NEXT_TRACK ALREADY_PAUSED NOT_PAUSED NOT_PLAYING_LOCALLY"),
    ("PRECONDITION_FAILED", "ALREADY_PLAYING"),
    ("PRECONDITION_FAILED", "NOT_PLAYING_TRACK NOT_PLAYING_CONTEXT ENDLESS_CONTEXT CONTEXT_DISALLOW NO_SPECIFIC_TRACK"),
    ("PRECONDITION_FAILED", "DEVICE_NOT_CONTROLLABLE REMOTE_CONTROL_DISALLOW VOLUME_CONTROL_DISALLOW"),
    ("NOT_FOUND", "NO_ACTIVE_DEVICE"),
    ("PAYMENT_REQUIRED", "PREMIUM_REQUIRED"),
    ("RATE_LIMITED", "RATE_LIMITED"),
)
"""Reasons of Spotify's player; other errors have a status only."""

MAPS_ROWS: Rows = (
    ("NOT_FOUND", "ZERO_RESULTS NOT_FOUND"),
    ("RATE_LIMITED", "OVER_QUERY_LIMIT"),
    ("QUOTA_EXHAUSTED", "OVER_DAILY_LIMIT"),
    ("FORBIDDEN", "REQUEST_DENIED"),
    ("INVALID_ARGUMENT", "INVALID_REQUEST MAX_ELEMENTS_EXCEEDED MAX_DIMENSIONS_EXCEEDED MAX_WAYPOINTS_EXCEEDED"),
    ("INVALID_ARGUMENT", "MAX_ROUTE_LENGTH_EXCEEDED"),
    ("UPSTREAM_ERROR", "UNKNOWN_ERROR"),
)
"""What the older interfaces of Google Maps call `status`."""

REDDIT_ROWS: Rows = (
    ("RATE_LIMITED", "RATELIMIT"),
    ("NOT_FOUND", "SUBREDDIT_NOEXIST USER_DOESNT_EXIST"),
    ("FORBIDDEN", "SUBREDDIT_NOTALLOWED THREAD_LOCKED private banned quarantined gated"),
    ("GONE", "DELETED_LINK DELETED_COMMENT TOO_OLD"),
    ("UNAUTHORIZED", "USER_REQUIRED"),
    (MISSING, "NO_TEXT NO_SUBJECT NO_URL"),
    ("PAYLOAD_TOO_LARGE", "TOO_LONG"),
    ("ALREADY_EXISTS", "ALREADY_SUB"),
    ("INVALID_ARGUMENT", "BAD_SR_NAME BAD_URL INVALID_OPTION"),
)

CONTENT: tuple[Vendor, ...] = (
    Vendor("Dropbox", DROPBOX_ROWS, ("error_summary:str", "error.error_summary:str"), ("error_summary",)),
    Vendor("Box", BOX_ROWS, ("help_url code:str", "context_info code:str", "type=error code:str status:int")),
    Vendor("Spotify", SPOTIFY_ROWS, ("error.reason:str error.status:int",)),
    Vendor("Google Maps", MAPS_ROWS, ("error_message status:str", "status=ZERO_RESULTS", "status=OVER_QUERY_LIMIT")),
    Vendor("Reddit", REDDIT_ROWS, ("json.errors.0", "reason:str error:int")),
)
