"""A server over standard streams that dies or hangs in a call: `stdio_faults.py TOOL READS MEETS…`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


def called(tool: str, meets: list[str]) -> dict[str, Any]:
    """Note a call, and do what it meets."""
    notes = Path(os.environ["STACKS_CALLS"])
    with notes.open("a") as file:
        file.write(f"{tool}\n")
    met = meets[min(len(notes.read_text().split()), len(meets)) - 1]
    if met == "die":
        os._exit(1)
    if met == "hang":
        client = os.getppid()
        while os.getppid() == client:  # whoever started it may be gone
            time.sleep(0.05)
        os._exit(1)
    return {"content": [{"type": "text", "text": met}], "isError": False}


def answer(message: dict[str, Any], tool: str, reads: bool, meets: list[str]) -> dict[str, Any]:
    """Return what a response holds beside its id."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    described = {"name": tool, "description": "A tool.", "inputSchema": schema}
    match message["method"]:
        case "initialize":
            wanted = message["params"].get("protocolVersion")
            version = wanted if wanted in VERSIONS else VERSIONS[0]
            about = {"serverInfo": {"name": "stacks", "version": "1"}, "capabilities": {"tools": {}}}
            return {"result": {"protocolVersion": version, **about}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": [{**described, **({"annotations": {"readOnlyHint": True}} if reads else {})}]}}
        case "tools/call":
            return {"result": called(tool, meets)}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def main() -> None:
    """Answer requests until the input ends."""
    tool, reads, *meets = sys.argv[1:]
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            response = answer(message, tool, reads == "reads", meets)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **response}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
