"""Exceptions raised for real by popular libraries, each labelled by what a person would say of it.

A label is the type, whether the same call may succeed later, and whether the operation that failed may have had an
effect. Of an effect that was possible, "no effect" is never said.
"""

import asyncio
import concurrent.futures
import contextlib
import decimal
import imaplib
import io
import json
import mailbox
import shutil
import smtplib
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import anthropic
import asyncpg
import boto3
import botocore.config
import dns.name
import elasticsearch
import github
import google.api_core.exceptions
import google.auth.exceptions
import grpc
import httpx
import jwt
import openai
import psycopg
import pydantic
import pymongo
import pytest
import redis
import requests
import slack_sdk.web
import sqlalchemy
import stripe
import urllib3
import websockets.sync.client

from failwell import from_exception
from tests.exceptions import loopback
from tests.exceptions.caught import caught

TOKEN = "made-up"
NO, YES, UNKNOWN = False, True, None


class Label(NamedTuple):
    name: str
    fail: Callable[[], Any]
    type: str
    retryable: bool | None
    may_have_effect: bool


CASES: list[Label] = []


def label(name: str, type_: str, retryable: bool | None, *, effect: bool) -> Callable[[Callable[[], Any]], None]:
    def add(fail: Callable[[], Any]) -> None:
        CASES.append(Label(name, fail, type_, retryable, effect))

    return add


@contextlib.contextmanager
def http(status: int, body: bytes = b"{}", headers: dict[str, str] | None = None) -> Iterator[str]:
    with loopback.serving(loopback.answering(status, headers, body)) as port:
        yield f"http://127.0.0.1:{port}"


def behind(behaviour: Any, call: Callable[[str], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with loopback.serving(behaviour) as port:
            return call(f"http://127.0.0.1:{port}")

    return run


def nobody(call: Callable[[int], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with loopback.refusing() as port:
            return call(port)

    return run


def answered(status: int, call: Callable[[str], Any], body: bytes = b"{}", **headers: str) -> Callable[[], Any]:
    def run() -> Any:
        with http(status, body, {name.replace("_", "-"): value for name, value in headers.items()}) as url:
            return call(url)

    return run


# HTTP clients.


def _httpx(url: str) -> Any:
    return httpx.post(url, timeout=0.3).raise_for_status()


def _requests(url: str) -> Any:
    return requests.post(url, timeout=0.3).raise_for_status()


def _aiohttp(url: str) -> Any:
    async def run() -> Any:
        timeout = aiohttp.ClientTimeout(total=0.3)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.post(url) as response:
            response.raise_for_status()
            return await response.json()

    return asyncio.run(run())


def _urllib(url: str) -> Any:
    return urllib.request.urlopen(url, data=b"x", timeout=0.3).read()


def _urllib3(url: str) -> Any:
    return urllib3.PoolManager(retries=False, timeout=0.3).request("POST", url)


for _name, _call in (("httpx", _httpx), ("requests", _requests), ("aiohttp", _aiohttp), ("urllib", _urllib)):
    label(f"{_name} 404", "NOT_FOUND", NO, effect=False)(answered(404, _call))
    label(f"{_name} 409", "CONFLICT", NO, effect=False)(answered(409, _call))
    label(f"{_name} 503", "TRANSIENT", YES, effect=True)(answered(503, _call))
    label(f"{_name} 429", "TRANSIENT", YES, effect=False)(answered(429, _call, Retry_After="7"))
    label(f"{_name} 401", "PERMISSION", NO, effect=False)(answered(401, _call))
for _name, _call in (
    ("httpx", _httpx), ("requests", _requests), ("aiohttp", _aiohttp), ("urllib", _urllib), ("urllib3", _urllib3),
):  # fmt: skip
    label(f"{_name} refused", "TRANSIENT", YES, effect=False)(
        nobody(lambda port, call=_call: call(f"http://127.0.0.1:{port}"))  # type: ignore[misc]  # bound now
    )
    label(f"{_name} silent", "TRANSIENT", YES, effect=True)(behind(loopback.hanging, _call))
    label(f"{_name} hung up", "TRANSIENT", YES, effect=True)(behind(loopback.closing, _call))
label("httpx bad scheme", "VALIDATION", NO, effect=False)(lambda: httpx.get("nothing://x"))
label("requests no scheme", "VALIDATION", NO, effect=False)(lambda: requests.get("nothing"))
label("urllib bad scheme", "VALIDATION", NO, effect=False)(lambda: urllib.request.urlopen("nothing://x"))
label("requests no json", "INTERNAL", NO, effect=True)(
    answered(200, lambda url: requests.post(url, timeout=1).json(), body=b"<html>")
)
label("httpx no json", "INTERNAL", NO, effect=True)(
    answered(200, lambda url: httpx.post(url, timeout=1).json(), body=b"<html>")
)
label("http.client nonsense", "INTERNAL", NO, effect=True)(
    behind(loopback.sending(b"nonsense\r\n\r\n"), lambda url: urllib.request.urlopen(url, data=b"x", timeout=1))
)
label("websockets refused", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: websockets.sync.client.connect(f"ws://127.0.0.1:{port}"))
)
label("websockets 403", "PERMISSION", NO, effect=False)(
    answered(403, lambda url: websockets.sync.client.connect(url.replace("http", "ws")))
)
label("smtplib refused", "TRANSIENT", YES, effect=False)(nobody(lambda port: smtplib.SMTP("127.0.0.1", port)))
label("imaplib refused", "TRANSIENT", YES, effect=False)(nobody(lambda port: imaplib.IMAP4("127.0.0.1", port)))
label("TLS cut off", "TRANSIENT", YES, effect=False)(
    behind(
        loopback.closing,
        lambda url: ssl.create_default_context().wrap_socket(
            socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))), server_hostname="localhost"
        ),
    )
)


