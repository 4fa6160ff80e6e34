"""What exceptions of the standard library and of other libraries become, each library by itself."""

import errno
import importlib
import inspect
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any

from tests.golden import api
from tests.golden.case import Case, plain
from tests.golden.store import PYTHON, installed
from tests.golden.wire import encoded

TEXT = "The text of the exception."
STATUSES = (400, 401, 402, 403, 404, 405, 408, 409, 410, 412, 413, 415, 418, 422, 423, 424, 425, 429, 451, 499)
STATUSES += (500, 501, 502, 503, 504, 507, 520, 529, 599)

Samples = Callable[[], dict[str, BaseException]]

STANDARD = [
    "argparse", "asyncio", "binascii", "builtins", "concurrent.futures", "concurrent.futures.process", "configparser",
    "csv", "email.errors", "ftplib", "getopt", "gzip", "http.client", "http.cookies", "imaplib", "io", "ipaddress",
    "json", "locale", "lzma", "multiprocessing", "multiprocessing.pool", "netrc", "pickle", "plistlib", "poplib",
    "queue", "re", "shutil", "smtplib", "socket", "sqlite3", "ssl", "struct", "subprocess", "tarfile", "tomllib",
    "urllib.error", "webbrowser", "xml.dom", "xml.etree.ElementTree", "xml.parsers.expat", "xml.sax", "xmlrpc.client",
    "zipfile", "zipimport", "zlib", "zoneinfo",
]  # fmt: skip

# By distribution: the modules whose exceptions are recorded.
LIBRARIES = {
    PYTHON: STANDARD,
    "httpx": ["httpx"],
    "httpx2": ["httpx2"],
    "httpcore": ["httpcore"],
    "requests": ["requests.exceptions"],
    "urllib3": ["urllib3.exceptions"],
    "aiohttp": ["aiohttp", "aiohttp.client_exceptions", "aiohttp.web_exceptions", "aiohttp.http_exceptions"],
    "websockets": ["websockets.exceptions"],
    "mcp": ["mcp", "mcp.shared.exceptions", "mcp.server.mcpserver.exceptions", "mcp.client.auth"],
    "fastmcp": ["fastmcp.exceptions"],
    "pydantic": ["pydantic", "pydantic.errors"],
    "jsonschema": ["jsonschema.exceptions"],
    "jsonschema-rs": ["jsonschema_rs"],
    "msgspec": ["msgspec"],
    "PyYAML": ["yaml"],
    "starlette": ["starlette.exceptions", "starlette.websockets", "starlette.requests"],
    "anyio": ["anyio"],
    "tenacity": ["tenacity"],
    "SQLAlchemy": ["sqlalchemy.exc", "sqlalchemy.orm.exc"],
    "psycopg": ["psycopg", "psycopg.errors"],
    "psycopg2-binary": ["psycopg2", "psycopg2.errors", "psycopg2.extensions", "psycopg2.pool"],
    "asyncpg": ["asyncpg", "asyncpg.exceptions"],
    "PyMySQL": ["pymysql", "pymysql.err"],
    "mysql-connector-python": ["mysql.connector.errors"],
    "duckdb": ["duckdb"],
    "peewee": ["peewee"],
    "redis": ["redis.exceptions", "redis.sentinel"],
    "pymongo": ["pymongo.errors", "bson.errors", "gridfs.errors"],
    "elasticsearch": ["elastic_transport", "elasticsearch"],
    "opensearch-py": ["opensearchpy.exceptions"],
    "botocore": ["botocore.exceptions"],
    "google-api-core": ["google.api_core.exceptions", "google.auth.exceptions"],
    "google-api-python-client": ["googleapiclient.errors"],
    "grpcio": ["grpc", "grpc.aio"],
    "kubernetes": ["kubernetes.client.exceptions"],
    "azure-core": ["azure.core.exceptions"],
    "PyGithub": ["github.GithubException"],
    "slack_sdk": ["slack_sdk.errors"],
    "stripe": ["stripe"],
    "cryptography": ["cryptography.exceptions", "cryptography.fernet"],
}
# They take longer to import than all the others together.
SLOW_LIBRARIES = {"openai": ["openai"], "anthropic": ["anthropic"]}


def cases() -> Iterator[Case]:
    """Yield a case for every exception class of every library there is, and for those that carry more than a text."""
    yield from _cases(LIBRARIES)


