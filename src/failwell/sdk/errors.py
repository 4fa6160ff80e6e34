"""Errors of the MCP SDKs: JSON-RPC errors, and what an exception out of `call_tool` means."""

from collections.abc import Awaitable
from types import FrameType
from typing import Any

from failwell._log import log
from failwell._sdks import needs
from failwell.client._install import adapted
from failwell.errors import ToolFailure
from failwell.exceptions.engine import from_exception
from failwell.failure import Failure
from failwell.phrases.rpc_codes import CLIENT_ERRORS, ELICITATION_REQUIRED
from failwell.reading.reader import read
from failwell.server._responder import BROKEN_OUTPUT, is_rpc_error

try:
    import mcp
    from pydantic import ValidationError
except ImportError as missing:
    raise ImportError(needs("mcp")) from missing


def is_protocol_error(exc: BaseException) -> bool:
    """Return whether an exception stands for an error of the protocol and not for the failure of a tool."""
    return rpc_code(exc) in CLIENT_ERRORS


def is_flagged(result: object) -> bool:
    """Return whether a `CallToolResult` says that it is an error: `isError` in mcp 1, `is_error` in mcp 2."""
    fields: Any = getattr(type(result), "model_fields", ())
    # Asking for the other name may warn that it is deprecated.
    return bool(getattr(result, "is_error" if "is_error" in fields else "isError"))


def rpc_code(exc: BaseException) -> object:
    """Return the number of the JSON-RPC error that an exception stands for, if it does."""
    return getattr(getattr(exc, "error", None), "code", None)


def new_rpc_error(code: int, message: str, data: Any) -> Exception:
    """Return an exception of the SDK that stands for a JSON-RPC error."""
    names = vars(mcp)
    if "MCPError" in names:  # in mcp 2
        found: Exception = names["MCPError"](code=code, message=message, data=data)
    else:
        found = names["McpError"](mcp.types.ErrorData(code=code, message=message, data=data))
    return found


_SESSION_MODULES = ("mcp.client.session", "mcp.shared.session", "failwell.sdk.mcp_client")  # the last hooks the others
_CHECKS = ("_validate_tool_result", "validate_tool_result")
_BROKEN_RESULT = Failure(
    type="INTERNAL",
    message=BROKEN_OUTPUT,
    outcome="executed",
    retryable=False,
    recoverable=False,
)
_UNREADABLE_RESULT = Failure(
    type="INTERNAL", message="The server's answer is not a valid tool result.", outcome="unknown", retryable=None
)


class NotAToolFailure(BaseException):
    """Carries an exception that is no failure of a tool past all retries. Never leaves the hook."""

    def __init__(self, exception: Exception) -> None:
        self.exception = exception


async def without_carrier(made: Awaitable[Any]) -> Any:
    """Return what an awaitable gives, and raise what a `NotAToolFailure` that comes out of it carries."""
    try:
        return await made
    except NotAToolFailure as other:
        raise other.exception from other.exception.__cause__


class UnusableResult(ToolFailure):
    """The tool was run, and the SDK refuses what came back; `raw` is the result, or the SDK's exception."""

    kind = "ToolFailure"

    def __init__(self, failure: Failure, raw: Any) -> None:
        super().__init__(failure)
        self.raw = raw


class NotConnected(ToolFailure):
    """The session could not be begun, so that the call was not sent."""

    kind = "ToolFailure"

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.replace(outcome="not_executed"))


def handle_call_exception(exc: Exception) -> Any:
    """Return the result of a call that succeeded although an exception came out of it.

    Raises:
        UnusableResult: the tool ran, but what came back is of no use.
        NotConnected: there was no session yet that a call could have been made in.
        NotAToolFailure: it is an error of the protocol, of the session, or a mistake of the program.
        Exception: the exception itself, a JSON-RPC error, or a closed connection.
    """
    unchecked = unchecked_result(exc)
    if unchecked is not None:
        return unchecked
    group, exc = exc, only_exception(exc)
    if isinstance(exc, ToolFailure):
        raise exc
    frames = _frames_of_session(exc)
    check, names = _check_in(frames), _names(frames)
    if check is not None:
        raise UnusableResult(_BROKEN_RESULT, check.f_locals["result"]) from exc
    if isinstance(exc, ValidationError) and "send_request" in names:
        raise UnusableResult(_UNREADABLE_RESULT, exc) from exc
    if "initialize" in names and "call_tool" not in names:
        raise NotConnected(_failure_of(exc)) from exc
    is_page = adapted.get() and rpc_code(exc) == ELICITATION_REQUIRED  # no framework shows the user the address
    if is_rpc_error(exc) and (is_page or not is_protocol_error(exc)):
        raise exc
    raise NotAToolFailure(group)


def unchecked_result(exc: Exception) -> Any | None:
    """Return the result of a call that succeeded, if an exception only says that the tools could not be listed.

    A session lists them to check a result against its schema.
    """
    exc = only_exception(exc)
    frames = _frames_of_session(exc)
    check = _check_in(frames)
    if check is None or "list_tools" not in _names(frames):
        return None
    log.info("a result was not checked against its schema: the tools could not be listed, %s", type(exc).__name__)
    return check.f_locals["result"]


def only_exception(exc: Any) -> Any:
    """Return the exception in a group of one, as a task group raises it; anything else is returned as it is."""
    inner: Any = getattr(exc, "exceptions", ()) if issubclass(type(exc), BaseExceptionGroup) else ()
    return only_exception(inner[0]) if len(inner) == 1 else exc


def _failure_of(exc: Exception) -> Failure:
    found = read(exc) if is_rpc_error(exc) else None
    return from_exception(exc) if found is None else found


def _check_in(frames: list[FrameType]) -> FrameType | None:
    return next((frame for frame in frames if frame.f_code.co_name in _CHECKS), None)


def _names(frames: list[FrameType]) -> set[str]:
    return {frame.f_code.co_name for frame in frames}


def _frames_of_session(exc: Exception) -> list[FrameType]:
    """Return the frames of the SDK's session that an exception came through, the outermost first."""
    found: list[FrameType] = []
    trace = exc.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in _SESSION_MODULES:
            found.append(trace.tb_frame)
        trace = trace.tb_next
    return found
