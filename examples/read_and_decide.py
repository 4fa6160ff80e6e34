"""An agent's side: answers of different servers, and what to do about each."""

from typing import Any

import failwell as fw

RATE_LIMITED = '{"type":"TRANSIENT","message":"Too many calls","recoverable":true,"data":{"retry_after":30}}'
TIMEOUT = '<tool_error code="TIMEOUT"><message>The mail server did not answer.</message></tool_error>'


def answer(text: str, *, is_error: bool = True) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


ANSWERS: list[tuple[str, dict[str, bool], Any]] = [
    ("a server that speaks compact", {"readOnlyHint": True}, answer(RATE_LIMITED)),
    ("one that speaks xml", {}, answer(TIMEOUT)),
    ("one that sends a JSON-RPC error", {}, {"id": 7, "error": {"code": -32602, "message": "limit is at most 100"}}),
    ("one that sends a sentence", {"idempotentHint": True}, answer("something broke")),
    ("one that succeeds", {}, answer('{"error": null}', is_error=False)),
]


def advise(received: Any, hints: dict[str, bool]) -> str:
    """Return what an agent should do with an answer, in a line."""
    failure = fw.read(received)
    if failure is None:
        return "carry on"
    decision = fw.decide(failure, hints)
    delay = "" if decision.delay is None else f" in {decision.delay:g} s"
    return f"{decision.action}{delay}: {decision.reason}"


def main() -> None:
    for who, hints, received in ANSWERS:
        print(f"{who}\n  {advise(received, hints)}")


if __name__ == "__main__":
    main()
