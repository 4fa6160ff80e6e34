"""What an observer writes on the spans of real servers, and what it counts."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import fastmcp
import pytest
from mcp.client.client import Client
from mcp.server import MCPServer
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

import failwell as fw
from failwell.integrations.opentelemetry import enrich_span, observer
from tests.spans import EXPORTER, recorded_spans  # noqa: F401 - a fixture of all tests here

SECRET = "hunter2-s3cret"


def find(task_id: str = "") -> int:
    if task_id == "crash":
        raise ValueError(SECRET)
    if task_id == "old":
        raise fw.ToolFailure(f"Use find_2, {SECRET}.", code="DEPRECATED", severity="warning")
    if task_id:
        raise fw.NotFound(f"There is no task {SECRET}.", id="a1b2")
    return 1


def on_mcp(server: Any, name: str, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(call())


def on_fastmcp(server: Any, name: str, arguments: dict[str, Any]) -> Any:
    async def call() -> Any:
        async with fastmcp.Client(server) as client:
            return await client.call_tool_mcp(name, arguments)

    return asyncio.run(call())


Call = Callable[[Any, str, dict[str, Any]], Any]
SERVERS: dict[str, tuple[Callable[[str], Any], Call]] = {
    "mcp": (MCPServer, on_mcp),
    "fastmcp": (fastmcp.FastMCP, on_fastmcp),
}


@pytest.fixture(params=SERVERS)
def call(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that calls the tool of a protected server, observed or not."""
    make, run = SERVERS[request.param]

    def called(arguments: dict[str, Any], *, observers: Any = (), name: str = "find") -> Any:
        server = make("tasks")
        server.tool()(find)
        fw.protect(server, observers=observers)
        EXPORTER.clear()
        return run(server, name, arguments)

    return called


def server_spans() -> list[ReadableSpan]:
    return [span for span in EXPORTER.get_finished_spans() if span.kind is SpanKind.SERVER and "call" in span.name]


def ours(span: ReadableSpan) -> dict[str, Any]:
    attributes = span.attributes or {}
    return {name: value for name, value in attributes.items() if name.startswith(("failwell.", "error."))}


def test_the_span_of_the_sdk_says_what_failed(call: Callable[..., Any]) -> None:
    call({"task_id": "t-9"}, observers=[enrich_span])

    [span] = server_spans()
    assert ours(span) == {
        "error.type": "tool_error",
        "failwell.type": "NOT_FOUND",
        "failwell.code": "NOT_FOUND",
        "failwell.retryable": False,
        "failwell.outcome": "rejected",
        "failwell.id": "a1b2",
    }
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)


def test_the_span_of_a_tool_that_does_not_exist_keeps_its_name(call: Callable[..., Any]) -> None:
    call({}, observers=[enrich_span], name="fnd")

    [span] = server_spans()
    assert span.name == "tools/call fnd"
    assert ours(span)["failwell.code"] == "UNKNOWN_TOOL"
    assert [span.name for span in EXPORTER.get_finished_spans() if span.name == "tools/list"] == []


def test_no_span_is_added_to_those_of_the_sdk(call: Callable[..., Any]) -> None:
    call({"task_id": "t-9"})
    without = sorted(span.name for span in EXPORTER.get_finished_spans())
    call({"task_id": "t-9"}, observers=[observer()])

    assert sorted(span.name for span in EXPORTER.get_finished_spans()) == without


def test_the_text_of_a_crash_is_not_in_what_is_written(call: Callable[..., Any]) -> None:
    call({"task_id": "crash"}, observers=[enrich_span])

    [span] = server_spans()
    assert ours(span)["failwell.code"] == "INTERNAL_ERROR"
    assert "failwell.retryable" not in ours(span)
    assert SECRET not in f"{span.attributes} {span.status.description}"


def test_wrong_arguments_are_on_the_span_without_what_was_sent(call: Callable[..., Any]) -> None:
    call({"task_id": {"x": SECRET}}, observers=[enrich_span])

    [span] = server_spans()
    assert ours(span)["failwell.code"] == "VALIDATION_FAILED"
    assert SECRET not in f"{span.attributes} {span.status.description}"


def test_a_warning_is_an_event_and_no_error_of_ours() -> None:
    with trace.get_tracer("tests").start_as_current_span("call") as span:
        fw.guard(observers=[enrich_span])(find)("old")

    assert ours(span) == {}
    assert span.status.status_code is StatusCode.UNSET
    [event] = span.events
    assert event.name == "failwell.warning"
    assert event.attributes == {
        "failwell.type": "NOT_FOUND",
        "failwell.code": "DEPRECATED",
        "failwell.retryable": False,
        "failwell.outcome": "rejected",
    }


