"""Rules for the network modules of the standard library: names, TLS, HTTP, mail and file transfer."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from failwell._json import is_mapping
from failwell.exceptions.http import verdict_for_status
from failwell.exceptions.rules import Family, Rule, Verdict, otherwise, peek
from failwell.phrases.meanings import outcome_unknown
from failwell.phrases.system_codes import CURL, FTP_REPLIES, NAME_ERROR_ROWS, by_constant, code_of_smtp_reply

_MOST_HOPS = 8
_TELLING_CAUSES = ("SSLCertVerificationError", "SSLError", "gaierror", "herror", "ConnectionRefusedError")
_SSL_DISTRUST = (
    "CERT",
    "VERSION",
    "HANDSHAKE",
    "CIPHER",
    "PROTOCOL",
    "UNKNOWN_CA",
    "NAME",
    "HTTP_REQUEST",
    "KEY_TOO_SMALL",
)


def chain(exc: BaseException) -> Iterator[BaseException]:
    """Yield what an exception wraps, outermost first: reasons and arguments that are exceptions, causes, contexts."""
    seen: set[int] = set()
    current: Any = exc
    while isinstance(current, BaseException) and id(current) not in seen and len(seen) < _MOST_HOPS:
        seen.add(id(current))
        yield current
        inner = (peek(current, "os_error"), peek(current, "reason"), *(peek(current, "args") or ())[:2])
        wrapped = next((item for item in inner if isinstance(item, BaseException)), None)
        current = wrapped or peek(current, "__cause__") or peek(current, "__context__")


def raised_from(exc: BaseException) -> Verdict:
    """Depends on what it was raised from."""
    inner = peek(exc, "__cause__") or peek(exc, "__context__")
    return inner if isinstance(inner, BaseException) else None


def why_not_connected(exc: BaseException) -> Verdict:
    """Depends on what kept it from connecting: name, refusal, TLS, else CONNECTION_FAILED."""
    for inner in chain(exc):
        names = {cls.__name__ for cls in type(inner).__mro__ if cls.__module__ in ("socket", "ssl", "builtins")}
        if names.intersection(_TELLING_CAUSES) and inner is not exc:
            if "SSLError" in names:
                return "CONNECTION_FAILED" if by_ssl_reason(inner) == "CONNECTION_LOST" else "TLS_VERIFY_FAILED"
            return inner
    return "CONNECTION_FAILED"


def why_not_through_proxy(exc: BaseException) -> Verdict:
    """Depends on what it wraps: a connection that broke may have carried the request, else CONNECTION_FAILED."""
    broke = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, TimeoutError)
    is_lost = any(isinstance(inner, broke) for inner in chain(exc))
    return "CONNECTION_LOST" if is_lost else "CONNECTION_FAILED"


def by_name_error(exc: BaseException) -> Verdict:
    """Depends on the resolver's error number: EAI_AGAIN may pass, EAI_NONAME does not."""
    number = exc.args[0] if exc.args else None
    return _name_errors().get(number, "CONNECTION_FAILED") if isinstance(number, int) else "HOST_NOT_FOUND"


@cache
def _name_errors() -> dict[int, str]:
    import socket  # only now: whoever gets such an error has it loaded

    return by_constant(NAME_ERROR_ROWS, socket)


def by_ssl_reason(exc: BaseException) -> Verdict:
    """Depends on OpenSSL's reason: no trust or no common protocol, else the connection broke."""
    reason = peek(exc, "reason")
    text = (
        reason if isinstance(reason, str) else " ".join(arg for arg in exc.args if isinstance(arg, str))[:500].upper()
    )
    if "EOF" in text or "SHUTDOWN" in text or "BAD_RECORD" in text:
        return "CONNECTION_LOST"
    return "TLS_VERIFY_FAILED" if any(word in text for word in _SSL_DISTRUST) else "CONNECTION_LOST"


