"""A server that does what the arguments of a call say, well or badly: `python faulty.py SAYINGS`.

What it says stands in a list, from which a call chooses by number: a text that quotes an argument is read otherwise.
"""

import json
import os
import sys
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "do": {"type": "string"}, "say": {"type": "integer"}},
    "required": ["n"],
}
SAYINGS: list[Any] = json.loads(sys.argv[1])
TOOLS: list[dict[str, Any]] = [
    {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "act", "inputSchema": SCHEMA},
    {"name": "put", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}},
    {"name": "typed", "inputSchema": SCHEMA, "outputSchema": {"type": "object", "required": ["n"]}},
]


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def text(said: Any, *, flag: bool) -> dict[str, Any]:
    shown = said if isinstance(said, str) else json.dumps(said)
    return {"result": {"content": [{"type": "text", "text": shown}], "isError": flag}}


class Server:
    def __init__(self) -> None:
        self.tries: dict[str, int] = {}

    def answer(self, asked: dict[str, Any]) -> None:
        id, method, params = asked.get("id"), asked.get("method"), asked.get("params") or {}
        if id is None or method is None:
            return
        if method == "initialize":
            info = {"name": "faulty", "version": "1"}
            known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            send({"id": id, "result": known})
        elif method == "tools/list":
            send({"id": id, "result": {"tools": TOOLS}})
        elif method == "tools/call":
            self.call(id, params.get("arguments") or {})
        elif method == "ping":
            send({"id": id, "result": {}})
        else:
            send({"id": id, "error": {"code": -32601, "message": "Method not found"}})

    def call(self, id: Any, arguments: dict[str, Any]) -> None:
        said = SAYINGS[arguments["say"]] if "say" in arguments else None
        do = str(arguments.get("do", ""))
        key = json.dumps(arguments)
        self.tries[key] = self.tries.get(key, 0) + 1
        match do.split(":"):
            case ["fail"]:
                send({"id": id, **text(said, flag=True)})
            case ["say"]:
                send({"id": id, **text(said, flag=False)})
            case ["fail", times]:
                is_over = self.tries[key] > int(times)
                send({"id": id, **(text(f"try {self.tries[key]}", flag=False) if is_over else text(said, flag=True))})
            case ["error"]:
                send({"id": id, "error": said})
            case ["structured"]:
                send({"id": id, "result": {"content": [], "structuredContent": said, "isError": True}})
            case ["die"]:
                os._exit(4)
            case ["half"]:
                write(f'{{"jsonrpc":"2.0","id":{json.dumps(id)},"resu')
                os._exit(3)
            case ["twice"]:
                send({"id": id, **text("one", flag=False)})
                send({"id": id, **text("two", flag=False)})
                send({"id": id + 1000, **text("nobody asked", flag=False)})
                send({"method": "notifications/message", "params": {"level": "info", "data": "end"}})
            case ["garbage"]:
                write("Listening on port 8080\n{broken\n")
                send({"id": id, **text("after garbage", flag=False)})
            case ["changed"]:
                send({"method": "notifications/tools/list_changed"})
                send({"id": id, **text("changed", flag=False)})
            case ["large"]:
                send({"id": id, **text("x" * 300_000, flag=True)})
            case _:
                send({"id": id, **text(f"done {arguments.get('n')}", flag=False)})


def main() -> None:
    server = Server()
    for line in sys.stdin:
        try:
            found = json.loads(line)
        except ValueError:
            send({"id": None, "error": {"code": -32700, "message": "Parse error"}})
            continue
        for asked in found if isinstance(found, list) else [found]:
            server.answer(asked)


if __name__ == "__main__":
    main()