def test_a_success_leaves_the_span_as_it_is(call: Callable[..., Any]) -> None:
    call({}, observers=[observer()])

    [span] = server_spans()
    assert ours(span) == {}
    assert span.status.status_code is StatusCode.UNSET
    assert span.events == ()


def test_nothing_happens_without_a_span() -> None:
    result = fw.guard(observers=[enrich_span])(find)("t-9")

    assert result["isError"]
    assert EXPORTER.get_finished_spans() == ()


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("RATE_LIMITED", "RATE_LIMITED"),
        ("RESOURCE_NOT_FOUND", "NOT_FOUND"),
        ("FIND_RATE_LIMITED", "RATE_LIMITED"),
        ("AKIAIOSFODNN7EXAMPLE", "_OTHER"),
        (None, None),
    ],
)
def test_only_codes_of_the_catalog_are_written(code: str | None, written: str | None) -> None:
    failing = fw.guard(tool="find", observers=[enrich_span])(lambda: fw.Failure(code=code, message="no"))
    with trace.get_tracer("tests").start_as_current_span("call") as span:
        failing()

    assert ours(span).get("failwell.code") == written


def test_an_id_that_holds_a_secret_is_redacted() -> None:
    failing = fw.guard(observers=[enrich_span])(lambda: fw.Failure(message="no", id=f"password={SECRET}"))
    with trace.get_tracer("tests").start_as_current_span("call") as span:
        failing()

    assert ours(span)["failwell.id"] == "password=[redacted:password]"


@pytest.fixture
def reader() -> Iterator[InMemoryMetricReader]:
    found = InMemoryMetricReader()
    yield found
    found.shutdown()


def points(reader: InMemoryMetricReader, name: str) -> list[tuple[dict[str, Any], Any]]:
    data = reader.get_metrics_data()
    found = data.resource_metrics[0].scope_metrics[0].metrics if data else []
    return [
        (dict(point.attributes), point) for metric in found if metric.name == name for point in metric.data.data_points
    ]


def test_failures_are_counted_by_tool_type_and_code(reader: InMemoryMetricReader) -> None:
    guarded = fw.guard(observers=[observer(meter_provider=MeterProvider([reader]))])(find)
    for task_id in ("t-1", "t-2", "crash", "old", ""):
        guarded(task_id)

    tool = {"gen_ai.tool.name": "find"}
    assert [(attributes, point.value) for attributes, point in points(reader, "failwell.failures")] == [
        ({**tool, "failwell.type": "NOT_FOUND", "failwell.code": "NOT_FOUND"}, 2),
        ({**tool, "failwell.type": "INTERNAL", "failwell.code": "INTERNAL_ERROR"}, 1),
    ]


def test_calls_are_measured_with_the_names_of_the_conventions(reader: InMemoryMetricReader) -> None:
    guarded = fw.guard(observers=[observer(meter_provider=MeterProvider([reader]))])(find)
    for task_id in ("t-1", "", "old"):
        guarded(task_id)

    called = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "find"}
    measured = points(reader, "mcp.server.operation.duration")
    assert [(attributes, point.count) for attributes, point in measured] == [
        ({**called, "error.type": "tool_error"}, 1),
        (called, 2),
    ]


def test_a_call_is_counted_when_it_ends_and_not_when_it_is_tried_again(reader: InMemoryMetricReader) -> None:
    watching = observer(meter_provider=MeterProvider([reader]))
    down = fw.Failure(code="SERVICE_UNAVAILABLE", message="no")
    for kind in ("retry", "retry", "failure"):
        watching(fw.records.Event(source="client", kind=kind, tool="find", elapsed=0.1, failure=down))

    assert [point.value for _, point in points(reader, "failwell.failures")] == [1]
    assert [point.count for _, point in points(reader, "mcp.client.operation.duration")] == [1]
    assert points(reader, "mcp.server.operation.duration") == []


def test_counting_can_be_left_out(reader: InMemoryMetricReader) -> None:
    watching = observer(counts=False, meter_provider=MeterProvider([reader]))
    with trace.get_tracer("tests").start_as_current_span("call") as span:
        fw.guard(observers=[watching])(find)("t-9")

    assert ours(span)["failwell.code"] == "NOT_FOUND"
    assert points(reader, "failwell.failures") == []


def test_names_that_callers_make_up_do_not_become_time_series(
    call: Callable[..., Any], reader: InMemoryMetricReader
) -> None:
    watching = observer(spans=False, meter_provider=MeterProvider([reader]))
    for name in ("find_a", "find_b"):
        call({}, observers=[watching], name=name)

    [(attributes, point)] = points(reader, "failwell.failures")
    assert (attributes["gen_ai.tool.name"], point.value) == ("_OTHER", 2)
