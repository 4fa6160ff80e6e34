"""Failures in OpenTelemetry: the span of the call says what failed, and metrics count it.

Needs the API only, and does nothing until the application sets up an SDK: `pip install 'failwell[otel]'`.
"""

from failwell import codes
from failwell.event import Event, Observer
from failwell.failure import Failure
from failwell.redact.scrubber import clean

try:
    from opentelemetry import metrics, trace
    from opentelemetry.trace import StatusCode
except ImportError as missing:
    raise ImportError("this needs opentelemetry-api: pip install 'failwell[otel]'") from missing

__all__ = ["enrich_span", "observer"]

_SCOPE = "failwell"
_METHOD = "tools/call"
_OTHER = "_OTHER"  # how the semantic conventions name a value outside a known set
_LONGEST_ID = 64
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)  # seconds, those of the conventions

Attributes = dict[str, str | bool]


def observer(
    *, spans: bool = True, counts: bool = True, meter_provider: metrics.MeterProvider | None = None
) -> Observer:
    """Return an observer for `protect` and `guard`, such as `protect(server, observers=[observer()])`.

    Args:
        spans: say on the span that is current when a call ends what failed. No span is started.
        counts: count failures in `failwell.failures` and measure calls in `mcp.server.operation.duration`.
        meter_provider: who makes the instruments; the global one if None.
    """
    parts: list[Observer] = []
    if spans:
        parts.append(enrich_span)
    if counts:
        parts.append(_counting(metrics.get_meter(_SCOPE, meter_provider=meter_provider)))

    def observe(event: Event) -> None:
        for part in parts:
            part(event)

    return observe


def enrich_span(event: Event) -> None:
    """Write on the current span what is known of a failure that ends a call; a warning becomes an event of the span.

    Only words from closed sets go there, and the id that stands in the log: no message, no argument.
    """
    failure = event.failure if event.has_failed else None
    span = trace.get_current_span()
    if failure is None or not span.is_recording():
        return
    attributes = _attributes(failure, event.tool)
    attributes["failwell.outcome"] = failure.outcome
    if failure.retryable is not None:
        attributes["failwell.retryable"] = failure.retryable
    if failure.id is not None:
        attributes["failwell.id"] = clean(failure.id, _LONGEST_ID)
    if failure.severity == "warning":
        span.add_event("failwell.warning", attributes)
        return
    span.set_attributes({"error.type": "tool_error", **attributes})
    span.set_status(StatusCode.ERROR)  # takes the place of a status whose text an SDK made of the exception


def _counting(meter: metrics.Meter) -> Observer:
    failures = meter.create_counter("failwell.failures", unit="{failure}", description="Tool calls that failed.")
    durations = meter.create_histogram(
        "mcp.server.operation.duration",
        unit="s",
        description="How long tool calls took.",
        explicit_bucket_boundaries_advisory=_BUCKETS,
    )

    def count(event: Event) -> None:
        if not event.ends_call:
            return
        failure = event.failure if event.has_failed else None
        called: Attributes = {"mcp.method.name": _METHOD, "gen_ai.tool.name": _tool(event)}
        if failure is not None and failure.severity != "warning":
            called["error.type"] = "tool_error"
            failures.add(1, {"gen_ai.tool.name": called["gen_ai.tool.name"], **_attributes(failure, event.tool)})
        if event.elapsed is not None:
            durations.record(event.elapsed, called)

    return count


def _attributes(failure: Failure, tool: str) -> Attributes:
    attributes: Attributes = {"failwell.type": failure.type}
    if failure.code is not None:
        row = codes.get(codes.canonical_code(failure.code, failure.tool or tool))
        attributes["failwell.code"] = row.code if row is not None else _OTHER
    return attributes


def _tool(event: Event) -> str:
    """Return the tool's name; one that does not exist was made up by the caller, and callers make up any number."""
    failure = event.failure
    return _OTHER if failure is not None and failure.code == "UNKNOWN_TOOL" else event.tool
