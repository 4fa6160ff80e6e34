"""Error codes of services: AWS, Azure, Google, model providers, Slack, Stripe, search engines, Redis, MongoDB.

A client library knows whose codes it gets. Where nobody knows, only those count that mean the same everywhere.
"""

from failwell.phrases.language import snake
from failwell.phrases.meanings import (
    RETRY_TRANSACTION,
    Rows,
    by_code,
    by_number,
    fields_of,
    known_everywhere,
    not_executed,
)
from failwell.phrases.rpc_codes import GRPC_ROWS
from failwell.phrases.vendor_shapes import Vendor

_LONGEST_CODE = 80

AWS_ROWS: Rows = (
    ("RATE_LIMITED", "*Throttling *ThrottlingException *ThrottledException *RequestThrottledException"),
    ("RATE_LIMITED", "*RequestThrottled *TooManyRequestsException *ProvisionedThroughputExceededException"),
    ("RATE_LIMITED", "*RequestLimitExceeded *SlowDown *BandwidthLimitExceeded *LimitExceededException"),
    ("RATE_LIMITED", "*PriorRequestNotComplete *EC2ThrottledException *TransactionInProgressException"),
    ("RATE_LIMITED", "ThroughputExceeded KMSThrottlingException *TooManyRequests"),
    ("QUOTA_EXHAUSTED", "ServiceQuotaExceededException InstanceLimitExceeded VcpuLimitExceeded"),
    ("QUOTA_EXHAUSTED", "AddressLimitExceeded QuotaExceededException BucketLimitExceeded TooManyBuckets"),
    ("QUOTA_EXHAUSTED", "ResourceLimitExceeded LimitExceeded VpcLimitExceeded ResourceLimitExceededException"),
    ("QUOTA_EXHAUSTED", "LimitExceededFault"),
    ("UNAUTHORIZED", "*ExpiredToken *ExpiredTokenException *InvalidClientTokenId *UnrecognizedClientException"),
    ("UNAUTHORIZED", "*RequestExpired *InvalidAccessKeyId *SignatureDoesNotMatch *AuthFailure"),
    ("UNAUTHORIZED", "*MissingAuthenticationToken TokenRefreshRequired MissingAuthenticationTokenException"),
    ("UNAUTHORIZED", "IncompleteSignature InvalidSignatureException *InvalidToken NotAuthorizedException"),
    ("UNAUTHORIZED", "MissingSecurityHeader RequestTimeTooSkewed"),
    ("FORBIDDEN", "*AccessDenied *AccessDeniedException *UnauthorizedOperation UnauthorizedException"),
    ("FORBIDDEN", "AllAccessDisabled AccountProblem OptInRequired Blocked KMSAccessDeniedException InvalidPayer"),
    ("FORBIDDEN", "NotAuthorized ExplicitDeny Client.UnauthorizedOperation AuthorizationError"),
    ("FORBIDDEN", "AuthorizationErrorException"),
    ("NOT_FOUND", "*NoSuchKey *NoSuchBucket *NoSuchEntity NoSuchUpload NoSuchVersion 404"),
    ("NOT_FOUND", "*ResourceNotFoundException QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue"),
    ("NOT_FOUND", "NonExistentQueue InvalidGroup.NotFound InvalidInstanceID.NotFound StackSetNotFoundException"),
    ("NOT_FOUND", "ParameterNotFound RepositoryNotFoundException DBInstanceNotFound UserNotFoundException"),
    ("NOT_FOUND", "NotFoundException FunctionDoesNotExist NoSuchHostedZone"),
    ("ALREADY_EXISTS", "*BucketAlreadyExists BucketAlreadyOwnedByYou *EntityAlreadyExists"),
    ("ALREADY_EXISTS", "*ResourceAlreadyExistsException AlreadyExistsException QueueAlreadyExists"),
    ("ALREADY_EXISTS", "QueueNameExists ResourceExistsException TableAlreadyExistsException"),
    ("ALREADY_EXISTS", "InvalidGroup.Duplicate InvalidKeyPair.Duplicate DBInstanceAlreadyExists"),
    ("ALREADY_EXISTS", "UsernameExistsException"),
    ("PRECONDITION_FAILED", "*ConditionalCheckFailedException IncorrectInstanceState InvalidObjectState"),
    ("PRECONDITION_FAILED", "*PreconditionFailed DryRunOperation"),
    ({"code": "CONCURRENT_MODIFICATION", "retryable": True}, "ConditionalRequestConflict OperationAborted"),
    (RETRY_TRANSACTION, "*TransactionConflictException"),
    (not_executed("CONFLICT"), "TransactionCanceledException"),
    ("CONCURRENT_MODIFICATION", "ConcurrentModificationException OptimisticLockException"),
    ("IDEMPOTENCY_MISMATCH", "IdempotentParameterMismatch IdempotentParameterMismatchException"),
    ("IDEMPOTENCY_MISMATCH", "IdempotencyParameterMismatchException"),
    ("NOT_EMPTY", "BucketNotEmpty"),
    ("CONFLICT", "DeleteConflict DependencyViolation ResourceConflictException"),
    ("RESOURCE_BUSY", "ResourceInUseException"),
    ("OUT_OF_RANGE", "InvalidRange"),
    ("UPSTREAM_TIMEOUT", "*RequestTimeout RequestTimeoutException ModelTimeoutException"),
    ("UPSTREAM_ERROR", "InternalError *InternalFailure *InternalServerError InternalServerException"),
    ("SERVICE_UNAVAILABLE", "*ServiceUnavailable ServiceUnavailableException"),
    (not_executed("SERVICE_UNAVAILABLE"), "ModelNotReadyException"),
    (not_executed("RESOURCE_EXHAUSTED"), "InsufficientInstanceCapacity"),
    ("PAYLOAD_TOO_LARGE", "RequestEntityTooLarge RequestEntityTooLargeException *EntityTooLarge"),
    ("CONFIG_ERROR", "PermanentRedirect AuthorizationHeaderMalformed IllegalLocationConstraintException"),
)
AWS = by_code(AWS_ROWS)
"""Error codes of AWS services whose words or status say less, or something else."""

