"""Where a failure goes in an MCP result: one text block in a dialect, the whole failure in `_meta`, and the flag."""

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

import msgspec
from msgspec import structs

from failwell._json import parse_json
from failwell._log import log
from failwell._spelling import did_you_mean, names_slips
from failwell.advice import is_guess
from failwell.dialects import _compact, _meta
from failwell.dialects._open_part import KEYS, read_failure, read_open_part
from failwell.dialects._registry import get
from failwell.dialects._wire import Wire
from failwell.errors import ToolFailure
from failwell.failure import ORIGINS, Failure, FieldProblem, amended, is_certain, last_key, mentions
from failwell.redact.canonical import CleanMessage, RedactedFailure, canonical, without_secret_values

META_KEY = "dev.failwell/failure"
RETRY_KEY = "dev.failwell/retry"
UNFLAGGED_KEY = "dev.failwell/unflagged"
"""The key of a failure that the result calls a success: only who asks for such failures reads it."""
VERSION = 1

_NAMES = frozenset(Failure.__struct_fields__)
_KNOWN = _NAMES | {"v"}
_NO_SETTINGS: Mapping[str, Any] = {}


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

    Everything is redacted on the way. Never fails because of what a failure contains: if encoding breaks, a valid
    minimal error is sent and the reason is logged. A failure that was read from text without confidence is sent as
    that text alone.

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
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"encode takes a Failure or a ToolFailure, not {type(failure).__name__}")
    if settings:
        check_settings(dialect, settings)
    return write_result(
        failure, dialect, structured=structured, output_schema=output_schema, attempts=attempts, settings=settings
    )


def write_result(
    failure: Failure,
    dialect: str,
    *,
    cleaned: CleanMessage | None = None,
    words: str | None = None,
    structured: bool = False,
    output_schema: bool = False,
    attempts: int | None = None,
    settings: Mapping[str, Any] = _NO_SETTINGS,
) -> dict[str, Any]:
    """Return what `encode` returns, for settings that are known to be right; *cleaned* is what `canonical` takes.

    *words* are the server's own, redacted: where the text is the message, it is all of them.
    """
    writer = get(dialect)
    try:
        safe = worded = canonical(failure, cleaned)
        is_judged = not is_certain(safe)
        is_guessed = is_judged and is_guess(safe)
        if words and (is_guessed or writer is _meta):
            worded = structs.replace(safe, message=without_secret_values(words, failure))
        if is_guessed:
            wire, structured = _own_words(worded), False
        else:
            wire = writer.encode(_shown(worded, is_text=writer is _meta) if is_judged else worded, **settings)
        return result_of(safe, wire, structured=structured, output_schema=output_schema, attempts=attempts)
    except Exception:
        log.exception("a failure could not be encoded; a minimal one was sent instead")
    try:
        safe = canonical(_minimal(failure))
        return result_of(safe, writer.encode(safe), structured=False, output_schema=output_schema, attempts=attempts)
    except Exception:
        log.exception("that failed too; the agent was only told that the tool failed")
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


def _shown(failure: RedactedFailure, *, is_text: bool) -> RedactedFailure:
    """Return what the text states of a failure that was inferred from a server's words.

    Whether the call had no effect is a guess: a reader that gets no `_meta` would take it for the server's word, and
    make a call again that may not be. Which field the words are about, a model reads in the words; and so it does the
    hint that they give, if they are the text (*is_text*).
    """
    fields = tuple(problem for problem in failure.fields if not _is_said(problem, failure.message))
    is_guess = failure.retryable is not False and failure.outcome != "executed"
    outcome = "unknown" if is_guess else failure.outcome
    is_repeated = is_text and failure.suggestion is not None and failure.suggestion in failure.message
    suggestion = None if is_repeated else failure.suggestion
    if (fields, outcome, suggestion) == (failure.fields, failure.outcome, failure.suggestion):
        return failure
    return cast(RedactedFailure, amended(failure, fields=fields, outcome=outcome, suggestion=suggestion))


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


def check_settings(dialect: str, settings: Collection[str], *, others: Iterable[str] = ()) -> None:
    """Do nothing if the dialect takes all of these settings; *others* are those that may have been meant instead.

    Raises:
        ValueError: there is no such dialect.
        TypeError: it does not take one; the message names those it takes.
    """
    taken = list(inspect.signature(get(dialect).encode).parameters)[1:]
    for name in settings:
        if name not in taken:
            choices = f"it takes {', '.join(taken)}" if taken else "it takes none"
            raise TypeError(
                f"the dialect {dialect} has no setting {name!r}: {choices}{did_you_mean(name, [*taken, *others])}"
            )


class SuccessResult(dict[str, Any]):
    """A wire-shaped success, with the value that it was made of and the warning beside it.

    A protected server sends the value as it sends any other, so that its own schema and format hold.
    """

    def __init__(self, value: Any, wire: dict[str, Any], warning: Failure | None) -> None:
        super().__init__(wire)
        self.value = value
        self.warning = warning


@names_slips
def success(
    value: Any = None, *, structured: bool = False, warning: str | Failure | ToolFailure | None = None
) -> dict[str, Any]:
    """Return a wire-shaped success result for a value: text as it is, anything else as JSON.

    For a step that returns `Ok` or `Err` instead, see `succeed`.

    Args:
        value: what the tool found or did.
        structured: put a value that is an object into `structuredContent` too.
        warning: what the caller should know although the call succeeded: a sentence, or a failure, which gets severity
            `warning`. It follows the value in a text block of its own, and stands in `_meta` for programs.

    Raises:
        TypeError: the warning is something else.
    """
    wire: dict[str, Any] = {"content": [], "isError": False}
    if value is not None:
        text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
        wire["content"].append({"type": "text", "text": text})
    if structured and value is not None:
        plain = msgspec.json.decode(msgspec.json.encode(value, enc_hook=str))
        wire["structuredContent"] = plain if isinstance(plain, dict) else {"result": plain}
    beside = None if warning is None else _as_warning(warning)
    return SuccessResult(value, wire if beside is None else add_warning(wire, beside), beside)


def add_warning(wire: dict[str, Any], warning: Failure, dialect: str = "compact", **settings: Any) -> dict[str, Any]:
    """Return a wire-shaped success with a warning beside it: a text block in a dialect, and the whole in `_meta`."""
    said = encode(warning, dialect, **settings)
    meta = {**wire.get("_meta", {}), META_KEY: said["_meta"].get(META_KEY)}
    return {**wire, "content": [*wire["content"], *said["content"]], "_meta": meta}


def _as_warning(warning: str | Failure | ToolFailure) -> Failure:
    if isinstance(warning, ToolFailure):
        warning = warning.failure
    if isinstance(warning, str):
        warning = Failure(message=warning, retryable=False)
    if not isinstance(warning, Failure):
        raise TypeError(f"warning takes a sentence or a Failure, not {type(warning).__name__}")
    return warning.replace(severity="warning", outcome="executed")


def is_beside_success(failure: Failure) -> bool:
    """Return whether a failure is a warning about a call that did what it should."""
    return failure.severity == "warning" and failure.outcome == "executed"
