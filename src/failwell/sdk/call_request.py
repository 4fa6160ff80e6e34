"""The `tools/call` request of a client session: its idempotency key, and progress, cancellation, questions and tasks.

Key and time limit belong to whoever makes the call, perhaps several times; an SDK session sends the request far below.
"""

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from failwell._json import is_object
from failwell._log import log
from failwell._sdks import needs
from failwell.client._install import Patches
from failwell.retry._call_key import DECLARED, KEY
from failwell.retry._clock import CallClock
from failwell.retry._layers import call_key, is_retrying
from failwell.retry._time_limit import attempt_clock

try:
    import anyio
    from mcp import ClientSession, types
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing

_LONGEST_WRITE = 1.0
_LONGEST_TASK_CANCELLATION = 10.0

carried_meta: ContextVar[Mapping[str, str]] = ContextVar("failwell_carried_meta", default={})  # noqa: B039 - never changed
"""What the calls of this task carry in `_meta` beside what the application puts there: the parent of their spans."""


class RequestLayout(NamedTuple):
    """What differs between versions."""

    question_handler: str  # the method that answers what a server asks of the client
    cancels: bool  # a request that is cancelled tells the server so


_clocks: WeakKeyDictionary[Any, list[CallClock]] = WeakKeyDictionary()


def attach(patches: Patches, layout: RequestLayout, notification: Callable[[Any], Any]) -> None:
    """Hook the requests of every session; one whose time is not limited goes its way.

    *notification* makes a notification what sessions of the installed version send.
    """
    session: Any = ClientSession
    original: Any = session.send_request
    signature = inspect.signature(original)

    @functools.wraps(original)
    async def send_request(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        clock, layer, carried = attempt_clock.get(), is_retrying.get(), carried_meta.get()
        if clock is None and not layer and not carried:
            return await original(self, request, *args, **kwargs)
        if not isinstance(request, types.CallToolRequest) and not isinstance(
            getattr(request, "root", None),
            types.CallToolRequest,  # asking for it takes long where there is none
        ):
            return await original(self, request, *args, **kwargs)
        if carried:
            request = _with_meta(request, {**carried, **_meta_of(request)})
        if layer and _takes_keys(self):
            request = _with_key(self, request)
        request_id = None if layout.cancels else self._request_id  # nothing is awaited before the request gets it
        try:
            if clock is None:
                return await original(self, request, *args, **kwargs)
            bound = signature.bind(self, request, *args, **kwargs)
            asked_for = bound.arguments.get("progress_callback")
            bound.arguments["progress_callback"] = functools.partial(_progressed, clock, asked_for)
            with _registered(self, clock):
                result = await original(*bound.args, **bound.kwargs)
            note_task(self, result)
            return result
        except BaseException as exc:
            if request_id is not None and isinstance(exc, anyio.get_cancelled_exc_class()):
                reason = "no answer in time" if clock is not None and clock.is_over else "cancelled by the caller"
                await _tell_cancelled(self, notification, requestId=request_id, reason=reason)
            raise

    patches.put(session, "send_request", send_request)
    asked: Any = getattr(session, layout.question_handler)

    @functools.wraps(asked)
    async def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        waiting = [*_clocks.get(self, ())]
        own = attempt_clock.get()
        with _stopped([*waiting, *([own] if own is not None and own not in waiting else [])]):
            return await asked(self, *args, **kwargs)

    patches.put(session, layout.question_handler, answer)


_declared: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def _takes_keys(session: Any) -> bool:
    """Return whether the server said in its capabilities that it takes idempotency keys, and did not refuse one."""
    found = _declared.get(session)
    if found is None:
        capabilities: Any = getattr(session, "server_capabilities", None)
        if capabilities is None and hasattr(session, "get_server_capabilities"):  # in mcp 1
            capabilities = session.get_server_capabilities()
        if capabilities is None:
            return False
        said = [getattr(capabilities, name, None) for name in ("extensions", "experimental")]
        found = _declared[session] = any(is_object(names) and DECLARED in names for names in said)
    return found


def _with_key(session: Any, request: Any) -> Any:
    """Return a request with the key of its call, unless the application gave it one, or it goes on with another."""
    key = call_key()
    if key is None or key.is_refused:
        return request
    body = getattr(request, "root", request)
    said = _meta_of(request)
    is_continued = any(getattr(body.params, name, None) is not None for name in ("input_responses", "request_state"))
    is_own = KEY in said
    if is_continued and key.is_sent and not is_own:
        key.note_request(is_keyed=False)  # the answers of the user are no part of the call that the key stands for
        return request
    key.note_request(is_keyed=True)
    if is_own:
        return request
    key.on_refusal = functools.partial(_declared.__setitem__, session, False)
    return _with_meta(request, {**said, KEY: key.value})


def _meta_of(request: Any) -> dict[str, Any]:
    meta = getattr(request, "root", request).params.meta
    return meta.model_dump(by_alias=True, exclude_none=True) if hasattr(meta, "model_dump") else meta or {}


def _with_meta(request: Any, meta: dict[str, Any]) -> Any:
    """Return a call with another `_meta`."""
    body, params = getattr(request, "root", request), cast(Any, types.CallToolRequestParams)
    sent = {**body.params.model_dump(by_alias=True, exclude_none=True), "_meta": meta}
    changed = body.model_copy(update={"params": params.model_validate(sent)})
    return changed if body is request else type(request)(changed)


async def _progressed(
    clock: CallClock, asked_for: Any, progress: float, total: float | None, message: str | None
) -> None:
    clock.restart()
    if asked_for is not None:
        await asked_for(progress, total, message)


class _CancelTask(types.Request[dict[str, Any], Literal["tasks/cancel"]]):
    """The request to stop a task."""

    name_param: ClassVar[str | None] = "taskId"  # mcp 2 sends it as a header too


def note_task(session: Any, result: Any) -> None:
    """Have the task that a call is run as cancelled, if the time of the try that waits for it runs out."""
    clock, task_id = attempt_clock.get(), getattr(result, "task_id", None)
    if clock is not None and getattr(result, "result_type", None) == "task" and isinstance(task_id, str):
        clock.if_abandoned.append(functools.partial(_cancel_task, session, task_id))


async def _cancel_task(session: Any, task_id: str) -> None:
    request = _CancelTask(method="tasks/cancel", params={"taskId": task_id})
    try:
        with anyio.fail_after(_LONGEST_TASK_CANCELLATION):
            await session.send_request(request, types.EmptyResult)
    except Exception as exc:
        log.info("an MCP server could not be told to cancel a task: %s", type(exc).__name__)


@contextmanager
def _registered(session: Any, clock: CallClock) -> Generator[None]:
    clocks = _clocks.setdefault(session, [])
    clocks.append(clock)
    try:
        yield
    finally:
        clocks.remove(clock)


def _stopped(clocks: Iterable[CallClock]) -> ExitStack:
    stack = ExitStack()
    for clock in clocks:
        stack.enter_context(clock.stopped())
    return stack


async def _tell_cancelled(session: Any, notification: Callable[[Any], Any], **params: Any) -> None:
    """Tell the server that a request is cancelled, which sessions of version 1 do not."""
    cancelled = types.CancelledNotification.model_validate({"method": "notifications/cancelled", "params": params})
    with anyio.move_on_after(_LONGEST_WRITE, shield=True):
        try:
            await session.send_notification(notification(cancelled))
        except Exception as exc:  # the session has ended
            log.debug("a server could not be told that a call was cancelled: %s", type(exc).__name__)
