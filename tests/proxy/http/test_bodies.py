"""Bodies beyond their bounds: a clear error for the one who sent them, and nothing lost for others."""

import asyncio
import gzip
import json
import re
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, web

from failwell.proxy import channels, conversation, long_messages, messages
from failwell.proxy.http import bodies, event_stream, exchange, sessions
from failwell.proxy.http import gateway as gateways
from tests.proxy.http.scripts import answering, through
from tests.proxy.http.setting import ACCEPT, Answered, Handler, call, event, failing, gateway, post, scripted, success
from tests.proxy.http.test_remote import lines

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
SMALL = 1000


async def _in_pieces(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 400):
        yield data[start : start + 400]


PACKED: dict[str, Callable[[bytes], Any]] = {
    "identity": bytes,
    "in pieces": _in_pieces,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw deflate": lambda data: zlib.compress(data, wbits=-15),
    "gzip in members": lambda data: gzip.compress(data[:700]) + gzip.compress(data[700:]),
    "gzip in pieces": lambda data: _in_pieces(gzip.compress(data)),
}


def encoding_of(packing: str) -> dict[str, str]:
    found = re.search("gzip|deflate", packing)
    return {"Content-Encoding": found.group()} if found else {}


async def post_packed(url: str, packing: str, data: bytes) -> Answered:
    headers = {**ACCEPT, **encoding_of(packing)}
    async with ClientSession() as client, client.post(url, data=PACKED[packing](data), headers=headers) as response:
        return Answered(response.status, response.headers, await response.read())


@pytest.mark.parametrize("packing", PACKED)
def test_a_body_up_to_the_bound_arrives_unpacked(packing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    message = call(text="x" * 1500)
    monkeypatch.setattr(gateways, "MAX_POSTED_BODY", len(json.dumps(message)))
    found: list[Any] = []

    async def run() -> Answered:
        async with scripted(answering(success(), bodies=found)) as url, gateway(url + "/mcp") as base:
            return await post_packed(base, packing, json.dumps(message).encode())

    assert asyncio.run(run()).message == success()
    assert found == [message]


@pytest.mark.parametrize("message", [call(text="x" * 300_000), {**PING, "x": "x" * 300_000}], ids=["a call", "a ping"])
@pytest.mark.parametrize("packing", PACKED)
def test_a_body_beyond_the_bound_is_refused_and_others_are_served(
    packing: str, message: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateways, "MAX_POSTED_BODY", SMALL)
    found: list[Any] = []

    async def run() -> tuple[Answered, Answered]:
        async with scripted(answering(success(), bodies=found)) as url, gateway(url + "/mcp") as base:
            return await post_packed(base, packing, json.dumps(message).encode()), await post(base, call())

    refused, served = asyncio.run(run())

    assert (refused.status, refused.message["id"]) == (413, None)
    assert refused.message["error"]["message"] == "failwell: the body of the request is longer than 1000 bytes"
    assert (served.message, found) == (success(), [call()])


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"x"), ("gzip, gzip", gzip.compress(b"{}")), ("gzip", b"{}"), ("gzip", gzip.compress(b"{}")[:-9])],
    ids=["unknown", "twice", "not packed", "cut"],
)
def test_a_body_that_cannot_be_unpacked_is_refused(encoding: str, body: bytes) -> None:
    found: list[Any] = []

    async def run() -> int:
        headers = {**ACCEPT, "Content-Encoding": encoding}
        async with (
            scripted(answering(success(), bodies=found)) as url,
            gateway(url + "/mcp") as base,
            ClientSession() as client,
            client.post(base, data=body, headers=headers) as response,
        ):
            return response.status

    assert (asyncio.run(run()), found) == (415, [])


def test_a_body_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "BODY_TIMEOUT", 0.01)

    async def run() -> bytes:
        async with scripted(answering(success())) as url, gateway(url + "/mcp") as base:
            reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
            answer = await reader.readuntil(b"\r\n\r\n")
            writer.close()
            return answer

    assert asyncio.run(run()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("bound", "most", "batch"),
    [("MAX_BATCH", 3, [call(id=id) for id in range(4)]), ("MAX_DECODED", 100, [call(), call(id=2)])],
)
def test_a_batch_beyond_the_bounds_is_refused(
    bound: str, most: int, batch: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, bound, most)

    assert through(answering(success()), batch).status == 413
    assert [message["id"] for message in lines(answering(success()), batch)] == [None]


