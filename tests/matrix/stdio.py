"""A client that speaks JSON-RPC over a process's standard streams and shows the bare wire."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSIONS = {"handshake": "2025-06-18", "modern": "2026-07-28"}
_ME = {"name": "matrix", "version": "1"}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": VERSIONS["modern"],
    "io.modelcontextprotocol/clientInfo": _ME,
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}
ROOT = Path(__file__).parents[2]


class Wire:
    def __init__(self, process: "subprocess.Popen[str]", era: str) -> None:
        self._process = process
        self._envelope = MODERN if era == "modern" else {}
        self._last = 0
        if era == "handshake":
            hello = {"protocolVersion": VERSIONS[era], "capabilities": {}, "clientInfo": _ME}
            self.request("initialize", hello)
            self._send({"method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the whole response."""
        self._last += 1
        meta = self._envelope | params.get("_meta", {})
        self._send({"id": self._last, "method": method, "params": params | ({"_meta": meta} if meta else {})})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._last:
                return message
        raise EOFError(f"the server ended before it answered {method}")

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
        """Call a tool and return the result as it stands on the wire."""
        params = {"name": tool, "arguments": arguments or {}} | ({"_meta": meta} if meta else {})
        return self.request("tools/call", params)["result"]

    def end(self) -> None:
        """End a process that does not answer."""
        self._process.kill()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


@contextmanager
def started(*command: str | Path, era: str = "handshake", is_told_to_end: bool = False) -> Iterator[Wire]:
    """Run a Python program that serves its standard streams; it ends with its input, or else *is_told_to_end*."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            yield Wire(process, era)
            if is_told_to_end:
                process.terminate()
                process.wait(timeout=30)
                return
            process.stdin.close()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
