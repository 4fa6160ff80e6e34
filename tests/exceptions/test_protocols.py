"""MCP, web sockets, event loops, validators and retry libraries, made to fail."""

import asyncio
import json
from typing import Any

import anyio
import fastmcp
import fastmcp.exceptions
import httpx
import jsonschema
import jsonschema_rs
import msgspec
import pydantic
import pytest
import starlette.exceptions
import tenacity
import websockets.asyncio.client
import websockets.asyncio.server
import yaml
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

import failwell as fw
from failwell import from_exception
from tests.exceptions import loopback
from tests.exceptions.caught import caught, judgement


class Person(pydantic.BaseModel):
    age: int


class Age(msgspec.Struct):
    age: int


SCHEMA = {"properties": {"age": {"type": "integer"}}}
INVALID = {
    "pydantic": lambda: Person(age="hunter2"),  # type: ignore[arg-type]
    "pydantic, JSON": lambda: Person.model_validate_json('{"age": "hunter2"}'),
    "jsonschema": lambda: jsonschema.validate({"age": "hunter2"}, SCHEMA),
    "jsonschema-rs": lambda: jsonschema_rs.validator_for(SCHEMA).validate({"age": "hunter2"}),
    "msgspec": lambda: msgspec.json.decode(b'{"age": "hunter2"}', type=Age),
}


@pytest.mark.parametrize("library", INVALID)
def test_invalid_data_inside_a_body_is_not_the_callers_fault(library: str) -> None:
    exc = caught(INVALID[library])

    assert judgement(exc) == ("INTERNAL", "BAD_UPSTREAM_RESPONSE", "unknown")
    assert "hunter2" not in repr(from_exception(exc))


@pytest.mark.parametrize(
    "schema_mistake",
    [lambda: jsonschema.validate(1, {"type": "hunter2"}), lambda: jsonschema.validate(1, {"$ref": "#/hunter2"})],
    ids=["no such type", "no such reference"],
)
def test_a_schema_that_is_wrong_is_a_bug(schema_mistake: Any) -> None:
    assert judgement(caught(schema_mistake)) == ("INTERNAL", "INTERNAL_ERROR", "unknown")


