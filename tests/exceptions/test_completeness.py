"""Every exception class of the libraries we know has a rule, or a reason for having none."""

import importlib
import inspect
import sys

import pytest

import failwell as fw
from failwell.exceptions import rules

LIBRARIES = {
    "httpx": ["httpx"],
    "httpx2": ["httpx2"],
    "httpcore": ["httpcore"],
    "requests": ["requests.exceptions"],
    "urllib3": ["urllib3.exceptions"],
    "aiohttp": ["aiohttp", "aiohttp.client_exceptions", "aiohttp.web_exceptions", "aiohttp.http_exceptions"],
    "websockets": ["websockets.exceptions"],
    "mcp": [
        "mcp", "mcp.shared.exceptions", "mcp.server.mcpserver.exceptions", "mcp.server.auth.provider",
        "mcp.client.auth",
    ],
    "fastmcp": ["fastmcp.exceptions", "fastmcp.server.middleware.rate_limiting"],
    "pydantic": ["pydantic", "pydantic.errors"],
    "pydantic_core": ["pydantic_core"],
    "pydantic_settings": ["pydantic_settings"],
    "jsonschema": ["jsonschema.exceptions"],
    "jsonschema_rs": ["jsonschema_rs"],
    "msgspec": ["msgspec"],
    "yaml": ["yaml"],
    "starlette": ["starlette.exceptions", "starlette.websockets", "starlette.requests"],
    "anyio": ["anyio", "anyio._core._exceptions"],  # loaded by `anyio` only when asked for
    "tenacity": ["tenacity"],
}  # fmt: skip

STANDARD = [
    "argparse", "asyncio", "binascii", "concurrent.futures", "concurrent.futures.process", "configparser", "csv",
    "email.errors", "ftplib", "getopt", "gzip", "http.client", "http.cookies", "imaplib", "io", "ipaddress", "json",
    "locale", "lzma", "multiprocessing", "multiprocessing.pool", "netrc", "pickle", "plistlib", "poplib", "queue",
    "re", "shutil", "smtplib", "socket", "sqlite3", "ssl", "struct", "subprocess", "tarfile", "tomllib",
    "urllib.error", "webbrowser", "xml.dom", "xml.etree.ElementTree", "xml.parsers.expat", "xml.sax", "xmlrpc.client",
    "zipfile", "zipimport", "zlib", "zoneinfo",
]  # fmt: skip

SERVICES = {
    "sqlalchemy": ["sqlalchemy.exc", "sqlalchemy.orm.exc"],
    "psycopg": ["psycopg", "psycopg.errors"],
    "psycopg_pool": ["psycopg_pool"],
    "psycopg2": ["psycopg2", "psycopg2.errors", "psycopg2.extensions", "psycopg2.pool"],
    "asyncpg": ["asyncpg", "asyncpg.exceptions"],
    "pymysql": ["pymysql", "pymysql.err"],
    "mysql": ["mysql.connector", "mysql.connector.errors"],
    "_duckdb": ["duckdb"],
    "redis": ["redis", "redis.exceptions", "redis.sentinel"],
    "pymongo": ["pymongo.errors"],
    "bson": ["bson.errors"],
    "gridfs": ["gridfs.errors"],
    "elastic_transport": ["elastic_transport"],
    "elasticsearch": ["elasticsearch", "elasticsearch.helpers", "elasticsearch.dsl.exceptions"],
    "opensearchpy": ["opensearchpy", "opensearchpy.exceptions", "opensearchpy.helpers"],
    "botocore": ["botocore.exceptions"],
    "boto3": ["boto3.exceptions"],
    "s3transfer": ["s3transfer.exceptions", "s3transfer"],
    "google": ["google.api_core.exceptions", "google.auth.exceptions"],
    "googleapiclient": ["googleapiclient.errors"],
    "grpc": ["grpc", "grpc.aio"],
    "kubernetes": ["kubernetes.client.exceptions", "kubernetes.config"],
    "azure": ["azure.core.exceptions"],
    "openai": ["openai._exceptions"],
    "anthropic": ["anthropic"],
    "github": ["github.GithubException"],
    "slack_sdk": ["slack_sdk.errors"],
    "stripe": ["stripe._error", "stripe.oauth_error"],
}

