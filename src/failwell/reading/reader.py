"""`read`: find the failure in anything that a tool call can return or raise."""

import time
from collections.abc import Iterator
from typing import Any, overload

from msgspec.structs import replace

from failwell import codes, dialects
from failwell._json import is_object, parse_object, write_json
from failwell._log import log
from failwell.dialects import _meta, _xml
from failwell.dialects._placement import META_KEY, RETRY_KEY, UNFLAGGED_KEY, encode, is_beside_success, read_whole
from failwell.dialects._wire import Wire
from failwell.errors import ToolFailure, with_marked_outcome
from failwell.failure import Failure, with_graver_outcome
from failwell.phrases.effects import tells_of_effect
from failwell.reading import flat_text, shapes
from failwell.reading.context import Context
from failwell.reading.flat_text import Reading, without_prefixes
from failwell.reading.raw_result import RawResult, own_error, parse_result
from failwell.reading.shapes import from_nested_result, from_places, from_rpc, from_rpc_data, from_shape
from failwell.result import Err

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
# A part of a result, and the failure that it holds as a whole.
_Found = tuple[str, Failure]
_Tried = tuple[str, Failure | None]


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
        dialect: the format that the server is known to use; its exact shapes count even if `isError` is false.
        unflagged: look for failures in results that are not flagged, in looser shapes and flat text too.
        now: the time in seconds since the epoch that moments in a payload are compared with.

    Raises:
        ValueError: there is no such dialect. Nothing in *what* makes it raise.
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
) -> Reading | None:
    """Return what `read` returns together with the rule that gave it: None for a failure that carried structure.

    Raises:
        ValueError: there is no such dialect.
    """
    known_dialect = dialects.get(dialect) if dialect is not None else None
    tool = tool if isinstance(tool, str) else None
    context = Context(tool, arguments, input_schema, annotations, now=now)
    try:
        reading = _read(what, known_dialect, unflagged=unflagged, now=now, context=context)
    except Exception:
        log.exception("a payload could not be read")
        reading = flat_text.read_error_text("", Context(tool)) if _is_flagged(what) else None
    if reading is None:
        return None
    if isinstance(what, BaseException):
        reading = replace(reading, failure=with_marked_outcome(reading.failure, what))
    if tool is None or reading.failure.tool is not None:
        return reading
    failure = reading.failure
    code = failure.code and codes.canonical_code(failure.code, tool)
    changes = {"tool": tool} if code == failure.code else {"tool": tool, "code": code}
    return replace(reading, failure=failure.replace(**changes))


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
    what: Any, known_dialect: dialects.Dialect | None, *, unflagged: bool, now: float | None, context: Context
) -> Reading | None:
    if isinstance(what, Err):
        what = what.failure
    if isinstance(what, Failure):
        return Reading(what)
    if isinstance(what, BaseException):
        return _from_exception(what, known_dialect, now=now, context=context)
    if is_object(what) and (failure := _whole(what)):
        return _after_all_tries(Reading(failure), what["_meta"])
    raw = parse_result(what)
    if raw is None:
        return None
    reading = _read_result(raw, known_dialect, unflagged=unflagged, now=now, context=context)
    return _after_all_tries(reading, raw.meta) if reading is not None and raw.meta else reading


def _after_all_tries(reading: Reading, meta: dict[str, Any]) -> Reading:
    """Return the failure of the last try with the outcome of all tries, which whoever retried noted beside it."""
    retry = meta.get(RETRY_KEY)
    if not is_object(retry):
        return reading
    failure = with_graver_outcome(reading.failure, retry.get("outcome"))
    return replace(reading, failure=failure, attempts=attempts_in(meta))