def by_reason(exc: Any) -> Verdict:
    """Depends on `reason`, the exception it stands for."""
    reason = peek(exc, "reason")
    if not isinstance(reason, BaseException):
        text = reason if isinstance(reason, str) else ""
        is_bad = text.startswith(("unknown url type", "no host given"))
        return "INVALID_URL" if is_bad else outcome_unknown("CONNECTION_FAILED")
    if isinstance(reason, TimeoutError):  # urllib wraps only what happens before the request is out
        return outcome_unknown("CONNECT_TIMEOUT")
    return reason


def by_http_status(exc: Any) -> Verdict:
    """Depends on the HTTP status and headers."""
    status = next((value for name in ("code", "status", "errcode") if isinstance(value := peek(exc, name), int)), None)
    return verdict_for_status(status, peek(exc, "headers")) if status is not None and status >= 400 else None


def by_smtp_reply(exc: Any) -> Verdict:
    """Depends on the SMTP reply: 4xx may pass, 5xx is refused."""
    code = next((value for name in ("smtp_code", "code") if isinstance(value := peek(exc, name), int)), 0)
    if not 400 <= code < 600:
        return "BAD_UPSTREAM_RESPONSE"
    known = code_of_smtp_reply(code) or ("SEND_FAILED" if 400 <= code < 500 else "INVALID_ARGUMENT")
    return {"code": known, "outcome": "rejected", "details": {"smtp_status": code}}


def by_recipients(exc: Any) -> Verdict:
    """Depends on the replies for the recipients: if any may pass, sending failed, else the addresses are wrong."""
    replies: Any = peek(exc, "recipients")
    # smtplib has pairs by address, aiosmtplib exceptions.
    codes = [reply[0] for reply in replies.values()] if is_mapping(replies) else [peek(one, "code") for one in replies]
    passing = any(400 <= code < 500 for code in codes)
    return {"code": "SEND_FAILED" if passing else "INVALID_ARGUMENT", "outcome": "rejected"}


def by_ftp_reply(exc: Any) -> Verdict:
    """Depends on the FTP reply."""
    text = exc.args[0] if exc.args and isinstance(exc.args[0], str) else ""
    return {"code": FTP_REPLIES.get(text[:3], "INVALID_ARGUMENT"), "outcome": "rejected"}


def by_ftp_codes(exc: Any) -> Verdict:
    """Depends on the FTP reply."""
    replies = [str(code) for code in peek(exc, "received_codes") or ()]
    otherwise = "SERVICE_UNAVAILABLE" if replies and replies[-1].startswith("4") else "INVALID_ARGUMENT"
    return {"code": FTP_REPLIES.get(replies[-1], otherwise), "outcome": "rejected"} if replies else None


def by_imap_answer(exc: Any) -> Verdict:
    """Depends on the server's answer: AUTHENTICATIONFAILED and LOGIN are about who is calling, EOF is none."""
    text = repr(exc.args[:1])[:500].upper()
    if "-ERR EOF" in text:  # poplib's own words, as are the next ones
        return "CONNECTION_LOST"
    if "LINE TOO LONG" in text or "GOT MORE THAN" in text:
        return "BAD_UPSTREAM_RESPONSE"
    return "UNAUTHORIZED" if "AUTHENTICATIONFAILED" in text or "LOGIN" in text else "INVALID_ARGUMENT"


_NOT_SENT: Rule = "CONNECTION_FAILED"

_SMTP: dict[str, Rule] = {
    "SMTPException": "SEND_FAILED",
    "SMTPServerDisconnected": "CONNECTION_LOST",
    "SMTPResponseException": by_smtp_reply,
    "SMTPSenderRefused": by_smtp_reply,
    "SMTPRecipientsRefused": by_recipients,
    "SMTPDataError": by_smtp_reply,
    "SMTPConnectError": _NOT_SENT,
    "SMTPHeloError": _NOT_SENT,
    "SMTPNotSupportedError": "NOT_IMPLEMENTED",
    "SMTPAuthenticationError": "UNAUTHORIZED",
    # aiosmtplib only
    "SMTPNotSupported": "NOT_IMPLEMENTED",
    "SMTPTimeoutError": "UPSTREAM_TIMEOUT",
    "SMTPConnectTimeoutError": "CONNECT_TIMEOUT",
    "SMTPReadTimeoutError": "UPSTREAM_TIMEOUT",
    "SMTPConnectResponseError": _NOT_SENT,
}

