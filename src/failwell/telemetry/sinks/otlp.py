"""Records to any collector of OpenTelemetry, over HTTP: `pip install 'failwell[otlp]'`.

Calls are spans, what went wrong are logs, and all of it is counted: `otlp:http://127.0.0.1:4318`.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import unquote, urlsplit

from failwell.telemetry.record import Record
from failwell.telemetry.sinks.otlp_figures import Figures
from failwell.telemetry.sinks.otlp_forms import Forms, pairs

try:
    from opentelemetry.proto.resource.v1.resource_pb2 import Resource
except ImportError as missing:
    raise ImportError("this needs opentelemetry-proto: pip install 'failwell[otlp]'") from missing

_log = logging.getLogger("failwell")

_PATIENCE = 10.0
_LONGEST_ANSWER = 1 << 16
_CONNECTIONS: dict[str, Callable[..., HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
_NO_URL = "otlp: needs the URL of a collector, such as otlp:http://127.0.0.1:4318"


class Refused(Exception):
    """The collector answered that it does not take what it was sent."""


def open_address(address: str) -> "Collector":
    """Return the collector at an address such as `otlp:http://127.0.0.1:4318`.

    What else to send, such as a key, is read from `OTEL_EXPORTER_OTLP_HEADERS`, and what the process is called from
    `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, as by all of OpenTelemetry.

    Raises:
        ValueError: nobody could connect to such an address.
    """
    return Collector(address.partition(":")[2])


class Collector:
    """Sends records to a collector, each batch over a connection of its own, so that a fork shares none.

    Args:
        url: where it listens; the paths of the three signals are added.
        environment: where headers and names are looked up.
        clock: tells seconds since 1970.
    """

    def __init__(self, url: str, *, environment: Any = os.environ, clock: Callable[[], float] = time.time) -> None:
        self._scheme, self._host, self._port, self._path = _parts(url)
        self._headers = {"Content-Type": "application/x-protobuf", **_listed(environment, "OTEL_EXPORTER_OTLP_HEADERS")}
        self._environment = environment
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        resource = Resource(attributes=pairs(dict(_names(self._environment))))
        self._forms = Forms(resource, os.urandom(16))
        self._figures = Figures(resource, self._clock())
        self._half_sent: tuple[tuple[int, ...], int] = ((), 0)

    def write(self, batch: Sequence[Record], /) -> None:
        """Send spans, logs and figures. What was sent already is not sent again if the same batch comes back."""
        if self._process != os.getpid():
            self._begin()  # what was counted before the fork is told by the process that counted it
        key = tuple(map(id, batch))
        done = self._half_sent[1] if self._half_sent[0] == key else 0
        requests = [("traces", self._forms.spans(batch)), ("logs", self._forms.logs(batch))]
        connection = self._connection()
        try:
            for signal, request in requests[done:]:
                if request is not None:
                    self._post(connection, signal, request)
                done += 1
                self._half_sent = key, done
            self._half_sent = (), 0
            self._figures.add(batch)
            self._send_figures(connection)
        finally:
            connection.close()

    def close(self) -> None:
        """Nothing is kept open."""

    def _send_figures(self, connection: HTTPConnection) -> None:
        request = self._figures.request(self._clock())
        if request is not None:
            try:
                self._post(connection, "metrics", request)
            except (OSError, HTTPException, Refused):
                # They are totals: the next ones tell these too.
                _log.debug("figures could not be sent", exc_info=True)

    def _connection(self) -> HTTPConnection:
        return _CONNECTIONS[self._scheme](self._host, self._port, timeout=_PATIENCE)

    def _post(self, connection: HTTPConnection, signal: str, request: Any) -> None:
        connection.request("POST", f"{self._path}/v1/{signal}", request.SerializeToString(), self._headers)
        answer = connection.getresponse()
        answer.read(_LONGEST_ANSWER)
        if not 200 <= answer.status < 300:
            raise Refused(f"the collector answered {answer.status} to {signal}")


def _parts(url: str) -> tuple[str, str, int | None, str]:
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


def _names(environment: Any) -> Iterator[tuple[str, str]]:
    """Yield what the process is called; two of the same name are told apart by their instance."""
    given = _listed(environment, "OTEL_RESOURCE_ATTRIBUTES")
    name = environment.get("OTEL_SERVICE_NAME") or given.get("service.name") or "failwell"
    yield from {"service.instance.id": os.urandom(8).hex(), **given, "service.name": name}.items()


def _listed(environment: Any, name: str) -> dict[str, str]:
    """Return a list of pairs as OpenTelemetry writes it: `key=value,other=value`, percent-encoded."""
    found: dict[str, str] = {}
    for pair in environment.get(name, "").split(","):
        key, sign, value = pair.partition("=")
        if sign and key.strip():
            found[unquote(key.strip())] = unquote(value.strip())
    return found
