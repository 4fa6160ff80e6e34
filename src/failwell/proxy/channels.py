"""Which parts of a server's failing answer reach the client: all of it, redacted, except for one table."""

from typing import Any

from failwell._json import is_array, is_object
from failwell._lazy import lazy_pattern
from failwell._log import log
from failwell.phrases.rpc_codes import INTERNAL_ERROR
from failwell.proxy.bounds import MAX_DECODED
from failwell.proxy.messages import Id, decode_or_raise, encode, glance_at_server
from failwell.redact.json_value import BINARY, VERBATIM, redact_json

Message = dict[str, Any]

PASSED_VERBATIM: dict[tuple[str, ...], tuple[str, str]] = {
    ("id",): (VERBATIM, "the client finds its request by it"),
    ("error", "data", "elicitations", "*", "url"): (VERBATIM, "the client opens it for its user"),
    ("error", "data", "elicitations", "*", "elicitationId"): (VERBATIM, "the client hears of its end by it"),
    ("result", "content", "*", "data"): (BINARY, "an image or a sound: changed bytes are broken ones"),
    ("result", "content", "*", "resource", "blob"): (BINARY, "a file: changed bytes are broken ones"),
    ("result", "_meta", "progressToken"): (VERBATIM, "the client's own, by which it finds its request"),
    ("result", "_meta", "io.modelcontextprotocol/related-task", "taskId"): (VERBATIM, "the task is asked for by it"),
    ("result", "task", "taskId"): (VERBATIM, "the task is asked for by it"),
    ("result", "taskId"): (VERBATIM, "the task is asked for by it"),
    ("result", "tasks", "*", "taskId"): (VERBATIM, "the task is asked for by it"),
    ("params", "taskId"): (VERBATIM, "the task is asked for by it"),
    ("result", "result", "content", "*", "data"): (BINARY, "an image or a sound: changed bytes are broken ones"),
    ("result", "result", "content", "*", "resource", "blob"): (BINARY, "a file: changed bytes are broken ones"),
}
"""Every place in a failing answer where a text or number is not redacted, how, and why. `*` is any item.

What is binary passes only as such: bytes that are a text are redacted as one. Words of the protocol need no row, since
they hold no secret.
"""


def _tree() -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, (how, _) in PASSED_VERBATIM.items():
        here = tree
        for key in path[:-1]:
            here = here.setdefault(key, {})
        here[path[-1]] = how
    return tree


_EXCEPTIONS = _tree()
_FAILING = lazy_pattern(rb'"isError"\s*:\s*true|"error"\s*:|"status"\s*:\s*"failed"')


def is_failing(message: Message) -> bool:
    """Tell whether a message is a JSON-RPC error, a result that is flagged as one, or tells of a task that failed."""
    if "error" in message:
        return True
    result, params = message.get("result"), message.get("params")
    if not is_object(result):
        return _is_failed_task(params)
    return result.get("isError") is True or any(map(_is_failed_task, (result, *_items(result.get("tasks")))))


def _items(value: Any) -> list[Any]:
    return value if is_array(value) else []


def _is_failed_task(value: Any) -> bool:
    if not is_object(value) or "taskId" not in value:
        return False
    result = value.get("result")
    return value.get("status") == "failed" or (is_object(result) and result.get("isError") is True)


def mentions_error(data: bytes) -> bool:
    """Tell whether a message, or what holds it, may be an error: nothing else need be looked at."""
    return _FAILING.search(data) is not None


def may_be_failing(data: bytes) -> bool:
    """Tell whether a message that cannot be decoded in full is an error, or looks like one."""
    glance = glance_at_server(data)
    return mentions_error(data) if glance is None else glance.is_failed


def redacted(message: Message) -> Message:
    """Return a failing answer with every secret redacted, in whatever place."""
    found: Message = redact_json(message, _EXCEPTIONS)
    return found


def redacted_message(data: bytes, *, answers: Id | None = None) -> bytes:
    """Return a message, or a batch of them, with its errors redacted; nothing if that cannot be done.

    One that is too long or too deep to be decoded becomes an error without the server's words, unless it is known to be
    a success. Its id is the one that it *answers*, if nothing can be read of it.
    """
    return redacted_error(data, answers=answers) if mentions_error(data) else data


def redacted_error(data: bytes, *, answers: Id | None = None) -> bytes:
    """Return what `redacted_message` returns, for what is known to hold an error."""
    is_long = len(data) > MAX_DECODED
    try:
        if not is_long:
            message = decode_or_raise(data)
            messages = message if is_array(message) else [message]
            safe = [redacted(one) if is_object(one) and is_failing(one) else one for one in messages]
            return data if safe == messages else encode(safe if is_array(message) else safe[0])
    except RecursionError:
        pass
    except Exception:
        log.exception("an error could not be redacted; a minimal one was sent instead")
    glance = glance_at_server(data, is_lenient=not is_long)
    if glance is not None and not glance.is_failed:
        return data
    known = answers if glance is None or glance.id is None else glance.id
    return b"" if known is None else encode(minimal_error(known, is_call=False))


def redacted_part(value: Any, *path: str) -> Any:
    """Return a part of a failing answer redacted, given where in it the part stands."""
    if not value:
        return value
    exceptions: Any = _EXCEPTIONS
    for key in path:
        exceptions = exceptions.get(key, {})
    return redact_json(value, exceptions)


def minimal_error(id: Any, *, is_call: bool, is_modern: bool = False) -> Message:
    """Return the answer that takes the place of one that could not be made safe."""
    if not is_call:
        error = {"code": INTERNAL_ERROR, "message": "The request failed, and its error cannot be shown."}
        return {"jsonrpc": "2.0", "id": id, "error": error}
    text = "The tool failed, and its error cannot be shown."
    result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    return {"jsonrpc": "2.0", "id": id, "result": {**result, "resultType": "complete"} if is_modern else result}
