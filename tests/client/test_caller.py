"""`Caller`, which every adapter stands on: any result, any exception, no SDK."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

import failwell as fw
from failwell.client import CallResult, ToolDescription, ToolListCache, ToolPage
from failwell.client._tool_list import ToolLookup
from failwell.reading.raw_result import parse_result
from failwell.reading.reader import explain
from failwell.retry import Breaker, Budget, Event, Repeats, Shared
from failwell.retry._layers import take_inner_failure
from tests.client.scripted import BUSY, FINE, LOST, Naps, Scripted, never

SAFE = {"name": "look", "annotations": {"readOnlyHint": True}}


class Tool:
    """Gives or raises one after another, the last for good."""

    def __init__(self, *ends: Any) -> None:
        self.ends = ends
        self.sent: list[dict[str, Any]] = []

    async def __call__(self, arguments: dict[str, Any]) -> Any:
        self.sent.append(arguments)
        end = self.ends[min(len(self.sent), len(self.ends)) - 1]
        if isinstance(end, BaseException):
            raise end
        return end


def run(tool: Tool, *, description: Any = None, policy: fw.Policy | None = None, **options: Any) -> CallResult:
    caller = fw.client.Caller(policy or fw.Policy(), **{"sleep": Naps(), "chance": never, **options})
    return asyncio.run(caller.run(tool, server="s", tool="look", arguments={"a": 1}, description=description))


def test_a_success_is_handed_on_as_it_is() -> None:
    value = object()

    answer = run(Tool(value))

    assert answer == CallResult(result=value)
    assert answer.result is value
    assert (answer.text, answer.model_text) == ("", "")


def test_an_exception_that_may_pass_is_tried_again() -> None:
    tool = Tool(ConnectionRefusedError(), FINE)

    answer = run(tool)

    assert (answer.result, answer.attempts, answer.exception) == (FINE, 2, None)


def test_what_is_left_is_told_with_everything() -> None:
    broken = ConnectionRefusedError()

    answer = run(Tool(broken), policy=fw.Policy(attempts=2))

    assert answer.exception is broken
    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.tool, answer.attempts) == ("CONNECTION_REFUSED", "look", 2)
    assert answer.model_text == answer.text
    assert answer.text.startswith("TRANSIENT, CONNECTION_REFUSED in look: ")


def test_the_outcome_is_the_gravest_of_all_tries() -> None:
    events: list[Event] = []
    tool = Tool(fw.TimedOut("No answer."), ConnectionRefusedError())

    answer = run(
        tool, description={"annotations": {"idempotentHint": True}}, policy=fw.Policy(attempts=2), hook=events.append
    )

    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.outcome, answer.attempts) == ("CONNECTION_REFUSED", "unknown", 2)
    assert [event.failure.outcome for event in events if event.failure] == ["unknown", "unknown"]
    assert events[-1].failure == answer.failure


def test_an_effect_that_an_earlier_try_may_have_had_is_told_though_the_breaker_ended_the_call() -> None:
    shared = Shared(Budget(), Breaker(most=2, pause=30), Repeats())

    class Sleep(Naps):
        async def __call__(self, seconds: float) -> None:
            await super().__call__(seconds)
            if len(self) == 2:
                for _ in range(2):
                    shared.breaker.failed(("s", "look"), fw.Unavailable("m").failure, caller.clock())

    tool = Tool(fw.TimedOut("No answer."), ConnectionRefusedError())
    caller = fw.client.Caller(fw.Policy(attempts=5), shared=shared, sleep=Sleep(), chance=never)
    described = {"annotations": {"idempotentHint": True}}
    answer = asyncio.run(caller.run(tool, server="s", tool="look", arguments={}, description=described))

    assert answer.failure is not None
    assert (answer.failure.code, answer.failure.outcome, answer.attempts) == ("CONNECTION_REFUSED", "unknown", 2)


def test_a_network_failure_that_says_nothing_of_the_effect_is_not_made_again_on_an_unsafe_tool() -> None:
    tool = Tool(fw.NetworkFailure("The connection was reset while the mail was being sent."), FINE)

    answer = run(tool)

    assert answer.failure is not None
    assert (len(tool.sent), answer.failure.outcome) == (1, "unknown")
    assert answer.text.endswith(
        "Next: The call may have taken effect. If this tool changes anything, check before calling it again."
    )


@pytest.mark.parametrize("value", ["Error: it is only a text", {"error": "x", "message": "stored"}, [1], None, 0])
def test_a_value_of_the_tool_is_no_failure_whatever_it_looks_like(value: Any) -> None:
    tool = Tool(value)

    answer = run(tool)

    assert (answer.failure, answer.result, len(tool.sent)) == (None, value, 1)


def test_a_text_that_is_known_to_hold_errors_is_read() -> None:
    answer = run(Tool("rate limit exceeded, retry after 5 seconds"), unflagged=True)

    assert answer.failure is not None
    assert answer.failure.code == "RATE_LIMITED"


async def described_later() -> Any:
    return SAFE


async def described_badly() -> Any:
    raise OSError("gone")


@pytest.mark.parametrize(
    ("described", "calls"),
    [
        (SAFE, 2),
        (ToolDescription({"idempotentHint": True}), 2),
        (described_later, 2),
        (described_badly, 1),
        ({"annotations": {"readOnlyHint": "yes"}}, 1),
        (7, 1),
        (None, 1),
    ],
    ids=["a dict", "annotations", "later", "not at all", "in the wrong form", "nonsense", "nothing"],
)
def test_a_tool_may_be_described_in_several_ways(described: Any, calls: int) -> None:
    tool = Tool(LOST, FINE)

    run(tool, description=described)

    assert len(tool.sent) == calls


def test_a_description_is_not_asked_for_if_all_is_well_or_it_does_not_matter() -> None:
    asked: list[int] = []

    async def described() -> Any:
        asked.append(1)

    run(Tool(FINE), description=described)
    run(Tool(fw.encode(fw.NotFound("No."))), description=described)
    before = list(asked)
    run(Tool(LOST), description=described)

    assert (before, asked) == ([], [1])


def test_a_failure_that_was_retried_below_is_not_retried_above() -> None:
    tool = Tool(fw.encode(fw.RateLimited("Slow down."), attempts=3))

    answer = run(tool)

    assert (len(tool.sent), answer.attempts) == (1, 3)


def test_nested_callers_are_one_layer_and_the_outer_one_falls_back() -> None:
    tool = Tool(BUSY)
    inner = fw.client.Caller(sleep=Naps(), fallbacks={"look": lambda failure, arguments: "inner"})

    async def call(arguments: dict[str, Any]) -> Any:
        answer = await inner.run(tool, tool="look", arguments=arguments)
        return answer.result

    outer = fw.client.Caller(
        fw.Policy(attempts=2), sleep=Naps(), fallbacks={"look": lambda failure, arguments: "outer"}
    )
    answer = asyncio.run(outer.run(call, tool="look"))

    assert (len(tool.sent), answer.result, answer.is_fallback) == (2, "outer", True)


def test_a_fallback_may_make_retried_calls_of_its_own() -> None:
    caller = fw.client.Caller(sleep=Naps())
    other = Tool(BUSY, FINE)

    async def fallback(failure: fw.Failure, arguments: dict[str, Any]) -> Any:
        return (await caller.run(other, tool="other")).result

    answer = run(Tool(BUSY), fallbacks={"look": fallback})

    assert (answer.result, answer.is_fallback, len(other.sent)) == (FINE, True, 2)


def test_a_task_that_outlives_the_call_which_started_it_may_retry_again() -> None:
    caller = fw.client.Caller(sleep=Naps())
    later = Tool(BUSY, FINE)

    async def main() -> CallResult:
        gate = asyncio.Event()

        async def afterwards() -> CallResult:
            await gate.wait()
            return await caller.run(later, tool="later")

        async def call(arguments: dict[str, Any]) -> Any:
            return asyncio.create_task(afterwards())

        started = await caller.run(call, tool="look")
        gate.set()
        return await started.result

    answer = asyncio.run(main())

    assert (answer.result, len(later.sent)) == (FINE, 2)


def test_what_a_fallback_gave_is_shown_as_one() -> None:
    answer = run(Tool(BUSY), fallbacks={"look": lambda failure, arguments: [1, "ä"]})

    assert answer.model_text == 'look failed (RATE_LIMITED). This is a fallback value, not a result:\n[1, "ä"]'


def test_an_open_breaker_answers_without_a_call() -> None:
    shared = Shared(Budget(), Breaker(most=1, pause=30), Repeats())
    tool = Tool(LOST)

    first = run(tool, shared=shared)
    second = run(tool, shared=shared)

    assert (first.attempts, second.attempts, len(tool.sent)) == (1, 0, 1)
    assert second.failure is not None
    assert (second.failure.code, second.exception, second.result) == ("CIRCUIT_OPEN", None, None)


def test_hooks_are_told_of_every_try_and_what_came_after() -> None:
    events: list[Event] = []

    run(Tool(BUSY), hook=events.append, fallbacks={"look": lambda failure, arguments: "x"})

    assert [event.kind for event in events] == ["retry", "retry", "failure", "fallback"]
    assert all(event.server == "s" and event.tool == "look" for event in events)


def test_a_hook_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("no")

    with caplog.at_level(logging.CRITICAL, "failwell"):
        answer = run(Tool(BUSY, FINE), hook=broken)

    assert answer.result == FINE


def test_cancelling_while_waiting_stops_at_once() -> None:
    tool = Tool(BUSY)

    async def main() -> None:
        asleep = asyncio.Event()

        async def sleep(_: float) -> None:
            asleep.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(fw.client.Caller(sleep=sleep).run(tool, tool="look"))
        await asleep.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert len(tool.sent) == 1


def test_many_failing_calls_fetch_the_descriptions_once() -> None:
    fetched: list[str | None] = []

    async def page(cursor: str | None) -> ToolPage:
        fetched.append(cursor)
        await asyncio.sleep(0)
        return ToolPage([SAFE], None)

    async def main() -> list[CallResult]:
        descriptions = ToolListCache(page)
        caller = fw.client.Caller(sleep=Naps(), shared=Shared(Budget(), Breaker(most=1000), Repeats(most=1000)))

        async def one(number: int) -> CallResult:
            return await caller.run(
                Tool(LOST, FINE),
                server="s",
                tool="look",
                arguments={"number": number},
                description=lambda: descriptions.of("look"),
            )

        return await asyncio.gather(*(one(number) for number in range(30)))

    answers = asyncio.run(main())

    assert [answer.result for answer in answers] == [FINE] * 30
    assert fetched == [None]


def test_a_list_without_end_is_not_read_to_its_end() -> None:
    fetched: list[str | None] = []

    async def page(cursor: str | None) -> ToolPage:
        fetched.append(cursor)
        return ToolPage([], "more")

    asyncio.run(ToolListCache(page).of("look"))

    assert len(fetched) == 100


def test_a_nested_caller_leaves_its_failure_for_the_outer_one() -> None:
    left: list[fw.Failure | None] = []

    async def through_another(arguments: dict[str, Any]) -> Any:
        inner = await fw.client.Caller().run(Tool(BUSY), tool="look", arguments=arguments)
        left.extend((take_inner_failure(), take_inner_failure()))
        return inner.result

    answer = asyncio.run(fw.client.Caller(fw.Policy(attempts=1)).run(through_another, tool="look"))

    assert [failure and failure.code for failure in left] == [answer.failure and answer.failure.code, None]
    assert left[0] is not None
    assert take_inner_failure() is None


def test_a_corrected_call_that_took_effect_is_not_hidden() -> None:
    wrong = fw.encode(
        fw.Failure(
            code="VALIDATION_FAILED",
            message="a must be text",
            fields=(fw.FieldProblem(path="a", kind="type", sent=1, expected="string"),),
        )
    )
    charged = fw.encode(fw.Failure(code="VALIDATION_FAILED", message="Charged, then refused.", outcome="executed"))
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}

    answer = run(Tool(wrong, charged), description={"inputSchema": schema}, repair=True)

    assert answer.failure is not None
    assert (answer.failure.message, answer.failure.outcome) == ("Charged, then refused.", "executed")


FLAT = {"content": [{"type": "text", "text": "task_id: must be a number"}], "isError": True}
SCHEMA = {"type": "object", "properties": {"task_id": {"type": "integer"}}}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The schemas that failures are read with."""
    found: list[Any] = []

    def noting(what: Any, **known: Any) -> Any:
        found.append(known["input_schema"])
        return explain(what, **known)

    monkeypatch.setattr("failwell.client._caller.explain", noting)
    return found


