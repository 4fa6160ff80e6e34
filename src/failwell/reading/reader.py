"""`read`: the failure in anything a tool call can end with."""

import re
import time
from collections.abc import Iterator
from typing import Any, overload

from failwell import codes, dialects
from failwell._json import is_object, parse_object, write_json
from failwell._log import log
from failwell.dialects import _meta, _xml
from failwell.dialects._placement import META_KEY, RETRY_KEY, encode, read_whole
from failwell.dialects._wire import Wire
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.reading import flat_text, shapes
from failwell.reading.evidence import Context
from failwell.reading.flat_text import TextReading
from failwell.reading.result import Incoming, take_apart
from failwell.reading.shapes import from_rpc, from_shape, in_rpc_error, wrapped
from failwell.result import Err

# How SDKs begin the text of an error that a tool wrote itself.
_PREFIX = re.compile(
    r"(?:Error (?:executing|calling) tool [^\n:]{1,200}: |MCP error -?\d{1,6}: |(?:Tool)?Error: )(?=\s*[{<])"
)
# Exceptions of clients and frameworks whose text is the server's text.
_TEXT_CARRIERS = frozenset(
    (
        ("fastmcp", "ToolError"),
        ("mcp", "ToolError"),
        ("pydantic_ai", "ModelRetry"),
        ("pydantic_ai", "ToolFailed"),
        ("langchain_core", "ToolException"),
        ("agent_framework", "ToolExecutionException"),
        ("anthropic", "ToolError"),
    )
)


@overload
def read(
    what: BaseException,
    *,
    tool: str | None = ...,
    arguments: Any = ...,
    input_schema: Any = ...,
    annotations: Any = ...,
    dialect: str | None = ...,
    unflagged: bool = ...,
    now: float | None = ...,
) -> Failure: ...


@overload
def read(
    what: Any,
    *,
    tool: str | None = ...,
    arguments: Any = ...,
    input_schema: Any = ...,
    annotations: Any = ...,
    dialect: str | None = ...,
    unflagged: bool = ...,
    now: float | None = ...,
) -> Failure | None: ...


def read(
    what: Any,
    *,
    tool: str | None = None,
    arguments: Any = None,
    input_schema: Any = None,
    annotations: Any = None,
    dialect: str | None = None,
    unflagged: bool = False,
    now: float | None = None,
) -> Failure | None:
    """Return the failure in a result, a JSON-RPC message, an exception or a text; None if it is not a failure.

    With `isError` false only our own `_meta` key counts, unless the caller knows better.

    Args:
        what: an SDK's result object, a wire-shaped dict, a JSON-RPC response or error, an exception, a text.
        tool: the tool that was called.
        arguments: what it was called with.
        input_schema: the tool's input schema.
        annotations: the tool's annotations, such as `readOnlyHint`. They never change what is read, so that the
            outcome of a failure that was inferred stays unknown; `decide` uses them.
        dialect: what the server is known to speak; its exact shapes count even if `isError` is false.
        unflagged: look for failures in results that are not flagged, in looser shapes and flat text too.
        now: the time in seconds since the epoch that moments in a payload are compared with.

    Raises:
        ValueError: there is no such dialect. Nothing that *what* holds makes it raise.
    """
    reading = explain(
        what,
        tool=tool,
        arguments=arguments,
        input_schema=input_schema,
        annotations=annotations,
        dialect=dialect,
        unflagged=unflagged,
        now=now,
    )
    return reading.failure if reading else None


def explain(
    what: Any,
    *,
    tool: str | None = None,
    arguments: Any = None,
    input_schema: Any = None,
    annotations: Any = None,
    dialect: str | None = None,
    unflagged: bool = False,
    now: float | None = None,
) -> TextReading | None:
    """Return what `read` returns together with the rule that gave it: None for a failure that carried structure.

    Raises:
        ValueError: there is no such dialect.
    """
    spoken = dialects.get(dialect) if dialect is not None else None
    tool = tool if isinstance(tool, str) else None
    context = Context(tool, arguments, input_schema, annotations)
    try:
        reading = _read(what, spoken, unflagged=unflagged, now=now, context=context)
    except Exception:
        log.exception("a payload could not be read")
        reading = flat_text.verdict_on("", Context(tool)) if _is_flagged(what) else None
    if reading is None or tool is None or reading.failure.tool is not None:
        return reading
    failure = reading.failure
    code = failure.code and codes.canonical_code(failure.code, tool)
    changes = {"tool": tool} if code == failure.code else {"tool": tool, "code": code}
    return TextReading(failure.replace(**changes), reading.rule)


def convert(payload: Any, to: str = "compact", **how: Any) -> dict[str, Any]:
    """Return a failure of any form as a wire-shaped result in another dialect. *how* is what `read` takes.

    Raises:
        ValueError: the payload is not a failure, or there is no such dialect.
    """
    dialects.get(to)
    failure = read(payload, **how)
    if failure is None:
        raise ValueError("nothing to convert: the payload is not a failure")
    return encode(failure, to)


