"""`Faults`: an upstream service on loopback that fails as you choose, so that real clients raise real errors."""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

_LONGEST_HEAD = 65_536
_POLL = 0.02


class Request(NamedTuple):
    """A request that the upstream received."""

    method: str
    path: str
    body: bytes


class _Listening(NamedTuple):
    listener: socket.socket
    thread: threading.Thread
    stopped: threading.Event


class Faults:
    """An HTTP server on loopback that answers every request in one way, until it is told another.

    It begins with an empty success. Point the code under test at `url`.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._port = 0
        self._listening: _Listening | None = None
        self._now = (_answering(200, {}, b"{}"), threading.Event())
        self._listen()

    def __enter__(self) -> "Faults":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the upstream is."""
        return f"http://127.0.0.1:{self._port}"

    def answer(self, status: int = 200, body: Any = b"{}", headers: dict[str, str] | None = None) -> None:
        """Answer with a status, and with a body: bytes, text, or what JSON can say."""
        text = body if isinstance(body, bytes | str) else json.dumps(body)
        content = text.encode() if isinstance(text, str) else text
        self._become(_answering(status, headers or {}, content))

    def rate_limited(self, retry_after: int | str = 30) -> None:
        """Answer 429 with a `Retry-After` header."""
        self.answer(429, {"error": "too many requests"}, {"Retry-After": str(retry_after)})

    def broken(self, status: int = 500) -> None:
        """Answer with a server error."""
        self.answer(status, {"error": "internal"})

    def garbage(self) -> None:
        """Answer with bytes that are not HTTP."""
        self._become(_sending(b"\x00\x01 this is not HTTP\r\n\r\n"))

    def not_json(self) -> None:
        """Answer 200 with a page where JSON is due."""
        self.answer(200, "<html>down for maintenance</html>", {"Content-Type": "application/json"})

    def cut_off(self) -> None:
        """Begin to answer, and close the connection in the middle."""
        self._become(_sending(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this"))

    def silent(self) -> None:
        """Take requests and never answer: the client's own timeout has to end them."""
        self._become(_waiting)

    def reset(self) -> None:
        """Take requests and reset the connection."""
        self._become(_resetting)

    def refused(self) -> None:
        """Refuse connections, as if nobody listened."""
        self._become(_waiting)
        self._stop_listening()

    def close(self) -> None:
        """End the upstream and every connection to it."""
        self._ended.set()
        self._now[1].set()
        self._stop_listening()
        for thread in self._threads:
            thread.join()

    def _become(self, behave: "_Behaviour") -> None:
        before, self._now = self._now, (behave, threading.Event())
        before[1].set()
        if self._listening is None:
            self._listen()

    def _listen(self) -> None:
        listener = socket.create_server(("127.0.0.1", self._port))
        listener.settimeout(_POLL)
        self._port = listener.getsockname()[1]
        stopped = threading.Event()
        thread = threading.Thread(target=self._accept, args=(listener, stopped), daemon=True, name="failwell upstream")
        self._listening = _Listening(listener, thread, stopped)
        thread.start()

    def _stop_listening(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            # A thread that still waits for connections would take one more after the socket is closed.
            listening.stopped.set()
            listening.thread.join()
            listening.listener.close()

    def _accept(self, listener: socket.socket, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True, name="failwell upstream")
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            connection.settimeout(_POLL)
            request = self._received(connection)
            if request is not None:
                self.requests.append(request)
                behave, changed = self._now
                behave(connection, changed)

    def _received(self, connection: socket.socket) -> Request | None:
        data = b""
        length = 0
        while True:
            head, separator, body = data.partition(b"\r\n\r\n")
            if separator:
                length = _length(head)
            if separator and len(body) >= length:
                method, path, *_ = head.split(b"\r\n")[0].decode("latin-1").split(" ")
                return Request(method, path, body)
            if self._ended.is_set() or len(head) > _LONGEST_HEAD:
                return None
            try:
                part = connection.recv(_LONGEST_HEAD)
            except TimeoutError:
                continue
            if not part:
                return None
            data += part


_Behaviour = Callable[[socket.socket, threading.Event], None]


def _answering(status: int, headers: dict[str, str], body: bytes) -> _Behaviour:
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return _sending("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)


def _sending(data: bytes) -> _Behaviour:
    def behave(connection: socket.socket, _: threading.Event) -> None:
        connection.settimeout(None)
        connection.sendall(data)

    return behave


def _waiting(_: socket.socket, changed: threading.Event) -> None:
    changed.wait()


def _resetting(connection: socket.socket, _: threading.Event) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0
