"""One environment variable switches every automatic action off, on every path; without it all of them happen."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
import pytest
import stamina
import tenacity
from aiohttp import web
from mcp.client.client import Client as McpClient
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

import failwell as fw
from failwell.integrations import stamina as with_stamina
from failwell.integrations import tenacity as with_tenacity
from failwell.retry import Breaker, Budget, Event, Repeats, Shared
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never
from tests.proxy.clients import SERVER, Client
from tests.proxy.http.setting import call, failing, gateway, post, scripted, success
from tests.records.sessions import SAFE, TASK, WRONG

VARIABLE = "FAILWELL_AUTOMATIC"
EITHER = pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
ERROR_TEXT = "Error: 404 Not Found"


@pytest.fixture
def switched(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.delenv(VARIABLE, raising=False)
    if not is_on:
        monkeypatch.setenv(VARIABLE, "off")
    return is_on


def attempts_of(run: Callable[[Callable[[], Any]], Any]) -> int:
    """Return how often a function is called that fails at first in a way that passes."""
    calls = list[int]()

    def work() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise fw.RateLimited("Too many requests.")
        return "done"

    try:
        run(work)
    except fw.RateLimited:
        assert len(calls) == 1
    return len(calls)


def called(work: Callable[[], Any]) -> Any:
    return fw.call(work, sleep=lambda _: None, shared=Shared.new())


def called_async(work: Callable[[], Any]) -> Any:
    async def once() -> Any:
        return work()

    return asyncio.run(fw.acall(once, sleep=Naps(), shared=Shared.new()))


def called_by_tenacity(work: Callable[[], Any]) -> Any:
    return tenacity.Retrying(sleep=lambda _: None, **with_tenacity.settings())(work)


def called_by_stamina(work: Callable[[], Any]) -> Any:
    with stamina.set_testing(True, attempts=3):
        return stamina.retry(**with_stamina.settings())(work)()


@EITHER
@pytest.mark.parametrize("run", [called, called_async, called_by_tenacity, called_by_stamina])
def test_calls_are_made_once(run: Any, switched: bool) -> None:
    assert attempts_of(run) == (3 if switched else 1)


@EITHER
def test_the_hook_is_told_why_no_other_try_was_made(switched: bool) -> None:
    events = list[Event]()

    attempts_of(lambda work: fw.call(work, hook=events.append, sleep=lambda _: None, shared=Shared.new()))

    assert [event.kind for event in events] == (["retry", "retry", "recovered"] if switched else ["failure"])
    if not switched:
        assert events[0].reason == f"Automatic actions are turned off by {VARIABLE}."


def suspended() -> Shared:
    """Return limits whose breaker is open for `look` of the server `shop`."""
    shared = Shared(Budget(), Breaker(most=1, pause=1e6), Repeats())
    with pytest.raises(TimeoutError):
        fw.call(_time_out, server="shop", tool="look", shared=shared, policy=fw.Policy(attempts=1), clock=lambda: 0.0)
    return shared


def _time_out() -> None:
    raise TimeoutError


@EITHER
def test_an_open_breaker_lets_calls_pass(is_on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = suspended()
    if not is_on:
        monkeypatch.setenv(VARIABLE, "off")

    def run() -> str:
        return fw.call(lambda: "made", server="shop", tool="look", shared=shared, clock=lambda: 1.0)

    if is_on:
        with pytest.raises(fw.ToolFailure):
            run()
    else:
        assert run() == "made"


def agent(connect: str, server: Scripted, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
    """Return what an agent gets, and its server's calls."""

    async def main() -> Any:
        async with server.connected() as session:
            if connect == "wrap":
                fw.wrap(session, **options)
            return await session.call_tool(tool, arguments)

    options = {"sleep": Naps(), "chance": never, **options}
    if connect == "wrap":
        return anyio.run(main)
    fw.install(**options)
    try:
        return anyio.run(main)
    finally:
        fw.uninstall()


CONNECT = pytest.mark.parametrize("connect", ["wrap", "install"])


@EITHER
@CONNECT
def test_an_agents_call_is_made_once(connect: str, switched: bool) -> None:
    server = Scripted()
    server.tool("look", BUSY, FINE, **SAFE)

    agent(connect, server, "look", {})

    assert server.count("look") == (2 if switched else 1)


@EITHER
@CONNECT
def test_an_agents_call_is_not_corrected(connect: str, switched: bool) -> None:
    server = Scripted()
    server.tool("claim", WRONG, FINE, inputSchema=TASK)

    agent(connect, server, "claim", {"taskId": "t-1"}, repair=True)

    assert server.count("claim") == (2 if switched else 1)


