"""A failing call does not wait long for a list of tools, nor at all where the list would change nothing."""

import asyncio
from typing import Any

import pytest
from aiohttp import ClientSession, web

from failwell.proxy.conversation import ListTools, PendingRequest
from tests.proxy.http.scripts import answering, through
from tests.proxy.http.setting import ACCEPT, Answered, call, event, failing, gateway, listed, post, scripted
from tests.proxy.http.test_remote import INITIALIZE, INITIALIZED, Host

WRONG = "Invalid arguments for tool work"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LIST = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}


@pytest.mark.parametrize(("took", "waits"), [(0.01, 0.25), (0.25, 0.25), (1.5, 1.5), (600.0, 2.0)])
def test_a_failure_waits_no_longer_than_its_call_took(took: float, waits: float) -> None:
    request = PendingRequest(1, "tools/call", "look", started=100.0)

    assert ListTools(request, is_decisive=False).wait(100.0 + took) == pytest.approx(waits)


def test_tools_that_are_listed_late_make_the_next_failures_clear() -> None:
    """The first failure is answered before the server lists its tools, and the list is not lost."""
    asked: list[str] = []

    async def run() -> list[Answered]:
        answered, is_listed = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            body = await request.json()
            asked.append(body["method"])
            if body["method"] == "tools/call":
                return web.json_response(failing(id=body["id"], text=WRONG))
            try:
                await answered.wait()
            finally:
                is_listed.set()
            tools = [{"name": "work", "inputSchema": SCHEMA}]
            return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": {"tools": tools}})

        async with scripted(handle) as url, gateway(url + "/mcp") as base:
            found = [await post(base, call(n="x"))]
            found.append(await post(base, call(n="x")))
            answered.set()
            await is_listed.wait()
            while len(found) < 50 and not found[-1].failure.get("fields"):  # the gateway may still be reading the list
                found.append(await post(base, call(n="x")))
            return found

    first, second, *_, last = asyncio.run(run())

    assert [answer.failure.get("fields") for answer in (first, second)] == [None, None]
    assert [field["path"] for field in last.failure["fields"]] == ["n"]
    assert asked.count("tools/list") == 1


async def never(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


def answered_but_for_the_list(response: Any, asked: list[str]) -> Any:
    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked.append(body["method"])
        return response() if body["method"] == "tools/call" else await never(request)

    return handle


@pytest.mark.parametrize("words", [(), ("--retry",)], ids=["plain", "retry"])
@pytest.mark.parametrize("status", [400, 403, 404, 413, 501])
def test_a_call_that_was_refused_whatever_its_tool_asks_for_no_tools(status: int, words: tuple[str, ...]) -> None:
    asked: list[str] = []
    handler = answered_but_for_the_list(lambda: web.Response(status=status), asked)

    answer = through(handler, call(), *words)

    assert answer.failure["http_status"] == status
    assert asked == ["tools/call"]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_call_that_may_have_taken_effect_asks_whether_its_tool_may_run_twice(status: int) -> None:
    asked: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked.append(body["method"])
        if body["method"] == "tools/list":
            return web.json_response({**listed("work"), "id": body["id"]})
        return web.Response(status=status)

    assert through(handle, call(), "--retry").failure["outcome"] == "unknown"
    assert asked == ["tools/call", "tools/list"]


@pytest.mark.parametrize(
    "response", [{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}, {}, []]
)
def test_a_server_that_knows_of_no_list_is_asked_once(response: Any) -> None:
    bodies: list[Any] = []

    async def run() -> list[Answered]:
        handler = answering(failing(), response, failing(), bodies=bodies)
        async with scripted(handler) as url, gateway(url + "/mcp") as base:
            return [await post(base, call()) for _ in range(3)]

    assert [answer.failure["code"] for answer in asyncio.run(run())] == ["RATE_LIMITED"] * 3
    assert [body["method"] for body in bodies].count("tools/list") == 1


LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


class Changing:
    """A server with a session whose tools change when a test says so."""

    def __init__(self) -> None:
        self.lists: list[tuple[Any, str | None]] = []
        self.has_changed, self.is_listed_again = asyncio.Event(), asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await self.has_changed.wait()
            await response.write(event(CHANGED))
            await self.is_listed_again.wait()
            return response
        message = await request.json() if request.can_read_body else {}
        match message.get("method"):
            case "initialize":
                hello = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}}
                return web.json_response(hello, headers={"Mcp-Session-Id": "s"})
            case "tools/list":
                self.lists.append((message["id"], request.headers.get("Mcp-Session-Id")))
                if len(self.lists) > 1:
                    self.is_listed_again.set()
                return web.json_response({**listed("work"), "id": message["id"]})
            case "tools/call":
                return web.json_response(failing(id=message["id"]))
        return web.Response(status=202)


def test_tools_that_changed_are_listed_again_at_once_for_the_client_of_a_stream() -> None:
    async def run() -> tuple[Changing, bytes]:
        server = Changing()
        async with scripted(server) as url, gateway(url + "/mcp") as base, ClientSession() as session:
            await post(base, LIST, Mcp_Session_Id="s")
            async with session.get(base, headers={**ACCEPT, "Mcp-Session-Id": "s"}) as stream:
                server.has_changed.set()
                passed = await stream.read()
            await server.is_listed_again.wait()
            await post(base, call(id=3), Mcp_Session_Id="s")
            return server, passed

    server, passed = asyncio.run(run())

    assert passed == event(CHANGED)
    assert server.lists == [(2, "s"), ("failwell-tools-1", "s")]


def test_tools_that_changed_are_listed_again_at_once_for_a_client_on_standard_input() -> None:
    async def run() -> tuple[Changing, list[Any]]:
        server = Changing()
        async with scripted(server) as url:
            host = Host(url + "/mcp")
            await host.ask(INITIALIZE)
            host.write(INITIALIZED)
            await host.ask(LIST)
            server.has_changed.set()
            changed = await host.read()
            await server.is_listed_again.wait()
            return server, [changed, await host.ask(call(id=3)), *(await host.end())[1]]

    server, (changed, answer) = asyncio.run(run())

    assert changed == CHANGED
    assert answer["result"]["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"
    assert server.lists == [(2, "s"), ("failwell-tools-1", "s")]


@pytest.mark.parametrize(
    ("promises", "is_repeated"), [((True, True), True), ((False, True), False), ((True, False), False)]
)
def test_an_annotation_that_changes_gives_no_right_to_repeat(promises: tuple[bool, bool], is_repeated: bool) -> None:
    lists = iter([listed("pay", idempotentHint=promise) for promise in promises])
    calls: list[Any] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["method"] == "tools/list":
            return web.json_response({**next(lists), "id": body["id"]})
        calls.append(body)
        return web.Response(status=502, headers={"Retry-After": "0"})

    async def run() -> None:
        async with scripted(handle) as url, gateway(url + "/mcp", "--retry") as base:
            for message in (LIST, LIST, call("pay")):
                await post(base, message)

    asyncio.run(run())

    assert (len(calls) > 1) == is_repeated
