"""Standard input and output in front of a URL, as a host that starts commands sees it."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from aiohttp import web
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from starlette.applications import Starlette

from failwell.proxy.http import remote
from failwell.proxy.http.remote import run_stdio
from failwell.proxy.options import parse
from tests.proxy.http.scripts import answering, streaming
from tests.proxy.http.setting import Handler, asgi, call, event, failing, listed, scripted, success
from tests.proxy.http.test_gateway import held_until_closed
from tests.proxy.http.test_real_servers import APPS, SAMPLED, Stored, official
from tests.proxy.http.test_streams import DONE, NOTE, Older

COMMAND = [sys.executable, "-m", "failwell", "proxy", "--quiet"]


def client(url: str, mode: Any, **options: Any) -> Client:
    """The official client, with the proxy as its server."""
    parameters = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "--url", url])
    return Client(stdio_client(parameters), mode=mode, **options)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("app", APPS)
def test_calls_pass_and_failures_are_structured(app: str, mode: str) -> None:
    async def run() -> list[Any]:
        async with asgi(APPS[app]()) as url, client(url + "/mcp", mode) as session:
            await session.list_tools()
            return [await session.call_tool("echo", {"text": "hi"}), await session.call_tool("limited", {})]

    fine, limited = asyncio.run(run())

    assert fine.content[0].text == "hi"
    assert limited.meta["dev.failwell/failure"]["retry_after"] == 30


def older() -> Starlette:
    return official().sse_app()


def stored() -> Starlette:
    return official().streamable_http_app(event_store=Stored(), retry_interval=0)


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_requests_of_the_server_reach_the_client() -> None:
    async def sampled(*_: Any) -> types.CreateMessageResult:
        return SAMPLED

    async def run() -> Any:
        async with asgi(APPS["mcp"]()) as url, client(url + "/mcp", "legacy", sampling_callback=sampled) as session:
            return await session.call_tool("sample", {})

    assert "sampled" in str(asyncio.run(run()).content)


class Host:
    """A client with pipes to a proxy in this process."""

    def __init__(self, url: str, *words: str) -> None:
        source, self._to = os.pipe()
        self._from, target = os.pipe()
        options = parse(["--url", url, "--quiet", *words])
        self._proxy = asyncio.create_task(run_stdio(options, None, source=source, target=target))
        self._ends = [source, target]
        self._lines = os.fdopen(self._from, "rb")

    def write(self, message: Any) -> None:
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self._to, line) :]

    async def read(self) -> Any:
        line = await asyncio.to_thread(self._lines.readline)
        return json.loads(line) if line else None

    async def ask(self, message: Any) -> Any:
        """Write a message, and return the next that is read."""
        self.write(message)
        return await self.read()

    async def end(self) -> tuple[int, list[Any]]:
        """Close the client's end, and return the exit code and what is left to read."""
        os.close(self._to)
        code = await self._proxy
        for end in self._ends:
            os.close(end)
        with self._lines:
            return code, [json.loads(line) for line in self._lines]


