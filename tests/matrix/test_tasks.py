"""Tools that run as background tasks: what a client is told of their failures is structured, and holds no secret."""

import asyncio
import functools
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

import failwell as fw
from failwell.testing import FakeClock, instant
from tests.matrix import sdks, servers, tasks

if not tasks.KINDS:
    pytest.skip("no SDK here runs tasks", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:The experimental tasks API is deprecated")
EVERY = pytest.mark.parametrize("kind", tasks.KINDS)
waiting = pytest.mark.skipif(
    sdks.HAS_MCP_1 or "fastmcp" not in tasks.KINDS, reason="only fastmcp 4 has a client that waits for tasks"
)
CODES: dict[str, str | None] = {
    "crash": "INTERNAL_ERROR",
    "missing": "NOT_FOUND",
    "returned": "NOT_FOUND",
    "refused": "CONNECTION_REFUSED",
    "unparsed": "INTERNAL_ERROR",  # not the caller's input: there is none
    "rpc": None,  # its author's words say what it is, as far as they do
}


@functools.cache
def ended(kind: str, tool: str, *, is_protected: bool = True) -> dict[str, Any]:
    server = tasks.server(kind)
    if is_protected:
        fw.protect(server)
    return asyncio.run(tasks.ended(kind, server, tool))


@EVERY
@pytest.mark.parametrize(("tool", "code"), CODES.items())
def test_a_failed_task_tells_its_failure_and_no_secret(kind: str, tool: str, code: str | None) -> None:
    found = ended(kind, tool)

    failure = fw.read(found.get("result") or found["get"])
    assert failure is not None
    assert (failure.code, failure.outcome) == (code, "rejected" if code == "NOT_FOUND" else "unknown")
    assert '"dev.failwell/failure"' in json.dumps(found)  # the whole of it: nothing need be read from the text
    assert servers.SECRET not in json.dumps(found)


@EVERY
def test_actions_arrive_as_from_a_tool_that_is_no_task(kind: str) -> None:
    found = ended(kind, "missing")

    failure = fw.read(found.get("result") or found["get"])
    assert failure is not None
    assert (failure.message, failure.actions, failure.tool) == (
        "Task 't-9' does not exist.",
        ("list_tasks",),
        "missing",
    )


@EVERY
def test_a_task_ends_as_the_version_of_the_protocol_wants(kind: str) -> None:
    status = {tool: ended(kind, tool)["get"]["status"] for tool in ("crash", "missing", "rpc", "done")}

    raised = "failed" if sdks.HAS_MCP_1 else "completed"
    assert status == {"crash": raised, "missing": raised, "rpc": "failed", "done": "completed"}


@EVERY
def test_the_message_of_the_status_is_the_text_for_the_model(kind: str) -> None:
    found = ended(kind, "missing")["get"]

    said = found["statusMessage"] if sdks.HAS_MCP_1 else found["result"]["content"][0]["text"]
    assert "Task 't-9' does not exist.\nNext: Call list_tasks." in said


@EVERY
def test_a_task_that_succeeds_stays_as_it_was(kind: str) -> None:
    def settled(found: dict[str, Any]) -> Any:
        result = found.get("result") or found["get"]["result"]
        return {**result, "_meta": {key for key in result.get("_meta", {}) if not key.endswith("/related-task")}}

    assert settled(ended(kind, "done")) == settled(ended(kind, "done", is_protected=False))


@EVERY
def test_observers_hear_of_tasks(kind: str) -> None:
    heard: list[fw.records.Event] = []
    server = tasks.server(kind)
    fw.protect(server, observers=[heard.append])

    asyncio.run(tasks.ended(kind, server, "missing"))

    assert [one.failure.code for one in heard if one.failure is not None] == ["NOT_FOUND"]


class OwnBaseException(BaseException):
    """What no `except Exception` catches."""


async def not_a_number() -> float:
    return math.nan


async def lone() -> str:
    return "a" + chr(0xD800)


async def odd() -> dict[str, Any]:
    return {"v": object()}


async def broken() -> int:
    return servers.SECRET  # type: ignore[return-value]  # it breaks its schema


async def own() -> str:
    raise OwnBaseException(servers.SECRET)


async def awaits_cancelled() -> str:
    task = asyncio.ensure_future(asyncio.sleep(60))
    await asyncio.sleep(0)
    task.cancel()
    await task
    return "never"


async def warned() -> Any:
    return fw.success({"v": 1}, warning="The data is a day old.")


WITH_FASTMCP = pytest.mark.skipif("fastmcp" not in tasks.KINDS, reason="no fastmcp that runs tasks")


def ended_fastmcp(function: Any, name: str | None = None, *, is_mounted: bool = False) -> dict[str, Any]:
    server = tasks.server("fastmcp")
    if is_mounted:
        child = sdks.new("fastmcp")
        child.tool(task=True)(function)
        server.mount(child, **{"prefix" if sdks.version("fastmcp") < (3,) else "namespace": "inner"})
    else:
        server.tool(task=True)(function)
    fw.protect(server)
    return asyncio.run(tasks.ended("fastmcp", server, name or function.__name__))


@WITH_FASTMCP
@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        (not_a_number, "executed"),
        (lone, "executed"),
        (odd, "executed"),
        (broken, "executed"),
        (own, "unknown"),
        (awaits_cancelled, "unknown"),
    ],
)
def test_a_task_that_ends_oddly_or_with_what_cannot_be_sent_is_a_failure(function: Any, outcome: str) -> None:
    found = ended_fastmcp(function)

    failure = fw.read(found.get("result") or found["get"])
    assert failure is not None
    assert (failure.code, failure.outcome, failure.tool) == ("INTERNAL_ERROR", outcome, function.__name__)
    assert servers.SECRET not in json.dumps(found)


