"""Rules for Azure and Kubernetes."""

from typing import Any

from failwell.exceptions.http import verdict_for_answer
from failwell.exceptions.rules import Family, Rule, Verdict, peek
from failwell.phrases.meanings import BUG, not_executed, outcome_unknown
from failwell.phrases.vendors.cloud import AZURE


def kubernetes_answer(exc: Any) -> Verdict:
    """Depends on the reason and `retryAfterSeconds` of the Status in the body, else on the HTTP status."""
    return verdict_for_answer(peek(exc, "status"), peek(exc, "headers"), peek(exc, "body"))


def azure_answer(exc: Any) -> Verdict:
    """Depends on the service's error code, else on the HTTP status."""
    error = peek(exc, "error")
    code = peek(exc, "error_code") or peek(error, "code")
    name = str(peek(code, "value") or code)[:80] if code else ""
    body = {"error": {"code": name, "innererror": peek(error, "innererror")}}
    headers = peek(peek(exc, "response"), "headers")
    return verdict_for_answer(peek(exc, "status_code"), headers, body, meaning=AZURE.get(name))


def azure_exists(exc: Any) -> Verdict:
    """Depends on the service's error code; without one, it exists already."""
    has_code = peek(exc, "error_code") or peek(peek(exc, "error"), "code")
    return azure_answer(exc) if has_code else "ALREADY_EXISTS"


def azure_missing(exc: Any) -> Verdict:
    """Depends on the service's error code, else on the HTTP status; without either, it does not exist."""
    is_answered = peek(exc, "error_code") or peek(peek(exc, "error"), "code") or peek(exc, "status_code")
    return azure_answer(exc) if is_answered else "NOT_FOUND"


def azure_request(exc: Any) -> Verdict:
    """Depends on the HTTP client's error: Azure takes a connection that broke for a request that was not sent."""
    inner = peek(exc, "inner_exception")
    return inner if isinstance(inner, BaseException) else outcome_unknown("CONNECTION_FAILED")


_KUBERNETES: dict[str, Rule] = {
    "ApiException": kubernetes_answer,
    "OpenApiException": "UPSTREAM_ERROR",
    **dict.fromkeys(("ApiTypeError", "ApiValueError"), not_executed("INVALID_ARGUMENT")),
    **dict.fromkeys(("ApiKeyError", "ApiAttributeError"), BUG),
    "ConfigException": "CONFIG_ERROR",
    "FailToCreateError": "UPSTREAM_ERROR",
}

RULES: Family = {
    "kubernetes kubernetes_asyncio": _KUBERNETES,
    "azure": {
        "HttpResponseError": azure_answer,
        "ClientAuthenticationError": "UNAUTHORIZED",
        "CredentialUnavailableError": not_executed("UNAUTHORIZED"),
        "ResourceExistsError": azure_exists,
        "ResourceNotFoundError": azure_missing,
        "ResourceModifiedError": "CONCURRENT_MODIFICATION",
        "ResourceNotModifiedError": "PRECONDITION_FAILED",
        "TooManyRedirectsError": "TOO_MANY_REDIRECTS",
        "DecodeError": "BAD_UPSTREAM_RESPONSE",
        "DeserializationError": "BAD_UPSTREAM_RESPONSE",
        "SerializationError": not_executed("INVALID_ARGUMENT"),
        "IncompleteReadError": "CONNECTION_LOST",
        "ServiceRequestError": azure_request,
        "ServiceRequestTimeoutError": "CONNECT_TIMEOUT",
        "ServiceResponseError": "CONNECTION_LOST",
        "ServiceResponseTimeoutError": "UPSTREAM_TIMEOUT",
        **dict.fromkeys(("StreamConsumedError", "StreamClosedError", "ResponseNotReadError"), "INTERNAL_ERROR"),
        "AzureError": "UPSTREAM_ERROR",
    },
}
