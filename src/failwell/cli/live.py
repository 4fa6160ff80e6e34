"""A live call: start an MCP server over stdio, list its tools, call one."""

import contextlib
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from failwell.json_types import is_object

_PROTOCOL = "2025-06-18"
_CHUNK = 1 << 16


class Server:
    """A server started for real; a context manager that ends it.

    Raises:
        OSError: the command cannot be started.
        TimeoutError: the server ended, or did not answer in time.
    """

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env={**os.environ, **(env or {})},
        )
        self._held = b""
        self._last = 0

    def __enter__(self) -> "Server":
        client = {"name": "failwell", "version": "0"}
        hello = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        try:
            self.request("initialize", hello, wait=60)
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server."""
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not sent yet has nowhere to go
                    stream.close()

    def tools(self) -> dict[str, dict[str, Any]]:
        """Return the tools by name."""
        answer = self.request("tools/list", {})
        return {tool["name"]: tool for tool in answer["result"]["tools"]}

    def call(self, tool: str, arguments: dict[str, Any], *, wait: float = 30) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a call.

        Raises:
            TimeoutError: the server did not answer in time.
        """
        return self.request("tools/call", {"name": tool, "arguments": arguments}, wait=wait)

    def request(self, method: str, params: dict[str, Any], *, wait: float = 30) -> dict[str, Any]:
        """Send a request and return the answer to it, refusing what the server asks meanwhile."""
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        until = time.monotonic() + wait
        while True:
            message = self._receive(until)
            if message.get("id") == self._last and "method" not in message:
                return message
            if "method" in message and "id" in message:
                refusal = {"code": -32601, "message": "Method not found"}
                self._send({"jsonrpc": "2.0", "id": message["id"], "error": refusal})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise TimeoutError("the server ended") from None

    def _receive(self, until: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        while True:
            line, newline, rest = self._held.partition(b"\n")
            if newline:
                self._held = rest
                try:
                    found = json.loads(line)
                except ValueError:
                    continue
                if is_object(found):
                    return found
                continue
            left = until - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, left))
            if not ready:
                raise TimeoutError("the server did not answer in time")
            chunk = os.read(self._process.stdout.fileno(), _CHUNK)
            if not chunk:
                raise TimeoutError("the server ended")
            self._held += chunk
