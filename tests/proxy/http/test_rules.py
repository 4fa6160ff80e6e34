"""Calls that are made again, refused, flipped or only reported on."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import ClientSession, web

from failwell.event import Event
from failwell.retry._limits import suspended
from tests.proxy.http.scripts import answering, through
from tests.proxy.http.setting import (
    ACCEPT,
    Answered,
    Handler,
    call,
    event,
    failing,
    gateway,
    listed,
    post,
    scripted,
    success,
)


def in_a_session(handler: Handler, *messages: Any, words: tuple[str, ...]) -> list[Answered]:
    async def run() -> list[Answered]:
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base:
            return [await post(base, message, Mcp_Session_Id="s") for message in messages]

    return asyncio.run(run())


LIST = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}


def busy(body: Any) -> web.Response:
    return web.Response(status=503, headers={"Retry-After": "0"})


def echoed(body: Any) -> Any:
    return success(id=body["id"])


def test_a_failed_call_of_a_safe_tool_is_made_again_under_another_id_and_answered_once() -> None:
    bodies: list[Any] = []
    handler = answering(listed("work", readOnlyHint=True), busy, echoed, bodies=bodies)
    answer = in_a_session(handler, LIST, call(), words=("--retry",))[-1]

    assert answer.message == success()
    assert [body["id"] for body in bodies] == [0, 1, "failwell-retry-1"]
    assert bodies[1]["params"] == bodies[2]["params"]


def refused(body: Any) -> Any:
    return failing(id=body["id"], text="400 Bad Request")


@pytest.mark.parametrize("last", [refused, lambda _: web.Response(status=501)], ids=["the server", "the proxy"])
def test_an_effect_that_an_earlier_try_may_have_had_is_not_denied_by_the_last(last: Any) -> None:
    bodies: list[Any] = []
    handler = answering(listed("work", readOnlyHint=True), busy, last, bodies=bodies)
    answer = in_a_session(handler, LIST, call(), words=("--retry",))[-1]

    assert len(bodies) == 3
    assert answer.failure["outcome"] == "unknown"


ODD = {
    "no number": b'{"x": NaN, "spaced" : [ 1,2 ]}',
    "a large number": b'{"x":1e999}',
    "half a character": rb'{"x":"paid \ud83d", "id": 7}',
    "a wrong byte": b'{"x":"\xff"}',
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_a_call_made_again_and_its_answer_say_what_they_said(odd: bytes, kind: str) -> None:
    bodies: list[bytes] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if b'"tools/list"' in body:
            return web.Response(status=404)
        bodies.append(body)
        if len(bodies) == 1:
            return busy(None)
        id = b'"failwell-retry-1"'
        answer = b'{"jsonrpc":"2.0","id":' + id + b',"result":{"content":[],"structuredContent":' + odd + b"}}"
        return web.Response(
            body=answer if kind == "application/json" else b"data: " + answer + b"\n\n", content_type=kind
        )

    async def run() -> bytes:
        asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":' + odd + b"}}"
        words = ("--retry", "--retry-safe", "work")
        async with (
            scripted(handle) as url,
            gateway(url + "/mcp", *words) as base,
            ClientSession() as session,
            session.post(base, data=asked, headers=ACCEPT) as response,
        ):
            return await response.read()

    answered = asyncio.run(run())

    assert len(bodies) == 2
    assert odd in bodies[1]
    assert odd in answered
    assert b'"id":"failwell-retry-1",' in bodies[1]
    assert b'"id":1,' in answered


def test_a_tool_that_may_not_run_twice_is_not_run_twice() -> None:
    bodies: list[Any] = []
    handler = answering(listed("work"), busy, echoed, bodies=bodies)
    answer = in_a_session(handler, LIST, call(), words=("--retry",))[-1]

    assert (answer.failure["code"], len(bodies)) == ("SERVICE_UNAVAILABLE", 2)


def test_the_operator_can_say_that_a_tool_may_run_twice() -> None:
    answer = in_a_session(answering(busy, echoed), call(), words=("--retry", "--retry-safe", "work"))[-1]

    assert answer.message == success()


def test_a_call_that_keeps_failing_tells_how_often_it_was_made() -> None:
    answer = in_a_session(answering(busy), call(), words=("--retry", "--retry-safe", "work"))[-1]

    assert answer.message["result"]["_meta"]["dev.failwell/retry"] == {"attempts": 3}
    assert answer.message["id"] == 1


def test_progress_goes_on_and_never_back_over_the_tries_of_a_call() -> None:
    def stream(*steps: int, last: dict[str, Any]) -> Callable[[Any], web.Response]:
        def answer(body: Any) -> web.Response:
            notes = [
                {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": step}}
                for step in steps
            ]
            pieces = [*notes, {**last, "id": body["id"]}]
            return web.Response(body=b"".join(map(event, pieces)), content_type="text/event-stream")

        return answer

    unavailable = failing(text="Service unavailable (503)")
    handler = answering(stream(1, 2, last=unavailable), stream(1, 2, 3, last=success()))
    answer = in_a_session(handler, call(), words=("--retry", "--retry-safe", "work"))[-1]

    assert [message["params"]["progress"] for message in answer.messages[:-1]] == [1, 2, 3]
    assert answer.messages[-1] == success()


def test_wrong_arguments_are_refused_before_the_server_sees_them() -> None:
    bodies: list[Any] = []
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = {"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "work", "inputSchema": schema}]}}
    answer = in_a_session(answering(tools, success(), bodies=bodies), LIST, call(), words=("--validate",))[-1]

    assert (answer.failure["type"], answer.failure["outcome"]) == ("VALIDATION", "not_executed")
    assert bodies == [LIST]


def test_error_texts_in_successes_are_flipped_where_the_operator_says_so() -> None:
    hidden = success(text='{"error": "rate_limited", "message": "Slow down"}')

    assert through(answering(hidden), call(), "--flip-unflagged", "work").message["result"]["isError"] is True
    found = through(answering(hidden), call()).message["result"]
    assert found.pop("_meta")["dev.failwell/unflagged"]["code"] == "RATE_LIMITED"
    assert found == hidden["result"]


@pytest.mark.parametrize("answer", [failing(), web.Response(status=503, text="busy")], ids=["a result", "a status"])
def test_a_dry_run_reports_and_changes_nothing(answer: Any) -> None:
    seen: list[Event] = []

    async def run() -> Answered:
        async with scripted(answering(answer)) as url, gateway(url + "/mcp", "--observe", seen=seen) as base:
            return await post(base, call())

    found = asyncio.run(run())

    assert found.body == (json.dumps(answer).encode() if isinstance(answer, dict) else b"busy")
    assert [(one.kind, one.tool) for one in seen] == [("failure", "work")]


def test_a_call_that_was_cancelled_is_not_made_again_nor_answered() -> None:
    """The server ends the stream of a cancelled call without an answer; the client waits for none."""

    async def run() -> bytes:
        cancelled = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            body = json.loads(await request.read())
            if body["method"] == "notifications/cancelled":
                cancelled.set()
                return web.Response(status=202)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b": ping\n\n")
            await cancelled.wait()
            return response

        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        headers = {**ACCEPT, "Mcp-Session-Id": "s"}
        async with (
            scripted(handle) as url,
            gateway(url + "/mcp", "--retry") as base,
            ClientSession() as session,
            session.post(base, data=json.dumps(call()), headers=headers) as response,
        ):
            first = await response.content.readany()
            await post(base, note, Mcp_Session_Id="s")
            return first + await response.read()

    assert asyncio.run(run()) == b": ping\n\n"


def test_a_call_that_waits_for_its_next_try_can_be_cancelled() -> None:
    """The server knows the call by another id by then, and is told that one."""

    async def run() -> tuple[bytes, list[Any]]:
        bodies: list[Any] = []
        cancelled, again = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            body = json.loads(await request.read())
            bodies.append(body)
            if body["method"] == "notifications/cancelled":
                cancelled.set()
                return web.Response(status=202)
            if body["id"] == 1 or body["method"] == "tools/list":
                return web.Response(status=503, headers={"Retry-After": "0"})
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            again.set()
            await cancelled.wait()
            return response

        note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        words = ("--retry", "--retry-safe", "work")
        async with scripted(handle) as url, gateway(url + "/mcp", *words) as base:
            called = asyncio.create_task(post(base, call(), Mcp_Session_Id="s"))
            await again.wait()
            await post(base, note, Mcp_Session_Id="s")
            return (await called).body, bodies

    body, bodies = asyncio.run(run())

    assert body == b""
    assert bodies[-1]["params"] == {"requestId": "failwell-retry-1"}


def test_a_suspended_tool_names_its_server_only_where_that_has_a_name() -> None:
    assert suspended(("", "work"), 5.0, most=3).details == {"tool": "work", "failures": 3}
    assert suspended(("tickets", "work"), 5.0, most=3).details == {"tool": "work", "server": "tickets", "failures": 3}


CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
SAFE, UNSAFE = {"readOnlyHint": True}, {"readOnlyHint": False}


@pytest.mark.parametrize("with_notice", [False, True])
@pytest.mark.parametrize(
    ("lists", "tries"),
    [([UNSAFE, SAFE], 1), ([SAFE, UNSAFE], 1), ([SAFE, {"readOnlyHint": 1}, SAFE], 1), ([SAFE, SAFE], 2)],
    ids=["widened", "narrowed", "narrowed and widened again", "the same"],
)
def test_a_tool_that_is_listed_anew_never_gains_the_right_to_run_twice(
    lists: list[dict[str, Any]], tries: int, with_notice: bool
) -> None:
    left, calls = list(lists), list[Any]()

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            is_last = len(left) == 1  # whoever lists once more gets the same again
            answer = {**listed("work", **(left[0] if is_last else left.pop(0))), "id": body["id"]}
            notice = b"" if is_last or not with_notice else event(CHANGED)
            return web.Response(body=event(answer) + notice, content_type="text/event-stream")
        calls.append(body)
        return web.json_response(success(id=body["id"])) if len(calls) > 1 else busy(body)

    in_a_session(handle, *[LIST] * len(lists), call(), words=("--retry",))

    assert len(calls) == tries


def test_what_one_client_makes_fail_suspends_the_tool_for_no_other() -> None:
    reached: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        if body["method"] == "tools/list":
            return web.json_response({**listed("work"), "id": body["id"]})
        reached.append(request.headers["X-API-Key"])
        down = failing(id=body["id"], text="503 Service Unavailable")
        return web.json_response(down) if reached[-1] == "one" else web.json_response(success(id=body["id"]))

    async def run() -> list[Answered]:
        async with scripted(handle) as url, gateway(url + "/mcp", "--retry", "--deadline", "5") as base:
            ones = [await post(base, call(n=n), X_API_Key="one") for n in range(6)]
            return [ones[-1], await post(base, call(), X_API_Key="two")]

    last, other = asyncio.run(run())

    assert (last.failure["code"], last.failure["details"]) == ("CIRCUIT_OPEN", {"tool": "work", "failures": 5})
    assert other.message == success()
    assert reached == ["one"] * 5 + ["two"]
