"""What names of classes and codes seem to mean, where nothing else is known."""

import pytest

from failwell import from_exception
from failwell.phrases.names import code_of

NAMES = {
    name: code
    for code, names in {
        "UPSTREAM_TIMEOUT": "RequestTimeout",
        "TIMEOUT": "OperationTimedOut",
        "CONNECT_TIMEOUT": "ConnectTimeout",
        "NOT_FOUND": "DoesNotExist UserNotFoundError HTTPNotFound NoSuchElement NoTranscriptFound KeyNotFoundException",
        "GONE": "ObjectGone",
        "RATE_LIMITED": "RateLimitExceeded ThrottlingException TooManyRequests FloodWait",
        "QUOTA_EXHAUSTED": "QuotaExceededError InsufficientFunds",
        "UNAUTHORIZED": "AuthenticationFailed Unauthorized InvalidCredentialsError TokenExpiredError LoginFailure",
        "FORBIDDEN": "PermissionDenied AccessDeniedError Forbidden NotAuthorized",
        "ALREADY_EXISTS": "DuplicateKeyError ResourceAlreadyExists",
        "CONCURRENT_MODIFICATION": "VersionConflict",
        "CONFLICT": "ConflictError",
        "LOCKED": "LockError",
        "DEADLOCK": "DeadlockDetected",
        "AMBIGUOUS": "MultipleObjectsReturned",
        "CONNECTION_REFUSED": "ConnectionRefused",
        "CONNECTION_LOST": "ConnectionClosedByPeer NetworkError OperationalError",
        "CONNECTION_FAILED": "HostUnreachable NoBrokersAvailable CannotConnect",
        "SERVICE_UNAVAILABLE": "ServiceUnavailableError TransientError",
        "OVERLOADED": "ServerOverloaded",
        "INVALID_ARGUMENT": "InvalidParameter BadRequestError",
        "BAD_UPSTREAM_RESPONSE": "InvalidResponseError",
        "CONFIG_ERROR": "ImproperlyConfigured",
        "PARSE_ERROR": "ParserError",
        "CONSTRAINT_VIOLATION": "IntegrityError",
        "QUERY_ERROR": "ProgrammingError",
        "TLS_VERIFY_FAILED": "CertificateVerificationError",
        "PAYLOAD_TOO_LARGE": "FileTooLarge",
        "CIRCUIT_OPEN": "CircuitBreakerOpen",
        "UPSTREAM_ERROR": "InternalServerError",
        "WORKER_CRASHED": "WorkerLostError",
        "NOT_IMPLEMENTED": "UnsupportedOperation",
        None: "AcmeError NonRetryableError ApiException Oops Erroré",
    }.items()
    for name in names.split()
} | {"x" * 500: None}


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:30])
def test_the_name_of_an_unknown_class_is_the_last_resort(name: str) -> None:
    exc = type(name, (Exception,), {})("hunter2")

    failure = from_exception(exc)

    assert code_of(name) == NAMES[name]
    assert failure.code == (NAMES[name] or "INTERNAL_ERROR")
    assert failure.outcome == "unknown"


def test_no_guess_claims_that_nothing_happened() -> None:
    guessed = [name for name, code in NAMES.items() if code]

    assert len(guessed) > 20
    for name in guessed:
        assert from_exception(type(name, (Exception,), {})()).outcome == "unknown"
