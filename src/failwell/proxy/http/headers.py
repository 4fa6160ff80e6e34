"""Which headers the proxy passes on, and those it adds for a client on standard input and output."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

from multidict import CIMultiDict

from failwell._json import is_object
from failwell.proxy.calls import ListedTools

_CONNECTION_HEADERS = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# Bodies are read here: servers are asked for uncompressed ones, and aiohttp decompresses those of a client.
_ENCODING_HEADERS = frozenset(("accept-encoding", "content-encoding"))
_CONNECTION_OPTIONS = frozenset(("", "keep-alive", "close"))
_NOT_SENT = _CONNECTION_HEADERS | _ENCODING_HEADERS
_NOT_RETURNED = _CONNECTION_HEADERS | {"content-encoding"}
# Headers that differ between requests of one client and say nothing about who it is. Any other may.
_NOT_IDENTIFYING = _NOT_SENT | frozenset(
    (
        *("accept", "cache-control", "content-language", "content-type", "idempotency-key", "pragma"),
        *("baggage", "b3", "traceparent", "tracestate", "sentry-trace", "uber-trace-id"),
        *("x-amzn-trace-id", "x-cloud-trace-context", "x-correlation-id", "x-request-id"),
        *("last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version"),
    )
)
_NOT_IDENTIFYING_PREFIXES = ("mcp-param-", "x-b3-", "x-datadog-")

# Parsers let these through in a value, and no writer takes them: the whole response would be lost for one character.
_UNWRITABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")

Pairs = Iterable[tuple[str, str]]


def to_server(headers: Pairs, *, more: Pairs = ()) -> CIMultiDict[str]:
    """Return the headers that the server gets: the client's, and *more* where the client has none of that name."""
    kept = _filter(headers, _NOT_SENT)
    kept["Accept-Encoding"] = "identity"
    for name, value in more:
        kept.setdefault(name, value)
    return kept


def to_client(headers: Pairs) -> CIMultiDict[str]:
    """Return the headers that the client gets."""
    return _filter(headers, _NOT_RETURNED)


def identity(headers: Pairs, *, query: str, certificate: bytes | None) -> bytes:
    """Return a digest that differs between clients that a server can tell apart."""
    kept = sorted(
        (lower, value)
        for name, value in headers
        if (lower := name.lower()) not in _NOT_IDENTIFYING and not lower.startswith(_NOT_IDENTIFYING_PREFIXES)
    )
    return blake2b(repr((kept, query, certificate)).encode(errors="backslashreplace"), digest_size=16).digest()


def _filter(headers: Pairs, left_out: frozenset[str]) -> CIMultiDict[str]:
    kept: list[tuple[str, str]] = []
    named = ""
    for name, value in headers:
        lower = name.lower()
        if lower not in left_out:
            is_plain = value.isascii() and value.isprintable()
            kept.append((name, value if is_plain else _UNWRITABLE.sub("?", value)))
        elif lower == "connection":
            named += f",{value.lower()}"
    if named and (others := {part.strip() for part in named.split(",")} - _CONNECTION_OPTIONS):
        kept = [(name, value) for name, value in kept if name.lower() not in others]
    return CIMultiDict(kept)


_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_MARK = "x-mcp-header"
# The parameter that is repeated as a header, by method.
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ALWAYS = (("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json"))


class RequestHeaders:
    """Knows the negotiated session and version, and writes the headers of each message."""

    def __init__(self, tools: ListedTools) -> None:
        self.session: str | None = None
        self.version: str | None = None
        self._tools = tools

    def headers(self, message: Any = None) -> list[tuple[str, str]]:
        """Return the headers that go with a message, or with a request that carries none."""
        params: Any = message.get("params") if is_object(message) else None
        params = params if is_object(params) else {}
        meta = params.get("_meta")
        modern = meta.get(_VERSION_KEY) if is_object(meta) else None
        headers = list(_ALWAYS)
        if isinstance(modern, str):
            headers.append(("Mcp-Protocol-Version", modern))
            headers += self._routing(message["method"], params)
        elif not is_object(message) or message.get("method") != "initialize":
            headers += [("Mcp-Protocol-Version", self.version)] if self.version else []
            headers += [("Mcp-Session-Id", self.session)] if self.session else []
        return headers

    def _routing(self, method: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
        yield "Mcp-Method", method
        name = params.get(_NAMES.get(method, ""))
        if isinstance(name, str):
            yield "Mcp-Name", _encode_value(name)
        if method == "tools/call" and isinstance(name, str):
            yield from _parameter_headers(self._tools.get(name).input_schema, params.get("arguments"))


def _parameter_headers(schema: Any, arguments: Any) -> Iterator[tuple[str, str]]:
    """Yield the arguments that their schema wants repeated as headers."""
    properties = schema.get("properties") if is_object(schema) else None
    if not is_object(properties) or not is_object(arguments):
        return
    for name, described in properties.items():
        value = arguments.get(name)
        mark = described.get(_MARK) if is_object(described) else None
        if isinstance(mark, str) and isinstance(value, bool):
            yield f"Mcp-Param-{mark}", str(value).lower()
        elif isinstance(mark, str) and isinstance(value, str | int | float):
            yield f"Mcp-Param-{mark}", _encode_value(str(value))
        yield from _parameter_headers(described, value)


def _encode_value(value: str) -> str:
    """Return a value as a header can hold it."""
    is_plain = value.isascii() and value.isprintable() and value == value.strip() and not value.startswith("=?base64?")
    return value if is_plain else f"=?base64?{b64encode(value.encode()).decode()}?="
