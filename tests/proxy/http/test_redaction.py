"""Errors that answer no call, and the heads of failing responses: redacted on their way through the gateway."""

import json
from typing import Any

import pytest
from aiohttp import web

from failwell.proxy.bounds import MAX_DECODED, MAX_SMALL_BODY
from failwell.proxy.http import redaction
from failwell.proxy.http.reply import Headers
from tests.proxy.http.scripts import answering, streaming, through
from tests.proxy.http.setting import call, event, failing, success

SECRET = "hunter2xyz"
URL = f"postgresql://app:{SECRET}@db/x"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
READ = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///a"}}
DEPTH = 100_000
HIDDEN = "The request failed, and its error cannot be shown."


def rpc_error(text: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": text, **more}}


def deep_error() -> str:
    return f'{{"jsonrpc":"2.0","id":1,"error":{"[" * DEPTH}"{URL}"{"]" * DEPTH}}}'


def json_body(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


@pytest.mark.parametrize("request_", [LIST, READ], ids=["tools", "resource"])
def test_an_error_in_a_stream_that_answers_no_call_is_redacted(request_: dict[str, Any]) -> None:
    answer = through(streaming(event(rpc_error(f"cannot reach {URL}"))), request_)

    [message] = answer.messages
    assert SECRET not in answer.body.decode()
    assert message["error"]["message"].startswith("cannot reach postgresql://")


@pytest.mark.parametrize("request_", [LIST, READ], ids=["tools", "resource"])
@pytest.mark.parametrize("is_stream", [True, False], ids=["stream", "body"])
def test_an_error_that_is_too_deep_to_be_read_is_answered_without_its_words(
    request_: dict[str, Any], *, is_stream: bool
) -> None:
    data = deep_error()
    handler = streaming(f"data: {data}\n\n".encode()) if is_stream else answering(json_body(data.encode()))
    answer = through(handler, request_)

    [message] = answer.messages if is_stream else [answer.message]
    assert (message["id"], message["error"]["message"]) == (1, HIDDEN)


@pytest.mark.parametrize("length", [MAX_SMALL_BODY, MAX_DECODED], ids=["long", "too long to be decoded"])
def test_a_long_error_that_answers_no_call_is_redacted(length: int) -> None:
    body = json.dumps(rpc_error(f"cannot reach {URL}", data="x" * length))
    message = through(answering(json_body(body.encode())), READ).message

    assert message["id"] == 1
    assert SECRET not in json.dumps(message)


@pytest.mark.parametrize("length", [MAX_SMALL_BODY, MAX_DECODED], ids=["long", "too long to be decoded"])
def test_a_long_success_that_quotes_an_error_passes_unchanged(length: int) -> None:
    result = {"error": None, "contents": [{"uri": "file:///a", "text": URL + "x" * length}]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    assert through(answering(json_body(body)), READ).body == body


@pytest.mark.parametrize(
    ("request_", "answer"),
    [(READ, rpc_error("no")), (call(), rpc_error("no")), (call(), failing(text="no such file"))],
    ids=["resource", "call", "flagged"],
)
@pytest.mark.parametrize("status", [500, 401, 200])
def test_headers_of_a_failing_response_are_redacted(
    request_: dict[str, Any], answer: dict[str, Any], status: int
) -> None:
    headers = {"X-Debug": f"connect {URL}", "X-Api-Key": SECRET, "X-Node": "eu-7", "Set-Cookie": f"sid={SECRET}"}
    found = through(answering(web.json_response(answer, status=status, headers=headers)), request_).headers

    assert found["X-Node"] == "eu-7"
    assert found["Set-Cookie"] == f"sid={SECRET}"
    assert SECRET not in found["X-Debug"] + found["X-Api-Key"]


def test_a_header_that_comes_with_each_failing_response_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Any] = []
    redact = redaction.redact_json
    monkeypatch.setattr(redaction, "redact_json", lambda value: searched.append(value) or redact(value))
    headers = Headers({"Server": "one that no other test has"})

    assert [redaction.redacted_headers(headers) for _ in range(3)] == 3 * [headers]
    assert searched == [dict(headers)]


def test_headers_of_a_success_pass_unchanged() -> None:
    headers = {"X-Debug": f"connect {URL}", "X-Api-Key": SECRET}
    found = through(answering(web.json_response(success(), headers=headers)), call()).headers

    assert {name: found[name] for name in headers} == headers
