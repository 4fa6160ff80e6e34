"""A guarded tool always answers, leaks nothing, and says honestly what may have happened."""

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.server import Limit
from failwell.testing import EventLog, FakeClock

SECRET = "hunter" + "2hunter2"


def seen(result: dict[str, Any]) -> fw.Failure:
    found = fw.read(result)
    assert found is not None
    return found


def called(tool: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    answer = tool(*args, **kwargs)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


def both(body: Callable[[], Any]) -> list[Callable[..., Any]]:
    async def tool() -> Any:
        return body()

    def sync_tool() -> Any:
        return body()

    sync_tool.__name__ = "tool"
    return [tool, sync_tool]


def raising(exc: BaseException) -> Callable[[], Any]:
    def body() -> Any:
        raise exc

    return body


@pytest.mark.parametrize("kind", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("done", fw.success("done")),
        ({"a": 1}, fw.success({"a": 1})),
        (None, fw.success(None)),
        (fw.succeed([1]), fw.success([1])),
        ({"content": [], "isError": False, "_meta": {"k": 1}}, {"content": [], "isError": False, "_meta": {"k": 1}}),
    ],
    ids=str,
)
def test_a_value_is_a_success(kind: int, value: Any, result: dict[str, Any]) -> None:
    tool = fw.guard(both(lambda: value)[kind])

    assert called(tool) == result


def test_a_page_with_content_is_a_value() -> None:
    page = {"content": ["a", "b"], "title": "page"}

    assert fw.guard(lambda: page)() == fw.success(page)


@pytest.mark.parametrize("kind", [0, 1], ids=["async", "sync"])
@pytest.mark.parametrize("dialect", fw.dialects.DIALECTS)
def test_failures_that_are_raised_or_returned_arrive_alike(kind: int, dialect: str) -> None:
    failure = fw.Failure(code="NOT_FOUND", message="Task 7 does not exist.", tool="tool")
    bodies = [raising(fw.NotFound(failure)), lambda: failure, lambda: fw.fail(failure)]

    found = [seen(called(fw.guard(dialect=dialect)(both(body)[kind]))) for body in bodies]

    assert found == [failure] * 3


def test_the_settings_of_a_dialect_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = fw.guard(dialect="envelope", version="9.9")(raising(fw.NotFound("Task 7 does not exist.")))
    monkeypatch.setattr("failwell.dialects._placement.check_settings", None)  # to call it would fail

    assert json.loads(tool()["content"][0]["text"])["version"] == "9.9"


def test_what_encode_returns_is_sent_as_it_is_and_counts_as_a_failure() -> None:
    events: list[fw.records.Event] = []
    encoded = fw.encode(fw.NotFound("Task 7 does not exist."), "xml")

    assert fw.guard(observers=[events.append])(lambda: encoded)() == encoded
    assert [event.kind for event in events] == ["failure"]


@pytest.mark.parametrize("kind", [0, 1], ids=["async", "sync"])
def test_a_crash_reaches_the_agent_as_an_id_and_the_log_as_a_traceback(
    kind: int, caplog: pytest.LogCaptureFixture
) -> None:
    result = called(fw.guard(both(raising(KeyError(SECRET)))[kind]))

    found = seen(result)
    assert (found.code, found.tool, found.retryable, found.outcome) == ("INTERNAL_ERROR", "tool", None, "unknown")
    assert SECRET not in json.dumps(result)
    [record] = caplog.records
    assert found.id
    assert found.id in record.getMessage()
    assert record.exc_info
    assert SECRET in caplog.text
    assert record.levelno == logging.ERROR


