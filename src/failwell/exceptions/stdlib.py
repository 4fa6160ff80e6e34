"""Rules for builtins and the standard library apart from its network modules: files, processes, formats, sqlite."""

import errno
from collections.abc import Set as AbstractSet
from typing import Any

from failwell.exceptions.rules import Family, Rule, Verdict, otherwise, peek
from failwell.phrases.sql_codes import SQLITE_NAMES, SQLITE_SENTENCES
from failwell.phrases.system_codes import ERRNOS, EXIT_STATUSES

_MOST_FRAMES = 200


def raised_in(exc: BaseException, modules: AbstractSet[str]) -> bool:
    """Return whether the innermost frame of the exception's traceback is one of these modules or packages."""
    traceback = peek(exc, "__traceback__")
    for _ in range(_MOST_FRAMES):
        if traceback is None or traceback.tb_next is None:
            break
        traceback = traceback.tb_next
    module = traceback.tb_frame.f_globals.get("__name__") if traceback is not None else None
    return isinstance(module, str) and (module in modules or module.partition(".")[0] in modules)


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
# What raises EOFError when the peer hangs up. A pool of multiprocessing also raises what its workers did.
_STREAMS = frozenset({"ftplib", "telnetlib", "nntplib", "multiprocessing.connection", "paramiko", "rpyc", "execnet"})


def by_errno(exc: OSError) -> Verdict:
    """Depends on errno."""
    number = peek(exc, "errno")
    code = ERRNOS.get(number) if isinstance(number, int) else None
    if code is None:
        first = exc.args[0] if exc.args else None
        return "CONNECTION_FAILED" if isinstance(first, str) and first.startswith(_SEVERAL_AT_ONCE) else None
    return {"code": code, "outcome": _DIFFERING_OUTCOMES.get(code), "details": {"errno": errno.errorcode[number]}}


def by_sqlite_errorname(exc: Any) -> Verdict:
    """Depends on sqlite_errorname; where a driver leaves it out, on SQLite's own sentence."""
    sentence = exc.args[0] if exc.args and isinstance(exc.args[0], str) else ""
    name = peek(exc, "sqlite_errorname")
    if not isinstance(name, str):
        name = next((name for words, name in SQLITE_SENTENCES if sentence.startswith(words)), None)
    if name == "SQLITE_ERROR":
        for text, code in _MISSING_IN_SQLITE:
            if sentence.startswith(text):
                return code
    return next((meaning for prefix, meaning in SQLITE_NAMES if name and name.startswith(prefix)), None)


def by_exit_status(exc: Any) -> Verdict:
    """Depends on the exit status: 124 timed out, 127 no such program, else the program failed."""
    status = peek(exc, "returncode")
    if not isinstance(status, int):
        status = peek(exc, "exit_status")  # asyncssh
    if not isinstance(status, int):
        return "PROCESS_FAILED"
    return {
        "code": EXIT_STATUSES.get(status, "PROCESS_FAILED"),
        "outcome": "unknown",
        "details": {"exit_status": status},
    }


def by_source_of_text(exc: BaseException) -> Verdict:
    """Depends on who sent the text: BAD_UPSTREAM_RESPONSE from a service, else PARSE_ERROR."""
    return "BAD_UPSTREAM_RESPONSE" if passed_through(exc, _HTTP_CLIENTS) else "PARSE_ERROR"


def by_source_of_end(exc: BaseException) -> Verdict:
    """Depends on what ended: CONNECTION_LOST for a connection; a file or an input has no rule."""
    return "CONNECTION_LOST" if raised_in(exc, _STREAMS) else None


def by_full_queue(exc: BaseException) -> Verdict:
    """Depends on its text: SERVER_BUSY for the full queue of a producer of confluent-kafka; others have no rule."""
    return {"code": "SERVER_BUSY", "outcome": "not_executed"} if exc.args == ("Local: Queue full",) else None


_OWN_TIMEOUT: Rule = {"code": "TIMEOUT", "outcome": "not_executed"}  # waiting ended; nothing was taken

