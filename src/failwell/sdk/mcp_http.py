"""Requests over streamable HTTP that get no protocol answer: each becomes a JSON-RPC error that says why.

Left alone, mcp 1 ends the whole connection when a request is answered with an HTTP error or the connection breaks, and
waits for ever when an answer is cut off; mcp 2 answers with one fixed sentence. Here the session lives on, and the
error carries the failure: the status, Retry-After, and whether the server can have got the request. A cancelled request
whose server goes on being silent gives its connection back: there are a hundred, and calls wait for a free one.
"""

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from functools import partial
from typing import Any, NamedTuple, cast

from failwell._json import is_object, parse_json
from failwell._log import log
from failwell._sdks import needs
from failwell.client._install import Patches
from failwell.dialects import _compact
from failwell.exceptions.engine import from_exception
from failwell.exceptions.http import from_http, is_session_refused, session_verdict
from failwell.failure import Failure
from failwell.phrases.rpc_codes import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST
from failwell.redact.canonical import canonical
from failwell.retry._deadline import spawn

try:
    from anyio import BrokenResourceError, CancelScope, ClosedResourceError, current_time, move_on_after
    from mcp import types
    from mcp.client import streamable_http
    from mcp.shared.message import SessionMessage
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_WITH_RETRY_AFTER = (429, 503)
_HTTP_PACKAGES = ("httpx", "httpx2")
_UNAUTHORIZED = 401
_NOT_FOUND = 404
_OF_SESSION = ("session_id", "protocol_version")  # what a transport knows of its session; the second in mcp 1 only
_STREAM_ENDED = "SSE stream"  # what mcp 2 says of an answer that was cut off begins like this
_SESSION_LOST = "The MCP server no longer recognizes the session. This request was not executed."
# What the rules for exceptions say of a service behind a server is true of the MCP server itself here.
_MESSAGES = {
    "CONNECTION_FAILED": "The MCP server could not be reached.",
    "CONNECTION_REFUSED": "The MCP server refused the connection.",
    "CONNECT_TIMEOUT": "The MCP server did not accept the connection in time.",
    "DNS_TEMPORARY": "The host name of the MCP server could not be resolved right now.",
    "CONNECTION_LOST": "The connection to the MCP server broke before its answer was complete.",
    "UPSTREAM_TIMEOUT": "The MCP server did not answer in time.",
    "UPSTREAM_ERROR": "The MCP server reported an error.",
    "SERVICE_UNAVAILABLE": "The MCP server is unavailable.",
}
_CANCELLED = "notifications/cancelled"
_INITIALIZE = "initialize"
_REQUESTS = "_failwell_requests"  # where a transport keeps those on their way
_GRACE = 1.0  # seconds that the answer to a cancelled request may take, before its connection is closed
_LONGEST_CANCELLATION = 10.0
_GIVEN_UP = Failure(code="TIMEOUT", message="The MCP server did not answer a cancelled request.", origin="mapped")
_CUT_OFF = Failure(code="CONNECTION_LOST", message=_MESSAGES["CONNECTION_LOST"], origin="mapped")


class _SentRequest(NamedTuple):
    """A request on its way."""

    scope: CancelScope
    method: str


_SentRequests = dict[str, _SentRequest]


def attach(patches: Patches, wrap: Callable[[Any], Any]) -> None:
    """Hook the transport of every session.

    *wrap* makes a JSON-RPC message what transports of the installed version pass on.
    """
    transport: Any = streamable_http.StreamableHTTPTransport
    original: Any = transport._handle_post_request

    async def _handle_post_request(self: Any, ctx: Any) -> None:
        message = getattr(ctx.session_message.message, "root", ctx.session_message.message)
        method, request_id = getattr(message, "method", None), getattr(message, "id", None)
        if method is None or request_id is None:
            if method == _CANCELLED:
                if _end_soon(self, message):
                    spawn(_notify_cancelled(original, self, ctx))
            else:
                await _notify(original, self, ctx)
            return
        used, answers = self, _AnswerWriter(ctx.read_stream_writer, request_id)
        if method == _INITIALIZE:  # it begins a session, and other requests go on in the one that there was
            used = copy(self)
            used.session_id = None
            answers.before_answer = partial(_adopt_session, self, used)
        try:
            with _scope_of(self, request_id, method) as scope:
                await original(
                    used, dataclasses.replace(ctx, client=_CheckedClient(ctx.client), read_stream_writer=answers)
                )
            if answers.is_answered:
                return
            error = _error(_GIVEN_UP if scope.cancelled_caught else _CUT_OFF)
        except _HttpRefusal as refused:
            error = refused.error
        except Exception as exc:
            if not _is_of_http(exc):
                raise
            error = _error(_reworded(from_exception(exc)))
        if not answers.is_answered:
            answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=types.ErrorData.model_validate(error))
            await answers.pass_on(SessionMessage(wrap(answer)))

    patches.put(transport, "_handle_post_request", _handle_post_request)


@contextmanager
def _scope_of(transport: Any, request_id: Any, method: str) -> Generator[CancelScope]:
    """Run a request so that `_end_soon` finds it."""
    requests = cast(_SentRequests, transport.__dict__.setdefault(_REQUESTS, {}))
    name = str(request_id)
    with CancelScope() as scope:
        requests[name] = sent = _SentRequest(scope, method)
        try:
            yield scope
        finally:
            if requests.get(name) is sent:  # an id may be used again
                del requests[name]


