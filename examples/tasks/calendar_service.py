"""The calendar that the tasks are booked in, as it behaves on a bad day: a stand-in for a service elsewhere."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

BUSY = "busy"
FREE = "free"
SILENT = "silent"


class Calendar(ThreadingHTTPServer):
    """Answers as its mood says, and keeps what was booked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mood = FREE
        self.entries: list[dict[str, Any]] = []
        self.given_up = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        """Refuse connections from now on."""
        self.given_up.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Calendar

    def do_GET(self) -> None:
        self._answer([9, 10, 14])

    def do_POST(self) -> None:
        entry = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.mood != BUSY:
            self.server.entries.append(entry)
        self._answer(entry)

    def _answer(self, body: Any) -> None:
        if self.server.mood == SILENT:
            self.server.given_up.wait(30)
            return
        text = json.dumps(body).encode()
        self.send_response(429 if self.server.mood == BUSY else 200)
        if self.server.mood == BUSY:
            self.send_header("Retry-After", "30")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name of the standard library)
        """Keep quiet."""


@contextmanager
def running() -> Iterator[Calendar]:
    """Serve on a free port until the block is left."""
    with Calendar() as calendar:
        thread = Thread(target=calendar.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield calendar
        finally:
            calendar.stop()
            thread.join()