def lines(handler: Handler, *messages: Any, words: tuple[str, ...] = ()) -> list[Any]:
    """What a client reads that writes messages and closes its end."""

    async def run() -> list[Any]:
        async with scripted(handler) as url:
            host = Host(url + "/mcp", *words)
            for message in messages:
                host.write(message)
            return (await host.end())[1]

    return asyncio.run(run())


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.mark.parametrize(
    ("app", "path", "tool"),
    [(older, "/sse", "limited"), (stored, "/mcp", "pause"), (APPS["mcp"], "/mcp", "limited")],
    ids=["older", "resumed", "plain"],
)
def test_a_session_goes_from_its_handshake_to_its_end(app: Callable[[], Starlette], path: str, tool: str) -> None:
    async def run() -> tuple[Any, Any, Any, Any]:
        async with asgi(app()) as url:
            host = Host(url + path)
            hello = await host.ask(INITIALIZE)
            host.write(INITIALIZED)
            tools = await host.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            answer = await host.ask(call(tool, id=2))
            return hello, tools, answer, await host.end()

    hello, tools, answer, end = asyncio.run(run())

    assert (hello["id"], tools["id"], answer["id"]) == (0, 1, 2)
    assert answer["result"]["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"
    assert end == (0, [])


def test_requests_on_a_stream_of_the_older_transport_that_ends_are_answered() -> None:
    async def posted(server: Older, message: Any) -> web.StreamResponse:
        if message.get("method") == "initialize":
            await server.say({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2024-11-05"}})
        if message.get("method") == "ping":
            await server.hang_up()
        return web.Response(status=202)

    class Oldest(Older):
        async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
            is_posted_to_the_stream = request.method == "POST" and request.path == "/sse"
            return web.Response(status=405) if is_posted_to_the_stream else await super().__call__(request)

    async def run() -> tuple[Any, list[Any]]:
        async with scripted(Oldest(posted)) as url:
            host = Host(url + "/sse")
            hello = await host.ask(INITIALIZE)
            host.write(call(id=1))
            host.write({"jsonrpc": "2.0", "id": 2, "method": "ping"})
            return hello, [await host.read(), await host.read(), await host.end()]

    hello, (first, second, end) = asyncio.run(run())

    assert hello["result"]["protocolVersion"] == "2024-11-05"
    assert {first["id"], second["id"]} == {1, 2}
    assert end == (0, [])


def test_a_cancelled_request_of_the_newer_era_closes_its_stream_and_has_no_answer() -> None:

    async def run() -> tuple[int, list[Any]]:
        came, closed = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            came.set()
            return await held_until_closed(request, closed)

        async with scripted(handle) as url:
            host = Host(url)
            host.write(call())
            await came.wait()
            host.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
            async with asyncio.timeout(10):
                await closed.wait()
            return await host.end()

    assert asyncio.run(run()) == (0, [])


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_call_gets_one_answer_though_the_server_sends_another_on_its_own_stream(is_cancelled: bool) -> None:
    async def run() -> list[Any]:
        called, answered = asyncio.Event(), asyncio.Event()

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            if request.method == "GET":
                await response.prepare(request)
                await answered.wait()
                await response.write(event(success(text="again")) + event(DONE))
                return response
            message = json.loads(await request.read() or b"{}")
            if message.get("method") == "initialize":
                return web.json_response({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}})
            if message.get("method") == "tools/call":
                await response.prepare(request)
                called.set()
                await response.write(event(failing()) + event(failing()))
                await response.write_eof()
                answered.set()
                return response
            return web.Response(status=202)

        async with scripted(handle) as url:
            host = Host(url)
            found = [await host.ask(INITIALIZE)]
            host.write(INITIALIZED)
            host.write(call())
            await called.wait()
            if is_cancelled:
                host.write(NOTE)
            found += [await host.read(), await host.read()]
            return [*found, *(await host.end())[1]]

    hello, answer, after = asyncio.run(run())

    assert (hello["id"], answer["id"], after) == (0, 1, DONE)
    assert answer["result"]["_meta"]["dev.failwell/failure"]["code"] == "RATE_LIMITED"


@pytest.mark.parametrize("odd", [{"isError": {}}, {"isError": "yes"}], ids=str)
@pytest.mark.parametrize("method", ["tools/call", "ping"])
def test_an_odd_answer_is_the_only_one(odd: dict[str, Any], method: str) -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], **odd}}

    assert lines(answering(answer), {**call(), "method": method}) == [answer]


@pytest.mark.parametrize("size", [1, 200_000])
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_an_answer_in_pieces_arrives_whole(kind: str, size: int) -> None:
    """Its length is not known before it ends, and no piece is a message."""
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"text": "x" * size}}
    data = json.dumps(answer).encode() if kind == "application/json" else event(answer)

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        for piece in (data[:20], data[20:-7], data[-7:]):
            await response.write(piece)
            await asyncio.sleep(0)
        return response

    assert lines(handle, {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}) == [answer]


@pytest.mark.parametrize(
    "message",
    [call(id=7, text="x" * 200_000), dict(reversed(call(id="seven", text="x" * 200_000).items()))],
    ids=["the id first", "the id last"],
)
def test_a_line_that_is_too_long_is_refused_and_the_next_one_passes(
    message: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "MAX_POSTED_BODY", 1000)
    bodies: list[Any] = []

    async def run() -> list[Any]:
        async with scripted(answering(lambda body: success(id=body["id"]), bodies=bodies)) as url:
            host = Host(url + "/mcp")
            await asyncio.to_thread(host.write, message)
            return [await host.read(), await host.ask(call(id=1)), await host.end()]

    refused, answer, end = asyncio.run(run())

    assert (refused["id"], refused["error"]["code"]) == (message["id"], -32600)
    assert (answer, end) == (success(id=1), (0, []))
    assert bodies == [call(id=1)]


def test_retry_after_becomes_the_delay_of_a_failure() -> None:
    found = lines(answering(web.Response(status=503, headers={"Retry-After": "7"})), call())

    assert [message["id"] for message in found] == [1]
    assert found[0]["result"]["_meta"]["dev.failwell/failure"]["retry_after"] == 7


