"""Where a failure stands on an MCP result: one text block in a dialect, the whole of it in `_meta`, the flag."""

import inspect
from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import structs

from failwell._json import parse_json
from failwell._log import log
from failwell._spelling import did_you_mean
from failwell.advice import is_guess
from failwell.dialects import _compact, _meta
from failwell.dialects._open_part import KEYS, read_failure, read_open_part
from failwell.dialects._registry import get
from failwell.dialects._wire import Wire
from failwell.errors import ToolFailure
from failwell.failure import ORIGINS, Failure, FieldProblem, is_certain, last_key, mentions
from failwell.redact.canonical import RedactedFailure, canonical

META_KEY = "dev.failwell/failure"
RETRY_KEY = "dev.failwell/retry"
VERSION = 1

_NAMES = frozenset(Failure.__struct_fields__)
_KNOWN = _NAMES | {"v"}


def write_whole(failure: RedactedFailure) -> dict[str, Any]:
    """Return a canonical failure as a JSON object."""
    built: dict[str, Any] = {"v": VERSION, **msgspec.to_builtins(failure)}
    if failure.actions:
        built["actions"] = list(failure.actions)
    if failure.fields:
        built["fields"] = list(built["fields"])
        for problem in built["fields"]:
            if "options" in problem:
                problem["options"] = list(problem["options"])
    return built


def read_whole(value: dict[str, Any] | None) -> Failure | None:
    """Return the failure in such an object, or None.

    A value in the wrong form is passed over, one that a later version added goes to `extra`.
    """
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return None
    if value.keys() <= _KNOWN:
        try:
            return msgspec.convert(value, Failure)
        except (msgspec.ValidationError, ValueError, TypeError):
            pass  # some value is in the wrong form
    return _read_leniently(value)


def _read_leniently(value: dict[str, Any]) -> Failure:
    message = value["message"]
    details = value.get("details")
    rest = {key: item for key, item in value.items() if key in KEYS and key not in ("message", "details")}
    values = read_open_part(rest)
    values.pop("details", None)
    if isinstance(details, dict):
        values["details"] = details
    unknown = {key: item for key, item in value.items() if key not in _NAMES and key != "v"}
    if unknown:
        values["extra"] = {**unknown, **values.get("extra", {})}
    failure = read_failure(values, message)
    confidence = value.get("confidence")
    if value.get("origin") in ORIGINS:
        is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        return failure.replace(origin=value["origin"], confidence=confidence if is_number else None)
    return failure


def encode(
    failure: Failure | ToolFailure,
    dialect: str = "compact",
    *,
    structured: bool = False,
    output_schema: bool = False,
    attempts: int | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Return a failure as a wire-shaped result: one text block, `isError`, and the whole failure in `_meta`.

    Everything is redacted on the way. Never fails for what a failure holds: if encoding breaks, a valid minimal error
    goes out and the reason is logged. Of what was read from text without confidence only that text is sent.

    Args:
        failure: the failure, or the exception that carries it.
        dialect: how the text is written.
        structured: put the error into `structuredContent` too. Only for tools without an output schema.
        output_schema: the tool has an output schema, so that even a warning must be flagged as an error.
        attempts: how often the call was tried, if it was retried; readers do not retry it again then.
        settings: what the dialect takes, such as envelope's `clock` and `version`.

    Raises:
        ValueError: there is no such dialect.
        TypeError: *failure* is not a failure, or the dialect does not take a setting.
    """
    writer = get(dialect)
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"encode takes a Failure or a ToolFailure, not {type(failure).__name__}")
    if settings:
        check_settings(dialect, settings)
    try:
        safe = canonical(failure)
        wire = _own_words(safe) if is_guess(safe) else writer.encode(_shown(safe), **settings)
        structured = structured and not is_guess(safe)
        return result_of(safe, wire, structured=structured, output_schema=output_schema, attempts=attempts)
    except Exception:
        log.exception("a failure could not be encoded; a minimal one goes out")
    try:
        safe = canonical(_minimal(failure))
        return result_of(safe, writer.encode(safe), structured=False, output_schema=output_schema, attempts=attempts)
    except Exception:
        log.exception("nor could that; what goes out says only that the tool failed")
    return {"content": [{"type": "text", "text": "The tool failed."}], "isError": True, "_meta": {}}


def result_of(
    failure: RedactedFailure,
    wire: Wire,
    *,
    structured: bool = False,
    output_schema: bool = False,
    attempts: int | None = None,
) -> dict[str, Any]:
    """Return a wire-shaped result that says of a failure what *wire* has, and the whole of it in `_meta`."""
    meta = {**wire.meta, META_KEY: write_whole(failure)}
    if attempts is not None:
        meta[RETRY_KEY] = {"attempts": attempts}
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": wire.text}],
        "isError": wire.is_error or output_schema,
        "_meta": meta,
    }
    if structured and not output_schema:
        text = wire.text if wire.text.startswith("{") else _compact.encode(failure).text
        result["structuredContent"] = parse_json(text)
    return result


def _own_words(failure: RedactedFailure) -> Wire:
    """Return a failure that was not understood in the words of the server, whatever the dialect: nothing is claimed."""
    return Wire(_meta.encode(failure).text)


def _shown(failure: RedactedFailure) -> RedactedFailure:
    """Return what the text states of a failure that was inferred from a server's words.

    Whether the call had no effect is a guess: a reader that gets no `_meta` would take it for the server's word, and
    make a call again that may not be. Which field the words are about, a model reads in the words.
    """
    if is_certain(failure):
        return failure
    fields = tuple(problem for problem in failure.fields if not _is_said(problem, failure.message))
    is_guess = failure.retryable is not False and failure.outcome != "executed"
    outcome = "unknown" if is_guess else failure.outcome
    return structs.replace(failure, fields=fields, outcome=outcome)


def _is_said(problem: FieldProblem, message: str) -> bool:
    """Return whether a message says what a problem says: the problem was read from it, or it names the field."""
    if problem.did_you_mean is not None and problem.did_you_mean not in message:
        return False
    is_proven = problem.kind is not None
    return not is_proven or mentions(message, last_key(problem.path))


def _minimal(failure: Failure) -> Failure:
    """Return what can be said of a failure that cannot be encoded: its type, code and flags."""
    return Failure(
        type=failure.type,
        code=failure.code,
        message=failure.message if isinstance(failure.message, str) else "The tool failed.",
        recoverable=failure.recoverable,
        retryable=failure.retryable,
        outcome=failure.outcome,
    )


def check_settings(dialect: str, settings: Collection[str]) -> None:
    """Do nothing if the dialect takes all of these settings.

    Raises:
        ValueError: there is no such dialect.
        TypeError: it does not take one; the message names those it takes.
    """
    taken = list(inspect.signature(get(dialect).encode).parameters)[1:]
    for name in settings:
        if name not in taken:
            choices = f"it takes {', '.join(taken)}" if taken else "it takes none"
            raise TypeError(f"the dialect {dialect} has no setting {name!r}: {choices}{did_you_mean(name, taken)}")
