"""Calls that hang: cancelled once, through the SDK, and never longer than the deadline."""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.retry._clock import CallClock, DeadlinePassed
from failwell.retry._deadline import run_within
from failwell.retry._time_limit import attempt_clock
from failwell.testing import FakeClock, instant
from tests.client import faulty
from tests.client.scripted import BUSY, FINE, Naps, Scripted, Silence
from tests.client.test_faults import patient
from tests.client.test_wrap import SAFE, run, text
from tests.matrix import sdks
from tests.matrix.test_http import served

SOON = fw.Policy(timeout=0.05)
LATE = 0.06  # more than that
CANCELLED = "notifications/cancelled"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    """Tells calls the time. It stands still unless a test moves it, so no call is late because the machine is busy."""
    with instant() as clock:
        monkeypatch.setattr("failwell.retry._clock.monotonic", clock)
        yield clock


def hanging(clock: FakeClock) -> Callable[[Any], Any]:
    """In place of an answer: time passes, and none comes."""

    def hang(_: Any) -> type[Silence]:
        clock.advance(LATE)
        return Silence

    return hang


def ask(server: Scripted, tool: str, arguments: dict[str, Any] | None = None, /, *, late: int, **options: Any) -> Any:
    """Call a tool, and wait until its server knows that so many calls were cancelled."""

    async def steps(session: Any) -> Any:
        result = await session.call_tool(tool, arguments)
        with anyio.fail_after(30):
            while len(server.noted(CANCELLED)) < late:
                await anyio.sleep(0)
        return result

    return run(server, steps, **options)


def test_a_call_that_hangs_is_cancelled_once_and_its_outcome_is_unknown(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock))

    result = ask(server, "pay", {"cents": 500}, policy=SOON, late=1)

    assert server.calls == [("pay", {"cents": 500})]
    assert [note["requestId"] for note in server.noted(CANCELLED)] == server.request_ids
    assert (result.failure.code, result.failure.outcome) == ("TIMEOUT", "unknown")
    assert result.failure.message == "No answer arrived within 0.05 seconds."
    assert fw.decide(result.failure).action == "verify"
    assert "may have taken effect" in text(result)