def slow_cases() -> Iterator[Case]:
    """Yield the same for libraries that take long to import."""
    yield from _cases(SLOW_LIBRARIES)


def _cases(libraries: dict[str, list[str]]) -> Iterator[Case]:
    for library, modules in libraries.items():
        if not installed(library):
            continue
        for cls in _classes(modules):
            name = f"{library}/{cls.__module__}.{cls.__qualname__}"
            yield Case(name, lambda cls=cls: {way: told(exc) for way, exc in _instances(cls).items()}, library)
        for samples in SAMPLES.get(library, ()):
            for name in _made(samples):
                yield Case(
                    f"{library}/{samples.__name__.strip('_')}/{name}",
                    lambda samples=samples, name=name: told(_made(samples)[name]),
                    library,
                )


def told(exc: BaseException) -> dict[str, Any]:
    """Return what an exception becomes."""
    failure = api.from_exception(exc)
    return {"failure": plain(failure), "terminal": api.is_terminal(exc), "wire": encoded(failure, "compact")}


def _classes(modules: list[str]) -> list[type[BaseException]]:
    package = {name.partition(".")[0] for name in modules}
    found: dict[str, type[BaseException]] = {}
    for name in modules:
        for thing in _contents(importlib.import_module(name)):
            if inspect.isclass(thing) and issubclass(thing, BaseException) and not issubclass(thing, Warning):
                own = thing.__module__.partition(".")[0].lstrip("_")
                if own in package or own == "builtins" or modules is STANDARD:
                    found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    kept = modules is STANDARD
    return [cls for name, cls in sorted(found.items()) if kept or not name.startswith("builtins.")]


def _contents(module: ModuleType) -> list[Any]:
    """Return what a module offers; some load a name when it is first asked for."""
    found: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecated class is recorded all the same
        for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
            with suppress(AttributeError, ImportError):
                found.append(getattr(module, name))
    return found


def _instances(cls: type[BaseException]) -> dict[str, BaseException]:
    """Return an exception as its constructor makes it, if it takes texts, and one that no constructor has seen."""
    found: dict[str, BaseException] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecated class is recorded all the same
        for arguments in ((TEXT,), (), (TEXT, TEXT), (TEXT, []), (TEXT, TEXT, TEXT)):
            with suppress(Exception):  # it takes other arguments
                found["built"] = cls(*arguments)
                break
    with suppress(TypeError):
        found["bare"] = cls.__new__(cls, TEXT)
    return found


def made(library: str) -> dict[str, BaseException]:
    """Return the exceptions of a library that carry more than a text, made anew."""
    return {name: exc for samples in SAMPLES[library] for name, exc in samples().items()}


@cache
def _made(samples: Samples) -> dict[str, BaseException]:
    return samples()


def caught(function: Callable[[], object]) -> BaseException:
    """Return what a function raises."""
    try:
        function()
    except Exception as exc:
        return exc.with_traceback(None)
    raise AssertionError("nothing was raised")


def _system() -> dict[str, BaseException]:
    found: dict[str, BaseException] = {
        name: OSError(number, TEXT, "/srv/data/file.txt") for number, name in sorted(errno.errorcode.items())
    }
    names = [name for name in dir(socket) if name.startswith("EAI_")]
    return found | {name: socket.gaierror(getattr(socket, name), TEXT) for name in names}


