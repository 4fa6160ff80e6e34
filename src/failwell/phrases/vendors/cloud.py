"""Error codes of clouds and of what runs in them."""

from failwell.phrases.meanings import FAULT, MISSING, RETRY_TRANSACTION, WRONG_TYPE, Rows, by_code, not_executed
from failwell.phrases.rpc_codes import GRPC, GRPC_ROWS
from failwell.phrases.vendor_shapes import Vendor

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
    ("PRECONDITION_FAILED", "*PreconditionFailed DryRunOperation DisabledException KMSInvalidStateException"),
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
    # Graph
    ("UNAUTHORIZED", "InvalidAuthenticationToken unauthenticated AuthenticationError Authorization_IdentityNotFound"),
    ("UNAUTHORIZED", "ExpiredAuthenticationToken InvalidAuthenticationTokenTenant"),
    ("FORBIDDEN", "Authorization_RequestDenied ErrorAccessDenied accessDenied AuthorizationFailed"),
    ("FORBIDDEN", "LinkedAuthorizationFailed"),
    ("FORBIDDEN", "Forbidden AuthorizationPermissionMismatch ErrorSendAsDenied"),
    ("NOT_FOUND", "Request_ResourceNotFound ErrorItemNotFound itemNotFound ResourceNotFound ResourceGroupNotFound"),
    ("NOT_FOUND", "ErrorFolderNotFound MailboxNotEnabledForRESTAPI SubscriptionNotFound BlobNotFound"),
    ("NOT_FOUND", "ContainerNotFound"),
    ("NOT_FOUND", "SecretNotFound KeyNotFound DeploymentNotFound ParentResourceNotFound NotFound MailboxNotFound"),
    ("ALREADY_EXISTS", "Request_MultipleObjectsWithSameKeyValue nameAlreadyExists BlobAlreadyExists"),
    ("ALREADY_EXISTS", "ResourceAlreadyExists"),
    ("ALREADY_EXISTS", "ContainerAlreadyExists RoleAssignmentExists StorageAccountAlreadyTaken"),
    ("INVALID_ARGUMENT", "Request_BadRequest BadRequest invalidRequest ErrorInvalidRequest ErrorInvalidIdMalformed"),
    ("INVALID_ARGUMENT", "ErrorInvalidRecipients InvalidTemplate InvalidResourceName InvalidParameter"),
    ("INVALID_ARGUMENT", "InvalidRequestContent"),
    ("INVALID_ARGUMENT", "Request_UnsupportedQuery InvalidRequestFormat invalidRange malformedEntityTag"),
    ("RATE_LIMITED", "TooManyRequests activityLimitReached ApplicationThrottled ErrorServerBusy tooManyRequests"),
    ("QUOTA_EXHAUSTED", "quotaLimitReached ErrorQuotaExceeded Directory_QuotaExceeded SkuNotAvailable"),
    ("PRECONDITION_FAILED", "resourceModified preconditionFailed ErrorIrresolvableConflict Conflict ScopeLocked"),
    ("CONFLICT", "editConflict generalConflict"),
    ("GONE", "resyncRequired SyncStateNotFound syncStateNotFound"),
    ("PAYLOAD_TOO_LARGE", "ErrorMessageSizeExceeded RequestBodyTooLarge"),
    ("NOT_IMPLEMENTED", "notSupported NotImplemented UnsupportedApiVersion"),
    ("SERVICE_UNAVAILABLE", "serviceNotAvailable ServiceUnavailable ErrorMailboxStoreUnavailable"),
    ("UPSTREAM_TIMEOUT", "GatewayTimeout ErrorTimeoutExpired"),
    (FAULT, "generalException InternalServerError ErrorInternalServerError InternalError UnknownError"),
)
AZURE = by_code(AZURE_ROWS)
"""Error codes of Microsoft Graph, and those of Azure services whose words or status say less, or something else."""

