"""A server over plain stdin and stdout that misbehaves in the way it is told; it counts what it runs in a file.

python odd_server.py WAY [FILE]
"""

import json
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from odd_server_schema import SCHEMA

READS = {"name": "look", "annotations": {"readOnlyHint": True}, "inputSchema": SCHEMA}
WRITES = {"name": "send", "inputSchema": SCHEMA}
WAY = sys.argv[1]
COUNTS = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def run(name: str, arguments: Any) -> str:
    if COUNTS is not None:
        with COUNTS.open("a") as counts:
            counts.write(json.dumps([name, arguments]) + "\n")
    return "sent"


def text(said: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}], "isError": is_error}


def bad(name: str, arguments: Any) -> dict[str, Any]:
    """An error as a success, with a traceback that names nothing."""
    try:
        raise RuntimeError("/home/app/secrets/config.py: password=hunter2hunter2")
    except RuntimeError:
        return text("Error: something went wrong\n" + traceback.format_exc())


def careless(name: str, arguments: Any) -> dict[str, Any]:
    """Nothing is checked: whatever is sent is run."""
    return text(run(name, arguments))


def strict(name: str, arguments: Any) -> dict[str, Any]:
    """Everything is checked; what is valid is run."""
    import failwell as fw

    failure = fw.check_arguments(arguments, SCHEMA)
    return fw.encode(failure) if failure else text(run(name, arguments))


def lenient(name: str, arguments: Any) -> dict[str, Any]:
    """What is required is checked; what is not known is dropped, what is optional and wrong is ignored."""
    if not isinstance(arguments.get("to"), str):
        return text("Invalid arguments: 'to' must be a string. It is a required property.", is_error=True)
    return text(run(name, arguments))


def hanging(name: str, arguments: Any) -> dict[str, Any]:
    """No answer to a call without arguments, and none to anything after it."""
    if arguments == {}:
        threading.Event().wait()
    return strict(name, arguments)


WAYS = {"bad": bad, "careless": careless, "strict": strict, "lenient": lenient, "hanging": hanging}
TOOLS: dict[str, Any] = {
    "no_tools": [],
    "no_list": None,
    "invalid_schema": [{"name": "send", "inputSchema": {"type": "object", "properties": {"to": {"type": "text"}}}}],
    "bad": [READS],
    "hanging": [READS],
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize" if WAY == "unwilling":
            return {"error": {"code": -32000, "message": "not today"}}
        case "initialize":
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": WAY}}}
        case "tools/list":
            tools = TOOLS.get(WAY, [READS, WRITES])
            return {"result": {"tools": tools}} if tools is not None else {"result": {}}
        case "tools/call" if params["name"] not in ("look", "send"):
            return {"result": text("Error: 500" if WAY == "bad" else "Unknown tool", is_error=WAY != "bad")}
        case "tools/call":
            return {"result": WAYS[WAY](params["name"], params.get("arguments"))}
        case _:
            return {"result": {}}


def main() -> None:
    if WAY == "garbage":
        sys.stdout.write("Hello, I am a web server\n")
        return
    if WAY == "broken":
        raise ModuleNotFoundError("No module named 'absent'")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