def test_a_read_only_tool_that_hangs_is_called_again(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("search", hanging(clock), FINE, annotations=SAFE)

    result = ask(server, "search", policy=SOON, late=1)

    assert text(result) == "fine"
    assert server.count("search") == 2
    assert len(server.noted(CANCELLED)) == 1


def test_a_read_only_tool_that_keeps_hanging_had_no_effect(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("search", hanging(clock), annotations=SAFE)

    result = ask(server, "search", policy=fw.Policy(timeout=0.05, attempts=2), late=2)

    assert server.count("search") == len(server.noted(CANCELLED)) == 2
    assert result.failure.outcome == "not_executed"


def test_annotations_of_a_server_that_is_not_trusted_do_not_make_a_hanging_call_safe(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("search", hanging(clock), annotations=SAFE)

    result = ask(server, "search", policy=SOON, trust=False, late=1)

    assert server.count("search") == 1
    assert result.failure.outcome == "unknown"


def test_all_tries_together_end_by_the_deadline(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("search", hanging(clock), annotations=SAFE)

    result = ask(server, "search", policy=fw.Policy(timeout=0.05, deadline=3.5 * LATE, attempts=1000), late=4)

    assert server.count("search") == len(server.noted(CANCELLED)) == 4
    assert result.failure.code == "TIMEOUT"


def test_a_deadline_alone_ends_a_call_that_hangs(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock))

    result = ask(server, "pay", policy=fw.Policy(deadline=0.05), late=1)

    assert result.failure.message == "No answer arrived within the deadline of 0.05 seconds."
    assert len(server.noted(CANCELLED)) == 1


def test_a_list_of_tools_that_hangs_too_does_not_prolong_the_call(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock))
    server.listing_error = hanging(clock)

    result = ask(server, "pay", policy=fw.Policy(timeout=0.05, deadline=1), late=1)

    assert server.listings == 1
    assert clock() == 2 * LATE
    assert (result.failure.code, result.failure.outcome) == ("TIMEOUT", "unknown")


def test_an_answer_is_passed_on_although_the_tools_cannot_be_listed_in_time_to_check_it(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", FINE)
    server.listing_error = hanging(clock)

    result = ask(server, "pay", policy=SOON, late=0)

    assert text(result) == "fine"
    assert (server.count("pay"), server.listings) == (1, 1)


def test_no_try_begins_after_the_deadline(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("search", BUSY, FINE)

    async def oversleep(seconds: float) -> None:
        clock.advance(seconds + 10)

    result = ask(server, "search", policy=fw.Policy(deadline=5), sleep=oversleep, late=0)

    assert server.count("search") == 1
    assert result.failure.code == "RATE_LIMITED"


def progress(server: Scripted, done: float) -> dict[str, Any]:
    params = {"progressToken": server.request_ids[-1], "progress": done}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def test_progress_gives_a_try_its_time_again_and_reaches_the_application(clock: FakeClock) -> None:
    server = Scripted()
    heard: list[float] = []

    async def report_then_hang() -> None:
        for done in (1, 2):
            clock.advance(0.03)
            await server.send(progress(server, done))
            while done not in heard:
                await anyio.sleep(0)
        clock.advance(LATE)

    async def note(done: float, _: float | None, __: str | None) -> None:
        heard.append(done)

    async def steps(session: Any) -> Any:
        return await session.call_tool("pay", {}, progress_callback=note)

    server.tool("pay", lambda _: report_then_hang)
    result = run(server, steps, policy=SOON)

    assert heard == [1, 2]
    assert result.failure.message == "No answer arrived within 0.05 seconds of the last progress."


def test_progress_never_moves_the_deadline(clock: FakeClock) -> None:
    server = Scripted()

    async def report_for_long() -> None:
        for done in range(10_000):
            clock.advance(0.01)
            await server.send(progress(server, done))
            await anyio.sleep(0)
        await server.send({"jsonrpc": "2.0", "id": server.request_ids[-1], "result": FINE})

    server.tool("pay", lambda _: report_for_long)
    result = ask(server, "pay", policy=fw.Policy(timeout=30, deadline=0.05), late=1)

    assert result.failure.message == "No answer arrived within the deadline of 0.05 seconds."


async def call_inside(session: Any, tool: str, policy: fw.Policy) -> Any:
    """Call a tool of a wrapped session inside another retried call, as the adapter of a framework does."""
    ended = await fw.client.Caller(policy, sleep=Naps()).run(lambda sent: session.call_tool(tool, sent), tool=tool)
    return ended.result


async def call_directly(session: Any, tool: str, _: fw.Policy) -> Any:
    return await session.call_tool(tool, {})


@pytest.mark.parametrize("called", [call_directly, call_inside], ids=["wrapped", "inside another call"])
def test_time_that_the_user_takes_to_answer_does_not_count(called: Any, clock: FakeClock) -> None:
    server = Scripted()
    policy = fw.Policy(timeout=60, deadline=60)
    question = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {}}}

    async def ask_the_user() -> None:
        await server.send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": question})
        while not any(note.get("id") == "q" for note in server.notes):
            await anyio.sleep(0)
        await server.send({"jsonrpc": "2.0", "id": server.request_ids[-1], "result": BUSY})

    async def answer_late(_: Any, __: Any) -> Any:
        from mcp.types import ElicitResult

        clock.advance(100)
        return ElicitResult(action="decline")

    async def steps(session: Any) -> Any:
        return await called(session, "book", policy)

    server.tool("book", lambda _: ask_the_user, FINE)
    result = run(server, steps, policy=policy, session={"elicitation_callback": answer_late})

    assert text(result) == "fine"


def test_a_call_further_out_gets_its_time_again_with_progress_and_waits_for_the_user_too() -> None:
    outer = CallClock(60)
    inner = CallClock(60, outer=outer)

    inner.restart()

    assert outer.is_restarted
    with inner.stopped():
        assert outer.left() == math.inf
    assert inner.left() <= 60 < outer.left() <= 61  # the outer one gives it a moment to cancel


@pytest.mark.parametrize("inner", [fw.Policy(timeout=60), fw.Policy(), SOON], ids=["longer", "none", "the same"])
def test_a_call_inside_another_one_that_hangs_is_cancelled_once_and_says_whose_time_it_was(
    inner: fw.Policy, clock: FakeClock
) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock))

    async def steps(session: Any) -> Any:
        ended = await fw.client.Caller(SOON, sleep=Naps()).run(lambda sent: session.call_tool("pay", sent), tool="pay")
        with anyio.fail_after(30):
            while not server.noted(CANCELLED):
                await anyio.sleep(0)
        return ended

    ended = run(server, steps, policy=inner)

    assert ended.failure.message == "No answer arrived within 0.05 seconds."
    assert server.count("pay") == len(server.noted(CANCELLED)) == 1


