"""What a wrapped session gives for each way in which a call can end."""

import copy
import logging
import pickle
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from mcp import ClientSession
from mcp.types import CallToolResult

import failwell as fw
from failwell.integrations.mcp import FailedResult
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, Silence, never, rpc
from tests.matrix import sdks

META_KEY = "dev.failwell/failure"
RETRY_KEY = "dev.failwell/retry"

SAFE = {"readOnlyHint": True}
Steps = Callable[[Any], Awaitable[Any]]


def run(server: Scripted, steps: Steps, /, *, session: dict[str, Any] | None = None, **options: Any) -> Any:
    """Connect a session, wrap it, and do something with it."""

    async def main() -> Any:
        async with server.connected(**(session or {})) as connected:
            policy = options.pop("policy", fw.Policy())
            wrapped = fw.wrap(connected, policy, **{"sleep": Naps(), "chance": never, **options})
            try:
                return await steps(wrapped)
            except Exception as exc:
                return exc  # raised outside, so that no group is put around it

    ended = anyio.run(main)
    if isinstance(ended, Exception):
        raise ended
    return ended


def ask(server: Scripted, tool: str, arguments: dict[str, Any] | None = None, /, **options: Any) -> Any:
    async def steps(session: Any) -> Any:
        return await session.call_tool(tool, arguments)

    return run(server, steps, **options)


def text(result: Any) -> str:
    (block,) = result.content
    return block.text


def meta(result: Any) -> dict[str, Any]:
    return result.model_dump(by_alias=True)["_meta"]


def is_error(result: Any) -> bool:
    return result.model_dump(by_alias=True)["isError"]


def test_a_rate_limit_is_waited_out() -> None:
    server, naps = Scripted(), Naps()
    server.tool("send", BUSY, BUSY, FINE)

    result = ask(server, "send", {"to": "ann"}, sleep=naps)

    assert text(result) == "fine"
    assert server.calls == [("send", {"to": "ann"})] * 3
    assert naps == [3, 3]


def test_a_success_is_the_very_object_of_the_sdk() -> None:
    server = Scripted()
    server.tool("send", FINE)
    returned: list[Any] = []

    async def main() -> Any:
        async with server.connected() as session:
            bare = session.call_tool

            async def spy(*args: Any, **kwargs: Any) -> Any:
                returned.append(await bare(*args, **kwargs))
                return returned[-1]

            session.call_tool = spy  # type: ignore[method-assign]
            return await fw.wrap(session).call_tool("send")

    result = anyio.run(main)

    assert result is returned[0]
    assert server.calls == [("send", None)]


def test_a_failure_that_is_left_becomes_one_text_and_keeps_what_the_server_sent() -> None:
    server = Scripted()
    server.tool("find", {**fw.encode(fw.NotFound("Task 7 does not exist.")), "structuredContent": {"error": "x"}})

    result = ask(server, "find")

    assert isinstance(result, CallToolResult)
    assert text(result) == (
        "NOT_FOUND in find: Task 7 does not exist.\n"
        "Next: Do not repeat this call. Look up what exists, or continue without it."
    )
    assert is_error(result)
    assert result.failure.code == "NOT_FOUND"
    assert type(result.raw) is CallToolResult
    assert result.raw.model_dump(by_alias=True)["structuredContent"] == {"error": "x"}
    assert result.model_dump(by_alias=True)["structuredContent"] is None
    assert RETRY_KEY not in meta(result)


def test_what_else_the_server_says_beside_its_result_is_kept() -> None:
    server = Scripted()
    server.tool("find", {"content": [{"type": "text", "text": "not found"}], "isError": True, "_meta": {"trace": 7}})

    result = ask(server, "find")

    assert meta(result)["trace"] == 7
    assert meta(result)[META_KEY]["tool"] == "find"


