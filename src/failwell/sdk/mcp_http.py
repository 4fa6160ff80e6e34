"""Refused tool calls over streamable HTTP: a status and its Retry-After become a JSON-RPC error that says both.

Left alone, mcp 1 ends the whole connection when a tool call is answered with an HTTP error, and mcp 2 answers it with
one fixed sentence.
"""

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from failwell._json import is_object, parse_json
from failwell._sdks import needs
from failwell.client._install import Patches
from failwell.dialects import _compact
from failwell.exceptions.engine import from_exception
from failwell.exceptions.http import from_http
from failwell.failure import Failure
from failwell.phrases.rpc_codes import INTERNAL_ERROR
from failwell.redact.canonical import canonical

try:
    from mcp import types
    from mcp.client import streamable_http
    from mcp.shared.message import SessionMessage
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_HOOKED = ("tools/call", "tools/list")
_LEFT_TO_THE_SDK = 404  # it means that the session is gone
_WITH_RETRY_AFTER = (429, 503)
_HTTP_PACKAGES = ("httpx", "httpx2")


def attach(patches: Patches, wrap: Callable[[Any], Any]) -> None:
    """Hook the transport of tool calls, and of the lists of tools we ask for; every other request goes its way.

    *wrap* makes a JSON-RPC message what transports of the installed version pass on.
    """
    transport: Any = streamable_http.StreamableHTTPTransport
    original: Any = transport._handle_post_request

    async def _handle_post_request(self: Any, ctx: Any) -> None:
        message = getattr(ctx.session_message.message, "root", ctx.session_message.message)
        if getattr(message, "method", None) not in _HOOKED:
            await original(self, ctx)
            return
        try:
            await original(self, dataclasses.replace(ctx, client=_CheckedClient(ctx.client)))
            return
        except _HttpRefusal as refused:
            error = refused.error
        except Exception as exc:
            if type(exc).__module__.partition(".")[0] not in _HTTP_PACKAGES:
                raise
            error = _error(from_exception(exc))
        answer = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=types.ErrorData.model_validate(error))
        await ctx.read_stream_writer.send(SessionMessage(wrap(answer)))

    patches.put(transport, "_handle_post_request", _handle_post_request)


class _HttpRefusal(Exception):
    """The server answered a tool call with an HTTP error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class _CheckedClient:
    """An HTTP client that raises `_HttpRefusal` for an answer with an error, and is the client itself in all else."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        response = await self._client.send(*args, **kwargs)
        try:
            await _raise_for_refusal(response)
        except BaseException:
            await response.aclose()
            raise
        return response

    @asynccontextmanager
    async def stream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Any]:
        async with self._client.stream(*args, **kwargs) as response:
            await _raise_for_refusal(response)
            yield response


async def _raise_for_refusal(response: Any) -> None:
    if response.status_code < 400 or response.status_code == _LEFT_TO_THE_SDK:
        return
    body: Any = None
    if "json" in response.headers.get("content-type", "").lower():
        body = parse_json((await response.aread()).decode("utf-8", "replace"))
    error = _error(from_http(response.status_code, headers=response.headers, body=body))
    stated = body.get("error") if is_object(body) and "jsonrpc" in body else None
    if not is_object(stated) or not isinstance(stated.get("code"), int):
        raise _HttpRefusal(error)
    # What the server says in its own words stands; when to come back is often said by the headers alone.
    data = stated.get("data") or (error["data"] if response.status_code in _WITH_RETRY_AFTER else None)
    raise _HttpRefusal(
        {"code": stated["code"], "message": str(stated.get("message") or error["message"]), "data": data}
    )


def _error(failure: Failure) -> dict[str, Any]:
    """Return a JSON-RPC error that carries the failure, in a form that any client can read."""
    failure = canonical(failure)
    return {"code": INTERNAL_ERROR, "message": failure.message, "data": json.loads(_compact.encode(failure).text)}
