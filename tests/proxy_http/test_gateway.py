"""The gateway in front of servers that answer as a test says."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import ClientSession, web

from failwell.proxy.events import Happening
from tests.proxy_http.setting import (
    ACCEPT,
    Answered,
    Handler,
    ask,
    call,
    event,
    failing,
    gateway,
    listed,
    post,
    scripted,
    success,
)


def answering(*answers: Any, seen: list[web.Request] | None = None, bodies: list[Any] | None = None) -> Handler:
    """A server that gives one answer after the other: a message, or a response."""
    left = list(answers)

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if seen is not None:
            seen.append(request)
        if bodies is not None:
            bodies.append(json.loads(body) if body else None)
        answer = left.pop(0) if len(left) > 1 else left[0]
        if callable(answer):
            answer = answer(json.loads(body))
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    return handle


def through(handler: Handler, message: Any, *words: str, path: str = "/mcp", **headers: str) -> Answered:
    """What a client gets for a message that it posts to a gateway in front of a server."""

    async def run() -> Answered:
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base:
            return await post(base + path, message, **headers)

    return asyncio.run(run())


def streaming(*pieces: bytes) -> Handler:
    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    return handle


@asynccontextmanager
async def breaking(first: bytes) -> AsyncIterator[str]:
    """A server that sends so many bytes and resets the connection."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(first)
        await writer.drain()
        writer.transport.abort()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def test_a_success_passes_byte_for_byte() -> None:
    body = b'{"result" : {"content":[], "isError":false},\n "id":1, "jsonrpc":"2.0"}'
    answer = through(answering(web.Response(body=body, content_type="application/json")), call())

    assert (answer.status, answer.body) == (200, body)


def test_a_failing_result_becomes_structured() -> None:
    failure = through(answering(failing()), call()).failure

    assert (failure["code"], failure["retry_after"], failure["tool"]) == ("RATE_LIMITED", 30, "work")


def test_a_json_rpc_error_of_a_tool_becomes_a_result() -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "connection refused"}}
    answer = through(answering(error), call())

    assert answer.message["result"]["isError"] is True
    assert answer.message["result"]["_meta"]["dev.failwell/original"] == {"error": error["error"]}


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


def test_headers_pass_both_ways_and_authorization_too() -> None:
    seen: list[web.Request] = []
    response = web.json_response(success(), headers={"Mcp-Session-Id": "s1", "X-Own": "1"})
    answer = through(
        answering(response, seen=seen), call(), Authorization="Bearer t", Mcp_Method="tools/call", Mcp_Name="work"
    )

    assert {name: seen[0].headers[name] for name in ("Authorization", "Mcp-Method", "Mcp-Name")} == {
        "Authorization": "Bearer t",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "work",
    }
    assert (answer.headers["Mcp-Session-Id"], answer.headers["X-Own"]) == ("s1", "1")


def test_headers_of_the_operator_are_sent_where_the_client_has_none() -> None:
    seen: list[web.Request] = []
    words = ("--header", "X-Key: k", "--header", "Authorization: no")
    through(answering(success(), seen=seen), call(), *words, Authorization="Bearer t")

    assert (seen[0].headers["X-Key"], seen[0].headers["Authorization"]) == ("k", "Bearer t")


def test_a_packed_answer_arrives_unpacked() -> None:
    packed = web.Response(
        body=gzip.compress(json.dumps(failing()).encode()),
        content_type="application/json",
        headers={"Content-Encoding": "gzip"},
    )
    answer = through(answering(packed), call())

    assert "Content-Encoding" not in answer.headers
    assert answer.failure["code"] == "RATE_LIMITED"


