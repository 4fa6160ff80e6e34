"""The services the shop depends on, such as a catalogue and a bank: they run on loopback and fail realistically."""

import sqlite3
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from failwell.demo.scenes import story_time

PENALTY = 15
"""Seconds of the story that the catalogue asks for; a call that comes earlier starts them anew."""

_SILENCE = 5.0


def record_effect(file: Path, effect: str, about: str) -> None:
    """Write down that something happened which cannot be undone."""
    with closing(sqlite3.connect(file)) as journal, journal:
        journal.execute("INSERT INTO effects VALUES (?, ?)", (effect, about))


class _ServiceHandler(BaseHTTPRequestHandler):
    """Answers a request by its path."""

    @property
    def services(self) -> "Services":
        """The services that the request was sent to."""
        assert isinstance(self.server, Services)
        return self.server

    def do_GET(self) -> None:
        """Answer, be silent, or refuse."""
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        answers = {
            "/products": self._products,
            "/rates": self._rates,
            "/parcels": self._parcels,
            "/mails": self._accept,
            "/charges": self._accept,
        }
        answers[url.path](query)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name that the base class gives
        """Say nothing: standard error belongs to the server."""

    def _products(self, query: dict[str, str]) -> None:
        earlier, self.services.last_request = self.services.last_request, story_time()
        if earlier is None or self.services.last_request - earlier < PENALTY:
            self._answer(429, "Too Many Requests", ("Retry-After", str(PENALTY)))
        else:
            self._answer(200, f"1 product: {query['words']}, 12 pieces")

    def _rates(self, query: dict[str, str]) -> None:
        if self._is_first():
            self._be_silent()
        else:
            self._answer(200, f"1 EUR = 11.42 {query['currency']}")

    def _parcels(self, query: dict[str, str]) -> None:
        if self._is_first():
            self._answer(503, "Service Unavailable")
        else:
            self._answer(200, f"{query['parcel']} is in Oslo")

    def _accept(self, query: dict[str, str]) -> None:
        """Do what was asked, and never say so."""
        record_effect(self.services.file, urlsplit(self.path).path.strip("/"), " ".join(query.values()))
        self._be_silent()

    def _is_first(self) -> bool:
        path = urlsplit(self.path).path
        is_first = path not in self.services.seen_paths
        self.services.seen_paths.add(path)
        return is_first

    def _be_silent(self) -> None:
        self.services.ended.wait(_SILENCE)

    def _answer(self, status: int, text: str, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(text.encode())))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())


class Services(ThreadingHTTPServer):
    """The services, listening from the start; `stop` ends them."""

    daemon_threads = True

    def __init__(self, file: Path) -> None:
        super().__init__(("127.0.0.1", 0), _ServiceHandler)
        self.file = file
        self.last_request: float | None = None
        self.ended = threading.Event()
        self.seen_paths: set[str] = set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        """Where they listen."""
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        """End the services, also those that are silent."""
        self.ended.set()
        self.shutdown()
        self.server_close()