# Services behind clients of their own.


def _openai(url: str) -> Any:
    client = openai.OpenAI(api_key=TOKEN, base_url=url, max_retries=0, timeout=0.3)
    return client.chat.completions.create(model="m", messages=[])


def _anthropic(url: str) -> Any:
    client = anthropic.Anthropic(api_key=TOKEN, base_url=url, max_retries=0, timeout=0.3)
    return client.messages.create(model="m", max_tokens=1, messages=[])


for _name, _call in (("openai", _openai), ("anthropic", _anthropic)):
    label(f"{_name} 400", "VALIDATION", NO, effect=False)(answered(400, _call))
    label(f"{_name} 401", "PERMISSION", NO, effect=False)(answered(401, _call))
    label(f"{_name} 429", "TRANSIENT", YES, effect=False)(answered(429, _call))
    label(f"{_name} 500", "TRANSIENT", YES, effect=True)(answered(500, _call))
    label(f"{_name} silent", "TRANSIENT", YES, effect=True)(behind(loopback.hanging, _call))
    label(f"{_name} refused", "TRANSIENT", YES, effect=False)(
        nobody(lambda port, call=_call: call(f"http://127.0.0.1:{port}"))  # type: ignore[misc]  # bound now
    )
label("openai no quota", "PERMISSION", NO, effect=False)(
    answered(429, _openai, body=b'{"error": {"code": "insufficient_quota", "type": "insufficient_quota"}}')
)


def _s3(url: str) -> Any:
    config = botocore.config.Config(retries={"max_attempts": 1, "mode": "standard"}, read_timeout=0.3)
    keys = {"aws_access_key_id": TOKEN, "aws_secret_access_key": TOKEN}
    client = boto3.client("s3", endpoint_url=url, region_name="eu-west-1", config=config, **keys)
    return client.put_object(Bucket="bucket", Key="key", Body=b"x")


def _s3_error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>x</Message></Error>".encode()


label("boto3 no bucket", "NOT_FOUND", NO, effect=False)(answered(404, _s3, body=_s3_error("NoSuchBucket")))
label("boto3 denied", "PERMISSION", NO, effect=False)(answered(403, _s3, body=_s3_error("AccessDenied")))
label("boto3 slow down", "TRANSIENT", YES, effect=False)(answered(503, _s3, body=_s3_error("SlowDown")))
label("boto3 silent", "TRANSIENT", YES, effect=True)(behind(loopback.hanging, _s3))
label("boto3 wrong parameter", "VALIDATION", NO, effect=False)(
    lambda: boto3.client(
        "s3", region_name="eu-west-1", aws_access_key_id=TOKEN, aws_secret_access_key=TOKEN
    ).put_object(Bucket="bucket", Key="key", Body=5)
)