GOOGLE_ROWS: Rows = (
    ("RATE_LIMITED", "*RATE_LIMIT_EXCEEDED"),
    ("QUOTA_EXHAUSTED", "RESOURCE_QUOTA_EXCEEDED"),
    ("UNAUTHORIZED", "API_KEY_INVALID API_KEY_EXPIRED CREDENTIALS_MISSING ACCESS_TOKEN_EXPIRED"),
    ("FORBIDDEN", "SERVICE_DISABLED CONSUMER_SUSPENDED"),
    ("PAYMENT_REQUIRED", "BILLING_DISABLED"),
    ("OVERLOADED", "MODEL_CAPACITY_EXHAUSTED"),
    ("UNAUTHORIZED", "ACCESS_TOKEN_TYPE_UNSUPPORTED authError expired keyInvalid"),
    ("UNAUTHORIZED", "keyExpired loginRequired"),
    ("FORBIDDEN", "ACCESS_TOKEN_SCOPE_INSUFFICIENT IAM_PERMISSION_DENIED API_KEY_SERVICE_BLOCKED CONSUMER_INVALID"),
    ("FORBIDDEN", "API_KEY_HTTP_REFERRER_BLOCKED API_KEY_IP_ADDRESS_BLOCKED accessNotConfigured ipRefererBlocked"),
    ("FORBIDDEN", "insufficientPermissions insufficientFilePermissions appNotAuthorizedToFile domainPolicy forbidden"),
    ("FORBIDDEN", "accessDenied cannotDownloadFile fileNotDownloadable commentsDisabled forbiddenForNonOrganizer"),
    ("FORBIDDEN", "blocked"),
    ("NOT_FOUND", "notFound videoNotFound channelNotFound playlistNotFound commentThreadNotFound"),
    ("GONE", "deleted updatedMinTooLongAgo fullSyncRequired"),
    ("ALREADY_EXISTS", "duplicate alreadyExists"),
    ("CONFLICT", "conflict conditionNotMet"),
    ("RESOURCE_BUSY", "resourceInUse"),
    ("INVALID_ARGUMENT", "invalid badRequest invalidParameter invalidArgument invalidSharingRequest timeRangeEmpty"),
    ("INVALID_ARGUMENT", "invalidValue unknownPart invalidPageToken"),
    (MISSING, "required missingRequiredParameter"),
    ("QUERY_ERROR", "invalidQuery"),
    ("PARSE_ERROR", "parseError"),
    ("PAYLOAD_TOO_LARGE", "responseTooLarge uploadTooLarge resourcesExceeded"),
    ("RATE_LIMITED", "rateLimitExceeded userRateLimitExceeded sharingRateLimitExceeded jobRateLimitExceeded"),
    ("QUOTA_EXHAUSTED", "quotaExceeded dailyLimitExceeded storageQuotaExceeded dailyLimitExceededUnreg limitExceeded"),
    ("QUOTA_EXHAUSTED", "uploadLimitExceeded billingTierLimitExceeded"),
    ("PAYMENT_REQUIRED", "billingNotEnabled"),
    ("UPSTREAM_ERROR", "backendError jobBackendError jobInternalError"),
    (FAULT, "internalError"),
    ("SERVICE_UNAVAILABLE", "tableUnavailable serviceUnavailable"),
    ("UPSTREAM_TIMEOUT", "timeout"),
    ("OUTCOME_UNKNOWN", "stopped"),
    ("NOT_IMPLEMENTED", "notImplemented"),
    # Firebase and Identity Platform send these as the message
    ("NOT_FOUND", "EMAIL_NOT_FOUND USER_NOT_FOUND"),
    ("UNAUTHORIZED", "INVALID_PASSWORD INVALID_LOGIN_CREDENTIALS INVALID_ID_TOKEN TOKEN_EXPIRED INVALID_REFRESH_TOKEN"),
    ("UNAUTHORIZED", "CREDENTIAL_TOO_OLD_LOGIN_AGAIN"),
    ("FORBIDDEN", "USER_DISABLED OPERATION_NOT_ALLOWED ADMIN_ONLY_OPERATION"),
    ("ALREADY_EXISTS", "EMAIL_EXISTS"),
    ("INVALID_ARGUMENT", "WEAK_PASSWORD INVALID_EMAIL EXPIRED_OOB_CODE INVALID_OOB_CODE"),
    (MISSING, "MISSING_PASSWORD MISSING_EMAIL"),
    ("RATE_LIMITED", "TOO_MANY_ATTEMPTS_TRY_LATER"),
)
GOOGLE = by_code(GOOGLE_ROWS)
"""Reasons of `google.rpc.ErrorInfo`, and those in `errors` of older interfaces, that say more than their status."""

_GRPC_NUMBERS = (
    "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED"
    " FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
)
GRPC_NUMBER_ROWS: Rows = tuple((GRPC[name], str(number)) for number, name in enumerate(_GRPC_NUMBERS.split(), 1))
"""The numbers of the statuses of gRPC, as gateways to HTTP send them."""

CLOUDFLARE_ROWS: Rows = (
    ("UNAUTHORIZED", "6003 6103 6111 9103 9106 9107 10001"),
    ("FORBIDDEN", "9109 10000"),
    ("METHOD_NOT_FOUND", "7000 7003"),
    ("NOT_FOUND", "10007 10009 81044"),
    ("INVALID_ARGUMENT", "1004 1049 10021"),
    ("ALREADY_EXISTS", "1061 81053 81057 81058"),
    ("RATE_LIMITED", "971 10429"),
    ("METHOD_NOT_ALLOWED", "10405"),
    (FAULT, "10013"),
)
"""Numbers that Cloudflare's interface sends; it publishes no list, so only those that many have met."""

