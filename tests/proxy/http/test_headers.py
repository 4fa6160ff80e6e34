import asyncio
import json
from typing import Any

import pytest

from failwell.proxy.http.headers import to_client, to_server
from tests.proxy.http.setting import Answered, call, event, gateway, post, success, talking


def test_headers_of_one_connection_do_not_pass() -> None:
    given = [
        ("Host", "a"),
        ("Connection", "close, X-Private"),
        ("X-Private", "1"),
        ("TE", "x"),
        ("Mcp-Method", "ping"),
    ]

    assert list(to_server(given, more=[("mcp-method", "no"), ("X-Key", "k")]).items()) == [
        ("Mcp-Method", "ping"),
        ("Accept-Encoding", "identity"),
        ("X-Key", "k"),
    ]


def test_headers_that_repeat_pass_in_their_order() -> None:
    given = [("Set-Cookie", "a=1"), ("Content-Length", "3"), ("Content-Encoding", "gzip"), ("Set-Cookie", "b=2")]

    assert list(to_client(given).items()) == [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
BODIES = {"application/json": json.dumps(success()).encode(), "text/event-stream": event(success())}


@pytest.mark.parametrize("message", [call(), PING], ids=["a call", "another request"])
@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("value", [b"a\x01b", b"a\x0bb", b"a\x7fb", b"M\xfcller", b"\x1b[31m"])
def test_a_response_with_an_odd_header_arrives_whole(value: bytes, kind: str, message: Any) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not reader.at_eof() and (await reader.readline()).strip():
            pass
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(BODIES[kind])}\r\nX-Odd: "
        writer.write(head.encode() + value + b"\r\n\r\n" + BODIES[kind])

    async def run() -> Answered:
        async with talking(talk) as url, gateway(url + "/mcp") as base:
            return await post(base, message)

    answer = asyncio.run(run())

    assert (answer.status, answer.body) == (200, BODIES[kind])
    assert answer.headers["X-Odd"].isprintable()


def test_a_request_with_an_odd_header_reaches_the_server() -> None:
    assert next(iter(to_server([("X-Odd", "M\udcfcller")]).items())) == ("X-Odd", "M?ller")
