"""Sessions over real sockets: connections that break, answers that are cut off, servers that start anew or are down."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import ClientSession

import failwell as fw
from failwell.integrations._frameworks import adapter_caller, call
from tests.client.scripted import Naps, Scripted, never
from tests.client.test_wrap import text
from tests.http_faults import Answer, Cut, FaultServer, Hang, Refusal, Reset, Restart, Unusable
from tests.matrix import sdks

KINDS = [kind for kind in sdks.KINDS if kind != "lowlevel"]
READS = {"annotations": {"readOnlyHint": True}}
FINE = Answer("fine")
CANCELLED = "notifications/cancelled"

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def naps() -> Naps:
    taken = Naps()
    fw.install(sleep=taken, chance=never)
    return taken


@pytest.fixture
def server() -> FaultServer:
    return FaultServer()


def caller_of(session: Any) -> Callable[..., Awaitable[Any]]:
    return session.call_tool_mcp if hasattr(session, "call_tool_mcp") else session.call_tool


def ask(kind: str, server: FaultServer, *tools: str) -> list[Any]:
    async def main(url: str) -> list[Any]:
        with anyio.fail_after(60):
            async with sdks.session(kind, url) as session:
                return [await caller_of(session)(tool, {}) for tool in tools]

    with server.running() as url:
        return anyio.run(main, url)


BROKEN = [Reset(), Cut(), Cut(events=True)]
each_break = pytest.mark.parametrize("broken", BROKEN, ids=["reset", "cut JSON", "cut events"])


@each_kind
@each_break
def test_a_broken_answer_is_one_failure_and_the_session_lives_on(
    kind: str, broken: Any, server: FaultServer, naps: Naps
) -> None:
    server.tool("send", broken, FINE)
    server.tool("look", FINE)

    failed, fine = ask(kind, server, "send", "look")

    assert (failed.failure.code, failed.failure.outcome) == ("CONNECTION_LOST", "unknown")
    assert failed.failure.message == "The connection to the MCP server broke before its answer was complete."
    assert text(fine) == "fine"
    assert server.effects == ["send", "look"]


@each_kind
@each_break
def test_a_broken_answer_of_a_tool_that_reads_is_asked_for_again(
    kind: str, broken: Any, server: FaultServer, naps: Naps
) -> None:
    server.tool("look", broken, FINE, **READS)

    (result,) = ask(kind, server, "look")

    assert text(result) == "fine"
    assert server.count("look") == 2


@each_kind
def test_an_answer_that_is_no_json_does_not_leave_the_call_waiting(kind: str, server: FaultServer, naps: Naps) -> None:
    server.tool("send", Unusable())
    server.tool("look", FINE)

    failed, fine = ask(kind, server, "send", "look")

    assert failed.failure.outcome == "unknown"
    assert (server.count("send"), text(fine)) == (1, "fine")


@each_kind
def test_a_forgotten_session_is_begun_anew_and_the_call_made_once_there(
    kind: str, server: FaultServer, naps: Naps
) -> None:
    server.tool("send", Restart(), FINE)

    first, second = ask(kind, server, "send", "send")

    assert (text(first), text(second)) == ("fine", "fine")
    assert server.effects == ["send", "send"]
    assert [call.session for call in server.calls] == ["session-1", "session-2", "session-2"]


@each_kind
def test_calls_that_lose_a_session_at_the_same_time_begin_one_new_session(
    kind: str, server: FaultServer, naps: Naps
) -> None:
    server.tool("send", FINE)

    async def main(url: str) -> list[Any]:
        results: list[Any] = []
        async with sdks.session(kind, url) as session, anyio.create_task_group() as group:
            server.forget_sessions()

            async def send() -> None:
                results.append(await caller_of(session)("send", {}))

            for _ in range(8):
                group.start_soon(send)
        return results

    with server.running() as url:
        results = anyio.run(main, url)

    assert [text(result) for result in results] == ["fine"] * 8
    assert server.methods.count("initialize") == 2
    assert len(server.effects) == 8


def test_the_request_that_begins_a_session_anew_is_not_cancelled_with_the_call(server: FaultServer, naps: Naps) -> None:
    server.tool("send", Restart(), FINE)
    server.tool("hang", Hang())

    def is_called() -> bool:
        return server.count("hang") == 1

    async def until(condition: Callable[[], bool]) -> None:
        with anyio.fail_after(30):
            while not condition():
                await anyio.sleep(0.01)

    async def main(url: str) -> Any:
        async with sdks.session(KINDS[0], url) as session:
            server.on("initialize", Hang())
            for tool, waited in (("send", lambda: server.methods.count("initialize") == 2), ("hang", is_called)):
                async with anyio.create_task_group() as group:
                    group.start_soon(caller_of(session), tool, {})
                    await until(waited)
                    group.cancel_scope.cancel()
            result = await caller_of(session)("send", {})
            await until(lambda: CANCELLED in server.notifications)
            return result

    with server.running() as url:
        result = anyio.run(main, url)

    assert text(result) == "fine"
    assert server.notifications.count(CANCELLED) == 1  # for the call that hangs
    assert server.effects == ["hang", "send"]


@pytest.mark.parametrize("policy", [fw.Policy(), fw.Policy(timeout=60)], ids=["without a limit", "with one"])
def test_a_session_that_a_cancelled_call_has_opened_still_tells_the_server(
    policy: fw.Policy, server: FaultServer
) -> None:
    server.tool("send", Hang())
    caller = adapter_caller(fw.client.Caller(policy))

    async def main(url: str) -> None:
        async def send(arguments: dict[str, Any]) -> Any:
            async with sdks.session(KINDS[0], url) as session:
                return await caller_of(session)("send", arguments)

        made = call(caller, send, server="mail", tool="send", arguments={}, describe=lambda: None)
        with anyio.fail_after(30):
            task = asyncio.ensure_future(made)
            while not server.calls:
                await anyio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not server.notifications.count(CANCELLED):
                await anyio.sleep(0.01)

    with server.running() as url:
        anyio.run(main, url)

    assert (server.count("send"), server.notifications.count(CANCELLED)) == (1, 1)


def test_what_is_said_of_a_session_that_stays_lost_is_true(server: FaultServer, naps: Naps) -> None:
    server.tool("send", Restart())
    refused = Refusal(503)

    async def main(url: str) -> Any:
        async with sdks.session(KINDS[0], url) as session:
            server.on("initialize", *[refused] * 9)
            return await caller_of(session)("send", {})

    with server.running() as url:
        result = anyio.run(main, url)

    assert (result.failure.code, result.failure.outcome) == ("SESSION_LOST", "not_executed")
    assert result.failure.message == "The MCP server no longer recognizes the session. This request was not executed."
    assert server.effects == []


@each_kind
def test_connecting_waits_for_a_server_that_is_not_ready(kind: str, server: FaultServer, naps: Naps) -> None:
    server.on("initialize", Refusal(503, {"Retry-After": "7"}), Reset())
    server.on("tools/list", Refusal(429, {"Retry-After": "3"}))
    server.tool("look", FINE)

    async def main(url: str) -> Any:
        async with sdks.session(kind, url) as session:
            await session.list_tools()
            return await caller_of(session)("look", {})

    with server.running() as url:
        result = anyio.run(main, url)

    assert text(result) == "fine"
    assert naps[0] == 7
    assert naps[-1] == 3


@each_kind
def test_connecting_to_a_server_that_is_down_says_so(kind: str, server: FaultServer, naps: Naps) -> None:
    async def main(url: str) -> None:
        async with sdks.session(kind, url):
            pass

    with pytest.raises(Exception) as raised:  # noqa: PT011 - each SDK raises its own, in groups or not
        anyio.run(main, server.reserve())

    assert str(leaf(raised.value)).startswith("The MCP server refused the connection")
    assert len(naps) == 2


def leaf(exc: BaseException) -> BaseException:
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return exc


def test_a_server_that_came_back_is_called_again(server: FaultServer) -> None:
    server.tool("send", FINE)

    async def came_back(_: float) -> None:
        if server.url not in started:
            started.append(server.url)
            server.start()

    started: list[str] = []

    async def main(url: str) -> Any:
        async with sdks.session(KINDS[0], url) as session:
            server.stop()
            server.forget_sessions()
            result = await caller_of(session)("send", {})
            server.stop()
            return result

    fw.install(sleep=came_back)
    with server.running() as url:
        result = anyio.run(main, url)

    assert text(result) == "fine"
    assert server.effects == ["send"]


class Dying:
    """A session in memory whose server can die."""

    def __init__(self) -> None:
        self.made = 0

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ClientSession]:
        scripted = Scripted("dying")
        scripted.tool("send", {"content": [{"type": "text", "text": f"from {self.made}"}], "isError": False})
        self.made += 1
        async with scripted.connected() as session:
            self.scripted = scripted
            yield session


def test_a_closed_connection_is_replaced_and_what_was_not_sent_is_sent_there() -> None:
    dying, naps = Dying(), Naps()

    async def main() -> tuple[Any, Any]:
        async with dying.session() as session:
            fw.wrap(session, reconnect=dying.session, sleep=naps)
            await dying.scripted.notify.aclose()
            await anyio.wait_all_tasks_blocked()
            return await session.call_tool("send", {}), await session.call_tool("send", {})

    first, second = anyio.run(main)

    assert (text(first), text(second)) == ("from 1", "from 1")
    assert dying.made == 2


def test_a_connection_that_is_closed_after_the_answer_loses_no_answer_and_repeats_no_call() -> None:
    dying = Dying()

    async def main() -> Any:
        async with dying.session() as session:
            fw.wrap(session, fw.Policy(repeatable=True), reconnect=dying.session, sleep=Naps())
            dying.scripted.listing_error = lambda _: dying.scripted.notify.aclose  # the tools are listed to check it
            return await session.call_tool("send", {})

    result = anyio.run(main)

    assert text(result) == "from 0"
    assert dying.made == 1


async def hang() -> Any:
    await anyio.sleep_forever()


SOON = fw.Policy(timeout=0.05)


def test_a_call_whose_time_is_over_before_the_connection_is_back_was_not_executed() -> None:
    dying, naps = Dying(), Naps()

    async def main() -> Any:
        async with dying.session() as session:
            fw.wrap(session, SOON, reconnect=hang, sleep=naps)
            await dying.scripted.notify.aclose()
            await anyio.wait_all_tasks_blocked()
            return await session.call_tool("send", {})

    result = anyio.run(main)

    assert (result.failure.code, result.failure.outcome, len(naps)) == ("TIMEOUT", "not_executed", 2)
    assert "could not be renewed within 0.05 seconds. This request was not executed." in text(result)


def test_what_is_known_of_one_call_is_not_said_of_a_function_that_makes_several() -> None:
    dying = Dying()
    sent: list[Any] = []

    async def main() -> Any:
        async with dying.session() as session:
            fw.wrap(session, reconnect=hang, sleep=Naps())

            async def send_twice() -> None:
                sent.append(await session.call_tool("send", {}))
                await dying.scripted.notify.aclose()
                for _ in range(20):  # until the session knows
                    await anyio.sleep(0)
                await session.call_tool("send", {})

            with pytest.raises(fw.TimedOut) as raised:
                await fw.acall(send_twice, policy=SOON)
            return raised

    raised = anyio.run(main)

    assert raised.value.failure.outcome == "unknown"
    assert list(map(text, sent)) == ["from 0"]


def test_a_connection_that_does_not_come_back_does_not_hold_up_a_call_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("failwell.sdk.connections._LONGEST_RECONNECT", 0.01)
    dying = Dying()

    async def main() -> Any:
        async with dying.session() as session:
            fw.wrap(session, reconnect=hang, sleep=Naps())
            await dying.scripted.notify.aclose()
            await anyio.wait_all_tasks_blocked()
            return await session.call_tool("send", {})

    result = anyio.run(main)

    assert (result.failure.code, result.failure.outcome) == ("CONNECTION_LOST", "not_executed")


def test_without_another_connection_the_model_is_told_that_the_call_was_not_sent() -> None:
    dying = Dying()

    async def main() -> Any:
        async with dying.session() as session:
            fw.wrap(session, sleep=Naps())
            await dying.scripted.notify.aclose()
            await anyio.wait_all_tasks_blocked()
            return await session.call_tool("send", {})

    result = anyio.run(main)

    assert (result.failure.code, result.failure.outcome) == ("CONNECTION_LOST", "not_executed")
    assert "The connection to the MCP server is closed. This request was not sent." in text(result)
    assert "Tell the user that the MCP server is no longer connected." in text(result)