AZURE_ROWS: Rows = (
    ("SERVER_BUSY", "ServerBusy"),
    ("UPSTREAM_TIMEOUT", "OperationTimedOut"),
    ("UNAUTHORIZED", "AuthenticationFailed InvalidAuthenticationInfo"),
    ("FORBIDDEN", "AccountIsDisabled"),
    ("PRECONDITION_FAILED", "ConditionNotMet TargetConditionNotMet"),
    ("CONCURRENT_MODIFICATION", "UpdateConditionNotSatisfied"),
    ("RESOURCE_BUSY", "ContainerBeingDeleted QueueBeingDeleted TableBeingDeleted AnotherOperationInProgress"),
    ("QUOTA_EXHAUSTED", "*QuotaExceeded"),
    ("RATE_LIMITED", "SubscriptionRequestsThrottled"),
    ("NOT_EMPTY", "DirectoryNotEmpty"),
    ("LOCKED", "LeaseAlreadyPresent LeaseIdMissing LeaseIdMismatchWithBlobOperation"),
)
AZURE = by_code(AZURE_ROWS)
"""Error codes of Azure services whose words or status say less, or something else."""

GOOGLE_ROWS: Rows = (
    ("RATE_LIMITED", "*RATE_LIMIT_EXCEEDED"),
    ("QUOTA_EXHAUSTED", "RESOURCE_QUOTA_EXCEEDED"),
    ("UNAUTHORIZED", "API_KEY_INVALID API_KEY_EXPIRED CREDENTIALS_MISSING ACCESS_TOKEN_EXPIRED"),
    ("FORBIDDEN", "SERVICE_DISABLED CONSUMER_SUSPENDED"),
    ("PAYMENT_REQUIRED", "BILLING_DISABLED"),
    ("OVERLOADED", "MODEL_CAPACITY_EXHAUSTED"),
)
GOOGLE = by_code(GOOGLE_ROWS)
"""Reasons of `google.rpc.ErrorInfo` that say more than their status."""

MODEL_ROWS: Rows = (
    ("QUOTA_EXHAUSTED", "*insufficient_quota *billing_hard_limit_reached *enforced_spend_limit_reached"),
    ("QUOTA_EXHAUSTED", "storage_quota_exceeded"),
    ("PAYMENT_REQUIRED", "*billing_not_active *billing_error"),
    ("FORBIDDEN", "organization_on_hold account_deactivated unsupported_country_region_territory"),
    ("FORBIDDEN", "*permission_error"),
    ("RATE_LIMITED", "ramp_limit_exceeded rate_limit_exceeded *rate_limit_error"),
    ("OVERLOADED", "*overloaded_error *server_overloaded"),
    ("UPSTREAM_TIMEOUT", "*timeout_error"),
    ("UPSTREAM_ERROR", "*server_error"),
    ("UNAUTHORIZED", "*authentication_error *invalid_api_key"),
    ("NOT_FOUND", "*not_found_error *model_not_found"),
    ("PAYLOAD_TOO_LARGE", "*request_too_large *context_length_exceeded"),
    ("VALIDATION_ERROR", "content_policy_violation content_filter moderation_blocked"),
    ("PRECONDITION_FAILED", "memory_precondition_failed_error"),
    ("CONFLICT", "conflict_error"),
)
MODEL = by_code(MODEL_ROWS)
"""Codes and types of OpenAI, Anthropic and providers with the same API."""

