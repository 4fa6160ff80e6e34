"""500 sessions at one gateway, 50 of them hostile: what the others notice. `python -m bench.gateway`.

The honest sessions call at a steady pace, with the hostile ones and without them, in turns. The server, the gateway and
the hostile clients are processes of their own.
"""

import asyncio
import gc
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Amount, Figure

HONEST, HOSTILE = 450, 50
ROUNDS, SECONDS = 3, 4.0
# Between two calls of an honest session; a hostile one attacks again after half of that.
PAUSE = 2.0
GROUP = "gateway"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

SERVER = """
import asyncio, json
from aiohttp import web
TOOL = {"name": "work", "inputSchema": {"type": "object"}}
PIECE = b"x" * 50_000
async def endless(request, kind, start):
    response = web.StreamResponse(headers={"Content-Type": kind})
    await response.prepare(request)
    await response.write(start)
    while True:
        await response.write(PIECE)
        await asyncio.sleep(0.05)
async def handle(request):
    if request.method != "POST":
        return await endless(request, "text/event-stream", b"data: ")
    message = json.loads(await request.read())
    if message["method"] == "tools/list":
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [TOOL]}})
    do = message["params"]["arguments"].get("do")
    if do == "endless JSON":
        return await endless(request, "application/json", b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"')
    if do == "endless event":
        return await endless(request, "text/event-stream", b"data: ")
    text = "404 Not Found: no such task" if do == "fail" else "done"
    result = {"content": [{"type": "text", "text": text}], "isError": do == "fail"}
    return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})
async def serve():
    server = web.Server(handle, handler_cancellation=True)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()
asyncio.run(serve())
"""

ATTACKS = """
import asyncio, gzip, json, sys
BOMB = gzip.compress(b"[" + b"{}," * 8_000_000 + b"{}]", 6)
HEAD = "POST /mcp HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
def call(do):
    params = {"name": "work", "arguments": {"do": do}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
async def slow_head(reader, writer, n):
    writer.write(HEAD.encode())
    while True:
        writer.write(b"X-A: b\\r\\n")
        await writer.drain()
        await asyncio.sleep(0.2)
async def bomb(reader, writer, n):
    head = HEAD + f"X-Key: {n}\\r\\nContent-Encoding: gzip\\r\\nContent-Length: {len(BOMB)}\\r\\n\\r\\n"
    writer.write(head.encode() + BOMB)
    await reader.readuntil(b"\\r\\n\\r\\n")
async def endless_post(reader, writer, n):
    writer.write((HEAD + "Transfer-Encoding: chunked\\r\\n\\r\\n").encode())
    while not reader.at_eof():
        writer.write(b"4000\\r\\n" + b" " * 0x4000 + b"\\r\\n")
        await writer.drain()
        await asyncio.sleep(0.02)
async def endless_answer(reader, writer, n):
    body = call("endless JSON" if n % 20 < 10 else "endless event")
    writer.write((HEAD + f"X-Key: {n}\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n").encode() + body)
    await reader.readuntil(b"BAD_UPSTREAM_RESPONSE")
async def unread_stream(reader, writer, n):
    writer.write(f"GET /mcp HTTP/1.1\\r\\nHost: localhost\\r\\nX-Key: {n}\\r\\n\\r\\n".encode())
    await asyncio.sleep(3600)
KINDS = [*[slow_head] * 4, bomb, bomb, endless_post, endless_post, endless_answer, unread_stream]
async def attack(port, n):
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
            try:
                await KINDS[n % len(KINDS)](reader, writer, n)
            finally:
                writer.transport.abort()
        except (OSError, asyncio.IncompleteReadError):
            pass  # it was refused
        await asyncio.sleep(1)
async def main(port, count):
    print(port, flush=True)
    await asyncio.gather(*(attack(port, n) for n in range(count)))
asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
"""


