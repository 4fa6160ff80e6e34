"""Rules for AWS: botocore by the service's error code, boto3 and s3transfer by what they wrap."""

from typing import Any

from failwell import codes
from failwell.exceptions.http import at, verdict_for_answer
from failwell.exceptions.network import why_not_connected
from failwell.exceptions.rules import Rule, Rules, Verdict, peek
from failwell.phrases import names
from failwell.phrases.meanings import BUG, Meaning, not_executed

# Codes whose words or status say less, or something else.
CODES: dict[str, Meaning] = {
    **dict.fromkeys((
        "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "RequestThrottled",
        "TooManyRequestsException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "SlowDown",
        "BandwidthLimitExceeded", "LimitExceededException", "PriorRequestNotComplete", "EC2ThrottledException",
        "TransactionInProgressException", "ThroughputExceeded", "KMSThrottlingException", "TooManyRequests",
    ), "RATE_LIMITED"),
    **dict.fromkeys((
        "ServiceQuotaExceededException", "InstanceLimitExceeded", "VcpuLimitExceeded", "AddressLimitExceeded",
        "QuotaExceededException", "BucketLimitExceeded", "TooManyBuckets", "ResourceLimitExceeded", "LimitExceeded",
        "VpcLimitExceeded", "ResourceLimitExceededException", "LimitExceededFault",
    ), "QUOTA_EXHAUSTED"),
    **dict.fromkeys((
        "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
        "RequestExpired", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthFailure", "MissingAuthenticationToken",
        "TokenRefreshRequired", "MissingAuthenticationTokenException", "IncompleteSignature",
        "InvalidSignatureException", "InvalidToken", "NotAuthorizedException", "MissingSecurityHeader",
        "RequestTimeTooSkewed",
    ), "UNAUTHORIZED"),
    **dict.fromkeys((
        "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedException",
        "AllAccessDisabled", "AccountProblem", "OptInRequired", "Blocked", "KMSAccessDeniedException", "InvalidPayer",
        "NotAuthorized", "ExplicitDeny", "Client.UnauthorizedOperation", "AuthorizationError",
        "AuthorizationErrorException",
    ), "FORBIDDEN"),
    **dict.fromkeys((
        "NoSuchKey", "NoSuchBucket", "NoSuchEntity", "NoSuchUpload", "NoSuchVersion", "404",
        "ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
        "NonExistentQueue", "InvalidGroup.NotFound", "InvalidInstanceID.NotFound", "StackSetNotFoundException",
        "ParameterNotFound", "RepositoryNotFoundException", "DBInstanceNotFound", "UserNotFoundException",
        "NotFoundException", "FunctionDoesNotExist", "NoSuchHostedZone",
    ), "NOT_FOUND"),
    **dict.fromkeys((
        "BucketAlreadyExists", "BucketAlreadyOwnedByYou", "EntityAlreadyExists", "ResourceAlreadyExistsException",
        "AlreadyExistsException", "QueueAlreadyExists", "QueueNameExists", "ResourceExistsException",
        "TableAlreadyExistsException", "InvalidGroup.Duplicate", "InvalidKeyPair.Duplicate",
        "DBInstanceAlreadyExists", "UsernameExistsException",
    ), "ALREADY_EXISTS"),
    "ConditionalCheckFailedException": "PRECONDITION_FAILED",
    "ConditionalRequestConflict": {"code": "CONCURRENT_MODIFICATION", "retryable": True},
    "TransactionConflictException": {"code": "CONCURRENT_MODIFICATION", "outcome": "not_executed", "retryable": True},
    "TransactionCanceledException": {"code": "CONFLICT", "outcome": "not_executed"},
    "OperationAborted": {"code": "CONCURRENT_MODIFICATION", "retryable": True},
    "ConcurrentModificationException": "CONCURRENT_MODIFICATION",
    "OptimisticLockException": "CONCURRENT_MODIFICATION",
    "IdempotentParameterMismatch": "IDEMPOTENCY_MISMATCH",
    "IdempotentParameterMismatchException": "IDEMPOTENCY_MISMATCH",
    "IdempotencyParameterMismatchException": "IDEMPOTENCY_MISMATCH",
    "BucketNotEmpty": "NOT_EMPTY",
    "DeleteConflict": "CONFLICT",
    "DependencyViolation": "CONFLICT",
    "ResourceInUseException": "RESOURCE_BUSY",
    "ResourceConflictException": "CONFLICT",
    "IncorrectInstanceState": "PRECONDITION_FAILED",
    "InvalidObjectState": "PRECONDITION_FAILED",
    "PreconditionFailed": "PRECONDITION_FAILED",
    "InvalidRange": "OUT_OF_RANGE",
    "RequestTimeout": "UPSTREAM_TIMEOUT",
    "RequestTimeoutException": "UPSTREAM_TIMEOUT",
    "ModelTimeoutException": "UPSTREAM_TIMEOUT",
    "InternalError": "UPSTREAM_ERROR",
    "InternalFailure": "UPSTREAM_ERROR",
    "InternalServerError": "UPSTREAM_ERROR",
    "InternalServerException": "UPSTREAM_ERROR",
    "ServiceUnavailable": "SERVICE_UNAVAILABLE",
    "ServiceUnavailableException": "SERVICE_UNAVAILABLE",
    "ModelNotReadyException": not_executed("SERVICE_UNAVAILABLE"),
    "InsufficientInstanceCapacity": not_executed("RESOURCE_EXHAUSTED"),
    "RequestEntityTooLarge": "PAYLOAD_TOO_LARGE",
    "RequestEntityTooLargeException": "PAYLOAD_TOO_LARGE",
    "EntityTooLarge": "PAYLOAD_TOO_LARGE",
    "DryRunOperation": "PRECONDITION_FAILED",
    "PermanentRedirect": "CONFIG_ERROR",
    "AuthorizationHeaderMalformed": "CONFIG_ERROR",
    "IllegalLocationConstraintException": "CONFIG_ERROR",
}  # fmt: skip