SLACK_ROWS: Rows = (
    ("RATE_LIMITED", "*ratelimited *rate_limited accesslimited message_limit_exceeded"),
    ("UNAUTHORIZED", "*not_authed *invalid_auth *account_inactive *token_expired *token_revoked"),
    ("UNAUTHORIZED", "org_login_required two_factor_setup_required invalid_refresh_token"),
    ("FORBIDDEN", "*missing_scope *no_permission *not_allowed_token_type ekm_access_denied access_denied"),
    ("FORBIDDEN", "team_access_not_granted restricted_action not_in_channel user_is_restricted"),
    ("FORBIDDEN", "cant_update_message cant_delete_message cannot_dm_bot user_is_bot is_bot"),
    ("FORBIDDEN", "restricted_action_read_only_channel enterprise_is_restricted"),
    ("NOT_FOUND", "*channel_not_found *user_not_found users_not_found *message_not_found thread_not_found"),
    ("NOT_FOUND", "file_not_found no_reaction not_reacted no_such_subteam team_not_found"),
    ("GONE", "file_deleted"),
    ("METHOD_NOT_FOUND", "unknown_method"),
    ("DEPRECATED", "method_deprecated deprecated_endpoint"),
    ("ALREADY_EXISTS", "already_reacted already_in_channel already_pinned *name_taken already_starred"),
    ("PRECONDITION_FAILED", "is_archived already_archived edit_window_closed time_in_past not_archived"),
    ("PAYLOAD_TOO_LARGE", "*msg_too_long msg_blocks_too_long too_many_attachments file_uploads_too_large"),
    ("SERVICE_UNAVAILABLE", "service_unavailable team_added_to_org"),
    ("UPSTREAM_ERROR", "internal_error fatal_error"),
    ("UPSTREAM_TIMEOUT", "request_timeout"),
    ("OUTCOME_UNKNOWN", "duplicate_message_not_found"),
)
SLACK = by_code(SLACK_ROWS)
"""What Slack calls `error`."""

STRIPE_ROWS: Rows = (
    ("NOT_FOUND", "*resource_missing livemode_mismatch"),
    ("ALREADY_EXISTS", "*resource_already_exists"),
    ("LOCK_TIMEOUT", "*lock_timeout"),
    ({"code": "RESOURCE_BUSY", "retryable": True}, "*idempotency_key_in_use"),
    ("RATE_LIMITED", "*rate_limit"),
    ("PAYMENT_DECLINED", "balance_insufficient *insufficient_funds"),
    ("UNAUTHORIZED", "api_key_expired platform_api_key_expired"),
    ("FORBIDDEN", "secret_key_required testmode_charges_only account_invalid"),
    ("PRECONDITION_FAILED", "payment_intent_unexpected_state setup_intent_unexpected_state"),
    ("PRECONDITION_FAILED", "charge_already_captured charge_already_refunded charge_disputed"),
    ("PRECONDITION_FAILED", "invoice_not_editable subscription_canceled"),
)
STRIPE = by_code(STRIPE_ROWS)
"""Error codes of Stripe."""

SEARCH_ROWS: Rows = (
    ("ALREADY_EXISTS", "resource_already_exists_exception index_already_exists_exception"),
    ("CONCURRENT_MODIFICATION", "version_conflict_engine_exception"),
    ("NOT_FOUND", "index_not_found_exception"),
    ("PRECONDITION_FAILED", "index_closed_exception"),
    ("READ_ONLY", "cluster_block_exception"),
    ("RATE_LIMITED", "es_rejected_execution_exception rejected_execution_exception"),
    (not_executed("RESOURCE_EXHAUSTED"), "circuit_breaking_exception"),
    ("QUERY_ERROR", "parsing_exception query_shard_exception script_exception x_content_parse_exception"),
    ("QUERY_ERROR", "verification_exception named_object_not_found_exception"),
    ("INVALID_ARGUMENT", "mapper_parsing_exception document_parsing_exception strict_dynamic_mapping_exception"),
)
SEARCH = by_code(SEARCH_ROWS)
"""Types of errors of Elasticsearch and OpenSearch that arrive with a status which says less, or something else."""

REDIS_ROWS: Rows = (
    ("INVALID_ARGUMENT", "WRONGTYPE"),
    ("ALREADY_EXISTS", "BUSYGROUP BUSYKEY"),
    ("NOT_FOUND", "NOGROUP NOTBUSY"),
    ("RESOURCE_BUSY", "BUSY UNKILLABLE INPROG"),
    (not_executed("SERVICE_UNAVAILABLE"), "NOREPLICAS NOGOODSLAVE MISCONF"),
    ("UPSTREAM_ERROR", "IOERR"),
    ("FORBIDDEN", "DENIED"),
    ("NOT_IMPLEMENTED", "NOPROTO"),
)
REDIS = by_code(REDIS_ROWS)
"""The word that a reply of Redis begins with, where redis-py has no class of its own for it."""

