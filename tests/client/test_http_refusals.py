"""Tool calls that are refused with an HTTP status: the session lives on, and Retry-After is heard."""

from contextlib import ExitStack
from typing import Any

import anyio
import anyio.to_thread
import pytest

import failwell as fw
from tests.client.scripted import FINE, LOST, Naps, Refusal, Scripted, never
from tests.client.test_wrap import text
from tests.matrix import sdks

KIND = "mcp" if "mcp" in sdks.KINDS else "fastmcp"
LATER = {"Retry-After": "7"}


@pytest.fixture
def naps() -> Naps:
    taken = Naps()
    fw.install(sleep=taken, chance=never)
    return taken


def ask(server: Scripted, *tools: str) -> list[Any]:
    async def main(url: str) -> list[Any]:
        async with sdks.session(KIND, url) as session:
            call = session.call_tool_mcp if KIND == "fastmcp" else session.call_tool
            return [await call(tool, {}) for tool in tools]

    with server.over_http() as url:
        return anyio.run(main, url)


def test_a_refusal_is_waited_out_for_as_long_as_its_header_says(naps: Naps) -> None:
    server = Scripted()
    server.tool("send", Refusal(429, LATER), FINE)

    (result,) = ask(server, "send")

    assert text(result) == "fine"
    assert naps == [7]


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Refusal(429, {"Retry-After": "500"}), ("RATE_LIMITED", 500, 429)),
        (Refusal(503, LATER), ("SERVICE_UNAVAILABLE", 7, 503)),
        (Refusal(500, {}), ("UPSTREAM_ERROR", None, 500)),
        (Refusal(401, {}), ("UNAUTHORIZED", None, 401)),
        (Refusal(429, LATER, '{"error": "slow down"}', "application/json"), ("RATE_LIMITED", 7, 429)),
        (
            Refusal(
                429,
                {"Retry-After": "300"},
                '{"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "too many"}}',
                "application/json",
            ),
            ("RATE_LIMITED", 300, 429),
        ),
        (
            Refusal(
                400,
                {},
                '{"jsonrpc": "2.0", "id": null, "error": {"code": -32601, "message": "no such method"}}',
                "application/json",
            ),
            ("METHOD_NOT_FOUND", None, None),
        ),
    ],
    ids=["429", "503", "500", "401", "429 with JSON", "429 with JSON-RPC", "400 with JSON-RPC"],
)
def test_a_refusal_becomes_a_failure_and_the_session_lives_on(
    refusal: Refusal, expected: tuple[Any, ...], naps: Naps
) -> None:
    server = Scripted()
    server.tool("send", refusal)
    server.tool("look", FINE)

    failed, fine = ask(server, "send", "look")

    failure = failed.failure
    assert (failure.code, failure.retry_after, failure.http_status) == expected
    assert text(fine) == "fine"


def test_a_wrapped_session_hears_a_refusal_too() -> None:
    server, naps = Scripted(), Naps()
    server.tool("send", Refusal(429, LATER), FINE)

    async def main(url: str) -> Any:
        async with sdks.session(KIND, url) as session:
            fw.wrap(session, sleep=naps, chance=never)
            return await (session.call_tool_mcp if KIND == "fastmcp" else session.call_tool)("send", {})

    with server.over_http() as url:
        result = anyio.run(main, url)

    assert text(result) == "fine"
    assert naps == [7]


def test_tools_that_may_not_be_listed_do_not_end_the_session(naps: Naps) -> None:
    server = Scripted()
    server.tool("look", LOST)
    server.listing_error = Refusal(429, LATER)

    first, second = ask(server, "look", "look")

    assert (first.failure.code, second.failure.code) == ("TIMEOUT", "TIMEOUT")
    assert server.listings == 2


def test_an_unavailable_server_is_not_asked_twice_to_do_what_it_may_have_done(naps: Naps) -> None:
    server = Scripted()
    server.tool("send", Refusal(503, LATER), FINE)

    (result,) = ask(server, "send")

    assert (result.failure.outcome, server.count("send")) == ("unknown", 1)


def test_a_server_that_cannot_be_reached_is_a_failure_and_not_the_end_of_the_run(naps: Naps) -> None:
    server = Scripted()
    server.tool("send", FINE)

    async def main() -> Any:
        with ExitStack() as up:
            url = up.enter_context(server.over_http())
            async with sdks.session(KIND, url) as session:
                await anyio.to_thread.run_sync(up.close)
                return await (session.call_tool_mcp if KIND == "fastmcp" else session.call_tool)("send", {})

    result = anyio.run(main)

    assert (result.failure.code, result.failure.outcome) == ("CONNECTION_REFUSED", "not_executed")
    assert (server.calls, len(naps)) == ([], 2)
