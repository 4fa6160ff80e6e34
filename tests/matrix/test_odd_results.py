"""Results that can't be sent, and tools that exit, are failures like others: the client gets an answer."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

import failwell as fw
from failwell.sdk.results import unsendable
from failwell.testing import EventLog
from tests.matrix import odd_results, sdks, stdio
from tests.matrix.odd_results import LONE, VALUES
from tests.matrix.test_http import served

PROGRAM = Path(odd_results.__file__)
KIND = pytest.mark.parametrize("kind", sdks.KINDS)
HIGH = tuple(kind for kind in sdks.KINDS if kind != "lowlevel")
# What the tools of a low-level server do by hand, such as writing JSON, fails before there is a result.
BY_HAND = ("circle", "long_integer", "not_text")


@contextmanager
def started(kind: str, **settings: Any) -> Iterator[stdio.Wire]:
    """A process that is ended if it does not answer."""
    with stdio.started(PROGRAM, kind, json.dumps(settings)) as client:
        timer = Timer(60, client.end)
        timer.start()
        try:
            yield client
        finally:
            timer.cancel()


def failure(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None, result
    return found


@KIND
def test_over_standard_output_each_is_a_failure_and_the_server_goes_on(kind: str) -> None:
    with started(kind) as client:
        found = {name: failure(client.call(name)) for name in (*VALUES, "text", "not_a_number")}
        after = client.call("fine")

    known = {name: one for name, one in found.items() if name in VALUES and (kind in HIGH or name not in BY_HAND)}
    said = {name: (one.code, one.outcome, one.message) for name, one in known.items()}
    assert said == {
        name: ("INTERNAL_ERROR", "executed", f"The tool ran, but its result can't be sent: {VALUES[name][1]}.")
        for name in known
    }
    assert {one.code for one in found.values()} == {"INTERNAL_ERROR"}
    assert found["text"].outcome == "executed"
    assert after["isError"] is False


@pytest.mark.parametrize("kind", HIGH)
def test_over_http_each_is_a_failure_and_the_session_goes_on(kind: str) -> None:
    server = odd_results.server(kind, {})
    names = (*VALUES, "text", "not_a_number")

    async def ask(url: str) -> list[dict[str, Any]]:
        async with sdks.client(kind, url) as call:
            return [await call(name) for name in (*names, "fine")]

    with served(server.http_app() if kind == "fastmcp" else server.streamable_http_app()) as url:
        *odd, fine = asyncio.run(ask(url))

    assert {failure(one).outcome for one in odd} == {"executed"}
    assert fine["isError"] is False


@KIND
def test_a_tool_that_exits_is_a_failure_if_that_is_wanted(kind: str) -> None:
    with started(kind, catch_exit=True) as client:
        found = [failure(client.call(name)) for name in ("exits", "exits_async")]
        after = client.call("fine")

    assert [(one.code, one.outcome) for one in found] == [("INTERNAL_ERROR", "unknown")] * 2
    assert found[0].message == "The tool tried to end the server instead of returning."
    assert after["isError"] is False


@KIND
@pytest.mark.parametrize("tool", ["awaits_cancelled", "raises_own", "raises_own_in_group"])
def test_what_no_sdk_catches_fails_one_call_and_the_connection_goes_on(kind: str, tool: str) -> None:
    with started(kind) as client:
        result = client.call(tool)
        after = client.call("fine")

    found = failure(result)
    assert (found.code, found.retryable, found.outcome) == ("INTERNAL_ERROR", None, "unknown")
    assert odd_results.SECRET not in json.dumps(result)
    assert after["isError"] is False


@pytest.mark.parametrize("kind", HIGH)
@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_a_prompt_or_resource_that_ends_oddly_fails_one_request_and_the_connection_goes_on(
    kind: str, method: str
) -> None:
    with started(kind, catch_exit=True) as client:
        answers = {
            name: client.request(method, {"name": name} if method == "prompts/get" else {"uri": f"data://{name}"})
            for name in odd_results.PROMPTS
        }
        after = client.call("fine")

    assert {answer["error"]["code"] for answer in answers.values()} == {-32603}
    assert answers["text"]["error"]["message"] == f"The result can't be sent: {odd_results.UNICODE}."
    assert {failure(answer).code for answer in answers.values()} == {"INTERNAL_ERROR"}
    assert odd_results.SECRET not in json.dumps(answers)
    assert after["isError"] is False


@pytest.mark.parametrize("kind", HIGH)
@pytest.mark.parametrize("tool", ["text", "surrogate", "awaits_cancelled"])
def test_observers_are_told_of_the_failure_alone(kind: str, tool: str) -> None:
    events = EventLog()
    server = odd_results.server(kind, {"observers": [events]})

    async def ask() -> None:
        async with sdks.client(kind, server) as call:
            await call(tool)

    asyncio.run(ask())

    assert [(event.kind, event.tool) for event in events.events] == [("failure", tool)]


@KIND
def test_what_can_be_sent_is_sent_as_it_was(kind: str) -> None:
    async def ask(settings: dict[str, Any] | None) -> dict[str, Any]:
        async with sdks.client(kind, odd_results.server(kind, settings)) as call:
            return await call("fine")

    assert asyncio.run(ask({})) == asyncio.run(ask(None))


@pytest.mark.parametrize(
    "value",
    [
        {"v": 2**70, "w": -(2**70)},
        {"größe": 1},
        {"v": 1.5},
        {"v": [1, "ü"]},
        {"v": [1, "plain", None, [{"w": []}]]},
        {"v": list(range(30))},
        {"v": {"v": {"v": {"v": {"v": {"v": 1}}}}}},
        {str(number): number for number in range(30)},
        {"v": True, "w": None, "x": "ü", "y": "plain", "z": 3},
        {5: 1},
    ],
    ids=str,
)
def test_whatever_json_can_hold_can_be_sent(value: dict[Any, Any]) -> None:
    assert unsendable(value) is None
    assert unsendable({**value, "last": LONE}) == odd_results.UNICODE