def test_a_json_rpc_error_becomes_a_failed_result() -> None:
    server = Scripted()
    server.tool("send", rpc(-32602, "Missing required argument: to"))

    result = ask(server, "send")

    assert (result.failure.type, result.failure.tool, server.count("send")) == ("VALIDATION", "send", 1)
    assert text(result).startswith("VALIDATION")
    assert result.raw.error.code == -32602
    assert is_error(result)


def test_how_often_it_was_tried_is_told_and_nobody_else_tries_again() -> None:
    server = Scripted()
    server.tool("send", BUSY)

    result = ask(server, "send", policy=fw.Policy(attempts=2))
    again = fw.read(result)

    assert meta(result)[RETRY_KEY] == {"attempts": 2}
    assert meta(result)[META_KEY]["code"] == "RATE_LIMITED"
    assert server.count("send") == 2
    assert again == result.failure
    assert "It failed 2 times" not in text(result)  # a third time may help: this policy allowed two only


def test_a_timeout_leaves_the_outcome_unknown_and_the_tool_is_not_run_again() -> None:
    server = Scripted()
    server.tool("send", Silence)
    seconds: Any = 0.05

    async def steps(session: Any) -> Any:
        from datetime import timedelta

        limit = timedelta(seconds=seconds) if sdks.HAS_MCP_1 else seconds
        return await session.call_tool("send", {}, read_timeout_seconds=limit)

    result = run(server, steps)

    assert (result.failure.type, result.failure.outcome, server.count("send")) == ("TRANSIENT", "unknown", 1)
    assert text(result).endswith(
        "Next: The call may have taken effect. If this tool changes anything, check before calling it again."
    )


@pytest.mark.parametrize(("hints", "calls"), [(SAFE, 3), ({"idempotentHint": True}, 3), ({}, 1), (None, 1)])
def test_an_unknown_outcome_is_tried_again_only_if_the_tool_may_run_twice(hints: Any, calls: int) -> None:
    server = Scripted()
    server.tool("look", LOST, LOST, FINE, **({} if hints is None else {"annotations": hints}))

    result = ask(server, "look")

    assert server.count("look") == calls
    assert is_error(result) is (calls == 1)


def test_the_tools_are_listed_once_with_all_pages_and_only_after_a_failure_they_matter_for() -> None:
    server = Scripted()
    server.tool("other", fw.encode(fw.NotFound("No.")))
    server.tool("look", LOST, LOST, FINE, LOST, LOST, FINE, page=2, annotations=SAFE)
    listings: list[int] = []

    async def steps(session: Any) -> Any:
        for tool in ("other", "look", "look"):
            await session.call_tool(tool)
            listings.append(server.listings)

    # A success makes the SDK itself list the tools, unless it did so before.
    async def main() -> None:
        async with server.connected() as session:
            session._tool_output_schemas.update(dict.fromkeys(("other", "look")))
            await steps(fw.wrap(session, sleep=Naps()))

    anyio.run(main)

    assert listings == [0, 3, 3]
    assert server.count("look") == 6


def test_a_list_that_cannot_be_fetched_gives_no_hints_and_no_error() -> None:
    server = Scripted()
    server.tool("look", LOST, annotations=SAFE)
    server.listing_error = rpc(-32603, "no list today")

    async def steps(session: Any) -> list[Any]:
        return [await session.call_tool("look", {"n": number}) for number in range(4)]

    results = run(server, steps, shared=None)

    assert [result.failure.code for result in results] == ["TIMEOUT"] * 4
    assert (server.count("look"), server.listings) == (4, 3)


def test_the_list_is_fetched_again_after_the_server_said_that_it_changed() -> None:
    server = Scripted()
    server.tool("look", LOST, LOST, FINE, annotations=SAFE)
    heard = anyio.Event()

    async def handler(message: Any) -> None:
        heard.set()

    async def steps(session: Any) -> Any:
        first = await session.call_tool("look")
        server.answers["look"].append(LOST)
        server.pages[0][0]["annotations"] = {}
        await server.tools_changed()
        await heard.wait()
        return first, await session.call_tool("look")

    first, second = run(server, steps, session={"message_handler": handler})

    assert text(first) == "fine"
    assert isinstance(second, FailedResult)
    assert server.count("look") == 4


