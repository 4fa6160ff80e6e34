"""What passes the gateway, and that it passes as it is."""

import asyncio
import gzip
import json
from typing import Any

import pytest
from aiohttp import ClientSession, web
from multidict import CIMultiDict

from failwell.proxy.http.gateway import AllowedHosts
from tests.proxy.http.scripts import answering, streaming, through
from tests.proxy.http.setting import (
    ACCEPT,
    Answered,
    ask,
    call,
    event,
    failing,
    gateway,
    scripted,
    success,
)


def test_a_success_passes_byte_for_byte() -> None:
    body = b'{"result" : {"content":[], "isError":false},\n "id":1, "jsonrpc":"2.0"}'
    answer = through(answering(web.Response(body=body, content_type="application/json")), call())

    assert (answer.status, answer.body) == (200, body)


ODD = {
    "half a surrogate pair": rb'"paid \ud83d"',
    "no number": b"NaN",
    "a large number": b"1e999",
    "a wrong byte": b'"\xff"',
    "too deep": b"[" * 100_000 + b"]" * 100_000,
}
WORDS = [(), ("--retry",), ("--flip-unflagged", "work")]


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_success_that_a_strict_reader_refuses_passes_byte_for_byte(odd: bytes, words: tuple[str, ...]) -> None:
    body = b'{"jsonrpc":"2.0", "id":1, "result":{"content":[], "structuredContent":{"odd":' + odd + b"}}}"
    answer = through(answering(web.Response(body=body, content_type="application/json")), call(), *words)

    assert (answer.status, answer.body) == (200, body)


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("odd", [odd for name, odd in ODD.items() if name != "too deep"])
def test_an_event_that_a_strict_reader_refuses_is_the_answer(odd: bytes, words: tuple[str, ...]) -> None:
    sent = b'data: {"jsonrpc":"2.0", "id":1, "result":{"content":[], "structuredContent":{"odd":' + odd + b"}}}\n\n"
    answer = through(streaming(sent), call(), *words)

    assert answer.body == sent


@pytest.mark.parametrize("data", [b"{broken", b"[" * 100_000], ids=["no JSON", "too deep"])
def test_an_event_that_nobody_can_tell_passes_before_the_failure(data: bytes) -> None:
    answer = through(streaming(b"data: " + data + b"\n\n"), call())

    assert answer.body.startswith(b"data: " + data + b"\n\n")
    assert answer.failure["code"] == "CONNECTION_LOST"


def test_a_failing_result_becomes_structured() -> None:
    failure = through(answering(failing()), call()).failure

    assert (failure["code"], failure["retry_after"], failure["tool"]) == ("RATE_LIMITED", 30, "work")


def test_a_json_rpc_error_of_a_tool_becomes_a_result() -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "connection refused"}}
    answer = through(answering(error), call())

    assert answer.message["result"]["isError"] is True
    assert answer.message["result"]["_meta"]["dev.failwell/original"] == {"error": error["error"]}


ODD_ANSWERS = {
    "an error without words": {"error": {"code": -32603, "message": None}},
    "a code of a wrong type": {"error": {"code": {"a": 1}, "message": "no"}},
    "neither a result nor an error": {"resul": {"isError": True, "content": []}},
}


@pytest.mark.parametrize("form", ["JSON", "an event"])
@pytest.mark.parametrize("odd", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_odd_failure_becomes_structured_too(odd: dict[str, Any], form: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, **odd}
    answer = through(answering(message) if form == "JSON" else streaming(event(message)), call())

    assert answer.failure["type"] in ("INTERNAL", "TRANSIENT")


@pytest.mark.parametrize("id", [{}, {"id": None}], ids=["none", "null"])
def test_an_answer_without_an_id_is_that_of_the_only_call(id: dict[str, Any]) -> None:
    answer = through(answering({**id, "jsonrpc": "2.0", "result": {"content": [], "isError": False}}), call())

    assert answer.message == {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "isError": False}}


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
    answer = through(
        streaming(note + asked[:20], asked[20:] + event(failing(), id="e9")[:30], event(failing(), id="e9")[30:]),
        call(),
    )

    assert answer.body.startswith(note + asked)
    assert b"id: e9\n" in answer.body
    assert answer.failure["code"] == "RATE_LIMITED"


def test_a_second_answer_to_the_same_call_is_dropped() -> None:
    answer = through(streaming(event(success(text="first")) + event(success(text="second"))), call())

    assert answer.messages == [success(text="first")]


