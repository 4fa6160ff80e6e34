"""Clients that are slow, silent or too many: they are told so, and the others are served."""

import asyncio
import gc
import socket
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientSession, web

from failwell.proxy.http import gateway as gateways
from failwell.proxy.http import reply
from failwell.proxy.http import server as servers
from tests.proxy.http.scripts import answering
from tests.proxy.http.setting import ACCEPT, Answered, call, gateway, post, scripted, success

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def connected(base: str, data: bytes = b"") -> AsyncIterator[Ends]:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    writer.write(data)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def refused(data: bytes) -> tuple[bytes, Answered]:
    """What a client gets for these bytes until it is disconnected, and another one for its call."""

    async def run() -> tuple[bytes, Answered]:
        async with (
            scripted(answering(success())) as url,
            gateway(url + "/mcp") as base,
            connected(base, data) as (reader, _),
        ):
            async with asyncio.timeout(10):
                return await reader.read(), await post(base, call())

    return asyncio.run(run())


@pytest.mark.parametrize("data", [b"", b"POST", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n"])
def test_a_client_that_does_not_finish_the_head_of_its_request_is_told_so(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "HEAD_TIMEOUT", 0.01)
    answer, served = refused(data)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert served.message == success()


@pytest.mark.parametrize("lines", [[b"X-A: " + b"b" * 70_000], [b"X-%d: " % n + b"b" * 900 for n in range(100)]])
def test_a_head_that_is_too_long_is_refused(lines: list[bytes]) -> None:
    answer, served = refused(b"\r\n".join([b"GET /mcp HTTP/1.1", b"Host: localhost", *lines]))

    assert answer.split()[1] in (b"400", b"431")
    assert served.message == success()


REQUEST = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def one_answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    return head.split()[1] + b" " + await reader.readexactly(length)


def test_a_client_that_waits_between_requests_stays_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "HEAD_TIMEOUT", 0.05)

    async def run() -> list[bytes]:
        async with (
            scripted(answering(web.Response(text="hello"))) as url,
            gateway(url + "/mcp") as base,
            connected(base, REQUEST) as (reader, writer),
        ):
            first = await one_answer(reader)
            async with connected(base) as (silent, _):
                await silent.read()  # it is disconnected, after as long as a head may take
            writer.write(REQUEST)
            return [first, await one_answer(reader)]

    assert asyncio.run(run()) == [b"200 hello"] * 2


def test_beyond_the_bound_the_connection_that_was_idle_for_longest_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MAX_CONNECTIONS", 2)

    async def run() -> tuple[bytes, bytes, bytes]:
        async with (
            scripted(answering(web.Response(text="hello"))) as url,
            gateway(url + "/mcp") as base,
            connected(base, b"GET /slow") as (oldest, _),
            connected(base, REQUEST) as (used, writer),
        ):
            await one_answer(used)
            async with connected(base, REQUEST) as (newest, _):
                found = await oldest.read(), await one_answer(newest)
                writer.write(REQUEST)
                return *found, await one_answer(used)

    oldest, newest, used = asyncio.run(run())

    assert oldest.startswith(b"HTTP/1.1 503 ")
    assert (newest, used) == (b"200 hello", b"200 hello")


def test_where_all_connections_are_busy_a_new_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "MAX_CONNECTIONS", 1)

    async def run() -> tuple[bytes, bytes]:
        came, go = asyncio.Event(), asyncio.Event()

        async def handle(_request: web.Request) -> web.StreamResponse:
            came.set()
            await go.wait()
            return web.Response(text="hello")

        async with scripted(handle) as url, gateway(url + "/mcp") as base, connected(base, REQUEST) as (busy, _):
            await came.wait()
            async with connected(base, REQUEST) as (reader, _):
                refused = await reader.read()
            go.set()
            return refused, await one_answer(busy)

    refused, answer = asyncio.run(run())

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert answer == b"200 hello"


def test_the_end_leaves_no_connection_open_whose_client_has_stopped_reading() -> None:
    async def run(client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        async with (
            scripted(answering(web.Response(body=bytes(30_000_000)))) as url,
            gateway(url + "/mcp") as base,
        ):
            await loop.sock_connect(client, ("127.0.0.1", int(base.rpartition(":")[2])))
            await loop.sock_sendall(client, REQUEST)
            assert await loop.sock_recv(client, 1)

    with socket.socket() as client, warnings.catch_warnings(record=True) as warned:
        client.setblocking(False)
        warnings.simplefilter("always")
        asyncio.run(run(client))
        gc.collect()

    assert [str(warning.message) for warning in warned if "unclosed" in str(warning.message)] == []


async def listening(request: web.Request) -> web.StreamResponse:
    if request.method == "POST":
        return web.json_response(success())
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(b": hello\n\n")
    await asyncio.Event().wait()
    return response


@pytest.mark.parametrize("bound", ["MAX_STREAMS", "MAX_STREAMS_OF_CLIENT"])
def test_streams_beyond_the_bound_are_refused_until_another_ends(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, bound, 1)
    headers = {"Accept": "text/event-stream", "X-API-Key": "one"}

    async def run() -> tuple[int, Answered, int]:
        async with scripted(listening) as url, gateway(url + "/mcp") as base, ClientSession() as client:
            async with client.get(base, headers=headers) as first:
                await first.content.readany()
                async with client.get(base, headers=headers) as second:
                    status = second.status
                served = await post(base, call(), X_API_Key="one")
            last = 503
            while last == 503:
                async with client.get(base, headers=headers) as third:
                    last = third.status
            return status, served, last

    status, served, last = asyncio.run(run())

    assert (status, served.message, last) == (503, success(), 200)


def test_the_streams_of_one_client_leave_room_for_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "MAX_STREAMS_OF_CLIENT", 1)

    async def run() -> list[int]:
        async with (
            scripted(listening) as url,
            gateway(url + "/mcp") as base,
            ClientSession() as client,
            client.get(base, headers={"X-API-Key": "one"}) as first,
            client.get(base, headers={"X-API-Key": "two"}) as second,
        ):
            return [first.status, second.status]

    assert asyncio.run(run()) == [200, 200]


def test_a_client_that_reads_nothing_is_disconnected_and_ends_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply, "READ_TIMEOUT", 0.05)

    async def run() -> bool:
        closed = asyncio.Event()

        async def handle(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            try:
                while True:
                    await response.write(b": " + b"x" * 100_000 + b"\n\n")
                    await asyncio.sleep(0)
            finally:
                closed.set()

        async with (
            scripted(handle) as url,
            gateway(url + "/mcp") as base,
            ClientSession() as client,
            client.get(base, headers=ACCEPT),
            asyncio.timeout(20),
        ):
            return await closed.wait()

    assert asyncio.run(run())
