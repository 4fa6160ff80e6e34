"""HTTP answers and broken connections as failures of the call that met them."""

from collections.abc import Mapping
from typing import Any

from failwell._json import is_object
from failwell.exceptions.engine import from_exception
from failwell.exceptions.http import from_http
from failwell.failure import Failure
from failwell.proxy.messages import Id

_INTERNAL_ERROR = -32603
_SESSION_IS_GONE = 404
# The client proves who it is, or asks for more rights, and then makes the same request again.
_ASKS_FOR_PROOF = (401, 407)
_ASKS_FOR_RIGHTS = 403
_ELSEWHERE = range(300, 400)

_OURS = {
    "CONNECTION_REFUSED": "The server refused the connection.",
    "CONNECTION_LOST": "The server broke off before it answered.",
}
LOST = Failure(
    code="CONNECTION_LOST",
    message=_OURS["CONNECTION_LOST"],
    suggestion="Find out whether the call took effect before you make it again.",
    origin="mapped",
)
ENDED = LOST.replace(message="The proxy was ended before the server answered.")
_SESSION_UNKNOWN = Failure(
    code="NOT_FOUND",
    message="The server does not know the session.",
    suggestion="Begin a new session, then make the same call again.",
    outcome="not_executed",
    http_status=_SESSION_IS_GONE,
    origin="mapped",
)
NO_ANSWER = Failure(
    code="BAD_UPSTREAM_RESPONSE",
    message="The server answered with something that is no answer to the call.",
    suggestion="Find out whether the call took effect before you make it again.",
    origin="mapped",
)


def is_between_client_and_server(status: int, sent: Mapping[str, str], came: Mapping[str, str]) -> bool:
    """Return whether an answer is one that the client itself acts on: it proves who it is, or begins a new session."""
    if status == _SESSION_IS_GONE:
        return "Mcp-Session-Id" in sent
    return status in _ASKS_FOR_PROOF or (status == _ASKS_FOR_RIGHTS and "WWW-Authenticate" in came)


def failure_of(status: int, headers: Mapping[str, str], body: Any) -> Failure:
    """Return the failure that an HTTP answer to a call stands for."""
    if status in _ELSEWHERE:
        return Failure(
            code="CONFIG_ERROR",
            message="The server redirects the call elsewhere, and the call was not sent there.",
            suggestion="Ask the operator to give the proxy the address that the server redirects to.",
            outcome="not_executed",
            http_status=status,
            origin="mapped",
        )
    return NO_ANSWER if status < 400 else from_http(status, headers=headers, body=body)


def failure_passed_on(status: int, sent: Mapping[str, str], came: Mapping[str, str]) -> Failure | None:
    """Return what is told of an answer that the client gets as it is; None: it is no error."""
    if status == _SESSION_IS_GONE and "Mcp-Session-Id" in sent:
        return _SESSION_UNKNOWN
    return None if status < 400 else failure_of(status, came, None)


def stated_by(body: Any, status: int, headers: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the JSON-RPC error in the body of an HTTP error, with the delay that only its headers tell; or None."""
    error = body.get("error") if is_object(body) else None
    if not is_object(error) or not isinstance(error.get("code"), int):
        return None
    failure = from_http(status, headers=headers)
    if failure.retry_after is None or error.get("data") is not None:
        return error
    return {**error, "data": {"retry_after": failure.retry_after, "status": status}}


def broken(exc: BaseException) -> Failure:
    """Return the failure of a call whose connection could not be made, or broke."""
    failure = from_exception(exc)
    return failure.replace(message=_OURS.get(failure.code or "", failure.message))


def rpc_error(id: Id | None, failure: Failure) -> dict[str, Any]:
    """Return a JSON-RPC error for a request that is no call."""
    error = {"code": _INTERNAL_ERROR, "message": failure.message, "data": {"code": failure.code}}
    return {"jsonrpc": "2.0", "id": id, "error": error}