@pytest.mark.parametrize(("level", "has_traceback"), [(logging.INFO, False), (logging.DEBUG, True)])
def test_a_failure_that_a_rule_understands_is_logged_in_one_line(
    level: int, has_traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(level, logger="failwell"):
        found = seen(fw.guard(raising(ConnectionRefusedError(111, "Connection refused")))())

    [record] = caplog.records
    assert record.getMessage() == f"tool body failed, id {found.id}: ConnectionRefusedError(111, 'Connection refused')"
    assert (record.levelno, bool(record.exc_info)) == (logging.WARNING, has_traceback)


def test_what_was_raised_on_purpose_is_not_logged_as_a_crash(caplog: pytest.LogCaptureFixture) -> None:
    result = fw.guard(raising(fw.NotFound("m")))()

    assert seen(result).id is None
    assert caplog.records == []


@pytest.mark.parametrize(
    ("how", "outcome"),
    [
        ({}, "unknown"),
        ({"hints": {"readOnlyHint": True}}, "not_executed"),
        ({"hints": fw.Hints(idempotent=True)}, "not_executed"),
        ({"single_effect": True}, "not_executed"),
    ],
    ids=str,
)
def test_the_outcome_of_an_operation_is_that_of_the_call_only_if_nothing_else_can_have_happened(
    how: dict[str, Any], outcome: str
) -> None:
    assert fw.from_exception(ConnectionRefusedError()).outcome == "not_executed"

    result = fw.guard(**how)(raising(ConnectionRefusedError()))()

    assert seen(result).outcome == outcome


def test_an_outcome_that_the_author_declares_stands() -> None:
    assert seen(fw.guard(raising(fw.RateLimited("m")))()).outcome == "not_executed"


@pytest.mark.parametrize(
    "exc", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(1), GeneratorExit()], ids=repr
)
@pytest.mark.parametrize("how", [{}, {"limit": fw.server.Limit(1)}], ids=["plain", "limited"])
def test_cancellation_passes_through(exc: BaseException, how: dict[str, Any]) -> None:
    tool = fw.guard(**how)(raising(exc))

    with pytest.raises(type(exc)):
        tool()


def test_cancelling_a_running_tool_cancels_it() -> None:
    @fw.guard
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    async def cancel() -> None:
        task = asyncio.create_task(slow())  # type: ignore[arg-type]  # still a coroutine function
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


def mail(to: str, subject: str = "") -> str:
    return f"{to}: {subject.upper()}"


@pytest.mark.parametrize("how", [{}, {"observers": [fw.records.Meter()]}], ids=["plain", "full"])
def test_arguments_that_do_not_fit_are_field_problems(how: dict[str, Any]) -> None:
    found = seen(fw.guard(**how)(mail)(subjct="x"))

    assert (found.code, found.outcome) == ("VALIDATION_FAILED", "not_executed")
    assert found.fields == (
        fw.FieldProblem(path="to", kind="missing", required=True),
        fw.FieldProblem(path="subjct", kind="unknown", sent="x", did_you_mean="subject"),
    )


def test_a_type_error_inside_the_body_is_not_blamed_on_the_caller() -> None:
    assert seen(fw.guard(mail)(to="a", subject=5)).code == "INTERNAL_ERROR"

    def wrong_call() -> None:
        mail()  # type: ignore[call-arg]  # that is the point

    assert seen(fw.guard(wrong_call)()).code == "INTERNAL_ERROR"


