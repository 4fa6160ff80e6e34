"""`encode`: a failure as a wire-shaped MCP result."""

import inspect
import logging
from collections.abc import Collection
from typing import Any

from failwell import dialects
from failwell.dialects import compact, json_text, whole
from failwell.dialects.wire import Wire
from failwell.errors import ToolFailure
from failwell.failure import Failure
from failwell.outgoing import canonical
from failwell.suggest import did_you_mean

_log = logging.getLogger("failwell")


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
    goes out and the reason is logged.

    Args:
        failure: the failure, or the exception that carries it.
        dialect: how the text is written.
        structured: put the error into `structuredContent` too. Only for tools without an output schema.
        output_schema: the tool has an output schema, so that even a warning must be flagged as an error.
        attempts: how often the call was tried, if somebody retried it; nobody retries it again then.
        settings: what the dialect takes, such as envelope's `clock` and `version`.

    Raises:
        ValueError: there is no such dialect.
        TypeError: *failure* is not a failure, or the dialect does not take a setting.
    """
    writer = dialects.get(dialect)
    if isinstance(failure, ToolFailure):
        failure = failure.failure
    if not isinstance(failure, Failure):
        raise TypeError(f"encode takes a Failure or a ToolFailure, not {type(failure).__name__}")
    if settings:
        check_settings(dialect, settings)
    try:
        safe = canonical(failure)
        wire = writer.encode(safe, **settings)
    except Exception:
        _log.exception("a failure could not be encoded; a minimal one goes out")
        safe = canonical(_minimal(failure))
        wire = writer.encode(safe)
    return _result(safe, wire, structured=structured, output_schema=output_schema, attempts=attempts)


def _result(
    failure: Failure, wire: Wire, *, structured: bool, output_schema: bool, attempts: int | None
) -> dict[str, Any]:
    meta = {**wire.meta, whole.META_KEY: whole.write(failure)}
    if attempts is not None:
        meta[whole.RETRY_KEY] = {"attempts": attempts}
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": wire.text}],
        "isError": wire.is_error or output_schema,
        "_meta": meta,
    }
    if structured and not output_schema:
        text = wire.text if wire.text.startswith("{") else compact.encode(failure).text
        result["structuredContent"] = json_text.parse(text)
    return result


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
    taken = list(inspect.signature(dialects.get(dialect).encode).parameters)[1:]
    for name in settings:
        if name not in taken:
            choices = f"it takes {', '.join(taken)}" if taken else "it takes none"
            raise TypeError(f"the dialect {dialect} has no setting {name!r}: {choices}{did_you_mean(name, taken)}")
