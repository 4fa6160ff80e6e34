"""Guard, protected servers, clients and retried calls tell the same form of record, and none tells a secret."""

import asyncio
from collections.abc import Callable
from typing import Any

import fastmcp
import msgspec
import pytest
from mcp.client.client import Client
from mcp.server import MCPServer

import failwell as fw
from failwell.event import CallArguments
from failwell.records import Event, Record, Recorder
from failwell.retry import Breaker, Budget, Repeats, Shared
from failwell.schema.validator import check_arguments
from tests.matrix.test_http import served
from tests.records.samples import DOWN, MISSING, Kept, finished

SECRET = "hunter" + "2hunter2"


def find(task_id: str, password: str = "") -> str:
    if task_id == "t-1":
        return "Write the report"
    raise fw.NotFound(f"There is no task {task_id}.", actions=["list_tasks"])


def recorded(do: Callable[[Recorder], object], **options: Any) -> list[Record]:
    sink = Kept()
    with Recorder(sink, session="s", **options) as recorder:
        do(recorder)
    return sink.records


def on_mcp(server: Any, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool("find", arguments)

    return asyncio.run(call())


def on_fastmcp(server: Any, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        async with fastmcp.Client(server) as client:
            return await client.call_tool_mcp("find", arguments)

    return asyncio.run(call())


@pytest.mark.parametrize(("make", "call"), [(MCPServer, on_mcp), (fastmcp.FastMCP, on_fastmcp)], ids=["mcp", "fastmcp"])
def test_a_protected_server_tells_of_every_call(make: Any, call: Any) -> None:
    texts: list[str] = []

    def do(recorder: Recorder) -> None:
        server = make("tasks")
        server.tool()(find)
        fw.protect(server, observers=[recorder])
        texts.extend(call(server, {"task_id": task}).content[0].text for task in ("t-9", "t-1", "t-9"))

    records = recorded(do)

    assert [(one.source, one.server, one.tool, one.kind, one.names) for one in records] == [
        ("guard", "tasks", "find", kind, ("task_id",)) for kind in ("failure", "success", "failure")
    ]
    assert [one.text for one in records] == [texts[0], None, texts[2]]
    assert records[0].arguments == records[2].arguments != records[1].arguments
    assert (records[0].code, records[0].decision, records[0].outcome) == ("NOT_FOUND", "use", "rejected")
    assert records[0].elapsed is not None
    assert len({one.call for one in records}) == 3


@pytest.mark.parametrize("make", [MCPServer, fastmcp.FastMCP], ids=["mcp", "fastmcp"])
def test_clients_of_a_server_over_http_are_sessions_of_their_own(make: Any) -> None:
    server, ids = make("tasks"), set[str]()
    server.tool()(find)

    async def ask(url: str) -> None:
        async with fastmcp.Client(url, mode="legacy") as ann, fastmcp.Client(url, mode="legacy") as bob:
            for client in (ann, bob, ann):
                await client.call_tool_mcp("find", {"task_id": "t-9"})
            ids.update(filter(None, (ann.transport.get_session_id(), bob.transport.get_session_id())))

    def do(recorder: Recorder) -> None:
        fw.protect(server, observers=[recorder])
        with served(server.streamable_http_app() if make is MCPServer else server.http_app()) as url:
            asyncio.run(ask(url))

    first, second, third = recorded(do)

    assert first.session == third.session != second.session
    assert {first.session, second.session}.isdisjoint({"s", ""})
    assert len(ids) == 2
    assert not any(id in msgspec.json.encode(one).decode() for id in ids for one in (first, second))


def test_a_name_that_the_application_gives_comes_before_that_of_the_connection() -> None:
    seen = finished("find", 0.1, session="connection")

    def do(recorder: Recorder) -> None:
        recorder(seen)
        with recorder.session("conversation 7"):
            recorder(seen)
        recorder(finished("find", 0.1))

    assert [one.session for one in recorded(do)] == ["connection", "conversation 7", "s"]


def test_a_guard_tells_the_names_of_arguments_however_they_are_given() -> None:
    def do(recorder: Recorder) -> None:
        guarded = fw.guard(observers=[recorder], dialect="xml")(find)
        guarded("t-9", "x")
        guarded(task_id="t-9", password="x")

    one, two = recorded(do, server="tasks")

    assert (one.server, one.names) == ("tasks", ("task_id", "password"))
    assert one.arguments == two.arguments
    assert one.text is not None
    assert one.text.startswith("<tool_error")


def test_no_argument_and_no_secret_gets_into_a_record() -> None:
    def do(recorder: Recorder) -> None:
        def leak(password: str) -> str:
            raise fw.Internal(f"cannot log in with password={password}", details={"password": password})

        fw.guard(observers=[recorder])(leak)(password=SECRET)
        with pytest.raises(fw.ToolFailure):
            fw.call(lambda: leak(SECRET), tool=f"token={SECRET}", arguments={"password": SECRET}, hook=recorder)

    records = recorded(do)

    assert [one.kind for one in records] == ["failure", "failure"]
    assert SECRET not in "".join(msgspec.json.encode(one).decode() for one in records)
    assert SECRET not in repr(CallArguments({"password": SECRET}))


def test_all_tries_of_one_call_have_its_number_and_what_the_model_reads_is_kept() -> None:
    answers = iter([DOWN, DOWN, None, MISSING])

    def attempt() -> str:
        failure = next(answers)
        if failure is not None:
            raise fw.ToolFailure(failure)
        return "fine"

    def do(recorder: Recorder) -> None:
        options: dict[str, Any] = {"hook": recorder, "sleep": lambda _: None, "shared": Shared.new()}
        fw.call(attempt, server="tasks", tool="find", hints={"readOnlyHint": True}, arguments={"id": 1}, **options)
        with pytest.raises(fw.ToolFailure):
            fw.call(attempt, server="tasks", tool="find", arguments={"id": 1}, **options)

    records = recorded(do)

    assert [(one.kind, one.attempt) for one in records] == [
        ("retry", 1),
        ("retry", 2),
        ("recovered", 3),
        ("failure", 1),
    ]
    assert records[0].call == records[1].call == records[2].call != records[3].call
    assert records[0].delay is not None
    assert records[0].reason == "It may succeed later, and the tool is safe to run twice."
    assert records[3].text == fw.render(MISSING)
    assert (records[3].decision, records[3].reason) == ("use", "The error names what helps.")


def test_a_breaker_that_opens_and_closes_is_on_record() -> None:
    shared, now = Shared(Budget(), Breaker(most=1, pause=30), Repeats()), [0.0]
    failures: list[fw.Failure | None] = [DOWN, None, None]

    def attempt() -> str:
        failure = failures.pop(0)
        if failure is not None:
            raise fw.ToolFailure(failure)
        return "fine"

    def do(recorder: Recorder) -> None:
        for at in (0.0, 1.0, 2.0, 60.0, 61.0):
            now[0] = at
            try:
                fw.call(attempt, tool="find", hook=recorder, shared=shared, clock=lambda: now[0])
            except fw.ToolFailure:
                continue  # what is told of it is looked at below

    records = recorded(do)

    assert [(one.kind, one.reason) for one in records if one.kind in ("breaker", "refused", "success")] == [
        ("breaker", "opened"),
        ("refused", "Calls to this tool are suspended after repeated failures."),
        ("refused", "Calls to this tool are suspended after repeated failures."),
        ("breaker", "closed"),
        ("success", None),
        ("success", None),
    ]


def test_a_breaker_closes_for_a_failure_that_says_the_tool_works() -> None:
    suspended = fw.Failure(code="CIRCUIT_OPEN", message="Suspended.")
    steps: list[Any] = [("refused", suspended), ("failure", DOWN), ("failure", MISSING)]

    def do(recorder: Recorder) -> None:
        for kind, failure in steps:
            recorder(Event(source="client", kind=kind, tool="find", elapsed=0.1, failure=failure))

    records = recorded(do)

    assert [(one.kind, one.reason) for one in records if one.kind != "failure"] == [
        ("breaker", "opened"),
        ("refused", None),
        ("breaker", "closed"),
    ]


def test_a_digest_tells_equal_arguments_and_nothing_else() -> None:
    one, two, other = (
        CallArguments({"a": 1, "b": [2]}),
        CallArguments({"b": [2], "a": 1}),
        CallArguments({"a": 1, "b": [3]}),
    )

    assert one.digest == two.digest != other.digest
    assert (one.names, two.names) == (("a", "b"), ("b", "a"))


def test_what_was_kept_does_not_change_with_the_arguments() -> None:
    arguments = {"page": 1}
    sent = CallArguments(arguments)
    sent.keep()
    arguments["page"] = 2

    assert sent.digest == CallArguments({"page": 1}).digest


@pytest.mark.parametrize("arguments", ["x" * 5000, {"a": "x" * 5000}, [1], {1: object()}, {"a": {"b": object}}])
def test_any_arguments_have_a_digest(arguments: Any) -> None:
    assert len(CallArguments(arguments).digest) == 32


def test_arguments_that_cannot_be_written_down_are_like_no_others() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert CallArguments(deep).digest != CallArguments(deep).digest


def test_cleaning_cuts_what_is_too_long() -> None:
    long = finished("t" * 999, failure=MISSING, text="x" * 9999, reason="r" * 9999)

    [one] = recorded(lambda recorder: recorder(long))

    assert (len(one.tool), len(one.text or ""), len(one.reason or "")) == (200, 4000, 1000)


SCHEMA = {
    "type": "object",
    "properties": {"mode": {"enum": ["slow", "faster"]}, "n": {"type": "integer"}, "note": {"maxLength": 3}},
    "additionalProperties": False,
}
SENT = {"mode": 'planted "one"\nmore', "n": "planted-two", "note": "planted-three " * 99, "tags": ["planted-four", 7]}


@pytest.mark.parametrize("dialect", ["compact", "envelope", "flat", "xml"])
def test_no_record_tells_a_value_that_was_sent(dialect: str) -> None:
    failure = check_arguments(SENT, SCHEMA)
    assert failure is not None
    text = fw.encode(failure, dialect)["content"][0]["text"]
    event = Event(source="client", kind="failure", tool="find", elapsed=0.1, failure=failure)

    records = recorded(lambda recorder: [recorder(finished("find", 0.1, failure, text=text)), recorder(event)])

    assert "planted" in text
    assert [one.kind for one in records] == ["failure", "failure"]
    for one in records:
        assert "planted" not in msgspec.json.encode(one).decode()
        assert one.failure is not None
        assert [problem["path"] for problem in one.failure["fields"]] == ["mode", "n", "note", "tags"]
        assert "sent" not in one.failure["fields"][0]
        assert "mode" in (one.text or "")


def test_short_values_are_taken_out_as_words_only() -> None:
    failure = fw.Failure(
        code="VALIDATION_FAILED", message="n: 7 of 17", fields=(fw.FieldProblem(path="n", message="not 7", sent=7),)
    )

    (one,) = recorded(lambda recorder: recorder(finished("find", 0.1, failure)))

    assert (one.message, (one.failure or {})["fields"][0]["message"]) == ("n: … of 17", "not …")


def test_of_many_names_the_first_are_kept_and_of_long_ones_their_length() -> None:
    names = CallArguments({"x" * 999 + str(number): 1 for number in range(60)}).names

    assert len(names) == 50
    assert set(names) == {"(a name of 1000 characters)", "(a name of 1001 characters)"}
