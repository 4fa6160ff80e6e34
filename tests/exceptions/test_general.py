"""Exceptions of libraries nobody wrote a rule for."""

from types import SimpleNamespace
from typing import Any

import pytest

from failwell.exceptions.engine import from_exception
from failwell.phrases.names import code_of
from tests.exceptions.caught import UNMAPPED, raised


def _like(**attributes: Any) -> Exception:
    return type("AcmeThing", (Exception,), attributes)("hunter2")


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"status_code": 404}, "NOT_FOUND"),
        ({"status": 503}, "SERVICE_UNAVAILABLE"),
        ({"http_status": 429}, "RATE_LIMITED"),
        ({"code": 401}, "UNAUTHORIZED"),
        ({"status_code": "409"}, "CONFLICT"),
        ({"response": SimpleNamespace(status_code=403, headers={})}, "FORBIDDEN"),
        ({"response": SimpleNamespace(status=500)}, "UPSTREAM_ERROR"),
        ({"status_code": 400, "code": "rate_limit_exceeded"}, "RATE_LIMITED"),
        ({"status_code": 429, "body": {"error": {"code": "insufficient_quota"}}}, "QUOTA_EXHAUSTED"),
        ({"sqlstate": "40P01"}, "DEADLOCK"),
        ({"pgcode": "23505"}, "ALREADY_EXISTS"),
        ({"code": "NoSuchKey"}, "NOT_FOUND"),
        ({"error_code": "AccessDenied"}, "FORBIDDEN"),
        ({"retry_after": 3}, "RATE_LIMITED"),
        ({"status_code": 200}, "INTERNAL_ERROR"),
        ({"code": 1045}, "INTERNAL_ERROR"),
        ({"code": True}, "INTERNAL_ERROR"),
    ],
)
def test_unknown_libraries_are_understood_by_their_attributes(attributes: dict[str, Any], code: str) -> None:
    failure = from_exception(_like(**attributes))

    assert failure.code == code
    assert failure.details == {}


def test_a_delay_is_read_from_an_unknown_exception_and_from_its_response() -> None:
    headers = {"Retry-After": "11"}

    assert from_exception(_like(status_code=429, response=SimpleNamespace(headers=headers))).retry_after == 11
    assert from_exception(_like(status_code=429, headers=headers)).retry_after == 11
    assert from_exception(_like(status_code=503, retry_after=2)).retry_after == 2
    assert from_exception(_like(retry_after=2.5)).retry_after == 2.5


def test_reply_codes_of_mail_servers_are_not_taken_for_http() -> None:
    exc = type("AcmeSmtpError", (Exception,), {"code": 550})()

    assert from_exception(exc) == UNMAPPED


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


def test_a_guess_gives_way_to_a_surer_verdict_of_the_same_type() -> None:
    network_error = type("AcmeNetworkError", (Exception,), {})
    missing = type("AcmeNotFound", (Exception,), {})
    inner = ConnectionRefusedError(111, "x")

    assert from_exception(raised(network_error("x"), cause=inner)) == from_exception(inner)
    assert from_exception(raised(missing("x"), cause=inner)).code == "NOT_FOUND"


def test_the_nearest_class_decides_between_a_name_and_a_builtin_base() -> None:
    limited = type("AcmeRateLimitError", (ConnectionError,), {})
    slow = type("AcmeTimeout", (TimeoutError,), {})
    refused = type("AcmeConnectionError", (ConnectionRefusedError,), {})

    assert from_exception(limited()).code == "RATE_LIMITED"
    assert from_exception(slow()).code == "TIMEOUT"
    assert from_exception(refused()).outcome == "not_executed"


def test_no_guess_claims_that_nothing_happened() -> None:
    guessed = [name for name, code in NAMES.items() if code]

    assert len(guessed) > 20
    for name in guessed:
        assert from_exception(type(name, (Exception,), {})()).outcome == "unknown"


def test_a_validation_error_of_an_unknown_library_is_not_blamed_on_the_caller() -> None:
    unknown = type("ValidationError", (Exception,), {"__module__": "acme.models"})

    assert from_exception(unknown("x")).code == "INTERNAL_ERROR"
