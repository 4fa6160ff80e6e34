"""Rules for builtins and the standard library apart from its network modules: files, processes, formats, sqlite."""

import errno
from collections.abc import Set as AbstractSet
from typing import Any

from failwell.exceptions.rules import Rule, Rules, Verdict, otherwise, peek
from failwell.phrases.sql_codes import SQLITE_NAMES
from failwell.phrases.system_codes import ERRNOS, EXIT_STATUSES

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


# A resource that was not to be had was not used; a device or a disk may have done half of it.
_DIFFERING_OUTCOMES = {"RESOURCE_EXHAUSTED": "not_executed", "DISK_FULL": "unknown", "UPSTREAM_ERROR": "unknown"}
_SEVERAL_AT_ONCE = "Multiple exceptions: "  # asyncio, when no address of a host could be reached

_MISSING_IN_SQLITE = (("no such table", "TABLE_NOT_FOUND"), ("no such column", "COLUMN_NOT_FOUND"))
_HTTP_CLIENTS = frozenset({"httpx", "httpx2", "requests", "aiohttp", "urllib3", "http", "urllib", "niquests"})
_STREAMS = frozenset(
    {"ftplib", "poplib", "imaplib", "multiprocessing", "telnetlib", "asyncio", "socketserver", "xmlrpc"}
)


def by_errno(exc: OSError) -> Verdict:
    """Depends on errno."""
    number = peek(exc, "errno")
    code = ERRNOS.get(number) if isinstance(number, int) else None
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
    return next((meaning for prefix, meaning in SQLITE_NAMES if name.startswith(prefix)), None)


def by_exit_status(exc: Any) -> Verdict:
    """Depends on the exit status: 124 timed out, 127 no such program, else the program failed."""
    status = peek(exc, "returncode")
    if not isinstance(status, int):
        return "PROCESS_FAILED"
    return {
        "code": EXIT_STATUSES.get(status, "PROCESS_FAILED"),
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
    ("builtins", "ConnectionError"): otherwise(by_errno, "CONNECTION_LOST"),
    ("builtins", "ConnectionRefusedError"): "CONNECTION_REFUSED",
    ("builtins", "ConnectionResetError"): "CONNECTION_LOST",
    ("builtins", "ConnectionAbortedError"): "CONNECTION_LOST",
    ("builtins", "BrokenPipeError"): "CONNECTION_LOST",
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
