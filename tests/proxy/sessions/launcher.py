"""Starts proxies as processes of their own, in milliseconds: forks of one process that has loaded everything.

A proxy that waits before it tries again waits as short as chance allows, so that nothing depends on chance.
"""

import asyncio
import gc
import importlib
import json
import os
import pkgutil
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

_LONGEST_ORDER = 1 << 16
_ROOT = Path(__file__).parents[3]


class Launcher:
    """Starts proxies."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fw")
        self._path = str(Path(self._folder.name, "launcher"))
        command = [sys.executable, "-m", "tests.proxy.sessions.launcher", self._path]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_ROOT)
        assert self._process.stdout is not None
        self._process.stdout.read(1)

    def start(self, words: list[str], streams: list[int]) -> "ProxyProcess":
        """Start `failwell proxy` with options and three streams."""
        link = socket.socket(socket.AF_UNIX)
        link.connect(self._path)
        socket.send_fds(link, [json.dumps(words).encode()], streams)
        return ProxyProcess(link)

    def close(self) -> None:
        """End it."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
        self._folder.cleanup()


class ProxyProcess:
    """A proxy that was started."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._answers = link.makefile("rb", 0)
        self.id = int(self._answers.readline())
        link.setblocking(False)

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.id, number)

    async def wait(self) -> int:
        """Wait until it has ended, and return its exit code."""
        return int(await asyncio.get_running_loop().sock_recv(self._link, 64))

    def close(self) -> None:
        """Forget it."""
        self._answers.close()
        self._link.close()


def _load() -> None:
    """Load all that a proxy may load later."""
    random.random = lambda: 0.0  # before anything keeps it
    failwell = importlib.import_module("failwell")
    for name in ("proxy", "retry", "records", "reading", "dialects", "redact", "schema", "server"):
        package = importlib.import_module(f"failwell.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{failwell.__name__}.{name}."):
            _try_import(module.name)
    for name in ("uvloop", "jsonschema_rs", "asyncio", "logging.handlers", "json"):
        _try_import(name)
    gc.collect()
    gc.freeze()


def _try_import(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        return  # what it needs is not installed


def _watch(link: socket.socket) -> None:
    """Start a proxy, and tell its id and its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    order, streams, _, _ = socket.recv_fds(link, _LONGEST_ORDER, 3)
    if not (child := os.fork()):
        _run(json.loads(order), streams)
    for stream in streams:
        os.close(stream)
    link.sendall(b"%d\n" % child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        link.sendall(b"%d\n" % code)
    finally:
        os._exit(0)


def _run(words: list[str], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 256)
    sys.argv = ["failwell", "proxy", *words]
    try:
        from failwell.cli import main

        main()
    finally:
        os._exit(70)


def main() -> None:
    """Start proxies until standard input ends."""
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen(64)
        os.write(1, b"\n")
        while True:
            ready: list[Any] = select.select([0, listener], [], [])[0]
            if 0 in ready:
                return
            link, _ = listener.accept()
            if not os.fork():
                _watch(link)
            link.close()


if __name__ == "__main__":
    main()
