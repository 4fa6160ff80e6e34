"""Every source tells of a whole session: what happened arrives in a store, and no byte of it tells a secret."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import fastmcp
import pytest
from aiohttp import web
from mcp.client.client import Client as McpClient
from mcp.server import MCPServer

import failwell as fw
from failwell.proxy.command import open_events
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from failwell.records import Record, RecordStore, failures
from failwell.retry import Breaker, Budget, Repeats, Shared
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never
from tests.proxy.clients import Client
from tests.proxy.http.setting import call, failing, listed, post, scripted, success
from tests.records.sessions import SAFE, TASK, WRONG

SECRET = "hunter" + "2hunter2"
LEAK = (
    f"cannot log in at https://ann:{SECRET}@example.com/?token={SECRET} with password={SECRET}"
    f" \x1b[31mAuthorization: Bearer {SECRET}"
)
LEAKING = {"content": [{"type": "text", "text": f"404 Not Found: {LEAK}"}], "isError": True}
ARGUMENTS = {"id": 9, "password": SECRET}


def find(id: int, password: str = "") -> str:
    if id == 9:
        raise fw.NotFound(LEAK, actions=["list_tasks"], details={"password": password})
    if id == 8:
        raise RuntimeError(LEAK)
    return "found"


CALLS: list[dict[str, Any]] = [ARGUMENTS, {**ARGUMENTS, "id": 8}, {**ARGUMENTS, "id": 1}]


def guarded(recorder: fw.records.Recorder) -> None:
    guard = fw.guard(observers=[recorder])(find)
    for arguments in CALLS:
        guard(**arguments)


def protected(make: Any, ask: Callable[[Any], Any]) -> Callable[[fw.records.Recorder], None]:
    def play(recorder: fw.records.Recorder) -> None:
        server = make("tasks")
        server.tool()(find)
        fw.protect(server, observers=[recorder])

        async def main() -> None:
            async with ask(server) as client:
                for arguments in CALLS:
                    await getattr(client, "call_tool_mcp", client.call_tool)("find", arguments)

        anyio.run(main)

    return play


Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Session:
    """What an agent does with each kind of client: everything that a hook can be told of happens once."""

    def __init__(self, recorder: fw.records.Recorder) -> None:
        self.now = 0.0
        self.options: dict[str, Any] = {
            "hook": recorder,
            "sleep": Naps(),
            "chance": never,
            "clock": lambda: self.now,
            "shared": Shared(Budget(), Breaker(most=2, pause=30), Repeats()),
            "repair": True,
            "fallbacks": {"rate": lambda failure, arguments: "as of yesterday"},
        }
        self.server = Scripted("tasks")
        self.server.tool("look", BUSY, FINE, **SAFE)
        self.server.tool("find", LEAKING, FINE)
        self.server.tool("rate", LOST, **SAFE)
        self.server.tool("claim", WRONG, FINE, inputSchema=TASK)
        self.server.tool("down", LOST, LOST, FINE)

    async def play(self, ask: Ask) -> None:
        for tool, arguments in (("look", {}), ("find", ARGUMENTS), ("find", {"id": 1}), ("rate", ARGUMENTS),
                                ("claim", {"taskId": SECRET})):  # fmt: skip
            await ask(tool, arguments)
        for number, at in enumerate((0.0, 1.0, 2.0, 60.0)):
            self.now = at
            await ask("down", {**ARGUMENTS, "id": number})


def with_session(recorder: fw.records.Recorder, hooked: Callable[[Session, Any], Any]) -> None:
    session = Session(recorder)

    async def main() -> None:
        async with session.server.connected() as connected:
            hooked(session, connected)
            await session.play(connected.call_tool)

    anyio.run(main)


def wrapped(recorder: fw.records.Recorder) -> None:
    with_session(recorder, lambda session, connected: fw.wrap(connected, **session.options))


def installed(recorder: fw.records.Recorder) -> None:
    session = Session(recorder)

    async def main() -> None:
        async with session.server.connected() as connected:
            await session.play(connected.call_tool)

    fw.install(**session.options)
    try:
        anyio.run(main)
    finally:
        fw.uninstall()


def called(recorder: fw.records.Recorder) -> None:
    """Through `Caller`, which every adapter of an agent framework stands on."""
    session = Session(recorder)
    caller = fw.client.Caller(fw.Policy(), **session.options)
    described = {tool["name"]: tool for tool in session.server.pages[0]}

    async def ask(tool: str, arguments: dict[str, Any]) -> None:
        async def once(sent: dict[str, Any]) -> Any:
            return session.server.respond("tools/call", {"name": tool, "arguments": sent})

        await caller.run(once, server="tasks", tool=tool, arguments=arguments, description=described[tool])

    anyio.run(session.play, ask)


GUARD_KINDS = ["failure", "failure", "success"]
CLIENT_KINDS = [
    *("retry", "recovered", "failure", "success", "retry", "retry", "failure", "fallback"),
    *("failure", "repaired"),
    *("failure", "failure", "breaker", "refused", "breaker", "success"),
]
CLIENT_VERDICTS = ["by_retry", "corrected", "by_fallback", "by_repair", "moved_on", "moved_on", "moved_on"]
IN_PROCESS: dict[str, tuple[Callable[[fw.records.Recorder], None], list[str], list[str]]] = {
    "guard": (guarded, GUARD_KINDS, ["corrected", "moved_on"]),
    "protect mcp": (protected(MCPServer, McpClient), GUARD_KINDS, ["corrected", "moved_on"]),
    "protect fastmcp": (protected(fastmcp.FastMCP, fastmcp.Client), GUARD_KINDS, ["corrected", "moved_on"]),
    "wrap": (wrapped, CLIENT_KINDS, CLIENT_VERDICTS),
    "install": (installed, CLIENT_KINDS, CLIENT_VERDICTS),
    "Caller": (called, CLIENT_KINDS, CLIENT_VERDICTS),
}


def leaks(folder: Path) -> list[bytes]:
    """Return what stands around the secret in the files of a folder."""
    return [
        found for path in folder.iterdir() for found in re.findall(b"(?s).{0,60}" + SECRET.encode(), path.read_bytes())
    ]


def seen(folder: Path, address: str) -> list[Record]:
    """Return the records of a store, no byte of whose files tells the secret."""
    assert leaks(folder) == []
    with RecordStore(address) as store:
        return list(store.records())


@pytest.mark.parametrize("source", IN_PROCESS)
def test_a_session_arrives_with_all_that_happened_and_no_secret(source: str, tmp_path: Path) -> None:
    play, kinds, verdicts = IN_PROCESS[source]
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    with fw.records.Recorder(address, server="tasks") as recorder:
        play(recorder)
        assert recorder.flush(60)
        assert leaks(tmp_path) == []  # the log beside the file too
    records = seen(tmp_path, address)

    assert [one.kind for one in records] == kinds
    assert [one.verdict for one in failures(records)] == verdicts
    assert {(one.server, len(one.session)) for one in records} == {("tasks", 16)}
    assert recorder.lost == 0


def test_the_proxy_of_a_process_tells_of_a_session_and_no_secret(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    with Client("--events", address, "--retry", "--deadline", "5", "--validate", "--name", "tasks") as client:
        client.call("look", n=1, do="fail until:2")
        client.call("act", n=1, do=f"fail:404 Not Found: {LEAK}", password=SECRET)
        client.call("act", n=2)
        client.call("look", n="one")
        for number in range(6):
            client.call("act", n=number, do="fail:503 Service Unavailable")
    records = seen(tmp_path, address)

    assert [one.kind for one in records] == [
        *("retry", "recovered", "failure", "success", "refused"),
        *["failure"] * 5,
        *("breaker", "refused"),
    ]
    assert [one.verdict for one in failures(records)][:2] == ["by_retry", "corrected"]
    assert records[0].delay is not None


def test_the_proxy_of_a_url_tells_of_a_session_and_no_secret(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'calls.db'}"
    answers: list[Any] = [
        failing(text="503 Service Unavailable"),
        success(),
        failing(text=f"404 Not Found: {LEAK}"),
        success(),
        *[failing(text="504 Gateway Timeout")] * 5,
    ]

    async def handler(request: web.Request) -> web.Response:
        asked = await request.json()
        if asked["method"] == "tools/list":
            return web.json_response({**listed("work", "act"), "id": asked["id"]})
        return web.json_response({**answers.pop(0), "id": asked["id"]})

    async def run() -> None:
        async with scripted(handler) as url:
            words = ["--retry", "--deadline", "5", "--retry-safe", "work", "--events", address, "--name", "tasks"]
            options = parse(["--url", f"{url}/mcp?key={SECRET}", "--listen", "127.0.0.1:0", *words])
            setup = Setup(options, open_events(options.events))
            async with listening(options, setup) as port:
                base = f"http://127.0.0.1:{port}/mcp"
                for id, tool in enumerate(["work"] * 3 + ["act"] * 6, 1):
                    asked = call(tool, id, number=id, password=SECRET)
                    await post(base, asked, Mcp_Session_Id=SECRET, Authorization=f"Bearer {SECRET}")
            setup.close()

    asyncio.run(run())
    records = seen(tmp_path, address)

    assert [one.kind for one in records] == [
        *("retry", "recovered", "failure", "success"),
        *["failure"] * 5,
        *("breaker", "refused"),
    ]
    assert [one.verdict for one in failures(records)][:2] == ["by_retry", "corrected"]
    assert len({one.session for one in records}) == 1
