"""A gateway that is ended lets running calls end, and answers those that take too long."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

from failwell.event import Event
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from tests.proxy.http.setting import ACCEPT, Answered, Handler, call, event, gateway, post, scripted, success

COMMAND = [sys.executable, "-m", "failwell", "proxy"]
LONG = "600"
LONGER_THAN_ANYTHING_ELSE_GETS = 1.2
LOST = ("CONNECTION_LOST", "unknown", "The proxy was stopped before the server answered.")


class Slow:
    """A server that answers calls when it is told to."""

    def __init__(self) -> None:
        self.is_called = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.read())
        self.is_called.set()
        await self.may_answer.wait()
        return web.json_response(success(id=body["id"]))


@asynccontextmanager
async def started(url: str, *words: str) -> AsyncIterator[tuple[str, subprocess.Popen[str]]]:
    """A gateway in a process of its own, ended by the test."""
    command = [*COMMAND, "--url", url + "/mcp", "--listen", "127.0.0.1:0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = await asyncio.to_thread(process.stderr.readline)
        try:
            yield line.split(" on ")[1].split(",")[0], process
        finally:
            process.kill()


def told(answer: Answered) -> tuple[str, str, str]:
    failure = answer.failure
    return failure["code"], failure["outcome"], failure["message"]


async def is_closed(base: str) -> bool:
    host, port = base.removeprefix("http://").split("/")[0].split(":")
    try:
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return True
    writer.close()
    return False


several = pytest.mark.parametrize("workers", ["1", "2"])


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGTERM), ("2", signal.SIGINT)])
def test_a_running_call_gets_its_answer_and_no_other_comes_in(workers: str, number: int) -> None:
    async def run() -> tuple[Answered, int | None, str]:
        server = Slow()
        async with (
            scripted(server) as url,
            started(url, "--grace", LONG, "--workers", workers) as (base, process),
        ):
            answer = asyncio.create_task(post(base, call()))
            await server.is_called.wait()
            process.send_signal(number)
            while not await is_closed(base):
                await asyncio.sleep(0)
            await asyncio.wait([answer], timeout=LONGER_THAN_ANYTHING_ELSE_GETS)  # at once where calls are cut off
            server.may_answer.set()
            got = await answer
            _, rest = await asyncio.to_thread(process.communicate)
            return got, process.returncode, rest

    answer, code, rest = asyncio.run(run())
    assert answer.message == success()
    assert (code, rest) == (0, "failwell: 1 call, 0 failed\n")


@several
def test_a_call_that_takes_too_long_is_answered_and_recorded(workers: str, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"

    async def run() -> tuple[Answered, int | None, str]:
        server = Slow()
        words = ("--grace", "0.1", "--workers", workers, "--events", str(events))
        async with scripted(server) as url, started(url, *words) as (base, process):
            answer = asyncio.create_task(post(base, call()))
            await server.is_called.wait()
            process.terminate()
            got = await answer
            _, rest = await asyncio.to_thread(process.communicate)
            return got, process.returncode, rest

    answer, code, rest = asyncio.run(run())
    records = [json.loads(line) for line in events.read_text().splitlines()]
    assert (answer.status, told(answer)) == (200, LOST)
    assert code == 0
    assert rest == "failwell: 1 call, 1 failed\nfailwell:   work: 1 call, 1 failed (TRANSIENT 1)\n"
    assert [(one["kind"], one["code"], one["outcome"]) for one in records] == [("failure", *LOST[:2])]


@several
def test_a_second_signal_ends_at_once_and_still_answers(workers: str) -> None:
    async def run() -> tuple[Answered, int | None]:
        server = Slow()
        async with (
            scripted(server) as url,
            started(url, "--grace", LONG, "--workers", workers) as (base, process),
        ):
            answer = asyncio.create_task(post(base, call()))
            await server.is_called.wait()
            process.terminate()
            while not await is_closed(base):
                await asyncio.sleep(0)
            process.terminate()
            got = await answer
            await asyncio.to_thread(process.wait)
            return got, process.returncode

    answer, code = asyncio.run(run())
    assert (told(answer), code) == (LOST, 0)


async def ended_while_running(
    server: Handler, is_reached: asyncio.Event, *words: str, message: Any = None
) -> tuple[Answered, list[Event]]:
    """What a client gets for a call that runs when its gateway ends without patience."""
    async with scripted(server) as url:
        options = parse(["--url", url + "/mcp", "--listen", "127.0.0.1:0", "--grace", "0", *words])
        setup, seen = Setup(options, None), list[Event]()

        def on_event(event: Event) -> None:
            seen.append(event)
            if event.kind == "retry":
                is_reached.set()

        setup.on_event = on_event
        async with listening(options, setup) as port:
            answer = asyncio.create_task(post(f"http://127.0.0.1:{port}", message or call()))
            await is_reached.wait()
        return await answer, seen


def test_calls_that_wait_for_their_next_try_get_the_failure_of_the_last() -> None:
    async def busy(_request: web.BaseRequest) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "20"})

    async def run() -> tuple[Answered, list[Event]]:
        return await ended_while_running(busy, asyncio.Event(), "--retry", "--retry-safe", "work")

    answer, seen = asyncio.run(run())
    assert (answer.failure["code"], answer.failure["retry_after"]) == ("SERVICE_UNAVAILABLE", 20)
    assert [one.kind for one in seen] == ["retry", "failure"]


@pytest.mark.parametrize(("id", "answered"), [(None, [1]), ("1", [])], ids=["not", "resumable"])
def test_a_stream_ends_with_a_failure_unless_the_client_can_resume_it(id: str | None, answered: list[int]) -> None:
    async def half(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(event({"jsonrpc": "2.0", "method": "notifications/message"}, id=id))
        await asyncio.Event().wait()
        return response

    async def run() -> Answered:
        async with AsyncExitStack() as ends, ClientSession() as session, scripted(half) as url:
            base = await ends.enter_async_context(gateway(url + "/mcp"))
            async with session.post(base, data=json.dumps(call()), headers=ACCEPT) as response:
                await response.content.readuntil(b"\n\n")
                await ends.aclose()
                return Answered(response.status, response.headers, await response.read())

    assert [one["id"] for one in asyncio.run(run()).messages] == answered


def test_calls_whose_answers_come_on_another_stream_are_answered_there() -> None:
    is_called = asyncio.Event()

    async def older(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            is_called.set()
            return web.Response(status=202)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"event: endpoint\ndata: /messages?session=1\n\n")
        await asyncio.Event().wait()
        return response

    async def run() -> Answered:
        async with AsyncExitStack() as ends, ClientSession() as session, scripted(older) as url:
            base = await ends.enter_async_context(gateway(url + "/sse"))
            async with session.get(base, headers=ACCEPT) as stream:
                endpoint = (await stream.content.readuntil(b"\n\n")).split(b"data: ")[1].decode().strip()
                accepted = await post(base + endpoint, call())
                assert (accepted.status, is_called.is_set()) == (202, True)
                last = asyncio.create_task(stream.content.readuntil(b"\n\n"))
                await ends.aclose()
                return Answered(stream.status, stream.headers, await last)

    answer = asyncio.run(run())
    assert (answer.messages[-1]["id"], told(answer)) == (1, LOST)


def test_each_call_of_a_batch_is_answered() -> None:
    async def run() -> tuple[Answered, list[Event]]:
        server = Slow()
        return await ended_while_running(server, server.is_called, message=[call(id=1), call(id=2)])

    answer, seen = asyncio.run(run())
    assert [one["id"] for one in answer.message] == [1, 2]
    assert [one.kind for one in seen] == ["failure", "failure"]