@WITH_FASTMCP
def test_a_task_that_ends_oddly_leaves_others_running() -> None:
    if sdks.version("fastmcp") < (3,):
        pytest.skip("a server of fastmcp 2 runs tasks for one session only")
    server = tasks.server("fastmcp")
    server.tool(task=True)(own)
    fw.protect(server)

    async def both() -> Any:
        await tasks.ended("fastmcp", server, "own")
        return await tasks.ended("fastmcp", server, "done")

    assert asyncio.run(both())["get"]["status"] == "completed"


@WITH_FASTMCP
@pytest.mark.parametrize(("function", "code"), [(tasks.crash, "INTERNAL_ERROR"), (tasks.missing, "NOT_FOUND")])
def test_tasks_of_a_mounted_server_tell_their_failures_too(function: Any, code: str) -> None:
    async def mounted() -> str:
        return await function()

    found = ended_fastmcp(mounted, "inner_mounted", is_mounted=True)

    failure = fw.read(found.get("result") or found["get"])
    assert failure is not None
    assert (failure.code, failure.tool) == (code, "inner_mounted")
    assert servers.SECRET not in json.dumps(found)


@WITH_FASTMCP
def test_a_task_keeps_the_warning_beside_its_value() -> None:
    found = ended_fastmcp(warned)
    result = found.get("result") or found["get"]["result"]

    assert result["isError"] is False
    assert result["structuredContent"] == {"v": 1}
    assert "The data is a day old." in result["content"][-1]["text"]


@WITH_FASTMCP
def test_what_a_dependency_of_a_task_raises_stays_at_home() -> None:
    from fastmcp.dependencies import Depends

    def broken_dependency() -> str:
        raise KeyError(servers.SECRET)

    async def dependent(value: str = Depends(broken_dependency)) -> str:
        return value

    found = ended_fastmcp(dependent)

    failure = fw.read(found.get("result") or found["get"])
    assert failure is not None
    assert (failure.code, failure.message) == ("INTERNAL_ERROR", "The task failed unexpectedly.")
    assert "broken_dependency" not in json.dumps(found)
    assert servers.SECRET not in json.dumps(found)


@WITH_FASTMCP
def test_wrong_arguments_of_a_task_are_wrong_arguments() -> None:
    if sdks.version("fastmcp") < (3,):
        pytest.skip("fastmcp 2 does not check them")

    async def add(number: int) -> int:
        return number

    server = tasks.server("fastmcp")
    server.tool(task=True)(add)
    heard: list[fw.records.Event] = []
    fw.protect(server, observers=[heard.append])

    async def ask() -> None:
        async with sdks.session("fastmcp", server, tasks.ERA) as connected:
            how = {"task": True} if sdks.HAS_MCP_1 else {"raise_on_error": False}
            await connected.call_tool("add", {"number": "x"}, **how)

    asyncio.run(ask())

    assert [one.failure.code for one in heard if one.failure is not None] == ["VALIDATION_FAILED"]


@pytest.mark.skipif(not sdks.HAS_MCP_1, reason="clients of fastmcp 4 ask for tasks of their own only")
@EVERY
def test_a_task_that_does_not_exist_is_not_found(kind: str) -> None:
    server = tasks.server(kind)
    fw.protect(server)

    async def ask() -> Any:
        async with sdks.session(kind, server) as connected:
            get = connected.experimental.get_task if kind == "lowlevel" else connected.get_task_status
            with pytest.raises(type(sdks.rpc_error(0, ""))) as raised:
                await get("no-such-task")
            return raised.value

    error = asyncio.run(ask())

    failure = fw.read(error)
    assert failure is not None
    assert (error.error.code, failure.code) == (-32602, "NOT_FOUND")


@pytest.mark.skipif(not sdks.HAS_MCP_1 or "fastmcp" not in tasks.KINDS, reason="only fastmcp 2 and 3 have such tasks")
def test_a_prompt_that_runs_as_a_task_tells_no_secret() -> None:
    server = sdks.new("fastmcp")
    server.prompt("crash", task=True)(tasks.crash)
    fw.protect(server)

    async def ask() -> dict[str, Any]:
        async with sdks.session("fastmcp", server) as connected:
            task = await connected.get_prompt("crash", {}, task=True)
            status = await tasks.terminal(connected.get_task_status, task.task_id)
            return {
                "get": tasks.plain(status),
                "result": tasks.plain(await connected.get_task_result(task.task_id)),
            }

    found = asyncio.run(ask())

    assert found["get"]["status"] == "failed"
    failure = fw.read(found["result"])
    assert failure is not None
    assert failure.code == "INTERNAL_ERROR"
    assert servers.SECRET not in json.dumps(found)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeClock]:
    with instant() as clock:
        monkeypatch.setattr("failwell.retry._clock.monotonic", clock)
        yield clock
        fw.uninstall()