@pytest.mark.parametrize(
    ("trust", "calls"),
    [
        (False, 1),
        ((), 1),
        ({"scripted"}, 2),
        ({"somebody"}, 1),
        (lambda server: server == "scripted", 2),
        (lambda server: 1 / 0, 1),
    ],
    ids=["nobody", "none named", "named", "another named", "by function", "by a broken function"],
)
def test_annotations_of_a_server_that_is_not_trusted_count_for_nothing(trust: Any, calls: int) -> None:
    server = Scripted()
    server.tool("delete", LOST, FINE, annotations=SAFE)

    result = ask(server, "delete", trust=trust, server="scripted")

    assert server.count("delete") == calls
    assert is_error(result) is (calls == 1)


def test_the_callers_own_word_counts_without_trust() -> None:
    server = Scripted()
    server.tool("look", LOST, FINE)

    result = ask(server, "look", trust=False, policy=fw.Policy(repeatable=True))

    assert text(result) == "fine"


@pytest.mark.parametrize("said", [31_536_000, 10**12])
def test_a_wait_of_a_year_is_reported_and_not_waited(said: int) -> None:
    server, naps = Scripted(), Naps()
    server.tool("send", {**BUSY, "_meta": {META_KEY: {**BUSY["_meta"][META_KEY], "retry_after": said}}})
    server.tool("other", BUSY, FINE)

    async def steps(session: Any) -> Any:
        return await session.call_tool("send"), await session.call_tool("other")

    result, other = run(server, steps, sleep=naps)

    assert (result.failure.retry_after, server.count("send")) == (said, 1)
    assert text(other) == "fine"
    assert naps == [3]


@pytest.mark.parametrize("said", [-5, "soon", None, float("nan"), True, {"s": 1}, "inf"], ids=repr)
def test_a_wait_that_is_none_counts_as_not_said(said: Any) -> None:
    server, naps = Scripted(), Naps()
    server.tool("send", {**BUSY, "_meta": {META_KEY: {**BUSY["_meta"][META_KEY], "retry_after": said}}}, FINE)

    result = ask(server, "send", sleep=naps)

    assert text(result) == "fine"
    assert naps == [0]


def test_a_result_that_breaks_its_schema_says_that_the_tool_ran() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    server = Scripted()
    server.tool("count", {**FINE, "structuredContent": {"n": "many"}}, outputSchema=schema, annotations=SAFE)

    result = ask(server, "count")

    assert (result.failure.outcome, result.failure.retryable, server.count("count")) == ("executed", False, 1)
    assert type(result.raw) is CallToolResult
    assert text(result.raw) == "fine"


def test_a_tool_that_ran_is_not_run_again_because_the_tools_could_not_be_listed() -> None:
    server = Scripted()
    server.tool("send", FINE)
    server.listing_error = rpc(-32000, "rate limited, retry after 1 second", BUSY["_meta"][META_KEY])

    result = ask(server, "send", policy=fw.Policy(repeatable=True))

    assert text(result) == "fine"
    assert server.count("send") == 1


def test_an_answer_that_is_no_result_leaves_the_outcome_unknown() -> None:
    server = Scripted()
    server.tool("send", {"content": [{"type": "text", "text": 7}]})

    result = ask(server, "send")

    assert (result.failure.type, result.failure.outcome, server.count("send")) == ("INTERNAL", "unknown", 1)


@pytest.mark.parametrize("code", [-32042, -32020])
def test_an_error_of_the_protocol_is_left_to_who_handles_it(code: int) -> None:
    server = Scripted()
    server.tool("send", rpc(code, "open this page first", {"elicitations": []}))

    with pytest.raises(Exception, match="open this page first") as caught:
        ask(server, "send")

    assert caught.value.error.code == code  # type: ignore[attr-defined]
    assert server.count("send") == 1


