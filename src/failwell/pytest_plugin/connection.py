"""`ServerConnection`: a connection to the server under test, for tests with or without an event loop."""

import asyncio
import importlib
import inspect
import re
import shlex
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from failwell._json import is_array, is_object
from failwell.check.evidence import ProbeAnswer
from failwell.check.peers import BadServer, Connect, Peer, connector
from failwell.check.session import CallLimits, CheckSession

_IMPORTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_ENDINGS = {"hung": "the server did not answer in time", "crashed": "the server ended without an answer"}
T = TypeVar("T")


class ServerConnection:
    """A server under test, started at once and ended by `close` or at the end of a `with` block.

    It runs in a thread of its own, so that plain tests can call it, and tests with an event loop too.

    Args:
        target: a server of fastmcp or the mcp SDK, a function that makes one, the name of either (`module:name`), a
            command (a list, or one text), or the URL of a server.
        limits: how long the server may take.

    Raises:
        BadServer: it does not start, speaks no MCP or has no tools.
        TypeError: that is no server.
    """

    def __init__(self, target: Any, *, limits: CallLimits | None = None) -> None:
        limits = limits or CallLimits()
        connect = _connector(target, limits)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="failwell server", daemon=True)
        self._thread.start()
        self._session = CheckSession(connect, limits)
        try:
            self._wait(self._session.open())
        except BaseException:
            self._stop()
            raise

    def __enter__(self) -> "ServerConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools of the server, as in `tools/list`."""
        return self._session.tools

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool and return its wire-shaped result; the whole JSON-RPC answer if that is an error.

        Raises:
            ConnectionError: the server ended.
            TimeoutError: there was no answer in time.
        """
        return _result(self.answer(tool, arguments))

    async def acall(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call a tool as `call` does, without holding up the event loop."""
        return _result(await asyncio.wrap_future(self._start(self._session.call(tool, arguments or {}))))

    def answer(self, tool: str, arguments: dict[str, Any] | None = None) -> ProbeAnswer:
        """Call a tool and return how that ended, whatever happened."""
        return self._wait(self._session.call(tool, arguments or {}))

    def close(self) -> None:
        """End the server."""
        if self._thread.is_alive():
            try:
                self._wait(self._session.close())
            finally:
                self._stop()

    def _start(self, request: Coroutine[Any, Any, T]) -> "Future[T]":
        if not self._thread.is_alive():
            request.close()
            raise ConnectionError("the connection is closed")
        return asyncio.run_coroutine_threadsafe(request, self._loop)

    def _wait(self, request: Coroutine[Any, Any, T]) -> T:
        return self._start(request).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _connector(target: Any, limits: CallLimits) -> Connect:
    """Return what starts a server, or connects to one.

    Raises:
        BadServer: a name leads to nothing.
        TypeError: that is no server.
    """
    if isinstance(target, str):
        if _IMPORTED.fullmatch(target):
            return _connector(_import_server(target), limits)
        return _connector([target] if target.startswith(("http://", "https://")) else shlex.split(target), limits)
    if is_array(target):
        return connector([str(word) for word in target], start=limits.start, wait=limits.call)
    if inspect.isroutine(target):
        return _connector(target(), limits)
    if not any(hasattr(target, name) for name in ("create_initialization_options", "_mcp_server", "_lowlevel_server")):
        raise TypeError(f"expected a server of fastmcp or the mcp SDK, a command or a URL, not {type(target).__name__}")
    return lambda: _connect_in_memory(target)


def _import_server(target: str) -> Any:
    module, _, name = target.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as missing:
        raise BadServer(f"there is no server {target!r}: {missing}") from missing
    return found


async def _connect_in_memory(server: Any) -> Peer:
    start: Callable[[Any], Awaitable[Peer]] = importlib.import_module("failwell.check.peers.memory").MemoryPeer.start
    return await start(server)


def _result(answer: ProbeAnswer) -> dict[str, Any]:
    response = answer.response
    if response is None:
        kind = TimeoutError if answer.ending == "hung" else ConnectionError
        raise kind(_ENDINGS.get(answer.ending or "", "the server ended"))
    result = response.get("result")
    return result if is_object(result) else response
