"""Tell a client why there is no server to talk to."""

import os
import select
import time

from failwell.json_types import is_object
from failwell.proxy.glances import decoded, encode

_PATIENCE = 1.0
_CHUNK = 1 << 16
_MOST = 1 << 20
_INTERNAL_ERROR = -32603


def refuse_client(sentence: str, *, source: int, target: int, patience: float = _PATIENCE) -> None:
    """Answer the first requests of a client with a JSON-RPC error that it can show; a silent one is not waited for."""
    held = b""
    until = time.monotonic() + patience
    while (left := until - time.monotonic()) > 0 and len(held) < _MOST:
        if not select.select([source], [], [], left)[0] or not (chunk := os.read(source, _CHUNK)):
            return
        held += chunk
        answers = b"".join(_refusal(line, sentence) for line in held.split(b"\n")[:-1])
        if answers:
            os.write(target, answers)
            return


def _refusal(line: bytes, sentence: str) -> bytes:
    message = decoded(line)
    if not is_object(message) or "method" not in message or message.get("id") is None:
        return b""
    error = {"code": _INTERNAL_ERROR, "message": f"failwell: {sentence}"}
    return encode({"jsonrpc": "2.0", "id": message["id"], "error": error}) + b"\n"