def _slack(url: str) -> Any:
    client = slack_sdk.web.WebClient(token=TOKEN, base_url=f"{url}/", retry_handlers=[])
    return client.chat_postMessage(channel="c", text="x")


for _code, _type in (
    ("channel_not_found", "NOT_FOUND"), ("invalid_auth", "PERMISSION"), ("msg_too_long", "VALIDATION"),
):  # fmt: skip
    _body = json.dumps({"ok": False, "error": _code}).encode()
    label(f"slack {_code}", _type, NO, effect=False)(answered(200, _slack, body=_body, Content_Type="application/json"))


def _elastic(url: str) -> Any:
    client = elasticsearch.Elasticsearch(url, max_retries=0, request_timeout=0.3)
    return client.index(index="i", document={})


label("elasticsearch refused", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: _elastic(f"http://127.0.0.1:{port}"))
)
label("elasticsearch silent", "TRANSIENT", YES, effect=True)(behind(loopback.hanging, _elastic))
label("pymongo nobody there", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: pymongo.MongoClient("127.0.0.1", port, serverSelectionTimeoutMS=200).db.c.insert_one({}))
)
label("redis refused", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: redis.Redis(port=port, retry=None).set("a", 1))
)
label("redis silent", "TRANSIENT", YES, effect=True)(
    behind(loopback.hanging, lambda url: redis.Redis(port=int(url.rpartition(":")[2]), socket_timeout=0.2).set("a", 1))
)


def _github(url: str) -> Any:
    client = github.Github(base_url=url, retry=None, timeout=1, seconds_between_requests=0, seconds_between_writes=0)
    return client.get_repo("a/b")


label("github 404", "NOT_FOUND", NO, effect=False)(answered(404, _github, body=b'{"message": "Not Found"}'))
label("github 401", "PERMISSION", NO, effect=False)(answered(401, _github, body=b'{"message": "Bad credentials"}'))


def _stripe(status: int, body: dict[str, Any]) -> Callable[[], Any]:
    def run() -> Any:
        with http(status, json.dumps({"error": body}).encode()) as url:
            client = stripe.StripeClient(TOKEN, base_addresses={"api": url}, max_network_retries=0)
            return client.v1.charges.retrieve("ch")

    return run


label("stripe card declined", "VALIDATION", NO, effect=False)(
    _stripe(402, {"type": "card_error", "code": "card_declined"})
)
label("stripe no such charge", "NOT_FOUND", NO, effect=False)(
    _stripe(404, {"type": "invalid_request_error", "code": "resource_missing"})
)


# Databases.


def _engine() -> sqlalchemy.Engine:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("create table t (id integer primary key, n text not null unique)"))
        connection.execute(sqlalchemy.text("insert into t values (1, 'a')"))
    return engine


def _sql(statement: str) -> Callable[[], Any]:
    def run() -> Any:
        engine = _engine()
        try:
            with engine.begin() as connection:
                return connection.execute(sqlalchemy.text(statement)).all()
        finally:
            engine.dispose()

    return run


def _one(statement: str) -> Callable[[], Any]:
    def run() -> Any:
        engine = _engine()
        try:
            with engine.begin() as connection:
                return connection.execute(sqlalchemy.text(statement)).scalar_one()
        finally:
            engine.dispose()

    return run


label("sqlalchemy duplicate", "CONFLICT", NO, effect=False)(_sql("insert into t values (1, 'b')"))
label("sqlalchemy null", "VALIDATION", NO, effect=False)(_sql("insert into t values (2, null)"))
label("sqlalchemy no table", "NOT_FOUND", NO, effect=False)(_sql("select * from absent"))
label("sqlalchemy syntax", "VALIDATION", NO, effect=False)(_sql("selekt 1"))
label("sqlalchemy no row", "NOT_FOUND", NO, effect=False)(_one("select id from t where id = 9"))


