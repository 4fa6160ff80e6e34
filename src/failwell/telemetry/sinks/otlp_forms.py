"""Records as OpenTelemetry's spans and logs, by its conventions for MCP: `pip install 'failwell[otlp]'`."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from failwell.telemetry.record import ENDS, FAILED, Record

try:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs, SeverityNumber
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
except ImportError as missing:
    raise ImportError("this needs opentelemetry-proto: pip install 'failwell[otlp]'") from missing

SCOPE = InstrumentationScope(name="failwell")
METHOD = "tools/call"
TOOL_ERROR = "tool_error"
Value = str | bool | int | float | None

_SPAN_KINDS = {"client": Span.SPAN_KIND_CLIENT}
"""Who asks; all others answer."""
_SEVERITIES = {
    **dict.fromkeys(("failure", "refused", "flipped", "died", "lost"), SeverityNumber.SEVERITY_NUMBER_ERROR),
    **dict.fromkeys(("recovered", "repaired", "fallback", "restarted"), SeverityNumber.SEVERITY_NUMBER_INFO),
}
_NO_LOG = frozenset(("success",))


class Forms:
    """Makes spans and logs that belong together: those of one call have the same ids.

    Args:
        resource: what the process is called.
        salt: what makes the ids of two processes differ, whatever their sessions are called.
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
        """Return an entry for each thing that is more than a plain success, or None."""
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
            attributes=pairs(_call(record) | {"failwell.attempts": record.attempt}),
            status=Status(code=Status.STATUS_CODE_ERROR if record.kind in FAILED else Status.STATUS_CODE_UNSET),
        )

    def _log(self, record: Record) -> LogRecord:
        is_of_a_call = bool(record.call)
        trace_id, span_id = self._ids(record) if is_of_a_call else (b"", b"")
        severity = _SEVERITIES.get(record.kind, SeverityNumber.SEVERITY_NUMBER_WARN)
        about = _call(record) if is_of_a_call else _where(record)
        more: dict[str, Value] = {
            "failwell.attempt": record.attempt if is_of_a_call else None,
            "failwell.delay": record.delay,
            "failwell.reason": record.reason,
            **{f"failwell.details.{name}": value for name, value in record.details.items() if _is_plain(value)},
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


def _where(record: Record) -> dict[str, Value]:
    return {
        "failwell.source": record.source,
        "failwell.session": record.session or None,
        "failwell.server": record.server or None,
        "gen_ai.tool.name": record.tool or None,
    }


def _call(record: Record) -> dict[str, Value]:
    return {
        "mcp.method.name": METHOD,
        "gen_ai.operation.name": "execute_tool",
        **_where(record),
        "failwell.kind": record.kind,
        "error.type": TOOL_ERROR if record.kind in FAILED else None,
        "failwell.type": record.type,
        "failwell.code": record.code,
        "failwell.outcome": record.outcome,
        "failwell.retryable": record.retryable,
        "failwell.id": record.id,
        "failwell.decision": record.decision,
    }


def pairs(values: Mapping[str, Value]) -> list[KeyValue]:
    """Return attributes, without those that are None."""
    return [KeyValue(key=key, value=_any(value)) for key, value in values.items() if value is not None]


def nanoseconds(seconds: float) -> int:
    """Return a time as OpenTelemetry counts it; one that makes no sense is 0."""
    return int(seconds * 1e9) if 0 <= seconds < 1e10 else 0


def _any(value: Value) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case _:
            return AnyValue(string_value=value or "")


def _is_plain(value: object) -> bool:
    return isinstance(value, str | bool | int | float)
