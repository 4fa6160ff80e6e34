"""A collector of OpenTelemetry gets calls as spans, what went wrong as logs, and figures; nobody waits for it."""

import asyncio
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, web
from mcp.client.client import Client
from mcp.server import MCPServer
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider

import failwell as fw
from failwell._trace import CallTrace
from failwell.proxy.http.server import Setup, listening
from failwell.proxy.options import parse
from failwell.records import Record, Recorder, _otlp, open_sink
from failwell.records._otlp import ExportRefused, OtlpSink
from tests.proxy.http.setting import scripted
from tests.records.samples import DOWN, MISSING, finished, record

REQUESTS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}


class Receiver:
    """A collector on loopback that decodes what it gets; `answers` are the statuses of its next answers."""

    def __init__(self, port: int = 0) -> None:
        self.got: list[tuple[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.got.append((self.path, REQUESTS[self.path].FromString(body)))
                    receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        return Handler

    def of(self, path: str) -> list[Any]:
        return [request for got, request in self.got if got == path]

    @property
    def spans(self) -> list[Any]:
        return [
            span
            for request in self.of("/v1/traces")
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def logs(self) -> list[Any]:
        return [
            log
            for request in self.of("/v1/logs")
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for log in scope.log_records
        ]

    @property
    def metrics(self) -> dict[str, Any]:
        """The figures as they were told last."""
        return {metric.name: metric for metric in metrics_in(self.of("/v1/metrics")[-1])}


def metrics_in(request: Any) -> list[Any]:
    return [metric for one in request.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]


def plain(attributes: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


FAILED = record(100.5, "failure", MISSING, call="7", server="tasks", elapsed=0.5, decision="use", text="not to be sent")


def test_a_call_is_a_span_by_the_conventions_and_its_log_belongs_to_it(receiver: Receiver) -> None:
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([FAILED, record(101.0, call="8", server="tasks", elapsed=0.25)])
    sink.close()

    failed, fine = receiver.spans
    (log,) = receiver.logs
    assert (failed.name, failed.kind) == ("tools/call find", failed.SPAN_KIND_CLIENT)
    assert (failed.start_time_unix_nano, failed.end_time_unix_nano) == (100_000_000_000, 100_500_000_000)
    assert (failed.status.code, fine.status.code) == (failed.status.STATUS_CODE_ERROR, fine.status.STATUS_CODE_UNSET)
    assert plain(failed.attributes) == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find",
        "error.type": "tool_error",
        "failwell.source": "client",
        "failwell.session": "s",
        "failwell.server": "tasks",
        "failwell.kind": "failure",
        "failwell.type": "NOT_FOUND",
        "failwell.code": "NOT_FOUND",
        "failwell.outcome": "rejected",
        "failwell.retryable": False,
        "failwell.advice": "use",
        "failwell.attempts": 1,
    }
    assert "error.type" not in plain(fine.attributes)
    assert (log.event_name, log.severity_text, log.body.string_value) == (
        "failwell.failure",
        "ERROR",
        "There is no task t-9.",
    )
    assert (log.trace_id, log.span_id) == (failed.trace_id, failed.span_id) != (fine.trace_id, fine.span_id)
    assert (len(failed.trace_id), len(failed.span_id)) == (16, 8)
    assert b"not to be sent" not in b"".join(request.SerializeToString() for _, request in receiver.got)


def test_all_that_happens_to_a_call_belongs_to_one_span_and_what_is_of_none_to_no_span(receiver: Receiver) -> None:
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([record(1.0, "retry", DOWN, call="7", delay=2.5, reason="it may pass")])
    sink.write([record(4.0, "recovered", call="7", attempt=2, elapsed=3.0)])
    sink.write([
        record(5.0, "breaker", reason="opened"),
        Record(time=6.0, source="recorder", kind="lost", details={"count": 3, "more": [1]}),
    ])  # fmt: skip
    sink.close()

    (span,) = receiver.spans
    retry, recovered, breaker, lost = receiver.logs
    assert {retry.trace_id, recovered.trace_id} == {span.trace_id}
    assert (breaker.trace_id, lost.span_id) == (b"", b"")
    assert [log.severity_text for log in receiver.logs] == ["WARN", "INFO", "WARN", "ERROR"]
    assert (plain(retry.attributes)["failwell.delay"], plain(retry.attributes)["failwell.code"]) == (
        2.5,
        "SERVICE_UNAVAILABLE",
    )
    assert plain(breaker.attributes)["failwell.reason"] == "opened"
    assert plain(lost.attributes) == {"failwell.source": "recorder", "failwell.details.count": 3}


def test_the_pages_name_every_attribute_of_a_span_and_every_metric(receiver: Receiver) -> None:
    docs = Path(__file__).parents[2] / "docs"
    names_of_ours, conventions = docs / "howto" / "events.md", docs / "integrations" / "opentelemetry.md"
    page = names_of_ours.read_text(encoding="utf-8") + conventions.read_text(encoding="utf-8")
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([msgspec.structs.replace(FAILED, id="f218efac7821")])

    names = [*plain(receiver.spans[0].attributes), *_otlp._COUNTERS, *_otlp._DURATIONS]
    assert "failwell.id" in names
    assert [name for name in names if f"`{name}`" not in page] == []


def test_figures_are_totals_since_the_beginning(receiver: Receiver) -> None:
    sink = OtlpSink(receiver.url)
    sink.write([FAILED, record(101.0, call="8", server="tasks", elapsed=0.25)])
    sink.write([
        FAILED,
        record(102.0, "retry", DOWN, call="9"),
        record(103.0, "failure", fw.Failure(code="MADE_UP", message="x"), source="guard", call="1", elapsed=400.0),
        Record(time=6.0, source="recorder", kind="lost", details={"count": 3}),
    ])  # fmt: skip

    found = receiver.metrics
    assert sorted(found) == [
        "failwell.events",
        "failwell.failures",
        "failwell.lost",
        "mcp.client.operation.duration",
        "mcp.server.operation.duration",
    ]
    failures = {
        plain(one.attributes)["failwell.code"]: one.as_int for one in found["failwell.failures"].sum.data_points
    }
    assert failures == {"NOT_FOUND": 2, "_OTHER": 1}
    assert found["failwell.lost"].sum.data_points[0].as_int == 3
    assert found["failwell.lost"].sum.is_monotonic
    durations = found["mcp.client.operation.duration"].histogram
    assert durations.aggregation_temporality == 2  # cumulative
    by_error = {plain(one.attributes).get("error.type"): one for one in durations.data_points}
    assert (by_error["tool_error"].count, by_error["tool_error"].sum) == (2, 1.0)
    assert (by_error[None].count, list(by_error[None].bucket_counts)) == (1, [0, 0, 0, 0, 0, 1, *[0] * 9])
    assert list(by_error[None].explicit_bounds)[:3] == [0.01, 0.02, 0.05]
    assert found["mcp.server.operation.duration"].histogram.data_points[0].bucket_counts[-1] == 1
    first, last = (
        point.start_time_unix_nano
        for request in receiver.of("/v1/metrics")
        for metric in metrics_in(request)
        if metric.name == "failwell.failures"
        for point in metric.sum.data_points[:1]
    )
    assert 0 < first == last


def test_callers_cannot_make_any_number_of_series(receiver: Receiver) -> None:
    unknown = fw.Failure(code="UNKNOWN_TOOL", message="There is no such tool.")
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([record(1.0, tool=f"t{number}", call=f"{number}", elapsed=0.1) for number in range(2100)])
    sink.write([record(1.0, "failure", unknown, tool=f"x{number}", call=f"{number}") for number in range(9)])

    points = receiver.metrics["mcp.client.operation.duration"].histogram.data_points
    (rest,) = (one for one in points if plain(one.attributes) == {"otel.metric.overflow": True})
    assert len(points) == 2001
    assert sum(one.count for one in points) == 2100
    assert rest.count == 100
    (failures,) = receiver.metrics["failwell.failures"].sum.data_points
    assert (plain(failures.attributes)["gen_ai.tool.name"], failures.as_int) == ("_OTHER", 9)


def test_what_was_sent_is_not_sent_again_when_the_rest_is(receiver: Receiver) -> None:
    sink, batch = OtlpSink(receiver.url), [FAILED]
    receiver.answers[:] = [200, 503]
    with pytest.raises(ExportRefused, match="the collector answered 503 to logs"):
        sink.write(batch)
    sink.write(batch)
    receiver.answers[:] = [200, 200, 500]
    sink.write([FAILED])  # figures that are refused fail no batch
    sink.write([record(1.0, call="1", elapsed=0.5)])

    assert (len(receiver.spans), len(receiver.logs)) == (3, 2)
    assert receiver.metrics["failwell.failures"].sum.data_points[0].as_int == 2


def test_the_process_is_called_as_the_environment_says(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "OTEL_SERVICE_NAME": "agents",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=x,deployment.environment.name=test%20lab,broken",
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%3Db, other = 1 ,",
    }
    with monkeypatch.context() as changed:
        for name, value in environment.items():
            changed.setenv(name, value)
        OtlpSink(f"{receiver.url}/").write([FAILED])
    OtlpSink(receiver.url).write([FAILED])

    first, second = (plain(one.resource_spans[0].resource.attributes) for one in receiver.of("/v1/traces"))
    assert (first["service.name"], first["deployment.environment.name"]) == ("agents", "test lab")
    assert second["service.name"] == "failwell"
    assert first["service.instance.id"] != second["service.instance.id"]
    assert (receiver.headers[0]["api-key"], receiver.headers[0]["other"]) == ("a=b", "1")
    assert receiver.headers[0]["content-type"] == "application/x-protobuf"


def test_a_collector_that_is_away_blocks_nothing_and_what_finds_no_room_is_counted() -> None:
    first = Receiver()
    port = first.server.server_port
    first.close()
    recorder = Recorder(f"otlp:http://127.0.0.1:{port}", capacity=10, batch=5, interval=0)
    recorder(finished("first", 0.1))
    while not recorder._writer.held:  # the first is on its way, and nobody is there
        os.sched_yield()
    for number in range(15):
        recorder(finished(f"tool {number}", 0.1))
    lost = recorder.lost

    receiver = Receiver(port)
    assert recorder.flush(60)
    recorder.close()
    receiver.close()

    assert lost == 5
    assert [span.name for span in receiver.spans] == [
        f"tools/call {name}" for name in ("first", *(f"tool {number}" for number in range(10)))
    ]
    assert receiver.metrics["failwell.lost"].sum.data_points[0].as_int == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_counts_from_nothing(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([FAILED])
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a process that was forked
    sink.write([FAILED])

    counts = [metric.sum.data_points[0].as_int for request in receiver.of("/v1/metrics")
              for metric in metrics_in(request) if metric.name == "failwell.failures"]  # fmt: skip
    names = {
        plain(one.resource_spans[0].resource.attributes)["service.instance.id"] for one in receiver.of("/v1/traces")
    }
    assert counts == [1, 1]
    assert len(names) == 2
    assert len({span.trace_id for span in receiver.spans}) == 2


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("otlp:", "otlp: needs the URL of a collector, such as otlp:http://127.0.0.1:4318"),
        ("otlp:127.0.0.1:4318", "otlp: needs the URL of a collector"),
        ("otlp:ftp://h", "otlp: needs the URL of a collector"),
        ("otlp:http://h:port", "otlp: needs the URL of a collector"),
        ("otlp:http://h?key=planted", "otlp: needs the URL of a collector"),
        ("otlp:http://u:planted@h", "the URL of a collector cannot contain a password"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        open_sink(address)

    assert "planted" not in str(caught.value)


def test_the_proxy_tells_a_collector(receiver: Receiver, tmp_path: Path) -> None:
    from tests.proxy.clients import Client as ProxiedClient

    with ProxiedClient("--events", f"otlp:{receiver.url}", "--name", "tasks") as client:
        client.call("act", n=1, do="fail:404 Not Found")

    assert [(span.name, plain(span.attributes)["failwell.source"]) for span in receiver.spans] == [
        ("tools/call act", "proxy")
    ]


def sessions_in(receiver: Receiver) -> list[tuple[int, float, dict[str, Any]]]:
    """Return how many sessions ended, how long they lasted together, and what they were."""
    points = receiver.metrics["mcp.server.session.duration"].histogram.data_points
    return [(point.count, point.sum, plain(point.attributes)) for point in points]


def test_the_proxy_measures_its_session(receiver: Receiver) -> None:
    from tests.proxy.clients import Client as ProxiedClient

    with ProxiedClient("--events", f"otlp:{receiver.url}", "--name", "tasks") as client:
        client.call("act", n=1)

    ((ended, seconds, attributes),) = sessions_in(receiver)
    assert ended == 1
    assert seconds > 0
    assert attributes["network.transport"] == "pipe"
    assert attributes["mcp.protocol.version"]
    assert "mcp.session.id" not in attributes


def test_a_gateway_measures_sessions_that_began_and_ended_there(receiver: Receiver) -> None:
    """Not one that began elsewhere, and not one whose end the server refused."""

    async def answer(request: web.Request) -> web.StreamResponse:
        message = await request.json() if request.method == "POST" else {}
        if request.method == "DELETE":
            return web.Response(status=405 if request.headers["Mcp-Session-Id"] == "planted-kept" else 200)
        id = message["params"].get("session", "planted-of-another-gateway")
        result = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}
        return web.json_response(result, headers={"Mcp-Session-Id": id})

    async def main() -> None:
        options = parse(["--url", url, "--listen", "127.0.0.1:0", "--events", f"otlp:{receiver.url}", "--quiet"])
        setup = Setup(options, f"otlp:{receiver.url}")
        async with listening(options, setup) as port, ClientSession(f"http://127.0.0.1:{port}") as client:
            for id in ("planted-ended", "planted-kept"):
                hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"session": id}}
                await (await client.post("/mcp", json=hello)).read()
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "act", "arguments": {}}}
            for id in ("planted-ended", "planted-kept", "planted-of-another-gateway"):
                headers = {"Mcp-Session-Id": id}
                await (await client.post("/mcp", json=call, headers=headers)).read()
                ping = {"jsonrpc": "2.0", "id": 3, "method": "ping", "params": {}}
                await (await client.post("/mcp", json=ping, headers=headers)).read()
                await (await client.delete("/mcp", headers=headers)).read()
        await asyncio.to_thread(setup.close)

    async def serve() -> None:
        nonlocal url
        async with scripted(answer) as base:
            url = f"{base}/mcp"
            await main()

    url = ""
    asyncio.run(serve())

    ((ended, seconds, attributes),) = sessions_in(receiver)
    assert ended == 1
    assert seconds >= 0
    assert attributes["network.transport"] == "tcp"
    assert "planted" not in str(receiver.got)