def test_a_result_is_taken_apart_once_for_its_failure_and_the_tries_it_tells_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[Any] = []

    def noting(what: Any) -> Any:
        parsed.append(what)
        return parse_result(what)

    monkeypatch.setattr("failwell.reading.reader.parse_result", noting)
    retried = {**BUSY, "_meta": {"dev.failwell/retry": {"attempts": 3}}}

    answer = run(Tool(retried), description=SAFE)

    assert parsed == [retried]
    assert answer.attempts == 3


def test_what_is_known_of_a_tool_is_asked_for_once_after_a_failure() -> None:
    asked: list[str] = []

    async def fetch() -> Any:
        raise AssertionError("it is known")

    def known() -> ToolDescription:
        asked.append("look")
        return ToolDescription.of(SAFE)

    answer = run(Tool(BUSY, FINE), description=ToolLookup(fetch, known))

    assert answer.failure is None
    assert asked == ["look"]


def test_a_failure_is_read_once_where_the_tool_is_described(reads: list[Any]) -> None:
    run(Tool(FLAT), description={"name": "look", "inputSchema": SCHEMA})

    assert reads == [SCHEMA]


def test_a_failure_is_read_again_where_the_server_had_to_be_asked_for_the_schema(reads: list[Any]) -> None:
    async def fetch() -> Any:
        return {"name": "look", "inputSchema": SCHEMA}

    answer = run(Tool(FLAT), description=fetch)

    assert reads == [None, SCHEMA]
    assert answer.failure is not None


