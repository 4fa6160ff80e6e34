"""Several processes at one address: they serve together, end together, and the operator hears of them as of one."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from failwell.proxy.command import main
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from tests.proxy.http.setting import Answered, Handler, call, failing, gateway, listed, post, scripted, success
from tests.retry.fleet.servers import RedisServer, running, until

COMMAND = [sys.executable, "-m", "failwell", "proxy"]


@contextmanager
def workers(url: str, *words: str, count: int = 2) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Workers in front of a URL, and the process that started them."""
    command = [*COMMAND, "--url", url, "--listen", "127.0.0.1:0", "--workers", str(count), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.endswith(f", with {count} workers\n"), line
        yield re.findall(r"http://\S+?(?=,)", line)[0], process
        process.terminate()


def children(process: subprocess.Popen[str]) -> list[int]:
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as listed_there:
        return [int(number) for number in listed_there.read().split()]


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Logs as they were before the proxy ran in this process."""
    yield
    logging.disable(logging.NOTSET)


linux = pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux tells the children of a process")


def through(handler: Handler, *words: str, calls: int) -> tuple[list[Answered], int, str]:
    """Make calls at once, each on its own connection; return the answers, the exit code and what the operator read."""

    async def run() -> tuple[list[Answered], int, str]:
        async with scripted(handler) as url:
            with workers(url + "/mcp", *words) as (base, process):
                answers = await asyncio.gather(*(post(base, call(id=number)) for number in range(calls)))
                process.terminate()
                _, rest = await asyncio.to_thread(process.communicate)
                return answers, process.returncode, rest

    return asyncio.run(run())


async def failing_half(request: web.BaseRequest) -> web.Response:
    body = await request.json()
    text = {"content": [{"type": "text", "text": "Rate limit exceeded"}], "isError": body["id"] % 2 == 0}
    return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": text})


def test_calls_through_workers_are_answered_and_summed_up_once() -> None:
    answers, code, told = through(failing_half, calls=20)

    assert sorted(answer.message["id"] for answer in answers) == list(range(20))
    assert sum("_meta" in answer.message["result"] for answer in answers) == 10
    assert (code, told) == (
        0,
        "failwell: 20 calls, 10 failed\nfailwell:   work: 20 calls, 10 failed (TRANSIENT 10)\n",
    )


@linux
def test_a_worker_that_is_killed_is_replaced_and_the_others_serve_on() -> None:
    async def run() -> tuple[list[str], Any, set[int], set[int], int]:
        async with scripted(failing_half) as url:
            with workers(url + "/mcp") as (base, process):
                assert process.stderr is not None
                before = await asyncio.to_thread(
                    lambda: until(lambda: len(children(process)) == 2) and children(process)
                )
                os.kill(before[0], signal.SIGKILL)
                line = await asyncio.to_thread(process.stderr.readline)
                answer = await post(base, call(id=1))
                after = children(process)
                process.terminate()
                await asyncio.to_thread(process.communicate)
                return [line], answer.message["id"], set(before), set(after), process.returncode

    lines, id, before, after, code = asyncio.run(run())
    assert lines == ["failwell: a worker died and is started again: signal 9\n"]
    assert id == 1
    assert (len(after), len(before & after)) == (2, 1)
    assert code == 0


@linux
def test_no_worker_outlives_the_first_process() -> None:
    async def run() -> list[int]:
        async with scripted(failing_half) as url:
            with workers(url + "/mcp") as (_, process):
                await asyncio.to_thread(until, lambda: len(children(process)) == 2)
                found = children(process)
                process.kill()
                return found

    orphans = asyncio.run(run())
    assert until(lambda: not any(_runs(number) for number in orphans))


def _runs(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_workers_that_cannot_begin_are_not_started_for_ever(tmp_path: Any) -> None:
    broken = "import failwell.proxy.http.workers as w\ndef wrong(*_):\n raise RuntimeError\nw.Setup = wrong\n"
    start = f"{broken}from failwell.proxy.command import main\nimport sys\nsys.exit(main(sys.argv[1:]))"
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        words = ["--url", url, "--listen", "127.0.0.1:0", "--workers", "2"]
        done = subprocess.run([sys.executable, "-c", start, *words], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "failwell: 5 workers died within 10 seconds: exit code 1"


def test_a_signal_that_meets_a_worker_before_it_has_begun_ends_that_worker() -> None:
    """The signal comes as early as it can: it must neither be lost nor taken for one to the process that forks."""
    early = """
import os, signal, sys
fork = os.fork
def forked():
    process = fork()
    if not process:
        os.kill(os.getpid(), signal.SIGTERM)
    return process
os.fork = forked
from failwell.proxy.command import main
sys.exit(main(sys.argv[1:]))
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        words = ["--url", url, "--listen", "127.0.0.1:0", "--workers", "2"]
        command = [sys.executable, "-c", early, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "failwell: 5 workers died within 10 seconds: signal 15"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--url", "http://a/", "--workers", "2"], "--workers needs --listen"),
        (["--workers", "none", "--", "x"], "--workers must be a whole number from 1 to 100, not 'none'"),
        (["--limits", "redis://h", "--", "x"], "--limits needs --retry: it shares the limits of retries"),
        (
            ["--retry", "--limits", "http://u:hunter2@h", "--", "x"],
            "--limits must be the address of a Redis or Valkey server, such as redis://localhost:6379/0",
        ),
        (
            ["--retry", "--limits", "redis://u:hunter2@h:no", "--url", "http://127.0.0.1:1/", "--listen", "0"],
            "--limits: limits must be the address of a Redis or Valkey server, such as redis://localhost:6379/0",
        ),
    ],
)
def test_misuse_is_told_in_one_line(words: list[str], complaint: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert (main(words), capfd.readouterr().err) == (2, f"failwell: {complaint}\n")


def test_a_port_in_use_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        code = main(["--url", url, "--listen", str(port), "--workers", "2"])

    told = f"failwell: cannot listen on 127.0.0.1:{port}: address already in use\n"
    assert (code, capfd.readouterr().err) == (1, told)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with running() as server:
        yield server


def in_two_gateways(handler: Handler, *messages: Any, words: tuple[str, ...]) -> list[Answered]:
    """Make calls of one session through two gateways in turns."""

    async def run() -> list[Answered]:
        async with (
            scripted(handler) as url,
            gateway(url + "/mcp", *words) as one,
            gateway(url + "/mcp", *words) as other,
        ):
            bases = (one, other) * len(messages)
            return [
                await post(base, message, Mcp_Session_Id="s") for base, message in zip(bases, messages, strict=False)
            ]

    return asyncio.run(run())


def test_gateways_on_several_hosts_share_their_limits(redis: RedisServer) -> None:
    redis.client.flushdb()

    async def busy(_request: web.BaseRequest) -> web.Response:
        return web.Response(status=503)

    answers = in_two_gateways(busy, call(a=1), call(a=2), words=("--retry", "--limits", redis.url))

    [breaker] = redis.client.scan_iter("failwell:*:breaker:*")
    assert [answer.failure["code"] for answer in answers] == ["SERVICE_UNAVAILABLE"] * 2
    assert len(redis.client.hget(breaker, "failures").split()) == 2


@pytest.mark.parametrize("words", [(), ("--dialect", "flat")], ids=["compact", "flat"])
def test_a_failure_reads_alike_whichever_gateway_saw_the_tools_listed(words: tuple[str, ...]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    asked: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        body = await request.json()
        asked.append(body["method"])
        if body["method"] == "tools/list":
            tools = [{"name": "work", "inputSchema": schema}]
            return web.json_response({"jsonrpc": "2.0", "id": body["id"], "result": {"tools": tools}})
        return web.json_response(failing(id=body["id"], text="Invalid arguments for tool work"))

    lists = {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}
    answers = in_two_gateways(handler, lists, call(n="x"), call(n="x"), call(n="x"), words=words)

    one, other, again = (answer.message for answer in answers[1:])
    assert one == other == again
    assert [field["path"] for field in answers[1].failure["fields"]] == ["n"]
    assert asked.count("tools/list") == 2  # by the client, and once by the gateway that had not seen it


def test_a_gateway_that_saw_no_list_still_knows_what_may_run_twice() -> None:
    asked: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        body = await request.json()
        asked.append(body["method"])
        if body["method"] == "tools/list":
            return web.json_response({**listed("work", readOnlyHint=True), "id": body["id"]})
        if asked.count("tools/call") == 1:
            return web.Response(status=502, headers={"Retry-After": "0"})
        return web.json_response(success(id=body["id"]))

    [answer] = in_two_gateways(handler, call(), words=("--retry",))

    assert answer.message == success()
    assert asked == ["tools/call", "tools/list", "tools/call"]


def test_records_of_all_gateways_name_a_session_alike_and_not_by_its_id(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"

    async def handler(request: web.BaseRequest) -> web.Response:
        return web.json_response(success(id=(await request.json())["id"]))

    async def run() -> None:
        async with scripted(handler) as url:
            for session in ("first", "first", "second"):
                options = parse(["--url", f"{url}/mcp", "--listen", "127.0.0.1:0", "--events", f"{events}"])
                setup = Setup(options, os.open(events, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
                async with listening(options, setup) as port:
                    await post(f"http://127.0.0.1:{port}", call(), Mcp_Session_Id=session)
                setup.close()

    asyncio.run(run())
    one, other, third = (json.loads(line)["session"] for line in events.read_text().splitlines())
    assert one == other != third
    assert "first" not in one


@pytest.mark.parametrize("form", ["json", "stream"])
def test_a_gateway_learns_the_tools_that_a_client_listed_through_another(redis: RedisServer, form: str) -> None:
    asked: list[str] = []
    pages = {None: {"cursor": "2", "tools": []}, "2": {"cursor": None, "tools": ["work"]}}

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.json()
        asked.append(body["method"])
        if body["method"] == "tools/list":
            page = pages[body["params"].get("cursor")]
            result = listed(*page["tools"], readOnlyHint=True)["result"]
            result |= {"nextCursor": page["cursor"]} if page["cursor"] else {}
            answer = {"jsonrpc": "2.0", "id": body["id"], "result": result}
            if form == "stream":
                return web.Response(text=f"data: {json.dumps(answer)}\n\n", content_type="text/event-stream")
            return web.json_response(answer)
        if asked.count("tools/call") == 1:
            return web.Response(status=503, headers={"Retry-After": "0"})
        return web.json_response(success(id=body["id"]))

    words = ("--retry", "--limits", redis.url)
    redis.client.flushdb()
    answers = in_two_gateways(handler, call(id=1), words=words)

    assert answers[0].message == success()  # made again, for the tool is safe
    assert asked == ["tools/call", "tools/list", "tools/list", "tools/call"]


def test_the_question_for_tools_is_the_client_s_own_but_for_what_belongs_to_its_call() -> None:
    asked: list[tuple[str, Any, Any, Any]] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        body, head = await request.json(), request.headers
        meta = body["params"].get("_meta")
        asked.append((head["Mcp-Method"], head.get("Mcp-Name"), head.get("Mcp-Param-City"), meta))
        answer = listed("work") if body["method"] == "tools/list" else success()
        return web.json_response({**answer, "id": body["id"]})

    async def run() -> None:
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-06-30", "progressToken": 7}
        message = call()
        message["params"]["_meta"] = meta
        async with scripted(handler) as url, gateway(url + "/mcp", "--validate") as base:
            for _ in range(2):
                await post(base, message, Mcp_Method="tools/call", Mcp_Name="work", Mcp_Param_City="Ulm")

    asyncio.run(run())
    version = {"io.modelcontextprotocol/protocolVersion": "2026-06-30"}
    of_the_call = ("tools/call", "work", "Ulm", {**version, "progressToken": 7})
    assert asked == [("tools/list", None, None, version), of_the_call, of_the_call]


def test_who_listed_the_tools_here_is_not_asked_for_them_again(redis: RedisServer) -> None:
    asked: list[str] = []

    async def handler(request: web.BaseRequest) -> web.Response:
        body = await request.json()
        asked.append(body["method"])
        answer = listed("work") if body["method"] == "tools/list" else success()
        return web.json_response({**answer, "id": body["id"]})

    async def run() -> None:
        words = ("--validate", "--workers", "2")
        async with scripted(handler) as url, gateway(url + "/mcp", *words) as base:
            await post(base, {"jsonrpc": "2.0", "id": 0, "method": "tools/list"}, Mcp_Session_Id="s")
            await post(base, call(), Mcp_Session_Id="s")

    asyncio.run(run())
    assert asked == ["tools/list", "tools/call"]


@pytest.mark.parametrize("breaks", [False, True])
def test_a_server_that_lists_no_tools_gets_its_calls_all_the_same(redis: RedisServer, breaks: bool) -> None:
    async def handler(request: web.BaseRequest) -> web.Response:
        body = await request.json()
        if body["method"] == "tools/call":
            return web.json_response(success(id=body["id"]))
        if breaks and request.transport is not None:
            request.transport.abort()
        return web.Response(status=400)

    answers = in_two_gateways(handler, call(id=1), words=("--retry", "--limits", redis.url))

    assert answers[0].message == success()


def test_a_client_that_leaves_does_not_keep_the_one_call_that_probes(redis: RedisServer) -> None:
    redis.client.flushdb()
    is_down, reached = asyncio.Event(), asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.Response:
        if (await request.json())["method"] == "tools/list" or is_down.is_set():
            return web.Response(status=503)
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> tuple[Any, bool]:
        words = ("--retry", "--limits", redis.url)
        async with (
            scripted(handler) as url,
            gateway(url + "/mcp", *words) as one,
            gateway(url + "/mcp", *words) as other,
        ):
            is_down.set()
            for number in range(6):
                if number == 5:
                    redis.pass_time("failwell", 2)  # as long as a row of failures must last
                await post(one, call(n=number))
            is_down.clear()
            redis.pass_time("failwell", 31)
            leaves = asyncio.create_task(post(other, call(n=9)))
            await reached.wait()
            [breaker] = redis.client.scan_iter("failwell:*:breaker:*")
            prober = redis.client.hget(breaker, "prober")
            leaves.cancel()
            is_released = await asyncio.to_thread(until, lambda: redis.client.hget(breaker, "prober") is None)
            return prober, is_released

    prober, is_released = asyncio.run(run())
    assert prober is not None
    assert is_released
