"""A fleet: three gateways with shared limits and one store, of which a Redis and a gateway are killed on the way."""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from failwell.dashboard.data import DashboardData
from failwell.dashboard.views import View
from failwell.records import RecordStore, recovery
from tests.retry.fleet.servers import RedisServer, until

META = "dev.failwell/failure"
TOOLS = ("one", "two", "three", "down")


class _Upstream(BaseHTTPRequestHandler):
    """A server of tools: each call succeeds, but those of `down`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # as the standard library calls it
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["method"] == "tools/list":
            result: dict[str, Any] = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        elif asked["params"]["name"] == "down":
            result = {"content": [{"type": "text", "text": "503 Service Unavailable"}], "isError": True}
        else:
            result = {"content": [{"type": "text", "text": "done"}]}
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def upstream() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Upstream)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Gateway:
    """A gateway in a process of its own."""

    def __init__(self, url: str, limits: str, store: str, *more: str) -> None:
        words = ["--url", url, "--listen", "127.0.0.1:0", "--retry", "--limits", limits, "--events", store, *more]
        command = [sys.executable, "-m", "failwell", "proxy", "--name", "tasks", *words]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        port = int(self.process.stderr.readline().split("/mcp")[0].rpartition(":")[2])
        self.address = f"http://127.0.0.1:{port}/mcp"
        self._drain = threading.Thread(target=self.process.stderr.read)
        self._drain.start()
        self._last = 0

    def call(self, tool: str, **headers: str) -> dict[str, Any]:
        self._last += 1
        params = {"name": tool, "arguments": {"n": self._last}}
        body = json.dumps({"jsonrpc": "2.0", "id": self._last, "method": "tools/call", "params": params}).encode()
        # A client is told by its headers, and has limits of its own.
        named = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        asked = urllib.request.Request(self.address, body, named)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            result: dict[str, Any] = json.loads(answer.read())["result"]
        return result

    def end(self, number: signal.Signals) -> None:
        self.process.send_signal(number)
        self.process.wait(60)
        self._drain.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


def recorded(store: str) -> Counter[str]:
    with RecordStore(store) as opened:
        return Counter(one.tool for one in opened.records() if one.has_succeeded or one.has_failed)


@pytest.mark.slow  # starts three gateways
def test_a_fleet_outlives_a_redis_and_a_gateway_and_its_figures_add_up(own_redis: RedisServer, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'calls.db'}"
    last_words = 5
    with upstream() as url, ExitStack() as running:
        fleet = [Gateway(url, own_redis.url, store) for _ in range(3)]
        for gateway in fleet:
            running.callback(gateway.process.kill)
        one, two, three = fleet
        for _ in range(10):
            answers = [one.call("one"), two.call("two"), three.call("three")]
            assert not any(answer.get("isError") for answer in answers)

        failed = [gateway.call("down") for gateway in fleet]
        [breaker] = own_redis.client.scan_iter("failwell:*:breaker:*")  # one for all of them
        counted_together = len(own_redis.client.hget(breaker, "failures").split())
        own_redis.kill()
        without_redis = [gateway.call(tool) for _ in range(10) for gateway, tool in zip(fleet, TOOLS, strict=False)]
        assert until(lambda: recorded(store)["three"] == 20)
        for _ in range(last_words):
            three.call("three")
        three.end(signal.SIGKILL)
        afterwards = [gateway.call(tool) for _ in range(10) for gateway, tool in ((one, "one"), (two, "two"))]
        for gateway in (one, two):
            gateway.end(signal.SIGTERM)

    assert {answer["_meta"][META]["code"] for answer in failed} == {"SERVICE_UNAVAILABLE"}
    assert counted_together == 3
    assert not any(answer.get("isError") for answer in (*without_redis, *afterwards))
    found = recorded(store)
    assert (found["one"], found["two"], found["down"]) == (30, 30, 3)
    assert 20 <= found["three"] <= 20 + last_words  # a process that is killed loses what it had not written yet
    _adds_up(store, sum(found.values()))


@pytest.mark.slow  # starts two gateways
def test_a_breaker_that_opens_at_one_gateway_is_open_at_the_others_for_the_same_client(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'calls.db'}"

    def code(gateway: Gateway, session: str) -> str:
        found: str = gateway.call("down", **{"Mcp-Session-Id": session})["_meta"][META]["code"]
        return found

    with upstream() as url, ExitStack() as running:
        # A call may not wait for as long as the breaker stays open.
        one, two = (Gateway(url, own_redis.url, store, "--deadline", "8") for _ in range(2))
        for gateway in (one, two):
            running.callback(gateway.process.kill)
        assert until(lambda: code(one, "a") == "CIRCUIT_OPEN")  # once its failures have lasted a second
        elsewhere, of_another = code(two, "a"), code(two, "b")
        for gateway in (one, two):
            gateway.end(signal.SIGTERM)

    assert (elsewhere, of_another) == ("CIRCUIT_OPEN", "SERVICE_UNAVAILABLE")


def _adds_up(store: str, calls: int) -> None:
    with RecordStore(store) as opened:
        defined = recovery(opened.records())
    page = DashboardData(store, clock=time.time)
    while page.count():
        pass
    totals = page.overview(View(range="1h"))["totals"]
    page.close()

    assert (defined.calls, defined.failed) == (totals["calls"], totals["failed"]) == (calls, 3)
    assert sum(defined.verdicts.values()) == totals["failures"]