def test_a_second_answer_in_a_batch_is_dropped() -> None:
    twice = [success(id=1, text="first"), success(id=2), success(id=1, text="second")]
    answer = through(answering(twice), [call(id=1), call(id=2)])

    assert answer.message == twice[:2]


NO_ANSWERS: dict[str, Any] = {
    "without a result": {"jsonrpc": "2.0", "id": 1, "results": {}},
    "to an odd id": {"jsonrpc": "2.0", "id": [], "result": {}},
    "to another id": success(id="other"),
    "a request": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
}


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_a_call_that_is_answered_in_a_batch_gets_its_own_answer_only(name: str) -> None:
    answer = through(answering([NO_ANSWERS[name], success(id=1)]), call(id=1))

    assert answer.message == success(id=1)


DEEP = "[" * 3000


@pytest.mark.parametrize("rest", ["", "]" * 2999, "]" * 3000, "]" * 2999 + ",}" + "}}"])
def test_a_success_that_is_too_deep_and_no_json_is_answered_by_the_proxy(rest: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"structuredContent":{DEEP}{rest}'
    answer = through(answering(web.Response(text=body, content_type="application/json")), call(id=1))

    assert answer.failure["code"] == "BAD_UPSTREAM_RESPONSE"


def test_what_is_too_deep_and_has_no_result_is_no_answer() -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"results":{{"content":[],"structuredContent":{DEEP}{"]" * 3000}}}}}'
    answer = through(answering(web.Response(text=body, content_type="application/json")), call(id=1))

    assert answer.failure["code"] == "BAD_UPSTREAM_RESPONSE"


def test_a_success_that_is_too_deep_passes() -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"structuredContent":{DEEP}{"]" * 3000}}}}}'
    answer = through(answering(web.Response(text=body, content_type="application/json")), call(id=1))

    assert answer.body == body.encode()


def test_a_name_with_a_character_that_nobody_sees_makes_no_answer_of_a_message() -> None:
    odd = {"jsonrpc": "2.0", "id\u200b": 1, "result": {"content": [], "isError": True}}
    answer = through(streaming(event(odd) + event(success(id=1))), call(id=1))

    assert answer.messages == [odd, success(id=1)]


def test_redirects_within_the_origin_are_followed_and_keep_the_call() -> None:
    bodies: list[Any] = []
    moved = web.Response(status=307, headers={"Location": "/mcp/"})
    answer = through(answering(moved, success(), bodies=bodies), call())

    assert (answer.message, bodies) == (success(), [call(), call()])


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
    async def run() -> bool:
        closed = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            return await held_until_closed(request, closed)

        async with scripted(handle) as url, gateway(url + "/mcp") as base, ClientSession() as session:
            async with session.post(base, data=json.dumps(message), headers=ACCEPT) as response:
                await response.content.readany()
                response.close()
            async with asyncio.timeout(10):
                return await closed.wait()

    assert asyncio.run(run())


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
        async with (
            scripted(handle) as url,
            gateway(url + "/mcp") as base,
            ClientSession() as session,
            session.post(base, data=message, headers=ACCEPT) as response,
        ):
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


LOCAL = ("127.0.0.1:8080",)


@pytest.mark.parametrize(
    ("hosts", "origins", "is_let_in"),
    [
        (LOCAL, (), True),
        (("localhost:8080",), ("http://localhost:6274",), True),
        (("[::1]:8080",), (), True),
        (("localhost.",), (), True),
        (("evil.example:8080",), (), False),
        (("localhost.evil.example",), (), False),
        (("evil.example@127.0.0.1:8080",), (), False),
        (("user:word@localhost",), (), False),
        (("localhost/evil.example",), (), False),
        (("localhost", "evil.example"), (), False),
        (("localhost", "localhost"), (), False),
        ((), (), False),
        (LOCAL, ("https://evil.example",), False),
        (LOCAL, ("null",), False),
        (LOCAL, ("https://app.example",), True),
        (LOCAL, ("http://localhost:6274", "https://evil.example"), False),
        (LOCAL, ("https://evil.example", "http://localhost:6274"), False),
        (LOCAL, ("http://evil.example@localhost:6274",), False),
        (LOCAL, ("http://localhost:6274, https://evil.example",), False),
    ],
)
def test_strangers_pages_are_kept_out_on_loopback(
    hosts: tuple[str, ...], origins: tuple[str, ...], is_let_in: bool
) -> None:
    allowed_hosts = AllowedHosts("127.0.0.1", origins=("https://app.example",))
    headers = [("Host", host) for host in hosts] + [("Origin", origin) for origin in origins]

    assert (allowed_hosts.objection(CIMultiDict(headers)) is None) is is_let_in


