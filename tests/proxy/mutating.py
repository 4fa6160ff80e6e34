"""Messages that are wrong in every way, at random, and a server that sends them: `python mutating.py SEED`.

A call of `probe` is always answered, though among noise and in odd ways. All else is answered if it makes sense.
"""

import json
import random
import sys
from typing import Any

NESTED = "[" * 3000 + "]" * 3000
ODD_VALUES = [
    *('""', "null", "true", "[]", "{}", "NaN", "1e999", "-0", "1" * 400, "1.5", '"\\ud83d"', '"\\u0000"', NESTED),
    *('{"a":{"a":{"a":null}}}', '"' + "x" * 5000 + '"', "[null,1,[{}]]", '"tools/call"', '{"type":"text"}'),
]
TEXTS = [
    *(
        "404 Not Found: no such thing",
        "503 Service Unavailable",
        "Rate limit exceeded, retry in 3 seconds",
        "",
        "\ud83d",
    ),
    *(
        "Traceback (most recent call last):\n  File x\nValueError: bad",
        "\x00\x1b[31m",
        "x" * 20_000,
        "Invalid arguments",
    ),
    *('{"error": {"code": "NOT_FOUND", "message": "gone"}}', "<tool_error", "[" * 500, "permission denied"),
]
ODD_CONTENTS: list[Any] = [None, "text", 5, {}, [], [1, None], [{"type": "text"}], [{"type": "text", "text": 5}], [[]]]
ODD_METAS: list[Any] = [5, [], {"dev.failwell/failure": "x"}, {"dev.failwell/failure": {"v": 1}}, {"errorType": 7}]
ODD_ERRORS: list[Any] = [
    {"code": -32603, "message": None},
    {"code": -32000, "message": "connection refused", "data": {"retryAfter": "soon", "a": [[[]]]}},
    {"code": 10**30, "message": "no"},
    {"code": -32602, "message": "Invalid params", "data": {"errors": 5}},
]


class Mutator:
    """Makes wrong messages of right ones."""

    def __init__(self, seed: str) -> None:
        self.chance = random.Random(seed)
        self._ways = (self._cut, self._change_bytes, self._insert, self._repeat, self._replace_value, self._wrap)

    def mutate(self, data: bytes) -> bytes:
        """Return a message with one to three things wrong, on one line."""
        for _ in range(self.chance.randint(1, 3)):
            data = self.chance.choice(self._ways)(data or b" ")
        return data.replace(b"\n", b" ").replace(b"\r", b" ")

    def _at(self, data: bytes) -> int:
        return self.chance.randrange(len(data))

    def _cut(self, data: bytes) -> bytes:
        return data[: self._at(data)]

    def _change_bytes(self, data: bytes) -> bytes:
        found = bytearray(data)
        for _ in range(self.chance.randint(1, 5)):
            found[self._at(data)] = self.chance.randrange(256)
        return bytes(found)

    def _insert(self, data: bytes) -> bytes:
        at = self._at(data)
        return (
            data[:at] + self.chance.choice([b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b'"', b"{", b"}", b","]) + data[at:]
        )

    def _repeat(self, data: bytes) -> bytes:
        start, end = sorted((self._at(data), self._at(data)))
        return data[:end] + data[start:end] * self.chance.randint(1, 4) + data[end:]

    def _replace_value(self, data: bytes) -> bytes:
        places = [at for at, byte in enumerate(data) if byte == ord(":")]
        if not places:
            return data
        at = self.chance.choice(places) + 1
        ends = [end for end in (data.find(b",", at), data.find(b"}", at)) if end > 0]
        return data[:at] + self.chance.choice(ODD_VALUES).encode() + data[min(ends, default=len(data)) :]

    def _wrap(self, data: bytes) -> bytes:
        return b"[" + data + self.chance.choice([b"]", b"," + data + b"]", b",1,null]", b""])

    def result(self) -> dict[str, Any]:
        """Return what answers a call: a success or a failure, in an odd way or a usual one."""
        chance = self.chance
        if chance.random() < 0.2:
            return {"error": chance.choice(ODD_ERRORS)}
        content = [{"type": "text", "text": chance.choice(TEXTS)}]
        result: dict[str, Any] = {"content": content, "isError": chance.random() < 0.6}
        if chance.random() < 0.3:
            result["content"] = chance.choice(ODD_CONTENTS)
        if chance.random() < 0.2:
            result["_meta"] = chance.choice(ODD_METAS)
        if chance.random() < 0.2:
            result["structuredContent"] = chance.choice([None, {"error": "x"}, [1], {"a": {"b": [{}] * 50}}])
        return {"result": result}

    def answer(self, id: Any) -> bytes:
        """Return an answer to a call."""
        return json.dumps({"jsonrpc": "2.0", "id": id, **self.result()}).encode()

    def noise(self) -> bytes:
        """Return a message that answers nothing."""
        note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "m", "progress": 1}}
        stray = {"jsonrpc": "2.0", "id": "stray", **self.result()}
        return self.mutate(json.dumps(self.chance.choice([note, stray])).encode())


def is_probe(message: Any) -> bool:
    """Return whether a message is a call that must be answered."""
    if not isinstance(message, dict) or message.get("method") != "tools/call" or not isinstance(message.get("id"), int):
        return False
    params = message.get("params")
    return isinstance(params, dict) and params.get("name") == "probe"


def main() -> None:
    mutator = Mutator(sys.argv[1])
    for line in sys.stdin.buffer:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        answers = [mutator.noise()] if mutator.chance.random() < 0.3 else []
        if is_probe(message):
            answers += [mutator.answer(message["id"])] * mutator.chance.choice([1, 1, 2])
        elif isinstance(message, dict) and isinstance(message.get("id"), str) and "method" in message:
            answers.append(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": []}}).encode())
        sys.stdout.buffer.write(b"".join(answer + b"\n" for answer in answers))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