def _read_result(
    raw: RawResult, known_dialect: dialects.Dialect | None, *, unflagged: bool, now: float | None, context: Context
) -> Reading | None:
    if raw.meta and (failure := read_whole(raw.meta.get(META_KEY))):
        return Reading(failure)
    now = time.time() if now is None else now
    if raw.flag is False:
        if (known_dialect or raw.meta) and (
            found := _first(_declared(raw, known_dialect, now=now, context=context, unflagged=unflagged))
        ):
            return _whole_reading(found, context)
        return _read_unflagged(raw, now=now, context=context, unflagged=unflagged)
    if raw.flag is None and raw.payload is not None:
        if found := _first(_structured(raw, known_dialect, now=now, context=context)):
            return _whole_reading(found, context)
        return _read_unflagged(raw, now=now, context=context, unflagged=True)
    return _read_error(raw, known_dialect, now=now, context=context)


def _whole_reading(found: _Found, context: Context) -> Reading:
    place, failure = found
    return Reading(_specified(failure, context), place=place)


def _read_unflagged(raw: RawResult, *, now: float, context: Context, unflagged: bool) -> Reading | None:
    """Return the failure in a result that nobody flagged, if it surely is one."""
    if not (unflagged or (context.schema and context.is_known)):
        return None
    from failwell.reading.unflagged import find_proven_sign, find_sign  # loaded when it is needed

    sign = find_proven_sign(raw.texts, context)
    if sign is None and unflagged:
        sign = find_sign(raw.texts, raw.structured if raw.payload is None else raw.payload, context, raw.meta)
    if sign is None:
        return None
    reading = _read_error(raw, None, now=now, context=context)
    failure = reading.failure
    if sign.is_proven:
        failure = failure.replace(outcome="unknown")
    elif failure.origin == "inferred" and not failure.confidence:
        # That the tool reports an error is known, and nothing else.
        failure = failure.replace(code="TOOL_ERROR", retryable=None, confidence=_KNOWN_AS_ERROR)
    return replace(reading, failure=failure, sign=sign)


# That it is an error is sure; why is not, and less than half of these are the server's own fault.
_KNOWN_AS_ERROR = 0.4


def _read_error(raw: RawResult, known_dialect: dialects.Dialect | None, *, now: float, context: Context) -> Reading:
    """Return the failure in a result that is known to be one."""
    is_flat = known_dialect is None and _is_flat(raw)
    if not is_flat and (found := _first(_structured(raw, known_dialect, now=now, context=context))):
        return _whole_reading(found, context)
    if raw.rpc_error is not None:
        reading = from_rpc(raw.rpc_error, context, now=now)
    elif is_flat:
        reading = _from_text(raw, context)
    else:
        reading = from_places(raw, context, now=now) or _from_text(raw, context)
    failure = reading.failure
    if failure.outcome in _NO_EFFECT and (tells_of_effect(failure.message) or _is_of_a_program(failure, raw, context)):
        return replace(reading, failure=failure.replace(outcome="unknown"))
    return reading


def _is_flat(raw: RawResult) -> bool:
    """Return whether a result is text without anything that could be structure: most errors are."""
    if raw.meta or raw.structured is not None or raw.payload is not None or raw.rpc_error is not None:
        return False
    return not any("{" in text or "<" in text for text in raw.texts)


def _is_of_a_program(failure: Failure, raw: RawResult, context: Context) -> bool:
    """Return whether words come from a program that the caller wrote: what it did before it failed is not known."""
    is_refused = raw.rpc_error is not None or failure.code == "UNKNOWN_TOOL"
    if failure.origin != "inferred" or is_refused or (failure.type == "VALIDATION" and failure.fields):
        return False
    from failwell.schema.tool_names import runs_code  # only now: it takes milliseconds to load

    return runs_code(context.tool or "", context.arguments)


def _from_text(raw: RawResult, context: Context) -> Reading:
    text = "\n".join(raw.texts)
    payload = raw.structured if raw.payload is None else raw.payload
    if not text and payload is not None:
        text = write_json(payload)
    return flat_text.read_error_text(text, context)


_NO_EFFECT = ("not_executed", "rejected")
_GENERIC = frozenset(("TOOL_ERROR", "TOOL_EXECUTION_ERROR", "UNKNOWN_ERROR", "GENERIC_ERROR", "ERROR", "FAILED"))
"""Codes that say nothing but that a tool failed."""


