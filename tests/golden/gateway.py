"""What clients get through `failwell proxy --url`, over HTTP and over standard input and output."""

import http.client
import json
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.golden import api
from tests.golden.case import Case, steady
from tests.golden.proxied import INIT, PROXY, Talk

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
JSON = "application/json"
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
TOOLS: list[dict[str, Any]] = [
    {"name": "act", "inputSchema": SCHEMA},
    {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
]
SHOWN_HEADERS = ("content-type", "mcp-session-id", "retry-after", "www-authenticate", "allow", "location")


def _text(text: str, *, flag: bool) -> bytes:
    result = {"content": [{"type": "text", "text": text}], "isError": flag}
    return json.dumps({"jsonrpc": "2.0", "id": "<id>", "result": result}).encode()


def _events(*messages: bytes) -> bytes:
    return b"".join(b"event: message\ndata: " + message + b"\n\n" for message in messages)


_OURS = api.encode(api.Failure(code="RATE_LIMITED", message="Busy.", retry_after=30))["content"][0]["text"]
_NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"working"}}'

# What the server answers a call with: status, headers, body.
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "fine": (200, {"Content-Type": JSON}, _text("done", flag=False)),
    "flagged": (200, {"Content-Type": JSON}, _text("404 Not Found", flag=True)),
    "ours": (200, {"Content-Type": JSON}, _text(_OURS, flag=True)),
    "in band": (200, {"Content-Type": JSON}, _text("Error: no such file: a.txt", flag=False)),
    "stream": (200, {"Content-Type": "text/event-stream"}, _events(_NOTE, _text("503 Service Unavailable", flag=True))),
    "fine stream": (200, {"Content-Type": "text/event-stream"}, _events(_NOTE, _text("done", flag=False))),
    "cut stream": (200, {"Content-Type": "text/event-stream"}, _events(_NOTE)),
    "protocol": (
        200,
        {"Content-Type": JSON},
        b'{"jsonrpc":"2.0","id":"<id>","error":{"code":-32602,"message":"Unknown tool: act"}}',
    ),
    "busy": (429, {"Retry-After": "30", "Content-Type": "text/plain"}, b"slow down"),
    "unavailable": (503, {"Content-Type": "text/html"}, b"<html>nginx</html>"),
    "gateway": (502, {}, b""),
    "denied": (403, {"Content-Type": JSON}, b'{"error":{"code":"insufficient_scope","message":"no"}}'),
    "unauthorized": (401, {"WWW-Authenticate": 'Bearer error="invalid_token"'}, b""),
    "session": (404, {"Content-Type": JSON}, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Gone"}}'),
    "no JSON": (200, {"Content-Type": JSON}, b"{broken"),
    "empty": (200, {"Content-Type": JSON}, b""),
    "page": (200, {"Content-Type": "text/html"}, b"<html>login</html>"),
}  # fmt: skip

GATEWAYS: dict[str, tuple[tuple[str, ...], bool]] = {
    "plain": ((), False),
    "validated": (("--validate", "--dialect", "envelope", "--flip-unflagged", "*"), True),
    "xml": (("--dialect", "xml"), True),
    "retry": (("--retry", "--attempts", "2"), True),
    "dry": (("--observe",), True),
}


def cases() -> Iterator[Case]:
    """Yield a case for every answer through every gateway."""
    for name, (_, is_heavy) in GATEWAYS.items():
        for exchange in _exchanges():
            yield Case(
                f"aiohttp/http/{name}/{exchange}",
                lambda name=name, exchange=exchange: _through(name)[exchange],
                "aiohttp",
                is_heavy=is_heavy,
            )
        yield Case(f"aiohttp/stdio/{name}", lambda name=name: _over_stdio(GATEWAYS[name][0]), "aiohttp", is_heavy=True)


def _exchanges() -> dict[str, Any]:
    """Return what is posted, by name."""

    def call(tool: str, arguments: Any) -> Any:
        return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}

    found: dict[str, Any] = {
        "hello": {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INIT},
        "tools": {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        "note": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    }
    found |= {f"{tool}, {answer}": call(tool, {"answer": answer}) for answer in ANSWERS for tool in ("act", "look")}
    return found | {
        "wrong arguments": call("act", {"answer": 5}),
        "unknown tool": call("none", {}),
        "no JSON": "{broken",
        "batch": [call("act", {"answer": "flagged"})],
    }


@contextmanager
def _upstream() -> Iterator[str]:
    """A server that answers calls as their arguments say."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            except ValueError:
                asked = None
            if not isinstance(asked, dict):
                self.answer(400, {}, b"one message at a time")
            elif "id" not in asked:
                self.answer(202, {}, b"")
            elif asked["method"] == "initialize":
                info = {"name": "upstream", "version": "1"}
                known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
                self.reply(asked["id"], known, {"Mcp-Session-Id": "session-1"})
            elif asked["method"] == "tools/list":
                self.reply(asked["id"], {"tools": TOOLS})
            else:
                name = asked["params"]["arguments"].get("answer")
                status, headers, body = ANSWERS.get(name, ANSWERS["protocol"])
                self.answer(status, headers, body.replace(b'"<id>"', json.dumps(asked["id"]).encode()))

        def do_GET(self) -> None:
            self.answer(405, {"Allow": "POST"}, b"")

        def do_DELETE(self) -> None:
            self.answer(200, {}, b"")

        def reply(self, id: Any, result: Any, headers: dict[str, str] | None = None) -> None:
            body = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()
            self.answer(200, {"Content-Type": JSON, **(headers or {})}, body)

        def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@cache
def _through(name: str) -> dict[str, Any]:
    """Return what a client gets for each of the exchanges, through one gateway."""
    with _upstream() as url:
        options = ["--url", url, "--listen", "127.0.0.1:0", "--grace", "0", *GATEWAYS[name][0]]
        with subprocess.Popen([*PROXY, *options], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr
            port = int(re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[0])
            try:
                found = {exchange: _post(port, message, exchange) for exchange, message in _exchanges().items()}
            finally:
                process.terminate()
    return {exchange: steady(answer) for exchange, answer in found.items()}


def _post(port: int, message: Any, client: str) -> Any:
    """Return what a client of its own gets: what one is told to wait for holds up no other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = message if isinstance(message, str) else json.dumps(message)
    connection.request("POST", "/mcp", body, {**ACCEPT, "Mcp-Session-Id": "session-1", "X-API-Key": client})
    response = connection.getresponse()
    headers = {key.lower(): value for key, value in response.getheaders()}
    found = {
        "status": response.status,
        "headers": {key: headers[key] for key in SHOWN_HEADERS if key in headers},
        "body": response.read().decode(),
    }
    connection.close()
    return found


def _over_stdio(options: Sequence[str]) -> Any:
    with _upstream() as url:
        talk = Talk(["--url", url, *options])
        found = [talk.open()]
        found += [
            talk.ask("tools/call", {"name": tool, "arguments": {"answer": answer}})
            for answer in ("fine", "flagged", "unavailable", "denied", "no JSON", "in band", "protocol", "busy")
            for tool in ("act", "look")
        ]
        end = talk.close()
    return steady({"lines": found, **end})