def test_a_session_reads_a_failure_once_after_its_first(reads: list[Any]) -> None:
    server = Scripted("tasks")
    server.tool("look", FLAT, inputSchema=SCHEMA)

    async def main() -> None:
        async with server.connected() as session:
            fw.wrap(session)
            for name in "xyz":
                await session.call_tool("look", {"task_id": name})

    anyio.run(main)

    assert reads == [None, SCHEMA, SCHEMA, SCHEMA]
    assert server.listings == 1


LOST_ANSWER = fw.TimedOut("No answer.")


@pytest.mark.parametrize(
    ("policy", "described", "calls"),
    [
        (fw.Policy(tools={"lo*": fw.Tool(read_only=True)}), None, 2),
        (fw.Policy(tools={"lo*": fw.Tool(read_only=True)}), {"inputSchema": {"type": "object"}}, 2),
        (fw.Policy(tools={"look": fw.Tool(read_only=False)}), SAFE, 1),
        (fw.Policy(tools={"look": fw.Tool(read_only=True, attempts=1)}), None, 1),
        (fw.Policy(tools={"pay": fw.Tool(read_only=True)}), None, 1),
    ],
)
def test_the_policy_says_of_a_tool_what_may_be_done_with_it(policy: fw.Policy, described: Any, calls: int) -> None:
    tool = Tool(LOST_ANSWER, FINE)

    run(tool, policy=policy, description=described)

    assert len(tool.sent) == calls