@waiting
@pytest.mark.parametrize("how", ["install", "wrap", "both"])
def test_a_task_that_hangs_is_cancelled_and_its_outcome_unknown(how: str, clock: FakeClock) -> None:
    stopped: list[str] = []
    asked: list[str] = []  # once the client waits for the task, and no earlier, time passes

    async def hang() -> str:
        try:
            while not asked:
                await asyncio.sleep(0.01)
            clock.advance(60)
            await asyncio.sleep(3600)
        finally:
            stopped.append("hang")
        return ""

    server = tasks.server("fastmcp")
    server.tool(task=True)(hang)
    policy = fw.Policy(timeout=0.05, tools={"done": fw.Tool(timeout=600)})

    async def main() -> Any:
        if how != "wrap":
            fw.install(policy)
        async with sdks.session("fastmcp", server, "modern") as client:
            if how != "install":
                fw.wrap(client, policy)
            send = client.session.send_request

            async def noting(request: Any, *args: Any, **kwargs: Any) -> Any:
                if request.method == "tasks/get":
                    asked.append(request.method)
                return await send(request, *args, **kwargs)

            client.session.send_request = noting
            with pytest.raises(fw.ToolFailure) as raised:
                await client.call_tool("hang", {})
            async with asyncio.timeout(30):
                while not stopped:
                    await asyncio.sleep(0.01)
            return raised.value, await client.call_tool("done", {})

    raised, done = asyncio.run(main())

    assert (raised.failure.code, raised.failure.outcome) == ("TIMEOUT", "unknown")
    assert raised.failure.message == "No answer arrived within 0.05 seconds."
    assert done.data == "done"


@waiting
def test_a_failure_of_a_task_that_a_client_waits_for_is_read(clock: FakeClock) -> None:
    heard: list[fw.records.Event] = []

    async def main() -> Any:
        fw.install(hook=heard.append)
        async with sdks.session("fastmcp", tasks.server("fastmcp"), "modern") as client:
            await client.call_tool("missing", {})

    with pytest.raises(fw.ToolFailure) as raised:
        asyncio.run(main())

    assert (raised.value.failure.type, raised.value.failure.tool) == ("NOT_FOUND", "missing")
    assert [event.failure.type for event in heard if event.failure is not None] == ["NOT_FOUND"]


@waiting
@pytest.mark.parametrize(("tool", "kind"), [("missing", "failure"), ("done", "success")])
def test_a_call_that_runs_as_a_task_ends_once(tool: str, kind: str, clock: FakeClock) -> None:
    heard: list[fw.records.Event] = []

    async def main() -> Any:
        fw.install(hook=heard.append)
        async with sdks.session("fastmcp", tasks.server("fastmcp"), "modern") as client:
            await client.call_tool(tool, {}, raise_on_error=False)

    asyncio.run(main())

    assert [event.kind for event in heard if event.ends_call] == [kind]


@waiting
def test_tasks_that_fail_suspend_their_tool(clock: FakeClock) -> None:
    shared = fw.retry.Shared(fw.retry.Budget(), fw.retry.Breaker(most=3), fw.retry.Repeats(most=9))

    async def main() -> Any:
        fw.install(fw.Policy(longest=1), shared=shared)
        async with sdks.session("fastmcp", tasks.server("fastmcp"), "modern") as client:
            for _ in range(3):
                await client.call_tool("refused", {}, raise_on_error=False)
            with pytest.raises(fw.ToolFailure, match="suspended"):
                await client.call_tool("refused", {})

    asyncio.run(main())


@waiting
def test_the_deadline_of_a_task_counts_from_the_start_of_its_call(clock: FakeClock) -> None:
    asked: list[str] = []

    async def slow() -> str:
        while not asked:
            await asyncio.sleep(0.01)
        clock.advance(6)
        await asyncio.sleep(3600)
        return ""

    server = tasks.server("fastmcp")
    server.tool(task=True)(slow)

    async def main() -> None:
        fw.install(fw.Policy(deadline=10))
        async with sdks.session("fastmcp", server, "modern") as client:
            send = client.session.send_request

            async def noting(request: Any, *args: Any, **kwargs: Any) -> Any:
                if request.method == "tasks/get":
                    asked.append(request.method)
                answer = await send(request, *args, **kwargs)
                if request.method == "tools/call":
                    clock.advance(6)  # before the server has said that it is a task
                return answer

            client.session.send_request = noting
            async with asyncio.timeout(30):
                await client.call_tool("slow", {})

    with pytest.raises(fw.ToolFailure) as raised:
        asyncio.run(main())

    assert raised.value.failure.message == "No answer arrived within the deadline of 10 seconds."