def _specified(failure: Failure, context: Context) -> Failure:
    """Return a failure whose code says nothing with what its sentence says, if that is sure."""
    if (failure.code or "").upper() not in _GENERIC or failure.fields or failure.retryable is not None:
        return failure
    worded = flat_text.read_error_text(failure.message, context).failure
    if (worded.confidence or 0.0) < flat_text.CERTAIN:
        return failure
    kept = {name: value for name in _KEPT if (value := getattr(failure, name)) not in (None, (), {})}
    return worded.replace(**kept)


_KEPT = (
    "message",
    "details",
    "suggestion",
    "actions",
    "tool",
    "action",
    "retry_after",
    "severity",
    "docs_url",
    "id",
    "extra",
)


def _declared(
    raw: RawResult, known_dialect: dialects.Dialect | None, *, now: float, context: Context, unflagged: bool
) -> Iterator[_Tried]:
    """Yield what says of itself that it is a failure: a dialect that the server speaks, an entry in `_meta`."""
    if known_dialect:
        yield from _from_known_dialect(known_dialect, raw, context)
    if raw.meta and unflagged:
        text = raw.texts[0] if raw.texts else ""
        yield "_meta", read_whole(raw.meta.get(UNFLAGGED_KEY))
        yield "_meta", shapes.from_tool_failure(raw.meta.get(shapes.TOOL_FAILURE_KEY), text, now=now)
        yield "_meta", _from_meta(raw, text)


def _whole(result: dict[str, Any]) -> Failure | None:
    """Return the failure under our key, where a result has it; nothing else needs to be looked at then."""
    meta = result.get("_meta")
    if not is_object(meta) or META_KEY not in meta or "jsonrpc" in result:
        return None
    return read_whole(meta[META_KEY]) if isinstance(result.get("content"), list) else None


def _structured(
    raw: RawResult, known_dialect: dialects.Dialect | None, *, now: float, context: Context
) -> Iterator[_Tried]:
    """Yield what each way of reading finds, in the order in which they are trusted."""
    text = raw.texts[0] if raw.texts else ""
    if raw.meta:
        yield "_meta", shapes.from_tool_failure(raw.meta.get(shapes.TOOL_FAILURE_KEY), text, now=now)
    if known_dialect:
        yield from _from_known_dialect(known_dialect, raw, context)
    if raw.meta:
        yield "_meta", _from_meta(raw, text)
    if raw.rpc_error is not None:
        yield "error", from_rpc_data(raw.rpc_error, context)
    for number, text in enumerate(raw.texts):
        bare = without_prefixes(text)
        text = bare if bare.lstrip().startswith(("{", "<")) else text
        if "<" in text:
            yield f"content[{number}].text", _xml.decode(Wire(text))
        payload = parse_object(text)
        if payload is not None:
            yield f"content[{number}].text", from_shape(payload, context)
    for place, payload in (("", raw.payload), ("structuredContent", raw.structured)):
        if is_object(payload):
            yield place, from_shape(payload, context)


def _from_meta(raw: RawResult, text: str) -> Failure | None:
    return _meta.decode(Wire(text, True, raw.meta)) if own_error(raw.meta) is None else None


def _from_known_dialect(known_dialect: dialects.Dialect, raw: RawResult, context: Context) -> Iterator[_Tried]:
    """Yield what the dialect that the server speaks finds; a result inside a text says itself whether it failed."""
    for number, text in enumerate(raw.texts):
        yield f"content[{number}].text", known_dialect.decode(Wire(text, raw.flag is not False, raw.meta))
        payload = parse_object(text)
        if payload is not None:
            yield f"content[{number}].text", from_nested_result(payload, context)
    if raw.payload is not None:
        yield "", known_dialect.decode(Wire(write_json(raw.payload)))


