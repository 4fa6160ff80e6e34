"""What the proxy benchmark does with a server over standard input and output: calls in a row, many at once, a start."""

import os
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path

HELLO = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"1"}}}\n'
)
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
CALL = (
    b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"path":"/srv/data/a.txt"}}}\n'
)
TICK = os.sysconf("SC_CLK_TCK")


class Connection:
    """A started command that speaks MCP; a context manager that ends it."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._held = b""
        self._last = 1
        self.request(HELLO)
        self.first_answer = time.perf_counter() - self.started

    def __enter__(self) -> "Connection":
        self._write(READY)
        self.request(LIST)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def latencies(self, tool: bytes, number: int) -> list[float]:
        """Return how long each of so many calls in a row took, in seconds."""
        found: list[float] = []
        for line in self._calls(tool, number):
            start = time.perf_counter()
            self.request(line)
            found.append(time.perf_counter() - start)
        return found

    def seconds_at_once(self, tool: bytes, number: int, in_flight: int) -> float:
        """Return how long so many calls took with some of them always on their way."""
        lines = self._calls(tool, number)
        places = threading.Semaphore(in_flight)

        def send() -> None:
            for line in lines:
                places.acquire()
                self._write(line)

        sender = threading.Thread(target=send)
        start = time.perf_counter()
        sender.start()
        left = number
        while left:
            got = os.read(self._out, 1 << 16).count(b"\n")
            left -= got
            if got:
                places.release(got)
        sender.join()
        return time.perf_counter() - start

    def request(self, line: bytes) -> bytes:
        """Send a line and return the next that comes."""
        self._write(line)
        parts = [self._held]
        while b"\n" not in parts[-1]:
            chunk = os.read(self._out, 1 << 16)
            if not chunk:
                raise RuntimeError(f"{self.process.args!r} ended")
            parts.append(chunk)
        answer, _, self._held = b"".join(parts).partition(b"\n")
        return answer

    def cpu(self) -> float:
        """Return the processor time that the started process itself has used, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def resident(self) -> float:
        """Return the memory that the started process itself holds, in megabytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def _calls(self, tool: bytes, number: int) -> Iterable[bytes]:
        first = self._last + 1
        self._last += number
        return [CALL % (id, tool) for id in range(first, first + number)]

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]


def start_all(commands: list[list[str]]) -> float:
    """Start commands at once and return how long it takes until all have answered, in seconds."""
    found: list[Connection] = []
    start = time.perf_counter()
    starting = [threading.Thread(target=lambda one=one: found.append(Connection(one))) for one in commands]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    took = time.perf_counter() - start
    for connection in found:
        with connection:
            pass
    return took
