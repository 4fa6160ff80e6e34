"""An MCP server over streamable HTTP on loopback that fails as it is told, with real sockets and no library.

A tool has a list of what its calls meet, one after another, the last for good. A call that is executed leaves an
effect, whatever becomes of its answer.
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
UNKNOWN_METHOD = {"error": {"code": -32601, "message": "Method not found"}}


class Answer(NamedTuple):
    """The tool runs, and this is the text of its result."""

    text: str


class Refusal(NamedTuple):
    """The tool does not run: an HTTP error."""

    status: int
    headers: Mapping[str, str] = {}
    body: str = ""
    media_type: str = "text/plain"


class Reset(NamedTuple):
    """The connection is reset instead of an answer; the tool has run or not."""

    after_effect: bool = True


class Cut(NamedTuple):
    """The tool runs, and its answer ends in the middle."""

    events: bool = False  # as a stream of events, else as one JSON document


class Restart(NamedTuple):
    """The server has just been started anew: it knows no session any more."""


class Hang(NamedTuple):
    """The tool runs, and nothing is answered until the server is stopped."""


class Unusable(NamedTuple):
    """The tool runs, and the answer is no JSON."""


class Call(NamedTuple):
    """A call that reached the server: when, in seconds of a monotonic clock, and in which session."""

    tool: str
    at: float
    session: str | None


class FaultServer:
    """Tools by name, and what their calls meet. `calls` and `effects` say what reached the server and what ran."""

    def __init__(self, *, sessions: bool = True) -> None:
        self.tools: dict[str, dict[str, Any]] = {}
        self.meets: dict[str, list[Any]] = {}
        self.requests: dict[str, list[Any]] = {}
        self.calls: list[Call] = []
        self.effects: list[str] = []
        self.methods: list[str] = []
        self.notifications: list[str] = []
        self.called = threading.Event()
        self._has_sessions = sessions
        self._sessions: set[str] = set()
        self._number = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._stopped = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    def tool(self, name: str, *meets: Any, **described: Any) -> None:
        """Add a tool and what its calls meet."""
        self.tools[name] = {"name": name, "inputSchema": {"type": "object"}, **described}
        self.meets[name] = list(meets)

    def on(self, method: str, *meets: Any) -> None:
        """Let requests of another method meet something first, such as a refusal; then they are answered."""
        self.requests[method] = list(meets)

    def count(self, tool: str) -> int:
        return sum(call.tool == tool for call in self.calls)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve until the block ends."""
        self.start()
        try:
            yield self.url
        finally:
            self.stop()

    def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        faults = self

        class Handler(_Handler):
            server_faults = faults

        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Listen no more, and break what is open. What is called hereafter is refused."""
        if self._server is None:
            return
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        with self._lock:
            left = list(self._open)
        for connection in left:
            _reset(connection)
        self._server = None

    def reserve(self) -> str:
        """Return an address at which nobody listens; `start` listens there."""
        self.start()
        self.stop()
        return self.url

    def forget_sessions(self) -> None:
        """Know no session any more, as after a restart."""
        with self._lock:
            self._sessions.clear()

    def begin_session(self) -> str:
        with self._lock:
            self._number += 1
            name = f"session-{self._number}"
            self._sessions.add(name)
        return name

    def knows(self, session: str | None) -> bool:
        with self._lock:
            return not self._has_sessions or session in self._sessions

    @property
    def has_sessions(self) -> bool:
        return self._has_sessions

    def meet(self, message: dict[str, Any], session: str | None) -> Any:
        """Return what a request meets."""
        method, params = message["method"], message.get("params") or {}
        with self._lock:
            self.methods.append(method)
            if first := self.requests.get(method):
                return first.pop(0)
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                version = wanted if wanted in VERSIONS else VERSIONS[0]
                about = {"serverInfo": {"name": "stacks", "version": "1"}, "capabilities": {"tools": {}}}
                return {"result": {"protocolVersion": version, **about}}
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": list(self.tools.values())}}
            case "tools/call":
                return self._call(params["name"], session)
            case _:
                return UNKNOWN_METHOD

    def _call(self, tool: str, session: str | None) -> Any:
        with self._lock:
            self.calls.append(Call(tool, time.monotonic(), session))
            meets = self.meets[tool]
            met = meets[min(self.count(tool), len(meets)) - 1]
            has_effect = met.after_effect if isinstance(met, Reset) else not isinstance(met, Refusal | Restart)
            if has_effect:
                self.effects.append(tool)
        self.called.set()
        if isinstance(met, Restart):
            self.forget_sessions()
            return Refusal(404, {}, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}',
                           "application/json")  # fmt: skip
        return met

    def hang(self) -> None:
        self._stopped.wait()

    @contextmanager
    def open_connection(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Say nothing of connections that were broken on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_faults: FaultServer

    def handle(self) -> None:
        with self.server_faults.open_connection(self.connection):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._send(405, b"", "text/plain", {"Allow": "POST, DELETE"})

    def do_DELETE(self) -> None:
        self._send(200, b"", "text/plain", {})

    def do_POST(self) -> None:
        faults = self.server_faults
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session, method = self.headers.get("Mcp-Session-Id"), message.get("method")
        if "id" not in message:
            faults.notifications.append(method)
        if method not in ("initialize", "server/discover") and faults.has_sessions and not faults.knows(session):
            self._send(404, b"", "text/plain", {})
            return
        if "id" not in message:
            self._send(202, b"", "text/plain", {})
            return
        met = faults.meet(message, session)
        headers = {"Mcp-Session-Id": faults.begin_session()} if method == "initialize" and faults.has_sessions else {}
        match met:
            case Refusal(status, more, body, media_type):
                self._send(status, body.encode(), media_type, dict(more))
            case Reset():
                _reset(self.connection)
                self.close_connection = True
            case Hang():
                faults.hang()
                self.close_connection = True
            case Cut(events=events):
                body = _reply(message["id"], _result("a long answer " * 50))
                body = b"event: message\ndata: " + body + b"\n\n" if events else body
                kind = "text/event-stream" if events else "application/json"
                self._send(200, body[: len(body) // 2], kind, headers, length=None if events else len(body))
                self.close_connection = True
            case Unusable():
                self._send(200, b"<html>", "application/json", headers)
            case Answer(text):
                self._send(200, _reply(message["id"], _result(text)), "application/json", headers)
            case _:
                self._send(200, _reply(message["id"], met), "application/json", headers)

    def _send(
        self, status: int, body: bytes, media_type: str, headers: dict[str, str], *, length: int | None = -1
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        self.end_headers()
        self.wfile.write(body)


def _result(text: str) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": False}}


def _reply(request_id: Any, answer: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, **answer}).encode()


def _reset(connection: socket.socket) -> None:
    """Break a connection so that the other side hears of a reset, not of an end."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    except OSError:
        pass
