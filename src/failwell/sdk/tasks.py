"""Failures of tools that run as background tasks, where no handler and no middleware sees what they raise."""

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from failwell._json import is_object
from failwell._sdks import needs
from failwell.dialects._placement import META_KEY, write_whole
from failwell.phrases.meanings import unmapped
from failwell.redact.canonical import canonical
from failwell.server._protection import CallInfo, Protection

try:
    from mcp.types import CallToolResult
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

GET = "tasks/get"
_METHODS = (GET, "tasks/result")
_FAILED = unmapped().replace(message="The task failed unexpectedly.")
_RELATED = "/related-task"  # how the name of an entry ends that fastmcp adds; versions have different ones
_OURS = "dev.failwell/"
_TOOL = "tool:"

_told: ContextVar[list["TaskFailure"] | None] = ContextVar("failwell_told_tasks", default=None)


class TaskFailure(Exception):
    """A task failed; its text is the one for the model. A queue keeps it, so it holds nothing but JSON."""

    def __init__(self, wire: dict[str, Any]) -> None:
        super().__init__(wire)
        self.wire = wire

    def __str__(self) -> str:
        told = _told.get()
        if told is not None:
            told.append(self)
        return str(self.wire["content"][0]["text"])


def background_tool() -> str | None:
    """Return the tool whose task this is, by the name that clients know, in the worker of docket; None elsewhere."""
    current = getattr(sys.modules.get("docket.dependencies"), "current_execution", None)
    execution = None if current is None else current.get(None)
    if execution is None:
        return None
    name = str(execution.function_name)
    # Later versions of fastmcp register `tool:NAME@VERSION`.
    registered = name.removeprefix(_TOOL)
    return registered.rpartition("@")[0] or registered if name.startswith(_TOOL) else name


async def answer_of_task(protection: Protection, method: str, handle: Callable[[], Awaitable[Any]]) -> Any:
    """Return what fastmcp 2 and 3 answer to a request, with the failure of a task in it.

    They make a text of what the task raised and drop the rest. Whose text they made, it tells itself; text of anything
    else, such as a prompt that runs as a task, does not leave.
    """
    if method not in _METHODS:
        return await handle()
    told: list[TaskFailure] = []
    token = _told.set(told)
    try:
        answer = await handle()
    finally:
        _told.reset(token)
    found: Any = answer.root
    meta: dict[str, Any] = getattr(found, "meta", None) or {}
    if getattr(found, "status", None) == "failed" and not told:
        answer.root = found.model_copy(update={"statusMessage": _FAILED.message})
    elif getattr(found, "isError", False) and not any(key.startswith(_OURS) for key in meta):
        wire = told[-1].wire if told else protection.result(_FAILED, CallInfo(method))[0]
        related = {key: value for key, value in meta.items() if key.endswith(_RELATED)}
        answer.root = CallToolResult.model_validate({**wire, "_meta": {**wire["_meta"], **related}})
    return answer


async def answer_of_failed_task(handle: Callable[[], Awaitable[Any]]) -> Any:
    """Return what fastmcp 4 answers about a task, with a failure where it sends the text of what was raised.

    A tool's own failure is a result there. Anything else was raised around the tool, such as by a dependency of it.
    """
    answer = await handle()
    error: Any = getattr(answer, "error", None)
    if not is_object(error) or META_KEY in (error.get("data") or {}):
        return answer
    data = {META_KEY: write_whole(canonical(_FAILED))}
    told = {"code": error["code"], "message": _FAILED.message, "data": data}
    return answer.model_copy(update={"error": told, "status_message": _FAILED.message})
