"""A model that repeats a wrong call is answered without the server, but nothing that changed is hidden."""

import logging
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.testing import EventLog, FakeClock
from tests.client.scripted import FINE, Scripted
from tests.client.test_wrap import run, text

COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
WRONG = fw.encode(fw.Invalid("count must be an integer."))
MISSING = fw.encode(fw.NotFound("There is no task 7."))
SENT = {"count": "many"}


def shop(*answers: Any, **described: Any) -> Scripted:
    server = Scripted()
    server.tool("take", *(answers or (WRONG,)), inputSchema=COUNT, **described)
    server.tool("look", FINE, annotations={"readOnlyHint": True})
    server.tool("change", FINE)
    return server


async def repeated(session: Any, times: int, arguments: dict[str, Any] | None = None) -> Any:
    for _ in range(times):
        result = await session.call_tool("take", arguments or SENT)
    return result


def test_the_third_call_that_the_schema_proves_wrong_is_not_sent_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, log = shop(), EventLog()

    with caplog.at_level(logging.INFO, "failwell"):
        result = run(server, lambda session: repeated(session, 4), hook=log, server="shop")

    assert server.count("take") == 2
    assert result.failure.type == "VALIDATION"
    assert result.failure.outcome == "not_executed"
    assert [problem.path for problem in result.failure.fields] == ["count"]
    assert ". The call was not sent. " in text(result)
    assert [event.kind for event in log.events] == ["failure", "failure", "refused", "refused"]
    line = "take of shop: not sent: the same call was refused twice within a minute"
    assert [record.getMessage() for record in caplog.records][-2:] == [line, line]


def test_other_arguments_are_sent() -> None:
    server = shop()

    async def steps(session: Any) -> None:
        await repeated(session, 3)
        await session.call_tool("take", {"count": "few"})

    run(server, steps)

    assert server.calls[-1] == ("take", {"count": "few"})


def test_a_call_that_the_schema_allows_is_always_sent() -> None:
    server = shop(fw.encode(fw.Invalid("count must be odd.")))

    run(server, lambda session: repeated(session, 5, {"count": 4}))

    assert server.count("take") == 5


def test_a_minute_later_the_call_is_sent() -> None:
    server, clock = shop(), FakeClock()

    async def steps(session: Any) -> None:
        await repeated(session, 3)
        clock.advance(61)
        await repeated(session, 1)

    run(server, steps, clock=clock)

    assert server.count("take") == 3


def test_after_a_success_of_a_tool_that_may_change_things_the_call_is_sent() -> None:
    server = shop()

    async def steps(session: Any) -> list[int]:
        await repeated(session, 3)
        await session.call_tool("look", {})
        await repeated(session, 1)
        before = server.count("take")
        await session.call_tool("change", {})
        await repeated(session, 1)
        return [before, server.count("take")]

    assert run(server, steps) == [2, 3]


def test_after_the_list_of_tools_changed_the_call_is_sent() -> None:
    server = shop()

    async def steps(session: Any) -> int:
        await repeated(session, 3)
        before = server.count("take")
        await server.tools_changed()
        with anyio.fail_after(30):
            while server.count("take") == before:
                await anyio.sleep(0.01)  # until the session has heard of it
                await repeated(session, 1)
        return before

    assert run(server, steps) == 2
    assert server.count("take") == 3


def test_asking_again_for_what_is_not_there_is_legitimate_and_noted() -> None:
    server = shop(MISSING, MISSING, MISSING, FINE)
    texts: list[str] = []

    async def steps(session: Any) -> Any:
        texts.extend([text(await session.call_tool("take", {"count": 1})) for _ in range(3)])
        return await session.call_tool("take", {"count": 1})

    assert text(run(server, steps)) == "fine"
    assert ["3 times within a minute" in found for found in texts] == [False, False, True]


def test_nothing_is_answered_locally_where_automatic_actions_are_off(monkeypatch: Any) -> None:
    monkeypatch.setenv("FAILWELL_AUTOMATIC", "off")
    server = shop()

    run(server, lambda session: repeated(session, 4))

    assert server.count("take") == 4