def _end_soon(transport: Any, notification: Any) -> bool:
    """Close the connection of a cancelled request, unless its answer comes soon; return whether to tell the server.

    The protocol forbids to cancel the request that begins a session, and mcp 2 only spares the first one.
    """
    cancelled = cast(dict[str, Any], notification.params or {})
    sent = cast(_SentRequests, getattr(transport, _REQUESTS, {})).get(str(cancelled.get("requestId")))
    if sent is None:
        return True
    sent.scope.deadline = min(sent.scope.deadline, current_time() + _GRACE)
    return sent.method != _INITIALIZE


def _adopt_session(transport: Any, begun: Any) -> None:
    for name in _OF_SESSION:
        if hasattr(begun, name):
            setattr(transport, name, getattr(begun, name))


async def _notify(original: Any, transport: Any, ctx: Any) -> None:
    """Send what needs no answer. If that fails, only this message is lost, and not the connection."""
    try:
        await original(transport, ctx)
    except Exception as exc:
        if not _is_of_http(exc):
            raise
        log.info("a message that needs no answer did not reach the MCP server: %s", type(exc).__name__)


async def _notify_cancelled(original: Any, transport: Any, ctx: Any) -> None:
    """Tell the server that a request is cancelled, while other messages go their way.

    The writer of a transport waits for each notification. This one waits for a free connection where calls that hang
    have taken all of them, and those are given back by the cancellations that come after it.
    """
    try:
        with move_on_after(_LONGEST_CANCELLATION):
            await original(transport, ctx)
    except Exception as exc:  # also that the client was closed meanwhile
        log.info("an MCP server could not be told that a request is cancelled: %s", type(exc).__name__)


def _is_of_http(exc: Exception) -> bool:
    return type(exc).__module__.partition(".")[0] in _HTTP_PACKAGES


def _reworded(failure: Failure) -> Failure:
    return failure.replace(message=_MESSAGES.get(failure.code or "", failure.message))


class _AnswerWriter:
    """A stream to the session that knows whether a request was answered, and keeps what could not be read from it."""

    def __init__(self, writer: Any, request_id: Any) -> None:
        self._writer = writer
        self._request_id = str(request_id)
        self.is_answered = False
        self.before_answer: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    async def send(self, item: Any) -> None:
        if isinstance(item, Exception):  # mcp 1 tells everybody of a broken answer, except who waits for it
            log.debug("an answer from the MCP server could not be read: %s", type(item).__name__)
            return
        message = getattr(item.message, "root", item.message)
        if getattr(message, "method", None) is None and str(getattr(message, "id", None)) == self._request_id:
            error = getattr(message, "error", None)
            if error is not None and error.code == CONNECTION_CLOSED and error.message.startswith(_STREAM_ENDED):
                return
            self.is_answered = True
            if self.before_answer is not None:
                self.before_answer()
        await self.pass_on(item)

    async def pass_on(self, item: Any) -> None:
        """Send something to the session, if it is still there."""
        try:
            await self._writer.send(item)
        except (BrokenResourceError, ClosedResourceError):  # raised, it would come out where the transport is left
            log.debug("a message from the MCP server arrived after its session had ended")


class _HttpRefusal(Exception):
    """The server answered a tool call with an HTTP error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class RefusedCredentials(dict[str, Any]):
    """The data of an error that stands for a 401 of the MCP server, where no auth provider of the SDK sees to it.

    It is known by its class: nothing that a server writes looks like it.
    """


class _CheckedClient:
    """An HTTP client that raises `_HttpRefusal` for an answer with an error, and is the client itself in all else."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        response = await self._client.send(*args, **kwargs)
        try:
            await _raise_for_refusal(response, self._client)
        except BaseException:
            await response.aclose()
            raise
        return response

    @asynccontextmanager
    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        async with self._client.stream(*args, **kwargs) as response:
            await _raise_for_refusal(response, self._client)
            yield response


async def _raise_for_refusal(response: Any, client: Any) -> None:
    status = response.status_code
    if status < 400:
        return
    body: Any = None
    if "json" in response.headers.get("content-type", "").lower():
        body = parse_json((await response.aread()).decode("utf-8", "replace"))
    if is_session_refused(status, response.request.headers, body):
        lost = Failure(message=_SESSION_LOST, origin="mapped", **session_verdict(status))
        # The number and the words are the SDK's own, by which frameworks know it.
        raise _HttpRefusal({**_error(lost), "code": INVALID_REQUEST, "message": "Session terminated"})
    if status == _NOT_FOUND:
        return  # the SDK's own words for a server that knows no such method
    error = _error(_reworded(from_http(status, headers=response.headers, body=body)))
    stated = body.get("error") if is_object(body) and "jsonrpc" in body else None
    if is_object(stated) and isinstance(stated.get("code"), int):
        # What the server says in its own words stands; when to come back is often said by the headers alone.
        data = stated.get("data") or (error["data"] if status in _WITH_RETRY_AFTER else None)
        error = {"code": stated["code"], "message": str(stated.get("message") or error["message"]), "data": data}
    if status == _UNAUTHORIZED and getattr(client, "auth", None) is None:
        error["data"] = RefusedCredentials(error["data"] if is_object(error["data"]) else {})
    raise _HttpRefusal(error)


def is_unauthorized(exc: Exception) -> bool:
    """Return whether the MCP server itself refused the credentials of a request, and nobody else renews them."""
    return isinstance(getattr(getattr(exc, "error", None), "data", None), RefusedCredentials)


def _error(failure: Failure) -> dict[str, Any]:
    """Return a JSON-RPC error that carries the failure, in a form that any client can read."""
    failure = canonical(failure)
    return {"code": INTERNAL_ERROR, "message": failure.message, "data": json.loads(_compact.encode(failure).text)}