def test_a_schema_is_checked_before_the_body_runs() -> None:
    ran: list[str] = []

    @fw.guard(schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    def tool(**arguments: Any) -> str:
        ran.append("ran")
        return "ok"

    found = seen(tool(n="five"))

    assert (found.code, found.outcome, [problem.path for problem in found.fields]) == (
        "VALIDATION_FAILED",
        "not_executed",
        ["n"],
    )
    assert ran == []
    assert tool(n=5) == fw.success("ok")


def test_arguments_by_position_are_checked_by_name() -> None:
    @fw.guard(schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    def double(n: int) -> str:
        return str(2 * n)

    assert double(5) == fw.success("10")


def test_an_invalid_schema_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="type"):
        fw.guard(schema={"type": "objekt"})(mail)


def test_a_value_that_cannot_be_sent_is_a_failure_of_the_tool() -> None:
    loop: list[Any] = []
    loop.append(loop)

    assert seen(fw.guard(lambda: loop)()).type == "INTERNAL"


def test_a_clock_that_breaks_does_not_break_the_answer() -> None:
    def broken() -> str:
        raise ZeroDivisionError

    answer = fw.guard(dialect="envelope", clock=broken)(lambda: fw.error("m"))()

    found = fw.read(answer)
    assert found is not None
    assert found.message == "m"


def test_one_call_too_many_is_told_when_to_come_again() -> None:
    limit = fw.server.Limit(1, retry_after=2.5)

    @fw.guard(limit=limit)
    def outer() -> Any:
        return fw.guard(limit=limit)(lambda: "inner")()

    found = seen(outer())

    assert (found.code, found.retry_after, found.outcome) == ("SERVER_BUSY", 2.5, "not_executed")
    assert limit.running == 0
    assert seen(fw.guard(limit=limit)(raising(fw.NotFound("m")))()).code == "NOT_FOUND"
    assert limit.running == 0


def test_a_limit_without_a_place_is_misuse() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fw.server.Limit(0)


@pytest.mark.parametrize("most", ["8", 2.5, True, None])
def test_a_limit_that_is_no_whole_number_is_misuse(most: Any) -> None:
    with pytest.raises(TypeError, match="a limit is a whole number of places, not"):
        fw.server.Limit(most)


def test_a_meter_counts_calls_failures_and_time() -> None:
    meter = fw.records.Meter()
    tool = fw.guard(observers=[meter], tool="t")(lambda fail: raising(fw.NotFound("m"))() if fail else "ok")

    for fail in (False, True, True, False, False):
        tool(fail)

    usage = meter.snapshot()["t"]
    assert (usage.calls, usage.failures, usage.failed) == (5, {"NOT_FOUND": 2}, 2)
    assert usage.seconds >= usage.slowest > 0
    assert meter.reset() == {"t": usage}
    assert meter.snapshot() == {}


def test_a_meter_loses_no_call_of_any_thread() -> None:
    meter = fw.records.Meter()
    tool = fw.guard(observers=[meter], tool="t")(lambda: "ok")
    threads = [threading.Thread(target=lambda: [tool() for _ in range(500)]) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert meter.snapshot()["t"].calls == 4000


def test_an_observer_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: fw.records.Event) -> None:
        raise RuntimeError("broken observer")

    meter = fw.records.Meter()

    assert fw.guard(observers=[broken, meter], tool="t")(lambda: "ok")() == fw.success("ok")
    assert meter.snapshot()["t"].calls == 1
    assert "an observer of tool t failed" in caplog.text


def test_names_and_docs_of_the_tool_stay() -> None:
    assert (fw.guard(mail).__name__, fw.guard(mail).__wrapped__) == ("mail", mail)  # type: ignore[attr-defined]  # set by wraps


def test_misuse_is_told_when_decorating() -> None:
    with pytest.raises(ValueError, match="did you mean 'flat'"):
        fw.guard(dialect="flt")

    def stream() -> Any:
        yield 1

    with pytest.raises(TypeError, match="yields"):
        fw.guard(stream)


@pytest.mark.parametrize(
    ("settings", "words"), [({"dialekt": "xml"}, "dialekt"), ({"version": "2"}, "compact has no setting 'version'")]
)
def test_wrong_settings_are_told_when_decorating(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        fw.guard(**settings)


@pytest.mark.parametrize("wrong", ["xml", classmethod(print)])
def test_a_guard_takes_functions_only(wrong: Any) -> None:
    with pytest.raises(TypeError, match="takes a function"):
        fw.guard(wrong)


def test_a_callable_object_is_a_tool_too() -> None:
    class Tool:
        async def __call__(self, n: int) -> str:
            return f"{n}"

    assert called(fw.guard(Tool()), 5) == fw.success("5")


def test_an_asynchronous_action_of_a_guarded_group_is_awaited() -> None:
    async def slow() -> str:
        return "done"

    group = fw.Group("jobs")
    group.add("slow", slow)

    assert asyncio.run(fw.guard(group)(action="slow")) == fw.success("done")


def test_a_text_written_for_the_caller_is_sent_if_the_guard_says_so() -> None:
    @fw.guard(public_errors=(ValueError, KeyError))
    def book(seat: str) -> str:
        if seat == "12A":
            raise KeyError("Seat 12A is taken.")
        return str(int(seat))

    taken, crashed = book("12A"), book("hunter2")

    assert taken["content"][0]["text"].count("Seat 12A is taken.") == 1
    assert "hunter2" not in str(crashed)


@pytest.mark.parametrize("wrong", [("ValueError",), [int], KeyboardInterrupt])
def test_public_errors_are_exception_classes(wrong: Any) -> None:
    with pytest.raises(TypeError, match="public_errors takes exception classes"):
        fw.guard(public_errors=wrong)(len)


def test_an_error_of_an_sdk_keeps_its_words_in_a_guard_too() -> None:
    from fastmcp.exceptions import ToolError

    @fw.guard
    def pay() -> str:
        raise ExceptionGroup("x", [ToolError("The card was charged. Do not pay again.")])

    failure = fw.read(pay())

    assert failure is not None
    assert failure.message == "The card was charged. Do not pay again."
    assert failure.retryable is False


def test_a_tool_that_takes_too_long_is_cancelled_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    clock = FakeClock()
    monkeypatch.setattr("failwell.retry._clock.monotonic", clock)

    @fw.guard(timeout=0.4)
    async def work() -> str:
        clock.advance(1)
        try:
            await anyio.sleep_forever()
        except BaseException as exc:
            ends.append(type(exc).__name__)
            raise
        return "done"

    failure = fw.read(anyio.run(work))

    assert failure is not None
    assert (failure.code, failure.outcome, failure.tool) == ("TIMEOUT", "unknown", "work")
    assert failure.message.endswith("It was cancelled.")
    assert ends == ["CancelledError"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_tool_that_ends_in_a_few_steps_was_cancelled_however_long_the_machine_takes_for_them(backend: str) -> None:
    @fw.guard(timeout=0.01)
    async def work() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                for _ in range(3):
                    time.sleep(0.03)  # the whole event loop stands still
                    await anyio.lowlevel.checkpoint()
        return "done"

    failure = fw.read(anyio.run(work, backend=backend))

    assert failure is not None
    assert failure.message.endswith("It was cancelled.")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_tool_that_is_quick_enough_is_answered_as_ever(backend: str) -> None:
    @fw.guard(timeout=60)
    async def work(value: str) -> str:
        await anyio.lowlevel.checkpoint()
        return value

    @fw.guard(timeout=0.05)
    async def stuck() -> None:
        await anyio.sleep_forever()

    assert anyio.run(work, "done", backend=backend) == fw.success("done")
    failure = fw.read(anyio.run(stuck, backend=backend))
    assert failure is not None
    assert failure.code == "TIMEOUT"


def test_a_function_that_can_not_be_cancelled_keeps_its_place_until_it_ends() -> None:
    go, ended = threading.Event(), threading.Event()
    places = Limit(1)

    @fw.guard(timeout=1, limit=places)
    def work() -> str:
        go.wait(30)
        ended.set()
        return "done"

    late, busy = fw.read(work()), fw.read(work())
    go.set()
    ended.wait(30)
    while places.running:
        threading.Event().wait(0.001)

    assert late is not None
    assert busy is not None
    assert (late.code, late.outcome) == ("TIMEOUT", "unknown")
    assert late.message.endswith("It can't be cancelled and is still running.")
    assert busy.code == "SERVER_BUSY"
    assert work() == fw.success("done")


def test_a_timeout_that_a_function_raises_is_its_own() -> None:
    @fw.guard(timeout=60)
    def work() -> str:
        raise TimeoutError

    failure = fw.read(work())

    assert failure is not None
    assert "seconds" not in failure.message


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_can_not_pass_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="positive number of seconds"):
        fw.guard(timeout=seconds)


def test_a_cancelled_call_is_told_and_stays_cancelled() -> None:
    events = EventLog()

    async def main() -> bool:
        entered = anyio.Event()

        @fw.guard(observers=[events], timeout=60)
        async def work() -> None:
            entered.set()
            await anyio.sleep_forever()

        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await entered.wait()
            group.cancel_scope.cancel()
        return group.cancel_scope.cancelled_caught

    assert anyio.run(main)
    assert [event.kind for event in events.events] == ["cancelled"]


def test_a_tool_that_exits_is_answered_if_that_is_wanted() -> None:
    def work() -> str:
        sys.exit(3)

    def interrupted() -> str:
        raise KeyboardInterrupt

    failure = fw.read(fw.guard(catch_exit=True)(work)())

    assert failure is not None
    assert (failure.code, failure.outcome) == ("INTERNAL_ERROR", "unknown")
    with pytest.raises(SystemExit):
        fw.guard(work)()
    with pytest.raises(KeyboardInterrupt):
        fw.guard(catch_exit=True)(interrupted)()


def test_the_text_of_an_sdks_error_is_not_overruled_by_a_failure_that_it_was_raised_from() -> None:
    from fastmcp.exceptions import ToolError

    @fw.guard
    def pay() -> str:
        raise ToolError("The card was charged. Do not pay again.") from fw.Unavailable("The mail server is down.")

    failure = fw.read(pay())

    assert failure is not None
    assert (failure.message, failure.retryable) == ("The card was charged. Do not pay again.", False)
    assert fw.decide(failure, {"readOnlyHint": True}).action == "stop"


def test_an_error_of_an_sdk_whose_text_cannot_be_had_is_answered_all_the_same() -> None:
    from fastmcp.exceptions import ToolError

    class Hostile(ToolError):
        def __str__(self) -> str:
            raise RuntimeError("hunter2")

    @fw.guard
    def pay() -> str:
        raise Hostile("x")

    result = pay()

    assert result["isError"]
    assert "hunter2" not in str(result)