def test_events_pass_and_the_failing_one_keeps_its_id() -> None:
    note = event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})
    asked = event({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
    answer = through(streaming(note + asked[:20], asked[20:] + event(failing(), id="e9")[:30], event(failing(), id="e9")[30:]), call())

    assert answer.body.startswith(note + asked)
    assert b"id: e9\n" in answer.body
    assert answer.failure["code"] == "RATE_LIMITED"


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


def test_a_second_answer_to_the_same_call_is_dropped() -> None:
    answer = through(streaming(event(success(text="first")) + event(success(text="second"))), call())

    assert answer.messages == [success(text="first")]


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
        async with scripted(answering(success())) as url, gateway(url + "/mcp") as base:
            gone = base
            context = scripted(answering(success()))
            other = await context.__aenter__()
            async with gateway(other + "/mcp") as base:
                await context.__aexit__(None, None, None)
                return await post(base, call()), await post(base, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
            raise AssertionError(gone)

    called, pinged = asyncio.run(run())

    assert (called.status, called.failure["code"]) == (200, "CONNECTION_REFUSED")
    assert called.failure["outcome"] == "not_executed"
    assert (pinged.status, pinged.message["id"]) == (502, 3)
    assert pinged.message["error"]["message"] == "The server refused the connection."


def test_redirects_within_the_origin_are_followed_and_keep_the_call() -> None:
    bodies: list[Any] = []
    moved = web.Response(status=307, headers={"Location": "/mcp/"})
    answer = through(answering(moved, success(), bodies=bodies), call())

    assert (answer.message, bodies) == (success(), [call(), call()])


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


def test_a_stranger_s_page_is_kept_out_before_the_server_hears_of_it() -> None:
    seen: list[web.Request] = []
    answers = [
        through(answering(success(), seen=seen), call(), Origin="https://evil.example"),
        through(answering(success(), seen=seen), call(), Host="evil.example"),
    ]

    assert ([answer.status for answer in answers], seen) == ([403, 403], [])


def test_questions_of_browsers_pass_untouched() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=204, headers={"Access-Control-Allow-Origin": request.headers["Origin"]})

    async def run() -> Answered:
        async with scripted(handle) as url, gateway(url + "/mcp", "--allow-origin", "https://app.example") as base:
            return await ask("OPTIONS", base + "/mcp", Origin="https://app.example")

    answer = asyncio.run(run())

    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (204, "https://app.example")


def test_sessions_are_ended_by_the_server() -> None:
    seen: list[web.Request] = []

    async def run() -> Answered:
        handler = answering(web.Response(status=204), seen=seen)
        async with scripted(handler) as url, gateway(url + "/mcp") as base:
            return await ask("DELETE", base + "/mcp", Mcp_Session_Id="s")

    assert asyncio.run(run()).status == 204
    assert (seen[0].method, seen[0].headers["Mcp-Session-Id"]) == ("DELETE", "s")


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
    assert through(answering(hidden), call()).message == hidden


@pytest.mark.parametrize("answer", [failing(), web.Response(status=503, text="busy")], ids=["a result", "a status"])
def test_a_dry_run_reports_and_changes_nothing(answer: Any) -> None:
    seen: list[Happening] = []

    async def run() -> Answered:
        async with scripted(answering(answer)) as url, gateway(url + "/mcp", "--dry-run", seen=seen) as base:
            return await post(base, call())

    found = asyncio.run(run())

    assert found.body == (json.dumps(answer).encode() if isinstance(answer, dict) else b"busy")
    assert [(one.event, one.tool) for one in seen] == [("failure", "work")]


def test_a_batch_is_answered_call_by_call() -> None:
    batch = [call(id=1), call(id=2), {"jsonrpc": "2.0", "id": 3, "method": "ping"}]
    ping = {"jsonrpc": "2.0", "id": 3, "result": {}}
    answer = through(answering([success(id=1), failing(id=2), ping]), batch)

    assert [message["id"] for message in answer.message] == [1, 2, 3]
    assert (answer.message[0], answer.message[2]) == (success(id=1), ping)
    assert answer.message[1]["result"]["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"


async def held_until_closed(request: web.Request, closed: asyncio.Event) -> web.StreamResponse:
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b": ping\n\n")
    try:
        await asyncio.Event().wait()
    finally:
        closed.set()
    return response


@pytest.mark.parametrize("message", [call(), {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen"}])
def test_a_client_that_goes_away_cancels_the_call_at_the_server(message: Any) -> None:
    async def run() -> None:
        closed = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            return await held_until_closed(request, closed)

        async with scripted(handle) as url, gateway(url + "/mcp") as base, ClientSession() as session:
            async with session.post(base, data=json.dumps(message), headers=ACCEPT) as response:
                await response.content.readany()
                response.close()
            async with asyncio.timeout(10):
                await closed.wait()

    asyncio.run(run())


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
        async with scripted(handle) as url, gateway(url + "/mcp", "--retry") as base, ClientSession() as session:
            async with session.post(base, data=json.dumps(call()), headers=headers) as response:
                first = await response.content.readany()
                await post(base, note, Mcp_Session_Id="s")
                return first + await response.read()

    assert asyncio.run(run()) == b": ping\n\n"


def test_large_answers_to_other_requests_are_not_held_in_memory() -> None:
    """The client reads the first piece of an answer whose last piece the server has not sent yet."""

    async def run() -> bytes:
        read = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            await request.read()
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(b"[" + b" " * 100_000)
            await read.wait()
            await response.write(b"]")
            return response

        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "resources/read"})
        async with scripted(handle) as url, gateway(url + "/mcp") as base, ClientSession() as session:
            async with session.post(base, data=message, headers=ACCEPT) as response:
                first = await response.content.readany()
                read.set()
                return first[:1] + (await response.read())[-1:]

    assert asyncio.run(run()) == b"[]"


def test_a_call_of_a_megabyte_and_its_answer_pass() -> None:
    text = "x" * 1_000_000
    bodies: list[Any] = []
    answer = through(answering(lambda _: success(text=text), bodies=bodies), call(text=text))

    assert bodies == [call(text=text)]
    assert answer.message == success(text=text)
