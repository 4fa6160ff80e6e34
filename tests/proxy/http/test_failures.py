"""Servers that refuse calls, break off or talk nonsense, behind the gateway."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from failwell.event import Event
from tests.proxy.http.scripts import answering, breaking, streaming, through
from tests.proxy.http.setting import (
    Answered,
    call,
    event,
    gateway,
    post,
    scripted,
    success,
)


def test_an_error_of_the_protocol_keeps_its_status_and_its_words() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "Unsupported protocol version"}}
    answer = through(answering(web.json_response(error, status=400)), call())

    assert (answer.status, answer.message) == (400, error)


@pytest.mark.parametrize(("status", "code"), [(429, "RATE_LIMITED"), (503, "SERVICE_UNAVAILABLE")])
def test_retry_after_becomes_the_delay_of_a_failure(status: int, code: str) -> None:
    answer = through(answering(web.Response(status=status, headers={"Retry-After": "7"}, text="busy")), call())

    assert answer.status == 200
    assert answer.message["id"] == 1
    assert (answer.failure["code"], answer.failure["retry_after"]) == (code, 7)
    assert answer.failure["http_status"] == status
    assert "Retry-After" not in answer.headers


def test_retry_after_joins_the_json_rpc_error_of_a_server() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Too many requests"}}
    answer = through(answering(web.json_response(error, status=429, headers={"Retry-After": "9"})), call())

    assert (answer.status, answer.failure["retry_after"]) == (200, 9)


@pytest.mark.parametrize("status", [400, 403, 404, 500, 502, 504])
def test_other_http_errors_become_failures_too(status: int) -> None:
    answer = through(answering(web.Response(status=status, text="<html>password=hunter2</html>")), call())

    assert (answer.status, answer.failure["http_status"]) == (200, status)
    assert b"hunter2" not in answer.body


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {"WWW-Authenticate": 'Bearer resource_metadata="https://a/b"'}),
        (403, {"WWW-Authenticate": 'Bearer error="insufficient_scope"'}),
        (404, {}),
    ],
)
def test_what_the_client_itself_acts_on_passes(status: int, headers: dict[str, str]) -> None:
    response = web.Response(status=status, headers=headers, text="no")
    answer = through(answering(response), call(), Mcp_Session_Id="s")

    assert (answer.status, answer.body) == (status, b"no")
    assert answer.headers.get("WWW-Authenticate") == headers.get("WWW-Authenticate")


def seen_of(response: web.Response) -> tuple[Answered, list[Event]]:
    """What a client gets for a call in a session, and what the operator is told."""

    async def run() -> tuple[Answered, list[Event]]:
        seen: list[Event] = []
        async with scripted(answering(response)) as url, gateway(url + "/mcp", seen=seen) as base:
            return await post(base, call(), Mcp_Session_Id="s"), seen

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("status", "code", "outcome"), [(401, "UNAUTHORIZED", "rejected"), (404, "SESSION_LOST", "not_executed")]
)
def test_what_the_client_itself_acts_on_is_told_as_a_failure(status: int, code: str, outcome: str) -> None:
    answer, seen = seen_of(web.Response(status=status, text="no"))

    assert answer.status == status
    assert [(one.kind, one.tool, one.details) for one in seen] == [("failure", "work", {"passed": True})]
    assert [(one.failure.code, one.failure.outcome) for one in seen if one.failure] == [(code, outcome)]


def test_a_session_that_is_missing_is_told_as_a_failure_and_passes() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Bad Request: Missing session ID"}}
    answer, seen = seen_of(web.json_response(error, status=400))

    assert (answer.status, answer.message) == (400, error)
    assert [(one.kind, one.failure.http_status, one.details) for one in seen if one.failure] == [
        ("failure", 400, {"passed": True})
    ]


@pytest.mark.parametrize(
    ("status", "number", "message", "code"),
    [
        (404, -32600, "Session not found", "SESSION_LOST"),
        (400, -32600, "Bad Request: Missing session ID", "SESSION_LOST"),
    ],
)
def test_what_the_body_of_a_refusal_says_is_what_the_operator_is_told(
    status: int, number: int, message: str, code: str
) -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": number, "message": message}}
    answer, seen = seen_of(web.json_response(error, status=status))

    assert (answer.status, answer.message) == (status, error)
    assert [one.failure.code for one in seen if one.failure] == [code]


def test_a_method_that_the_server_does_not_have_is_a_failure_of_the_call() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found"}}
    answer, seen = seen_of(web.json_response(error, status=404))

    assert (answer.status, answer.failure["code"]) == (200, "METHOD_NOT_FOUND")
    assert [one.failure.code for one in seen if one.failure] == ["METHOD_NOT_FOUND"]


def test_a_call_in_a_session_that_is_refused_without_a_reason_was_not_executed() -> None:
    answer = through(answering(web.Response(status=400)), call(), Mcp_Session_Id="s")

    assert (answer.failure["code"], answer.failure["outcome"]) == ("SESSION_LOST", "not_executed")


def test_a_call_in_a_session_that_is_refused_for_another_reason_is_not_about_the_session() -> None:
    answer = through(answering(web.Response(status=400, text="no")), call(), Mcp_Session_Id="s")

    assert answer.failure["code"] != "SESSION_LOST"


@pytest.mark.parametrize("status", [404, 429, 500])
def test_http_errors_of_anything_but_a_call_pass(status: int) -> None:
    response = web.Response(status=status, headers={"Retry-After": "7"}, text="no")
    answer = through(answering(response), {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert (answer.status, answer.body, answer.headers["Retry-After"]) == (status, b"no", "7")


@pytest.mark.parametrize(
    "response",
    [
        lambda _: web.Response(text="not json", content_type="application/json"),
        lambda _: web.Response(text='{"jsonrpc":"2.0","id":1,"resu', content_type="application/json"),
        lambda _: web.Response(text="<html>Log in</html>", content_type="text/html"),
        lambda _: web.json_response(success(id=2)),
        lambda _: web.json_response([]),
    ],
    ids=["words", "half a message", "a page", "the answer to another call", "an empty batch"],
)
def test_what_is_no_answer_becomes_a_failure_that_may_have_taken_effect(response: Callable[[Any], Any]) -> None:
    answer = through(answering(response), call())

    assert (answer.failure["code"], answer.failure["outcome"]) == ("BAD_UPSTREAM_RESPONSE", "unknown")


@pytest.mark.parametrize(
    "pieces",
    [(), (b": ping\n\n",), (event(success())[:25],), (b"data: {broken\n\n",), (event(success(id=5)),)],
    ids=["nothing", "a ping", "half an event", "no JSON", "the answer to another call"],
)
def test_a_stream_without_an_answer_ends_with_a_failure(pieces: tuple[bytes, ...]) -> None:
    answer = through(streaming(*pieces), call())

    assert (answer.messages[-1]["id"], answer.failure["code"]) == (1, "CONNECTION_LOST")
    assert answer.failure["outcome"] == "unknown"


def test_a_stream_that_can_be_resumed_just_ends() -> None:
    answer = through(streaming(b"id: 1\ndata:\n\n"), call())

    assert answer.body == b"id: 1\ndata:\n\n"


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: 10000\r\n\r\n"


@pytest.mark.parametrize(
    "first",
    [b"", b"HTTP/1.1 200", HEAD % b"application/json" + b'{"jso', HEAD % b"text/event-stream" + b"data: {"],
    ids=["before the head", "in the head", "in a body", "in an event"],
)
def test_a_connection_that_breaks_is_a_failure_that_may_have_taken_effect(first: bytes) -> None:
    async def run() -> Answered:
        async with breaking(first) as url, gateway(url + "/mcp") as base:
            return await post(base, call())

    answer = asyncio.run(run())

    assert (answer.failure["code"], answer.failure["outcome"]) == ("CONNECTION_LOST", "unknown")


def test_a_server_that_is_gone_never_got_the_call() -> None:
    async def run() -> tuple[Answered, Answered]:
        async with AsyncExitStack() as server:
            url = await server.enter_async_context(scripted(answering(success())))
            async with gateway(url + "/mcp") as base:
                await server.aclose()
                return await post(base, call()), await post(base, {"jsonrpc": "2.0", "id": 3, "method": "ping"})

    called, pinged = asyncio.run(run())

    assert (called.status, called.failure["code"]) == (200, "CONNECTION_REFUSED")
    assert called.failure["outcome"] == "not_executed"
    assert (pinged.status, pinged.message["id"]) == (502, 3)
    assert pinged.message["error"]["message"] == "The server refused the connection."


def test_credentials_do_not_follow_a_redirect_to_another_origin() -> None:
    async def run() -> tuple[Answered, list[web.Request]]:
        seen: list[web.Request] = []
        async with scripted(answering(success(), seen=seen)) as other:
            moved = web.Response(status=307, headers={"Location": other + "/mcp"})
            async with scripted(answering(moved)) as url, gateway(url + "/mcp") as base:
                return await post(base, call(), Authorization="Bearer t"), seen

    answer, seen = asyncio.run(run())

    assert seen == []
    assert (answer.failure["code"], answer.failure["outcome"]) == ("CONFIG_ERROR", "not_executed")


STRAY = {"jsonrpc": "2.0", "id": "stray", "result": {"content": [], "isError": True}}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(STRAY).encode(),
        json.dumps([STRAY]).encode(),
        json.dumps({"jsonrpc": "2.0", "id": "stray", "error": {"code": -32603, "message": "x"}}).encode(),
        json.dumps([[{**STRAY, "id": 1}, 1, None], 1, None]).encode(),
        b'{"jsonrpc": "2.0", "id": "stray", "result": {"content": [], "isEr"error": true}}',
        b'{"jsonrpc": "2.0", "iG": 1, "result": {"content": [], "isError": true, "x": {"e\xff\xferror":NaN}}}',
    ],
    ids=["stray failure", "in a batch", "stray error", "batch in a batch", "no JSON", "no id, no UTF-8"],
)
def test_a_call_whose_response_answers_something_else_gets_an_answer_of_its_own(body: bytes) -> None:
    answer = through(answering(web.Response(body=body, content_type="application/json")), call())

    assert json.loads(answer.body)["id"] == 1
    assert answer.failure["outcome"] == "unknown"
