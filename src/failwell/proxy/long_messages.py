"""Messages that are too long or too deep to decode: find their id from their beginning and end."""

import json
import re
from collections.abc import Collection
from typing import Any

from failwell.proxy.bounds import MAX_DECODED
from failwell.proxy.messages import Id, decode_or_raise

_END = 1 << 12
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,1000}")'
# The members that stand before or behind the long one; none of them holds another object.
_FIRST = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*' + _ID + rb"\s*,")
_LAST = re.compile(rb",\s*" + _ID + rb'\s*(?:,\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*)*\}\s*\Z')
_ANY = re.compile(_ID)
_REQUEST = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+)\s*,)*\s*"method"\s*:\s*"')


_TOKEN = re.compile(
    rb"""[ \t\r\n]*+(?:(?P<open>[\[{])|(?P<close>[\]}])|(?P<sign>[,:])"""
    rb"""|(?P<text>"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")"""
    rb"""|(?P<value>-?(?:0|[1-9]\d*+)(?:\.\d++)?(?:[eE][+-]?\d++)?|true|false|null|NaN|-?Infinity))"""
)


def is_too_large(data: bytes) -> bool:
    """Return whether a message is too long or too deep to be decoded; otherwise it is not JSON."""
    try:
        return len(data) > MAX_DECODED or decode_or_raise(data) is not None
    except RecursionError:
        return _is_json(data)


def _is_json(data: bytes) -> bool:
    """Return whether a text is one value in JSON, however deep, as lenient programs read it."""
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b" \t\r\n")
    open_ends: list[bytes] = []
    # What may come next: a value, the end of an empty list or object, a name, a colon, a comma or an end.
    wanted, at = "value", 0
    while at < len(data) and (token := _TOKEN.match(data, at)):
        kind, sign, at = token.lastgroup, token[token.lastgroup or 0], token.end()
        end = open_ends[-1] if open_ends else b""
        if kind == "open" and wanted in ("value", "first"):
            open_ends.append(b"]" if sign == b"[" else b"}")
            wanted = "first" if sign == b"[" else "first name"
            continue
        if kind == "close" and wanted in ("first", "first name", "next") and sign == end:
            open_ends.pop()
            wanted = "next"
        elif kind == "text" and wanted in ("name", "first name"):
            wanted = "colon"
        elif kind in ("text", "value") and wanted in ("value", "first"):
            wanted = "next"
        elif sign == b":" and wanted == "colon":
            wanted = "value"
        elif sign == b"," and wanted == "next" and end:
            wanted = "value" if end == b"]" else "name"
        else:
            return False
        if wanted == "next" and not open_ends:
            return at == len(data)
    return False


def is_no_answer(data: bytes) -> bool:
    """Return whether a message that cannot be decoded is a request or a notification, or has nothing to answer with."""
    return _REQUEST.match(data) is not None or not (b'"result"' in data or b'"error"' in data)


def find_id(data: bytes, pending: Collection[Id]) -> Id | None:
    """Return the id of an answer that cannot be decoded.

    It stands before or behind what the answer holds; otherwise it is the only id of a pending request in all of it, or
    that of the only pending request.
    """
    if (id := id_at_ends(data[:_END], data.rstrip()[-_END:])) is not None:
        return id
    named = {id for found in _ANY.finditer(data) if (id := _read_id(found[1])) in pending}
    candidates = named or pending
    return next(iter(candidates)) if len(candidates) == 1 else None


def id_at_ends(head: bytes, tail: bytes | None) -> Id | None:
    """Return the id of a message, if it stands before or behind all that is long; None as its end: it is not over."""
    found = _FIRST.match(head) or (_LAST.search(tail) if tail is not None else None)
    return None if found is None else _read_id(found[1])


def _read_id(data: bytes) -> Id | None:
    try:
        id: Any = json.loads(data)
    except ValueError:  # not a text that JSON allows
        return None
    return id if isinstance(id, int | str) else None
