"""The same failures over HTTP, through the SDK's own client."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from tests.matrix import sdks, servers
from tests.matrix.cases import CASES, expected, settled

SIDES = [(kind, era) for kind in sdks.KINDS for era in sdks.ERAS]


class Server(uvicorn.Server):
    """A server that says when it is up."""

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1))
        self.is_up = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def shutdown(self, sockets: Any = None) -> None:
        await super().shutdown(sockets)
        while connections := list(self.server_state.connections):  # those that hang would stay open
            for connection in connections:
                connection.transport.abort()
            await asyncio.sleep(0)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """Serve an application on a free port of the loopback interface; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            assert server.is_up.wait(30)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.parametrize(("kind", "era"), [side for side in SIDES if side[0] != "lowlevel"])
def test_failures_arrive_over_http(kind: str, era: str) -> None:
    server = servers.protected(kind)
    names = [name for name, case in CASES.items() if kind in case.kinds]

    async def ask(url: str) -> dict[str, Any]:
        async with sdks.client(kind, url, era) as call:
            return {name: await call(CASES[name].tool, CASES[name].arguments) for name in names}

    with served(server.http_app() if kind == "fastmcp" else server.streamable_http_app()) as url:
        found = asyncio.run(ask(url))

    assert {name: settled(result) for name, result in found.items()} == {name: expected(CASES[name]) for name in names}
