"""Records sent to an OpenTelemetry collector as spans, logs and metrics: `pip install 'failwell[otlp]'`.

Each call is a span, each other event a log entry, and metrics count both: `otlp:http://127.0.0.1:4318`.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit

from failwell import codes
from failwell._log import log
from failwell.event import ENDS, FAILED
from failwell.records._record import Record

try:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
    from opentelemetry.proto.metrics.v1.metrics_pb2 import (
        AggregationTemporality,
        Histogram,
        HistogramDataPoint,
        Metric,
        NumberDataPoint,
        ResourceMetrics,
        ScopeMetrics,
        Sum,
    )
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
except ImportError as missing:
    raise ImportError("this needs opentelemetry-proto: pip install 'failwell[otlp]'") from missing


SCOPE = InstrumentationScope(name="failwell")
METHOD = "tools/call"
TOOL_ERROR = "tool_error"
Value = str | bool | int | float | None

_SPAN_KINDS = {"client": Span.SPAN_KIND_CLIENT}
"""All other sources are servers."""
_SEVERITIES = {
    **dict.fromkeys(("failure", "refused", "flipped", "died", "lost"), SeverityNumber.SEVERITY_NUMBER_ERROR),
    **dict.fromkeys(("recovered", "repaired", "fallback", "restarted"), SeverityNumber.SEVERITY_NUMBER_INFO),
}
_NO_LOG = frozenset(("success",))

_BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: the boundaries that the conventions give for the duration of MCP's operations."""
_MOST_SERIES = 2000
_OVERFLOW = (("otel.metric.overflow", True),)
"""OpenTelemetry's name for the series of everything beyond the bound."""
_OTHER = "_OTHER"
_CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

_Key = tuple[tuple[str, Value], ...]
# Name, unit and description.
_COUNTERS = {
    "failwell.failures": ("{failure}", "Tool calls that failed."),
    "failwell.events": ("{event}", "What happened beside plain successes, by kind."),
    "failwell.lost": ("{record}", "Records that found no room."),
}
_DURATIONS = {
    "mcp.client.operation.duration": "How long tool calls took, as who asked saw it.",
    "mcp.server.operation.duration": "How long tool calls took, as who answered saw it.",
}