def _from_exception(
    exc: BaseException, known_dialect: dialects.Dialect | None, *, now: float | None, context: Context
) -> Reading:
    leaf = exc if isinstance(exc, ToolFailure) else _only(exc)
    if isinstance(leaf, ToolFailure):
        return Reading(leaf.failure)
    error = getattr(leaf, "error", None)
    code, message = getattr(error, "code", None), getattr(error, "message", None)
    if isinstance(code, int) and isinstance(message, str):
        received = {"code": code, "message": message, "data": getattr(error, "data", None)}
        failure = from_rpc_data(received, context)
        return Reading(failure) if failure else from_rpc(received, context, now=now)
    if any((cls.__module__.partition(".")[0], cls.__name__) in _TEXT_CARRIERS for cls in type(leaf).__mro__):
        result = {"content": [{"text": str(leaf)}], "isError": True}
        found = _read(result, known_dialect, unflagged=False, now=now, context=context)
        if found is not None:
            return found
    from failwell.exceptions.engine import from_exception  # rule tables are loaded when they are needed

    return Reading(from_exception(exc))


def _only(exc: BaseException) -> BaseException:
    """Return the one exception in a group of one, however deep."""
    inner: tuple[BaseException, ...] = getattr(exc, "exceptions", ())
    return _only(inner[0]) if _is_group(exc) and len(inner) == 1 else exc


def _is_group(exc: BaseException) -> bool:
    return isinstance(exc, BaseExceptionGroup)


def _first(candidates: Iterator[_Tried]) -> _Found | None:
    for place, failure in candidates:
        if failure is not None:
            return place, failure
    return None


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
    raw = _result_of(value)
    failure = read(value) if raw is not None and _is_failed(raw) else None
    is_success = failure is not None and raw is not None and raw.flag is not True and is_beside_success(failure)
    return None if is_success else failure


# Where agent frameworks keep what a tool call left for the application.
_CARRIERS = ("failure", "artifact", "custom_data", "meta", "_meta", "metadata", "result")
_DEEPEST_CARRIER = 4


def failure_of(result: object) -> Failure | None:
    """Return the failure that the result of a tool call carries, in whatever framework; None if it carries none.

    Takes a result of `wrap` or `install`, what fastmcp raises, a `ToolMessage` of LangChain, an item of OpenAI's
    agents, a tool result of Strands or of the wire. Nothing is guessed: other errors are for `read`.

    Args:
        result: what a call returned, or the exception that it raised.
    """
    return _carried(result, _DEEPEST_CARRIER)


def _carried(value: Any, depth: int) -> Failure | None:
    if isinstance(value, Failure):
        return value
    if value is None or depth == 0 or isinstance(value, str | bytes | int | float):
        return None
    if is_object(value):
        whole = read_whole(value.get(META_KEY))
        found = (value.get(name) for name in _CARRIERS)
        if whole is not None:
            return whole
    elif isinstance(value, Err | ToolFailure):
        return value.failure
    else:
        found = (_attribute(value, name) for name in _CARRIERS)
    return next((failure for one in found if (failure := _carried(one, depth - 1)) is not None), None)


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # a property of somebody else
        return None


def attempts_below(value: Any) -> int:
    """Return how often a result was tried by whoever sent it, as it says itself; 0 if it does not say."""
    raw = _result_of(value)
    return attempts_in(raw.meta) if raw else 0


def attempts_in(meta: dict[str, Any]) -> int:
    """Return how often a result was tried by whoever sent it, by its `_meta`; 0 if that does not say."""
    retries = meta.get(RETRY_KEY)
    attempts = retries.get("attempts") if is_object(retries) else None
    return attempts if isinstance(attempts, int) else 0


def _result_of(value: Any) -> RawResult | None:
    try:
        return None if isinstance(value, _PLAIN) else parse_result(value)
    except Exception:  # an object that is no result and does not like to be looked at
        return None


def _is_failed(raw: RawResult) -> bool:
    return raw.flag is True or META_KEY in raw.meta
