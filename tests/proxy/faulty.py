"""A server that goes wrong in every way, at random, for the soak: `python faulty.py SEED EVERY`.

It dies at every so many calls, now in silence, now in the middle of a line, and half-way between sends 20 MB.

Each call carries a number and gets it back, so that no answer can pass for another's.
"""

import json
import os
import random
import sys
from typing import Any

LARGE = "x" * 20_000_000


def answer(id: Any, number: int, **more: Any) -> bytes:
    result = {"content": [{"type": "text", "text": json.dumps({"number": number})}], **more}
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n"


def failing(id: Any, number: int) -> bytes:
    result = {"content": [{"type": "text", "text": f"404 Not Found: number {number}"}], "isError": True}
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode() + b"\n"


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


class Server:
    def __init__(self, seed: str, every: int) -> None:
        self.chance = random.Random(seed)
        self.every = every
        self.held: list[bytes] = []

    def take(self, line: bytes) -> None:
        message = json.loads(line)
        if message["method"] != "tools/call":  # the proxy wants to know the tools
            error = {"code": -32601, "message": "Method not found"}
            write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n")
            return
        id, number, drawn = message["id"], message["params"]["arguments"]["number"], self.chance.random()
        if number % self.every == self.every // 2:
            write(answer(id, number)[: number // self.every % 2 * 20])
            os._exit(9)
        elif number % self.every == self.every // 4:
            write(answer(id, number, structuredContent=LARGE))
        elif drawn < 0.01:
            write(b'{"jsonrpc":"2.0","id":\n' + answer(id, number))
        elif drawn < 0.02:
            write(answer(10**9 + number, number) + answer(id, number))
        elif drawn < 0.03:
            write(answer(id, number) + answer(id, number))
        elif drawn < 0.1:
            write(failing(id, number))
        elif drawn < 0.3:
            self.held.append(answer(id, number))
        else:
            write(answer(id, number))

    def release(self) -> None:
        """Send what was held back, in any order."""
        self.chance.shuffle(self.held)
        write(b"".join(self.held))
        self.held.clear()


def main() -> None:
    server, rest = Server(sys.argv[1], int(sys.argv[2])), b""
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            server.take(line)
        server.release()


if __name__ == "__main__":
    main()