def _read(
    what: Any, spoken: dialects.Dialect | None, *, unflagged: bool, now: float | None, context: Context
) -> TextReading | None:
    if isinstance(what, Err):
        what = what.failure
    if isinstance(what, Failure):
        return TextReading(what)
    if isinstance(what, BaseException):
        return _from_exception(what, spoken, now=now, context=context)
    if is_object(what) and (failure := _whole(what)):
        return TextReading(failure)
    incoming = take_apart(what)
    if incoming is None:
        return None
    if failure := read_whole(incoming.meta.get(META_KEY)):
        return TextReading(failure)
    if incoming.flag is False and not unflagged:
        failure = _first(_spoken(spoken, incoming)) if spoken else None
        return TextReading(failure) if failure else None
    if failure := _first(_structured(incoming, spoken, now=time.time() if now is None else now)):
        return TextReading(failure)
    if incoming.rpc_error is not None:
        return from_rpc(incoming.rpc_error, context)
    text = "\n".join(incoming.texts)
    if incoming.flag is False:
        return flat_text.search_text(text, context)
    if incoming.flag is None and incoming.payload is not None:
        return flat_text.search_text(write_json(incoming.payload), context) if unflagged else None
    return flat_text.verdict_on(text, context)


def _whole(result: dict[str, Any]) -> Failure | None:
    """Return the failure under our key, where a result has it; nothing else needs to be looked at then."""
    stated = result.get("_meta")
    if not is_object(stated) or META_KEY not in stated or "jsonrpc" in result:
        return None
    return read_whole(stated[META_KEY]) if isinstance(result.get("content"), list) else None


def _structured(incoming: Incoming, spoken: dialects.Dialect | None, *, now: float) -> Iterator[Failure | None]:
    """Yield what each way of reading finds, in the order in which they are trusted."""
    text = incoming.texts[0] if incoming.texts else ""
    if incoming.meta:
        yield shapes.from_tool_failure(incoming.meta.get(shapes.TOOL_FAILURE_KEY), text, now=now)
    if spoken:
        yield from _spoken(spoken, incoming)
    if incoming.meta:
        yield _meta.decode(Wire(text, True, incoming.meta))
    if incoming.rpc_error is not None:
        yield in_rpc_error(incoming.rpc_error)
    for text in incoming.texts:
        text = _unprefixed(text)
        if "<" in text:
            yield _xml.decode(Wire(text))
        payload = parse_object(text)
        if payload is not None:
            yield from_shape(payload)
    for payload in (incoming.payload, incoming.structured):
        if is_object(payload):
            yield from_shape(payload)


def _spoken(spoken: dialects.Dialect, incoming: Incoming) -> Iterator[Failure | None]:
    """Yield what the dialect that the server speaks finds; a result wrapped in a text says itself whether it failed."""
    for text in incoming.texts:
        yield spoken.decode(Wire(text, incoming.flag is not False, incoming.meta))
        payload = parse_object(text)
        if payload is not None:
            yield wrapped(payload, 0)
    if incoming.payload is not None:
        yield spoken.decode(Wire(write_json(incoming.payload)))


def _from_exception(
    exc: BaseException, spoken: dialects.Dialect | None, *, now: float | None, context: Context
) -> TextReading:
    leaf = exc if isinstance(exc, ToolFailure) else _only(exc)
    if isinstance(leaf, ToolFailure):
        return TextReading(leaf.failure)
    error = getattr(leaf, "error", None)
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    if isinstance(code, int) and isinstance(message, str):
        received = {"code": code, "message": message, "data": getattr(error, "data", None)}
        stated = in_rpc_error(received)
        return TextReading(stated) if stated else from_rpc(received, context)
    if any((cls.__module__.partition(".")[0], cls.__name__) in _TEXT_CARRIERS for cls in type(leaf).__mro__):
        result = {"content": [{"text": str(leaf)}], "isError": True}
        found = _read(result, spoken, unflagged=False, now=now, context=context)
        if found is not None:
            return found
    from failwell.exceptions.engine import from_exception  # rule tables are loaded when they are needed

    return TextReading(from_exception(exc))


def _only(exc: BaseException) -> BaseException:
    """Return the one exception in a group of one, however deep."""
    inner: tuple[BaseException, ...] = getattr(exc, "exceptions", ())
    return _only(inner[0]) if _is_group(exc) and len(inner) == 1 else exc


def _is_group(exc: BaseException) -> bool:
    return isinstance(exc, BaseExceptionGroup)


def _unprefixed(text: str) -> str:
    match = _PREFIX.match(text[:300])
    return text[match.end() :] if match else text


def _first(candidates: Iterator[Failure | None]) -> Failure | None:
    return next((found for found in candidates if found is not None), None)


def _is_flagged(what: Any) -> bool:
    # Not by isinstance, which asks the object itself and so may raise.
    if issubclass(type(what), BaseException):
        return True
    return issubclass(type(what), dict) and dict[str, Any].get(what, "isError") is True


_PLAIN = (str, bytes, bytearray, list, tuple, int, float, type(None))


def returned_failure(value: Any) -> Failure | None:
    """Return the failure that a function returned: a `Failure`, an `Err`, or a result that says it is an error.

    A text or an object of the tool's own domain is a value, whatever it looks like.
    """
    if isinstance(value, Failure):
        return value
    if isinstance(value, Err):
        return value.failure
    return read(value) if _is_failed(_result_of(value)) else None


def attempts_below(value: Any) -> int:
    """Return how often a result was tried by whoever sent it, as it says itself; 0 if it does not say."""
    incoming = _result_of(value)
    told: dict[str, Any] | None = incoming.meta.get(RETRY_KEY) if incoming else None
    attempts = told.get("attempts") if isinstance(told, dict) else None
    return attempts if isinstance(attempts, int) else 0


def _result_of(value: Any) -> Incoming | None:
    try:
        return None if isinstance(value, _PLAIN) else take_apart(value)
    except Exception:  # an object that is no result and does not like to be looked at
        return None


def _is_failed(incoming: Incoming | None) -> bool:
    return incoming is not None and (incoming.flag is True or META_KEY in incoming.meta)