MADE = {"mcp.method.name": "tools/call"}
"""What an SDK writes on the span of a call that it makes."""


def test_a_call_that_the_sdk_has_a_span_for_gets_no_second_one_and_its_log_belongs_to_the_first(
    receiver: Receiver,
) -> None:
    tracer = TracerProvider().get_tracer("tests")
    with Recorder(f"otlp:{receiver.url}") as recorder, tracer.start_as_current_span("call", attributes=MADE) as span:
        recorder(finished("find", failure=MISSING))

    (log,) = receiver.logs
    assert receiver.spans == []
    assert log.span_id.hex() == f"{span.get_span_context().span_id:016x}"
    assert receiver.metrics["failwell.failures"].sum.data_points[0].as_int == 1


def test_a_call_below_a_span_of_the_application_is_a_child_of_that(receiver: Receiver) -> None:
    tracer = TracerProvider().get_tracer("tests")
    with Recorder(f"otlp:{receiver.url}") as recorder, tracer.start_as_current_span("work") as span:
        recorder(finished("find", failure=MISSING))

    (found,), (log,) = receiver.spans, receiver.logs
    assert found.trace_id.hex() == f"{span.get_span_context().trace_id:032x}"
    assert found.parent_span_id.hex() == f"{span.get_span_context().span_id:016x}"
    assert log.span_id == found.span_id


