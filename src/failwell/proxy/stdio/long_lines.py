"""Lines that are too long: find their id from their beginning and end, and replace them."""

import re
from typing import TYPE_CHECKING

from failwell.failure import Failure
from failwell.phrases.rpc_codes import INTERNAL_ERROR, INVALID_REQUEST
from failwell.proxy.bounds import MAX_LINE
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.long_messages import id_at_ends
from failwell.proxy.messages import Id, encode
from failwell.proxy.stdio.pump import LongLine

if TYPE_CHECKING:
    from failwell.proxy.conversation import Conversation
    from failwell.proxy.stdio.effects import EffectRunner

_METHOD = re.compile(rb'"method"\s*:\s*"([^"\\]{1,100})"')
_TOOL = re.compile(rb'"name"\s*:\s*"([^"\\]{1,200})"')
_LIMIT = f"{MAX_LINE >> 20} MiB"


def replacement(line: LongLine, conversation: "Conversation") -> bytes | None:
    """Return the line in place of a server's; empty: nobody waits for it. None: it is not known yet who does."""
    if _METHOD.search(line.head) is not None:
        return b""  # the server's own message
    id = line_id(line)
    if id is None and not line.is_over:
        return None
    pending = conversation.pending
    if id is None and len(pending) == 1:
        id = next(iter(pending))
    request = None if id is None else pending.get(id)
    if request is None:
        return b""
    message = f"The server's answer is longer than {_LIMIT}, so it was not passed on."
    if not request.tool:
        return _error(id, INTERNAL_ERROR, message)
    from failwell.dialects._placement import encode as result_of

    failure = Failure(
        code="BAD_UPSTREAM_RESPONSE", message=message, outcome="unknown", tool=request.tool, origin="mapped"
    )
    return encode({"jsonrpc": "2.0", "id": id, "result": result_of(failure)}) + b"\n"


def refusal(line: LongLine, runner: "EffectRunner") -> bytes | None:
    """Return the answer to a client's line; empty: it asked for none. None: it is not known yet who asks."""
    id, method = line_id(line), _METHOD.search(line.head) or _METHOD.search(line.tail)
    if (id is None or method is None) and not line.is_over:
        return None
    if method is None and b'"result"' in line.head:
        return b""  # an answer to the server
    message = f"The request is longer than {_LIMIT}, so it was not sent."
    if id is None or method is None or method[1] != b"tools/call":
        return _error(id, INVALID_REQUEST, message)
    named = _TOOL.search(line.head) or _TOOL.search(line.tail)
    tool = "" if named is None else named[1].decode("utf-8", "replace")
    failure = Failure(code="PAYLOAD_TOO_LARGE", message=message, outcome="not_executed", tool=tool, origin="mapped")
    return runner.collect(runner.conversation.refuse(ProxiedCall(id=id, tool=tool, is_unread=True), failure))


def line_id(line: LongLine) -> Id | None:
    """Return the id of the message in a line, if it stands before or behind all that is long."""
    return id_at_ends(line.head, line.tail if line.is_over else None)


def _error(id: Id | None, code: int, message: str) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"
