"""Tools that take too long, on every SDK: the answer comes in time, and nothing runs twice."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.server import MemoryClaims
from failwell.testing import EventLog, FakeClock
from tests.matrix import sdks

SHORT = 0.4
LONG = 60.0
KEY = "dev.failwell/idempotency_key"
META = {KEY: "a-key-of-16-char"}
HIGH = tuple(kind for kind in sdks.KINDS if kind != "lowlevel")
ALL = pytest.mark.parametrize("kind", sdks.KINDS)
HIGH_LEVEL = pytest.mark.parametrize("kind", HIGH)


clock = FakeClock()


@pytest.fixture(autouse=True)
def _only_hanging_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no call be late because the machine is busy."""
    monkeypatch.setattr("failwell.retry._clock.monotonic", clock)


async def hang() -> None:
    clock.advance(2 * SHORT)
    await anyio.sleep_forever()


def server(kind: str, tool: Callable[..., Any], **settings: Any) -> Any:
    """A protected server with one tool, `work`."""
    if kind != "lowlevel":
        made = sdks.new(kind)
        made.tool(name="work")(tool)
        fw.protect(made, **settings)
        return made
    from mcp.types import ListToolsResult, TextContent, Tool

    listed = [Tool(name="work", inputSchema={"type": "object", "properties": {}})]
    if sdks.HAS_MCP_1:
        made = sdks.new("lowlevel")

        @made.call_tool()
        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            return [TextContent(type="text", text=await tool())]

        @made.list_tools()
        async def list_tools() -> list[Tool]:
            return listed

    else:

        async def call(ctx: Any, params: Any) -> Any:
            return sdks.result({"content": [{"type": "text", "text": await tool()}]})

        async def all_tools(ctx: Any, params: Any) -> Any:
            return ListToolsResult(tools=listed)

        made = sdks.new("lowlevel", on_call_tool=call, on_list_tools=all_tools)
    fw.protect(made, **settings)
    return made


def ask(kind: str, made: Any, *metas: dict[str, Any] | None) -> list[dict[str, Any]]:
    """What a client gets for one call of `work` after another."""

    async def run() -> list[dict[str, Any]]:
        async with sdks.client(kind, made) as call:
            return [await call("work", **({} if meta is None else {"meta": meta})) for meta in metas]

    return asyncio.run(run())


