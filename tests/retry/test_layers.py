"""Nested layers are one: in tasks, in threads, in groups, for results of SDKs; and it ends when the call ends."""

import asyncio
import concurrent.futures
import dataclasses
import gc
import weakref
from typing import Any

import pytest
import trio
import trio.testing
from mcp.types import CallToolResult, TextContent

import failwell as fw
from failwell.testing import EventLog, instant


class Limited:
    """A function whose server is always busy, in as many ways as functions come."""

    def __init__(self) -> None:
        self.made = 0
        self.failure = fw.RateLimited("m", retry_after=1)

    def __call__(self) -> Any:
        self.made += 1
        raise self.failure

    async def later(self) -> Any:
        return self()


@pytest.fixture
def limited() -> Limited:
    return Limited()


async def in_a_task(limited: Limited) -> Any:
    return await asyncio.create_task(fw.acall(limited.later))


async def in_a_group(limited: Limited) -> Any:
    async with asyncio.TaskGroup() as group:
        group.create_task(fw.acall(limited.later))


async def in_a_thread_with_context(limited: Limited) -> Any:
    return await asyncio.to_thread(fw.call, limited)


async def in_a_foreign_thread(limited: Limited) -> Any:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return await asyncio.wrap_future(pool.submit(fw.call, limited))


async def in_a_foreign_thread_and_a_group(limited: Limited) -> Any:
    try:
        return await in_a_foreign_thread(limited)
    except fw.ToolFailure as exc:
        raise ExceptionGroup("several", [exc]) from None


async def in_a_foreign_thread_and_wrapped(limited: Limited) -> Any:
    try:
        return await in_a_foreign_thread(limited)
    except fw.ToolFailure as exc:
        raise fw.RateLimited("wrapped", retry_after=1) from exc


@pytest.mark.parametrize(
    "inner",
    [
        in_a_task,
        in_a_group,
        in_a_thread_with_context,
        in_a_foreign_thread,
        in_a_foreign_thread_and_a_group,
        in_a_foreign_thread_and_wrapped,
    ],
    ids=lambda inner: inner.__name__,
)
def test_nested_layers_try_as_often_as_one(limited: Limited, inner: Any) -> None:
    with instant(), pytest.raises((fw.RateLimited, ExceptionGroup)):
        asyncio.run(fw.acall(lambda: inner(limited)))

    assert limited.made == 3


def test_the_outermost_layer_decides(limited: Limited) -> None:
    inner, outer = EventLog(), EventLog()

    with instant(), pytest.raises(fw.RateLimited):
        fw.call(
            lambda: fw.call(limited, policy=fw.Policy(attempts=9), hook=inner), policy=fw.Policy(attempts=2), hook=outer
        )

    assert limited.made == 2
    inner.assert_kinds()
    outer.assert_kinds("retry", "failure")


def test_the_outermost_layer_decides_for_tasks_too(limited: Limited) -> None:
    policy = fw.Policy(attempts=9)

    async def main() -> None:
        await fw.acall(
            lambda: asyncio.create_task(fw.acall(limited.later, policy=policy)), policy=fw.Policy(attempts=2)
        )

    with instant(), pytest.raises(fw.RateLimited):
        asyncio.run(main())

    assert limited.made == 2


def test_an_exception_raised_again_later_is_retried_again(limited: Limited) -> None:
    with instant():
        for _ in range(2):
            with pytest.raises(fw.RateLimited):
                fw.call(limited)

    assert limited.made == 6


def test_a_task_that_outlives_the_call_may_retry() -> None:
    limited = Limited()

    async def main() -> None:
        go_on = asyncio.Event()

        async def background() -> Any:
            await go_on.wait()
            return await fw.acall(limited.later)

        async def start() -> Any:
            return asyncio.create_task(background())

        task = await fw.acall(start)
        go_on.set()
        with pytest.raises(fw.RateLimited):
            await task

    with instant():
        asyncio.run(main())

    assert limited.made == 3


def test_calls_side_by_side_do_not_take_each_other_for_nested() -> None:
    ones = [Limited() for _ in range(20)]

    async def nothing() -> None: ...

    async def main() -> None:
        await fw.acall(nothing)  # what it leaves behind, all of them inherit
        await asyncio.gather(*(fw.acall(one.later) for one in ones), return_exceptions=True)

    with instant():
        asyncio.run(main())

    assert [one.made for one in ones] == [3] * 20


@dataclasses.dataclass
class Result:
    """As fastmcp's client gives it."""

    content: list[Any]
    is_error: bool
    meta: dict[str, Any] | None = None


def attempts_in(result: Any) -> int | None:
    """Return what a result says about how often it was tried."""
    meta = result.get("result", result).get("_meta") if isinstance(result, dict) else result.meta
    return (meta or {}).get("dev.failwell/retry", {}).get("attempts")