RULES: Family = {
    "builtins": {
        "OSError": by_errno,
        "FileNotFoundError": "FILE_NOT_FOUND",
        "FileExistsError": "ALREADY_EXISTS",
        "PermissionError": "FORBIDDEN",
        "IsADirectoryError": "WRONG_PATH_KIND",
        "NotADirectoryError": "WRONG_PATH_KIND",
        "ChildProcessError": "NOT_FOUND",
        "ProcessLookupError": "NOT_FOUND",
        "InterruptedError": "SERVICE_UNAVAILABLE",
        "BlockingIOError": {"code": "RESOURCE_EXHAUSTED", "outcome": "not_executed"},
        "ConnectionError": otherwise(by_errno, "CONNECTION_LOST"),
        "ConnectionRefusedError": "CONNECTION_REFUSED",
        "ConnectionResetError": "CONNECTION_LOST",
        "ConnectionAbortedError": "CONNECTION_LOST",
        "BrokenPipeError": "CONNECTION_LOST",
        "TimeoutError": "TIMEOUT",
        "EOFError": by_source_of_end,
        "BufferError": by_full_queue,
        "UnicodeError": "ENCODING_ERROR",
        "ImportError": "CONFIG_ERROR",
        "NotImplementedError": {"code": "NOT_IMPLEMENTED", "outcome": "unknown"},
    },
    "io": {"UnsupportedOperation": "METHOD_NOT_ALLOWED"},
    "shutil": {
        "SameFileError": "INVALID_ARGUMENT",
        "SpecialFileError": "WRONG_PATH_KIND",
        "ReadError": "PARSE_ERROR",
        "ExecError": "CONFIG_ERROR",
        "Error": "INTERNAL_ERROR",
    },
    "asyncio": {
        "IncompleteReadError": "CONNECTION_LOST",
        "LimitOverrunError": "BAD_UPSTREAM_RESPONSE",
        "QueueFull": "SERVER_BUSY",
        "QueueEmpty": _OWN_TIMEOUT,
        "QueueShutDown": {"code": "SERVICE_UNAVAILABLE", "outcome": "not_executed"},
    },
    "queue": {
        "Full": "SERVER_BUSY",
        "Empty": _OWN_TIMEOUT,
        "ShutDown": {"code": "SERVICE_UNAVAILABLE", "outcome": "not_executed"},
    },
    "_queue": {"Empty": _OWN_TIMEOUT},
    "concurrent": {
        "TimeoutError": "TIMEOUT",
        "BrokenExecutor": "WORKER_CRASHED",
    },
    "multiprocessing": {
        "TimeoutError": "TIMEOUT",
        "AuthenticationError": "UNAUTHORIZED",
        "BufferTooShort": "BAD_UPSTREAM_RESPONSE",
        "MaybeEncodingError": "INTERNAL_ERROR",
    },
    "subprocess": {
        "TimeoutExpired": "PROCESS_TIMEOUT",
        "CalledProcessError": by_exit_status,
    },
    "json": {"JSONDecodeError": by_source_of_text},
    "tomllib": {"TOMLDecodeError": by_source_of_text},
    "xml": {
        "ParseError": by_source_of_text,
        "ExpatError": by_source_of_text,
        "SAXException": by_source_of_text,
        "DOMException": "PARSE_ERROR",
    },
    "plistlib": {"InvalidFileException": "PARSE_ERROR"},
    "_csv": {"Error": "PARSE_ERROR"},
    "binascii": {
        "Error": "PARSE_ERROR",
        "Incomplete": "PARSE_ERROR",
    },
    "struct": {"error": "PARSE_ERROR"},
    "_pickle": {
        "UnpicklingError": "PARSE_ERROR",
        "PicklingError": "INTERNAL_ERROR",
    },
    "pickle": {"UnpicklingError": "PARSE_ERROR"},
    "email": {
        "MessageError": "PARSE_ERROR",
        "MessageDefect": "PARSE_ERROR",
    },
    "re": {
        "error": "PARSE_ERROR",
        "PatternError": "PARSE_ERROR",
    },
    "zlib": {"error": by_source_of_text},
    "_lzma": {"LZMAError": "PARSE_ERROR"},
    "gzip": {"BadGzipFile": by_source_of_text},
    "zipfile": {
        "BadZipFile": "PARSE_ERROR",
        "LargeZipFile": "PAYLOAD_TOO_LARGE",
    },
    "tarfile": {
        "TarError": "PARSE_ERROR",
        "CompressionError": "NOT_IMPLEMENTED",
        "FilterError": "INVALID_ARGUMENT",
    },
    "configparser": {"Error": "CONFIG_ERROR"},
    "netrc": {"NetrcParseError": "CONFIG_ERROR"},
    "locale": {"Error": "CONFIG_ERROR"},
    "zipimport": {"ZipImportError": "CONFIG_ERROR"},
    "webbrowser": {"Error": "CONFIG_ERROR"},
    "mailbox": {
        "NoSuchMailboxError": "NOT_FOUND",
        "NotEmptyError": "CONFLICT",
        "ExternalClashError": "CONCURRENT_MODIFICATION",
        "FormatError": "INTERNAL_ERROR",
    },
    "zoneinfo": {"ZoneInfoNotFoundError": "NOT_FOUND"},
    "ipaddress": {
        "AddressValueError": "INVALID_ARGUMENT",
        "NetmaskValueError": "INVALID_ARGUMENT",
    },
    "argparse": {"ArgumentError": "INVALID_ARGUMENT"},
    "getopt": {"GetoptError": "INVALID_ARGUMENT"},
    "sqlite3 pysqlite3 sqlcipher3": {
        "Error": otherwise(by_sqlite_errorname, "UPSTREAM_ERROR"),
        "IntegrityError": otherwise(by_sqlite_errorname, "CONSTRAINT_VIOLATION"),
        "OperationalError": otherwise(by_sqlite_errorname, "QUERY_ERROR"),
        "DataError": otherwise(by_sqlite_errorname, "INVALID_ARGUMENT"),
        "NotSupportedError": "NOT_IMPLEMENTED",
        "ProgrammingError": "INTERNAL_ERROR",
        "InterfaceError": "INTERNAL_ERROR",
    },
}