def _locked() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        with (
            contextlib.closing(sqlite3.connect(path)) as one,
            contextlib.closing(sqlite3.connect(path, timeout=0)) as two,
        ):
            one.execute("create table t (a)")
            one.execute("begin immediate")
            two.execute("insert into t values (1)")


def _pool_is_empty() -> Any:
    engine = sqlalchemy.create_engine(
        "sqlite://", poolclass=sqlalchemy.pool.QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.05
    )
    try:
        with engine.connect():
            engine.connect()
    finally:
        engine.dispose()


label("sqlite locked", "TRANSIENT", YES, effect=False)(_locked)
label("sqlalchemy empty pool", "TRANSIENT", YES, effect=False)(_pool_is_empty)
label("sqlite no database", "NOT_FOUND", NO, effect=False)(lambda: sqlite3.connect("/nonexistent/db"))


# The machine, and formats.


def _in_folder(fail: Callable[[Path], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return fail(Path(folder))

    return run


label("mkdir twice", "CONFLICT", NO, effect=False)(_in_folder(lambda folder: folder.mkdir()))
label("folder not empty", "CONFLICT", NO, effect=False)(
    _in_folder(lambda folder: ((folder / "a").mkdir(), (folder / "a" / "b").mkdir(), (folder / "a").rmdir()))
)
label("copy of nothing", "NOT_FOUND", NO, effect=False)(
    _in_folder(lambda folder: shutil.copy(folder / "a", folder / "b"))
)
label("open a folder", "VALIDATION", NO, effect=False)(_in_folder(lambda folder: folder.read_text()))
label("name too long", "VALIDATION", NO, effect=False)(_in_folder(lambda folder: (folder / ("a" * 300)).touch()))
label("program failed", "INTERNAL", NO, effect=True)(
    lambda: subprocess.run([sys.executable, "-c", "raise SystemExit(3)"], check=True)
)
label("program too slow", "TRANSIENT", YES, effect=True)(
    lambda: subprocess.run(["/bin/sleep", "5"], timeout=0.1, check=True)
)
label("no such program", "NOT_FOUND", NO, effect=False)(lambda: subprocess.run(["/nonexistent/program"], check=True))
label("asyncio wait_for", "TRANSIENT", YES, effect=True)(lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(5), 0.01)))
label("future too slow", "TRANSIENT", YES, effect=True)(lambda: concurrent.futures.Future[int]().result(0.01))
label("socket closed", "INTERNAL", UNKNOWN, effect=True)(
    lambda: (closed := socket.socket()).close() or closed.send(b"x")
)
label("zero", "INTERNAL", UNKNOWN, effect=True)(lambda: 1 / 0)
label("no key", "INTERNAL", UNKNOWN, effect=True)(lambda: {}["a"])
label("no index", "INTERNAL", UNKNOWN, effect=True)(lambda: list[int]()[0])
label("no attribute", "INTERNAL", UNKNOWN, effect=True)(lambda: object().nothing)  # type: ignore[attr-defined]  # what is tested
label("no number", "INTERNAL", UNKNOWN, effect=True)(lambda: int("x"))
label("no decimal", "INTERNAL", UNKNOWN, effect=True)(lambda: decimal.Decimal("x"))
label("end of input", "INTERNAL", UNKNOWN, effect=True)(lambda: io.StringIO("").readline() or _raise_eof())
label("recursion", "INTERNAL", UNKNOWN, effect=True)(lambda: _recurse())
label("assertion", "INTERNAL", UNKNOWN, effect=True)(lambda: _assert())
label("not implemented", "INTERNAL", NO, effect=True)(lambda: _not_implemented())
label("no module", "INTERNAL", NO, effect=False)(lambda: __import__("nothing_of_the_kind"))


def _raise_eof() -> None:
    raise EOFError


def _recurse() -> None:
    _recurse()


def _assert() -> None:
    raise AssertionError


def _not_implemented() -> None:
    raise NotImplementedError