def test_a_call_is_below_the_span_that_its_request_names(receiver: Receiver) -> None:
    trace = CallTrace(trace_id="a" * 32, parent_id="b" * 16, attributes={"jsonrpc.request.id": "5"})
    with Recorder(f"otlp:{receiver.url}") as recorder:
        recorder(finished("find", trace=trace))

    (span,) = receiver.spans
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == ("a" * 32, "b" * 16)
    assert plain(span.attributes)["jsonrpc.request.id"] == "5"


def test_a_protected_server_tells_a_collector_what_its_request_says(receiver: Receiver) -> None:
    server = MCPServer("tasks")

    @server.tool()
    def find() -> str:
        raise fw.NotFound("There is no such task.")

    parent = f"00-{'c' * 32}-{'d' * 16}-01"

    async def call() -> None:
        async with Client(server) as client:
            await client.call_tool("find", {}, meta={"traceparent": parent})

    with Recorder(f"otlp:{receiver.url}") as recorder:
        fw.protect(server, observers=[recorder])
        asyncio.run(call())

    (log,) = receiver.logs  # whether there is a span too depends on who else traces in this process
    assert log.trace_id.hex() == "c" * 32
    assert {"jsonrpc.request.id", "mcp.protocol.version"} <= plain(log.attributes).keys()


def test_the_span_of_a_call_is_not_kept_in_a_file(tmp_path: Path) -> None:
    with Recorder(f"jsonl:{tmp_path}/calls.jsonl") as recorder:
        recorder(finished("find", trace=CallTrace(trace_id="a" * 32)))

    assert "a" * 32 not in (tmp_path / "calls.jsonl").read_text(encoding="utf-8")