def test_the_time_of_a_call_inside_another_one_is_over_before_that_of_the_other(clock: FakeClock) -> None:
    outer = CallClock(60)
    inner = CallClock(600, outer=outer)

    clock.advance(60)

    assert inner.left() <= 0 < outer.left()
    clock.advance(1)
    assert outer.left() <= 0


def test_a_question_that_another_thread_asked_holds_up_no_deadline_for_ever() -> None:
    clock = CallClock(0.2)

    def ask_from_a_thread() -> None:
        with clock.stopped():
            time.sleep(0.4)  # in real time: it is about an event loop that sleeps

    async def main() -> None:
        threading.Thread(target=ask_from_a_thread, daemon=True).start()
        with anyio.fail_after(30), pytest.raises(DeadlinePassed):
            await run_within(clock, anyio.sleep_forever, current=attempt_clock)

    anyio.run(main)


def test_a_late_answer_to_a_cancelled_call_changes_nothing(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock), FINE)
    late = {"content": [{"type": "text", "text": "too late"}], "isError": False}

    async def steps(session: Any) -> Any:
        first = await session.call_tool("pay", {"order": 1})
        await server.send({"jsonrpc": "2.0", "id": server.request_ids[0], "result": late})
        return first, await session.call_tool("pay", {"order": 2})

    first, second = run(server, steps, policy=SOON)

    assert first.failure.code == "TIMEOUT"
    assert text(second) == "fine"


@pytest.mark.parametrize("policy", [fw.Policy(), fw.Policy(timeout=60)], ids=["without a limit", "with one"])
def test_a_call_that_the_application_cancels_stays_cancelled_and_the_server_is_told_once(policy: fw.Policy) -> None:
    server = Scripted()
    server.tool("pay", Silence)

    async def steps(session: Any) -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(session.call_tool, "pay", {})
                while not server.calls:
                    await anyio.sleep(0)
                scope.cancel()
        return scope.cancelled_caught

    assert run(server, steps, policy=policy)
    assert server.count("pay") == 1
    assert len(server.noted(CANCELLED)) == 1


