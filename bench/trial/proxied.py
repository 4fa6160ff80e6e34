"""What a client gets of servers that stand behind `failwell proxy`, and what it gets of them without it."""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.trial import scripted
from bench.trial.cases import Case, Server

_LONGEST = 60.0
_PROXY = (sys.executable, "-m", "failwell", "proxy", "--quiet")
_INIT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "trial", "version": "1"}}


def original(case: Case) -> str:
    """Return the text that a client shows its model if nothing stands between it and the server."""
    answer = case.answer
    if "exit" in answer:
        return "MCP error -32000: Connection closed"
    if "http" in answer:
        status = answer["http"]["status"]
        if status is None:
            return "fetch failed"
        return f"Streamable HTTP error: Error POSTing to endpoint (HTTP {status}): {answer['http']['body']}"
    return text_in(answer)


def rewritten(server: Server, cases: Sequence[Case], options: Sequence[str]) -> dict[str, str]:
    """Return the text that the proxy makes of each failure, by the id of the case."""
    found: dict[str, str] = {}
    lasting = [case for case in cases if "exit" not in case.answer]
    for batch in ([lasting] if lasting else []) + [[case] for case in cases if "exit" in case.answer]:
        script = {"name": server.name, "tools": server.tools, "answers": [case.answer for case in batch]}
        with _behind(server, script) as command, _Talk([*_PROXY, *options, *command]) as talk:
            for number, case in enumerate(batch):
                call = {"name": case.tool, "arguments": case.arguments, "_meta": {"number": number}}
                found[case.id] = text_in(talk.ask("tools/call", call))
    return found


def text_in(message: dict[str, Any]) -> str:
    """Return what a client hands to its model of an answer: the text of a result, or an error of the protocol."""
    if error := message.get("error"):
        prefix = f"MCP error {error['code']}: "
        text: str = error["message"]
        return text if text.startswith(prefix) else prefix + text
    result = message["result"]
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    return "\n".join(texts) or json.dumps(result.get("structuredContent"), ensure_ascii=False)


class _Talk:
    """A conversation with the proxy over its standard streams."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._last = 0

    def __enter__(self) -> "_Talk":
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._watchdog = threading.Timer(_LONGEST, self._process.kill)
        self._watchdog.start()
        self.ask("initialize", _INIT)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._input.close()
        self._watchdog.cancel()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._last:
                return message
        raise EOFError(f"the proxy ended without an answer to {method}")

    @property
    def _input(self) -> Any:
        return self._process.stdin

    def _send(self, message: dict[str, Any]) -> None:
        self._input.write(json.dumps(message) + "\n")
        self._input.flush()


@contextmanager
def _behind(server: Server, script: dict[str, Any]) -> Iterator[list[str]]:
    """Make a server that follows the script; yields the part of the proxy's command that leads to it."""
    if server.kind == "http":
        with _listening(script) as url:
            yield ["--url", url]
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.json"
        path.write_text(json.dumps(script))
        yield ["--", sys.executable, "-I", scripted.__file__, str(path)]


@contextmanager
def _listening(script: dict[str, Any]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "id" not in message:
                self._reply(202, "text/plain", "")
                return
            answer = scripted.answer_to(message, script)
            if "http" not in answer:
                self._reply(200, "application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}))
            elif answer["http"]["status"] is None:
                self.close_connection = True
            else:
                self._reply(answer["http"]["status"], answer["http"]["type"], answer["http"]["body"])

        def do_GET(self) -> None:
            self._reply(405, "text/plain", "")

        def do_DELETE(self) -> None:
            self._reply(405, "text/plain", "")

        def log_message(self, *_: object) -> None:  # nobody reads it
            pass

        def _reply(self, status: int, kind: str, body: str) -> None:
            self.send_response(status, None if status < 512 else "")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/mcp"
        finally:
            listening.shutdown()
            thread.join()
