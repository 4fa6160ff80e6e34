"""A server that lists the tools and gives the answers that stand in a file: `python replaying.py FILE`.

The file is JSON: `tools` as they are listed, and `answers` by the number that a call carries in its `_meta`.
"""

import json
import sys


def main() -> None:
    with open(sys.argv[1]) as file:
        told = json.load(file)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        params = asked.get("params") or {}
        if asked["method"] == "initialize":
            info = {"name": "replaying", "version": "1"}
            answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif asked["method"] == "tools/list":
            answer = {"result": {"tools": told["tools"]}}
        else:
            answer = told["answers"][params["_meta"]["number"]]
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}, ensure_ascii=False) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