KUBERNETES_ROWS: Rows = (
    ("UNAUTHORIZED", "Unauthorized"),
    ("FORBIDDEN", "Forbidden"),
    ("NOT_FOUND", "NotFound"),
    ("ALREADY_EXISTS", "AlreadyExists"),
    ("CONCURRENT_MODIFICATION", "Conflict"),
    ("GONE", "Gone Expired"),
    ("INVALID_ARGUMENT", "Invalid BadRequest FieldValueInvalid FieldValueForbidden FieldValueNotSupported"),
    (MISSING, "FieldValueRequired"),
    ("METHOD_NOT_ALLOWED", "MethodNotAllowed"),
    ("UNSUPPORTED_MEDIA_TYPE", "NotAcceptable UnsupportedMediaType"),
    ("PAYLOAD_TOO_LARGE", "RequestEntityTooLarge"),
    ("RATE_LIMITED", "TooManyRequests"),
    ("UPSTREAM_TIMEOUT", "Timeout"),
    ("UPSTREAM_TIMEOUT", "ServerTimeout"),
    (FAULT, "InternalError"),
    ("SERVICE_UNAVAILABLE", "ServiceUnavailable StorageReadError"),
)
"""What Kubernetes calls `reason`, of a status and of its causes."""

DOCKER_ROWS: Rows = (
    ("NOT_FOUND", "BLOB_UNKNOWN BLOB_UPLOAD_UNKNOWN MANIFEST_UNKNOWN MANIFEST_BLOB_UNKNOWN NAME_UNKNOWN"),
    ("INVALID_ARGUMENT", "BLOB_UPLOAD_INVALID DIGEST_INVALID MANIFEST_INVALID NAME_INVALID SIZE_INVALID TAG_INVALID"),
    ("INVALID_ARGUMENT", "PAGINATION_NUMBER_INVALID MANIFEST_UNVERIFIED RANGE_INVALID"),
    ("UNAUTHORIZED", "UNAUTHORIZED"),
    ("FORBIDDEN", "DENIED"),
    ("NOT_IMPLEMENTED", "UNSUPPORTED"),
    ("RATE_LIMITED", "TOOMANYREQUESTS"),
    ("SERVICE_UNAVAILABLE", "UNAVAILABLE"),
    (FAULT, "UNKNOWN"),
)
"""Codes of registries for container images."""

DIGITALOCEAN_ROWS: Rows = (
    ("NOT_FOUND", "not_found"),
    ("UNAUTHORIZED", "unauthorized"),
    ("FORBIDDEN", "forbidden"),
    ("RATE_LIMITED", "too_many_requests"),
    ("INVALID_ARGUMENT", "unprocessable_entity bad_request"),
    ("CONFLICT", "conflict"),
    ("PRECONDITION_FAILED", "precondition_failed"),
    (FAULT, "server_error internal_server_error"),
    ("SERVICE_UNAVAILABLE", "service_unavailable"),
)

HEROKU_ROWS: Rows = (
    ("INVALID_ARGUMENT", "bad_request invalid_params"),
    ("UNAUTHORIZED", "unauthorized two_factor"),
    ("PAYMENT_REQUIRED", "delinquent verification_needed verification_required"),
    ("FORBIDDEN", "forbidden suspended"),
    ("NOT_FOUND", "not_found"),
    ("UNSUPPORTED_MEDIA_TYPE", "not_acceptable"),
    ("OUT_OF_RANGE", "requested_range_not_satisfiable"),
    ("CONFLICT", "conflict"),
    ("GONE", "gone"),
    ("RATE_LIMITED", "rate_limit"),
    (FAULT, "internal_server_error"),
    ("SERVICE_UNAVAILABLE", "maintenance service_unavailable"),
)

