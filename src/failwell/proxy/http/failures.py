"""HTTP errors and broken connections as failures of a call."""

from collections.abc import Mapping
from typing import Any

from failwell._json import is_object
from failwell.exceptions.engine import from_exception
from failwell.exceptions.http import from_http, is_session_refused
from failwell.failure import Failure
from failwell.phrases.rpc_codes import INTERNAL_ERROR
from failwell.proxy.failures import CONNECTION_LOST, NO_ANSWER
from failwell.proxy.messages import Id

_SESSION_IS_GONE = 404
# The client authenticates, or asks for more rights, and then makes the same request again.
_UNAUTHENTICATED = (401, 407)
_FORBIDDEN = 403
_REDIRECTS = range(300, 400)

_MESSAGES = {
    "CONNECTION_REFUSED": "The server refused the connection.",
    "CONNECTION_LOST": CONNECTION_LOST.message,
}
_SESSION_UNKNOWN = Failure(
    code="SESSION_LOST",
    message="The server does not know the session.",
    outcome="not_executed",
    http_status=_SESSION_IS_GONE,
    origin="mapped",
)


def is_for_client(status: int, sent: Mapping[str, str], received: Mapping[str, str]) -> bool:
    """Return whether the client itself acts on a response: it authenticates, or begins a new session."""
    if status == _SESSION_IS_GONE:
        return "Mcp-Session-Id" in sent
    return status in _UNAUTHENTICATED or (status == _FORBIDDEN and "WWW-Authenticate" in received)


def failure_from_response(
    status: int, headers: Mapping[str, str], body: Any, *, sent: Mapping[str, str] | None = None
) -> Failure:
    """Return the failure of a call that was answered with an HTTP error, or with something that is no answer.

    *sent* are the headers of the request.
    """
    if is_session_refused(status, sent, body):
        return _SESSION_UNKNOWN.replace(http_status=status)
    if status in _REDIRECTS:
        return Failure(
            code="CONFIG_ERROR",
            message="The server redirected the call to another address. It was not sent there.",
            suggestion="Ask the operator to give the proxy the address that the server redirects to.",
            outcome="not_executed",
            http_status=status,
            origin="mapped",
        )
    return NO_ANSWER if status < 400 else from_http(status, headers=headers, body=body)


def failure_passed_on(status: int, sent: Mapping[str, str], received: Mapping[str, str]) -> Failure | None:
    """Return the failure in a response that the client gets unchanged; None: it is no error."""
    return None if status < 400 else failure_from_response(status, received, None, sent=sent)


def rpc_error_in(body: Any, status: int, headers: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the JSON-RPC error in the body of an HTTP error, with the delay that only its headers state; or None."""
    error = body.get("error") if is_object(body) else None
    if not is_object(error) or not isinstance(error.get("code"), int):
        return None
    failure = from_http(status, headers=headers)
    if failure.retry_after is None or error.get("data") is not None:
        return error
    return {**error, "data": {"retry_after": failure.retry_after, "status": status}}


def failure_from_exception(exc: BaseException) -> Failure:
    """Return the failure of a call whose connection could not be made, or broke."""
    failure = from_exception(exc)
    return failure.replace(message=_MESSAGES.get(failure.code or "", failure.message))


def rpc_error(id: Id | None, failure: Failure) -> dict[str, Any]:
    """Return a JSON-RPC error for a request that is no call."""
    error = {"code": INTERNAL_ERROR, "message": failure.message, "data": {"code": failure.code}}
    return {"jsonrpc": "2.0", "id": id, "error": error}