class Wire:
    """An ASGI application that notes what is posted to another, and which posts the client hung up on."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.posted: list[str] = []
        self.hung_up: list[str] = []

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Any) -> None:
        method = ""

        async def listen() -> Any:
            nonlocal method
            event = await receive()
            if scope.get("method") == "POST" and event.get("body"):
                method = json.loads(event["body"]).get("method", "")
                self.note(method)
            if event["type"] == "http.disconnect":
                self.hung_up.append(method)
            return event

        await self.app(scope, listen, send)

    def note(self, method: str) -> None:
        self.posted.append(method)


@pytest.mark.parametrize("era", sdks.ERAS)
def test_over_http_a_call_is_cancelled_as_the_protocol_of_its_era_says(era: str, clock: FakeClock) -> None:
    server = sdks.new("mcp", "slow")
    stopped: list[str] = []

    async def hang() -> str:
        clock.advance(LATE)
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append("hang")
        return ""

    async def greet() -> str:
        return "hello"

    for tool in (hang, greet):
        server.tool()(tool)
    wire = Wire(server.streamable_http_app())

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url, era) as connected:
            session = fw.wrap(getattr(connected, "session", connected), SOON)
            result = await session.call_tool("hang", {})
            with anyio.fail_after(30):
                while not stopped:
                    await anyio.sleep(0.01)
            return result, await session.call_tool("greet", {})

    with served(wire) as url:
        result, next_result = anyio.run(main, url)

    assert (result.failure.code, result.failure.outcome) == ("TIMEOUT", "unknown")
    assert text(next_result) == "hello"
    assert wire.posted.count(CANCELLED) == (0 if era == "modern" else 1)
    assert wire.posted.count("tools/call") == 2
    if era == "modern":
        assert "tools/call" in wire.hung_up


def test_calls_that_hang_over_http_do_not_use_up_the_connections_of_later_ones() -> None:
    at_once, times = 20, 7  # an HTTP client of the SDK has a hundred connections
    policy = fw.Policy(timeout=0.5, tools={"search": fw.Tool(timeout=45)})

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url) as connected:
            session = fw.wrap(getattr(connected, "session", connected), policy, shared=patient())
            for _ in range(times):
                async with anyio.create_task_group() as group:
                    for number in range(at_once):
                        group.start_soon(session.call_tool, "pay", {"number": number, "fault": "hang before"})
            return await session.call_tool("search", {"number": at_once, "fault": "none"})

    with served(faulty.application(faulty.FaultyServer())) as url:
        assert text(anyio.run(main, url)) == "done"


@pytest.mark.parametrize("era", sdks.ERAS)
def test_a_call_is_answered_although_more_calls_hang_at_once_than_there_are_connections(era: str) -> None:
    policy = fw.Policy(timeout=1, tools={"search": fw.Tool(timeout=25)})

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url, era) as connected:
            session = fw.wrap(getattr(connected, "session", connected), policy, shared=patient())
            async with anyio.create_task_group() as group:
                for number in range(150):  # an HTTP client of the SDK has a hundred connections
                    group.start_soon(session.call_tool, "pay", {"number": number, "fault": "hang before"})
                return await session.call_tool("search", {"number": 150, "fault": "none"})

    with served(faulty.application(faulty.FaultyServer())) as url:
        assert text(anyio.run(main, url)) == "done"


class Leaving(Wire):
    """Begins sessions, and lets the client leave one only when it has hung up on the call that hangs.

    Time passes when that call has come.
    """

    def __init__(self, app: Any, clock: FakeClock) -> None:
        super().__init__(app)
        self.clock = clock

    def note(self, method: str) -> None:
        super().note(method)
        if method == "tools/call":
            self.clock.advance(LATE)

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Any) -> None:
        async def begin(event: Any) -> None:
            if event["type"] == "http.response.start":
                event = {**event, "headers": [*event["headers"], (b"mcp-session-id", b"1")]}
            await send(event)

        if scope.get("method") == "DELETE":
            with anyio.fail_after(30):
                while "tools/call" not in self.hung_up:
                    await anyio.sleep(0.01)
        await super().__call__(scope, receive, begin)


def test_a_session_that_is_left_while_a_cancelled_call_still_hangs_ends_in_peace(clock: FakeClock) -> None:
    wire = Leaving(faulty.application(faulty.FaultyServer()), clock)

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url) as connected:
            session = fw.wrap(getattr(connected, "session", connected), SOON)
            return await session.call_tool("pay", {"number": 1, "fault": "hang"})

    with served(wire) as url:
        result = anyio.run(main, url)

    assert result.failure.code == "TIMEOUT"
    assert "tools/call" in wire.hung_up


def test_an_application_that_cancels_a_call_and_waits_for_it_is_answered() -> None:
    """As sessions of version 1 leave it to the application to tell the server."""

    async def main(url: str) -> Any:
        async with sdks.session("mcp", url) as connected:
            session = fw.wrap(getattr(connected, "session", connected), fw.Policy(timeout=45))
            results: list[Any] = []

            async def call() -> None:
                results.append(await session.call_tool("pay", {"number": 1, "fault": "hang"}))

            async with anyio.create_task_group() as group:
                group.start_soon(call)
                with anyio.fail_after(30):
                    while not server.effects:
                        await anyio.sleep(0.01)
                await sdks.cancel(session, server.last_id)
            return results[0]

    server = faulty.FaultyServer()
    with served(faulty.application(server)) as url:
        result = anyio.run(main, url)

    assert (result.failure.code, result.failure.outcome) == ("TIMEOUT", "unknown")
    assert result.failure.message == "The MCP server did not answer a cancelled request."


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_function_that_hangs_is_cancelled_and_raises(backend: str, clock: FakeClock) -> None:
    pytest.importorskip(backend, reason="the environments of single SDKs have no trio; the others have")
    stopped: list[bool] = []

    async def hang() -> None:
        clock.advance(LATE)
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(True)

    async def main() -> None:
        await fw.acall(hang, policy=SOON)

    with pytest.raises(fw.TimedOut) as raised:
        anyio.run(main, backend=backend)

    assert raised.value.failure.outcome == "unknown"
    assert stopped == [True]


def test_a_function_that_nothing_can_stop_is_refused_a_timeout() -> None:
    with pytest.raises(ValueError, match="acall"):
        fw.call(lambda: "never called", policy=SOON)


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True, "5"])
def test_a_timeout_is_a_number_of_seconds(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="timeout must be a number of seconds"):
        fw.Policy(timeout=wrong)


def test_a_tool_can_have_a_timeout_of_its_own(clock: FakeClock) -> None:
    server = Scripted()
    server.tool("pay", hanging(clock))

    result = ask(server, "pay", policy=fw.Policy(timeout=600, tools={"p*": fw.Tool(timeout=0.05)}), late=1)

    assert result.failure.message == "No answer arrived within 0.05 seconds."