@pytest.mark.parametrize(
    ("site", "origin", "words", "is_let_in"),
    [
        ("cross-site", None, (), False),
        ("same-site", None, (), False),
        ("something new", None, (), False),
        ("same-origin", None, (), True),
        ("none", None, (), True),
        ("cross-site", "https://evil.example", (), False),
        ("cross-site", "http://localhost:6274", (), True),
        ("cross-site", "https://app.example", ("--allow-origin", "https://app.example"), True),
        ("cross-site", None, ("--allow-origin", "https://app.example"), False),
        ("cross-site", None, ("--allow-origin", "*"), True),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_site_is_kept_out_even_if_its_browser_names_no_origin(
    method: str, site: str, origin: str | None, words: tuple[str, ...], is_let_in: bool
) -> None:
    seen: list[web.Request] = []

    async def run() -> Answered:
        named = {"Sec_Fetch_Site": site, **({} if origin is None else {"Origin": origin})}
        handler = answering(web.Response(status=202), seen=seen)
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base:
            return await ask(method, base + "/mcp", **named)

    status = asyncio.run(run()).status

    assert (status, len(seen)) == ((202, 1) if is_let_in else (403, 0))


def test_on_other_addresses_any_host_is_served_and_its_own_pages_come_in() -> None:
    allowed_hosts = AllowedHosts("0.0.0.0")
    own, foreign = "http://proxy.example:8080", "http://evil.example"

    assert allowed_hosts.objection(CIMultiDict({"Host": "proxy.example:8080", "Origin": own})) is None
    assert allowed_hosts.objection(CIMultiDict({"Host": "proxy.example:8080", "Origin": foreign})) is not None
    assert allowed_hosts.objection(CIMultiDict({"Host": "evil.example@proxy.example"})) is not None


OPERATOR = ("--header", "X-Operator: operator-token")


def reached(method: str, target: str, *, path: str = "/mcp") -> tuple[int, list[tuple[str, bool]]]:
    """The status that a client gets, and what the server saw: the target, and whether the operator's header came."""
    seen: list[tuple[str, bool]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append((request.raw_path, "X-Operator" in request.headers or "Authorization" in request.headers))
        return web.Response(status=202)

    async def run() -> int:
        async with scripted(handle) as url, gateway(url.replace("//", "//user:word@") + path, *OPERATOR) as base:
            port = int(base.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            head = await reader.read()
            writer.close()
            return int(head.split()[1])

    return asyncio.run(run()), seen


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
@pytest.mark.parametrize("target", ["/", "/mcp", "/mcp/", "http://localhost/mcp"])
def test_the_operator_s_credentials_go_to_the_endpoint(method: str, target: str) -> None:
    assert reached(method, target) == (202, [("/mcp", True)])


@pytest.mark.parametrize(
    "target",
    [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server/mcp?a=1",
        "/mcp/.well-known/openid-configuration",
    ],
)
def test_metadata_pass_without_the_operator_s_credentials(target: str) -> None:
    assert reached("GET", target) == (202, [(target, False)])


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
@pytest.mark.parametrize(
    "target",
    [
        "/admin/keys",
        "/mcp/admin",
        "/mcp/../admin/keys",
        "/mcp%2F..%2Fadmin",
        "//admin/keys",
        "/.well-known/../admin/keys",
        "/.well-known/%2e%2e/admin/keys",
        "/.well-known/..\\admin",
        "/.well-known/..",
        "/.well-known",
        "/messages?session=1",
        "http://localhost/admin/keys",
        "http://evil.example/x",
    ],
)
def test_no_other_path_of_the_server_can_be_reached(method: str, target: str) -> None:
    assert reached(method, target) == (404, [])


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE"])
def test_no_other_method_reaches_the_server(method: str) -> None:
    assert reached(method, "/mcp") == (405, [])


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_metadata_can_only_be_read(method: str) -> None:
    assert reached(method, "/.well-known/oauth-protected-resource") == (405, [])


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"], ids=repr)
def test_the_last_event_of_a_stream_is_complete_however_its_lines_end(end: str) -> None:
    answer = through(streaming(f"data: {json.dumps(failing())}{end}".encode()), call())

    assert answer.failure["code"] == "RATE_LIMITED"
