"""Mutated messages through each proxy, both ways: `python -m tests.proxy.fuzz [MESSAGES] [SEED]`.

Between them go calls that must get exactly one answer each, structured if it is a failure, and the proxy
must stay small.
"""

import asyncio
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import ClientSession, TCPConnector, web

from failwell.phrases.rpc_codes import PROTOCOL_ERRORS
from tests.proxy.http.setting import ACCEPT, scripted
from tests.proxy.mutating import Mutator, is_probe

SERVER = [sys.executable, "-I", str(Path(__file__).with_name("mutating.py"))]
PROXY = [sys.executable, "-m", "failwell", "proxy", "--quiet"]
FIRST_ID = 10**6
IN_FLIGHT = 32
LONGEST_SILENCE = 60.0
TOO_DEEP = "too deep for this client"
MAX_MEGABYTES = 400
# Every other message is a call that must be answered.
BASES = [
    {"jsonrpc": "2.0", "id": "m", "method": "tools/call", "params": {"name": "work", "arguments": {"n": 1}}},
    {"jsonrpc": "2.0", "id": "m", "method": "tools/list", "params": {"cursor": "c"}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "m"}},
    {"jsonrpc": "2.0", "id": "m", "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
]


class Found(NamedTuple):
    """What came of a run: calls without an answer, raw failures, what else was wrong, and the most memory (MB)."""

    calls: int
    unanswered: int
    raw: int
    wrong: list[str]
    megabytes: float

    @property
    def is_fine(self) -> bool:
        return not (self.unanswered or self.raw or self.wrong) and self.megabytes < MAX_MEGABYTES


class Judge:
    """Looks at the answers to the calls that must get one.

    Args:
        unsure: ids that may be answered again, since the server made them up.
    """

    def __init__(self, unsure: set[int] | None = None) -> None:
        self.waiting: set[int] = set()
        self.unsure = set[int]() if unsure is None else unsure
        self.raw = 0
        self.wrong: list[str] = []

    def look(self, message: Any) -> bool:
        """Return whether a message answers a call that waits."""
        id = message.get("id") if isinstance(message, dict) else None
        if not isinstance(id, int) or isinstance(id, bool) or not {"result", "error"} & message.keys():
            return False
        if not FIRST_ID <= id < 2 * FIRST_ID:
            return False
        if TOO_DEEP in message:
            self.unsure.add(id)
        if id not in self.waiting:
            if id not in self.unsure:
                self.wrong.append(f"{id} was answered again, or never asked")
            return False
        self.waiting.discard(id)
        self.raw += TOO_DEEP not in message and is_raw(message)
        return True


def is_raw(message: dict[str, Any]) -> bool:
    """Return whether an answer is a failure of a tool that is not structured."""
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        return error.get("code") not in PROTOCOL_ERRORS
    if not isinstance(result, dict) or result.get("isError") is not True:
        return False
    meta = result.get("_meta")
    return not (isinstance(meta, dict) and isinstance(meta.get("dev.failwell/failure"), dict))


def decode(data: bytes) -> Any:
    """Return a message, or None if it is none. One that is too deep for this client is marked: others may read it."""
    text = data.decode("utf-8-sig", "replace")
    shallow = re.sub(r"(\]){400,}|(\[){400,}", r"\1\2", text)
    try:
        message = json.loads(shallow, strict=False)
    except (ValueError, RecursionError):
        return None
    if shallow != text:
        for one in message if isinstance(message, list) else [message]:
            if isinstance(one, dict):
                one[TOO_DEEP] = True
    return message


