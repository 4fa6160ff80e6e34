"""Rules for HTTP clients and frameworks: httpx, httpx2, requests, aiohttp, urllib3, starlette, fastapi."""

from typing import Any

from failwell._lazy import lazy_pattern
from failwell.exceptions.http import is_session_refused, session_verdict, verdict_for_status
from failwell.exceptions.network import why_not_connected, why_not_through_proxy
from failwell.exceptions.rules import Family, Rule, Verdict, otherwise, peek
from failwell.phrases.meanings import outcome_unknown

_TOO_MANY = lazy_pattern(r"too many ([45][0-9]{2}) error responses")


def by_response(exc: Any) -> Verdict:
    """Depends on the HTTP status, headers and body of the response."""
    response = peek(exc, "response")
    status = peek(response, "status_code")
    if not isinstance(status, int) or status < 400:
        return None
    content = peek(response, "_content")  # what was read already: reading more could wait for the network
    body = content if isinstance(content, bytes) else None
    request = peek(exc, "request") or peek(response, "request")
    if is_session_refused(status, peek(request, "headers"), body):
        return session_verdict(status)
    return verdict_for_status(status, peek(response, "headers"), body)


def by_status(exc: Any) -> Verdict:
    """Depends on the HTTP status and headers."""
    found = (peek(exc, name) for name in ("status_code", "status", "code"))
    status = next((value for value in found if isinstance(value, int) and value >= 400), None)
    if status is not None and is_session_refused(status, peek(peek(exc, "request_info"), "headers")):
        return session_verdict(status)
    return None if status is None else verdict_for_status(status, peek(exc, "headers"), peek(exc, "detail"))


def by_wrapped(exc: BaseException) -> Verdict:
    """Depends on the exception it wraps."""
    candidates = (peek(exc, "reason"), *exc.args[:2], peek(exc, "__cause__"))
    return next((inner for inner in candidates if isinstance(inner, BaseException)), None)


def by_retries(exc: BaseException) -> Verdict:
    """Depends on the status that every try was answered with."""
    match = _TOO_MANY.search(str(exc.args[0])[:200]) if exc.args else None
    return verdict_for_status(int(match[1])) if match else "UPSTREAM_ERROR"


def by_aiohttp_parser(exc: BaseException) -> Verdict:
    """Depends on whether the answer could be parsed, else on its HTTP status and headers."""
    cause: BaseException | None = peek(exc, "__cause__")  # the status of an answer that is no HTTP is made up
    if any(cls.__name__ == "HttpProcessingError" for cls in type(cause).__mro__):
        return cause
    return by_status(exc)


_BAD_URL: Rule = {"code": "INVALID_URL", "outcome": "not_executed"}
_REFUSED_TO_SEND: Rule = {"code": "INVALID_ARGUMENT", "outcome": "not_executed"}

_HTTPX: dict[str, Rule] = {
    "HTTPStatusError": otherwise(by_response, "BAD_UPSTREAM_RESPONSE"),
    "ConnectTimeout": "CONNECT_TIMEOUT",
    "PoolTimeout": "POOL_TIMEOUT",
    "TimeoutException": "UPSTREAM_TIMEOUT",
    "ConnectError": why_not_connected,
    "ProxyError": "CONNECTION_FAILED",
    "NetworkError": "CONNECTION_LOST",
    "RemoteProtocolError": "CONNECTION_LOST",
    "LocalProtocolError": outcome_unknown("INVALID_ARGUMENT"),  # also after a body of the wrong length was sent
    "ProtocolError": "CONNECTION_LOST",
    "UnsupportedProtocol": _BAD_URL,
    "InvalidURL": _BAD_URL,
    "TooManyRedirects": "TOO_MANY_REDIRECTS",
    "DecodingError": "BAD_UPSTREAM_RESPONSE",
    "SSEError": "BAD_UPSTREAM_RESPONSE",
    "TransportError": "CONNECTION_LOST",
    "RequestError": "CONNECTION_LOST",
    "CookieConflict": "INTERNAL_ERROR",
    "StreamError": "INTERNAL_ERROR",
    "HTTPError": otherwise(by_response, "CONNECTION_LOST"),
    "ConnectionNotAvailable": "POOL_TIMEOUT",  # httpcore only
}

_REQUESTS: dict[str, Rule] = {
    "HTTPError": otherwise(by_response, "UPSTREAM_ERROR"),
    "RequestException": otherwise(by_response, "CONNECTION_LOST"),
    "ConnectTimeout": "CONNECT_TIMEOUT",
    "Timeout": "UPSTREAM_TIMEOUT",
    "ConnectionError": otherwise(by_wrapped, "CONNECTION_LOST"),
    "ProxyError": why_not_through_proxy,
    "SSLError": otherwise(by_wrapped, outcome_unknown("TLS_VERIFY_FAILED")),
    "ChunkedEncodingError": "CONNECTION_LOST",
    "ContentDecodingError": "BAD_UPSTREAM_RESPONSE",
    "JSONDecodeError": "BAD_UPSTREAM_RESPONSE",
    "InvalidJSONError": _REFUSED_TO_SEND,
    "InvalidHeader": _REFUSED_TO_SEND,
    "MissingSchema": _BAD_URL,
    "InvalidSchema": _BAD_URL,
    "InvalidURL": _BAD_URL,
    "InvalidProxyURL": "CONFIG_ERROR",
    "URLRequired": _BAD_URL,
    "TooManyRedirects": "TOO_MANY_REDIRECTS",
    "RetryError": otherwise(by_wrapped, "UPSTREAM_ERROR"),
    "StreamConsumedError": "INTERNAL_ERROR",
    "UnrewindableBodyError": "INTERNAL_ERROR",
}

