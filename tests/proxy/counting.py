"""A server that writes down each effect before anything goes wrong: `python counting.py SEED FILE CALLS_PER_LIFE`."""

import json
import os
import random
import sys
from typing import Any

TOOLS = [{"name": "act"}, {"name": "look", "annotations": {"readOnlyHint": True}}]
BUSY = {"result": {"content": [{"type": "text", "text": "503 Service Unavailable"}], "isError": True}}
BROKEN = {"error": {"code": -32603, "message": "Internal error"}}
DONE = {"result": {"content": [{"type": "text", "text": "done"}]}}
NOT_EXECUTED = {"v": 1, "message": "Busy.", "type": "TRANSIENT", "retryable": True, "outcome": "not_executed"}
REFUSED = {"result": {"content": [], "isError": True, "_meta": {"dev.failwell/failure": NOT_EXECUTED}}}
FAULTS: list[tuple[bool, list[dict[str, Any]]]] = [
    *[(True, [DONE])] * 20,
    (True, [DONE, DONE]),
    (True, [BUSY]),
    (True, [BUSY, DONE]),
    (True, [BROKEN]),
    (False, [BUSY]),
    (False, [REFUSED]),
]
"""Whether a call takes effect, and what it is answered: mostly successes, or all calls would soon be suspended."""


def fault(seed: str, message: dict[str, Any]) -> tuple[bool, list[dict[str, Any]]]:
    """Return what becomes of a call, which its id decides: it is the same in whatever order calls arrive."""
    return random.Random(f"{seed} {message['id']}").choice(FAULTS)


def main() -> None:
    life = int(sys.argv[3])
    effects = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answers: list[dict[str, Any]] = [{"result": {"tools": TOOLS}}]
        if message["method"] == "tools/call":
            has_effect, answers = fault(sys.argv[1], message)
            life -= 1
            if has_effect:
                os.write(effects, b"%d\n" % message["params"]["arguments"]["n"])
            if not life:
                os._exit(3)
        said = [json.dumps({"jsonrpc": "2.0", "id": message["id"], **one}) + "\n" for one in answers]
        sys.stdout.write("".join(said))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