def service_error(exc: Any) -> Verdict:
    """Depends on the service's error code, which beats the HTTP status."""
    response = peek(exc, "response")
    code = at(response, "Error", "Code")
    metadata = at(response, "ResponseMetadata")
    status, headers = at(metadata, "HTTPStatusCode"), at(metadata, "HTTPHeaders")
    meaning = _meaning(code, status)
    found = verdict_for_answer(status, headers, {"code": code}, meaning=meaning)
    if found is None and isinstance(code, str):  # answers of streams and stubs have no status
        guess = names.code_of(code)
        return {"code": guess, "outcome": "unknown"} if guess else "UPSTREAM_ERROR"
    return found or "UPSTREAM_ERROR"


def _meaning(code: object, status: object) -> Meaning | None:
    if not isinstance(code, str) or code in CODES:
        return CODES.get(code) if isinstance(code, str) else None
    guess = names.code_of(code) if status == 400 else None
    # With 400 the service refused, whatever the words say; that it will pass is too much to read into them.
    return guess if codes.type_of(guess) in ("NOT_FOUND", "CONFLICT", "PERMISSION", "VALIDATION") else None


def client_error(exc: Any) -> Verdict:
    """Depends on the error of the HTTP client that it wraps, else the connection was lost."""
    inner = at(peek(exc, "kwargs"), "error")
    return inner if isinstance(inner, BaseException) else "CONNECTION_LOST"


def wrapped_transfer(exc: Any) -> Verdict:
    """Depends on the error of the transfer that it was raised from."""
    for inner in (peek(exc, "last_exception"), peek(exc, "__cause__"), peek(exc, "__context__")):
        if isinstance(inner, BaseException):
            return inner
    return "UPSTREAM_ERROR"


def unreachable(exc: Any) -> Verdict:
    """Depends on what kept it from connecting: name, refusal, TLS, else CONNECTION_FAILED."""
    inner = at(peek(exc, "kwargs"), "error")
    return why_not_connected(inner) if isinstance(inner, BaseException) else "CONNECTION_FAILED"


