"""A server that lists the tools and gives the answers that stand in a file: `python scripted.py FILE`.

The file is JSON: `tools` as they are listed, and `answers` by the number that a call carries in its `_meta`. An answer
`{"exit": N}` ends the process in the middle of the call.
"""

import json
import sys
from typing import Any


def main() -> None:
    with open(sys.argv[1]) as file:
        script = json.load(file)
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = answer_to(request, script)
        if "exit" in answer:
            sys.exit(answer["exit"])
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def answer_to(request: dict[str, Any], script: dict[str, Any]) -> dict[str, Any]:
    if request["method"] == "initialize":
        info = {"name": script["name"], "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    if request["method"] == "tools/list":
        return {"result": {"tools": script["tools"]}}
    answer: dict[str, Any] = script["answers"][request["params"]["_meta"]["number"]]
    return answer


if __name__ == "__main__":
    main()