@pytest.mark.parametrize(
    "parse", [lambda: yaml.safe_load("a: [hunter2"), lambda: msgspec.json.decode(b"hunter2")], ids=["yaml", "msgspec"]
)
def test_text_that_cannot_be_parsed(parse: Any) -> None:
    exc = caught(parse)

    assert judgement(exc) == ("VALIDATION", "PARSE_ERROR", "rejected")
    assert "hunter2" not in repr(from_exception(exc))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (-32602, ("VALIDATION", "INVALID_ARGUMENT", "rejected")),
        (-32601, ("NOT_FOUND", "METHOD_NOT_FOUND", "not_executed")),
        (-32001, ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
        (-32000, ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
        (-32042, ("PERMISSION", "UNAUTHORIZED", "not_executed")),
        (-32603, ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
        (-32002, ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
        (-31337, ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
    ],
)
def test_errors_of_an_mcp_peer(number: int, expected: tuple[str, str, str]) -> None:
    exc = MCPError(number, "hunter2", {"retry_after": 30, "secret": "hunter2"})

    failure = from_exception(exc)

    assert judgement(exc) == expected
    assert failure.details == {"rpc_code": number}
    assert failure.retry_after == 30
    assert "hunter2" not in repr(failure)


@pytest.mark.parametrize(
    ("place", "origin", "outcome"),
    [("whole", "declared", "not_executed"), ("whole", "inferred", "unknown"), ("compact", "declared", "unknown")],
)
def test_the_failure_in_an_error_of_an_mcp_peer_counts_but_not_an_outcome_that_is_guessed(
    place: str, origin: Any, outcome: str
) -> None:
    limited = fw.RateLimited("hunter2", retry_after=30).failure.replace(origin=origin)
    sent = fw.encode(limited, "compact")
    exc = MCPError(-32000, "hunter2", sent["_meta"] if place == "whole" else json.loads(sent["content"][0]["text"]))

    failure = from_exception(exc)

    assert judgement(exc) == ("TRANSIENT", "RATE_LIMITED", outcome)
    assert failure.retry_after == 30
    assert "hunter2" not in repr(failure)


def test_a_code_that_nobody_knows_in_an_error_of_an_mcp_peer_is_not_passed_on() -> None:
    exc = MCPError(-32000, "x", {"dev.failwell/failure": {"message": "x", "code": "HUNTER2"}})

    assert from_exception(exc).code == "UPSTREAM_ERROR"


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (MCPError(-32000, "Connection closed"), ("TRANSIENT", "CONNECTION_LOST", "unknown")),
        (MCPError(-32001, "Request 'tools/call' timed out"), ("TRANSIENT", "UPSTREAM_TIMEOUT", "unknown")),
        (MCPError(-32600, "Session terminated"), ("TRANSIENT", "SESSION_LOST", "unknown")),
        (MCPError(-32001, "Session not found"), ("TRANSIENT", "SESSION_LOST", "unknown")),
        (MCPError(-32002, "Gone", {"uri": "file:///a"}), ("NOT_FOUND", "NOT_FOUND", "rejected")),
        (MCPError(-32000, "Session terminated by the trainer"), ("INTERNAL", "UPSTREAM_ERROR", "unknown")),
    ],
)
def test_numbers_without_a_meaning_have_one_where_an_sdk_raised_them(exc: MCPError, expected: Any) -> None:
    assert judgement(exc) == expected


def test_a_tool_error_of_mcp_gives_way_to_its_cause() -> None:
    server = MCPServer("x")

    @server.tool()
    def crash() -> str:
        raise ConnectionRefusedError(111, "hunter2")

    @server.tool()
    def typed() -> str:
        raise ToolError("hunter2")

    crashed = caught(asyncio.run, server.call_tool("crash", {}))
    raised = caught(asyncio.run, server.call_tool("typed", {}))

    assert judgement(crashed) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")
    assert from_exception(raised).code == "TOOL_ERROR"
    assert from_exception(raised).retryable is None
    assert "hunter2" not in repr(from_exception(raised))


def test_a_tool_error_of_fastmcp_gives_way_to_its_cause() -> None:
    server = fastmcp.FastMCP("x")

    @server.tool
    def crash() -> str:
        raise TimeoutError("hunter2")

    assert judgement(caught(asyncio.run, server.call_tool("crash", {}))) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(asyncio.run, server.call_tool("none", {}))) == ("NOT_FOUND", "NOT_FOUND", "rejected")
    assert from_exception(fastmcp.exceptions.AuthorizationError("hunter2")).code == "FORBIDDEN"


def test_retries_used_up_give_way_to_the_last_attempt(refused: str) -> None:
    @tenacity.retry(stop=tenacity.stop_after_attempt(2))
    def fetch() -> None:
        httpx.get(refused, trust_env=False)

    @tenacity.retry(stop=tenacity.stop_after_attempt(2), retry=tenacity.retry_if_result(lambda result: result is None))
    def poll() -> None:
        return None

    assert judgement(caught(fetch)) == ("TRANSIENT", "CONNECTION_REFUSED", "unknown")
    assert judgement(caught(poll)) == ("TRANSIENT", "SERVICE_UNAVAILABLE", "unknown")


def _connect(url: str) -> BaseException:
    async def talk() -> None:
        async with websockets.asyncio.client.connect(url, open_timeout=0.2, proxy=None) as socket:
            await socket.recv()

    return caught(asyncio.run, talk())


