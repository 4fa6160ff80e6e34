"""The open part of a dialect: details, what the dialect has no field for, and unknown keys of a payload.

The details come first, then our keys; if the details use one of our keys, all of them nest under `details`.
Only what plain decoding would get wrong is written, and never the tool: who called it knows.
"""

from collections.abc import Callable, Collection, Set
from operator import attrgetter
from typing import Any, get_args

import msgspec
from msgspec import UNSET

from failwell import codes
from failwell.codes import TYPES, Outcome, Type, is_code
from failwell.failure import Failure, FieldProblem, Severity, seconds

_STATED = (
    "code",
    "retry_after",
    "severity",
    "suggestion",
    "actions",
    "fields",
    "http_status",
    "docs_url",
    "id",
    "extra",
)
_FLAGS = ("recoverable", "retryable", "outcome", "kind")
_CONTAINERS = frozenset((tuple, dict))  # that say nothing when they are empty
_stated = attrgetter(*_STATED)
_flags = attrgetter(*_FLAGS)
KEYS = frozenset((*_STATED, *_FLAGS, "type", "message", "details", "tool", "action"))
"""Every key that may stand in an open part beside the details."""


def write_open_part(
    failure: Failure,
    code: str | None,
    type_: Type | None,
    *,
    said: Collection[str],
    also: dict[str, Any] | None = None,
    keys: Set[str] = KEYS,
) -> dict[str, Any]:
    """Return the open part for a failure.

    *code* and *type_* are what decoding knows from elsewhere, *said* are the fields that the dialect states elsewhere,
    *also* is what it keeps here in a form of its own, and *keys* are those that would not be taken for a detail.
    """
    ours = dict(also) if also else {}
    derived = codes.derive(code, type_)
    if derived.type != failure.type:
        ours["type"] = failure.type
        derived = codes.derive(code, failure.type)
    for name, value in zip(_STATED, _stated(failure), strict=True):
        if value is not None and (value or type(value) not in _CONTAINERS) and name not in said:
            ours[name] = msgspec.to_builtins(value) if name == "fields" else value
    flags, follows = _flags(failure), _flags(derived)
    if flags != follows:
        for name, value, follow in zip(_FLAGS, flags, follows, strict=True):
            if value != follow and name not in said:
                ours[name] = value
    details = failure.details
    if not details:
        return ours
    return {**details, **ours} if keys.isdisjoint(details) else {"details": details, **ours}


def read_open_part(part: dict[str, Any] | None, *, keys: Set[str] = KEYS) -> dict[str, Any]:
    """Return the fields of a failure that an open part states, its details among them.

    A key of ours with a value that cannot be ours is a detail. What only the failure itself can tell, such as whether
    a text is one of its choices, `checked` finds out.
    """
    if not part or not isinstance(part, dict):
        return {}
    found: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for key, value in part.items():
        if key in keys and type(value) in _KINDS[key]:
            found[key] = value
        else:
            details[key] = value
    if "actions" in found or "fields" in found:
        for key, reader in (("fields", _problems), ("actions", _names)):
            if key in found and (read_value := reader(found.pop(key))) is not UNSET:
                found[key] = read_value
            elif key in part and key not in found:
                details[key] = part[key]
    if details:
        nested = details.get("details") if len(details) == 1 else None
        found["details"] = nested if isinstance(nested, dict) else details
    return found