def _standard() -> dict[str, BaseException]:
    import asyncio
    import ftplib
    import http.client
    import json
    import smtplib
    import sqlite3
    import ssl
    import subprocess
    import urllib.error
    import xmlrpc.client
    from email.message import Message

    def chained(outer: BaseException, inner: BaseException, *, is_cause: bool = True) -> BaseException:
        if is_cause:
            outer.__cause__ = inner
        else:
            outer.__context__ = inner
        return outer

    asked = Message()
    asked["Retry-After"] = "30"
    database = sqlite3.connect(":memory:")
    database.execute("create table t (a integer primary key, b text not null check (length(b) < 3))")
    database.execute("insert into t values (1, 'x')")
    statements = {
        "unique": "insert into t values (1, 'y')",
        "not null": "insert into t values (2, null)",
        "check": "insert into t values (3, 'long')",
        "no table": "select * from u",
        "no column": "select c from t",
        "syntax": "selec",
        "type": "insert into t values ('x', 'y')",
    }
    found: dict[str, BaseException] = {
        f"sqlite {name}": caught(lambda line=line: database.execute(line)) for name, line in statements.items()
    }
    database.close()
    found["sqlite closed"] = caught(lambda: database.execute("select 1"))
    found |= {
        f"HTTP {status}": urllib.error.HTTPError("http://h/x", status, TEXT, Message(), None) for status in STATUSES
    }
    found |= {f"SMTP {code}": smtplib.SMTPResponseException(code, TEXT) for code in (421, 450, 452, 535, 550, 552, 554)}
    found |= {f"FTP {code}": ftplib.error_perm(f"{code} {TEXT}") for code in (421, 425, 450, 530, 532, 550, 552, 553)}
    found |= {
        f"exit {code}": subprocess.CalledProcessError(code, ["tool", "x"]) for code in (-15, -9, 1, 2, 126, 127, 137)
    }
    return found | {
        "HTTP 429 with a delay": urllib.error.HTTPError("http://h/x", 429, TEXT, asked, None),
        "URL of a refusal": urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, TEXT)),
        "URL of an unknown name": urllib.error.URLError(socket.gaierror(socket.EAI_NONAME, TEXT)),
        "timeout expired": subprocess.TimeoutExpired(["tool"], 3),
        "no such program": caught(lambda: subprocess.run(["/nonexistent/program"], check=True)),
        "no such file": caught(lambda: open("/nonexistent/file")),
        "is a folder": caught(lambda: open("/")),
        "JSON": caught(lambda: json.loads("{broken")),
        "encoding": caught(lambda: b"\xff".decode()),
        "encoding a surrogate": caught(lambda: "\ud800".encode()),
        "number": caught(lambda: int("x")),
        "key": caught(lambda: {}["x"]),
        "attribute": caught(lambda: object().x),  # type: ignore[attr-defined]  # that is the point
        "division": caught(lambda: 1 / 0),
        "assertion": AssertionError(),
        "signature": caught(lambda: (lambda x: x)()),  # type: ignore[call-arg,misc]  # that is the point
        "cancelled": asyncio.CancelledError(),
        "interrupted": KeyboardInterrupt(),
        "exit": SystemExit(3),
        "group of one": ExceptionGroup("g", [ConnectionRefusedError(errno.ECONNREFUSED, TEXT)]),
        "group of like": ExceptionGroup("g", [TimeoutError(), TimeoutError()]),
        "group of unlike": ExceptionGroup("g", [TimeoutError(), FileNotFoundError(errno.ENOENT, TEXT), KeyError("x")]),
        "nested group": ExceptionGroup("g", [ExceptionGroup("h", [PermissionError(errno.EACCES, TEXT)])]),
        "cause": chained(RuntimeError(TEXT), TimeoutError()),
        "context": chained(RuntimeError(TEXT), TimeoutError(), is_cause=False),
        "cause of a cause": chained(RuntimeError(TEXT), chained(ValueError(TEXT), FileNotFoundError(2, TEXT))),
        "declared cause": chained(RuntimeError(TEXT), api.EXCEPTIONS["NotFound"]("Task 7 does not exist.")),
        "certificate": ssl.SSLCertVerificationError(1, TEXT),
        "incomplete": http.client.IncompleteRead(b"x", 10),
        "hung up": http.client.RemoteDisconnected(TEXT),
        "fault": xmlrpc.client.Fault(4, TEXT),
        "protocol": xmlrpc.client.ProtocolError("h/x", 503, TEXT, {}),
    }  # fmt: skip


def _httpx() -> dict[str, BaseException]:
    import httpx

    return _statuses(httpx)


def _httpx2() -> dict[str, BaseException]:
    import httpx2

    return _statuses(httpx2)


def _statuses(module: Any) -> dict[str, BaseException]:
    request = module.Request("GET", "http://h/x")

    def refused(status: int, **more: Any) -> BaseException:
        response = module.Response(status, request=request, **more)
        found: BaseException = module.HTTPStatusError(TEXT, request=request, response=response)
        return found

    found = {f"HTTP {status}": refused(status) for status in STATUSES}
    found["HTTP 429 with a delay"] = refused(429, headers={"Retry-After": "12"})
    found["HTTP 400 with a problem"] = refused(400, json={"type": "about:blank", "title": "t", "detail": "d"})
    found["HTTP 403 with a quota"] = refused(403, json={"error": {"code": "insufficient_quota", "message": TEXT}})
    return found