def calls_of(name: str, *, description: Any, trust: bool = True) -> int:
    tool = Tool(LOST_ANSWER, FINE)
    policy = fw.Policy(trust_read_verbs=True)
    caller = fw.client.Caller(policy, sleep=Naps(), chance=never, trust=trust)
    asyncio.run(caller.run(tool, server="s", tool=name, arguments={}, description=description))
    return len(tool.sent)


def test_the_name_of_a_tool_counts_where_the_policy_says_so_and_the_server_says_nothing() -> None:
    async def unlisted() -> None:
        return None

    schema = {"type": "object"}
    assert calls_of("get_issue", description={"inputSchema": schema}) == 2
    assert calls_of("get_issue", description={"inputSchema": schema}, trust=False) == 2
    assert calls_of("close_issue", description={"inputSchema": schema}) == 1
    assert calls_of("get_issue", description={"annotations": {"readOnlyHint": False}}) == 1
    assert calls_of("get_issue", description={"annotations": {"readOnlyHint": False}}, trust=False) == 1
    assert calls_of("get_issue", description=unlisted) == 1


def test_what_the_policy_says_of_a_tool_counts_also_if_the_server_is_not_trusted() -> None:
    tool = Tool(LOST_ANSWER, FINE)

    answer = run(tool, policy=fw.Policy(tools={"look": fw.Tool(idempotent=True)}), description=SAFE, trust=False)

    assert (len(tool.sent), answer.failure) == (2, None)


