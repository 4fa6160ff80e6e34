"""An MCP server over standard streams without any library, so that every stack meets the same one.

Each call is noted as a line with the tool's name in the file named by STACKS_CALLS. Calls are counted there too:
some stacks start the server anew for each call.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from cases import CASES

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
UNKNOWN_METHOD = {"error": {"code": -32601, "message": "Method not found"}}


def tools() -> list[dict[str, Any]]:
    """Return the list of tools; every argument is a text."""
    return [
        {
            "name": name,
            "description": f"Answers with {case.title}.",
            "inputSchema": {
                "type": "object",
                "properties": {argument: {"type": "string"} for argument in case.arguments},
                "required": list(case.arguments),
            },
            **({"annotations": case.annotations} if case.annotations else {}),
        }
        for name, case in CASES.items()
    ]


def answer(method: str, params: dict[str, Any], notes: Path) -> dict[str, Any]:
    """Return what a response holds beside its id."""
    match method:
        case "initialize":
            wanted = params.get("protocolVersion")
            version = wanted if wanted in VERSIONS else VERSIONS[0]
            about = {"serverInfo": {"name": "stacks", "version": "1"}, "capabilities": {"tools": {}}}
            return {"result": {"protocolVersion": version, **about}}
        case "ping":
            return {"result": {}}
        case "tools/list":
            return {"result": {"tools": tools()}}
        case "tools/call":
            name = params["name"]
            with notes.open("a") as file:
                file.write(f"{name}\n")
            calls = notes.read_text().split().count(name)
            answers = CASES[name].answers
            return answers[min(calls, len(answers)) - 1]
        case _:
            return UNKNOWN_METHOD


def main() -> None:
    """Answer requests until the input ends."""
    notes = Path(os.environ["STACKS_CALLS"])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            response = answer(message["method"], message.get("params") or {}, notes)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **response}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