@pytest.mark.parametrize(
    ("close_code", "code"),
    [
        (1000, "CONNECTION_LOST"),
        (1008, "FORBIDDEN"),
        (1009, "PAYLOAD_TOO_LARGE"),
        (1011, "UPSTREAM_ERROR"),
        (1013, "SERVICE_UNAVAILABLE"),
        (4000, "CONNECTION_LOST"),
    ],
)
def test_web_sockets_closed_by_the_peer(close_code: int, code: str) -> None:
    async def run() -> None:
        async def close(connection: Any) -> None:
            await connection.close(close_code, "hunter2")

        async with websockets.asyncio.server.serve(close, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with websockets.asyncio.client.connect(f"ws://127.0.0.1:{port}", proxy=None) as socket:
                await socket.recv()

    failure = from_exception(caught(asyncio.run, run()))

    assert (failure.code, failure.outcome) == (code, "unknown")
    assert "hunter2" not in repr(failure)


def test_web_sockets_that_do_not_open(serve: Any, refused: str) -> None:
    limited = serve(loopback.answering(429, {"Retry-After": "4"})).replace("http", "ws")
    plain = serve(loopback.answering(200)).replace("http", "ws")
    silent = serve(loopback.hanging).replace("http", "ws")
    closed = serve(loopback.closing).replace("http", "ws")

    assert from_exception(_connect(limited)).retry_after == 4
    assert from_exception(_connect(plain)).code == "BAD_UPSTREAM_RESPONSE"
    assert from_exception(_connect(silent)).code == "TIMEOUT"
    assert judgement(_connect(closed)) == ("TRANSIENT", "CONNECTION_LOST", "not_executed")
    assert judgement(_connect(refused.replace("http", "ws"))) == ("TRANSIENT", "CONNECTION_REFUSED", "not_executed")
    assert judgement(_connect("http://x")) == ("VALIDATION", "INVALID_URL", "not_executed")


def test_streams_of_anyio() -> None:
    async def closed() -> None:
        sending, receiving = anyio.create_memory_object_stream[int](0)
        await receiving.aclose()
        with sending:
            await sending.send(1)

    async def ended() -> None:
        sending, receiving = anyio.create_memory_object_stream[int](0)
        await sending.aclose()
        with receiving:
            await receiving.receive()

    async def would_block() -> None:
        sending, receiving = anyio.create_memory_object_stream[int](0)
        with sending, receiving:
            receiving.receive_nowait()

    async def too_slow() -> None:
        with anyio.fail_after(0):
            await anyio.sleep(1)

    async def refused() -> None:
        with loopback.refusing() as port:
            await anyio.connect_tcp("127.0.0.1", port)

    async def in_a_group() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(too_slow)

    assert judgement(caught(anyio.run, closed)) == ("TRANSIENT", "CONNECTION_LOST", "unknown")
    assert judgement(caught(anyio.run, ended)) == ("TRANSIENT", "CONNECTION_LOST", "unknown")
    assert judgement(caught(anyio.run, would_block)) == ("CONFLICT", "RESOURCE_BUSY", "rejected")
    assert judgement(caught(anyio.run, too_slow)) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(anyio.run, in_a_group)) == ("TRANSIENT", "TIMEOUT", "unknown")
    assert judgement(caught(anyio.run, refused))[2] == "not_executed"


@pytest.mark.parametrize("status", [400, 404, 429, 503])
def test_http_errors_that_a_web_framework_raises(status: int) -> None:
    exc = starlette.exceptions.HTTPException(status, detail="hunter2", headers={"Retry-After": "6"})

    failure = from_exception(exc)

    assert failure.http_status == status
    assert failure.retry_after == (6 if status in (429, 503) else None)
    assert "hunter2" not in repr(failure)


def test_json_of_a_service_and_json_of_the_caller_are_told_apart(serve: Any) -> None:
    url = serve(loopback.NOT_JSON)

    upstream = caught(lambda: httpx.get(url, trust_env=False).json())
    given = caught(lambda: json.loads("hunter2"))

    assert type(upstream) is type(given)
    assert from_exception(upstream).code == "BAD_UPSTREAM_RESPONSE"
    assert from_exception(given).code == "PARSE_ERROR"


def test_a_tool_error_that_an_author_raised_does_not_give_way_to_its_cause() -> None:
    def pay() -> None:
        raise ToolError("The card was charged.") from fw.Unavailable("x")

    def fetch() -> None:
        raise ToolError("The card was charged.") from ConnectionRefusedError(111, "x")

    for function in (pay, fetch):
        failure = from_exception(caught(function))
        assert (failure.code, failure.retryable, failure.outcome) == ("TOOL_ERROR", None, "unknown")
