"""Results that say how often the call was tried, so that nobody further out retries it again."""

import dataclasses
from typing import Any, TypeVar, cast

from failwell.dialects import whole
from failwell.json_types import is_object

T = TypeVar("T")


def with_attempts(result: T, attempts: int) -> T:
    """Return a copy of a result, wire-shaped or an SDK's, that says so; one without a place for it as it is."""
    try:
        return cast(T, _annotated(result, {"attempts": attempts}))
    except Exception:  # an object that does not like to be copied
        return result


def _annotated(result: Any, told: dict[str, int]) -> Any:
    if is_object(result):
        if is_object(inner := result.get("result")) and "jsonrpc" in result:
            return {**result, "result": _annotated(inner, told)}
        return {**result, "_meta": _with(result.get("_meta"), told)} if "content" in result else result
    return _annotated_object(result, told)


def _annotated_object(given: object, told: dict[str, int]) -> Any:
    cls, result = type(given), cast(Any, given)
    if "meta" in getattr(cls, "model_fields", ()):
        return result.model_copy(update={"meta": _with(result.meta, told)})
    if "meta" in getattr(cls, "__dataclass_fields__", ()):
        return dataclasses.replace(result, meta=_with(result.meta, told))
    return result


def _with(meta: dict[str, Any] | None, told: dict[str, int]) -> dict[str, Any]:
    return {**(meta or {}), whole.RETRY_KEY: told}
