"""The hook on the class: every session of the process, put back exactly, refused where it does not fit."""

import logging
import threading
from importlib import metadata
from typing import Any

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import StreamableHTTPTransport

import failwell as fw
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never
from tests.client.test_wrap import text

OWNERS = [ClientSession, StreamableHTTPTransport]


def attributes() -> list[dict[str, Any]]:
    return [dict(vars(owner)) for owner in OWNERS]


def ask(server: Scripted, tool: str, *more: str) -> list[Any]:
    async def main() -> list[Any]:
        async with server.connected() as session:
            return [await session.call_tool(name) for name in (tool, *more)]

    return anyio.run(main)


def test_every_session_of_the_process_is_hooked() -> None:
    server, naps = Scripted(), Naps()
    server.tool("send", BUSY, FINE)
    server.tool("find", fw.encode(fw.NotFound("No.")))

    installed = fw.install(sleep=naps, chance=never)
    sent, found = ask(server, "send", "find")

    assert text(sent) == "fine"
    assert found.failure.code == "NOT_FOUND"
    assert naps == [3]
    assert installed.says.startswith("Tool calls in this process now go through failwell: every ClientSession of mcp ")


def test_uninstall_puts_every_attribute_back() -> None:
    before = attributes()

    fw.install()
    during = attributes()
    says = fw.uninstall()

    assert during != before
    assert all(now[name] is old[name] for now, old in zip(attributes(), before, strict=True) for name in old)
    assert [set(now) for now in attributes()] == [set(old) for old in before]
    assert says == "Tool calls in this process no longer go through failwell."
    assert fw.uninstall() == "failwell was not installed, so there is nothing to restore."


def test_a_session_that_heard_of_tools_hears_as_before_after_uninstall() -> None:
    server = Scripted()
    server.tool("look", LOST)

    async def main() -> tuple[bool, bool]:
        async with server.connected() as session:
            before = session._message_handler
            fw.install(sleep=Naps())
            await session.call_tool("look")
            heard = session._message_handler is not before
            fw.uninstall()
            return heard, session._message_handler is before

    assert anyio.run(main) == (True, True)


def test_installing_again_changes_the_policy_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "failwell")
    before = attributes()
    server = Scripted()
    server.tool("send", BUSY)

    fw.install(fw.Policy(attempts=3), sleep=Naps())
    again = fw.install(fw.Policy(attempts=2), sleep=Naps())
    ask(server, "send")
    fw.uninstall()

    assert server.count("send") == 2
    assert again.says == "failwell was already installed and now has the new policy and options."
    assert again.says in caplog.text
    assert attributes() == before


@pytest.mark.parametrize(("package", "version"), [("mcp", "3.0.0"), ("mcp", "1.20.0"), ("fastmcp", "5.0")])
def test_an_unknown_version_is_refused_and_nothing_changes(
    package: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: version if name == package else real(name))
    before = attributes()

    with pytest.raises(ValueError, match=rf"^install supports {package} from [^\n]*, not {version}$"):
        fw.install()

    assert attributes() == before


def test_an_unknown_option_is_refused_and_nothing_changes() -> None:
    before = attributes()

    with pytest.raises(TypeError, match="colour"):
        fw.install(colour="red")

    assert attributes() == before


def test_wrap_install_and_acall_are_one_layer() -> None:
    server = Scripted()
    server.tool("send", BUSY)
    fw.install(sleep=Naps())

    async def main() -> Any:
        async with server.connected() as session:
            wrapped = fw.wrap(session, sleep=Naps())
            await wrapped.call_tool("send")
            counted = server.count("send")
            again = await fw.acall(lambda: session.call_tool("send", {"n": 1}), sleep=Naps())
            return counted, again

    counted, _ = anyio.run(main)

    assert counted == 3
    assert server.count("send") == 6


def test_a_wrapped_session_goes_on_after_uninstall() -> None:
    server = Scripted()
    server.tool("send", BUSY, FINE)
    fw.install()

    async def main() -> Any:
        async with server.connected() as session:
            wrapped = fw.wrap(session, sleep=Naps())
            fw.uninstall()
            return await wrapped.call_tool("send")

    assert text(anyio.run(main)) == "fine"
    assert server.count("send") == 2


def test_what_others_put_on_top_stays_and_passes_calls_on(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Scripted()
    server.tool("send", BUSY)
    monkeypatch.setattr(ClientSession, "call_tool", ClientSession.call_tool)
    fw.install(sleep=Naps())
    ours: Any = ClientSession.call_tool

    async def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await ours(self, *args, **kwargs)

    monkeypatch.setattr(ClientSession, "call_tool", traced)
    says = fw.uninstall()
    (result,) = ask(server, "send")

    assert "call_tool has been replaced since" in says
    assert server.count("send") == 1
    assert not hasattr(result, "failure")


def test_servers_have_budgets_of_their_own() -> None:
    one, two = Scripted("one"), Scripted("two")
    for server in (one, two):
        server.tool("send", fw.encode(fw.NetworkFailure("m", outcome="not_executed")))
    installed = fw.install(sleep=Naps())

    ask(one, "send")

    budget = installed.caller.shared.budget
    assert budget.left("one") < budget.left("two") == budget.capacity


def test_many_calls_at_once_keep_apart() -> None:
    server = Scripted()
    seen: dict[int, int] = {}

    def answer(params: dict[str, Any]) -> Any:
        number = params["arguments"]["number"]
        seen[number] = seen.get(number, 0) + 1
        if seen[number] == 1 and number % 50 == 0:
            return BUSY
        return {"content": [{"type": "text", "text": str(number)}]}

    server.tool("send", answer)
    fw.install(sleep=Naps())
    results: dict[int, str] = {}

    async def main() -> None:
        async with server.connected() as session, anyio.create_task_group() as group:
            for number in range(200):

                async def one(number: int = number) -> None:
                    results[number] = text(await session.call_tool("send", {"number": number}))

                group.start_soon(one)

    anyio.run(main)

    assert results == {number: str(number) for number in range(200)}
    assert seen == {number: 2 if number % 50 == 0 else 1 for number in range(200)}


def test_threads_may_install_and_uninstall_at_will() -> None:
    before = attributes()

    def work() -> None:
        for _ in range(20):
            fw.install()
            fw.uninstall()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fw.uninstall()

    assert attributes() == before
