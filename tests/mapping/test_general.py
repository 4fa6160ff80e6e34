"""Exceptions of libraries nobody wrote a rule for."""

from types import SimpleNamespace
from typing import Any

import pytest

from failwell.mapping import from_exception
from failwell.mapping.words import code_of
from tests.mapping.caught import UNMAPPED, raised


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
    "RequestTimeout": "UPSTREAM_TIMEOUT", "OperationTimedOut": "TIMEOUT", "ConnectTimeout": "CONNECT_TIMEOUT",
    "DoesNotExist": "NOT_FOUND", "UserNotFoundError": "NOT_FOUND", "HTTPNotFound": "NOT_FOUND", "NoSuchElement": "NOT_FOUND",
    "NoTranscriptFound": "NOT_FOUND", "KeyNotFoundException": "NOT_FOUND", "ObjectGone": "GONE",
    "RateLimitExceeded": "RATE_LIMITED", "ThrottlingException": "RATE_LIMITED", "TooManyRequests": "RATE_LIMITED",
    "FloodWait": "RATE_LIMITED", "QuotaExceededError": "QUOTA_EXHAUSTED", "InsufficientFunds": "QUOTA_EXHAUSTED",
    "AuthenticationFailed": "UNAUTHORIZED", "Unauthorized": "UNAUTHORIZED", "InvalidCredentialsError": "UNAUTHORIZED",
    "TokenExpiredError": "UNAUTHORIZED", "LoginFailure": "UNAUTHORIZED", "InvalidAPIKey": "UNAUTHORIZED",
    "PermissionDenied": "FORBIDDEN", "AccessDeniedError": "FORBIDDEN", "Forbidden": "FORBIDDEN", "NotAuthorized": "FORBIDDEN",
    "DuplicateKeyError": "ALREADY_EXISTS", "ResourceAlreadyExists": "ALREADY_EXISTS", "VersionConflict": "CONCURRENT_MODIFICATION",
    "ConflictError": "CONFLICT", "LockError": "LOCKED", "DeadlockDetected": "DEADLOCK", "MultipleObjectsReturned": "AMBIGUOUS",
    "ConnectionRefused": "CONNECTION_REFUSED", "ConnectionClosedByPeer": "CONNECTION_LOST", "NetworkError": "CONNECTION_LOST",
    "HostUnreachable": "CONNECTION_FAILED", "NoBrokersAvailable": "CONNECTION_FAILED", "CannotConnect": "CONNECTION_FAILED",
    "ServiceUnavailableError": "SERVICE_UNAVAILABLE", "ServerOverloaded": "OVERLOADED", "TransientError": "SERVICE_UNAVAILABLE",
    "ValidationError": "INVALID_ARGUMENT", "InvalidParameter": "INVALID_ARGUMENT", "BadRequestError": "INVALID_ARGUMENT",
    "InvalidResponseError": "BAD_UPSTREAM_RESPONSE", "ImproperlyConfigured": "CONFIG_ERROR", "ParserError": "PARSE_ERROR",
    "IntegrityError": "CONSTRAINT_VIOLATION", "ProgrammingError": "QUERY_ERROR", "OperationalError": "CONNECTION_LOST",
    "CertificateVerificationError": "TLS_VERIFY_FAILED", "FileTooLarge": "PAYLOAD_TOO_LARGE", "CircuitBreakerOpen": "CIRCUIT_OPEN",
    "InternalServerError": "UPSTREAM_ERROR", "WorkerLostError": "WORKER_CRASHED", "UnsupportedOperation": "NOT_IMPLEMENTED",
    "AcmeError": None, "NonRetryableError": None, "ApiException": None, "Oops": None, "Erroré": None, "x" * 500: None,
}  # fmt: skip


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
    for name, code in NAMES.items():
        if code:
            assert from_exception(type(name, (Exception,), {})()).outcome == "unknown"