def test_a_policy_file_says_how_the_tools_of_each_server_are_called(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        """
        [servers.mine.tools."look"]
        read_only = true
        [servers.flags]
        flip = true
        [servers.lies]
        trust_annotations = false
        """
    )
    caller = fw.client.Caller(policy_file=file, sleep=Naps(), chance=never)

    def calls(server: str, end: Any, **described: Any) -> int:
        tool = Tool(end, FINE)
        asyncio.run(caller.run(tool, server=server, tool="look", arguments={}, **described))
        return len(tool.sent)

    unflagged = {"content": [{"type": "text", "text": "Error: rate limit exceeded"}], "isError": False}
    assert calls("mine", LOST_ANSWER) == 2
    assert calls("other", LOST_ANSWER) == 1
    assert calls("other", LOST_ANSWER, description=SAFE) == 2
    assert calls("lies", LOST_ANSWER, description=SAFE) == 1
    assert calls("flags", unflagged, description=SAFE) == 2
    assert calls("other", unflagged, description=SAFE) == 1


def test_a_policy_file_that_is_not_understood_is_refused_before_any_call() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        fw.client.Caller(policy_file="/there/is/no/such/file.toml")


def test_five_failures_among_fifty_calls_at_once_do_not_suspend_a_tool_that_works() -> None:
    shared = Shared(Budget(), Breaker(most=5), Repeats(most=100))
    caller = fw.client.Caller(fw.Policy(attempts=1), shared=shared)

    async def main() -> None:
        all_began = asyncio.Event()
        began = 0

        async def make(arguments: dict[str, Any]) -> Any:
            nonlocal began
            began += 1
            if began == 50:
                all_began.set()
            await all_began.wait()
            if arguments["number"] % 10 == 0:
                raise fw.Unavailable("Down.")
            return FINE

        calls = (caller.run(make, server="s", tool="look", arguments={"number": number}) for number in range(50))
        await asyncio.gather(*calls)

    asyncio.run(main())

    assert shared.breaker.suspension(("s", "look"), caller.clock()) == 0


def test_what_an_open_breaker_says_is_that_we_suspended_the_tool() -> None:
    shared = Shared(Budget(), Breaker(most=1, pause=30), Repeats())
    run(Tool(LOST), shared=shared)

    refused = run(Tool(FINE), shared=shared).failure

    assert refused is not None
    assert fw.decide(refused).reason == (
        "Calls to this tool are suspended for this long after repeated failures. This one was not sent."
    )