def _requests() -> dict[str, BaseException]:
    import requests

    def refused(status: int, delay: str | None = None) -> BaseException:
        response = requests.Response()
        response.status_code = status
        if delay:
            response.headers["Retry-After"] = delay
        return requests.HTTPError(TEXT, response=response)

    return {f"HTTP {status}": refused(status) for status in STATUSES} | {"with a delay": refused(503, "7")}


def _aiohttp() -> dict[str, BaseException]:
    import aiohttp
    from multidict import CIMultiDict, CIMultiDictProxy
    from yarl import URL

    headers = CIMultiDictProxy(CIMultiDict({"Host": "h"}))
    info = aiohttp.RequestInfo(URL("http://h/x"), "GET", headers, URL("http://h/x"))
    found: dict[str, BaseException] = {
        f"HTTP {status}": aiohttp.ClientResponseError(info, (), status=status, message=TEXT) for status in STATUSES
    }
    asked = CIMultiDict({"Retry-After": "9"})
    return found | {"with a delay": aiohttp.ClientResponseError(info, (), status=429, headers=asked)}


def _starlette() -> dict[str, BaseException]:
    from starlette.exceptions import HTTPException

    return {f"HTTP {status}": HTTPException(status, TEXT) for status in STATUSES}


def _botocore() -> dict[str, BaseException]:
    from botocore.exceptions import ClientError

    codes = {
        "NoSuchKey": 404, "NoSuchBucket": 404, "AccessDenied": 403, "ThrottlingException": 400, "SlowDown": 503,
        "ValidationException": 400, "ConditionalCheckFailedException": 400, "ExpiredToken": 400, "InternalError": 500,
        "ResourceNotFoundException": 400, "ResourceInUseException": 400, "LimitExceededException": 400,
        "RequestTimeout": 400, "BucketAlreadyExists": 409, "ServiceUnavailable": 503, "PreconditionFailed": 412,
        "ProvisionedThroughputExceededException": 400, "InvalidParameterValue": 400, "UnheardOf": 400, "Odd": 503,
    }  # fmt: skip
    return {
        code: ClientError(
            {"Error": {"Code": code, "Message": TEXT}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]  # as it comes
            "PutThing",
        )
        for code, status in codes.items()
    }


def _grpcio() -> dict[str, BaseException]:
    import grpc
    from grpc import aio

    nothing = aio.Metadata()
    return {
        code.name: aio.AioRpcError(code, nothing, nothing, details=TEXT)
        for code in grpc.StatusCode
        if code is not grpc.StatusCode.OK
    }


def _googleapiclient() -> dict[str, BaseException]:
    import httplib2
    from googleapiclient.errors import HttpError

    return {f"HTTP {status}": HttpError(httplib2.Response({"status": str(status)}), b"{}") for status in STATUSES}


def _kubernetes() -> dict[str, BaseException]:
    from kubernetes.client.exceptions import ApiException

    return {f"HTTP {status}": ApiException(status=status, reason=TEXT) for status in STATUSES}


def _azure() -> dict[str, BaseException]:
    from azure.core.exceptions import HttpResponseError

    def refused(status: int) -> BaseException:
        exc = HttpResponseError(TEXT)
        exc.status_code = status
        return exc

    return {f"HTTP {status}": refused(status) for status in STATUSES}


def _openai() -> dict[str, BaseException]:
    import openai

    return _model_statuses(openai)


def _anthropic() -> dict[str, BaseException]:
    import anthropic

    return _model_statuses(anthropic)


def _model_statuses(module: Any) -> dict[str, BaseException]:
    httpx = importlib.import_module("httpx2" if hasattr(module._exceptions, "httpx2") else "httpx")
    request = httpx.Request("POST", "http://h/x")
    bodies: dict[str, Any] = {
        "": None,
        " quota": {"code": "insufficient_quota"},
        " busy": {"error": {"type": "overloaded_error"}},
    }
    found: dict[str, BaseException] = {}
    for status in STATUSES:
        for name, body in bodies.items():
            response = httpx.Response(status, request=request)
            found[f"HTTP {status}{name}"] = module.APIStatusError(TEXT, response=response, body=body)
    return found


def _github() -> dict[str, BaseException]:
    from github import GithubException

    return {f"HTTP {status}": GithubException(status, {"message": TEXT}, {}) for status in STATUSES}


