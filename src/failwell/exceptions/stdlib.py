"""Rules for the standard library apart from its network: files, processes, timeouts, data formats, sqlite."""

import errno
from collections.abc import Set as AbstractSet
from typing import Any

from failwell.exceptions.rules import Rule, Rules, Verdict, otherwise, peek

_MOST_FRAMES = 200


def passed_through(exc: BaseException, packages: AbstractSet[str]) -> bool:
    """Return whether a frame of one of these top-level packages stands in the exception's traceback."""
    traceback = peek(exc, "__traceback__")
    for _ in range(_MOST_FRAMES):
        if traceback is None:
            return False
        module = traceback.tb_frame.f_globals.get("__name__")
        if isinstance(module, str) and module.partition(".")[0] in packages:
            return True
        traceback = traceback.tb_next
    return False


ERRNOS: dict[str, tuple[str, ...]] = {
    "FILE_NOT_FOUND": ("ENOENT", "ENXIO", "ENODEV"),
    "ALREADY_EXISTS": ("EEXIST",),
    "FORBIDDEN": ("EACCES", "EPERM"),
    "WRONG_PATH_KIND": ("EISDIR", "ENOTDIR", "ELOOP", "EXDEV", "ENOTBLK"),
    "DISK_FULL": ("ENOSPC", "EDQUOT"),
    "READ_ONLY": ("EROFS",),
    "RESOURCE_EXHAUSTED": ("EMFILE", "ENFILE", "EAGAIN", "EWOULDBLOCK", "ENOBUFS", "ENOMEM", "ENOLCK", "EUSERS"),
    "RESOURCE_BUSY": ("EBUSY", "ETXTBSY", "EADDRINUSE", "EALREADY", "EINPROGRESS"),
    "DEADLOCK": ("EDEADLK",),
    "NOT_EMPTY": ("ENOTEMPTY",),
    "INVALID_ARGUMENT": ("EINVAL", "ENAMETOOLONG", "EDOM", "ERANGE", "EADDRNOTAVAIL", "EILSEQ", "EDESTADDRREQ"),
    "PAYLOAD_TOO_LARGE": ("EFBIG", "E2BIG", "EMSGSIZE", "EOVERFLOW"),
    "NOT_IMPLEMENTED": ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EPROTONOSUPPORT", "EAFNOSUPPORT", "ENOPROTOOPT", "ENOTTY"),
    "NOT_FOUND": ("ESRCH", "ECHILD"),
    "CONNECTION_REFUSED": ("ECONNREFUSED",),
    "CONNECTION_FAILED": ("ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EHOSTDOWN", "ENONET"),
    "CONNECTION_LOST": (
        "ECONNRESET",
        "ECONNABORTED",
        "EPIPE",
        "ESHUTDOWN",
        "ENETRESET",
        "ENOTCONN",
        "ENOLINK",
        "ESTALE",
    ),
    "TIMEOUT": ("ETIMEDOUT", "ETIME"),
    "UPSTREAM_ERROR": ("EIO", "EREMOTEIO"),
}
"""What the names of errno mean."""

_BY_ERRNO: dict[int, str] = {
    getattr(errno, name): code for code, names in ERRNOS.items() for name in names if hasattr(errno, name)
}
# A resource that was not to be had was not used; a device or a disk may have done half of it.
_DIFFERING_OUTCOMES = {"RESOURCE_EXHAUSTED": "not_executed", "DISK_FULL": "unknown", "UPSTREAM_ERROR": "unknown"}
_SEVERAL_AT_ONCE = "Multiple exceptions: "  # asyncio, when no address of a host could be reached