_URLLIB3: dict[str, Rule] = {
    "MaxRetryError": otherwise(by_wrapped, outcome_unknown("CONNECTION_FAILED")),
    "ResponseError": by_retries,
    "NewConnectionError": why_not_connected,
    "NameResolutionError": otherwise(by_wrapped, "HOST_NOT_FOUND"),
    "ConnectTimeoutError": "CONNECT_TIMEOUT",
    "TimeoutError": "UPSTREAM_TIMEOUT",
    "TimeoutStateError": "INTERNAL_ERROR",
    "EmptyPoolError": "POOL_TIMEOUT",
    "FullPoolError": "SERVER_BUSY",
    "ClosedPoolError": "INTERNAL_ERROR",
    "SSLError": otherwise(by_wrapped, outcome_unknown("TLS_VERIFY_FAILED")),
    "ProxyError": why_not_through_proxy,
    "ProxySchemeUnknown": "CONFIG_ERROR",
    "ProxySchemeUnsupported": "CONFIG_ERROR",
    "ProtocolError": "CONNECTION_LOST",
    "IncompleteRead": "CONNECTION_LOST",
    "InvalidChunkLength": "CONNECTION_LOST",
    "DecodeError": "BAD_UPSTREAM_RESPONSE",
    "ResponseNotChunked": "BAD_UPSTREAM_RESPONSE",
    "BodyNotHttplibCompatible": "BAD_UPSTREAM_RESPONSE",
    "HeaderParsingError": "BAD_UPSTREAM_RESPONSE",
    "InvalidHeader": "BAD_UPSTREAM_RESPONSE",
    "LocationValueError": _BAD_URL,
    "HostChangedError": "INTERNAL_ERROR",
    "UnrewindableBodyError": "INTERNAL_ERROR",
    "HTTPError": "CONNECTION_LOST",
}

_AIOHTTP: dict[str, Rule] = {
    "ClientResponseError": otherwise(by_aiohttp_parser, "BAD_UPSTREAM_RESPONSE"),
    "WSServerHandshakeError": otherwise(by_status, "BAD_UPSTREAM_RESPONSE"),
    "ClientHttpProxyError": "CONNECTION_FAILED",
    "ContentTypeError": otherwise(by_status, "BAD_UPSTREAM_RESPONSE"),
    "TooManyRedirects": "TOO_MANY_REDIRECTS",
    "ConnectionTimeoutError": "CONNECT_TIMEOUT",
    "ServerTimeoutError": "UPSTREAM_TIMEOUT",
    "ClientConnectorError": why_not_connected,
    "ClientConnectorDNSError": why_not_connected,
    "ClientProxyConnectionError": "CONNECTION_FAILED",
    "ClientSSLError": "TLS_VERIFY_FAILED",
    "ServerFingerprintMismatch": "TLS_VERIFY_FAILED",
    "ClientConnectionError": "CONNECTION_LOST",
    "ClientPayloadError": otherwise(by_aiohttp_parser, "CONNECTION_LOST"),
    "UploadAbortedError": "CONNECTION_LOST",
    "EofStream": "CONNECTION_LOST",
    "ClientError": "CONNECTION_LOST",
    "InvalidURL": _BAD_URL,
    "NonHttpUrlClientError": _BAD_URL,
    "RedirectClientError": "BAD_UPSTREAM_RESPONSE",
    "WebSocketError": "BAD_UPSTREAM_RESPONSE",
    "WSMessageTypeError": "BAD_UPSTREAM_RESPONSE",
    "HttpProcessingError": "BAD_UPSTREAM_RESPONSE",
    "ContentLengthError": "CONNECTION_LOST",
    "TransferEncodingError": "CONNECTION_LOST",
    "HTTPException": by_status,  # aiohttp.web, raised on purpose
}

RULES: Family = {
    "httpx httpx2 httpcore httpcore2": _HTTPX,
    "requests niquests": _REQUESTS,
    "urllib3 urllib3_future": _URLLIB3,
    "aiohttp": _AIOHTTP,
    "starlette fastapi": {
        "HTTPException": by_status,
        "WebSocketException": "CONNECTION_LOST",
        "WebSocketDisconnect": "CONNECTION_LOST",
        "WebSocketDisconnected": "CONNECTION_LOST",
        "ClientDisconnect": "CONNECTION_LOST",
        "MultiPartException": "PARSE_ERROR",
        "ResponseValidationError": "INTERNAL_ERROR",
        "RequestValidationError": "BAD_UPSTREAM_RESPONSE",
        "ValidationException": "BAD_UPSTREAM_RESPONSE",
        "FastAPIError": "INTERNAL_ERROR",
    },
}
