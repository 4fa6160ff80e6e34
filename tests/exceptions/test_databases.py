"""Real Redis; MongoDB, Elasticsearch and OpenSearch by their protocols on loopback."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import bson
import elasticsearch
import elasticsearch.helpers
import opensearchpy
import pymongo
import pymongo.errors
import pytest
import redis
import redis.asyncio

from tests.exceptions import loopback
from tests.exceptions.caught import caught
from tests.exceptions.seen import mapped, seen
from tests.exceptions.servers import (
    Redis,
    answering_whole,
    closing_whole,
    hanging_whole,
    redis_server,
    sending_lines,
    serving_many,
)  # fmt: skip

__all__ = ["redis_server"]

SHORT = 0.2


@pytest.fixture
def client(redis_server: Redis) -> Iterator[redis.Redis]:
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)
        client.config_set("min-replicas-to-write", 0)
        client.execute_command("REPLICAOF", "NO", "ONE")


def _watched(client: redis.Redis) -> None:
    with client.pipeline() as pipeline:
        pipeline.watch("key")
        client.set("key", "planted")
        pipeline.multi()
        pipeline.set("key", "other")
        pipeline.execute()


def _full(client: redis.Redis) -> None:
    client.config_set("maxmemory", 1)
    client.set("key", "planted")


def _replica(client: redis.Redis) -> None:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")
    client.set("key", "planted")


def _lonely(client: redis.Redis) -> None:
    client.config_set("min-replicas-to-write", 3)
    client.set("key", "planted")


def _locked(client: redis.Redis) -> None:
    client.lock("lock").acquire()
    with client.lock("lock", blocking=False):
        pass


def _released(client: redis.Redis) -> None:
    lock = client.lock("lock")
    lock.acquire()
    client.set("lock", "planted")
    lock.release()


def _group(client: redis.Redis) -> None:
    client.xgroup_create("stream", "planted", mkstream=True)
    client.xgroup_create("stream", "planted")


def _wrong_type(client: redis.Redis) -> None:
    client.set("key", "planted")
    client.lpush("key", "other")


def _aborted(client: redis.Redis) -> None:
    with client.pipeline() as pipeline:
        pipeline.execute_command("PLANTED")
        pipeline.execute()


REDIS = {
    _wrong_type: "VALIDATION INVALID_ARGUMENT rejected",
    _watched: "CONFLICT CONCURRENT_MODIFICATION not_executed",
    _full: "TRANSIENT RESOURCE_EXHAUSTED not_executed",
    _replica: "TRANSIENT READ_ONLY_REPLICA rejected",
    _lonely: "TRANSIENT SERVICE_UNAVAILABLE not_executed",
    _locked: "CONFLICT LOCKED not_executed",
    _released: "CONFLICT CONCURRENT_MODIFICATION rejected",
    _group: "CONFLICT ALREADY_EXISTS rejected",
    _aborted: "VALIDATION INVALID_ARGUMENT rejected",
    lambda client: client.xreadgroup("planted", "me", {"stream": ">"}): "NOT_FOUND NOT_FOUND rejected",
    lambda client: client.evalsha("0" * 40, 0): "NOT_FOUND NOT_FOUND rejected",
    lambda client: client.execute_command("PLANTED"): "VALIDATION INVALID_ARGUMENT rejected",
    lambda client: client.set("key", "planted") and client.incr("key"): "VALIDATION INVALID_ARGUMENT rejected",
    lambda client: client.set("key", object()): "VALIDATION INVALID_ARGUMENT rejected",
    lambda client: client.execute_command("CLUSTER", "INFO"): "VALIDATION INVALID_ARGUMENT rejected",
}  # fmt: skip


@pytest.mark.parametrize("use", REDIS, ids=lambda use: use.__name__)
def test_what_redis_refuses_is_told(client: redis.Redis, use: Callable[[redis.Redis], Any]) -> None:
    exc = caught(use, client)

    assert seen(exc) == REDIS[use]


def test_a_transaction_on_a_changed_key_may_be_tried_again(client: redis.Redis) -> None:
    assert mapped(caught(_watched, client)).retryable is True


def test_who_may_not_use_redis_is_told(client: redis.Redis, redis_server: Redis) -> None:
    client.acl_setuser("reader", enabled=True, passwords=["+planted"], categories=["+@read"], keys=["*"])
    try:
        with redis.Redis(port=redis_server.port, username="reader", password="planted", retry=None) as reader:
            forbidden = caught(reader.set, "key", "planted")
        with redis.Redis(port=redis_server.port, username="reader", password="planted-wrong", retry=None) as stranger:
            denied = caught(stranger.get, "key")
    finally:
        client.acl_deluser("reader")

    assert seen(forbidden) == "PERMISSION FORBIDDEN rejected"
    assert seen(denied) == "PERMISSION UNAUTHORIZED rejected"


def _redis_get(port: int, patience: float = 5) -> None:
    with redis.Redis(
        port=port, socket_connect_timeout=patience, socket_timeout=patience, protocol=2, retry=None
    ) as client:
        client.get("planted")


def _redis_get_async(port: int, patience: float = 5) -> None:
    async def get() -> None:
        client = redis.asyncio.Redis(
            port=port, socket_connect_timeout=patience, socket_timeout=patience, protocol=2, retry=None
        )
        try:
            await client.get("planted")
        finally:
            await client.aclose()

    asyncio.run(get())


@pytest.mark.parametrize("get", [_redis_get, _redis_get_async], ids=lambda get: get.__name__)
def test_redis_connections_fail_before_or_while_something_is_executed(get: Callable[..., None]) -> None:
    with loopback.refusing() as port:
        refused = caught(get, port)
    with loopback.unanswering() as port:
        unanswered = caught(get, port, SHORT)
    with loopback.serving(sending_lines(b"+OK\r\n", until=b"GET")) as port:
        lost = caught(get, port)
    with loopback.serving(sending_lines(b"+OK\r\n", until=b"GET", then_hang=True)) as port:
        late = caught(get, port, SHORT)

    assert seen(refused) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(unanswered) == "TRANSIENT CONNECT_TIMEOUT not_executed"
    assert seen(lost) == "TRANSIENT CONNECTION_LOST unknown"
    assert seen(late) == "TRANSIENT UPSTREAM_TIMEOUT unknown"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (b"-LOADING planted", "TRANSIENT SERVICE_UNAVAILABLE not_executed"),
        (b"-CLUSTERDOWN planted", "TRANSIENT SERVICE_UNAVAILABLE not_executed"),
        (b"-TRYAGAIN planted", "TRANSIENT SERVICE_UNAVAILABLE not_executed"),
        (b"-MISCONF planted", "TRANSIENT SERVICE_UNAVAILABLE not_executed"),
        (b"-BUSY planted", "CONFLICT RESOURCE_BUSY rejected"),
        (b"-MOVED 1 127.0.0.1:1", "TRANSIENT MISDIRECTED not_executed"),
        (b"-ERR max number of clients reached", "TRANSIENT RESOURCE_EXHAUSTED not_executed"),
        (b"-NOAUTH planted", "PERMISSION UNAUTHORIZED rejected"),
    ],
)
def test_what_a_redis_in_trouble_replies_is_told(reply: bytes, expected: str) -> None:
    with loopback.serving(sending_lines(b"+OK\r\n", until=b"GET", last=reply + b"\r\n")) as port:
        exc = caught(_redis_get, port)

    assert seen(exc) == expected


def test_a_redis_pool_without_a_free_connection_executes_nothing(redis_server: Redis) -> None:
    pool = redis.ConnectionPool(port=redis_server.port, max_connections=1)
    pool.get_connection()

    exc = caught(pool.get_connection)
    pool.disconnect()

    assert seen(exc) == "TRANSIENT SERVICE_UNAVAILABLE not_executed"


class MongoLike:
    """Answers the hello of a driver, and every other command with one document."""

    def __init__(self, answer: dict[str, Any] | None, *, hang: bool = False) -> None:
        self.answer = answer
        self.hang = hang

    def __call__(self, connection: socket.socket, ended: threading.Event) -> None:
        while (request := self._read(connection)) is not None:
            number, command = request
            name = next(iter(command))
            if name.lower() in ("hello", "ismaster"):
                document: dict[str, Any] | None = {
                    "ok": 1.0, "isWritablePrimary": True, "ismaster": True, "helloOk": True, "minWireVersion": 0,
                    "maxWireVersion": 21, "maxBsonObjectSize": 16777216, "maxMessageSizeBytes": 48000000,
                    "maxWriteBatchSize": 100000, "logicalSessionTimeoutMinutes": 30,
                }  # fmt: skip
            elif name == "endSessions":
                document = {"ok": 1.0}
            else:
                document = self.answer
            if document is None:
                if self.hang:
                    ended.wait(5)
                return
            connection.sendall(self._message(number, document, command.get("$old", False)))

    @staticmethod
    def _read(connection: socket.socket) -> tuple[int, dict[str, Any]] | None:
        head = _exactly(connection, 16)
        if head is None:
            return None
        size, number, _, kind = struct.unpack("<iiii", head)
        body = _exactly(connection, size - 16) or b""
        if kind == 2004:  # OP_QUERY: flags, name, skip, limit
            document = bson.decode(body[body.index(b"\x00", 4) + 9 :])
            return number, {**document, "$old": True}
        return number, bson.decode(body[5 : 5 + struct.unpack_from("<i", body, 5)[0]])

    @staticmethod
    def _message(number: int, document: dict[str, Any], old: bool) -> bytes:
        data = bson.encode(document)
        body = struct.pack("<iqii", 8, 0, 0, 1) + data if old else struct.pack("<i", 0) + b"\x00" + data
        return struct.pack("<iiii", 16 + len(body), 1, number, 1 if old else 2013) + body


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return data


@contextlib.contextmanager
def mongo(answer: dict[str, Any] | None, *, hang: bool = False) -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    options = {"directConnection": True, "retryWrites": False, "retryReads": False, "serverSelectionTimeoutMS": 5000}
    patience = 200 if hang else 5000
    with (
        serving_many(MongoLike(answer, hang=hang)) as port,
        pymongo.MongoClient("127.0.0.1", port, socketTimeoutMS=patience, **options) as client,
    ):
        yield client


def _failed(code: int, *labels: str) -> dict[str, Any]:
    return {"ok": 0.0, "errmsg": "planted", "code": code, "codeName": "Planted", "errorLabels": list(labels)}


def _write_error(code: int, **more: Any) -> dict[str, Any]:
    return {"ok": 1.0, "n": 0, "writeErrors": [{"index": 0, "code": code, "errmsg": "planted"}], **more}


MONGO = [
    (_failed(18), "PERMISSION UNAUTHORIZED rejected"),
    (_failed(13), "PERMISSION FORBIDDEN rejected"),
    (_failed(26), "NOT_FOUND NOT_FOUND rejected"),
    (_failed(48), "CONFLICT ALREADY_EXISTS rejected"),
    (_failed(50), "TRANSIENT QUERY_TIMEOUT unknown"),
    (_failed(2), "VALIDATION INVALID_ARGUMENT rejected"),
    (_failed(59), "INTERNAL NOT_IMPLEMENTED rejected"),
    (_failed(112, "TransientTransactionError"), "CONFLICT CONCURRENT_MODIFICATION not_executed"),
    (_failed(24, "UnknownTransactionCommitResult"), "TRANSIENT LOCK_TIMEOUT unknown"),
    (_failed(10107), "TRANSIENT READ_ONLY_REPLICA not_executed"),
    (_failed(40324), "VALIDATION QUERY_ERROR rejected"),
    (_failed(43), "NOT_FOUND GONE rejected"),
    (_failed(14031), "INTERNAL DISK_FULL unknown"),
    (_failed(8), "INTERNAL UPSTREAM_ERROR unknown"),
    (_write_error(11000), "CONFLICT ALREADY_EXISTS rejected"),
    (_write_error(121), "VALIDATION CONSTRAINT_VIOLATION rejected"),
    (
        {"ok": 1.0, "n": 1, "writeConcernError": {"code": 64, "errmsg": "planted", "errInfo": {"wtimeout": True}}},
        "TRANSIENT UPSTREAM_TIMEOUT unknown",
    ),
    ({"ok": 1.0, "n": 1, "writeConcernError": {"code": 100, "errmsg": "planted"}}, "INTERNAL OUTCOME_UNKNOWN unknown"),
]


@pytest.mark.parametrize(("answer", "expected"), MONGO)
def test_what_mongodb_answers_is_told_by_its_code(answer: dict[str, Any], expected: str) -> None:
    with mongo(answer) as client:
        exc = caught(client.db.things.insert_one, {"planted": 1})

    assert seen(exc) == expected


def test_a_bulk_write_that_stopped_in_the_middle_has_taken_effect_in_part() -> None:
    with mongo(_write_error(11000) | {"n": 0}) as client:
        none = caught(client.db.things.insert_many, [{"_id": 1}, {"_id": 2}])
    with mongo({"ok": 1.0, "n": 1, "writeErrors": [{"index": 1, "code": 11000, "errmsg": "planted"}]}) as client:
        some = caught(client.db.things.insert_many, [{"_id": 1}, {"_id": 2}])

    assert seen(none) == "CONFLICT ALREADY_EXISTS rejected"
    assert seen(some) == "CONFLICT ALREADY_EXISTS unknown"


def test_mongodb_connections_fail_before_or_while_something_is_executed() -> None:
    with mongo(None) as client:
        lost = caught(client.db.things.insert_one, {"planted": 1})
    with mongo(None, hang=True) as client:
        late = caught(client.db.things.insert_one, {"planted": 1})
    with (
        loopback.refusing() as port,
        pymongo.MongoClient("127.0.0.1", port, serverSelectionTimeoutMS=50, directConnection=True) as client,
    ):
        refused = caught(client.db.things.insert_one, {"planted": 1})

    assert seen(lost) == "TRANSIENT CONNECTION_LOST unknown"
    assert seen(late) == "TRANSIENT UPSTREAM_TIMEOUT unknown"
    assert seen(refused) == "TRANSIENT CONNECTION_FAILED not_executed"


def test_what_pymongo_refuses_by_itself_is_told() -> None:
    with mongo({"ok": 1.0}) as client:
        invalid = caught(client.db.things.insert_one, {"planted": object()})
        named = caught(lambda: client["planted name"])
    assert seen(invalid) == "VALIDATION INVALID_ARGUMENT rejected"
    assert seen(named) == "VALIDATION INVALID_ARGUMENT rejected"
    assert seen(caught(pymongo.MongoClient, "planted://planted")) == "INTERNAL CONFIG_ERROR not_executed"
    assert seen(caught(bson.ObjectId, "planted")) == "VALIDATION INVALID_ARGUMENT rejected"


def _elastic(url: str, patience: float = 5) -> elasticsearch.Elasticsearch:
    return elasticsearch.Elasticsearch(url, request_timeout=patience, max_retries=0)


def _elastic_search(url: str, patience: float = 5) -> None:
    with _elastic(url, patience) as client:
        client.search(index="planted")


def _opensearch_search(url: str, patience: float = 5) -> None:
    with opensearchpy.OpenSearch(url, timeout=patience, max_retries=0) as client:
        client.search(index="planted")


def _elastic_search_async(url: str, patience: float = 5) -> None:
    async def search() -> None:
        async with elasticsearch.AsyncElasticsearch(url, request_timeout=patience, max_retries=0) as client:
            await client.search(index="planted")

    asyncio.run(search())


def _error(kind: str, root: str | None = None) -> dict[str, Any]:
    root_cause = [{"type": root or kind, "reason": "planted"}]
    return {"error": {"type": kind, "reason": "planted", "root_cause": root_cause}, "status": 0}


SEARCHED = [
    (404, _error("index_not_found_exception"), "NOT_FOUND NOT_FOUND rejected"),
    (400, _error("resource_already_exists_exception"), "CONFLICT ALREADY_EXISTS rejected"),
    (400, _error("search_phase_execution_exception", "query_shard_exception"), "VALIDATION QUERY_ERROR rejected"),
    (400, _error("parsing_exception"), "VALIDATION QUERY_ERROR rejected"),
    (400, _error("document_parsing_exception"), "VALIDATION INVALID_ARGUMENT rejected"),
    (400, _error("index_closed_exception"), "CONFLICT PRECONDITION_FAILED rejected"),
    (409, _error("version_conflict_engine_exception"), "CONFLICT CONCURRENT_MODIFICATION rejected"),
    (401, _error("security_exception"), "PERMISSION UNAUTHORIZED rejected"),
    (403, _error("security_exception"), "PERMISSION FORBIDDEN rejected"),
    (403, _error("cluster_block_exception"), "PERMISSION READ_ONLY rejected"),
    (413, b"planted", "VALIDATION PAYLOAD_TOO_LARGE rejected"),
    (429, _error("es_rejected_execution_exception"), "TRANSIENT RATE_LIMITED not_executed"),
    (429, _error("circuit_breaking_exception"), "TRANSIENT RESOURCE_EXHAUSTED not_executed"),
    (500, _error("null_pointer_exception"), "TRANSIENT UPSTREAM_ERROR unknown"),
    (503, b"planted", "TRANSIENT SERVICE_UNAVAILABLE unknown"),
]


@pytest.mark.parametrize(("status", "body", "expected"), SEARCHED)
@pytest.mark.parametrize("search", [_elastic_search, _opensearch_search], ids=lambda search: search.__name__)
def test_what_a_search_engine_answers_is_told_by_the_type_of_its_error(
    serve: Callable[..., str], search: Callable[..., None], status: int, body: Any, expected: str
) -> None:
    url = serve(answering_whole(status, {"X-Elastic-Product": "Elasticsearch"}, body))

    exc = caught(search, url)

    assert seen(exc) == expected


@pytest.mark.parametrize(
    "search", [_elastic_search, _opensearch_search, _elastic_search_async], ids=lambda search: search.__name__
)
def test_search_engines_fail_before_or_while_something_is_executed(
    serve: Callable[..., str], refused: str, search: Callable[..., None]
) -> None:
    assert seen(caught(search, refused)) == "TRANSIENT CONNECTION_REFUSED not_executed"
    assert seen(caught(search, serve(closing_whole))) == "TRANSIENT CONNECTION_LOST unknown"
    assert seen(caught(search, serve(hanging_whole), SHORT)) == "TRANSIENT UPSTREAM_TIMEOUT unknown"


def test_a_search_engine_that_is_another_product_is_a_wrong_configuration(serve: Callable[..., str]) -> None:
    exc = caught(_elastic_search, serve(answering_whole(200, body={"planted": 1})))

    assert seen(exc) == "INTERNAL CONFIG_ERROR not_executed"


def test_some_of_a_bulk_may_have_been_indexed(serve: Callable[..., str]) -> None:
    item = {"index": {"status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "planted"}}}
    url = serve(answering_whole(200, {"X-Elastic-Product": "Elasticsearch"}, {"errors": True, "items": [item]}))

    with _elastic(url) as client:
        exc = caught(elasticsearch.helpers.bulk, client, [{"_index": "planted", "a": 1}])

    assert seen(exc) == "INTERNAL UPSTREAM_ERROR unknown"


def test_how_long_a_search_engine_asks_to_wait_is_told(serve: Callable[..., str]) -> None:
    headers = {"X-Elastic-Product": "Elasticsearch", "Retry-After": "7"}

    exc = caught(_elastic_search, serve(answering_whole(429, headers, _error("es_rejected_execution_exception"))))

    assert mapped(exc).retry_after == 7