PARTIAL = loopback.sending(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
GARBLED = loopback.sending(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc")
for _name, _call in (("httpx", _httpx), ("requests", _requests), ("aiohttp", _aiohttp)):
    label(f"{_name} half an answer", "TRANSIENT", YES, effect=True)(behind(PARTIAL, _call))
    label(f"{_name} garbled answer", "INTERNAL", NO, effect=True)(behind(GARBLED, _call))
label("aiohttp no url", "VALIDATION", NO, effect=False)(lambda: _aiohttp("nothing"))
label("urllib3 broken url", "VALIDATION", NO, effect=False)(lambda: urllib3.PoolManager().request("GET", "http://[::1"))
label("grpc nobody there", "TRANSIENT", YES, effect=True)(nobody(lambda port: _grpc(port, None)))
label("grpc silent", "TRANSIENT", YES, effect=True)(
    behind(loopback.hanging, lambda url: _grpc(int(url.rpartition(":")[2]), 0.2))
)
label("psycopg nobody there", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: psycopg.connect(f"host=127.0.0.1 port={port} connect_timeout=2"))
)
label("asyncpg nobody there", "TRANSIENT", YES, effect=False)(
    nobody(lambda port: asyncio.run(asyncpg.connect(host="127.0.0.1", port=port, user="u", timeout=2)))
)
label("sqlalchemy two rows", "CONFLICT", NO, effect=False)(_one("select 1 union select 2"))
label("sqlalchemy no driver", "INTERNAL", NO, effect=False)(lambda: sqlalchemy.create_engine("nonsense://x"))
label("no mailbox", "NOT_FOUND", NO, effect=False)(lambda: mailbox.Maildir("/nonexistent", create=False))
label("no json for an object", "INTERNAL", UNKNOWN, effect=True)(lambda: json.dumps(object()))
label("no uuid", "INTERNAL", UNKNOWN, effect=True)(lambda: uuid.UUID("x"))


def _grpc(port: int, timeout: float | None) -> Any:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        return channel.unary_unary("/a/b")(b"", timeout=timeout)


class Order(pydantic.BaseModel):
    n: int


label("pydantic in the body", "INTERNAL", NO, effect=True)(lambda: Order.model_validate({"n": "x"}))
label("jwt expired", "PERMISSION", NO, effect=False)(
    lambda: jwt.decode(jwt.encode({"exp": 1}, TOKEN * 8, "HS256"), TOKEN * 8, ["HS256"])
)
label("jwt garbage", "PERMISSION", NO, effect=False)(lambda: jwt.decode("garbage", TOKEN * 8, ["HS256"]))
label("dns bad name", "VALIDATION", NO, effect=False)(lambda: dns.name.from_text("a" * 80 + ".example"))
label("google not found", "NOT_FOUND", NO, effect=False)(
    lambda: _raise(google.api_core.exceptions.from_http_status(404, "x"))
)
label("google deadline", "TRANSIENT", YES, effect=True)(
    lambda: _raise(google.api_core.exceptions.from_http_status(504, "x"))
)
label("google no credentials", "PERMISSION", NO, effect=False)(
    lambda: _raise(google.auth.exceptions.DefaultCredentialsError("x"))
)


def _raise(exc: Exception) -> None:
    raise exc


def wrong(case: Label) -> list[str]:
    """Return what the mapping says otherwise than the label."""
    failure = from_exception(caught(case.fail))
    found: list[str] = []
    if failure.type != case.type:
        found.append(f"{case.name}: {failure.type} ({failure.code}) instead of {case.type}")
    if failure.retryable is not case.retryable and failure.type == case.type:
        found.append(f"{case.name}: retryable {failure.retryable} instead of {case.retryable}")
    if case.may_have_effect and failure.outcome in ("not_executed", "rejected"):
        found.append(f"{case.name}: unsafe, {failure.outcome}")
    return found


@pytest.fixture(scope="module")
def mistakes() -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [mistake for case in CASES for mistake in wrong(case)]


def test_nearly_all_are_understood_as_a_person_would(mistakes: list[str]) -> None:
    assert len(CASES) > 120
    assert len(mistakes) <= 0.02 * len(CASES), mistakes


def test_no_effect_that_was_possible_is_denied(mistakes: list[str]) -> None:
    assert [mistake for mistake in mistakes if "unsafe" in mistake] == []
