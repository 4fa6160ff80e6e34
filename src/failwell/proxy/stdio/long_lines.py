"""Lines that are longer than a line may be: whose they are, told by their ends alone, and what takes their place."""

import json
import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from failwell.failure import Failure
from failwell.phrases.rpc_codes import INTERNAL_ERROR, INVALID_REQUEST
from failwell.proxy.bounds import MAX_LINE
from failwell.proxy.calls import ProxiedCall
from failwell.proxy.messages import Id, encode
from failwell.proxy.stdio.pump import LongLine

if TYPE_CHECKING:
    from failwell.proxy.stdio.tracker import Tracker

_ID = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,1000}")'
# The members that stand before or behind the long one; none of them holds another object.
_FIRST = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z')
_ANY = re.compile(_ID)
_REQUEST = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,)*\s*"method"\s*:\s*"')
_METHOD = re.compile(rb'"method"\s*:\s*"([^"\\]{1,100})"')
_TOOL = re.compile(rb'"name"\s*:\s*"([^"\\]{1,200})"')
_LIMIT = f"{MAX_LINE >> 20} MiB"


def replacement(line: LongLine, tracker: "Tracker") -> bytes | None:
    """Return the line in place of a server's; empty: nobody waits for it. None: it is not known yet who does."""
    if _METHOD.search(line.head) is not None:
        return b""  # the server's own message
    id = id_in(line)
    if id is None and not line.is_over:
        return None
    pending = tracker.pending
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


def refusal(line: LongLine, tracker: "Tracker") -> bytes | None:
    """Return the answer to a client's line; empty: it asked for none. None: it is not known yet who asks."""
    id, method = id_in(line), _METHOD.search(line.head) or _METHOD.search(line.tail)
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
    return tracker.handler.refuse(ProxiedCall(id=id, tool=tool, is_unread=True), failure)


def is_request(line: bytes) -> bool:
    """Return whether a message that cannot be decoded is a request or a notification, and no answer."""
    return _REQUEST.match(line) is not None


def find_id(line: bytes, pending: Collection[Id]) -> Id | None:
    """Return the id of an answer that cannot be decoded.

    It stands before or behind what the answer holds; otherwise it is the only id of a pending request in all of it, or
    that of the only pending request.
    """
    ends = LongLine(line)
    ends.add(line.rstrip())
    ends.is_over = True
    if (id := id_in(ends)) is not None:
        return id
    named = {id for found in _ANY.finditer(line) if (id := _read_id(found[1])) in pending}
    candidates = named or pending
    return next(iter(candidates)) if len(candidates) == 1 else None


def id_in(line: LongLine) -> Id | None:
    """Return the id of a message, if it stands before or behind all that is long."""
    found = _FIRST.match(line.head) or (_LAST.search(line.tail) if line.is_over else None)
    return None if found is None else _read_id(found[1])


def _read_id(data: bytes) -> Id | None:
    try:
        id: Any = json.loads(data)
    except ValueError:  # not a text that JSON allows
        return None
    return id if isinstance(id, int | str) else None


def _error(id: Id | None, code: int, message: str) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"