def test_an_http_error_of_anything_but_a_call_is_a_json_rpc_error() -> None:
    found = lines(answering(web.Response(status=500, text="<html>")), {"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert [message["id"] for message in found] == [1]
    assert found[0]["error"]["message"] == "The server answered with HTTP status 500."


def test_a_stream_without_an_answer_ends_with_a_failure() -> None:
    broken = web.Response(body=b": ping\n\n", content_type="text/event-stream")
    found = lines(answering(broken), call())

    assert [message["id"] for message in found] == [1]
    assert found[0]["result"]["_meta"]["dev.failwell/failure"]["code"] == "CONNECTION_LOST"


def test_a_safe_call_is_made_again() -> None:
    def answer(body: Any) -> Any:
        return success(id=body["id"])

    unavailable = web.Response(body=event(failing(text="Service unavailable (503)")), content_type="text/event-stream")
    bodies: list[Any] = []
    words = ("--retry", "--retry-safe", "work")
    found = lines(answering(unavailable, answer, bodies=bodies), call(), words=words)

    assert found == [success()]
    assert [body["id"] for body in bodies] == [1, "failwell-retry-1"]


class Forgetful:
    """A server that begins so many sessions, and can lose them all."""

    def __init__(self, *, begins: int) -> None:
        self.asked: list[str] = []
        self.sessions: list[str] = []
        self._begins = begins

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        message = json.loads(body) if body else {}
        self.asked.append(message.get("method", request.method))
        if message.get("method") == "initialize" and self.asked.count("initialize") <= self._begins:
            self.sessions = [f"session-{self.asked.count('initialize')}"]
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
            begun = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            return web.json_response(begun, headers={"Mcp-Session-Id": self.sessions[0]})
        if request.headers.get("Mcp-Session-Id") not in self.sessions:
            return web.json_response({"error": "no such session"}, status=404)
        if request.method != "POST" or "id" not in message:
            return web.Response(status=405 if request.method == "GET" else 202)
        return web.json_response(success(id=message["id"]))


def after_a_loss(server: Forgetful, *calls: Any, words: tuple[str, ...]) -> list[Any]:
    """What a client reads that calls a server which has lost its session."""

    async def run() -> list[Any]:
        async with scripted(server) as url:
            host = Host(url + "/mcp", *words)
            await host.ask(INITIALIZE)
            host.write(INITIALIZED)
            await host.ask(call(id=1))
            server.sessions = []
            for message in calls:
                host.write(message)
            answers = [await host.read() for _ in calls]
            await host.end()
            return answers

    return asyncio.run(run())


def test_a_lost_session_is_begun_anew_once_for_all_calls_that_meet_it() -> None:
    server = Forgetful(begins=2)
    answers = after_a_loss(server, call(id=2), call(id=3), words=("--restart",))

    assert sorted(answer["id"] for answer in answers) == [2, 3]
    assert all(answer["result"]["isError"] is False for answer in answers)
    assert server.asked.count("initialize") == 2
    assert server.asked.count("notifications/initialized") == 2


@pytest.mark.parametrize("words", [(), ("--restart",)], ids=["not wanted", "refused by the server"])
def test_a_session_that_stays_lost_is_an_error(words: tuple[str, ...]) -> None:
    server = Forgetful(begins=1)
    [answer] = after_a_loss(server, call(id=2), words=words)

    assert answer["id"] == 2
    assert "error" in answer
    assert server.asked.count("initialize") == (2 if words else 1)


def test_the_headers_of_the_newer_era_are_written_for_a_client_that_knows_none() -> None:
    seen: list[web.Request] = []
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tools = listed("wörk")
    tools["result"]["tools"][0]["inputSchema"] = schema
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    ask = {"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"_meta": meta}}
    message = call("wörk", region="eu")
    message["params"]["_meta"] = meta

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        body = json.loads(await request.read())
        return web.json_response(tools if body["id"] == 0 else success())

    async def run() -> None:
        async with scripted(handle) as url:
            host = Host(url)
            await host.ask(ask)
            await host.ask(message)
            await host.end()

    asyncio.run(run())

    names = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region")
    assert {name: seen[1].headers.get(name) for name in names} == {
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?d8O2cms=?=",
        "Mcp-Param-Region": "eu",
    }


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"], ids=repr)
def test_events_reach_a_client_over_standard_input_however_their_lines_end(end: str) -> None:
    assert lines(streaming(f"data: {json.dumps(success())}{end}".encode()), call()) == [success()]