def failure(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None, result
    return found


@ALL
def test_a_tool_that_takes_too_long_is_cancelled(kind: str) -> None:
    ends: list[str] = []

    async def work() -> str:
        try:
            await hang()
        except BaseException as exc:
            ends.append(type(exc).__name__)
            raise
        return "done"

    events = EventLog()
    (result,) = ask(kind, server(kind, work, timeout=SHORT, observers=[events]), None)

    found = failure(result)
    assert (found.code, found.outcome, found.tool) == ("TIMEOUT", "unknown", "work")
    assert found.message == f"The tool did not finish within {SHORT:g} seconds. It was cancelled."
    assert fw.decide(found).action == "verify"
    assert ends == ["CancelledError"]
    assert [(event.kind, event.failure and event.failure.code) for event in events.events] == [("failure", "TIMEOUT")]


@ALL
def test_a_tool_that_is_quick_enough_is_not_touched(kind: str) -> None:
    async def work() -> str:
        return "done"

    bare, timed = (ask(kind, server(kind, work, timeout=limit), None) for limit in (None, LONG))

    assert timed == bare


@ALL
@pytest.mark.parametrize("limits", [{"work": SHORT}, {"*": SHORT}, {"*": LONG, "work": SHORT}])
def test_tools_can_have_limits_of_their_own(kind: str, limits: dict[str, float]) -> None:
    async def work() -> str:
        await hang()
        return "done"

    (result,) = ask(kind, server(kind, work, timeout=limits), None)

    assert failure(result).code == "TIMEOUT"


@ALL
def test_a_tool_can_be_exempt(kind: str) -> None:
    async def work() -> str:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        return "done"

    (result,) = ask(kind, server(kind, work, timeout={"*": 1e-9, "work": None}), None)

    assert result["isError"] is False


@ALL
@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_a_tool_that_makes_something_else_of_its_cancellation_timed_out(kind: str, ending: str) -> None:
    async def work() -> str:
        try:
            await hang()
        except BaseException:
            if ending == "raises":
                raise RuntimeError("interrupted") from None
            return "interrupted"
        return "done"

    events = EventLog()
    (result,) = ask(kind, server(kind, work, timeout=SHORT, observers=[events]), None)

    assert (failure(result).code, failure(result).outcome) == ("TIMEOUT", "unknown")
    assert [event.kind for event in events.events] == ["failure"]


@ALL
def test_a_tool_that_swallows_its_cancellation_is_not_waited_for(kind: str) -> None:
    stop = threading.Event()

    async def work() -> str:
        clock.advance(2 * SHORT)
        while not stop.is_set():
            try:
                await anyio.sleep(0.01)
            except BaseException:
                continue
        return "done"

    made = server(kind, work, timeout=SHORT)

    async def run() -> Any:
        async with sdks.client(kind, made) as call:
            try:
                return await call("work")
            finally:
                stop.set()

    found = failure(asyncio.run(run()))

    assert (found.code, found.outcome) == ("TIMEOUT", "unknown")
    assert found.message.endswith("It can't be cancelled and is still running.")


@HIGH_LEVEL
def test_a_function_in_a_thread_is_left_to_itself_and_keeps_its_key(kind: str) -> None:
    go, ended, runs = threading.Event(), threading.Event(), []

    @fw.idempotent(MemoryClaims())
    def work() -> str:
        runs.append(threading.current_thread())
        clock.advance(2 * SHORT)
        go.wait(30)
        ended.set()
        return "done"

    made = server(kind, work, timeout=SHORT)

    async def run() -> list[Any]:
        async with sdks.client(kind, made) as call:
            late = await call("work", meta=META)
            busy = await call("work", meta=META)
            go.set()
            await anyio.to_thread.run_sync(ended.wait)
            while (again := await call("work", meta=META))["isError"]:
                assert failure(again).code == "IDEMPOTENCY_IN_PROGRESS"
            return [late, busy, again]

    late, busy, again = asyncio.run(run())

    assert failure(late).code == "TIMEOUT"
    assert failure(late).message.endswith("It can't be cancelled and is still running.")
    assert failure(busy).code == "IDEMPOTENCY_IN_PROGRESS"
    assert again["content"][0]["text"] == "done"
    assert again["_meta"]["dev.failwell/replayed"] is True
    assert len(runs) == 1
    assert runs[0] is not threading.main_thread()


@HIGH_LEVEL
def test_the_key_of_a_cancelled_tool_stays_unknown(kind: str) -> None:
    runs: list[int] = []

    @fw.idempotent(MemoryClaims())
    async def work() -> str:
        runs.append(1)
        await hang()
        return "done"

    first, again = ask(kind, server(kind, work, timeout=SHORT), META, META)

    assert failure(first).code == "TIMEOUT"
    assert failure(again).code == "OUTCOME_UNKNOWN"
    assert len(runs) == 1


@HIGH_LEVEL
def test_a_read_only_tool_that_timed_out_may_be_called_again(kind: str) -> None:
    async def work() -> str:
        await hang()
        return "done"

    made = sdks.new(kind)
    made.tool(name="work", annotations=sdks.annotations(readOnlyHint=True))(work)
    fw.protect(made, timeout=SHORT)

    (result,) = ask(kind, made, None)

    assert "repeat" in failure(result).suggestion
    assert "Do not repeat" not in failure(result).suggestion


def context_of(kind: str) -> Any:
    if kind == "fastmcp":
        from fastmcp import Context
    elif sdks.HAS_MCP_1:
        from mcp.server.fastmcp import Context
    else:
        from mcp.server.mcpserver import Context
    return Context


@HIGH_LEVEL
@pytest.mark.filterwarnings("ignore:The sampling capability is deprecated")
@pytest.mark.parametrize("question", ["elicit", "create_message"])
def test_time_spent_waiting_for_the_user_does_not_count(kind: str, question: str) -> None:
    from mcp.types import CreateMessageResult, ElicitResult, SamplingMessage, TextContent

    text = TextContent(type="text", text="Really?")

    async def work(ctx: Any) -> str:
        if question == "elicit":
            await ctx.session.elicit("Really?", {"type": "object", "properties": {}})
        else:
            await ctx.session.create_message([SamplingMessage(role="user", content=text)], max_tokens=5)
        return "done"

    async def stuck() -> str:
        await hang()
        return "done"

    work.__annotations__["ctx"] = context_of(kind)
    made = server(kind, work, timeout={"*": SHORT})
    made.tool()(stuck)

    async def run() -> Any:
        asked, answer, found = anyio.Event(), anyio.Event(), []

        async def user(*_: Any) -> None:
            asked.set()
            await answer.wait()

        async def on_elicit(*_: Any) -> Any:
            await user()
            return ElicitResult(action="decline")

        async def on_sample(*_: Any) -> Any:
            await user()
            return CreateMessageResult(role="assistant", content=text, model="m")

        async with sdks.asked_session(kind, made, on_elicit, on_sample) as session, anyio.create_task_group() as group:
            send = session.call_tool_mcp if kind == "fastmcp" else session.call_tool

            async def ask_user() -> None:
                found.append(sdks.plain(await send("work", {})))

            group.start_soon(ask_user)
            await asked.wait()
            with anyio.fail_after(LONG):
                async with sdks.client(kind, made) as call:
                    late = await call("stuck")  # as long as that takes, the user thinks
            answer.set()
        return late, found[0]

    late, answered = asyncio.run(run())

    assert failure(late).code == "TIMEOUT"
    assert answered["isError"] is False, answered


@HIGH_LEVEL
def test_a_call_that_the_client_cancels_is_cancelled_and_told(kind: str) -> None:
    ends: list[str] = []
    events = EventLog()

    async def run(limit: float | None) -> None:
        entered, ended = anyio.Event(), anyio.Event()

        async def work() -> str:
            entered.set()
            try:
                await anyio.sleep_forever()
            except BaseException as exc:
                ends.append(type(exc).__name__)
                ended.set()
                raise
            return "done"

        made = server(kind, work, timeout=limit, observers=[events])
        async with anyio.create_task_group() as group:

            async def connect() -> None:
                # The client of fastmcp 2 and 3 leaves the server running.
                async with sdks.client("mcp" if sdks.HAS_MCP_1 else kind, made) as call:
                    await call("work")

            group.start_soon(connect)
            await entered.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(30):
            await ended.wait()
            while len(events.events) < len(ends):
                await anyio.lowlevel.checkpoint()

    for limit in (None, LONG):
        asyncio.run(run(limit))

    assert ends == ["CancelledError"] * 2
    assert [event.kind for event in events.events] == ["cancelled"] * 2


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), {"work": 0}])
def test_a_limit_that_can_not_pass_is_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="positive number of seconds"):
        fw.protect(sdks.new(sdks.KINDS[0]), timeout=limit)


@pytest.mark.parametrize("limit", ["5", True, {"work": "5"}])
def test_a_limit_that_is_no_number_is_refused(limit: Any) -> None:
    with pytest.raises(TypeError, match="number of seconds"):
        fw.protect(sdks.new(sdks.KINDS[0]), timeout=limit)
