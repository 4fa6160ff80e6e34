"""Codes of operating systems and of protocols below HTTP: errno, resolvers, exit statuses, SMTP, FTP, WebSocket."""

import errno
from types import ModuleType

from failwell.phrases.meanings import Rows, by_code, by_number, not_executed, outcome_unknown


def by_constant(rows: Rows, module: ModuleType) -> dict[int, str]:
    """Return the codes by the numbers that the names stand for here; systems lack some of them."""
    found = by_code(rows).items()
    return {getattr(module, name): str(code) for name, code in found if hasattr(module, name)}


_ERRNO_ROWS: Rows = (
    ("FILE_NOT_FOUND", "ENOENT ENXIO ENODEV"),
    ("ALREADY_EXISTS", "EEXIST"),
    ("FORBIDDEN", "EACCES EPERM"),
    ("WRONG_PATH_KIND", "EISDIR ENOTDIR ELOOP EXDEV ENOTBLK"),
    ("DISK_FULL", "ENOSPC EDQUOT"),
    ("READ_ONLY", "EROFS"),
    ("RESOURCE_EXHAUSTED", "EMFILE ENFILE EAGAIN EWOULDBLOCK ENOBUFS ENOMEM ENOLCK EUSERS"),
    ("RESOURCE_BUSY", "EBUSY ETXTBSY EADDRINUSE EALREADY EINPROGRESS"),
    ("DEADLOCK", "EDEADLK"),
    ("NOT_EMPTY", "ENOTEMPTY"),
    ("INVALID_ARGUMENT", "EINVAL ENAMETOOLONG EDOM ERANGE EADDRNOTAVAIL EILSEQ EDESTADDRREQ"),
    ("PAYLOAD_TOO_LARGE", "EFBIG E2BIG EMSGSIZE EOVERFLOW"),
    ("NOT_IMPLEMENTED", "ENOSYS ENOTSUP EOPNOTSUPP EPROTONOSUPPORT EAFNOSUPPORT ENOPROTOOPT ENOTTY"),
    ("NOT_FOUND", "ESRCH ECHILD"),
    ("CONNECTION_REFUSED", "ECONNREFUSED"),
    ("CONNECTION_FAILED", "ENETUNREACH EHOSTUNREACH ENETDOWN EHOSTDOWN ENONET"),
    ("CONNECTION_LOST", "ECONNRESET ECONNABORTED EPIPE ESHUTDOWN ENETRESET ENOTCONN ENOLINK ESTALE"),
    ("TIMEOUT", "ETIMEDOUT ETIME"),
    ("UPSTREAM_ERROR", "EIO EREMOTEIO"),
)
ERRNOS = by_constant(_ERRNO_ROWS, errno)
"""What numbers of errno mean."""

ERRNO_NAMES = by_code(_ERRNO_ROWS)
"""What names of errno mean, as Node.js gives them."""

NAME_ERROR_ROWS: Rows = (
    ("DNS_TEMPORARY", "EAI_AGAIN EAI_FAIL EAI_MEMORY EAI_SYSTEM"),
    ("HOST_NOT_FOUND", "EAI_NONAME EAI_NODATA EAI_ADDRFAMILY EAI_FAMILY"),
)
"""What numbers of `getaddrinfo` mean, by their names in `socket`."""

EXIT_STATUSES = {124: "PROCESS_TIMEOUT", 126: "FORBIDDEN", 127: "CONFIG_ERROR"}
"""Exit statuses of `timeout` and of shells."""

_SMTP_REPLIES = {
    421: "SERVICE_UNAVAILABLE",
    450: "SEND_FAILED",
    451: "SEND_FAILED",
    452: "RESOURCE_EXHAUSTED",
    454: "SERVICE_UNAVAILABLE",
    530: "UNAUTHORIZED",
    534: "UNAUTHORIZED",
    535: "UNAUTHORIZED",
    538: "UNAUTHORIZED",
    550: "INVALID_ARGUMENT",
    551: "INVALID_ARGUMENT",
    552: "PAYLOAD_TOO_LARGE",
    553: "INVALID_ARGUMENT",
    554: "INVALID_ARGUMENT",
}

FTP_REPLIES = {
    "502": "NOT_IMPLEMENTED",
    "504": "NOT_IMPLEMENTED",
    "530": "UNAUTHORIZED",
    "532": "UNAUTHORIZED",
    "550": "NOT_FOUND",
    "552": "QUOTA_EXHAUSTED",
    "553": "FORBIDDEN",
}
"""Replies of FTP servers that refuse for good."""

WEBSOCKET_CLOSES = {
    1007: "BAD_UPSTREAM_RESPONSE",
    1008: "FORBIDDEN",
    1009: "PAYLOAD_TOO_LARGE",
    1011: "UPSTREAM_ERROR",
    1012: "SERVICE_UNAVAILABLE",
    1013: "SERVICE_UNAVAILABLE",
    3000: "UNAUTHORIZED",
    3003: "FORBIDDEN",
    3008: "UPSTREAM_TIMEOUT",
}
"""Codes with which a WebSocket peer closes the connection."""


_CURL_ROWS: Rows = (
    (not_executed("INVALID_URL"), "1 3"),
    ("HOST_NOT_FOUND", "6"),
    ("CONNECTION_FAILED", "5 7 97"),
    (outcome_unknown("CONNECTION_FAILED"), "35"),
    ("FORBIDDEN", "9"),
    ("UNAUTHORIZED", "67"),
    ("FILE_NOT_FOUND", "78"),
    ("TLS_VERIFY_FAILED", "51 60 83 90 91"),
    ("CONFIG_ERROR", "4 53 54 58 59 66 77"),
    ("TIMEOUT", "28"),
    ("CONNECTION_LOST", "16 18 52 55 56 79 80 92 95"),
    ("TOO_MANY_REDIRECTS", "47"),
    ("BAD_UPSTREAM_RESPONSE", "8 61 63 96"),
)
CURL = by_number(_CURL_ROWS)
"""What the results of libcurl mean."""


def code_of_smtp_reply(reply: int) -> str | None:
    """Return the catalog code of a mail server's reply; None if its number is not one of theirs."""
    return _SMTP_REPLIES.get(reply)
