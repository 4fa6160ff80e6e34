"""Results of the mcp SDK that carry a failure: the application's side of a failed call."""

from typing import Any, cast

from failwell.client import Answer
from failwell.dialects import whole
from failwell.encoding import encode
from failwell.failure import Failure
from failwell.integrations.mcp_client_errors import Useless

try:
    from mcp.types import CallToolResult
    from pydantic import PrivateAttr
except ImportError as missing:
    raise ImportError("this needs mcp 1.21.2 or newer: pip install 'failwell[mcp]'") from missing

FALLBACK_KEY = "dev.failwell/fallback"
REPAIR_KEY = "dev.failwell/repair"


class FailedResult(CallToolResult):
    """A failed call, where the SDK's own result is due: one text for the model, the failure for the application."""

    _failure: Failure = PrivateAttr(default=cast(Failure, None))  # a default would be copied for every result
    _raw: Any = PrivateAttr(default=None)

    @property
    def failure(self) -> Failure:
        """What went wrong."""
        return self._failure

    @property
    def raw(self) -> Any:
        """What the last try ended with, untouched: the server's result or an exception; None if none was made."""
        return self._raw

    @property
    def is_fallback(self) -> bool:
        """Whether the content is what a fallback gave, and not the failure itself."""
        return False


class FallbackResult(FailedResult):
    """What a fallback gave in place of a tool that failed: no error for the model, but never the tool's own result."""

    @property
    def is_fallback(self) -> bool:
        """Whether the content is what a fallback gave, and not the failure itself."""
        return True


def result_of(answer: Answer) -> Any:
    """Return an answer as a result of the SDK. A success is the very object that the SDK returned."""
    failure = answer.failure
    if failure is None:
        return answer.result if answer.repaired is None else _noted(answer)
    if answer.is_fallback:
        return _made(FallbackResult, _fallback_wire(answer, failure), answer, failure)
    if failure.severity == "warning" and isinstance(answer.result, CallToolResult) and not _is_flagged(answer.result):
        return answer.result
    wire = encode(failure, attempts=answer.attempts if answer.attempts > 1 else None)
    wire["content"] = [_text(answer.text)]
    wire["isError"] = True
    wire["_meta"] = {**_meta(answer.result), **wire["_meta"]}
    return _made(FailedResult, wire, answer, failure)


def _made(cls: type[FailedResult], wire: dict[str, Any], answer: Answer, failure: Failure) -> FailedResult:
    made: Any = cls.model_validate(wire)
    last = answer.exception if answer.is_fallback or answer.result is None else answer.result
    made._failure = failure
    made._raw = last.raw if isinstance(last, FailedResult | Useless) else last
    return cast(FailedResult, made)


def _noted(answer: Answer) -> Any:
    """Return a success that needed corrected arguments, with a note of what was corrected, but not of the values."""
    result = answer.result
    if answer.repaired is None or not isinstance(result, CallToolResult):
        return result
    changes = [{"path": change.path, "reason": change.reason} for change in answer.repaired.changes]
    return result.model_copy(update={"meta": {**_meta(result), REPAIR_KEY: {"changes": changes}}})


def _fallback_wire(answer: Answer, failure: Failure) -> dict[str, Any]:
    value = answer.result
    content = [_text(answer.shown)]
    if isinstance(value, CallToolResult):
        content = [_text(answer.note), *value.model_dump(mode="json", by_alias=True, exclude_none=True)["content"]]
    meta = {FALLBACK_KEY: encode(failure)["_meta"][whole.META_KEY]}
    return {"content": content, "isError": False, "_meta": meta}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _meta(result: Any) -> dict[str, Any]:
    return dict(getattr(result, "meta", None) or {})


def _is_flagged(result: CallToolResult) -> bool:
    fields = type(result).model_fields
    return bool(getattr(result, "is_error" if "is_error" in fields else "isError"))