def _slack() -> dict[str, BaseException]:
    from slack_sdk.errors import SlackApiError

    codes = ("ratelimited", "not_authed", "channel_not_found", "missing_scope", "invalid_arguments", "internal_error")
    codes += ("name_taken", "is_archived", "fatal_error", "msg_too_long", "token_expired", "unheard_of")
    return {code: SlackApiError(TEXT, {"ok": False, "error": code}) for code in codes}


def _stripe() -> dict[str, BaseException]:
    import stripe

    codes = ("card_declined", "resource_missing", "rate_limit", "idempotency_key_in_use", "parameter_missing")
    found: dict[str, BaseException] = {
        f"HTTP {status}": stripe.APIError(TEXT, http_status=status) for status in STATUSES
    }
    return found | {code: stripe.InvalidRequestError(TEXT, "customer", code=code, http_status=400) for code in codes}


def _pymongo() -> dict[str, BaseException]:
    from pymongo import errors

    numbers = (6, 11, 13, 18, 26, 48, 50, 89, 91, 112, 121, 189, 211, 251, 11000, 11600, 99999)
    found: dict[str, BaseException] = {f"code {number}": errors.OperationFailure(TEXT, number) for number in numbers}
    return found | {
        "duplicate": errors.DuplicateKeyError(TEXT, 11000, {"keyValue": {"email": "x"}}),
        "bulk": errors.BulkWriteError({"writeErrors": [{"code": 11000, "index": 0}], "nInserted": 1}),
    }


_MYSQL = (1040, 1044, 1045, 1048, 1049, 1050, 1054, 1062, 1064, 1146, 1205, 1213, 1216, 1406, 1451, 1452, 2002, 2003,
          2006, 2013, 3024, 9999)  # fmt: skip


def _pymysql() -> dict[str, BaseException]:
    from pymysql import err

    return {f"number {number}": err.OperationalError(number, TEXT) for number in _MYSQL}


def _mysql() -> dict[str, BaseException]:
    from mysql.connector import errors

    return {f"number {number}": errors.Error(TEXT, errno=number) for number in _MYSQL}


def _sqlalchemy() -> dict[str, BaseException]:
    import sqlite3

    from sqlalchemy import create_engine, exc, text

    def run(line: str) -> None:
        with create_engine("sqlite://").begin() as connection:
            connection.execute(text("create table t (a integer primary key, b text not null)"))
            connection.execute(text(line))

    return {
        "no table": caught(lambda: run("select * from u")),
        "not null": caught(lambda: run("insert into t values (1, null)")),
        "unique": caught(lambda: run("insert into t values (1, 'a'), (1, 'b')")),
        "wrapped": exc.OperationalError("select", {}, sqlite3.OperationalError("database is locked")),
        "lost": exc.DBAPIError("select", {}, ConnectionResetError(errno.ECONNRESET, TEXT), connection_invalidated=True),
    }


def _redis() -> dict[str, BaseException]:
    from redis import exceptions

    words = ("LOADING", "MOVED 1 h:1", "OOM", "READONLY", "WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "BUSY", "ERR")
    words += ("CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOSCRIPT", "EXECABORT", "MISCONF", "NOREPLICAS")
    return {word: exceptions.ResponseError(f"{word} {TEXT}") for word in words}


def _elasticsearch() -> dict[str, BaseException]:
    from elastic_transport import ApiResponseMeta, HttpHeaders, NodeConfig
    from elasticsearch import ApiError

    node = NodeConfig("http", "h", 9200)
    return {
        f"HTTP {status}": ApiError(TEXT, ApiResponseMeta(status, "1.1", HttpHeaders(), 0.1, node), {})
        for status in STATUSES
    }


def _opensearch() -> dict[str, BaseException]:
    from opensearchpy.exceptions import TransportError

    return {f"HTTP {status}": TransportError(status, "error", {}) for status in STATUSES}


def _pydantic() -> dict[str, BaseException]:
    from typing import Literal

    from pydantic import BaseModel, Field, TypeAdapter

    class Owner(BaseModel):
        name: str
        age: int = Field(ge=0, lt=150)

    class Task(BaseModel, extra="forbid"):
        id: int
        colour: Literal["red", "blue"] = "red"
        tags: list[str] = Field(default=[], max_length=2)
        owner: Owner | None = None

    wrong: dict[str, Any] = {
        "missing": {},
        "type": {"id": "x"},
        "enum": {"id": 1, "colour": "blu"},
        "unknown": {"id": 1, "color": "red"},
        "long": {"id": 1, "tags": ["a", "b", "c"]},
        "nested": {"id": 1, "owner": {"name": 5, "age": -1}},
        "all": {"colour": 5, "tags": "x", "owner": 7, "x": 1},
        "no object": 5,
    }
    found = {name: caught(lambda value=value: Task.model_validate(value)) for name, value in wrong.items()}
    return found | {"JSON": caught(lambda: TypeAdapter(list[int]).validate_json("[1,"))}


SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "colour": {"enum": ["red", "blue"]}},
    "required": ["id"],
    "additionalProperties": False,
}
_WRONG: dict[str, Any] = {
    "missing": {},
    "type": {"id": "x"},
    "enum": {"id": 1, "colour": "blu"},
    "more": {"id": 1, "x": 1},
}