@EITHER
@CONNECT
def test_no_fallback_answers(connect: str, switched: bool) -> None:
    server = Scripted()
    server.tool("rate", LOST, **SAFE)

    result = agent(connect, server, "rate", {}, fallbacks={"rate": lambda failure, arguments: "as of yesterday"})

    assert result.is_fallback is switched


@EITHER
@CONNECT
@pytest.mark.parametrize("reading", [{"unflagged": True}, {"dialect": "compact"}], ids=str)
def test_no_result_is_called_an_error(connect: str, reading: dict[str, Any], switched: bool) -> None:
    text = fw.encode(fw.NotFound("There is no task 9."))["content"]
    server = Scripted()
    server.tool("find", {"content": text, "isError": False})

    result = agent(connect, server, "find", {}, **reading)

    assert result.model_dump(by_alias=True)["isError"] is switched


@EITHER
def test_the_proxy_of_a_process_passes_everything_on(switched: bool) -> None:
    with Client("--retry", "--validate", "--flip-unflagged", "*", "--restart") as client:
        retried = client.call("look", n=1, do="fail until:2")
        refused = client.call("look", n="one")
        flipped = client.call("act", n=1, do=f"say:{ERROR_TEXT}")

    assert retried["result"].get("isError", False) is not switched
    assert refused["result"].get("isError", False) is switched
    assert flipped["result"]["isError"] is switched


@EITHER
def test_the_gateway_passes_everything_on(switched: bool) -> None:
    asked = list[dict[str, Any]]()
    answers: list[Any] = [failing(text="503 Service Unavailable"), success(), success(text=ERROR_TEXT)]
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    async def handler(request: web.Request) -> web.Response:
        message = await request.json()
        if message["method"] == "tools/list":
            tools = [{"name": "work", "inputSchema": schema}]
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}})
        asked.append(message["params"]["arguments"])
        answer = answers.pop(0) if message["params"]["arguments"]["n"] != "one" else success()
        return web.json_response({**answer, "id": message["id"]})

    async def run() -> None:
        async with (
            scripted(handler) as url,
            gateway(f"{url}/mcp", "--retry", "--retry-safe", "work", "--validate", "--flip-unflagged", "*") as base,
        ):
            await post(f"{base}/mcp", {"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
            for n in (1, "one"):
                await post(f"{base}/mcp", call("work", 1, n=n))
            if not switched:
                answers.pop(0)
            flipped = (await post(f"{base}/mcp", call("work", 1, n=2))).message
            assert flipped["result"]["isError"] is switched

    asyncio.run(run())

    numbers = [arguments["n"] for arguments in asked]
    assert numbers == ([1, 1, 2] if switched else [1, "one", 2])


def test_the_operator_of_a_proxy_is_told() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "failwell", "proxy", "--retry", "--quiet", "--", *SERVER],
        input=b"",
        capture_output=True,
        env={**os.environ, VARIABLE: "off"},
        check=False,
        timeout=60,
    )

    assert ran.stderr.decode() == f"failwell: Automatic actions are turned off by {VARIABLE}.\n"


@EITHER
def test_a_protected_low_level_server_refuses_no_arguments(switched: bool) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="work", input_schema=schema)])

    async def call_tool(ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="done")])

    server = Server("tasks", on_list_tools=list_tools, on_call_tool=call_tool)
    fw.protect(server)

    async def run() -> Any:
        async with McpClient(server) as client:
            return await client.call_tool("work", {"n": "one"})

    assert asyncio.run(run()).is_error is switched


@EITHER
def test_what_the_author_of_a_tool_checks_is_checked_all_the_same(switched: bool) -> None:
    ran = list[int]()
    limit = fw.server.Limit(1)

    @fw.guard(schema={"type": "object", "properties": {"n": {"type": "integer"}}}, limit=limit)
    def work(n: int) -> str:
        ran.append(n)
        return "done"

    wrong = work(n="one")
    with limit:
        busy = work(n=1)

    assert [fw.read(answer).type for answer in (wrong, busy)] == ["VALIDATION", "TRANSIENT"]
    assert ran == []


@pytest.mark.parametrize(
    ("value", "is_on"),
    [("", True), ("on", True), ("1", True), ("True", True), (" YES ", True),
     ("off", False), ("OFF", False), ("0", False), ("false", False), ("no", False), ("disabled", False)],
)  # fmt: skip
def test_every_value_that_does_not_mean_on_switches_it_off(
    value: str, is_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, value)

    assert attempts_of(called) == (3 if is_on else 1)
