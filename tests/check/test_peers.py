"""What servers do beside answering: they ask, they chatter, they answer in other ways."""

import asyncio
import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from failwell.check.peers import BadServer, PeerGone
from failwell.check.peers.http import HttpPeer
from failwell.check.peers.stdio import StdioPeer

# Asks a ping and something that is not offered, chatters, and answers with what it was told.
TALKER = """
import json, sys
first = json.loads(sys.stdin.readline())
print("starting up")
print("[]")
for number, method in (("a", "ping"), ("b", "roots/list")):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}), flush=True)
print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message"}))
told = [json.loads(sys.stdin.readline()) for _ in range(2)]
print(json.dumps({"jsonrpc": "2.0", "id": 99, "result": {}}))
print(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": {"told": told, "long": "x" * 200_000}}), flush=True)
"""


def test_a_server_may_ask_and_chatter_before_it_answers() -> None:
    async def conversation() -> dict[str, Any]:
        peer = await StdioPeer.start([sys.executable, "-c", TALKER])
        try:
            answer = await peer.request("tools/call", {})
            with pytest.raises(PeerGone):
                await peer.request("tools/call", {})
            assert peer.complaint() == "it wrote 'starting up []'"
            return answer
        finally:
            await peer.close()

    result = asyncio.run(conversation())["result"]

    assert result["told"] == [
        {"jsonrpc": "2.0", "id": "a", "result": {}},
        {"jsonrpc": "2.0", "id": "b", "error": {"code": -32601, "message": "Method not found"}},
    ]
    assert len(result["long"]) == 200_000


# Answers once, and then cares for nothing.
STUBBORN = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.readline()
print('{"jsonrpc": "2.0", "id": 1, "result": {}}', flush=True)
while True:
    signal.pause()
"""


def test_a_program_that_ignores_the_request_to_end_is_ended() -> None:
    async def started() -> int | None:
        peer = await StdioPeer.start([sys.executable, "-c", STUBBORN])
        await peer.request("ping", {})
        await peer.close()
        return peer.exit_code

    assert asyncio.run(started()) == -signal.SIGKILL


@pytest.mark.parametrize("url", ["ftp://example.com", "https://", "example.com"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadServer, match="not an address of a server"):
        HttpPeer(url)


def answered(status: int, body: bytes, kind: str = "application/json") -> dict[str, Any] | str:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            return asyncio.run(HttpPeer(f"http://127.0.0.1:{server.server_port}/").request("ping", {}))
        except PeerGone as gone:
            return str(gone)
        finally:
            server.shutdown()
            thread.join()


ANSWER = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}).encode()


def test_an_error_with_an_http_status_is_an_answer() -> None:
    assert answered(400, ANSWER) == json.loads(ANSWER)


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (503, b"<h1>Sorry</h1>", "text/html", "the server answered with HTTP status 503"),
        (200, b"<h1>Hello</h1>", "text/html", "the server closed the connection without an answer"),
        (200, b"event: x\n\n", "text/event-stream", "the server closed the connection without an answer"),
    ],
    ids=["unavailable", "a page", "no event"],
)
def test_what_is_no_answer_is_said_in_words(status: int, body: bytes, kind: str, said: str) -> None:
    assert answered(status, body, kind) == said


def test_events_without_a_last_blank_line_are_read() -> None:
    assert answered(200, b"data: " + ANSWER + b"\n", "text/event-stream") == json.loads(ANSWER)