MONGO_ROWS: Rows = (
    ("UNAUTHORIZED", "11 18 8000"),
    ("FORBIDDEN", "13 31 33 8003"),
    ("NOT_FOUND", "26 27 47"),
    ("GONE", "43 237"),
    ("ALREADY_EXISTS", "48 68 11000 11001 12582"),
    ("CONFLICT", "85 86 117"),
    ("CONSTRAINT_VIOLATION", "66 121"),
    ("INVALID_ARGUMENT", "2 3 4 14 15 16 20 28 40 52 53 54 55 56 57 72 73 167"),
    ("QUERY_ERROR", "9 67 168"),
    ("PAYLOAD_TOO_LARGE", "10334 17280 17419 17420"),
    ("NOT_IMPLEMENTED", "59 115 238"),
    ({"code": "QUERY_TIMEOUT", "outcome": "unknown"}, "50 262 11601"),
    ("LOCK_TIMEOUT", "24 46"),
    (RETRY_TRANSACTION, "112 225 251"),
    ({"code": "UPSTREAM_TIMEOUT"}, "64 89 202"),
    ("CONNECTION_LOST", "6 9001"),
    ("HOST_NOT_FOUND", "7"),
    ("SERVICE_UNAVAILABLE", "91 189 11600 11602"),
    (not_executed("READ_ONLY_REPLICA"), "10107 10058 13435 13436"),
    ("CONFIG_ERROR", "79 93 100"),
    (not_executed("RESOURCE_EXHAUSTED"), "146 292"),
    ("DISK_FULL", "14031"),
    (not_executed("OVERLOADED"), "462"),
)
MONGO = by_number(MONGO_ROWS)
"""Error numbers of MongoDB."""

SHARED_ROWS: Rows = (
    ("RATE_LIMITED", "*user_rate_limit_exceeded *concurrent_limit_exceeded"),
    ("QUOTA_EXHAUSTED", "*daily_limit_exceeded *credit_balance_too_low"),
    ("PAYMENT_DECLINED", "*card_declined *card_error *expired_card *incorrect_cvc"),
    ("IDEMPOTENCY_MISMATCH", "*idempotency_error"),
    ("UNAUTHORIZED", "*invalid_grant *invalid_client *unauthorized *invalid_authentication_token"),
    ("FORBIDDEN", "*forbidden *insufficient_scope *insufficient_permissions *authorization_failed"),
    ("NOT_FOUND", "*resource_not_found"),
    ("OVERLOADED", "*engine_overloaded"),
    ("UPSTREAM_ERROR", "*backend_error"),
    ("PAYLOAD_TOO_LARGE", "*string_above_max_length"),
    ("INVALID_ARGUMENT", "*validation_exception *validation_error"),
)
"""Codes that many services use."""

_ALL_ROWS = (
    AWS_ROWS,
    AZURE_ROWS,
    GOOGLE_ROWS,
    GRPC_ROWS,
    MODEL_ROWS,
    SLACK_ROWS,
    STRIPE_ROWS,
    SHARED_ROWS,
)
_KNOWN_EVERYWHERE: dict[str, str] = {
    snake(code): str(fields_of(meaning)["code"])
    for rows in _ALL_ROWS
    for code, meaning in known_everywhere(rows).items()
}


def known_code(code: str) -> str | None:
    """Return the catalog code of a service's code in any case, if it means the same with every service."""
    return _KNOWN_EVERYWHERE.get(snake(code.rpartition("#")[2])) if len(code) <= _LONGEST_CODE else None


VENDORS: tuple[Vendor, ...] = (
    Vendor("Slack", SLACK_ROWS, ("ok=false error:str",)),
    Vendor("Stripe", STRIPE_ROWS, ("error.request_log_url", "error.decline_code", "error.doc_url^https://stripe.com")),
    Vendor("Google", GOOGLE_ROWS + GRPC_ROWS, ("error.status:str error.code:int",)),
    Vendor("gRPC", GRPC_ROWS, ("grpc_status", "grpcStatus")),
    Vendor("AWS", AWS_ROWS, ("__type:str", "Error.Code:str")),
    Vendor("Azure", AZURE_ROWS, ("error.innererror", "odata.error", "error.code:str error.message:str error.target")),
    Vendor("Elasticsearch", SEARCH_ROWS, ("error.root_cause:list", "error.type:str status:int")),
    Vendor("MongoDB", MONGO_ROWS, ("codeName:str code:int", "ok=0 errmsg:str")),
    Vendor("OpenAI", MODEL_ROWS, ("error.param error.type:str", "error.type:str error.code:str")),
    Vendor("Anthropic", MODEL_ROWS, ("type=error error.type:str",)),
)
"""Services whose error objects have a shape of their own."""
