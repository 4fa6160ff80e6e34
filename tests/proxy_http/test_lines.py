"""Standard input and output in front of a URL, as a host that starts commands sees it."""

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

import mcp_types as types
import pytest
from aiohttp import web
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from starlette.applications import Starlette

from tests.proxy_http.scripts import answering
from tests.proxy_http.setting import Handler, asgi, call, event, failing, listed, scripted, success
from tests.proxy_http.test_real_servers import APPS, SAMPLED, Stored, official

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


@pytest.mark.parametrize(
    ("app", "path", "tool"), [(older, "/sse", "limited"), (stored, "/mcp", "pause")], ids=["older", "resumed"]
)
def test_answers_that_come_on_another_stream_are_structured_too(
    app: Callable[[], Starlette], path: str, tool: str
) -> None:
    async def run() -> Any:
        async with asgi(app()) as url, client(url + path, "legacy") as session:
            return await session.call_tool(tool, {})

    assert asyncio.run(run()).meta["dev.failwell/failure"]["code"] == "RATE_LIMITED"


@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
def test_requests_of_the_server_reach_the_client() -> None:
    async def sampled(*_: Any) -> types.CreateMessageResult:
        return SAMPLED

    async def run() -> Any:
        async with asgi(APPS["mcp"]()) as url, client(url + "/mcp", "legacy", sampling_callback=sampled) as session:
            return await session.call_tool("sample", {})

    assert "sampled" in str(asyncio.run(run()).content)


def lines(handler: Handler, *messages: Any, words: tuple[str, ...] = ()) -> list[Any]:
    """What a client reads that writes messages and closes its end."""

    async def run() -> list[Any]:
        async with scripted(handler) as url:
            pipe = asyncio.subprocess.PIPE
            command = [*COMMAND, "--url", url + "/mcp", *words]
            process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
            text = "".join(json.dumps(message) + "\n" for message in messages)
            out, _ = await process.communicate(text.encode())
            return [json.loads(line) for line in out.splitlines()]

    return asyncio.run(run())


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
            pipe = asyncio.subprocess.PIPE
            process = await asyncio.create_subprocess_exec(*COMMAND, "--url", url, stdin=pipe, stdout=pipe)
            assert process.stdin is not None
            assert process.stdout is not None
            for one in (ask, message):
                process.stdin.write(json.dumps(one).encode() + b"\n")
                await process.stdout.readline()
            process.stdin.close()
            await process.wait()

    asyncio.run(run())

    names = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region")
    assert {name: seen[1].headers.get(name) for name in names} == {
        "Mcp-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?d8O2cms=?=",
        "Mcp-Param-Region": "eu",
    }
