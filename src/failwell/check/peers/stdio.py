"""A connection to a server that is started as a program, over its stdin and stdout."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from failwell._json import is_object
from failwell.check.peers.peer import ENDED, BadServer, PeerGone, PendingRequests, one_line
from failwell.phrases.rpc_codes import METHOD_NOT_FOUND
from failwell.redact.scrubber import scrub_program

_CHUNK = 1 << 16
_AT_ONCE = getattr(signal, "SIGKILL", signal.SIGTERM)
_GRACE = 2.0
_MOST_COMPLAINTS = 4000


class StdioPeer:
    """A started program. Its lines may be of any length; what is no JSON is passed over and remembered."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._pending = PendingRequests()
        self._noise = ""
        self._errors = ""
        self._tasks = [asyncio.create_task(self._read_stdout()), asyncio.create_task(self._read_stderr())]

    @classmethod
    async def start(
        cls, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> "StdioPeer":
        """Start a program.

        Raises:
            BadServer: it cannot be started.
        """
        pipe = asyncio.subprocess.PIPE
        try:
            # In a group of its own, so that what it starts can be ended with it.
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except OSError as failed:
            raise BadServer(f"cannot start {scrub_program(command[0])!r}: {failed.strerror or failed}") from None
        except ValueError as failed:
            raise BadServer(f"cannot start {scrub_program(command[0])!r}: {failed}") from None
        return cls(process)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the whole JSON-RPC answer to a request."""
        return await self._pending.request(self._send, method, params)

    async def notify(self, method: str) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method})

    @property
    def exit_code(self) -> int | None:
        """How the program ended; None while it runs."""
        return self._process.returncode

    def complaint(self) -> str:
        """Return the last line that the program wrote to stderr, or else what it wrote that is no JSON."""
        lines = [line for line in self._errors.splitlines() if line.strip()]
        return one_line(lines[-1]) if lines else f"it wrote {one_line(self._noise)!r}" if self._noise else ""

    async def close(self) -> None:
        """End the program, and all that it started."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), _GRACE)
        except TimeoutError:
            self._signal(_AT_ONCE)
            await self._process.wait()
        self._signal(_AT_ONCE)  # what it started and left behind
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if transport := getattr(self._process, "_transport", None):
            transport.close()  # else pipes that a grandchild holds are closed by the collector, with a warning

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:  # Windows has no groups of processes: what the program started may stay
                self._process.kill()

    async def _send(self, message: dict[str, Any]) -> None:
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing() or self._tasks[0].done():
            raise PeerGone(ENDED)
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            await stdin.drain()
        except (ConnectionError, OSError):
            raise PeerGone(ENDED) from None

    async def _read_stdout(self) -> None:
        assert self._process.stdout is not None
        held = bytearray()
        while chunk := await self._process.stdout.read(_CHUNK):
            held += chunk
            while (end := held.find(b"\n")) >= 0:
                line = bytes(held[:end])
                del held[: end + 1]
                await self._receive(line)
        self._note_noise(bytes(held))
        self._pending.fail(ENDED)

    async def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_MOST_COMPLAINTS:]

    async def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._note_noise(line)
            return
        if not is_object(message):
            self._note_noise(line)
        elif "method" in message:
            if "id" in message:
                await self._answer_server(message)
        else:
            self._pending.resolve(message)

    async def _answer_server(self, request: dict[str, Any]) -> None:
        """Answer what a server asks of its client: pings are returned, the rest is not offered."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
        with contextlib.suppress(PeerGone):
            await self._send(answer)

    def _note_noise(self, line: bytes) -> None:
        if line.strip() and len(self._noise) < _MOST_COMPLAINTS:
            self._noise += line.decode("utf-8", "replace") + " "