def _jsonschema() -> dict[str, BaseException]:
    import jsonschema

    return {name: caught(lambda value=value: jsonschema.validate(value, SCHEMA)) for name, value in _WRONG.items()}


def _jsonschema_rs() -> dict[str, BaseException]:
    import jsonschema_rs

    return {name: caught(lambda value=value: jsonschema_rs.validate(SCHEMA, value)) for name, value in _WRONG.items()}


def _msgspec() -> dict[str, BaseException]:
    import msgspec

    return {
        "type": caught(lambda: msgspec.convert({"a": "x"}, dict[str, int])),
        "JSON": caught(lambda: msgspec.json.decode(b"{broken")),
    }


def _yaml() -> dict[str, BaseException]:
    import yaml

    return {"scanner": caught(lambda: yaml.safe_load("a: b: c")), "tag": caught(lambda: yaml.safe_load("!x 1"))}


def _mcp() -> dict[str, BaseException]:
    from mcp import MCPError

    codes = (-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32042, 0, 404, 1234)
    return {f"code {code}": MCPError(code=code, message=TEXT) for code in codes}


def _fastmcp() -> dict[str, BaseException]:
    from fastmcp.exceptions import ToolError

    texts = ("Rate limit exceeded, retry in 30 seconds", "Task 7 not found", "Something odd", "503 Service Unavailable")
    return {text: ToolError(text) for text in texts}


def _tenacity() -> dict[str, BaseException]:
    from tenacity import Future, RetryError

    def ended(exc: BaseException) -> BaseException:
        future = Future(3)
        future.set_exception(exc)
        return RetryError(future)

    return {"timeout": ended(TimeoutError()), "refused": ended(ConnectionRefusedError(errno.ECONNREFUSED, TEXT))}


def _websockets() -> dict[str, BaseException]:
    from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK
    from websockets.frames import Close

    codes = (1001, 1006, 1008, 1009, 1011, 1012, 1013)
    found: dict[str, BaseException] = {f"code {code}": ConnectionClosedError(Close(code, TEXT), None) for code in codes}
    return found | {"closed": ConnectionClosedOK(Close(1000, ""), None)}


SAMPLES: dict[str, tuple[Samples, ...]] = {
    PYTHON: (_system, _standard),
    "httpx": (_httpx,),
    "httpx2": (_httpx2,),
    "requests": (_requests,),
    "aiohttp": (_aiohttp,),
    "starlette": (_starlette,),
    "botocore": (_botocore,),
    "grpcio": (_grpcio,),
    "google-api-python-client": (_googleapiclient,),
    "kubernetes": (_kubernetes,),
    "azure-core": (_azure,),
    "openai": (_openai,),
    "anthropic": (_anthropic,),
    "PyGithub": (_github,),
    "slack_sdk": (_slack,),
    "stripe": (_stripe,),
    "pymongo": (_pymongo,),
    "PyMySQL": (_pymysql,),
    "mysql-connector-python": (_mysql,),
    "SQLAlchemy": (_sqlalchemy,),
    "redis": (_redis,),
    "elasticsearch": (_elasticsearch,),
    "opensearch-py": (_opensearch,),
    "pydantic": (_pydantic,),
    "jsonschema": (_jsonschema,),
    "jsonschema-rs": (_jsonschema_rs,),
    "msgspec": (_msgspec,),
    "PyYAML": (_yaml,),
    "mcp": (_mcp,),
    "fastmcp": (_fastmcp,),
    "tenacity": (_tenacity,),
    "websockets": (_websockets,),
}