_SQLITE: tuple[tuple[str, Rule], ...] = (
    ("SQLITE_BUSY", "LOCK_TIMEOUT"),
    ("SQLITE_LOCKED", "LOCK_TIMEOUT"),
    ("SQLITE_PROTOCOL", "LOCK_TIMEOUT"),
    ("SQLITE_CONSTRAINT_UNIQUE", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_PRIMARYKEY", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_ROWID", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN_KEY_VIOLATION"),
    ("SQLITE_CONSTRAINT", "CONSTRAINT_VIOLATION"),
    ("SQLITE_FULL", {"code": "DISK_FULL", "outcome": "rejected"}),
    ("SQLITE_READONLY", "READ_ONLY"),
    ("SQLITE_PERM", "FORBIDDEN"),
    ("SQLITE_AUTH", "FORBIDDEN"),
    ("SQLITE_CANTOPEN", "FILE_NOT_FOUND"),
    ("SQLITE_INTERRUPT", "QUERY_TIMEOUT"),
    ("SQLITE_TOOBIG", "PAYLOAD_TOO_LARGE"),
    ("SQLITE_MISMATCH", "INVALID_ARGUMENT"),
    ("SQLITE_NOMEM", {"code": "RESOURCE_EXHAUSTED", "outcome": "rejected"}),
    ("SQLITE_SCHEMA", "CONCURRENT_MODIFICATION"),
    ("SQLITE_NOTADB", "PARSE_ERROR"),
    ("SQLITE_CORRUPT", {"code": "INTERNAL_ERROR"}),
    ("SQLITE_IOERR", {"code": "INTERNAL_ERROR"}),
    ("SQLITE_ERROR", "QUERY_ERROR"),
)
_MISSING_IN_SQLITE = (("no such table", "TABLE_NOT_FOUND"), ("no such column", "COLUMN_NOT_FOUND"))
_EXIT_STATUSES = {124: "PROCESS_TIMEOUT", 126: "FORBIDDEN", 127: "CONFIG_ERROR"}  # of `timeout` and of shells
_HTTP_CLIENTS = frozenset({"httpx", "httpx2", "requests", "aiohttp", "urllib3", "http", "urllib", "niquests"})
_STREAMS = frozenset(
    {"ftplib", "poplib", "imaplib", "multiprocessing", "telnetlib", "asyncio", "socketserver", "xmlrpc"}
)


def by_errno(exc: OSError) -> Verdict:
    """Depends on errno."""
    number = peek(exc, "errno")
    code = _BY_ERRNO.get(number) if isinstance(number, int) else None
    if code is None:
        first = exc.args[0] if exc.args else None
        return "CONNECTION_FAILED" if isinstance(first, str) and first.startswith(_SEVERAL_AT_ONCE) else None
    return {"code": code, "outcome": _DIFFERING_OUTCOMES.get(code), "details": {"errno": errno.errorcode[number]}}


def by_sqlite_errorname(exc: Any) -> Verdict:
    """Depends on sqlite_errorname."""
    name = peek(exc, "sqlite_errorname")
    if not isinstance(name, str):
        return None
    if name == "SQLITE_ERROR" and exc.args and isinstance(exc.args[0], str):
        for text, code in _MISSING_IN_SQLITE:
            if exc.args[0].startswith(text):
                return code
    verdict = next((verdict for prefix, verdict in _SQLITE if name.startswith(prefix)), None)
    return None if callable(verdict) else verdict


def by_exit_status(exc: Any) -> Verdict:
    """Depends on the exit status: 124 timed out, 127 no such program, else the program failed."""
    status = peek(exc, "returncode")
    if not isinstance(status, int):
        return "PROCESS_FAILED"
    return {
        "code": _EXIT_STATUSES.get(status, "PROCESS_FAILED"),
        "outcome": "unknown",
        "details": {"exit_status": status},
    }


def by_source_of_text(exc: BaseException) -> Verdict:
    """Depends on where the text came from: read by an HTTP client the answer is bad, else the input is."""
    return "BAD_UPSTREAM_RESPONSE" if passed_through(exc, _HTTP_CLIENTS) else "PARSE_ERROR"


def by_source_of_end(exc: BaseException) -> Verdict:
    """Depends on what ended: a connection was lost, a file is incomplete."""
    return "CONNECTION_LOST" if passed_through(exc, _STREAMS) else "PARSE_ERROR"


_BUG: Rule = {"code": "INTERNAL_ERROR"}
_OWN_TIMEOUT: Rule = {"code": "TIMEOUT", "outcome": "not_executed"}  # waiting ended; nothing was taken

RULES: Rules = {
    ("builtins", "OSError"): by_errno,
    ("builtins", "FileNotFoundError"): "FILE_NOT_FOUND",
    ("builtins", "FileExistsError"): "ALREADY_EXISTS",
    ("builtins", "PermissionError"): "FORBIDDEN",
    ("builtins", "IsADirectoryError"): "WRONG_PATH_KIND",
    ("builtins", "NotADirectoryError"): "WRONG_PATH_KIND",
    ("builtins", "ChildProcessError"): "NOT_FOUND",
    ("builtins", "ProcessLookupError"): "NOT_FOUND",
    ("builtins", "InterruptedError"): {"code": "SERVICE_UNAVAILABLE"},
    ("builtins", "BlockingIOError"): {"code": "RESOURCE_EXHAUSTED", "outcome": "not_executed"},
    ("builtins", "TimeoutError"): "TIMEOUT",
    ("builtins", "EOFError"): by_source_of_end,
    ("builtins", "UnicodeError"): "ENCODING_ERROR",
    ("builtins", "ImportError"): "CONFIG_ERROR",
    ("builtins", "NotImplementedError"): {"code": "NOT_IMPLEMENTED", "outcome": "unknown"},
    ("io", "UnsupportedOperation"): "METHOD_NOT_ALLOWED",
    ("shutil", "SameFileError"): "INVALID_ARGUMENT",
    ("shutil", "SpecialFileError"): "WRONG_PATH_KIND",
    ("shutil", "ReadError"): "PARSE_ERROR",
    ("shutil", "ExecError"): "CONFIG_ERROR",
    ("shutil", "Error"): {"code": "INTERNAL_ERROR"},
    ("asyncio", "IncompleteReadError"): "CONNECTION_LOST",
    ("asyncio", "LimitOverrunError"): "BAD_UPSTREAM_RESPONSE",
    ("asyncio", "QueueFull"): "SERVER_BUSY",
    ("asyncio", "QueueEmpty"): _OWN_TIMEOUT,
    ("asyncio", "QueueShutDown"): {"code": "SERVICE_UNAVAILABLE", "outcome": "not_executed"},
    ("queue", "Full"): "SERVER_BUSY",
    ("_queue", "Empty"): _OWN_TIMEOUT,
    ("queue", "Empty"): _OWN_TIMEOUT,
    ("queue", "ShutDown"): {"code": "SERVICE_UNAVAILABLE", "outcome": "not_executed"},
    ("concurrent", "TimeoutError"): "TIMEOUT",
    ("concurrent", "BrokenExecutor"): "WORKER_CRASHED",
    ("multiprocessing", "TimeoutError"): "TIMEOUT",
    ("multiprocessing", "AuthenticationError"): "UNAUTHORIZED",
    ("multiprocessing", "BufferTooShort"): "BAD_UPSTREAM_RESPONSE",
    ("multiprocessing", "MaybeEncodingError"): _BUG,
    ("subprocess", "TimeoutExpired"): "PROCESS_TIMEOUT",
    ("subprocess", "CalledProcessError"): by_exit_status,
    ("json", "JSONDecodeError"): by_source_of_text,
    ("tomllib", "TOMLDecodeError"): by_source_of_text,
    ("xml", "ParseError"): by_source_of_text,
    ("xml", "ExpatError"): by_source_of_text,
    ("xml", "SAXException"): by_source_of_text,
    ("xml", "DOMException"): "PARSE_ERROR",
    ("plistlib", "InvalidFileException"): "PARSE_ERROR",
    ("_csv", "Error"): "PARSE_ERROR",
    ("binascii", "Error"): "PARSE_ERROR",
    ("binascii", "Incomplete"): "PARSE_ERROR",
    ("struct", "error"): "PARSE_ERROR",
    ("_pickle", "UnpicklingError"): "PARSE_ERROR",
    ("pickle", "UnpicklingError"): "PARSE_ERROR",
    ("_pickle", "PicklingError"): _BUG,
    ("email", "MessageError"): "PARSE_ERROR",
    ("email", "MessageDefect"): "PARSE_ERROR",
    ("re", "error"): "PARSE_ERROR",
    ("re", "PatternError"): "PARSE_ERROR",
    ("zlib", "error"): by_source_of_text,
    ("_lzma", "LZMAError"): "PARSE_ERROR",
    ("gzip", "BadGzipFile"): by_source_of_text,
    ("zipfile", "BadZipFile"): "PARSE_ERROR",
    ("zipfile", "LargeZipFile"): "PAYLOAD_TOO_LARGE",
    ("tarfile", "TarError"): "PARSE_ERROR",
    ("tarfile", "CompressionError"): "NOT_IMPLEMENTED",
    ("tarfile", "FilterError"): "INVALID_ARGUMENT",
    ("configparser", "Error"): "CONFIG_ERROR",
    ("netrc", "NetrcParseError"): "CONFIG_ERROR",
    ("locale", "Error"): "CONFIG_ERROR",
    ("zipimport", "ZipImportError"): "CONFIG_ERROR",
    ("webbrowser", "Error"): "CONFIG_ERROR",
    ("zoneinfo", "ZoneInfoNotFoundError"): "NOT_FOUND",
    ("ipaddress", "AddressValueError"): "INVALID_ARGUMENT",
    ("ipaddress", "NetmaskValueError"): "INVALID_ARGUMENT",
    ("argparse", "ArgumentError"): "INVALID_ARGUMENT",
    ("getopt", "GetoptError"): "INVALID_ARGUMENT",
    ("sqlite3", "Error"): otherwise(by_sqlite_errorname, "UPSTREAM_ERROR"),
    ("sqlite3", "IntegrityError"): otherwise(by_sqlite_errorname, "CONSTRAINT_VIOLATION"),
    ("sqlite3", "OperationalError"): otherwise(by_sqlite_errorname, "QUERY_ERROR"),
    ("sqlite3", "DataError"): otherwise(by_sqlite_errorname, "INVALID_ARGUMENT"),
    ("sqlite3", "NotSupportedError"): "NOT_IMPLEMENTED",
    ("sqlite3", "ProgrammingError"): _BUG,
    ("sqlite3", "InterfaceError"): _BUG,
}
