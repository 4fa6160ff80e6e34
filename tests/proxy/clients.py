"""A client that runs the proxy in this process, in front of a real server."""

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from failwell.proxy.command import open_events, take_policy
from failwell.proxy.options import parse
from failwell.proxy.stdio.process import Child
from failwell.proxy.stdio.runner import StdioProxy

SERVER = [sys.executable, "-I", str(Path(__file__).with_name("servers.py"))]
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


class Client:
    """Talks to a server through the proxy; `code` is the exit code once it is closed."""

    def __init__(self, *options: str, server: Sequence[str] = (), command: Sequence[str] = ()) -> None:
        parsed = parse([*options, "--", *(command or (*SERVER, *server))])
        if parsed.policy is not None:
            take_policy(parsed)
        source, self._to = os.pipe()
        self._from, target = os.pipe()
        self.child = Child(parsed.command)
        self.proxy = StdioProxy(parsed, self.child, open_events(parsed.events), source=source, target=target)
        self._ends = [source, target]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._lines = os.fdopen(self._from, "rb")
        self._last = 0
        self.code: int | None = None

    def _run(self) -> None:
        self.code = self.proxy.session.run()
        self.proxy.close()
        # The client's end is closed, but its number stays taken: a thread may still be writing to it.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._ends[1])
        os.close(nowhere)

    def __enter__(self) -> "Client":
        self.request("initialize", HELLO)
        self.notify("notifications/initialized")
        self.request("tools/list")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def hang_up(self) -> None:
        if self._to >= 0:
            os.close(self._to)
            self._to = -1

    def close(self) -> None:
        self.hang_up()
        if not self._lines.closed:
            self.rest()
        self.wait()
        self._lines.close()

    def wait(self) -> None:
        """Wait until the proxy has ended by itself."""
        self._thread.join(30)
        assert not self._thread.is_alive()

    def stop_reading(self) -> None:
        self._lines.close()

    def see(self) -> None:
        """Wait until something comes, and leave most of it where it is."""
        assert self._lines.peek()

    def rest(self) -> list[Any]:
        """Return all that still comes until the proxy ends."""
        return [json.loads(line) for line in self._lines]

    def send(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._to, line) :]

    def line(self) -> bytes:
        return self._lines.readline()

    def ask(self, method: str, params: dict[str, Any] | None = None, *, id: Any = None) -> Any:
        if id is None:
            self._last += 1
            id = self._last
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.send(json.dumps(message if params is None else {**message, "params": params}).encode() + b"\n")
        return id

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode() + b"\n")

    def receive(self) -> Any:
        return json.loads(self.line())

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self.ask(method, params)
        return self.receive()

    def ask_call(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        return self.ask("tools/call", params if meta is None else {**params, "_meta": meta})

    def call(self, tool: str, meta: dict[str, Any] | None = None, /, **arguments: Any) -> Any:
        """Make a call and return the whole answer."""
        self.ask_call(tool, meta, **arguments)
        return self.receive()
