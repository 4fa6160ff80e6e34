import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.exceptions import loopback


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start misbehaving servers; each call gives the address of one."""
    with ExitStack() as stack:

        def start(behaviour: loopback.Behaviour, *, tls: ssl.SSLContext | None = None) -> str:
            port = stack.enter_context(loopback.serving(behaviour, tls=tls))
            return f"{'https' if tls else 'http'}://127.0.0.1:{port}"

        yield start


@pytest.fixture
def refused() -> Iterator[str]:
    with loopback.refusing() as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def unanswered() -> Iterator[str]:
    with loopback.unanswering() as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    return loopback.certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def name_service(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make every look-up of a name fail with a resolver's error number, as no real one does on demand."""

    def fail_with(number: int) -> None:
        def look_up(*_: object, **__: object) -> None:
            raise socket.gaierror(number, "resolver says no")

        monkeypatch.setattr(socket, "getaddrinfo", look_up)

    return fail_with
