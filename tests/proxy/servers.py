"""A server for the tests, with all the manners that real ones have and some that none should have.

`python servers.py` answers `initialize`, lists tools and does what the arguments of a call say.
"""

import json
import os
import signal
import sys
import time
from typing import Any

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "do": {"type": "string"}}, "required": ["n"]}
LIMITED = {"type": "TRANSIENT", "message": "Busy.", "recoverable": True, "data": {"code": "RATE_LIMITED"}}
TOOLS = [
    {"name": "look", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    {"name": "act", "inputSchema": SCHEMA},
    {"name": "typed", "inputSchema": SCHEMA, "outputSchema": {"type": "object", "required": ["n"]}},
]


def write(data: str) -> None:
    sys.stdout.write(data)
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def failing(text: str, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], "isError": True, **more}}


class Server:
    def __init__(self) -> None:
        self.calls = 0
        self.seen: list[Any] = []
        self.is_initialized = False
        self.lists = 0
        self.waiting: list[Any] = []

    def answer(self, message: dict[str, Any]) -> None:
        id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        self.seen.append([method, id, params.get("requestId")])
        if method == "notifications/initialized":
            self.is_initialized = True
        if method == "notifications/cancelled" and "--answers-cancelled" in sys.argv:
            for text in ("404 Not Found", "again"):
                send({"id": params["requestId"], **failing(text)})
        if id is None or method is None:
            return
        if method == "initialize":
            known = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
            send({"id": id, "result": {**known, "serverInfo": {"name": "test", "version": "1"}}})
        elif method == "tools/list":
            self.list(id, params)
            while self.waiting:
                send({"id": self.waiting.pop(), **failing("503 Service Unavailable")})
        elif method == "tools/call":
            self.calls += 1
            self.call(id, params.get("arguments") or {}, params.get("_meta") or {})
        else:
            send({"id": id, "result": {}})

    def list(self, id: Any, params: dict[str, Any]) -> None:
        if "--annotations" in sys.argv:  # one object for each listing, the last one for all that follow
            each = json.loads(sys.argv[sys.argv.index("--annotations") + 1])
            annotations = each[min(self.lists, len(each) - 1)]
            self.lists += 1
            send({"id": id, "result": {"tools": [{**TOOLS[1], "annotations": annotations}]}})
        elif "--pages" not in sys.argv:
            send({"id": id, "result": {"tools": TOOLS}})
        elif "cursor" in params:
            send({"id": id, "result": {"tools": TOOLS[1:]}})
        else:
            send({"id": id, "result": {"tools": TOOLS[:1], "nextCursor": "2"}})

    def call(self, id: Any, arguments: dict[str, Any], meta: dict[str, Any]) -> None:
        match arguments.get("do", "").split(":", 1):
            case ["fail", text]:
                send({"id": id, **failing(text)})
            case ["fail until", number]:
                for progress in (1, 2):
                    if "progressToken" in meta:
                        known = {"progressToken": meta["progressToken"], "progress": progress}
                        send({"method": "notifications/progress", "params": known})
                if self.calls < int(number):
                    send({"id": id, **failing("503 Service Unavailable")})
                else:
                    send({"id": id, "result": {"content": [{"type": "text", "text": f"call {self.calls} as {id}"}]}})
            case ["fail with", texts]:
                send({"id": id, **failing(texts.split("; ")[min(self.calls - 1, texts.count("; "))])})
            case ["fail once"]:
                if self.calls == 1:
                    send({"id": id, **failing("503 Service Unavailable")})
            case ["fail once, after the next list"] if self.calls == 1:
                self.waiting.append(id)
            case ["limit, then die"]:
                if self.calls > 1:
                    sys.exit(4)
                send({"id": id, **failing(json.dumps(LIMITED))})
            case ["not a number"]:
                send({"id": id, "result": {"content": [], "structuredContent": {"n": float("nan")}}})
            case ["error", code]:
                send({"id": id, "error": {"code": int(code), "message": "Invalid params"}})
            case ["meta"]:
                send({"id": id, "result": {"content": [{"type": "text", "text": json.dumps(meta)}]}})
            case ["exit", code]:
                sys.exit(int(code))
            case ["kill"]:
                os.kill(os.getpid(), signal.SIGKILL)
            case ["half"]:
                write(f'{{"jsonrpc":"2.0","id":{id},"resu')
                sys.exit(3)
            case ["no end"]:
                write(json.dumps({"jsonrpc": "2.0", "id": id, "result": {"content": []}}))
                sys.exit(3)
            case ["twice"]:
                send({"id": id, "result": {"content": []}})
                send({"id": id, "result": {"content": [{"type": "text", "text": "again"}]}})
            case ["garbage"]:
                write("not json at all\n{broken\n")
                send({"id": id, "result": {"content": []}})
            case ["strange"]:
                send({"id": 987654, "result": {"content": []}})
                send({"id": id, "result": {"content": []}})
            case ["batch"]:
                write(json.dumps([{"jsonrpc": "2.0", "id": id, **failing("403 Forbidden")}]) + "\n")
            case ["changed"]:
                send({"method": "notifications/tools/list_changed"})
                send({"id": id, "result": {"content": []}})
            case ["size", number]:
                send({"id": id, "result": {"content": [{"type": "text", "text": "x" * int(number)}]}})
            case ["structured"]:
                send({"id": id, **failing("404 Not Found", structuredContent={"error": "x"}, other=1)})
            case ["silence"]:
                pass
            case ["close output"]:
                os.close(1)
                time.sleep(60)
            case ["seen"]:
                send({"id": id, "result": {"seen": self.seen, "initialized": self.is_initialized}})
            case ["say", text]:
                send({"id": id, "result": {"content": [{"type": "text", "text": text}], "isError": False}})
            case _:
                send({"id": id, "result": {"content": [{"type": "text", "text": json.dumps(arguments)}]}})


def main() -> None:
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "--die" in sys.argv or os.path.exists(sys.argv[-1] + "-ran"):
        sys.exit(7)
    if "--die-after" in sys.argv:
        open(sys.argv[-1] + "-ran", "x").close()
    server = Server()
    while line := sys.stdin.readline():
        found = json.loads(line)
        for message in found if isinstance(found, list) else [found]:
            server.answer(message)
    if "--stubborn" in sys.argv:
        time.sleep(60)


if __name__ == "__main__":
    main()
