"""A server for the test of every byte: `python noisy.py SEED GOT SAID [DIES_AFTER]`.

It reads and writes as it likes, in chunks of any size and with pauses, keeps what it got and said in two files, answers
each call some time, and may die after it has said so many bytes.
"""

import json
import os
import random
import sys
import threading
import time
from queue import SimpleQueue

LONGEST = 400_000


def pause(chance: random.Random) -> None:
    drawn = chance.random()
    if drawn < 0.2:
        time.sleep(drawn / 100 if drawn > 0.01 else 0.02)


def size(chance: random.Random) -> int:
    return chance.choice((1, 7, 100, 4096, 16_384, 16_385, 70_000, 1 << 20))


def noise(chance: random.Random) -> bytes:
    """Return a line that the proxy has no reason to change."""
    text = "x" * chance.choice((0, 1, 10, 100, 5000, 16_000, LONGEST))
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": text}}
    return chance.choice(
        (
            json.dumps(told).encode() + b"\n",
            json.dumps({"jsonrpc": "2.0", "id": chance.randrange(10**6, 10**9), "result": {"t": text}}).encode()
            + b"\n",
            json.dumps([told, told]).encode() + b"\r\n",
            text.encode() + b'{"not json\r\n',
            b"\n",
            b"\xff\xfe{\n",
        )
    )


def answer(line: bytes) -> bytes:
    try:
        message = json.loads(line)
    except ValueError:
        return b""
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return b""
    result = {"content": [{"type": "text", "text": message["params"]["arguments"]["x"]}]}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"


def write(queue: "SimpleQueue[bytes | None]", log: int, dies_after: int, chance: random.Random) -> None:
    said = 0
    while (data := queue.get()) is not None:
        while data:
            pause(chance)
            count = os.write(1, data[: min(size(chance), dies_after - said)])
            os.write(log, data[:count])
            data, said = data[count:], said + count
            if said == dies_after:
                os._exit(9)


def main() -> None:
    seed, got, log, *rest = sys.argv[1:]
    chance, keep = random.Random(seed), os.O_WRONLY | os.O_CREAT
    queue: SimpleQueue[bytes | None] = SimpleQueue()
    said = os.open(log, keep, 0o600)
    args = (queue, said, int(rest[0]) if rest else 1 << 60, random.Random(seed + "w"))
    writer = threading.Thread(target=write, args=args)
    writer.start()
    kept, held = os.open(got, keep, 0o600), b""
    while chunk := os.read(0, size(chance)):
        os.write(kept, chunk)
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            queue.put(answer(line) + (noise(chance) if chance.random() < 0.5 else b""))
        pause(chance)
    queue.put(None)
    writer.join()


if __name__ == "__main__":
    main()
