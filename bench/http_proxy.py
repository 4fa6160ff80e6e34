"""The proxy in front of a URL beside a direct connection, a plain pass-through and fastmcp's own proxy.

`python -m bench.http_proxy` prints more of it. Everything runs on loopback, each server in a process of its own, and
all ways are measured in turns within one run: figures of different runs are not to be compared, ratios within one are.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from bench.measure import Figure

ROUNDS, CALLS = 3, 150
IN_FLIGHT, MANY = 64, 1200
LARGE = 40
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
FAST_ROUND = {"fastmcp, default": 20, "fastmcp, connected": 60}

SERVER = """
import asyncio, json
from aiohttp import web
TOOL = {"name": "work", "inputSchema": {"type": "object"}}
LARGE = "x" * 1_000_000
kept = {}
def result(message):
    method = message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        arguments = message["params"].get("arguments") or {}
        kept.update(arguments.get("keep", {}))
        if arguments.get("kept"):
            return kept
        text = LARGE if arguments.get("large") else "done"
        return {"content": [{"type": "text", "text": text}], "isError": bool(arguments.get("fails"))}
    return {}
async def handle(request):
    if request.method != "POST":
        return web.Response(status=405)
    message = json.loads(await request.read())
    if "id" not in message:
        return web.Response(status=202)
    if message["method"] == "server/discover":
        body = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
    else:
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result(message)}
    return web.Response(body=json.dumps(body).encode(), content_type="application/json")