def probe(id: int) -> bytes:
    params = {"name": "probe", "arguments": {"n": id}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


class LineFuzzer:
    """A client on standard input and output."""

    def __init__(self, command: list[str], count: int, seed: str, *, unsure: set[int] | None = None) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._mutator = Mutator(seed)
        self._calls = count // 2
        self._places = threading.Semaphore(IN_FLIGHT)
        self._judge = Judge(unsure)

    def run(self) -> Found:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        sender = threading.Thread(target=self._send, daemon=True)
        sender.start()
        watchdog = threading.Timer(LONGEST_SILENCE + self._calls / 100, self._process.kill)
        watchdog.start()
        answered, megabytes = 0, 0.0
        while answered < self._calls and (line := self._process.stdout.readline()):
            answered += self._take(line)
            if answered == self._calls:
                megabytes = peak_megabytes(self._process.pid)
        watchdog.cancel()
        self._process.stdin.close()
        for line in self._process.stdout:
            self._take(line)
        self._process.stdout.close()
        if self._process.wait() not in (0, 1):
            self._judge.wrong.append(f"the proxy ended with {self._process.returncode}")
        return Found(self._calls, self._calls - answered, self._judge.raw, self._judge.wrong, megabytes)

    def _take(self, line: bytes) -> bool:
        message = decode(line)
        found = [self._judge.look(one) for one in (message if isinstance(message, list) else [message])]
        for is_answer in found:
            if is_answer:
                self._places.release()
        return any(found)

    def _send(self) -> None:
        assert self._process.stdin is not None
        for number in range(self._calls):
            self._places.acquire()
            self._judge.waiting.add(FIRST_ID + number)
            base = json.dumps(self._mutator.chance.choice(BASES)).encode()
            try:
                self._process.stdin.write(self._mutator.mutate(base) + b"\n" + probe(FIRST_ID + number) + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError):
                return


def fuzz_command(count: int, seed: str) -> Found:
    """Fuzz the proxy in front of a command."""
    return LineFuzzer([*PROXY, "--", *SERVER, seed], count, seed).run()


class Responses:
    """A server over HTTP whose responses are odd.

    A changed digit makes another id, which passes if no call with it is remembered: those are in `made_up`.
    """

    def __init__(self, seed: str) -> None:
        self._mutator = Mutator(seed)
        self.made_up: set[int] = set()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            message = json.loads(await request.read())
        except (ValueError, RecursionError):
            return web.Response(status=400)
        mutator, chance = self._mutator, self._mutator.chance
        if not is_probe(message):
            return web.Response(status=chance.choice([200, 202, 400]), body=mutator.noise(), headers=self._headers())
        answer = mutator.answer(message["id"])
        drawn = chance.random()
        if drawn < 0.15:  # something that is no answer
            return web.Response(
                status=chance.choice([200, 404, 429, 500]), body=mutator.noise(), headers=self._headers()
            )
        if drawn < 0.3:
            return web.Response(body=self.mutate(answer, message["id"]), content_type="application/json")
        if drawn < 0.6:
            return web.Response(body=answer, content_type="application/json", headers={"X-Odd": "\u00e9"})
        events = [mutator.noise(), self.mutate(answer, message["id"]), answer, answer][chance.randrange(3) :]
        body = b"".join(b"data: " + event + chance.choice([b"\n\n", b"\r\n\r\n", b"\r\r"]) for event in events)
        return web.Response(
            body=body[: chance.choice([len(body), self._place(body)])], content_type="text/event-stream"
        )

    def mutate(self, answer: bytes, id: int) -> bytes:
        """Return a changed answer, and note the ids that it has now."""
        data = self._mutator.mutate(answer)
        found = decode(data)
        ids = [one.get("id") for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]
        self.made_up.update(one for one in ids if isinstance(one, int) and one != id)
        return data

    def _headers(self) -> dict[str, str]:
        return {
            "Content-Type": self._mutator.chance.choice(["application/json", "text/event-stream", "text/html", "x"])
        }

    def _place(self, body: bytes) -> int:
        return self._mutator.chance.randrange(len(body))


async def fuzz_gateway(count: int, seed: str) -> Found:
    """Fuzz the gateway."""
    mutator, judge, calls = Mutator(seed), Judge(), count // 2
    left = iter(range(calls))

    async def session(client: ClientSession, url: str) -> None:
        for number in left:
            base = json.dumps(mutator.chance.choice(BASES)).encode()
            async with client.post(url, data=mutator.mutate(base), headers=ACCEPT) as response:
                await response.read()
            judge.waiting.add(FIRST_ID + number)
            async with client.post(url, data=probe(FIRST_ID + number), headers=ACCEPT) as response:
                body = await response.read()
                for message in messages(body):
                    if isinstance(message, dict) and message.get("id") == FIRST_ID + number:
                        judge.look(message)
            if FIRST_ID + number in judge.waiting:
                judge.wrong.append(f"{FIRST_ID + number} was answered with {response.status} {body[:400]!r}")

    async with scripted(Responses(seed)) as upstream:
        with gateway_process(upstream + "/mcp") as (process, url):
            async with ClientSession(connector=TCPConnector(limit=0)) as client, asyncio.TaskGroup() as group:
                for _ in range(IN_FLIGHT):
                    group.create_task(session(client, url))
            megabytes = peak_megabytes(process.pid)
    return Found(calls, len(judge.waiting), judge.raw, judge.wrong, megabytes)


def fuzz_remote(count: int, seed: str) -> Found:
    """Fuzz the proxy on standard input and output in front of a URL."""

    async def run() -> Found:
        responses = Responses(seed)
        async with scripted(responses) as url:
            command = [*PROXY, "--url", url + "/mcp"]
            return await asyncio.to_thread(LineFuzzer(command, count, seed, unsure=responses.made_up).run)

    return asyncio.run(run())


def messages(body: bytes) -> Iterator[Any]:
    """Yield the messages in a response of either form."""
    lines = re.split(rb"\r\n|\n|\r", body)
    texts = [line[6:] for line in lines if line.startswith(b"data: ")] or [body]
    for text in texts:
        message = decode(text)
        yield from message if isinstance(message, list) else [message]


@contextmanager
def gateway_process(url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [*PROXY, "--url", url, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
        assert found is not None
        yield process, found.group()
    finally:
        process.kill()
        process.communicate()


def peak_megabytes(process: int) -> float:
    """Return the most memory that a process has had so far."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


PROXIES = {
    "a command": fuzz_command,
    "a gateway": lambda count, seed: asyncio.run(fuzz_gateway(count, seed)),
    "a URL": fuzz_remote,
}


def main() -> int:
    """Fuzz each proxy, and tell what came of it."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    seed, is_fine = sys.argv[2] if len(sys.argv) > 2 else "1", True
    for name, fuzz in PROXIES.items():
        found = fuzz(count, seed)
        sys.stdout.write(
            f"{name}: {count} messages, {found.calls} of them calls; {found.unanswered} unanswered, {found.raw} raw"
            f" failures; at most {found.megabytes:.1f} MB\n"
        )
        sys.stdout.writelines(f"wrong: {line}\n" for line in found.wrong[:20])
        sys.stdout.flush()
        is_fine &= found.is_fine
    return int(not is_fine)


if __name__ == "__main__":
    sys.exit(main())
