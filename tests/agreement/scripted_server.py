"""A server that lists the tools and gives the answers that are in a file: `python scripted_server.py FILE`.

The file is JSON: the annotations of `tools` by name, and `results`, of which a call gets the one whose number is its
argument.
"""

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def answer(request: dict[str, Any], script: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result: Any = {**known, "serverInfo": {"name": "scripted", "version": "1"}}
        case "tools/list":
            tools = [
                {"name": name, "inputSchema": SCHEMA, "annotations": hints} for name, hints in script["tools"].items()
            ]
            result = {"tools": tools}
        case "tools/call":
            result = script["results"][request["params"]["arguments"]["number"]]
        case _:
            result = {}
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def main() -> None:
    with open(sys.argv[1]) as file:
        script = json.load(file)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.write(json.dumps(answer(request, script)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