async def serve():
    listener = await asyncio.get_running_loop().create_server(web.Server(handle), "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()
asyncio.run(serve())
"""

# The least that any gateway has to do: take a request, make it once more, and give the answer back.
PASS_THROUGH = """
import asyncio, sys
from aiohttp import ClientSession, TCPConnector, web
async def serve(target):
    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        async def handle(request):
            kept = ("Content-Type", "Accept", "Mcp-Session-Id")
            headers = {name: request.headers[name] for name in kept if name in request.headers}
            async with session.post(target, data=await request.read(), headers=headers) as answer:
                body = await answer.read()
                return web.Response(status=answer.status, body=body, content_type=answer.content_type)
        listener = await asyncio.get_running_loop().create_server(web.Server(handle), "127.0.0.1", 0)
        print(listener.sockets[0].getsockname()[1], flush=True)
        await asyncio.Event().wait()
asyncio.run(serve(sys.argv[1]))
"""

# The port is uvicorn's own: asyncio leaves Nagle's algorithm on for sockets that are handed to it.
FASTMCP = """
import asyncio, logging, sys
import uvicorn
from fastmcp import Client
from fastmcp.server import create_proxy
logging.disable(logging.CRITICAL)
async def run(target):
    app = create_proxy(target).http_app(stateless_http=True, json_response=True)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await serving
async def main(url, is_connected):
    if is_connected:
        async with Client(url) as client:
            await run(client)
    else:
        await run(url)
asyncio.run(main(sys.argv[1], sys.argv[2] == "connected"))
"""


class Way:
    """One way to the server: a process to post to."""

    def __init__(self, name: str, command: list[str], *, stream: str = "stdout") -> None:
        self.name = name
        pipes = {stream: subprocess.PIPE}
        others = {other: subprocess.DEVNULL for other in ("stdout", "stderr") if other != stream}
        self.process = subprocess.Popen(command, text=True, **pipes, **others)
        line = getattr(self.process, stream).readline()
        self.port = int(line.split("/mcp")[0].rpartition(":")[2])
        self.seconds: list[float] = []
        self.failing: list[float] = []
        self.rewritten: list[float] = []
        self.large: list[float] = []
        self.per_second: list[float] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def post(self, connection: HTTPConnection, **arguments: Any) -> float:
        return self.post_and_read(connection, **arguments)[0]

    def post_and_read(self, connection: HTTPConnection, **arguments: Any) -> tuple[float, bytes]:
        params = {"name": "work", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        begin = time.perf_counter()
        connection.request("POST", "/mcp", body, HEADERS)
        response = connection.getresponse()
        data = response.read()
        seconds = time.perf_counter() - begin
        assert response.status == 200, (self.name, response.status, data[:200])
        assert b'"result"' in data, (self.name, data[:200])
        return seconds, data

    def measure(self) -> None:
        count = min(FAST_ROUND.get(self.name, CALLS), CALLS)
        connection = HTTPConnection("127.0.0.1", self.port)
        for _ in range(5):
            self.post(connection)
        self.seconds += [self.post(connection) for _ in range(count)]
        self.failing += [self.post(connection, fails=True) for _ in range(count // 3)]
        self.rewritten += [self.post(connection, kept=True) for _ in range(count // 3)]
        self.large += [self.post(connection, large=True) for _ in range(LARGE // 4)]
        connection.close()
        self.per_second.append(asyncio.run(self.crowd(IN_FLIGHT * 2 if self.name in FAST_ROUND else MANY)))

    async def crowd(self, count: int) -> float:
        from aiohttp import ClientSession, TCPConnector

        left = iter(range(count))
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work"}})
        async with ClientSession(connector=TCPConnector(limit=0)) as session:

            async def worker() -> None:
                for _ in left:
                    async with session.post(self.url, data=body, headers=HEADERS) as response:
                        await response.read()

            begin = time.perf_counter()
            await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
            return count / (time.perf_counter() - begin)

    @property
    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def run() -> Iterator[Figure]:
    """Measure all ways in turns, and yield what the proxies add and what a failure costs."""
    with measured() as ways:
        direct, ours, least, *others = ways
        added, floor = (max(median(way.seconds) - median(direct.seconds), 1e-6) for way in (ours, least))
        for other in others:
            yield figure("added p50", added, other.name, median(other.seconds) - median(direct.seconds), floor)
        floor = max(median(least.rewritten) - median(least.seconds), 0.0)
        yield figure("a failing call, rewritten: more than a passed one", rewriting(ways), "100 µs", 100e-6, floor)


def figure(what: str, seconds: float, beside: str, other: float, floor: float) -> Figure:
    return Figure(
        group="HTTP proxy",
        what=f"HTTP proxy: {what}",
        microseconds=seconds * 1e6,
        beside=beside,
        beside_microseconds=other * 1e6,
        floor_microseconds=floor * 1e6,
    )


@contextmanager
def measured() -> Iterator[list[Way]]:
    """All ways to the server after they were measured in turns: the direct one, ours, the least, and fastmcp's."""
    direct = Way("direct", [sys.executable, "-c", SERVER])
    ways = [direct]
    try:
        listen = ["--listen", "127.0.0.1:0", "--quiet"]
        command = [sys.executable, "-m", "failwell", "proxy", "--url", direct.url, *listen]
        ways.append(Way("failwell", command, stream="stderr"))
        ways.append(Way("aiohttp pass-through", [sys.executable, "-c", PASS_THROUGH, direct.url]))
        with closing(HTTPConnection("127.0.0.1", ways[1].port)) as connection:
            _, answer = ways[1].post_and_read(connection, fails=True)
        with closing(HTTPConnection("127.0.0.1", direct.port)) as connection:
            direct.post(connection, keep=json.loads(answer)["result"])
        fast = [sys.executable, "-c", FASTMCP, direct.url]
        ways.extend(Way(f"fastmcp, {kind}", [*fast, kind]) for kind in ("connected", "default"))
        for _ in range(ROUNDS):
            for way in ways:
                way.measure()
        yield ways
    finally:
        for way in ways:
            way.process.kill()
            way.process.communicate()  # waits, and closes its pipe


def main() -> None:
    with measured() as ways:
        show(ways)


def rewriting(ways: list[Way]) -> float:
    """Return how many seconds a failing call takes more than one that passes, beyond what it does without a proxy."""
    direct, ours = ways[:2]
    return (median(ours.failing) - median(ours.seconds)) - (median(direct.failing) - median(direct.seconds))


def median(seconds: list[float]) -> float:
    return quantiles(seconds)[0]


def show(ways: list[Way]) -> None:
    direct = ways[0]
    base50, base95 = quantiles(direct.seconds)
    ours = quantiles(ways[1].seconds)[0] - base50
    print(
        f"{'':20}{'added p50 µs':>13}{'added p95 µs':>13}{'× ours':>8}{'64 at once/s':>14}{'1 MB ms':>9}{'RSS MB':>8}"
    )
    for way in ways:
        p50, p95 = quantiles(way.seconds)
        added = p50 - base50
        ratio = f"{added / ours:.1f}" if way is not direct else ""
        crowd, large = statistics.median(way.per_second), statistics.median(way.large)
        print(
            f"{way.name:20}{added * 1e6:13.0f}{(p95 - base95) * 1e6:13.0f}{ratio:>8}{crowd:14.0f}"
            f"{large * 1e3:9.2f}{way.resident_mb:8.1f}"
        )
    rewritten = rewriting(ways) * 1e6
    print(f"direct p50 {base50 * 1e6:.0f} µs; a failing call, rewritten: {rewritten:.0f} µs more than one that passes")


def quantiles(seconds: list[float]) -> tuple[float, float]:
    found = statistics.quantiles(seconds, n=100)
    return found[49], found[94]


if __name__ == "__main__":
    main()
