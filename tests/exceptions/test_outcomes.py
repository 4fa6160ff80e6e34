"""What a class says about the effect: whether the request may have reached the service that it was meant for."""

import asyncio
import builtins
import ftplib
import gzip
import http.client
import imaplib
import io
import multiprocessing
import multiprocessing.connection
import multiprocessing.pool
import pickle
import poplib
import smtplib
import socket
import sqlite3
import ssl
import urllib.error
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import aiohttp
import azure.core.exceptions
import botocore.exceptions
import dns.exception
import dns.resolver
import grpc
import httpx
import pymongo.errors
import pytest
import redis
import requests
import urllib3.exceptions
from tenacity import Retrying, stop_after_attempt

from failwell import from_exception
from tests.exceptions.caught import UNMAPPED, caught, judgement
from tests.exceptions.seen import seen
from tests.exceptions.test_lookalikes import lookalike

_RESET = ConnectionResetError(104, "planted")
_REFUSED = ConnectionRefusedError(111, "planted")
_ABORTED = urllib3.exceptions.ProtocolError("Connection aborted.", _RESET)
_CONNECTION = SimpleNamespace(host="planted", port=443, ssl=True, is_ssl=True)


class Call(grpc.RpcError):
    """A call that ended with RESOURCE_EXHAUSTED."""

    def __init__(self, details: str) -> None:
        self._details = details

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.RESOURCE_EXHAUSTED

    def details(self) -> str:
        return self._details


def _not_primary(code: int) -> Exception:
    return pymongo.errors.NotPrimaryError("planted", {"code": code})