def checked_details(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with those that a failure would refuse moved to the details."""
    found: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    for key, value in values.items():
        read_value = _READERS[key](value) if key in _READERS and value is not None else value
        if read_value is UNSET:
            refused[key] = value
        else:
            found[key] = read_value
    if refused:
        found["details"] = {**values.get("details", {}), **refused}
    return found


def problem_from(item: dict[str, Any]) -> FieldProblem | None:
    """Return a field problem from its JSON form, without what is not in the right form; None if it has no path."""
    if not isinstance(item, dict) or not isinstance(item.get("path"), str) or not item["path"]:
        return None
    values: dict[str, Any] = {"path": item["path"]}
    for name in ("message", "kind", "expected", "did_you_mean"):
        if isinstance(item.get(name), str):
            values[name] = item[name]
    if isinstance(item.get("required"), bool):
        values["required"] = item["required"]
    if isinstance(item.get("options"), list | tuple):
        values["options"] = tuple(item["options"])
    return FieldProblem(**values, sent=item.get("sent", UNSET))


def text_at(value: Any) -> Any:
    """Return a text that is not empty, or UNSET."""
    return value if isinstance(value, str) and value.strip() else UNSET


def delay_at(value: Any) -> Any:
    """Return a delay in seconds, or UNSET."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return UNSET
    found = seconds(value)
    return UNSET if found is None else found


def code_at(value: Any) -> Any:
    """Return a text that can be a code, or UNSET."""
    return value if isinstance(value, str) and is_code(value) else UNSET


def status_at(value: Any) -> Any:
    """Return an HTTP status, or UNSET."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599 else UNSET


def _one_of(choices: Collection[Any]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, str) and value in choices else UNSET


def _names(value: list[Any]) -> Any:
    return tuple(value) if all(isinstance(name, str) for name in value) else UNSET


class _Problems(msgspec.Struct):
    """Field problems as msgspec converts them fast: what it knows of a struct it keeps, of a tuple it does not."""

    fields: tuple[FieldProblem, ...]


def _problems(value: list[Any]) -> Any:
    try:
        return msgspec.convert({"fields": value}, _Problems).fields
    except msgspec.ValidationError:
        problems = [problem_from(item) for item in value]
        return UNSET if None in problems else tuple(problems)


_TEXT, _FLAG = frozenset((str,)), frozenset((bool,))
_KINDS: dict[str, frozenset[type]] = {
    **dict.fromkeys(("code", "severity", "suggestion", "tool", "action", "docs_url", "id", "type", "outcome"), _TEXT),
    **dict.fromkeys(("kind", "message"), _TEXT),
    "recoverable": _FLAG,
    "retryable": _FLAG | {type(None)},
    "retry_after": frozenset((int, float)),
    "http_status": frozenset((int,)),
    "actions": frozenset((list,)),
    "fields": frozenset((list,)),
    "extra": frozenset((dict,)),
    "details": frozenset(),
    "validation_errors": frozenset(),
    "all_errors": frozenset(),
}
_READERS: dict[str, Callable[[Any], Any]] = {
    "code": code_at,
    "retry_after": delay_at,
    "severity": _one_of(get_args(Severity)),
    "suggestion": text_at,
    "tool": text_at,
    "action": text_at,
    "http_status": status_at,
    "docs_url": text_at,
    "id": text_at,
    "type": _one_of(TYPES),
    "outcome": _one_of(get_args(Outcome)),
    "kind": text_at,
    "message": text_at,
}


def with_extra(extra: dict[str, Any], own: Set[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what of *extra* stands at the top, and what goes into the open part because a key is taken."""
    if not extra:
        return extra, None
    return (extra, None) if own.isdisjoint(extra) else ({}, {"extra": extra})


def split_extra(payload: dict[str, Any], values: dict[str, Any], *, message: str, own: Set[str]) -> Failure:
    """Return the failure with these values, whatever else the payload holds kept as extra."""
    if not payload.keys() <= own:
        unknown = {key: value for key, value in payload.items() if key not in own}
        values["extra"] = {**unknown, **values.get("extra", {})}
    return read_failure(values, message)


def read_failure(values: dict[str, Any], message: str) -> Failure:
    """Return a failure read from a payload: its code in canonical spelling, its message never empty."""
    if "message" not in values:
        values["message"] = message
    try:
        return _built(values)
    except (ValueError, TypeError):
        return _built(_with_message(checked_details(values)))


def _built(values: dict[str, Any]) -> Failure:
    code = values.get("code")
    if code is not None:
        values["code"] = codes.canonical_code(code, values.get("tool"))
    return Failure(origin="read", **values)


def _with_message(values: dict[str, Any]) -> dict[str, Any]:
    details = values.get("details", {})
    if not str(details.get("message", "-")).strip():  # refused because it was blank
        values["details"] = {key: value for key, value in details.items() if key != "message"}
    code = values.get("code")
    title = codes.title_of(code, codes.derive(code, values.get("type")).type)
    return {**values, "message": values.get("message") or f"{title}."}