_AMQP_REPLIES = {
    311: "PAYLOAD_TOO_LARGE", 403: "FORBIDDEN", 404: "NOT_FOUND", 405: "LOCKED", 406: "PRECONDITION_FAILED",
}  # fmt: skip


def by_amqp_reply(exc: Any) -> Verdict:
    """Depends on the reply code; else CONNECTION_LOST."""
    code = peek(exc, "reply_code")
    return (_AMQP_REPLIES.get(code) if isinstance(code, int) else None) or "CONNECTION_LOST"


def by_curl_result(exc: Any) -> Verdict:
    """Depends on libcurl's result."""
    found = (peek(exc, "code"), *(peek(exc, "args") or ())[:1])
    return next((CURL[number] for number in found if isinstance(number, int) and number in CURL), None)


RULES: Family = {
    "socket": {
        "gaierror": by_name_error,
        "herror": "HOST_NOT_FOUND",
    },
    "ssl": {
        "SSLError": by_ssl_reason,
        "SSLCertVerificationError": "TLS_VERIFY_FAILED",
        "SSLEOFError": "CONNECTION_LOST",
        "SSLZeroReturnError": "CONNECTION_LOST",
        "SSLSyscallError": "CONNECTION_LOST",
        "SSLWantReadError": outcome_unknown("RESOURCE_BUSY"),
        "SSLWantWriteError": outcome_unknown("RESOURCE_BUSY"),
        "CertificateError": "TLS_VERIFY_FAILED",
    },
    "urllib": {
        "HTTPError": by_http_status,
        "URLError": otherwise(by_reason, outcome_unknown("CONNECTION_FAILED")),
        "ContentTooShortError": "CONNECTION_LOST",
    },
    "http": {
        "HTTPException": "BAD_UPSTREAM_RESPONSE",
        "RemoteDisconnected": "CONNECTION_LOST",
        "IncompleteRead": "CONNECTION_LOST",
        "NotConnected": "CONNECTION_FAILED",
        "InvalidURL": {"code": "INVALID_URL", "outcome": "not_executed"},
        "ImproperConnectionState": "INTERNAL_ERROR",
        "CookieError": "BAD_UPSTREAM_RESPONSE",
    },
    "xmlrpc": {
        "ProtocolError": by_http_status,
        "Fault": {"code": "UPSTREAM_ERROR", "type": "INTERNAL", "retryable": None, "outcome": "unknown"},
        "Error": "BAD_UPSTREAM_RESPONSE",
    },
    "ftplib": {
        "error_temp": "SERVICE_UNAVAILABLE",
        "error_perm": by_ftp_reply,
        "Error": "BAD_UPSTREAM_RESPONSE",
    },
    "aioftp": {"StatusCodeError": by_ftp_codes},
    "imaplib": {
        "error": by_imap_answer,
        "abort": "CONNECTION_LOST",
        "readonly": "READ_ONLY",
    },
    "poplib": {"error_proto": by_imap_answer},
    "smtplib aiosmtplib": _SMTP,
    "pika": {
        "ChannelClosedByBroker": by_amqp_reply,
        "ConnectionClosedByBroker": by_amqp_reply,
        "UnroutableError": "NOT_FOUND",
        "NackError": {"code": "SERVICE_UNAVAILABLE", "outcome": "unknown"},
    },
    "pycurl": {"error": by_curl_result},
    "curl_cffi": {"CurlError": by_curl_result},
    "websocket": {"WebSocketPayloadException": "BAD_UPSTREAM_RESPONSE"},
    "smbprotocol": {"BadNetworkName": "NOT_FOUND", "UserSessionDeleted": "CONNECTION_LOST"},
    "zmq": {"Again": "TIMEOUT"},
    "ldap3": {"LDAPBindError": "UNAUTHORIZED", "LDAPBusyResult": "SERVER_BUSY"},
}
