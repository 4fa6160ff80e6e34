"""Records sent to an OpenTelemetry collector as spans, logs and metrics: `pip install 'failwell[otlp]'`.

Each call is a span, each other event a log entry, and metrics count both: `otlp:http://127.0.0.1:4318`. OpenTelemetry's
own SDK encodes and sends them. The thread that writes records calls it, since a processor of the SDK would drop what
finds no room, and say nothing.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec.structs import replace

from failwell import codes
from failwell._log import log
from failwell._trace import (
    BUCKETS,
    CALL,
    CODE,
    DURATIONS,
    EXECUTE_TOOL,
    ID,
    METHOD_NAME,
    OPERATION_NAME,
    OTHER,
    OUTCOME,
    RETRYABLE,
    SESSIONS,
    TOOL_NAME,
    TYPE,
    Attribute,
    CallTrace,
    error_attributes,
)
from failwell.event import ENDS, FAILED, Event
from failwell.records._record import Record, TracedRecord

try:
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk._logs import ReadableLogRecord
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, get_current_span
    from requests import PreparedRequest, RequestException, Response, Session
    from requests.adapters import HTTPAdapter
except ImportError as missing:
    raise ImportError("this needs OpenTelemetry's SDK and exporters: pip install 'failwell[otlp]'") from missing


SCOPE = InstrumentationScope("failwell")
_SEVERITIES = {
    **dict.fromkeys(("failure", "refused", "flipped", "died", "lost"), SeverityNumber.ERROR),
    **dict.fromkeys(("recovered", "repaired", "verified", "fallback", "restarted", "cancelled"), SeverityNumber.INFO),
}
_NO_LOG = frozenset(("success",))
# Name, unit and description.
_COUNTERS = {
    "failwell.failures": ("{failure}", "Tool calls that failed."),
    "failwell.events": ("{event}", "Events other than plain successes, by kind."),
    "failwell.lost": ("{record}", "Records dropped for lack of room."),
}
_DURATIONS = {
    DURATIONS["client"]: "Duration of tool calls, as seen by the caller.",
    DURATIONS["server"]: "Duration of tool calls, as seen by the server.",
    SESSIONS["server"]: "Duration of finished sessions, as seen by the server.",
}
_TIMEOUT = 10.0
_SCHEMES = ("http", "https")
_NO_URL = "otlp: needs the URL of a collector, such as otlp:http://127.0.0.1:4318"

# A collector that is away is told by the recorder, once; whoever set up logging sees the lines of the SDK too.
logging.getLogger("opentelemetry.exporter").addHandler(logging.NullHandler())


class ExportRefused(Exception):
    """The collector did not accept what it was sent, or was not there."""


def open_sink(address: str) -> "OtlpSink":
    """Return the sink of the collector at an address such as `otlp:http://127.0.0.1:4318`.

    Headers, certificates, compression and the name of the process are read from the environment, as everywhere in
    OpenTelemetry: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`.

    Raises:
        ValueError: it is not the address of a collector.
    """
    return OtlpSink(address.partition(":")[2])


class OtlpSink:
    """Sends records to a collector.

    Args:
        url: where it listens; the paths of the three signals are added.
    """

    def __init__(self, url: str) -> None:
        self._url = _checked(url)
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._salt = os.urandom(16)  # makes the ids of two processes differ, whatever their sessions are called
        self._resource = _resource()
        self._metrics = MetricCounter(self._resource)
        self._adapter = OneTryAdapter()
        session = Session()
        for scheme in _SCHEMES:
            session.mount(f"{scheme}://", self._adapter)
        self._session = session
        self._send_spans = OTLPSpanExporter(f"{self._url}/v1/traces", timeout=_TIMEOUT, session=session).export
        self._send_logs = OTLPLogExporter(f"{self._url}/v1/logs", timeout=_TIMEOUT, session=session).export
        to_metrics: Any = OTLPMetricExporter(f"{self._url}/v1/metrics", timeout=_TIMEOUT, session=session)
        self._send_metrics: Callable[[Any], Any] = to_metrics.export
        self._partly_sent: tuple[tuple[int, ...], int] = ((), 0)
        self._has_unsent = False

    def write(self, batch: Sequence[Record], /) -> None:
        """Send spans, logs and metrics. If the same batch comes back, what was already sent is not sent again.

        Raises:
            ExportRefused: the collector did not take the spans, or the logs.
        """
        if self._process != os.getpid():
            self._begin()  # the parent process reports what was counted before the fork
        key = tuple(map(id, batch))
        done = self._partly_sent[1] if self._partly_sent[0] == key else 0
        spans = [span for record in batch if (span := self._span(record)) is not None]
        logs = [self._log(record) for record in batch if record.kind not in _NO_LOG]
        signals: list[tuple[str, Callable[[Any], Any], list[Any]]] = [
            ("traces", self._send_spans, spans),
            ("logs", self._send_logs, logs),
        ]
        for signal, send, found in signals[done:]:
            if found:
                self._check(signal, send(found))
            done += 1
            self._partly_sent = key, done
        self._partly_sent = (), 0
        self._metrics.add(batch)
        self._export_metrics()

    def end_session(self, seconds: float, attributes: dict[str, Attribute]) -> None:
        """Measure a session that ended. It is sent with the next batch, or at the end; any thread may call this."""
        self._metrics.end_session(seconds, attributes)
        self._has_unsent = True

    def close(self) -> None:
        """Send what is measured of sessions, and close connections that are kept open."""
        if self._has_unsent and self._process == os.getpid():
            self._export_metrics()
        self._session.close()

    def _export_metrics(self) -> None:
        self._has_unsent = False
        if (totals := self._metrics.totals()) is not None and not _is_success(self._send_metrics(totals)):
            # They are totals: the next ones include these.
            log.debug("metrics could not be sent: %s", self._adapter.problem)

    def find_trace(self, event: Event) -> CallTrace | None:
        """Return where an event of this process stands in its trace: in the span that is current; None: in none.

        If the SDK of MCP has a span for the call, that is the call's, and ours would count it twice.
        """
        span = get_current_span()
        context = span.get_span_context()
        attributes = {} if event.trace is None else event.trace.attributes
        if not context.is_valid or event.source in ("proxy", "recorder"):
            return event.trace
        is_of_call = is_mcp_span(span) if event.source == "server" else _has_sdk_spans()
        found = CallTrace(
            trace_id=f"{context.trace_id:032x}", is_sampled=context.trace_flags.sampled, attributes=attributes
        )
        span_id = f"{context.span_id:016x}"
        return replace(found, span_id=span_id, is_recording=True) if is_of_call else replace(found, parent_id=span_id)

    def _check(self, signal: str, result: Any) -> None:
        if not _is_success(result):
            raise ExportRefused(f"{self._adapter.problem or 'the collector did not accept'} to {signal}")

    def _span(self, record: Record) -> ReadableSpan | None:
        """Return the span of a call that ended; None if it did not, or another library sends it, or nobody wants it."""
        trace = _trace_of(record)
        if record.kind not in ENDS or (trace is not None and (trace.is_recording or not trace.is_sampled)):
            return None
        end = _nanoseconds(record.time)
        context = self._context(record)
        parent_id = "" if trace is None else trace.parent_id
        return ReadableSpan(
            name=f"{CALL} {record.tool}".strip(),
            context=context,
            parent=_span_context(context.trace_id, int(parent_id, 16), is_remote=True) if parent_id else None,
            resource=self._resource,
            attributes=_set(_call_attributes(record) | {"failwell.attempts": record.attempt}),
            kind=SpanKind.CLIENT if record.source == "client" else SpanKind.SERVER,
            status=Status(StatusCode.ERROR if record.kind in FAILED else StatusCode.UNSET),
            start_time=max(end - _nanoseconds(record.elapsed or 0.0), 0),
            end_time=end,
            instrumentation_scope=SCOPE,
        )

    def _log(self, record: Record) -> ReadableLogRecord:
        context = self._context(record) if record.call else None
        severity = _SEVERITIES.get(record.kind, SeverityNumber.WARN)
        about = _origin(record) if context is None else _call_attributes(record)
        more: dict[str, Attribute | None] = {
            "failwell.attempt": None if context is None else record.attempt,
            "failwell.delay": record.delay,
            "failwell.reason": record.reason,
            **{f"failwell.details.{name}": value for name, value in record.details.items() if _is_scalar(value)},
        }
        entry = LogRecord(
            timestamp=_nanoseconds(record.time),
            observed_timestamp=_nanoseconds(record.time),
            severity_number=severity,
            severity_text=severity.name,
            body=record.message or record.reason or record.kind,
            attributes=_set(about | more),
            event_name=f"failwell.{record.kind}",
        )
        # What the constructor takes for them is deprecated, and a context would hold a span for each entry.
        entry.trace_id, entry.span_id = (0, 0) if context is None else (context.trace_id, context.span_id)
        entry.trace_flags = TraceFlags(0) if context is None else context.trace_flags
        return ReadableLogRecord(entry, self._resource, SCOPE)

    def _context(self, record: Record) -> SpanContext:
        """Return the ids of the span of a call: its own, or such that all records of the call have the same."""
        key = "\0".join((record.session, record.source, record.server, record.tool, record.call))
        digest = blake2b(key.encode("utf-8", "replace"), digest_size=24, key=self._salt).hexdigest()
        trace = _trace_of(record)
        trace_id = digest[:32] if trace is None or not trace.trace_id else trace.trace_id
        span_id = digest[32:] if trace is None or not trace.span_id else trace.span_id
        return _span_context(int(trace_id, 16), int(span_id, 16))


class OneTryAdapter(HTTPAdapter):
    """Sends a request once: it is the recorder who tries again, and knows when the process ends.

    Attributes:
        problem: why the last request failed; None: it did not.
    """

    problem: str | None = None

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Send a request.

        Raises:
            ExportRefused: nobody answered, or what was answered is no success. The exporter takes any other error for a
                reason to try again.
        """
        try:
            response = super().send(request, *args, **kwargs)
        except RequestException as failed:
            self.problem = f"the collector did not answer ({type(failed).__name__})"
            raise ExportRefused(self.problem) from None
        self.problem = None if response.ok else f"the collector answered {response.status_code}"
        if self.problem is not None:
            raise ExportRefused(self.problem)
        return response


class MetricCounter:
    """Counts records with the SDK's instruments, which bound the number of series.

    Args:
        resource: the name of the process.
    """

    def __init__(self, resource: Resource) -> None:
        self._reader = InMemoryMetricReader()
        meter = MeterProvider([self._reader], resource, shutdown_on_exit=False).get_meter("failwell")
        self._counters = {
            name: meter.create_counter(name, unit=unit, description=said) for name, (unit, said) in _COUNTERS.items()
        }
        self._durations = {
            name: meter.create_histogram(
                name, unit="s", description=said, explicit_bucket_boundaries_advisory=list(BUCKETS)
            )
            for name, said in _DURATIONS.items()
        }

    def add(self, batch: Iterable[Record]) -> None:
        """Count records."""
        counters = self._counters
        for record in batch:
            where = _series_of(record)
            errors = _error_attributes(record)
            if record.kind in ENDS and record.elapsed is not None:
                name = DURATIONS["client" if record.source == "client" else "server"]
                self._durations[name].record(record.elapsed, {METHOD_NAME: CALL, **where, **errors})
            if record.kind in FAILED:
                counters["failwell.failures"].add(1, _set({**where, TYPE: record.type, CODE: _code(record)}))
            if record.kind == "lost":
                counters["failwell.lost"].add(_lost(record))
            elif record.kind != "success":
                counters["failwell.events"].add(1, {**where, "failwell.kind": record.kind})

    def end_session(self, seconds: float, attributes: dict[str, Attribute]) -> None:
        """Measure a session."""
        self._durations[SESSIONS["server"]].record(seconds, attributes)

    def totals(self) -> Any:
        """Return all counts up to now, or None if there are none."""
        return self._reader.get_metrics_data()


def is_mcp_span(span: Any) -> bool:
    """Return whether a span is that of an MCP request, as the conventions name it."""
    attributes = getattr(span, "attributes", None)
    return attributes is not None and METHOD_NAME in attributes


def _has_sdk_spans() -> bool:
    """Return whether clients of the SDK in use have spans of their own: those of mcp 1 have none."""
    return "mcp_types" in sys.modules  # which only mcp 2 stands on


def _trace_of(record: Record) -> CallTrace | None:
    return record.trace if isinstance(record, TracedRecord) else None


def _span_context(trace_id: int, span_id: int, *, is_remote: bool = False) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote, TraceFlags(TraceFlags.SAMPLED))


def _is_success(result: Any) -> bool:
    return cast(bool, result.name == "SUCCESS")


def _origin(record: Record) -> dict[str, Attribute | None]:
    return {
        "failwell.source": record.source,
        "failwell.session": record.session or None,
        "failwell.server": record.server or None,
        TOOL_NAME: record.tool or None,
    }


def _call_attributes(record: Record) -> dict[str, Attribute | None]:
    trace = _trace_of(record)
    return {
        METHOD_NAME: CALL,
        OPERATION_NAME: EXECUTE_TOOL,
        **({} if trace is None else trace.attributes),
        **_origin(record),
        "failwell.kind": record.kind,
        **_error_attributes(record),
        TYPE: record.type,
        CODE: record.code,
        OUTCOME: record.outcome,
        RETRYABLE: record.retryable,
        ID: record.id,
        "failwell.advice": record.decision,
    }


def _error_attributes(record: Record) -> dict[str, Attribute]:
    if record.kind not in FAILED:
        return {}
    return error_attributes((record.failure or {}).get("details"), is_answer=record.source == "guard")


def _set(values: dict[str, Attribute | None]) -> dict[str, Attribute]:
    """Return attributes, without those that are None."""
    return {name: value for name, value in values.items() if value is not None}


def _nanoseconds(seconds: float) -> int:
    """Return a time as OpenTelemetry counts it, 0 if it makes no sense."""
    return int(seconds * 1e9) if 0 <= seconds < 1e10 else 0


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | bool | int | float)


def _series_of(record: Record) -> dict[str, Attribute]:
    """Return what a series is about. Unknown tools share one series: callers can make up any number of names."""
    tool = OTHER if record.code == "UNKNOWN_TOOL" else record.tool
    return {"failwell.source": record.source, "failwell.server": record.server, TOOL_NAME: tool}


def _code(record: Record) -> str | None:
    return None if record.code is None else record.code if codes.get(record.code) is not None else OTHER


def _lost(record: Record) -> int:
    count = record.details.get("count")
    return count if isinstance(count, int) else 1


def _resource() -> Resource:
    """Return what names the process, as the environment says; its instance tells it from others of the same name."""
    named = Resource.create({"service.instance.id": os.urandom(8).hex()})
    is_unnamed = str(named.attributes.get("service.name", "")).startswith("unknown_service")
    return named.merge(Resource({"service.name": "failwell"})) if is_unnamed else named


def _checked(url: str) -> str:
    """Return a URL without the slash at its end.

    Raises:
        ValueError: it is not the URL of a collector, or it contains a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_NO_URL) from None
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.query or parts.fragment or port == 0:
        raise ValueError(_NO_URL)
    if parts.username is not None or parts.password is not None:
        raise ValueError("the URL of a collector cannot contain a password: set a header in OTEL_EXPORTER_OTLP_HEADERS")
    return url.rstrip("/")
