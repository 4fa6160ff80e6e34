"""`Metrics`: calls, failures and retries for Prometheus; `MetricsServer`: the page that it scrapes, and health checks.

The dashboard shows what a store has recorded in the same way.

Needs `pip install 'failwell[metrics]'`. Labels hold words from closed sets and the names of tools and servers: no
message and no argument.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from failwell import codes
from failwell.event import SUCCEEDED, Event

try:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
    from prometheus_client.core import GaugeMetricFamily
except ImportError as missing:
    raise ImportError("this needs prometheus-client: pip install 'failwell[metrics]'") from missing

__all__ = ["Metrics", "MetricsServer"]

_OTHER = "_OTHER"
_MOST_TOOLS = 500
_REQUEST_TIMEOUT = 10.0
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)  # seconds, those of OpenTelemetry for MCP


class Instrument(NamedTuple):
    """A row of the table of metrics."""

    name: str
    description: str
    labels: tuple[str, ...]


_CALL = ("source", "server", "tool")
CALLS = Instrument("failwell_calls_total", "Finished tool calls, by result.", (*_CALL, "result"))
FAILURES = Instrument("failwell_failures_total", "Tool calls that failed.", (*_CALL, "type", "code", "outcome"))
RETRIES = Instrument("failwell_retries_total", "Tries that failed and were made again.", (*_CALL, "type"))
OTHERS = Instrument("failwell_events_total", "Other events, by kind.", ("source", "server", "kind"))
SECONDS = Instrument("failwell_call_duration_seconds", "Duration of tool calls, including retries.", _CALL)
_RECORDED = "of all that the store has counted; it may shrink when a verdict changes"
RECORDED_CALLS = Instrument("failwell_recorded_calls", f"Tool calls, {_RECORDED}.", _CALL)
RECORDED_FAILED = Instrument(
    "failwell_recorded_failed_calls", f"Tool calls that failed, {_RECORDED}.", (*_CALL, "type", "code")
)
RECORDED_FAILURES = Instrument("failwell_recorded_failures", f"Failures by verdict, {_RECORDED}.", (*_CALL, "verdict"))
RECORDED_LOST = Instrument("failwell_recorded_lost_events", "Events that recorders had no room for.", ())
UNCOUNTED = Instrument("failwell_uncounted_events", "Events that the dashboard has not counted yet.", ())
OF_STORES = (RECORDED_CALLS, RECORDED_FAILED, RECORDED_FAILURES, RECORDED_LOST, UNCOUNTED)
INSTRUMENTS = (CALLS, FAILURES, RETRIES, OTHERS, SECONDS, *OF_STORES)
"""Every metric. A test compares the dashboards and alerts that we ship with it."""


class Metrics:
    """Counts events: an observer for servers and a hook for agents.

    `fw.protect(server, observers=[Metrics()])`, `fw.install(hook=Metrics())`. It may be called from any thread.

    Args:
        server: the name of the server in labels, where events do not give one.
        registry: where the metrics are registered; a new one if None. `prometheus_client.REGISTRY` adds them to those
            of your application.
    """

    def __init__(self, *, server: str = "", registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        self._server = server
        self._tools: set[str] = set()
        self._calls, self._failures, self._retries, self._others = (
            Counter(one.name, one.description, one.labels, registry=self.registry)
            for one in (CALLS, FAILURES, RETRIES, OTHERS)
        )
        self._seconds = Histogram(
            SECONDS.name, SECONDS.description, SECONDS.labels, buckets=_BUCKETS, registry=self.registry
        )

    def __call__(self, event: Event) -> None:
        """Count an event."""
        server = event.server or self._server
        call = (event.source, server, self._tool(event))
        failure = event.failure
        if event.ends_call:
            result = "failure" if event.has_failed else "success" if event.kind in SUCCEEDED else "cancelled"
            self._calls.labels(*call, result).inc()
            if event.elapsed is not None:
                self._seconds.labels(*call).observe(event.elapsed)
            if event.has_failed and failure is not None:
                code = _code(failure.code, failure.tool or event.tool)
                self._failures.labels(*call, failure.type, code, failure.outcome).inc()
        elif event.kind == "retry":
            self._retries.labels(*call, failure.type if failure else "").inc()
        if event.kind not in ("success", "failure", "retry"):
            self._others.labels(event.source, server, event.kind).inc()

    def _tool(self, event: Event) -> str:
        failure = event.failure
        return _tool_label(event.tool, self._tools, is_unknown=failure is not None and failure.code == "UNKNOWN_TOOL")


def _tool_label(tool: str, known: set[str], *, is_unknown: bool) -> str:
    """Return the tool's name; callers make up any number of them, so those that do not exist share one."""
    if not tool or tool in known:
        return tool
    if is_unknown or len(known) >= _MOST_TOOLS:
        return _OTHER
    known.add(tool)
    return tool


def _code(code: str | None, tool: str) -> str:
    """Return a code as a label: codes are an open set, so those that the catalog does not know share one."""
    if code is None:
        return ""
    row = codes.get(codes.canonical_code(code, tool))
    return _OTHER if row is None else row.code


Sample = tuple[Instrument, Mapping[str, str], float]
"""A row of the table of metrics, its labels, and a figure."""


def store_page(samples: Iterable[Sample]) -> tuple[str, bytes]:
    """Return the type and the text of a page of figures of a store, in which equal labels are added up.

    A tool that does not exist has no name.
    """
    sums: dict[Instrument, dict[tuple[str, ...], float]] = {one: defaultdict(float) for one in OF_STORES}
    known: set[str] = set()
    for instrument, labels, figure in samples:
        safe = dict(labels)
        if "tool" in safe:
            safe["tool"] = _tool_label(safe["tool"] or _OTHER, known, is_unknown=not safe["tool"])
        if "code" in safe:
            safe["code"] = _code(safe["code"] or None, labels["tool"])
        sums[instrument][tuple(safe[name] for name in instrument.labels)] += float(figure)

    class Figures:
        def collect(self) -> Iterator[GaugeMetricFamily]:
            for instrument, found in sums.items():
                family = GaugeMetricFamily(instrument.name, instrument.description, labels=instrument.labels)
                for labels, figure in found.items():
                    family.add_metric(labels, figure)
                yield family

    registry = CollectorRegistry()
    registry.register(Figures())
    return CONTENT_TYPE_LATEST, generate_latest(registry)


class MetricsServer:
    """Answers `/metrics`, `/healthz` (the process runs) and `/readyz` (it takes calls) on an address of its own.

    Args:
        address: host and port; port 0 takes a free one.
        registry: what `/metrics` shows.
        is_ready: asked for `/readyz`.

    Raises:
        OSError: the address is not free.
    """

    def __init__(
        self, address: tuple[str, int], registry: CollectorRegistry, *, is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _REQUEST_TIMEOUT  # a client that sends nothing is not waited for any longer

            def do_GET(self) -> None:
                status, kind, body = _page(self.path.partition("?")[0], registry, is_ready)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class calls it so
                """Write no line for each request."""

        self._server = ThreadingHTTPServer(address, Handler)
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, name="failwell metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _page(path: str, registry: CollectorRegistry, is_ready: Callable[[], bool]) -> tuple[HTTPStatus, str, bytes]:
    if path == "/metrics":
        return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry)
    found = {"/healthz": True, "/readyz": is_ready()}.get(path)
    status = HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK if found else HTTPStatus.SERVICE_UNAVAILABLE
    return status, "text/plain; charset=utf-8", f"{status.phrase.lower()}\n".encode()