# Sent, or perhaps sent: nobody knows what came of it.
PERHAPS: dict[str, tuple[BaseException, str]] = {
    "reset": (_RESET, "TRANSIENT CONNECTION_LOST"),
    "broken pipe": (BrokenPipeError(32, "planted"), "TRANSIENT CONNECTION_LOST"),
    "aborted": (ConnectionAbortedError(103, "planted"), "TRANSIENT CONNECTION_LOST"),
    "time-out": (TimeoutError("planted"), "TRANSIENT TIMEOUT"),
    "time-out by number": (OSError(110, "planted"), "TRANSIENT TIMEOUT"),
    "asyncio: incomplete": (asyncio.IncompleteReadError(b"", 7), "TRANSIENT CONNECTION_LOST"),
    "http: incomplete": (http.client.IncompleteRead(b"", 7), "TRANSIENT CONNECTION_LOST"),
    "http: disconnected": (http.client.RemoteDisconnected("planted"), "TRANSIENT CONNECTION_LOST"),
    "ssl: unfinished": (ssl.SSLWantReadError("planted"), "CONFLICT RESOURCE_BUSY"),
    "urllib: unsaid": (urllib.error.URLError("planted"), "TRANSIENT CONNECTION_FAILED"),
    "urllib: reset": (urllib.error.URLError(_RESET), "TRANSIENT CONNECTION_LOST"),
    "pop: ended": (poplib.error_proto("-ERR EOF"), "TRANSIENT CONNECTION_LOST"),
    "pop: too long": (poplib.error_proto("line too long"), "INTERNAL BAD_UPSTREAM_RESPONSE"),
    "imap: too long": (imaplib.IMAP4.error("got more than 1000000 bytes"), "INTERNAL BAD_UPSTREAM_RESPONSE"),
    "imap: aborted": (imaplib.IMAP4.abort("socket error: EOF"), "TRANSIENT CONNECTION_LOST"),
    "smtp: disconnected": (smtplib.SMTPServerDisconnected("planted"), "TRANSIENT CONNECTION_LOST"),
    "httpx: read": (httpx.ReadTimeout("planted"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "httpx: write": (httpx.WriteTimeout("planted"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "httpx: write error": (httpx.WriteError("planted"), "TRANSIENT CONNECTION_LOST"),
    "httpx: protocol": (httpx.RemoteProtocolError("planted"), "TRANSIENT CONNECTION_LOST"),
    "httpx: cut off by itself": (httpx.LocalProtocolError("planted"), "VALIDATION INVALID_ARGUMENT"),
    "requests: read": (requests.ReadTimeout("planted"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "requests: aborted": (requests.ConnectionError(_ABORTED), "TRANSIENT CONNECTION_LOST"),
    "requests: proxy, reset": (
        requests.exceptions.ProxyError(urllib3.exceptions.ProxyError("planted", _RESET)),
        "TRANSIENT CONNECTION_LOST",
    ),
    "requests: TLS unsaid": (requests.exceptions.SSLError("planted"), "INTERNAL TLS_VERIFY_FAILED"),
    "urllib3: proxy, reset": (urllib3.exceptions.ProxyError("planted", _RESET), "TRANSIENT CONNECTION_LOST"),
    "urllib3: retries unsaid": (
        urllib3.exceptions.MaxRetryError(None, "/planted"),  # type: ignore[arg-type]  # no pool is needed
        "TRANSIENT CONNECTION_FAILED",
    ),
    "aiohttp: disconnected": (aiohttp.ServerDisconnectedError("planted"), "TRANSIENT CONNECTION_LOST"),
    "aiohttp: socket time-out": (aiohttp.SocketTimeoutError("planted"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "aws: proxy, reset": (
        botocore.exceptions.ProxyConnectionError(proxy_url="planted", error=urllib3.exceptions.ProxyError("x", _RESET)),
        "TRANSIENT CONNECTION_LOST",
    ),
    "azure: disconnected": (
        azure.core.exceptions.ServiceRequestError("planted", error=aiohttp.ServerDisconnectedError("planted")),
        "TRANSIENT CONNECTION_LOST",
    ),
    "azure: unsaid": (azure.core.exceptions.ServiceRequestError("planted"), "TRANSIENT CONNECTION_FAILED"),
    "dns: of one query": (dns.exception.Timeout(), "TRANSIENT DNS_TEMPORARY"),
    "redis: waiting": (redis.TimeoutError("Timeout reading from planted:6379"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "mongo: stepped down": (_not_primary(189), "TRANSIENT SERVICE_UNAVAILABLE"),
    "mongo: interrupted": (_not_primary(11602), "TRANSIENT SERVICE_UNAVAILABLE"),
    "mongo: shutting down": (_not_primary(91), "TRANSIENT SERVICE_UNAVAILABLE"),
    "grpc: answer too large": (
        Call("CLIENT: Received message larger than max (5000000 vs. 4194304)"),
        "INTERNAL BAD_UPSTREAM_RESPONSE",
    ),
    "cassandra": (
        lookalike("cassandra.NoHostAvailable", "planted", errors={"planted": _RESET}),
        "TRANSIENT CONNECTION_FAILED",
    ),
    "trino": (lookalike("trino.TrinoConnectionError<OperationalError<Error", "planted"), "TRANSIENT CONNECTION_LOST"),
    "trino: reset": (
        lookalike("trino.TrinoConnectionError<OperationalError<Error", cause=requests.ConnectionError(_ABORTED)),
        "TRANSIENT CONNECTION_LOST",
    ),
    "kombu": (lookalike("kombu.OperationalError<KombuError", "planted"), "TRANSIENT CONNECTION_LOST"),
    "kombu: reset": (lookalike("kombu.OperationalError<KombuError", cause=_RESET), "TRANSIENT CONNECTION_LOST"),
    "paramiko: proxy": (lookalike("paramiko.ProxyCommandFailure<SSHException"), "TRANSIENT CONNECTION_FAILED"),
    "pg8000: network": (lookalike("pg8000.InterfaceError<Error", "network error"), "TRANSIENT CONNECTION_LOST"),
    "odbc: time-out": (lookalike("pyodbc.OperationalError<Error", "HYT00", "planted"), "TRANSIENT QUERY_TIMEOUT"),
    "odbc: no answer": (lookalike("pyodbc.OperationalError<Error", "HYT01", "planted"), "TRANSIENT UPSTREAM_TIMEOUT"),
    "odbc: cancelled": (lookalike("pyodbc.OperationalError<Error", "HY008", "planted"), "TRANSIENT QUERY_TIMEOUT"),
    "sql server: time-out": (lookalike("pymssql.OperationalError<Error", -2), "TRANSIENT QUERY_TIMEOUT"),
    "oracle: time-out": (
        lookalike("oracledb.DatabaseError<Error", SimpleNamespace(code=12535, full_code="ORA-12535")),
        "TRANSIENT UPSTREAM_TIMEOUT",
    ),
    "oracle: protocol adapter": (
        lookalike("oracledb.DatabaseError<Error", SimpleNamespace(code=12560, full_code="ORA-12560")),
        "TRANSIENT CONNECTION_LOST",
    ),
    "psycopg: cancelling": (lookalike("psycopg.CancellationTimeout<OperationalError<Error"), "TRANSIENT QUERY_TIMEOUT"),
}  # fmt: skip

# Refused on the way, or taken back by the other side.
NEVER: dict[str, tuple[BaseException, str]] = {
    "refused": (_REFUSED, "TRANSIENT CONNECTION_REFUSED"),
    "name, for now": (socket.gaierror(socket.EAI_AGAIN, "planted"), "TRANSIENT DNS_TEMPORARY"),
    "name": (socket.gaierror(socket.EAI_NONAME, "planted"), "NOT_FOUND HOST_NOT_FOUND"),
    "urllib: refused": (urllib.error.URLError(_REFUSED), "TRANSIENT CONNECTION_REFUSED"),
    "httpx: connect": (httpx.ConnectTimeout("planted"), "TRANSIENT CONNECT_TIMEOUT"),
    "httpx: pool": (httpx.PoolTimeout("planted"), "TRANSIENT POOL_TIMEOUT"),
    "httpx: proxy": (httpx.ProxyError("planted"), "TRANSIENT CONNECTION_FAILED"),
    "requests: connect": (requests.ConnectTimeout("planted"), "TRANSIENT CONNECT_TIMEOUT"),
    "requests: proxy": (
        requests.exceptions.ProxyError(urllib3.exceptions.ProxyError("planted", OSError("Tunnel connection failed"))),
        "TRANSIENT CONNECTION_FAILED",
    ),
    "aiohttp: connect": (aiohttp.ConnectionTimeoutError("planted"), "TRANSIENT CONNECT_TIMEOUT"),
    "azure: refused": (
        azure.core.exceptions.ServiceRequestError(
            "planted",
            error=aiohttp.ClientConnectorError(_CONNECTION, _REFUSED),  # type: ignore[arg-type]  # what it looks at
        ),
        "TRANSIENT CONNECTION_REFUSED",
    ),
    "dns: of the resolver": (dns.resolver.LifetimeTimeout(timeout=1, errors=[]), "TRANSIENT DNS_TEMPORARY"),
    "redis: connecting": (redis.TimeoutError("Timeout connecting to server"), "TRANSIENT CONNECT_TIMEOUT"),
    "mongo: a secondary": (_not_primary(10107), "TRANSIENT READ_ONLY_REPLICA"),
    "grpc: limit": (Call("planted"), "TRANSIENT RATE_LIMITED"),
    "grpc: request too large": (
        Call("CLIENT: Sent message larger than max (5000000 vs. 4194304)"),
        "VALIDATION PAYLOAD_TOO_LARGE",
    ),
    "kombu: refused": (
        lookalike("kombu.OperationalError<KombuError", cause=_REFUSED),
        "TRANSIENT CONNECTION_REFUSED",
    ),
    "trino: refused": (
        lookalike("trino.TrinoConnectionError<OperationalError<Error", cause=_REFUSED),
        "TRANSIENT CONNECTION_REFUSED",
    ),
    "psycopg2: closed before": (
        lookalike("psycopg2.InterfaceError<Error", "connection already closed"),
        "TRANSIENT CONNECTION_LOST",
    ),
    "pg8000: closed before": (
        lookalike("pg8000.InterfaceError<Error", "connection is closed"),
        "TRANSIENT CONNECTION_LOST",
    ),
    "pymysql: closed before": (lookalike("pymysql.InterfaceError<Error", 0, ""), "TRANSIENT CONNECTION_LOST"),
    "postgres: time-out": (lookalike("psycopg.QueryCanceled<Error", sqlstate="57014"), "TRANSIENT QUERY_TIMEOUT"),
    "sqlite: locked": (sqlite3.OperationalError("database is locked"), "TRANSIENT LOCK_TIMEOUT"),
    "sqlite: table locked": (sqlite3.OperationalError("database table is locked: planted"), "TRANSIENT LOCK_TIMEOUT"),
    "sqlite: schema locked": (
        sqlite3.OperationalError("database schema is locked: planted"),
        "TRANSIENT LOCK_TIMEOUT",
    ),
    "sqlite of others: locked": (
        lookalike("pysqlite3.OperationalError<DatabaseError<Error", "database is locked"),
        "TRANSIENT LOCK_TIMEOUT",
    ),
    "apsw: busy": (lookalike("apsw.BusyError<Error", "planted"), "TRANSIENT LOCK_TIMEOUT"),
    "apsw: locked": (lookalike("apsw.LockedError<Error", "planted"), "TRANSIENT LOCK_TIMEOUT"),
    "sqlalchemy: locked": (
        lookalike("sqlalchemy.OperationalError<StatementError", orig=sqlite3.OperationalError("database is locked")),
        "TRANSIENT LOCK_TIMEOUT",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PERHAPS)
def test_what_may_have_reached_the_service_has_an_unknown_outcome(name: str) -> None:
    exc, expected = PERHAPS[name]

    assert seen(exc) == f"{expected} unknown"


@pytest.mark.parametrize("name", NEVER)
def test_what_never_reached_the_service_or_was_taken_back_was_not_executed(name: str) -> None:
    exc, expected = NEVER[name]

    assert seen(exc) == f"{expected} not_executed"


def _ask_a_user() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(""))
        builtins.input()


def _unpack_a_cut_file() -> None:
    gzip.decompress(gzip.compress(b"planted" * 99)[:-9])


def _through_asyncio() -> None:
    asyncio.run(asyncio.to_thread(_ask_a_user))


def _through_a_pool() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_unpack_a_cut_file).result()


def _through_a_pool_of_multiprocessing() -> None:
    with multiprocessing.pool.ThreadPool(1) as pool:
        pool.apply(_unpack_a_cut_file)


@pytest.mark.parametrize(
    "ends",
    [
        lambda: pickle.loads(b""),
        _ask_a_user,
        _unpack_a_cut_file,
        _through_asyncio,
        _through_a_pool,
        _through_a_pool_of_multiprocessing,
    ],
)
def test_an_end_that_came_too_early_says_nothing_about_the_input(ends: Callable[[], object]) -> None:
    exc = caught(ends)

    assert type(exc) is EOFError
    assert from_exception(exc) == UNMAPPED


def test_a_connection_that_ended_too_early_was_lost() -> None:
    ours, theirs = multiprocessing.Pipe()
    theirs.close()
    with ours:
        exc = caught(ours.recv)

    assert type(exc) is EOFError
    assert judgement(exc) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


def test_an_ftp_server_that_hangs_up_lost_the_connection() -> None:
    client = ftplib.FTP()
    client.file = io.StringIO("")  # what it reads replies from
    exc = caught(client.getresp)

    assert type(exc) is EOFError
    assert judgement(exc) == ("TRANSIENT", "CONNECTION_LOST", "unknown")


@pytest.mark.parametrize("package", ["paramiko.packet", "rpyc.core.stream", "execnet.gateway_base"])
def test_libraries_that_say_a_lost_connection_so_are_known(package: str) -> None:
    namespace: dict[str, object] = {"__name__": package}
    exec("def read():\n    raise EOFError", namespace)  # a frame of a library that the tests do without

    assert judgement(caught(namespace["read"])) == ("TRANSIENT", "CONNECTION_LOST", "unknown")  # type: ignore[arg-type]  # a function


@pytest.mark.parametrize(
    ("failing", "outcome"),
    [
        ([TimeoutError(), _REFUSED], "unknown"),
        ([_REFUSED, _REFUSED], "unknown"),
        ([_REFUSED], "not_executed"),
    ],
    ids=["time-out, refused", "refused twice", "refused once"],
)
def test_of_several_tries_only_the_last_is_known(failing: list[BaseException], outcome: str) -> None:
    tries = iter(failing)

    def charge() -> None:
        raise next(tries)

    exc = caught(Retrying(stop=stop_after_attempt(len(failing))), charge)

    assert judgement(exc) == ("TRANSIENT", "CONNECTION_REFUSED", outcome)
