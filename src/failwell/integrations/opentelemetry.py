"""Failures in OpenTelemetry: the span of the call says what failed, and metrics count it.

Needs the API only, and does nothing until the application sets up an SDK: `pip install 'failwell[otel]'`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Literal

from failwell import codes
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
    TOOL_NAME,
    TYPE,
    Attribute,
    CallTrace,
    error_attributes,
)
from failwell.event import Event, Observer
from failwell.failure import Failure
from failwell.redact.scrubber import clean

try:
    from opentelemetry import metrics, propagate, trace
    from opentelemetry.context import Context
    from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags
except ImportError as missing:
    raise ImportError("this needs opentelemetry-api: pip install 'failwell[otel]'") from missing

__all__ = ["enrich_span", "observer"]

_SCOPE = "failwell"
_LONGEST_ID, _LONGEST_ATTRIBUTE = 64, 200
_KINDS = {"client": SpanKind.CLIENT, "server": SpanKind.SERVER}

Attributes = dict[str, Attribute]


def observer(
    *,
    spans: bool = True,
    counts: bool = True,
    meter_provider: metrics.MeterProvider | None = None,
    tracer_provider: trace.TracerProvider | None = None,
) -> Observer:
    """Return an observer for `protect` and `guard`, such as `protect(server, observers=[observer()])`, or a hook.

    Args:
        spans: say on the span of a call what failed. It is that of the SDK; on mcp 1, which has none, one is started.
        counts: count failures in `failwell.failures` and measure calls in `mcp.server.operation.duration` or, in an
            agent, `mcp.client.operation.duration`.
        meter_provider: who makes the instruments; the global one if None.
        tracer_provider: who makes the spans; the global one if None.
    """
    parts: list[Observer] = []
    if counts:
        parts.append(_counting(metrics.get_meter(_SCOPE, meter_provider=meter_provider)))
    if not spans:
        return parts[0] if parts else _ignore
    return _SpanObserver(parts, trace.get_tracer(_SCOPE, tracer_provider=tracer_provider))


def _ignore(_: Event) -> None:
    """Do nothing."""


class _SpanObserver:
    """Writes on spans, and starts those of calls for SDKs that start none."""

    def __init__(self, parts: list[Observer], tracer: trace.Tracer) -> None:
        self._parts = parts
        self._tracer = tracer

    def __call__(self, event: Event) -> None:
        enrich_span(event)
        for part in self._parts:
            part(event)

    @contextmanager
    def start_span(
        self, side: Literal["client", "server"], tool: str, call: CallTrace | None
    ) -> Generator[dict[str, str]]:
        """Have a call run in a span, below the one that its request names, and give what to send on in `_meta`."""
        carrier: dict[str, str] = {}
        attributes: Attributes = {METHOD_NAME: CALL, OPERATION_NAME: EXECUTE_TOOL, TOOL_NAME: tool}
        with self._tracer.start_as_current_span(
            f"{CALL} {tool}",
            context=_parent(call),
            kind=_KINDS[side],
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ):
            propagate.inject(carrier)
            yield carrier


def _parent(call: CallTrace | None) -> Context | None:
    """Return the context of the parent that a request names; None: that of the span that is current, if any."""
    if call is None or not call.parent_id:
        return None
    flags = TraceFlags(TraceFlags.SAMPLED if call.is_sampled else TraceFlags.DEFAULT)
    parent = SpanContext(int(call.trace_id, 16), int(call.parent_id, 16), is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(NonRecordingSpan(parent))


def enrich_span(event: Event) -> None:
    """Write on the current span what is known of a failure that ends a call; a warning becomes an event of the span.

    Only words from closed sets go there, what the request says of itself, and the id that stands in the log: no
    message, no argument. In an agent whose SDK ends the span of a call before anybody else learns of it, the current
    span is another one: it gets an event, and is not called failed.
    """
    span = trace.get_current_span()
    if not span.is_recording() or not event.ends_call:
        return
    is_of_call = event.source == "server" or METHOD_NAME in (getattr(span, "attributes", None) or {})
    if is_of_call and event.trace is not None:
        span.set_attributes({name: _cut(value) for name, value in event.trace.attributes.items()})
    failure = event.failure if event.has_failed else None
    if failure is None:
        return
    attributes = _attributes(failure, event.tool)
    attributes[OUTCOME] = failure.outcome
    if failure.retryable is not None:
        attributes[RETRYABLE] = failure.retryable
    if failure.id is not None:
        attributes[ID] = clean(failure.id, _LONGEST_ID)
    if failure.severity == "warning" or not is_of_call:
        name = "failwell.warning" if failure.severity == "warning" else "failwell.failure"
        span.add_event(name, attributes if is_of_call else {TOOL_NAME: _tool(event), **attributes})
        return
    span.set_attributes({**_errors(event, failure), **attributes})
    span.set_status(StatusCode.ERROR)  # takes the place of a status whose text an SDK made of the exception


def _errors(event: Event, failure: Failure) -> Attributes:
    return error_attributes(failure.details, is_answer=event.source == "server")


def _cut(value: Attribute) -> Attribute:
    return clean(value, _LONGEST_ATTRIBUTE) if isinstance(value, str) else value


def _counting(meter: metrics.Meter) -> Observer:
    failures = meter.create_counter("failwell.failures", unit="{failure}", description="Tool calls that failed.")
    durations = {
        side: meter.create_histogram(
            name,
            unit="s",
            description="Duration of tool calls.",
            explicit_bucket_boundaries_advisory=list(BUCKETS),
        )
        for side, name in DURATIONS.items()
    }

    def count(event: Event) -> None:
        if not event.ends_call:
            return
        failure = event.failure if event.has_failed else None
        called: Attributes = {METHOD_NAME: CALL, TOOL_NAME: _tool(event)}
        if failure is not None and failure.severity != "warning":
            called |= _errors(event, failure)
            failures.add(1, {TOOL_NAME: called[TOOL_NAME], **_attributes(failure, event.tool)})
        if event.elapsed is not None:
            durations["client" if event.source in ("client", "retry") else "server"].record(event.elapsed, called)

    return count


def _attributes(failure: Failure, tool: str) -> Attributes:
    attributes: Attributes = {TYPE: failure.type}
    if failure.code is not None:
        row = codes.get(codes.canonical_code(failure.code, failure.tool or tool))
        attributes[CODE] = row.code if row is not None else OTHER
    return attributes


def _tool(event: Event) -> str:
    """Return the tool's name; one that does not exist was made up by the caller, and callers make up any number."""
    failure = event.failure
    return OTHER if failure is not None and failure.code == "UNKNOWN_TOOL" else event.tool