_TIMEOUT = 10.0
_LONGEST_RESPONSE = 1 << 16
_CONNECTIONS: dict[str, Callable[..., HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
_NO_URL = "otlp: needs the URL of a collector, such as otlp:http://127.0.0.1:4318"


class SpanEncoder:
    """Makes spans and log entries: those of one call have the same ids.

    Args:
        resource: the name of the process.
        salt: makes the ids of two processes differ, whatever their sessions are called.
    """

    def __init__(self, resource: Resource, salt: bytes) -> None:
        self._resource = resource
        self._salt = salt

    def spans(self, batch: Iterable[Record]) -> ExportTraceServiceRequest | None:
        """Return a span for each call that ended, or None."""
        found = [self._span(record) for record in batch if record.kind in ENDS]
        if not found:
            return None
        scoped = ScopeSpans(scope=SCOPE, spans=found)
        return ExportTraceServiceRequest(resource_spans=[ResourceSpans(resource=self._resource, scope_spans=[scoped])])

    def logs(self, batch: Iterable[Record]) -> ExportLogsServiceRequest | None:
        """Return a log entry for each event but a plain success, or None."""
        found = [self._log(record) for record in batch if record.kind not in _NO_LOG]
        if not found:
            return None
        scoped = ScopeLogs(scope=SCOPE, log_records=found)
        return ExportLogsServiceRequest(resource_logs=[ResourceLogs(resource=self._resource, scope_logs=[scoped])])

    def _span(self, record: Record) -> Span:
        trace_id, span_id = self._ids(record)
        end = nanoseconds(record.time)
        return Span(
            trace_id=trace_id,
            span_id=span_id,
            name=f"{METHOD} {record.tool}".strip(),
            kind=_SPAN_KINDS.get(record.source, Span.SPAN_KIND_SERVER),
            start_time_unix_nano=max(end - nanoseconds(record.elapsed or 0.0), 0),
            end_time_unix_nano=end,
            attributes=pairs(_call_attributes(record) | {"failwell.attempts": record.attempt}),
            status=Status(code=Status.STATUS_CODE_ERROR if record.kind in FAILED else Status.STATUS_CODE_UNSET),
        )

    def _log(self, record: Record) -> LogRecord:
        is_of_a_call = bool(record.call)
        trace_id, span_id = self._ids(record) if is_of_a_call else (b"", b"")
        severity = _SEVERITIES.get(record.kind, SeverityNumber.SEVERITY_NUMBER_WARN)
        about = _call_attributes(record) if is_of_a_call else _origin(record)
        more: dict[str, Value] = {
            "failwell.attempt": record.attempt if is_of_a_call else None,
            "failwell.delay": record.delay,
            "failwell.reason": record.reason,
            **{f"failwell.details.{name}": value for name, value in record.details.items() if _is_scalar(value)},
        }
        return LogRecord(
            time_unix_nano=nanoseconds(record.time),
            observed_time_unix_nano=nanoseconds(record.time),
            severity_number=severity,
            severity_text=SeverityNumber.Name(severity).removeprefix("SEVERITY_NUMBER_"),
            event_name=f"failwell.{record.kind}",
            body=AnyValue(string_value=record.message or record.reason or record.kind),
            attributes=pairs(about | more),
            trace_id=trace_id,
            span_id=span_id,
        )

    def _ids(self, record: Record) -> tuple[bytes, bytes]:
        key = "\0".join((record.session, record.source, record.server, record.tool, record.call))
        digest = blake2b(key.encode("utf-8", "replace"), digest_size=24, key=self._salt).digest()
        return digest[:16], digest[16:]


def _origin(record: Record) -> dict[str, Value]:
    return {
        "failwell.source": record.source,
        "failwell.session": record.session or None,
        "failwell.server": record.server or None,
        "gen_ai.tool.name": record.tool or None,
    }


def _call_attributes(record: Record) -> dict[str, Value]:
    return {
        "mcp.method.name": METHOD,
        "gen_ai.operation.name": "execute_tool",
        **_origin(record),
        "failwell.kind": record.kind,
        "error.type": TOOL_ERROR if record.kind in FAILED else None,
        "failwell.type": record.type,
        "failwell.code": record.code,
        "failwell.outcome": record.outcome,
        "failwell.retryable": record.retryable,
        "failwell.id": record.id,
        "failwell.advice": record.decision,
    }


def pairs(values: Mapping[str, Value]) -> list[KeyValue]:
    """Return attributes, without those that are None."""
    return [KeyValue(key=key, value=_any_value(value)) for key, value in values.items() if value is not None]


def nanoseconds(seconds: float) -> int:
    """Return a time as OpenTelemetry counts it, 0 if it makes no sense."""
    return int(seconds * 1e9) if 0 <= seconds < 1e10 else 0


def _any_value(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case _:
            return AnyValue(string_value=value or "")


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | bool | int | float)


class _Durations:
    """The durations of the calls of one series."""

    __slots__ = ("buckets", "largest", "smallest", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0
        self.smallest, self.largest = float("inf"), 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(_BOUNDS, seconds)] += 1
        self.total += seconds
        self.smallest, self.largest = min(self.smallest, seconds), max(self.largest, seconds)


class MetricEncoder:
    """Counts records in a bounded number of series, and makes metrics of the counts.

    Args:
        resource: the name of the process.
        began: when counting began, in seconds since 1970.
    """

    def __init__(self, resource: Resource, began: float) -> None:
        self._resource = resource
        self._began = nanoseconds(began)
        self._counts: dict[str, dict[_Key, int]] = {name: {} for name in _COUNTERS}
        self._durations: dict[str, dict[_Key, _Durations]] = {name: {} for name in _DURATIONS}

    def add(self, batch: Iterable[Record]) -> None:
        """Count records."""
        for record in batch:
            where = _series_of(record)
            if record.kind in ENDS and record.elapsed is not None:
                side = "client" if record.source == "client" else "server"
                errors = (("error.type", TOOL_ERROR),) if record.kind in FAILED else ()
                key = (("mcp.method.name", METHOD), *where, *errors)
                series = self._durations[f"mcp.{side}.operation.duration"]
                key = key if key in series or len(series) < _MOST_SERIES else _OVERFLOW
                series.setdefault(key, _Durations()).add(record.elapsed)
            if record.kind in FAILED:
                self._count(
                    "failwell.failures", (*where, ("failwell.type", record.type), ("failwell.code", _code(record)))
                )
            if record.kind == "lost":
                self._count("failwell.lost", (), _lost(record))
            elif record.kind != "success":
                self._count("failwell.events", (*where, ("failwell.kind", record.kind)))

    def request(self, now: float) -> ExportMetricsServiceRequest | None:
        """Return all counts up to now, or None if there are none."""
        at = nanoseconds(now)
        found = [*self._sums(at), *self._histograms(at)]
        if not found:
            return None
        scoped = ScopeMetrics(scope=SCOPE, metrics=found)
        whole = ResourceMetrics(resource=self._resource, scope_metrics=[scoped])
        return ExportMetricsServiceRequest(resource_metrics=[whole])

    def _count(self, name: str, key: _Key, count: int = 1) -> None:
        series = self._counts[name]
        key = key if key in series or len(series) < _MOST_SERIES else _OVERFLOW
        series[key] = series.get(key, 0) + count

    def _sums(self, at: int) -> Iterable[Metric]:
        for name, series in self._counts.items():
            points = [
                NumberDataPoint(
                    attributes=pairs(dict(key)), start_time_unix_nano=self._began, time_unix_nano=at, as_int=count
                )
                for key, count in series.items()
            ]
            if points:
                unit, description = _COUNTERS[name]
                value = Sum(data_points=points, aggregation_temporality=_CUMULATIVE, is_monotonic=True)
                yield Metric(name=name, unit=unit, description=description, sum=value)

    def _histograms(self, at: int) -> Iterable[Metric]:
        for name, series in self._durations.items():
            points = [
                HistogramDataPoint(
                    attributes=pairs(dict(key)),
                    start_time_unix_nano=self._began,
                    time_unix_nano=at,
                    count=sum(seen.buckets),
                    sum=seen.total,
                    bucket_counts=seen.buckets,
                    explicit_bounds=_BOUNDS,
                    min=seen.smallest,
                    max=seen.largest,
                )
                for key, seen in series.items()
            ]
            if points:
                value = Histogram(data_points=points, aggregation_temporality=_CUMULATIVE)
                yield Metric(name=name, unit="s", description=_DURATIONS[name], histogram=value)


def _series_of(record: Record) -> _Key:
    """Return what a series is about. Unknown tools share one series: callers can make up any number of names."""
    tool = _OTHER if record.code == "UNKNOWN_TOOL" else record.tool
    return (("failwell.source", record.source), ("failwell.server", record.server), ("gen_ai.tool.name", tool))


def _code(record: Record) -> str | None:
    return None if record.code is None else record.code if codes.get(record.code) is not None else _OTHER


def _lost(record: Record) -> int:
    count = record.details.get("count")
    return count if isinstance(count, int) else 1


class ExportRefused(Exception):
    """The collector did not accept what it was sent."""


def open_sink(address: str) -> "OtlpSink":
    """Return the sink of the collector at an address such as `otlp:http://127.0.0.1:4318`.

    Headers, such as a key, are read from `OTEL_EXPORTER_OTLP_HEADERS`, and the name of the process from
    `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, as everywhere in OpenTelemetry.

    Raises:
        ValueError: it is no address of a collector.
    """
    return OtlpSink(address.partition(":")[2])


class OtlpSink:
    """Sends records to a collector, each batch over a new connection, so that forked processes share none.

    Args:
        url: where it listens; the paths of the three signals are added.
        environment: where to look up headers and names.
        clock: returns seconds since 1970.
    """

    def __init__(self, url: str, *, environment: Any = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._scheme, self._host, self._port, self._path = _split_url(url)
        self._headers = {
            "Content-Type": "application/x-protobuf",
            **_read_pairs(environment, "OTEL_EXPORTER_OTLP_HEADERS"),
        }
        self._environment = environment
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        resource = Resource(attributes=pairs(dict(_resource_attributes(self._environment))))
        self._spans = SpanEncoder(resource, os.urandom(16))
        self._metrics = MetricEncoder(resource, self._clock())
        self._partly_sent: tuple[tuple[int, ...], int] = ((), 0)

    def write(self, batch: Sequence[Record], /) -> None:
        """Send spans, logs and metrics. If the same batch comes back, what was already sent is not sent again."""
        if self._process != os.getpid():
            self._begin()  # the parent process reports what was counted before the fork
        key = tuple(map(id, batch))
        done = self._partly_sent[1] if self._partly_sent[0] == key else 0
        requests = [("traces", self._spans.spans(batch)), ("logs", self._spans.logs(batch))]
        connection = self._connection()
        try:
            for signal, request in requests[done:]:
                if request is not None:
                    self._post(connection, signal, request)
                done += 1
                self._partly_sent = key, done
            self._partly_sent = (), 0
            self._metrics.add(batch)
            self._send_metrics(connection)
        finally:
            connection.close()

    def close(self) -> None:
        """Nothing is kept open."""

    def _send_metrics(self, connection: HTTPConnection) -> None:
        request = self._metrics.request(self._clock())
        if request is not None:
            try:
                self._post(connection, "metrics", request)
            except (OSError, HTTPException, ExportRefused):
                # They are totals: the next ones include these.
                log.debug("metrics could not be sent", exc_info=True)

    def _connection(self) -> HTTPConnection:
        return _CONNECTIONS[self._scheme](self._host, self._port, timeout=_TIMEOUT)

    def _post(self, connection: HTTPConnection, signal: str, request: Any) -> None:
        connection.request("POST", f"{self._path}/v1/{signal}", request.SerializeToString(), self._headers)
        response = connection.getresponse()
        response.read(_LONGEST_RESPONSE)
        if not 200 <= response.status < 300:
            raise ExportRefused(f"the collector answered {response.status} to {signal}")


def _split_url(url: str) -> tuple[str, str, int | None, str]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_NO_URL) from None
    if parts.scheme not in _CONNECTIONS or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(_NO_URL)
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL of a collector holds no password: give a header in OTEL_EXPORTER_OTLP_HEADERS")
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _resource_attributes(environment: Any) -> Iterator[tuple[str, str]]:
    """Yield the attributes that name the process; its instance tells it from others of the same name."""
    given = _read_pairs(environment, "OTEL_RESOURCE_ATTRIBUTES")
    name = environment.get("OTEL_SERVICE_NAME") or given.get("service.name") or "failwell"
    yield from {"service.instance.id": os.urandom(8).hex(), **given, "service.name": name}.items()


def _read_pairs(environment: Any, name: str) -> dict[str, str]:
    """Return pairs from a variable as OpenTelemetry writes them: `key=value,other=value`, percent-encoded."""
    found: dict[str, str] = {}
    for pair in environment.get(name, "").split(","):
        key, sign, value = pair.partition("=")
        if sign and key.strip():
            found[unquote(key.strip())] = unquote(value.strip())
    return found