VERCEL_ROWS: Rows = (
    ("FORBIDDEN", "forbidden deployment_blocked DEPLOYMENT_BLOCKED team_unauthorized insufficient_scope"),
    ("UNAUTHORIZED", "not_authorized missing_token"),
    ("RATE_LIMITED", "rate_limited too_many_requests"),
    ("INVALID_ARGUMENT", "bad_request invalid_value invalid_name invalid_domain missing_files"),
    ("INVALID_ARGUMENT", "custom_domain_needs_upgrade"),
    (FAULT, "internal_server_error internal_error FUNCTION_INVOCATION_FAILED"),
    ("NOT_FOUND", "not_found deployment_not_found domain_not_found project_not_found DEPLOYMENT_NOT_FOUND NOT_FOUND"),
    ("GONE", "DEPLOYMENT_DELETED"),
    ("PAYMENT_REQUIRED", "payment_required DEPLOYMENT_DISABLED upgrade_required"),
    ("METHOD_NOT_ALLOWED", "method_unknown INVALID_REQUEST_METHOD"),
    ("ALREADY_EXISTS", "alias_in_use domain_already_in_use domain_taken project_already_exists ENV_ALREADY_EXISTS"),
    ("CONFLICT", "conflict"),
    ("UPSTREAM_TIMEOUT", "FUNCTION_INVOCATION_TIMEOUT EDGE_FUNCTION_INVOCATION_TIMEOUT"),
    ("PAYLOAD_TOO_LARGE", "FUNCTION_PAYLOAD_TOO_LARGE"),
    ("SERVICE_UNAVAILABLE", "DEPLOYMENT_PAUSED"),
    ("RATE_LIMITED", "FUNCTION_THROTTLED"),
    ("HOST_NOT_FOUND", "DNS_HOSTNAME_NOT_FOUND"),
)

OKTA_ROWS: Rows = (
    ("INVALID_ARGUMENT", "E0000001 E0000002 E0000018 E0000019 E0000020 E0000024 E0000027 E0000029 E0000030 E0000031"),
    ("INVALID_ARGUMENT", "E0000033 E0000041 E0000045 E0000050 E0000053"),
    ("PARSE_ERROR", "E0000003"),
    (MISSING, "E0000028"),
    (WRONG_TYPE, "E0000037"),
    ("UNAUTHORIZED", "E0000004 E0000005 E0000011 E0000068"),
    ("FORBIDDEN", "E0000006 E0000013 E0000015 E0000023 E0000032 E0000034 E0000035 E0000036 E0000043 E0000044 E0000046"),
    ("NOT_FOUND", "E0000007 E0000008 E0000048"),
    ("DEPRECATED", "E0000026"),
    (FAULT, "E0000009"),
    ("READ_ONLY_REPLICA", "E0000010"),
    ("PRECONDITION_FAILED", "E0000016 E0000038"),
    ("ALREADY_EXISTS", "E0000040"),
    ("UNSUPPORTED_MEDIA_TYPE", "E0000012 E0000021"),
    ("METHOD_NOT_ALLOWED", "E0000022"),
    ("RATE_LIMITED", "E0000047"),
    ("UPSTREAM_TIMEOUT", "E0000051"),
    ("NOT_IMPLEMENTED", "E0000052"),
)

AUTH0_ROWS: Rows = (
    ("NOT_FOUND", "inexistent_user inexistent_connection inexistent_client"),
    ("INVALID_ARGUMENT", "invalid_body invalid_query_string invalid_uri invalid_signup"),
    ("UNAUTHORIZED", "invalid_token invalid_user_password expired_token mfa_required"),
    ("FORBIDDEN", "insufficient_scope operation_not_supported access_denied unauthorized_client"),
    ("ALREADY_EXISTS", "user_exists auth0_idp_error username_exists"),
    ("RATE_LIMITED", "too_many_requests too_many_attempts"),
)

CLOUD: tuple[Vendor, ...] = (
    Vendor("AWS", AWS_ROWS, ("__type:str", "Error.Code:str", "Code:str Message:str")),
    Vendor(
        "Microsoft",
        AZURE_ROWS,
        (
            "error.innerError",
            "error.innererror",
            "error.code:str error.message:str error.details",
            "error.target error.code:str",
            "error.code:str error.message:str",
            "odata.error.code:str",
        ),
    ),
    Vendor(
        "Google",
        (*GOOGLE_ROWS, *GRPC_ROWS),
        (
            "error.status:str error.code:int",
            "error.errors.0.reason:str",
            "details.0.@type:str",
        ),
    ),
    Vendor("gRPC", (*GRPC_ROWS, *GRPC_NUMBER_ROWS), ("grpc_status", "grpcStatus", "details code:int message:str")),
    Vendor("Cloudflare", CLOUDFLARE_ROWS, ("success=false errors.0.code:int",)),
    Vendor("Kubernetes", KUBERNETES_ROWS, ("kind=Status status=Failure", "kind=Status reason:str")),
    Vendor("Docker", DOCKER_ROWS, ("errors.0.code:str errors.0.detail", "errors.0.code:str errors.0.message:str")),
    Vendor("DigitalOcean", DIGITALOCEAN_ROWS, ("id:str message:str request_id",), ("id",)),
    Vendor("Heroku", HEROKU_ROWS, ("id:str message:str",), ("id",)),
    Vendor("Vercel", VERCEL_ROWS, ("error.code:str error.message:str",)),
    Vendor("Okta", OKTA_ROWS, ("errorCode^E0 errorSummary:str",)),
    Vendor("Auth0", AUTH0_ROWS, ("errorCode:str statusCode:int",)),
)
