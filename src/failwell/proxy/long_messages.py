"""Messages that are too long or too deep to be decoded: whose they are, told by their ends alone."""

import json
import re
from typing import Any

from failwell.proxy.messages import Id

_END = 1 << 12
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,1000}")'
# The members that stand before or behind the long one; none of them holds another object.
_FIRST = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z')


def id_in(data: bytes) -> Id | None:
    """Return the id of a message that cannot be decoded, if it stands before or behind what it holds."""
    return id_at_ends(data[:_END], data.rstrip()[-_END:])


def id_at_ends(head: bytes, tail: bytes | None) -> Id | None:
    """Return the id of a message, if it stands before or behind all that is long; None as its end: it is not over."""
    found = _FIRST.match(head) or (_LAST.search(tail) if tail is not None else None)
    try:
        id: Any = None if found is None else json.loads(found[1])
    except ValueError:  # not a text that JSON allows
        return None
    return id if isinstance(id, int | str) else None
