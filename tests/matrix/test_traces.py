"""A call is one span of its client and one of its server, whether the SDK makes them or failwell has to."""

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

import failwell as fw
from failwell.integrations.opentelemetry import observer
from tests.matrix import sdks
from tests.spans import EXPORTER, recorded_spans  # noqa: F401 - a fixture of all tests here

KINDS = [kind for kind in sdks.KINDS if kind == "mcp"]  # fastmcp has spans of its own above these


def find(task_id: str = "") -> str:
    with trace.get_tracer("tests").start_as_current_span("database"):
        if task_id:
            raise fw.NotFound(f"There is no task {task_id}.")
    return "found"


def server_of(kind: str, **settings: Any) -> Any:
    server = sdks.new(kind)
    server.tool()(find)
    fw.protect(server, **settings)
    return server


def call_traced(kind: str, arguments: dict[str, Any]) -> dict[str, ReadableSpan]:
    """Call a tool below a span of the application; all spans of that, by what they are."""

    async def run() -> None:
        async with sdks.session(kind, server_of(kind, observers=[observer(counts=False)])) as connected:
            fw.wrap(connected, hook=observer(counts=False))
            with trace.get_tracer("tests").start_as_current_span("agent"):
                await connected.call_tool("find", arguments)

    asyncio.run(run())
    found = [span for span in EXPORTER.get_finished_spans() if "list" not in span.name]
    calls = [span for span in found if "find" in span.name]
    named = {span.name: span for span in found if span.name in ("agent", "database")}
    (client,) = (span for span in calls if span.kind is SpanKind.CLIENT)
    (server,) = (span for span in calls if span.kind is SpanKind.SERVER)
    return {**named, "client": client, "server": server}


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


@pytest.mark.parametrize("kind", KINDS)
def test_the_spans_of_a_call_are_one_chain(kind: str) -> None:
    spans = call_traced(kind, {})

    chain = [spans[name] for name in ("agent", "client", "server", "database")]
    assert [parent_of(span) for span in chain[1:]] == [span.context.span_id for span in chain[:-1]]
    assert {span.context.trace_id for span in chain} == {spans["agent"].context.trace_id}
    assert spans["server"].attributes["mcp.method.name"] == "tools/call"
    assert spans["server"].attributes["jsonrpc.request.id"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_span_of_the_server_says_what_failed_and_that_of_the_application_did_not_fail(kind: str) -> None:
    spans = call_traced(kind, {"task_id": "t-9"})

    server = spans["server"]
    assert (server.attributes["error.type"], server.attributes["failwell.code"]) == ("tool_error", "NOT_FOUND")
    assert server.status.status_code is StatusCode.ERROR
    if sdks.HAS_MCP_1:  # that of mcp 2 ends before anybody else learns of the failure
        assert spans["client"].status.status_code is StatusCode.ERROR
    assert spans["agent"].status.status_code is StatusCode.UNSET