def run() -> Iterator[Figure | Amount]:
    """Measure the honest sessions beside hostile ones and without them, in turns."""
    alone, beside, unanswered = Latencies(), Latencies(), 0
    with _started([sys.executable, "-c", SERVER], "stdout") as (_, port):
        command = [sys.executable, "-m", "failwell", "proxy", "--quiet", "--url", f"http://127.0.0.1:{port}/mcp"]
        with _started([*command, "--retry", "--listen", "127.0.0.1:0"], "stderr") as (gateway, port):
            unanswered += asyncio.run(crowd(port, Latencies(), SECONDS / 6))  # a first round that does not count
            for _ in range(ROUNDS):
                unanswered += asyncio.run(crowd(port, alone, SECONDS))
                hostile = [sys.executable, "-c", ATTACKS, str(port), str(HOSTILE)]
                with _started(hostile, "stdout"):
                    unanswered += asyncio.run(crowd(port, beside, SECONDS))
            peak = peak_megabytes(gateway.pid)
    for what, part in (("p50", 50), ("p99", 99)):
        yield Figure(
            group=GROUP,
            what=f"{what} of {HONEST} sessions beside {HOSTILE} hostile ones",
            microseconds=beside.part(part) * 1e6,
            beside="without them",
            beside_microseconds=alone.part(part) * 1e6,
        )
    yield Amount(group=GROUP, what="calls without their answer", value=unanswered)
    yield Amount(group=GROUP, what="most memory of the gateway", value=peak, unit="MB")


class Latencies(list[float]):
    """How many seconds calls took."""

    def part(self, percent: int) -> float:
        """Return the time that so many of a hundred calls stay below."""
        return statistics.quantiles(self, n=100)[percent - 1]


async def crowd(port: int, found: Latencies, seconds: float) -> int:
    """Let all honest sessions call for so long, at least once, and return how many calls have not got their answer."""
    from aiohttp import ClientSession, TCPConnector

    chance = random.Random(1)
    url, end = f"http://127.0.0.1:{port}/mcp", time.perf_counter() + seconds
    unanswered = 0

    async def session(client: ClientSession, number: int, delay: float) -> None:
        nonlocal unanswered
        headers, calls = {**HEADERS, "Mcp-Session-Id": f"session {number}"}, 0
        await asyncio.sleep(delay)
        while (begin := time.perf_counter()) < end or not calls:
            calls += 1
            fails = (number + calls) % 10 == 0
            params = {"name": "work", "arguments": {"do": "fail" if fails else "work"}}
            message = {"jsonrpc": "2.0", "id": calls, "method": "tools/call", "params": params}
            try:
                async with client.post(url, data=json.dumps(message), headers=headers) as response:
                    answer = json.loads(await response.read())
                is_own = answer["id"] == calls and answer["result"]["isError"] is fails
            except (OSError, ValueError, KeyError):
                is_own = False
            unanswered += not is_own
            found.append(time.perf_counter() - begin)
            await asyncio.sleep(max(0.0, begin + PAUSE - time.perf_counter()))

    async with ClientSession(connector=TCPConnector(limit=0)) as client:
        gc.collect()
        gc.disable()  # a pause of this process is none of the gateway
        try:
            await asyncio.gather(*(session(client, number, chance.random() * PAUSE) for number in range(HONEST)))
        finally:
            gc.enable()
    return unanswered


@contextmanager
def _started(command: list[str], stream: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a process that says its port in the first line of a stream, and end it."""
    others = {other: subprocess.DEVNULL for other in ("stdout", "stderr") if other != stream}
    process = subprocess.Popen(command, text=True, **{stream: subprocess.PIPE}, **others)  # type: ignore[call-overload]  # the keys are streams
    try:
        line = getattr(process, stream).readline()
        yield process, int(line.split("/mcp")[0].rpartition(":")[2])
    finally:
        process.kill()
        process.communicate()  # waits, and closes its pipe


def peak_megabytes(process: int) -> float:
    """Return the most memory that a process has had."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    for found in run():
        if isinstance(found, Figure):
            ms, other = found.microseconds / 1000, found.beside_microseconds / 1000
            print(f"{found.what}: {ms:.2f} ms, {found.beside} {other:.2f} ms: × {found.ratio:.2f}")
        else:
            print(f"{found.what}: {found.value:g} {found.unit}")


if __name__ == "__main__":
    main()
