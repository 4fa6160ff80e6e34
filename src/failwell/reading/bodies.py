"""JSON inside an error text: what an upstream service answered, or an error object of the server's own making."""

import json
import re
from typing import Any, NamedTuple

from failwell._json import is_array, is_object

_DECODER = json.JSONDecoder()
_OPENING = re.compile(r"[{\[]")
_MOST_OPENINGS = 4
_DEEPEST = 5
_MOST_ITEMS = 10
_LONGEST_MESSAGE = 1000
_TEXT_KEYS = (
    "message", "error_description", "error_message", "errorMessage", "msg", "detail", "title", "description",
    "reason", "error", "errors", "Message", "text", "hint", "details", "stderr", "result", "cause",
)  # fmt: skip
_NESTED_KEYS = ("error", "errors", "detail", "details", "fault", "Error", "body", "response", "data", "cause", "result")
_STATUS_KEYS = ("status", "statusCode", "status_code", "http_status", "httpStatus", "code", "errorCode", "error_code")
_BODY_CODE_KEYS = (
    "code", "type", "error", "status", "reason", "name", "errorCode", "error_code", "errorType", "__type",
    "error_type", "kind", "category",
)  # fmt: skip


class Body(NamedTuple):
    """What an error object says: its texts joined behind what stood before it, the status and codes it states."""

    text: str
    status: int | None
    codes: tuple[str, ...]
    payload: Any


def find_body(text: str) -> Body | None:
    """Return the error object in a text, at its start or behind a few words; None if there is none."""
    for count, match in enumerate(_OPENING.finditer(text)):
        if count == _MOST_OPENINGS:
            return None
        try:
            payload, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if is_object(payload) or (is_array(payload) and payload and is_object(payload[0])):
            found = parse_body(payload)
            before = text[: match.start()].strip()
            return found._replace(text=f"{before} {found.text}") if found and before else found
    return None


def parse_body(payload: Any) -> Body | None:
    """Return what a parsed error object says; None if it holds neither text, status nor code."""
    texts: list[str] = []
    statuses: list[int] = []
    codes: list[str] = []
    _collect(payload, texts, statuses, codes, 0)
    if not (texts or statuses or codes):
        return None
    joined = ". ".join(dict.fromkeys(text.strip() for text in texts if text.strip()))[:_LONGEST_MESSAGE]
    return Body(joined, statuses[0] if statuses else None, tuple(dict.fromkeys(codes))[:_MOST_ITEMS], payload)


def _collect(value: Any, texts: list[str], statuses: list[int], codes: list[str], depth: int) -> None:
    if depth > _DEEPEST or len(texts) > _MOST_ITEMS:
        return
    if is_array(value):
        for item in value[:_MOST_ITEMS]:
            _collect(item, texts, statuses, codes, depth + 1)
    if not is_object(value):
        return
    for key in _STATUS_KEYS:
        status = value.get(key)
        if isinstance(status, str) and status.isdecimal() and len(status) == 3:
            status = int(status)
        if isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599:
            statuses.append(status)
    codes += [value[key] for key in _BODY_CODE_KEYS if isinstance(value.get(key), str) and _is_code(value[key])]
    texts += [value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)]
    for key in _NESTED_KEYS:
        _collect(value.get(key), texts, statuses, codes, depth + 1)


def _is_code(text: str) -> bool:
    return 2 < len(text) <= 80 and " " not in text and text.isascii()