def sdk_result() -> CallToolResult:
    limited = fw.encode(fw.RateLimited("m", retry_after=1))
    return CallToolResult.model_validate(limited)


@pytest.mark.parametrize(
    "result",
    [
        fw.encode(fw.RateLimited("m")),
        {"jsonrpc": "2.0", "id": 1, "result": fw.encode(fw.RateLimited("m"))},
        sdk_result(),
        CallToolResult.model_validate({"content": [TextContent(type="text", text="rate limited")], "isError": True}),
        Result([], True, {"other": 1}),
    ],
    ids=["dict", "rpc", "mcp", "mcp without meta", "dataclass"],
)
def test_a_result_of_any_kind_says_how_often_it_was_tried(result: Any) -> None:
    before = attempts_in(result)

    with instant():
        last = fw.call(lambda: result, policy=fw.Policy(repeatable=True))

    assert (before, attempts_in(last), attempts_in(result)) == (None, 3, None)
    assert type(last) is type(result)


def test_what_has_no_place_for_it_stays_as_it_is() -> None:
    failure = fw.RateLimited("m").failure

    with instant() as clock:
        assert fw.call(lambda: failure, policy=fw.Policy(repeatable=True)) is failure
    assert clock.slept


def test_a_call_that_gave_up_tells_the_sdk_s_result() -> None:
    with instant():
        last = fw.call(sdk_result)

    assert attempts_in(last) == 3


def test_a_group_with_a_cancellation_in_it_is_not_retried() -> None:
    made: list[int] = []

    def function() -> None:
        made.append(1)
        raise BaseExceptionGroup("m", [fw.RateLimited("m"), asyncio.CancelledError()])

    with instant(), pytest.raises(BaseExceptionGroup):
        fw.call(function)

    assert len(made) == 1


def test_cancellation_while_waiting_stops_at_once(limited: Limited) -> None:
    recorder = EventLog()

    async def main() -> None:
        waits = asyncio.Event()

        async def sleep(_: float) -> None:
            waits.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(fw.acall(limited.later, sleep=sleep, hook=recorder))
        await waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with instant():
        asyncio.run(main())

    assert limited.made == 1
    recorder.assert_kinds("retry")


def test_a_call_inside_a_running_loop_works(limited: Limited) -> None:
    async def main() -> None:
        with pytest.raises(fw.RateLimited):
            fw.call(limited)

    with instant() as clock:
        asyncio.run(main())

    assert (limited.made, len(clock.slept)) == (3, 2)


def test_an_async_function_given_to_call_is_refused_in_one_sentence() -> None:
    async def function() -> None: ...

    with instant(), pytest.raises(TypeError, match="acall"):
        fw.call(function)


@pytest.mark.parametrize("call", [fw.call, lambda made: asyncio.run(fw.acall(made))], ids=["call", "acall"])
def test_a_coroutine_or_a_value_in_place_of_a_function_is_refused_in_one_sentence(call: Any) -> None:
    async def search() -> None: ...

    with instant(), pytest.raises(TypeError, match=r"takes a function, not a coroutine: pass search, not search\(\)"):
        call(search())
    with instant(), pytest.raises(TypeError, match="takes a function, not int"):
        call(5)


def test_what_is_no_policy_is_refused_before_the_call(limited: Limited) -> None:
    wrong: Any = {"attempts": 3}

    for use in (lambda: fw.call(limited, policy=wrong), lambda: fw.client.Caller(wrong)):
        with pytest.raises(TypeError, match="policy must be a Policy, not dict"):
            use()
    assert limited.made == 0


@pytest.mark.parametrize("hints", ["readOnly", 5])
def test_hints_that_make_no_sense_are_told_before_the_call(limited: Limited, hints: Any) -> None:
    with pytest.raises(TypeError, match="annotations"):
        fw.call(limited, hints=hints)

    assert limited.made == 0


def test_trio_is_slept_in_with_its_own_sleep(limited: Limited) -> None:
    clock = trio.testing.MockClock(autojump_threshold=0)
    limited.failure = fw.RateLimited("m", retry_after=30)

    async def main() -> float:
        with pytest.raises(fw.RateLimited):
            await fw.acall(limited.later)
        return trio.current_time()

    began = clock.current_time()

    assert trio.run(main, clock=clock) - began >= 60
    assert limited.made == 3


def test_what_failed_is_let_go_of_without_a_garbage_collection() -> None:
    class Huge(fw.RateLimited):
        pass

    refs: list[weakref.ref[Any]] = []

    def function() -> str:
        if not refs:
            exc = Huge("m")
            refs.append(weakref.ref(exc))
            try:
                raise exc
            finally:
                del exc
        return "ok"

    gc.disable()
    try:
        with instant():
            fw.call(function)
        assert refs[0]() is None
    finally:
        gc.enable()
