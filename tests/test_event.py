"""Servers, clients and retries tell one kind of event, and each call ends with one of them."""

from typing import Any, get_args

import anyio
import pytest

import failwell as fw
from failwell.event import ENDS, FAILED, SUCCEEDED, Event, Kind
from failwell.retry import Shared
from failwell.testing import EventLog, instant

DOWN = fw.Failure(code="SERVICE_UNAVAILABLE", message="Come back later.", outcome="not_executed")


def script(*ends: fw.Failure | str) -> Any:
    left = list(ends)

    def run() -> str:
        end = left.pop(0)
        if isinstance(end, fw.Failure):
            raise fw.ToolFailure(end)
        return end

    return run


def guarded(log: EventLog, *ends: fw.Failure | str) -> None:
    tool = fw.guard(observers=[log], tool="find")(script(*ends))
    for _ in ends:
        tool()


def called(log: EventLog, *ends: fw.Failure | str) -> None:
    try:
        fw.call(script(*ends), tool="find", hook=log, shared=Shared.new())
    except fw.ToolFailure:
        return


def wrapped(log: EventLog, *ends: fw.Failure | str) -> None:
    attempt = script(*ends)

    async def make(_: dict[str, Any]) -> str:
        return str(attempt())

    async def main() -> None:
        await fw.client.Caller(hook=log).run(make, tool="find", arguments={"id": 1})

    anyio.run(main)


def told(run: Any, *ends: fw.Failure | str) -> list[Event]:
    log = EventLog()
    with instant():
        run(log, *ends)
    return log.events


def test_kinds_that_end_a_call_say_whether_it_succeeded() -> None:
    assert not SUCCEEDED & FAILED
    assert set(get_args(Kind)) - ENDS == {
        *("retry", "repaired", "verified", "fallback", "breaker", "died", "restarted", "dropped", "lost", "mark")
    }


@pytest.mark.parametrize(
    ("run", "source", "kinds"),
    [
        (guarded, "server", ["failure", "success"]),
        (called, "retry", ["retry", "recovered"]),
        (wrapped, "client", ["retry", "recovered"]),
    ],
)
def test_who_tells_an_event_is_its_source(run: Any, source: str, kinds: list[str]) -> None:
    events = told(run, DOWN, "fine")

    assert [(event.source, event.kind, event.tool) for event in events] == [(source, kind, "find") for kind in kinds]
    assert [event.failure and event.failure.code for event in events] == ["SERVICE_UNAVAILABLE", None]
    assert all(event.elapsed is not None for event in events)


@pytest.mark.parametrize("run", [called, wrapped])
@pytest.mark.parametrize(
    "ends", [("fine",), (DOWN, "fine"), (DOWN, DOWN, DOWN), (fw.Failure(code="NOT_FOUND", message="No."),)]
)
def test_a_call_ends_once_however_often_it_is_tried(run: Any, ends: tuple[Any, ...]) -> None:
    events = told(run, *ends)

    assert [event.ends_call for event in events] == [False] * (len(ends) - 1) + [True]
    assert len({event.call for event in events}) == 1
    assert [event.attempt for event in events] == list(range(1, len(ends) + 1))


def test_a_meter_counts_calls_and_not_tries() -> None:
    meter = fw.records.Meter()
    with instant():
        fw.call(script(DOWN, "fine"), tool="find", hook=meter)
        with pytest.raises(fw.ToolFailure):
            fw.call(script(DOWN, DOWN, DOWN), tool="find", hook=meter)

    usage = meter.snapshot()["find"]
    assert (usage.calls, usage.failures) == (2, {"TRANSIENT": 1})


def test_an_event_shows_no_argument() -> None:
    log = EventLog()
    fw.call(lambda: "fine", arguments={"password": "hunter2hunter2"}, hook=log)

    assert "hunter2hunter2" not in repr(log.events)