def test_a_mistake_of_the_program_is_raised_as_ever() -> None:
    server = Scripted()
    server.tool("send", FINE)

    async def steps(session: Any) -> Any:
        return await session.call_tool("send", {}, colour="red")

    with pytest.raises(TypeError, match="colour"):
        run(server, steps)
    assert server.calls == []


def test_cancelling_stops_at_once() -> None:
    server = Scripted()
    server.tool("look", Silence, annotations=SAFE)
    events: list[Any] = []

    async def steps(session: Any) -> Any:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(session.call_tool, "look")
                while not server.calls:
                    await anyio.sleep(0)
                scope.cancel()
        return scope.cancelled_caught

    assert run(server, steps, hook=events.append)
    assert (server.count("look"), events) == (1, [])


def test_a_server_that_goes_away_is_a_failure_with_an_unknown_outcome() -> None:
    server = Scripted()

    async def main() -> Any:
        async with server.connected() as session:
            server.tool("send", lambda params: server.notify.close() or Silence)
            return await fw.wrap(session).call_tool("send")

    result = anyio.run(main)

    assert (result.failure.outcome, server.count("send")) == ("unknown", 1)


def test_wrapping_twice_is_one_layer_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "failwell")
    server = Scripted()
    server.tool("send", BUSY)

    async def steps(session: Any) -> Any:
        again = fw.wrap(session, fw.Policy(attempts=2), sleep=Naps())
        return again is session, await session.call_tool("send")

    is_same, _ = run(server, steps)

    assert is_same
    assert server.count("send") == 2
    assert "was already wrapped and now has the new policy and options" in caplog.text


def test_only_sessions_can_be_wrapped() -> None:
    with pytest.raises(TypeError, match="wrap takes a session or client of the mcp SDK or fastmcp, not dict"):
        fw.wrap({})
    with pytest.raises(TypeError, match="colour"):
        fw.wrap(ClientSession.__new__(ClientSession), colour="red")


def test_a_failed_result_is_a_result_for_everybody() -> None:
    server = Scripted()
    server.tool("find", fw.encode(fw.NotFound("Task 7 does not exist.")))
    result = ask(server, "find")

    plain = CallToolResult.model_validate(result.model_dump(by_alias=True, mode="json"))
    copies = [copy.copy(result), copy.deepcopy(result), result.model_copy(), pickle.loads(pickle.dumps(result))]

    assert type(plain) is CallToolResult
    assert fw.read(plain) == result.failure
    assert all(made.failure == result.failure and made == result for made in copies)
    assert "failure" not in result.model_dump()
    assert "raw" not in result.model_dump_json()


def test_a_warning_in_place_of_a_result_is_left_as_it_is() -> None:
    server = Scripted()
    server.tool("find", fw.encode(fw.tool_error("DEPRECATED", message="Use look.", severity="warning")))

    result = ask(server, "find")

    assert type(result) is CallToolResult
    assert not is_error(result)


def test_a_server_known_for_its_unflagged_errors_is_understood() -> None:
    payload = '{"error": "rate_limited", "message": "Slow down.", "details": {"retry_after": 2}}'
    server, naps = Scripted(), Naps()
    server.tool("send", {"content": [{"type": "text", "text": payload}]}, FINE)

    result = ask(server, "send", dialect="flat", sleep=naps)

    assert text(result) == "fine"
    assert naps == [2]


def test_that_an_earlier_try_may_have_taken_effect_is_said_beside_what_the_last_one_says() -> None:
    server = Scripted()
    server.tool("put", lambda _: server.notify.aclose, annotations={"idempotentHint": True})  # called, then it is gone

    async def steps(session: Any) -> Any:
        await session.list_tools()
        return await session.call_tool("put", {})

    result = run(server, steps)

    assert "This request was not sent." in text(result)
    assert text(result).endswith("Note: this is how the last try ended. An earlier one may have taken effect.")
    assert result.failure.outcome == "unknown"
