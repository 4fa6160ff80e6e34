"""`RawResult`: what a peer, an SDK or a framework returned, in one common form."""

from collections.abc import Iterable
from typing import Any, cast

from msgspec import Struct

from failwell._json import LONGEST_JSON, is_list, is_object, parse_object

_MOST_BLOCKS = 50
_FLAG_NAMES = ("isError", "is_error")
_STRUCTURED_NAMES = ("structuredContent", "structured_content")
_META_NAMES = ("_meta", "meta", "metadata")
_FIELD_NAMES = (*_FLAG_NAMES, *_STRUCTURED_NAMES, "meta", "metadata", "content", "status", "result_type")
_TASK_NAMES = ("task_id", "taskId", "status", "status_message", "statusMessage", "error", "result")
_INPUT_REQUIRED = "input_required"  # the server asks for something: no failure
_RPC_NAMES = frozenset(("id", "result", "error", "_meta"))
_NO_META: dict[str, Any] = {}


class RawResult(Struct):
    """A result taken apart. `flag` is None where nothing says whether it is an error."""

    texts: list[str] = []
    flag: bool | None = None
    meta: dict[str, Any] = {}
    structured: Any = None
    rpc_error: dict[str, Any] | None = None
    payload: dict[str, Any] | None = None


def parse_result(what: Any) -> RawResult | None:
    """Return what a result, a JSON-RPC message, a payload or a text holds; None if it is nothing of these."""
    match what:
        case dict():
            return _from_dict(cast(dict[str, Any], what))
        case None:
            return None
        case str():
            return _from_text(what)
        case bytes() | bytearray():
            return _from_text(cast(bytes, what)[: 4 * LONGEST_JSON].decode("utf-8", "replace"))
        case list() | tuple():
            texts = _texts(cast(list[Any], what))
            return RawResult(texts=texts) if texts else None
        case _:
            return _from_object(what)


def _from_text(text: str) -> RawResult:
    found = parse_object(text)
    return RawResult(texts=_texts(text)) if found is None else _from_dict(found)


def _from_dict(what: dict[str, Any]) -> RawResult:
    if "jsonrpc" in what or what.keys() <= _RPC_NAMES:
        if is_object(result := what.get("result")):
            return _from_task(result) or _from_result(result)
        if _is_rpc_error(what.get("error")):
            return RawResult(flag=True, meta=_meta_of(what), rpc_error=what["error"])
    if (task := _from_task(what)) is not None:
        return task
    if isinstance(what.get("content"), list) or any(isinstance(what.get(name), bool) for name in _FLAG_NAMES):
        return _from_result(what)
    if _is_rpc_error(what) and what.keys() <= {"code", "message", "data", "_meta"}:
        return RawResult(flag=True, meta=_meta_of(what), rpc_error=what)
    return RawResult(payload=what)


def _from_task(what: dict[str, Any]) -> RawResult | None:
    """Take a task apart, or an answer that asks for more input; None if it is neither, or the task has not ended."""
    if what.get("resultType") == _INPUT_REQUIRED or what.get("result_type") == _INPUT_REQUIRED:
        return RawResult(flag=False)
    if isinstance(what.get("content"), list):
        return None
    task: dict[str, Any] = inner if is_object(inner := what.get("task")) else what
    status, error, result = task.get("status"), task.get("error"), task.get("result")
    is_task = "taskId" in task or "task_id" in task
    if status == _INPUT_REQUIRED:
        return RawResult(flag=False)
    if is_object(result) and status in ("completed", "failed") and (is_task or "isError" in result):
        raw = _from_result(result)
        raw.flag = raw.flag or status == "failed"
        return raw
    if status != "failed" or not (is_task or error):
        return None
    said = task.get("statusMessage") or task.get("status_message")
    texts = [text for text in (said, error) if isinstance(text, str)]
    if is_object(error) and _is_rpc_error(error):
        return RawResult(texts=texts, flag=True, meta=_meta_of(task), rpc_error=error)
    rest = {key: value for key, value in task.items() if key not in ("taskId", "task_id", "status")}
    return RawResult(texts=texts, flag=True, meta=_meta_of(task), structured=rest)


def _is_rpc_error(error: dict[str, Any] | None) -> bool:
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and not isinstance(error["code"], bool)
        and isinstance(error.get("message"), str)
    )


def _from_result(result: dict[str, Any]) -> RawResult:
    get = result.get
    flag, structured = False, None
    for name in _FLAG_NAMES:
        if isinstance(value := get(name), bool):
            flag = value
            break
    if get("status") == "error":  # how strands and langchain flag an error
        flag = True
    for name in _STRUCTURED_NAMES:
        if (structured := get(name)) is not None:
            break
    return RawResult(texts=_texts(get("content")), flag=flag, meta=_meta_of(result), structured=structured)


def _meta_of(what: dict[str, Any]) -> dict[str, Any]:
    name = meta_name(what)
    return _NO_META if name is None else what[name]


# What the contract of the dialect `meta` does not have: an object with one of these is a server's own.
_OWN_KEYS = frozenset(
    ("statusCode", "status_code", "status", "httpStatus", "http_status", "errorDetails", "errorMessage")
)


def own_error(meta: dict[str, Any]) -> dict[str, Any] | None:
    """Return the error that a server states in its metadata in a shape of its own, or None."""
    return meta if "errorType" in meta and not _OWN_KEYS.isdisjoint(meta) else None


def meta_name(what: dict[str, Any]) -> str | None:
    """Return the name that a result has its metadata under, or None if it has none."""
    for name in _META_NAMES:
        if is_object(what.get(name)):
            return name
    return None


def _from_object(what: object) -> RawResult | None:
    """Take an SDK's or a framework's result object apart by the fields its class declares.

    Fields are looked up on the class: touching the other SDK's spelling warns on some versions and raises on others.
    """
    cls = type(what)
    fields: Any = getattr(cls, "model_fields", None) or getattr(cls, "__dataclass_fields__", None) or vars(what)
    names = {name for name in _FIELD_NAMES if name in fields}
    if "content" not in names:
        is_task = "task_id" in fields or "taskId" in fields
        return _from_task({name: getattr(what, name) for name in _TASK_NAMES if name in fields}) if is_task else None
    return _from_result({name: getattr(what, name) for name in names})


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content[:LONGEST_JSON]]
    if is_list(content):
        blocks = content
    else:
        others: Iterable[Any] = content
        blocks = list(others) if isinstance(others, Iterable) else []
    found: list[str] = []
    for block in blocks[:_MOST_BLOCKS]:
        text = block.get("text") if is_object(block) else getattr(block, "text", block)
        if isinstance(text, str):
            found.append(text[:LONGEST_JSON])
    return found
