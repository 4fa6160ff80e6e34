"""A server that dies with a call: whatever it may have read may have had an effect, and only the rest had none."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("the servers need pipes that Windows does not have", allow_module_level=True)

from failwell.proxy.stdio import session
from failwell.proxy.stdio.process import Child
from failwell.proxy.stdio.pump import Outlet
from failwell.proxy.stdio.restarts import Restarts
from tests.proxy.clients import Client
from tests.proxy.http.setting import call, gateway, post, talking
from tests.proxy.stdio.test_effects import call as line_of

SILENT = [sys.executable, "-I", "-c", "import sys; sys.stdin.read()"]
ECHOING = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "result": {}}), flush=True)
"""
CALL = line_of(7, "act")
WRITTEN = {"all": len(CALL), "all but the end of its line": len(CALL) - 1, "half": len(CALL) // 2, "nothing": 0}


def client_of(*words: str, command: list[str]) -> Client:
    return Client(*words, "--retry", "--quiet", command=command)


def dying(
    monkeypatch: pytest.MonkeyPatch, taken: int, *, threads: int = 2, then: Callable[[], object] = lambda: None
) -> Callable[[Child], None]:
    """Have a server take so many bytes of what is written next, and die; *then* comes before anybody knows of that.

    One of so many threads writes: each direction has one, or both have the same.
    """
    real, dead = session.write_all, threading.Event()
    victims: list[Child] = []

    def write(data: bytes | memoryview, target: int) -> int:
        if not victims or target != victims[0].stdin:
            return real(data, target)
        if dead.is_set():
            return 0
        os.write(target, data[:taken])
        dead.set()
        victims[0].kill()
        then()
        return taken

    def write_once(target: int, data: bytes | memoryview) -> int:
        if dead.is_set():
            raise BrokenPipeError
        return write(data, target)

    monkeypatch.setattr(session, "write_all", write)
    monkeypatch.setattr(session, "server_outlet", lambda stdin: Outlet(stdin, write_once, lambda: None))
    if threads > 1:
        monkeypatch.setattr(session, "client_outlet", lambda _: None)
    return victims.append


def outcome(line: bytes) -> str:
    return json.loads(line)["result"]["_meta"]["dev.failwell/failure"]["outcome"]


def test_a_call_that_the_server_got_is_unknown_though_its_death_is_seen_before_that_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_answered = threading.Event()
    real = Restarts.answers

    def answers(*args: Any, **more: Any) -> bytes:
        found = real(*args, **more)
        is_answered.set()
        return found

    monkeypatch.setattr(Restarts, "answers", answers)
    die = dying(monkeypatch, len(CALL), then=lambda: is_answered.wait(30))
    client = client_of(command=SILENT)
    die(client.child)
    client.send(CALL)
    answer = client.line()
    client.close()

    assert outcome(answer) == "unknown"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_call_is_not_executed_only_if_the_server_did_not_get_the_whole_message(
    written: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    die = dying(monkeypatch, WRITTEN[written], threads=threads)
    client = client_of(command=SILENT)
    die(client.child)
    client.send(CALL)
    answer = client.line()
    client.close()

    assert outcome(answer) == ("unknown" if written.startswith("all") else "not_executed")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("written", WRITTEN)
def test_only_what_the_dead_server_did_not_get_goes_to_its_successor(
    written: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    die = dying(monkeypatch, WRITTEN[written], threads=threads)
    client = client_of("--restart", command=[sys.executable, "-I", "-c", ECHOING])
    die(client.child)
    client.send(CALL)
    first = client.line()
    client.send(line_of(8, "act"))
    second = client.line()
    client.close()

    if written.startswith("all"):
        assert outcome(first) == "unknown"
    else:
        assert json.loads(first) == {"id": 7, "result": {}}
    assert json.loads(second) == {"id": 8, "result": {}}


@pytest.mark.parametrize("words", [(), ("--retry",)])
@pytest.mark.parametrize("read", ["all", "half", "the head"])
def test_a_call_that_was_posted_to_a_server_that_breaks_off_may_have_had_an_effect(
    words: tuple[str, ...], read: str
) -> None:
    posted: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly({"all": length, "half": length // 2, "the head": 0}[read])
            if b"tools/list" not in body:
                posted.append(body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.transport.abort()

    async def run() -> str:
        async with talking(talk) as url, gateway(f"{url}/mcp", *words) as base:
            return (await post(base, call("act"))).failure["outcome"]

    assert asyncio.run(run()) == "unknown"
    assert len(posted) == 1 or read != "all"


def test_a_call_for_which_no_connection_was_made_is_not_executed() -> None:
    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async def run() -> str:
        async with asyncio.timeout(30):
            server = talking(talk)
            url = await server.__aenter__()
            async with gateway(f"{url}/mcp") as base:
                await server.__aexit__(None, None, None)
                return (await post(base, call("act"))).failure["outcome"]

    assert asyncio.run(run()) == "not_executed"
