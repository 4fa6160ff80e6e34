"""Rules for AWS: botocore by the service's error code, boto3 and s3transfer by what they wrap."""

from typing import Any

from failwell import codes
from failwell.exceptions.http import at, verdict_for_answer
from failwell.exceptions.network import why_not_connected, why_not_through_proxy
from failwell.exceptions.rules import Family, Verdict, peek
from failwell.phrases import names
from failwell.phrases.meanings import BUG, Meaning, not_executed
from failwell.phrases.vendors.cloud import AWS


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
    if not isinstance(code, str) or code in AWS:
        return AWS.get(code) if isinstance(code, str) else None
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


def proxy_failure(exc: Any) -> Verdict:
    """Depends on what it wraps: a connection that broke may have carried the request, else CONNECTION_FAILED."""
    inner = at(peek(exc, "kwargs"), "error")
    return why_not_through_proxy(inner) if isinstance(inner, BaseException) else "CONNECTION_FAILED"


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

RULES: Family = {
    "botocore": {
        "ClientError": service_error,
        "BotoCoreError": "INTERNAL_ERROR",
        "ConnectionError": unreachable,
        "ConnectTimeoutError": "CONNECT_TIMEOUT",
        "EndpointConnectionError": unreachable,
        "ProxyConnectionError": proxy_failure,
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