_CONFIGURATION = (
    "ConfigNotFound", "ConfigParseError", "InvalidConfigError", "ProfileNotFound", "NoRegionError",
    "UnknownRegionError", "InvalidRegionError", "BaseEndpointResolverError", "EndpointProviderError",
    "InvalidDefaultsMode", "InvalidEndpointConfigurationError", "InvalidEndpointDiscoveryConfigurationError",
    "InvalidIMDSEndpointError", "InvalidIMDSEndpointModeError", "InvalidProxiesConfigError",
    "InvalidRetryConfigurationError", "InvalidS3AddressingStyleError", "InvalidChecksumConfigError",
    "InvalidS3UsEast1RegionalEndpointConfigError", "InvalidSTSRegionalEndpointsConfigError",
    "MissingDependencyException", "MD5UnavailableError", "ServiceNotInRegionError", "UnknownSignatureVersionError",
    "UnsupportedSignatureVersionError", "UnsupportedServiceProtocolsError", "UnsupportedS3ConfigurationError",
    "UnsupportedS3AccesspointConfigurationError", "UnsupportedS3ControlConfigurationError",
    "UnsupportedOutpostResourceError", "DataNotFoundError", "ApiVersionNotFoundError", "WaiterConfigError",
    "UnknownServiceStyle",
)  # fmt: skip
_CREDENTIALS = (
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "NoAuthTokenError",
    "TokenRetrievalError", "SSOError", "UnknownCredentialError", "RefreshWithMFAUnsupportedError",
    "MetadataRetrievalError",
)  # fmt: skip
_ARGUMENTS = (
    "ParamValidationError", "ValidationError", "MissingParametersError", "InvalidDNSNameError",
    "InvalidHostLabelError", "UnsupportedS3ArnError", "UnsupportedS3ControlArnError", "InvalidExpressionError",
    "RangeError",
)  # fmt: skip

_TABLES: dict[str, dict[str, Rule]] = {
    "botocore": {
        "ClientError": service_error,
        "BotoCoreError": "INTERNAL_ERROR",
        "ConnectionError": unreachable,
        "ConnectTimeoutError": "CONNECT_TIMEOUT",
        "EndpointConnectionError": unreachable,
        "ProxyConnectionError": "CONNECTION_FAILED",
        "SSLError": "TLS_VERIFY_FAILED",
        "HTTPClientError": client_error,
        "ConnectionClosedError": "CONNECTION_LOST",
        "ResponseStreamingError": "CONNECTION_LOST",
        "ReadTimeoutError": "UPSTREAM_TIMEOUT",
        "IncompleteReadError": "CONNECTION_LOST",
        **dict.fromkeys(("ChecksumError", "FlexibleChecksumError", "AwsChunkedWrapperError"), "BAD_UPSTREAM_RESPONSE"),
        "WaiterError": "TIMEOUT",
        "CapacityNotAvailableError": "RATE_LIMITED",
        "OperationNotPageableError": BUG,
        "UndefinedModelAttributeError": BUG,
        "UnseekableStreamError": "INTERNAL_ERROR",
        "StubResponseError": BUG,
        "PaginationError": "BAD_UPSTREAM_RESPONSE",
        **dict.fromkeys(_CREDENTIALS, not_executed("UNAUTHORIZED")),
        **dict.fromkeys(_ARGUMENTS, not_executed("INVALID_ARGUMENT")),
        **dict.fromkeys(_CONFIGURATION, "CONFIG_ERROR"),
    },
    "boto3": {
        "Boto3Error": "INTERNAL_ERROR",
        **dict.fromkeys(("S3TransferFailedError", "S3UploadFailedError", "RetriesExceededError"), wrapped_transfer),
        **dict.fromkeys(("ResourceNotExistsError", "UnknownAPIVersionError", "NoVersionFound"), "CONFIG_ERROR"),
        "DynamoDBNeedsConditionError": not_executed("INVALID_ARGUMENT"),
        "DynamoDBNeedsKeyConditionError": not_executed("INVALID_ARGUMENT"),
        "DynamoDBOperationNotSupportedError": not_executed("INVALID_ARGUMENT"),
    },
    "s3transfer": {
        **dict.fromkeys(("RetriesExceededError", "S3UploadFailedError", "S3DownloadFailedError", "S3CopyFailedError"),
                        wrapped_transfer),
        "S3ValidationError": "BAD_UPSTREAM_RESPONSE",
        "QueueShutdownError": BUG,
        "InvalidSubscriberMethodError": BUG,
        "TransferNotDoneError": BUG,
        "FatalError": "UPSTREAM_ERROR",
    },
}  # fmt: skip

RULES: Rules = {(package, name): rule for package, rows in _TABLES.items() for name, rule in rows.items()}