LIBRARIES_WITHOUT_A_RULE = {
    "anyio.TaskFailed": "stands for what the task raised, which is its cause",
    "anyio.FutureFailed": "stands for what the future raised, which is its cause",
    "anyio.TaskCancelled": "nobody said why it was cancelled",
    "anyio.FutureCancelled": "nobody said why it was cancelled",
    "anyio.TaskNotFinished": "a handle used wrongly: a programming mistake",
    "anyio.FutureNotFinished": "a future used wrongly: a programming mistake",
    "anyio.FutureAlreadyFinished": "a future used wrongly: a programming mistake",
}

SERVICES_WITHOUT_A_RULE = {
    "psycopg.Rollback": "ends a block of psycopg's own, and never leaves it",
    "psycopg.Warning": "named in PEP 249, raised by nobody",
    "psycopg2.Warning": "named in PEP 249, raised by nobody",
    "mysql.Warning": "named in PEP 249, raised by nobody",
    "_duckdb.Warning": "named in PEP 249, raised by nobody",
}

WITHOUT_A_RULE = {
    "ProcessError": "multiprocessing's base class, never raised itself",
    "RegistryError": "shutil's, for a programming mistake",
    "InvalidStateError": "a future used wrongly: a programming mistake",
    "CancelledError": "nobody said why it was cancelled",
    "BrokenBarrierError": "asyncio's, for a programming mistake",
    "SendfileNotAvailableError": "never leaves the event loop",
    "PickleError": "pickle's base class, never raised itself",
    "ArgumentTypeError": "argparse turns it into an ArgumentError",
    "RemoteTraceback": "holds the text of a traceback, as the cause of what a worker raised",
    "SubprocessError": "subprocess's base class, never raised itself",
    "Warning": "sqlite3 does not raise it any more",
}


def exception_classes(modules: list[str], package: str | None = None) -> list[type]:
    found = {
        thing: None
        for name in modules
        for thing in vars(importlib.import_module(name)).values()
        if inspect.isclass(thing)
        and issubclass(thing, Exception)
        and not issubclass(thing, Warning)
        and not thing.__name__.startswith("_")
    }
    return [cls for cls in found if package is None or cls.__module__.partition(".")[0] == package]


@pytest.mark.parametrize("package", LIBRARIES)
def test_every_exception_of_a_library_has_a_rule_or_a_reason(package: str) -> None:
    classes = exception_classes(LIBRARIES[package], package)
    bare = {f"{package}.{cls.__qualname__}" for cls in classes if not rules.plan_of(cls).libraries}

    assert classes
    assert bare == {name for name in LIBRARIES_WITHOUT_A_RULE if name.partition(".")[0] == package}


@pytest.mark.parametrize("package", SERVICES)
def test_every_exception_of_a_service_has_a_rule_or_a_reason(package: str) -> None:
    classes = exception_classes(SERVICES[package], package)
    bare = {f"{package}.{cls.__name__}" for cls in classes if not rules.plan_of(cls).libraries}

    assert classes
    assert sorted(bare - set(SERVICES_WITHOUT_A_RULE)) == []


def test_a_reason_is_given_only_where_there_is_no_rule() -> None:
    classes = [cls for package, modules in SERVICES.items() for cls in exception_classes(modules, package)]
    bare = {f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in classes if not rules.plan_of(cls).libraries}

    assert set(SERVICES_WITHOUT_A_RULE) - bare == set()


def test_every_exception_of_the_standard_library_has_a_rule_or_a_reason() -> None:
    classes = [cls for cls in exception_classes(STANDARD) if cls.__module__ != "builtins"]

    def is_sure(cls: type) -> bool:
        return any(not is_guess for _, is_guess in rules.plan_of(cls).standard)

    bare = [cls for cls in classes if cls.__module__.partition(".")[0] in sys.stdlib_module_names and not is_sure(cls)]
    assert sorted({cls.__qualname__ for cls in bare} - set(WITHOUT_A_RULE)) == []
    assert len(classes) > 100


def test_every_rule_says_its_code_or_what_it_depends_on() -> None:
    listed = list(rules.list_rules())

    assert [(package, name) for package, name, meaning in listed if not meaning] == []
    assert all(package and name for package, name, _ in listed)
    assert ("builtins", "FileNotFoundError", "FILE_NOT_FOUND") in listed


def test_every_fixed_verdict_makes_a_failure_of_a_catalog_code() -> None:
    fixed = [(key, rule) for key, rule in rules.all_rules().items() if not callable(rule)]

    for (package, name), _ in fixed:
        failure = fw.from_exception(type(name, (Exception,), {"__module__": package})())
        assert fw.codes.get(failure.code) is not None
        assert failure.origin == "mapped"
    assert len(fixed) > 200
