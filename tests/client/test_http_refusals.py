"""Tool calls that are refused with an HTTP status: the session lives on, and Retry-After is heard."""

from collections.abc import Callable
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


class Credentials:
    """Renews credentials, and counts how often."""

    def __init__(self, *, is_broken: bool = False, until: Callable[[], bool] = lambda: True) -> None:
        self.renewed = 0
        self._is_broken = is_broken
        self._until = until

    async def refresh(self) -> None:
        with anyio.fail_after(30):
            while not self._until():
                await anyio.sleep(0.01)
        if self._is_broken:
            raise OSError("no way")
        self.renewed += 1


def ask_with(credentials: Credentials, server: Scripted, *tools: str) -> list[Any]:
    """Make calls at the same time on a session that can renew its credentials."""

    async def main(url: str) -> list[Any]:
        results: list[Any] = [None] * len(tools)
        async with sdks.session(KIND, url) as session:
            fw.wrap(session, sleep=Naps(), chance=never, refresh=credentials.refresh)
            call = session.call_tool_mcp if KIND == "fastmcp" else session.call_tool

            async def make(index: int, tool: str) -> None:
                results[index] = await call(tool, {})

            async with anyio.create_task_group() as group:
                for index, tool in enumerate(tools):
                    group.start_soon(make, index, tool)
        return results

    with server.over_http() as url:
        return anyio.run(main, url)


OUTDATED = Refusal(401, {"WWW-Authenticate": "Bearer"})
OUTDATED_BY_RPC = Refusal(
    401, {}, '{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "expired"}}', "application/json"
)


@pytest.mark.parametrize("refusal", [OUTDATED, OUTDATED_BY_RPC], ids=["401", "401 with JSON-RPC"])
def test_credentials_that_the_mcp_server_refuses_are_renewed_and_the_call_is_made_again(refusal: Refusal) -> None:
    server, credentials = Scripted(), Credentials()
    server.tool("send", refusal, FINE)

    (result,) = ask_with(credentials, server, "send")

    assert text(result) == "fine"
    assert (credentials.renewed, server.count("send")) == (1, 2)


def test_credentials_are_renewed_once_for_a_call() -> None:
    server, credentials = Scripted(), Credentials()
    server.tool("send", OUTDATED)

    (result,) = ask_with(credentials, server, "send")

    assert (result.failure.code, result.failure.retryable) == ("UNAUTHORIZED", False)
    assert (credentials.renewed, server.count("send")) == (1, 2)


def test_credentials_are_renewed_once_for_all_calls_that_had_them() -> None:
    server = Scripted()
    tools = [f"send_{number}" for number in range(5)]
    credentials = Credentials(until=lambda: len(server.calls) >= len(tools))
    for tool in tools:
        server.tool(tool, OUTDATED, FINE)

    results = ask_with(credentials, server, *tools)

    assert [text(result) for result in results] == ["fine"] * 5
    assert credentials.renewed == 1


def test_credentials_are_renewed_to_list_the_tools_too() -> None:
    server, credentials = Scripted(), Credentials()
    server.tool("send", FINE)
    server.listing_error = lambda _: {"tools": server.pages[0]} if credentials.renewed else OUTDATED

    async def main(url: str) -> Any:
        async with sdks.session(KIND, url) as session:
            fw.wrap(session, sleep=Naps(), chance=never, refresh=credentials.refresh)
            return await session.list_tools()

    with server.over_http() as url:
        listed = anyio.run(main, url)

    assert [tool.name for tool in getattr(listed, "tools", listed)] == ["send"]
    assert (credentials.renewed, server.listings) == (1, 2)


@pytest.mark.parametrize(
    ("answer", "is_broken"),
    [
        (OUTDATED, True),
        ({"content": [{"type": "text", "text": "HTTP 401 Unauthorized: bad API key"}], "isError": True}, False),
        (fw.encode(fw.Failure(code="UNAUTHORIZED", message="m", http_status=401)), False),
    ],
    ids=["nothing renewed", "a tool's text", "a tool's failure"],
)
def test_a_call_is_made_once_where_there_are_no_new_credentials_or_they_are_others(
    answer: Any, *, is_broken: bool
) -> None:
    server, credentials = Scripted(), Credentials(is_broken=is_broken)
    server.tool("send", answer, FINE)

    (result,) = ask_with(credentials, server, "send")

    assert result.failure.code == "UNAUTHORIZED"
    assert "Ask the user" in text(result)
    assert (credentials.renewed, server.count("send")) == (0, 1)