def endless(kind: str, start: bytes = b"", *, encoding: str | None = None) -> Handler:
    """A server whose answer has no end."""
    headers = {"Content-Type": kind, **({"Content-Encoding": encoding} if encoding else {})}
    piece = b"x" * 10_000 if encoding is None else gzip.compress(b"x" * 1_000_000)

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(start)
        while True:
            await response.write(piece)
            await asyncio.sleep(0)

    return handle


ENDLESS = {
    "JSON": endless("application/json", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"'),
    "a packed answer": endless("application/json", encoding="gzip"),
    "a line": endless("text/event-stream", b"data: "),
    "an event with an id": endless("text/event-stream", b"id: 7\ndata: "),
    "an event after another": endless("text/event-stream", b"id: 6\n: hello\n\ndata: "),
}


@pytest.fixture
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (exchange, event_stream, gateways):
        monkeypatch.setattr(module, "MAX_ANSWER", 50_000)


@pytest.mark.usefixtures("short_answers")
@pytest.mark.parametrize("words", [(), ("--retry",), ("--validate",)])
@pytest.mark.parametrize("handler", ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_an_end_is_a_failure_of_the_call(handler: Handler, words: tuple[str, ...]) -> None:
    failure = through(handler, call(), *words).failure

    assert (failure["code"], failure["outcome"]) == ("BAD_UPSTREAM_RESPONSE", "unknown")
    assert failure["message"].startswith("The server's answer is longer than")


@pytest.mark.usefixtures("short_answers")
@pytest.mark.parametrize("message", [call(), PING], ids=["a call", "another request"])
@pytest.mark.parametrize("handler", ENDLESS.values(), ids=ENDLESS)
def test_a_client_over_standard_input_gets_one_answer_to_what_has_no_end(handler: Handler, message: Any) -> None:
    [answer] = lines(handler, message)

    assert answer["id"] == 1
    assert "The server's answer is longer than" in json.dumps(answer)


@pytest.mark.usefixtures("short_answers")
def test_a_list_of_tools_without_an_end_is_an_error_for_its_client() -> None:
    answer = through(ENDLESS["JSON"], {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert (answer.status, answer.message["id"]) == (502, 1)
    assert "longer than" in answer.message["error"]["message"]


@pytest.mark.usefixtures("short_answers")
def test_calls_on_a_stream_with_an_event_without_an_end_fail() -> None:
    async def run() -> bytes:
        posted = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            if request.method == "POST":
                posted.set()
                return web.Response(status=202)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            await response.write(b"event: endpoint\ndata: /messages\n\n")
            await posted.wait()
            while True:
                await response.write(b"x" * 10_000)
                await asyncio.sleep(0)

        async with (
            scripted(handle) as url,
            gateway(url + "/sse") as base,
            ClientSession() as client,
            client.get(base + "/sse") as stream,
        ):
            await stream.content.readuntil(b"\n\n")
            await post(base + "/messages", call())
            return await stream.read()

    message = json.loads(asyncio.run(run()).partition(b"data: ")[2])

    assert message["id"] == 1
    assert message["result"]["_meta"]["dev.failwell/failure"]["code"] == "BAD_UPSTREAM_RESPONSE"


@pytest.mark.parametrize("words", [(), ("--retry",), ("--flip-unflagged", "work")])
@pytest.mark.parametrize("form", ["JSON", "an event"])
@pytest.mark.parametrize("answer", [success(text="x" * 500), failing(text="x" * 500)], ids=["success", "failure"])
def test_an_answer_that_is_too_long_to_be_read_passes_only_if_it_is_no_failure(
    answer: Any, form: str, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (channels, conversation, long_messages, messages, sessions):
        monkeypatch.setattr(module, "MAX_DECODED", 400)
    body = json.dumps(answer).encode() if form == "JSON" else event(answer)
    kind = "application/json" if form == "JSON" else "text/event-stream"

    found = through(answering(web.Response(body=body, content_type=kind)), call(), *words)

    if answer["result"]["isError"]:
        assert found.failure["code"] == "BAD_UPSTREAM_RESPONSE"
        assert b"xxx" not in found.body
    else:
        assert found.body == body


@pytest.mark.parametrize("words", [(), ("--retry",)])
@pytest.mark.parametrize("form", ["JSON", "an event"])
@pytest.mark.parametrize(
    "sent", ['"isError":true,"content":[{"type":"text","text":"hunter2xyz"}],', '"error":"hunter2xyz",']
)
def test_a_failure_that_is_too_deep_to_be_read_does_not_pass(sent: str, form: str, words: tuple[str, ...]) -> None:
    result = "{" + sent + '"odd":' + "[" * 100_000 + "]" * 100_000 + "}"
    data = ('{"jsonrpc":"2.0","id":1,"result":' + result + "}").encode()
    body, kind = (data, "application/json") if form == "JSON" else (b"data: " + data + b"\n\n", "text/event-stream")

    found = through(answering(web.Response(body=body, content_type=kind)), call(), *words)

    assert found.failure["code"] == "BAD_UPSTREAM_RESPONSE"
    assert b"hunter2xyz" not in found.body


def test_many_long_bodies_at_the_same_time_are_refused_and_short_ones_are_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bodies, "MAX_HELD", 3000)
    monkeypatch.setattr(bodies, "MAX_SMALL_BODY", 500)
    long = call(text="x" * 2000)

    async def run() -> tuple[Answered, Answered, Answered, Answered]:
        came, go = asyncio.Event(), asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            if len(await request.read()) > 500 and not came.is_set():
                came.set()
                await go.wait()
            return web.json_response(success())

        async with scripted(handle) as url, gateway(url + "/mcp") as base:
            first = asyncio.create_task(post(base, long))
            await came.wait()
            second, short = await post(base, long), await post(base, call())
            go.set()
            return await first, second, short, await post(base, long)

    first, second, short, third = asyncio.run(run())

    assert [one.status for one in (first, second, short, third)] == [200, 503, 200, 200]
    assert (second.headers["Retry-After"], second.message["id"]) == ("1", None)


GATEWAY = [sys.executable, "-m", "failwell", "proxy", "--quiet", "--listen", "127.0.0.1:0", "--url"]


def test_a_body_that_unpacks_to_many_times_its_length_is_refused_below_the_bound_too() -> None:
    """It is no longer than others, but a client that packs like that means no good."""
    found: list[Any] = []

    async def run() -> tuple[Answered, Answered]:
        async with scripted(answering(success(), bodies=found)) as url, gateway(url + "/mcp") as base:
            bomb = json.dumps(call(text="x" * 4_000_000)).encode()
            return await post_packed(base, "gzip", bomb), await post(base, call())

    refused, served = asyncio.run(run())

    assert refused.status == 413
    assert refused.message["error"]["message"].endswith(" is longer than 100 times its packed length")
    assert (served.message, found) == (success(), [call()])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see the memory of a process")
def test_a_small_body_that_unpacks_to_hundreds_of_megabytes_takes_no_such_memory() -> None:
    bomb = gzip.compress(b"[" + b"{}," * 100_000_000 + b"{}]", 9)

    async def run() -> tuple[list[int], float]:
        async with scripted(answering(success())) as url:
            process = subprocess.Popen([*GATEWAY, url + "/mcp"], stderr=subprocess.PIPE, text=True)
            assert process.stderr is not None
            try:
                line = await asyncio.to_thread(process.stderr.readline)
                base = re.search(r"http://127\.0\.0\.1:\d+", line)
                assert base is not None
                headers = {**ACCEPT, "Content-Encoding": "gzip"}
                async with ClientSession() as client:

                    async def send() -> int:
                        async with client.post(base.group(), data=bomb, headers=headers) as response:
                            return response.status

                    before = peak(process.pid)
                    statuses = await asyncio.gather(*(send() for _ in range(4)))
                    return statuses, peak(process.pid) - before
            finally:
                process.kill()
                process.communicate()

    statuses, megabytes = asyncio.run(run())

    assert set(statuses) <= {413, 503}
    assert megabytes < 200


def peak(process: int) -> float:
    """The most memory that a process has had so far, in megabytes."""
    return int(Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
