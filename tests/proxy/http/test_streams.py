"""The older transport: calls are posted, and their answers come on a stream that was opened before."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import ClientResponse, ClientSession, web

import failwell as fw
from tests.proxy.http.setting import ACCEPT, call, event, failing, gateway, listed, post, scripted, success

Posted = Callable[["Older", Any], Awaitable[web.StreamResponse]]


class Older:
    """A server of the older transport that does with a posted message as a test says."""

    def __init__(self, posted: Posted) -> None:
        self.messages: list[Any] = []
        self._posted = posted
        self._events: asyncio.Queue[bytes] = asyncio.Queue()

    async def say(self, message: Any) -> None:
        await self._events.put(event(message))

    async def hang_up(self) -> None:
        await self._events.put(b"")

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            message = json.loads(await request.read())
            self.messages.append(message)
            return await self._posted(self, message)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"event: endpoint\ndata: http://{request.host}/messages?session=1\n\n".encode())
        while data := await self._events.get():
            await response.write(data)
        return response


async def next_message(response: ClientResponse) -> Any:
    while not (line := await response.content.readline()).startswith(b"data: "):
        assert line, "the stream ended"
    return json.loads(line[6:])


def answer(posted: Posted, *words: str, message: Any = None) -> tuple[Any, int, Older]:
    """What a client hears for a call, the status of its post, and the server."""

    async def run() -> tuple[Any, int, Older]:
        server = Older(posted)
        async with (
            scripted(server) as url,
            gateway(url + "/sse", *words) as base,
            ClientSession() as session,
            session.get(base + "/sse", headers=ACCEPT) as stream,
        ):
            assert await stream.content.readline() == b"event: endpoint\n"
            endpoint = (await stream.content.readline()).decode().removeprefix("data: ").strip()
            assert endpoint == "/messages?session=1"
            done = await post(base + endpoint, message or call())
            async with asyncio.timeout(20):
                return await next_message(stream), done.status, server

    return asyncio.run(run())


async def accepted(server: Older, message: Any) -> web.StreamResponse:
    await server.say(failing(id=message["id"]))
    return web.Response(status=202)


async def busy(server: Older, message: Any) -> web.StreamResponse:
    return web.Response(status=503, headers={"Retry-After": "7"})


async def ending(server: Older, message: Any) -> web.StreamResponse:
    await server.hang_up()
    return web.Response(status=202)


@pytest.mark.parametrize(
    ("posted", "code"), [(accepted, "RATE_LIMITED"), (busy, "SERVICE_UNAVAILABLE"), (ending, "CONNECTION_LOST")]
)
def test_a_failure_comes_on_the_stream_however_the_server_fails(posted: Posted, code: str) -> None:
    heard, status, _ = answer(posted)

    assert (heard["id"], status) == (1, 202)
    assert heard["result"]["_meta"]["dev.failwell/failure"]["code"] == code


def test_a_safe_call_is_made_again() -> None:
    async def once(server: Older, message: Any) -> web.StreamResponse:
        is_first = len(server.messages) == 1
        unavailable = failing(id=message["id"], text="Service unavailable (503)")
        await server.say(unavailable if is_first else success(id=message["id"]))
        return web.Response(status=202)

    heard, _, server = answer(once, "--retry", "--retry-safe", "work")

    assert heard == success()
    assert [message["id"] for message in server.messages] == [1, "failwell-retry-1"]


def test_tools_that_are_listed_on_the_stream_are_known_to_be_safe() -> None:
    async def once(server: Older, message: Any) -> web.StreamResponse:
        unavailable = failing(id=message["id"], text="Service unavailable (503)")
        answers = [listed("work", readOnlyHint=True), unavailable, success(id=message["id"])]
        await server.say(answers[len(server.messages) - 1])
        return web.Response(status=202)

    async def run() -> tuple[Any, Older]:
        server = Older(once)
        async with (
            scripted(server) as url,
            gateway(url + "/sse", "--retry") as base,
            ClientSession() as session,
            session.get(base + "/sse", headers=ACCEPT) as stream,
            asyncio.timeout(20),
        ):
            await stream.content.readline()
            endpoint = (await stream.content.readline()).decode().removeprefix("data: ").strip()
            await post(base + endpoint, {"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
            await next_message(stream)
            await post(base + endpoint, call())
            return await next_message(stream), server

    heard, server = asyncio.run(run())

    assert heard == success()
    assert [message["id"] for message in server.messages] == [0, 1, "failwell-retry-1"]


class Dropped(web.Response):
    """An answer in whose place the connection is closed."""

    async def prepare(self, request: web.BaseRequest) -> Any:
        assert request.transport is not None
        request.transport.close()


@pytest.mark.parametrize(
    ("second", "code", "outcome", "attempts"),
    [
        (lambda: Dropped(), "CONNECTION_LOST", "unknown", 2),
        (lambda: web.Response(status=500), "UPSTREAM_ERROR", "unknown", 2),
        (lambda: web.Response(status=429), "RATE_LIMITED", "not_executed", 3),
    ],
    ids=["breaks off", "an error", "is not made"],
)
def test_a_try_that_may_have_taken_effect_is_not_answered_with_the_failure_before_it(
    second: Callable[[], web.Response], code: str, outcome: str, attempts: int
) -> None:
    before = {"type": "TRANSIENT", "message": "Busy.", "data": {"code": "OVERLOADED", "outcome": "not_executed"}}

    async def once(server: Older, message: Any) -> web.StreamResponse:
        if len(server.messages) > 1:
            return second()
        await server.say(failing(id=message["id"], text=json.dumps({**before, "recoverable": True})))
        return web.Response(status=202)

    heard, _, server = answer(once, "--retry")
    failure = fw.read(heard["result"])

    assert (heard["id"], len(server.messages)) == (1, attempts)
    assert failure is not None
    assert (failure.code, failure.outcome) == (code, outcome)
    assert heard["result"]["_meta"]["dev.failwell/retry"] == {"attempts": attempts}


@pytest.mark.parametrize("words", [(), ("--retry",), ("--flip-unflagged", "work")])
def test_half_a_surrogate_pair_passes_on_the_stream(words: tuple[str, ...]) -> None:
    async def cut(server: Older, message: Any) -> web.StreamResponse:
        await server.say(success(id=message["id"], text="paid \ud83d"))
        return web.Response(status=202)

    assert answer(cut, *words)[0] == success(text="paid \ud83d")


def test_tools_that_changed_are_forgotten() -> None:
    """What the server listed before no longer refuses anything."""
    schema = {"type": "object", "required": ["n"]}
    tools = {"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "work", "inputSchema": schema}]}}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

    async def run() -> list[Any]:
        lists = [listed("work"), tools]

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            if request.method == "GET":
                return web.Response(body=event(changed), content_type="text/event-stream")
            body = json.loads(await request.read())
            return web.json_response(lists.pop() if body["method"] == "tools/list" else success())

        async with scripted(handle) as url, gateway(url + "/mcp", "--validate") as base, ClientSession() as session:
            await post(base, {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}, Mcp_Session_Id="s")
            before = await post(base, call(), Mcp_Session_Id="s")
            async with session.get(base, headers={**ACCEPT, "Mcp-Session-Id": "s"}) as stream:
                await stream.read()
            return [before.message, (await post(base, call(), Mcp_Session_Id="s")).message]

    before, after = asyncio.run(run())

    assert before["result"]["isError"] is True
    assert after == success()


NOTE = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
DONE = {"jsonrpc": "2.0", "method": "notifications/done"}


@pytest.mark.parametrize("first", [success(), failing()], ids=["a success", "a failure"])
@pytest.mark.parametrize("is_cancelled", [False, True])
@pytest.mark.parametrize("words", [(), ("--retry",)])
def test_a_call_gets_one_answer_on_the_stream_though_the_server_sends_two(
    words: tuple[str, ...], is_cancelled: bool, first: Any
) -> None:
    async def twice(server: Older, message: Any) -> web.StreamResponse:
        if (message["method"] == "notifications/cancelled") is is_cancelled:
            for one in (first, failing(text="again"), DONE):
                await server.say(one)
        return web.Response(status=202)

    async def run() -> list[Any]:
        async with (
            scripted(Older(twice)) as url,
            gateway(url + "/sse", *words) as base,
            ClientSession() as session,
            session.get(base + "/sse", headers=ACCEPT) as stream,
        ):
            await stream.content.readuntil(b"\n\n")
            for message in (call(), NOTE):
                await post(base + "/messages?session=1", message)
            return [await next_message(stream), await next_message(stream)]

    heard, after = asyncio.run(run())

    assert heard["id"] == 1
    assert ("dev.failwell/failure" in heard["result"].get("_meta", {})) is (first != success())
    assert after == DONE


@pytest.mark.parametrize("resumed", [{}, {"Last-Event-ID": "7"}], ids=["new", "resumed"])
def test_an_answer_that_was_given_is_repeated_only_on_a_stream_that_is_resumed(resumed: dict[str, str]) -> None:
    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response(success())
        body = event(success(text="again")) + event(DONE)
        return web.Response(body=body, content_type="text/event-stream")

    async def run() -> list[Any]:
        async with scripted(handle) as url, gateway(url + "/mcp") as base, ClientSession() as session:
            await post(base, call(), Mcp_Session_Id="s")
            async with session.get(base, headers={**ACCEPT, "Mcp-Session-Id": "s", **resumed}) as stream:
                return [json.loads(line[6:]) for line in (await stream.read()).splitlines() if line[:6] == b"data: "]

    assert asyncio.run(run()) == ([success(text="again")] if resumed else []) + [DONE]
