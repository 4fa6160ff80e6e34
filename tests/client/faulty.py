"""A server whose calls go wrong as their arguments say, and that counts what took effect: on stdio, or over HTTP.

`pay` changes something, `search` is read-only; `effects` tells which payments were made, and how often. Both have a
twin for calls that hang, which so has a time limit of its own. Run as a program it serves standard input and output.
"""

import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

FAULTS = (
    "none",  # it succeeds
    "busy",  # refused before anything happened, and says so
    "invalid",  # refused, because of its arguments
    "lost",  # it took effect, and says that this is unknown
    "crash",  # it took effect, and the answer is a text that says nothing
    "error",  # it took effect, and the answer is a JSON-RPC error
    "hang",  # it took effect, and there is no answer
    "hang before",  # it did nothing, and there is no answer
    "twice",  # it is answered twice
    "liar",  # it took effect, and asks to wait for a year
    "cut",  # it took effect, and its answer is cut off
)
OVER_HTTP = ("unavailable", "reset")  # refused with 503; taken effect, then answered with 500
_EFFECT = frozenset(("none", "lost", "crash", "error", "hang", "twice", "liar", "cut", "reset"))
_FINE: dict[str, Any] = {"content": [{"type": "text", "text": "done"}], "isError": False}
_STATED = {
    "busy": {"type": "TRANSIENT", "code": "RATE_LIMITED", "message": "Too many calls.", "outcome": "not_executed"},
    "invalid": {"type": "VALIDATION", "code": "INVALID_ARGUMENT", "message": "No.", "outcome": "rejected"},
    "lost": {"type": "TRANSIENT", "code": "TIMEOUT", "message": "The bank did not answer.", "outcome": "unknown"},
    "liar": {"type": "TRANSIENT", "code": "TIMEOUT", "message": "Later.", "retry_after": 3e7, "outcome": "unknown"},
}
_OBJECT = {"type": "object"}


class FaultyServer:
    """Answers requests, and remembers how often each payment was made."""

    def __init__(self) -> None:
        self.effects: Counter[int] = Counter()
        self.last_id: Any = None

    def answer(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the fault of a request, and its result or error."""
        if method == "initialize":
            info = {"name": "faulty", "version": "1"}
            return "none", {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": _OBJECT} for name in ("pay", "pay_and_hang", "effects")]
            read_only = {"inputSchema": _OBJECT, "annotations": {"readOnlyHint": True}}
            return "none", {"tools": tools + [{"name": name, **read_only} for name in ("search", "search_and_hang")]}
        if params["name"] == "effects":
            found = json.dumps(dict(self.effects))
            return "none", {"content": [{"type": "text", "text": found}], "isError": False}
        number, fault = params["arguments"]["number"], params["arguments"]["fault"]
        if params["name"].startswith("pay") and fault in _EFFECT:
            self.effects[number] += 1
        return fault, _answer_to(fault)


def _answer_to(fault: str) -> dict[str, Any]:
    if fault in _STATED:
        meta = {"dev.failwell/failure": {"version": 1, **_STATED[fault]}}
        return {"content": [{"type": "text", "text": _STATED[fault]["message"]}], "isError": True, "_meta": meta}
    if fault == "crash":
        return {"content": [{"type": "text", "text": "Error executing tool pay"}], "isError": True}
    if fault == "error":
        return {"code": -32603, "message": "Internal error"}
    return _FINE


def reply(request_id: Any, answer: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error" if "code" in answer else "result": answer}


def application(server: FaultyServer) -> Any:
    """Return the server as an HTTP application."""
    import anyio
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def post(request: Request) -> Response:
        message = json.loads(await request.body())
        if "id" not in message:
            return Response(status_code=202)
        server.last_id = message["id"]
        fault, answer = server.answer(message["method"], message.get("params") or {})
        whole = json.dumps(reply(message["id"], answer)).encode()

        async def events() -> AsyncIterator[bytes]:
            if fault == "cut":
                yield b"event: message\ndata: " + whole[: len(whole) // 2]
                return
            for _ in range(2):
                yield b"event: message\ndata: " + whole + b"\n\n"

        if fault.startswith("hang"):
            while not await request.is_disconnected():
                await anyio.sleep(0.05)
            return Response(status_code=204)
        if fault == "unavailable":
            return Response(status_code=503, headers={"retry-after": "0"})
        if fault == "reset":
            return Response(status_code=500)
        if fault in ("cut", "twice"):
            return StreamingResponse(events(), media_type="text/event-stream")
        return JSONResponse(json.loads(whole))

    async def refuse(_: Request) -> Response:
        return Response(status_code=405)

    return Starlette(routes=[Route("/mcp", post, methods=["POST"]), Route("/mcp", refuse, methods=["GET", "DELETE"])])


def main() -> None:
    server = FaultyServer()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        fault, answer = server.answer(message["method"], message.get("params") or {})
        text = json.dumps(reply(message["id"], answer))
        if fault == "cut":
            text = text[: len(text) // 2]
        elif fault == "twice":
            text = f"{text}\n{text}"
        if not fault.startswith("hang"):
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
