"""A collector of OpenTelemetry gets calls as spans, what went wrong as logs, and figures; nobody waits for it."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import failwell as fw
from failwell.records import Record, Recorder, _otlp, open_sink
from failwell.records._otlp import ExportRefused, OtlpSink
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
                    receiver.headers.append(dict(self.headers))
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
        last = self.of("/v1/metrics")[-1]
        return {metric.name: metric for one in last.resource_metrics for scope in one.scope_metrics
                for metric in scope.metrics}  # fmt: skip


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


def test_the_page_names_every_attribute_of_a_span_and_every_metric(receiver: Receiver) -> None:
    page = (Path(__file__).parents[2] / "docs" / "telemetry.md").read_text(encoding="utf-8")
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([msgspec.structs.replace(FAILED, id="f218efac7821")])

    names = [*plain(receiver.spans[0].attributes), *_otlp._COUNTERS, *_otlp._DURATIONS]
    assert "failwell.id" in names
    assert [name for name in names if f"`{name}`" not in page] == []


def test_figures_are_totals_since_the_beginning(receiver: Receiver) -> None:
    sink = OtlpSink(receiver.url, clock=lambda: 50.0)
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
    assert by_error[None].start_time_unix_nano == 50_000_000_000


def test_callers_cannot_make_any_number_of_series(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_otlp, "_MOST_SERIES", 3)
    unknown = fw.Failure(code="UNKNOWN_TOOL", message="There is no such tool.")
    sink = open_sink(f"otlp:{receiver.url}")
    sink.write([record(1.0, tool=f"t{number}", call=f"{number}", elapsed=0.1) for number in range(9)])
    sink.write([record(1.0, "failure", unknown, tool=f"x{number}", call=f"{number}") for number in range(9)])

    points = receiver.metrics["mcp.client.operation.duration"].histogram.data_points
    assert [one.count for one in points] == [1, 1, 1, 6]
    assert plain(points[-1].attributes) == {"otel.metric.overflow": True}
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


def test_the_process_is_called_as_the_environment_says(receiver: Receiver) -> None:
    environment = {
        "OTEL_SERVICE_NAME": "agents",
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=x,deployment.environment.name=test%20lab,broken",
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%3Db, other = 1 ,",
    }
    OtlpSink(f"{receiver.url}/", environment=environment).write([FAILED])
    OtlpSink(receiver.url, environment={}).write([FAILED])

    first, second = (plain(one.resource_spans[0].resource.attributes) for one in receiver.of("/v1/traces"))
    assert (first["service.name"], first["deployment.environment.name"]) == ("agents", "test lab")
    assert second["service.name"] == "failwell"
    assert first["service.instance.id"] != second["service.instance.id"]
    assert (receiver.headers[0]["api-key"], receiver.headers[0]["other"]) == ("a=b", "1")
    assert receiver.headers[0]["Content-Type"] == "application/x-protobuf"


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

    counts = [one.resource_metrics[0].scope_metrics[0].metrics[0].sum.data_points[0].as_int
              for one in receiver.of("/v1/metrics")]  # fmt: skip
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
        ("otlp:http://u:planted@h", "the URL of a collector holds no password"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused(address: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        open_sink(address)

    assert "planted" not in str(caught.value)


def test_the_proxy_tells_a_collector(receiver: Receiver, tmp_path: Path) -> None:
    from tests.proxy.clients import Client

    with Client("--events", f"otlp:{receiver.url}", "--name", "tasks") as client:
        client.call("act", n=1, do="fail:404 Not Found")

    assert [(span.name, plain(span.attributes)["failwell.source"]) for span in receiver.spans] == [
        ("tools/call act", "proxy")
    ]
