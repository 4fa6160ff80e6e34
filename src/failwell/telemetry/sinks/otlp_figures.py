"""`Figures`: what was counted and measured since the process began, as OpenTelemetry's metrics."""

from bisect import bisect_left
from collections.abc import Iterable

from failwell import catalog
from failwell.telemetry.record import ENDS, FAILED, Record
from failwell.telemetry.sinks.otlp_forms import METHOD, SCOPE, TOOL_ERROR, Value, nanoseconds, pairs

try:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
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
except ImportError as missing:
    raise ImportError("this needs opentelemetry-proto: pip install 'failwell[otlp]'") from missing

_BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: the boundaries that the conventions give for the duration of MCP's operations."""
_MOST_SERIES = 2000
_OVERFLOW = (("otel.metric.overflow", True),)
"""What OpenTelemetry calls the series of all that has no room for one of its own."""
_OTHER = "_OTHER"
_CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

_Key = tuple[tuple[str, Value], ...]
# Name, unit and what it tells.
_COUNTERS = {
    "failwell.failures": ("{failure}", "Tool calls that failed."),
    "failwell.events": ("{event}", "What happened beside plain successes, by kind."),
    "failwell.lost": ("{record}", "Records that found no room."),
}
_DURATIONS = {
    "mcp.client.operation.duration": "How long tool calls took, as who asked saw it.",
    "mcp.server.operation.duration": "How long tool calls took, as who answered saw it.",
}


class _Durations:
    """How long calls of one series took."""

    __slots__ = ("buckets", "largest", "smallest", "total")

    def __init__(self) -> None:
        self.buckets = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0
        self.smallest, self.largest = float("inf"), 0.0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(_BOUNDS, seconds)] += 1
        self.total += seconds
        self.smallest, self.largest = min(self.smallest, seconds), max(self.largest, seconds)


class Figures:
    """Adds records up, in a bounded number of series.

    Args:
        resource: what the process is called.
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
            where = _where(record)
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
        """Return all that was counted up to now, or None if nothing was."""
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


def _where(record: Record) -> _Key:
    """Return what a series is about; a tool that does not exist was made up, and callers make up any number."""
    tool = _OTHER if record.code == "UNKNOWN_TOOL" else record.tool
    return (("failwell.source", record.source), ("failwell.server", record.server), ("gen_ai.tool.name", tool))


def _code(record: Record) -> str | None:
    return None if record.code is None else record.code if catalog.get(record.code) is not None else _OTHER


def _lost(record: Record) -> int:
    count = record.details.get("count")
    return count if isinstance(count, int) else 1
