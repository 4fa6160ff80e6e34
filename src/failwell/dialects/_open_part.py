"""The open part of a dialect's payload: details, fields that the dialect lacks, and unknown keys.

The details come first, then our keys; if the details use one of our keys, all of them nest under `details`.
Only what plain decoding would get wrong is written, and never the tool: who called it knows.
"""

from collections.abc import Collection, Set
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET

from failwell import codes
from failwell.codes import Type
from failwell.failure import FIELDS, Failure, FieldProblem, with_corrections
from failwell.phrases.keys import states_retry

_SET = tuple(name for name, row in FIELDS.items() if row.open_part == "set")
_FOLLOWING = tuple(name for name, row in FIELDS.items() if row.open_part == "follows")
_is_text = str.__instancecheck__
_CONTAINERS = frozenset((tuple, dict))  # that say nothing when they are empty
_set_values = attrgetter(*_SET)
_following_values = attrgetter(*_FOLLOWING)
KEYS = frozenset(name for name, row in FIELDS.items() if row.open_part)
"""Every key that may stand in an open part beside the details."""

FIELD_KEYS = frozenset(("validation_errors", "all_errors"))
"""Keys of the envelope's open part: it reads them by itself."""

_JSON_TYPES: dict[str, frozenset[type]] = {
    **{name: frozenset(row.json) for name, row in FIELDS.items() if row.open_part},
    **dict.fromkeys(("details", *FIELD_KEYS), frozenset[type]()),  # whatever they hold, they are no single value
}


def write_open_part(
    failure: Failure,
    code: str | None,
    type_: Type | None,
    *,
    written: Collection[str],
    also: dict[str, Any] | None = None,
    keys: Set[str] = KEYS,
) -> dict[str, Any]:
    """Return the open part for a failure.

    *code* and *type_* are what decoding knows from elsewhere, *written* are the fields that the dialect writes
    elsewhere, *also* is what it keeps here in a form of its own, and *keys* are those that would not be taken for a
    detail.
    """
    ours = dict(also) if also else {}
    derived = codes.derive(code, type_)
    if derived.type != failure.type:
        ours["type"] = failure.type
        derived = codes.derive(code, failure.type)
    for name, value in zip(_SET, _set_values(failure), strict=True):
        if value is not None and (value or type(value) not in _CONTAINERS) and name not in written:
            ours[name] = msgspec.to_builtins(value) if name == "fields" else value
    values, expected = _following_values(failure), _following_values(with_corrections(derived, failure))
    if values != expected:
        for name, value, follows in zip(_FOLLOWING, values, expected, strict=True):
            if value != follows and name not in written:
                ours[name] = value
    details = failure.details
    if not details:
        return ours
    return {**details, **ours} if _is_free(details, keys) else {"details": details, **ours}


def read_open_part(part: dict[str, Any] | None, *, keys: Set[str] = KEYS) -> dict[str, Any]:
    """Return the fields of a failure that an open part states, its details among them.

    A key of ours with a value that cannot be ours is a detail. What only the failure itself can tell, such as whether
    a text is one of its choices, `read_failure` finds out.
    """
    if not part or not isinstance(part, dict):
        return {}
    found: dict[str, Any] = {}
    details: dict[str, Any] = {}
    for key, value in part.items():
        if key in keys and type(value) in _JSON_TYPES[key]:
            found[key] = value
        else:
            details[key] = value
    if "fields" in found and (problems := read_problems(found.pop("fields"))) is not UNSET:
        found["fields"] = problems
    elif "fields" in part:
        details["fields"] = part["fields"]
    if "actions" in found:
        names = found["actions"]
        if all(map(_is_text, names)):
            found["actions"] = tuple(names)
        else:
            details["actions"] = found.pop("actions")
    if details:
        nested = details.get("details") if len(details) == 1 else None
        found["details"] = nested if isinstance(nested, dict) else details
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


class _Problems(msgspec.Struct):
    """Field problems as msgspec converts them fast: what it knows of a struct it keeps, of a tuple it does not."""

    fields: tuple[FieldProblem, ...]


def read_problems(value: list[Any]) -> Any:
    """Return field problems from their JSON forms, or UNSET if one of them has no path."""
    try:
        return msgspec.convert({"fields": value}, _Problems).fields
    except msgspec.ValidationError:
        problems = [problem_from(item) for item in value]
        return UNSET if None in problems else tuple(problems)


def with_extra(extra: dict[str, Any], own: Set[str]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return what of *extra* stands at the top, and what goes into the open part because a key is taken."""
    if not extra:
        return extra, None
    return (extra, None) if _is_free(extra, own) else ({}, {"extra": extra})


def _is_free(part: dict[str, Any], taken: Set[str]) -> bool:
    """Return whether no key of a part would be taken for something else: one of *taken*, or a flag or a delay."""
    return taken.isdisjoint(part) and not any(states_retry(key) for key in part if isinstance(key, str))


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
        return _built(_with_message(_with_valid_values(values)))


def _built(values: dict[str, Any]) -> Failure:
    code = values.get("code")
    if code is not None:
        values["code"] = codes.canonical_code(code, values.get("tool"))
    values["origin"] = "read"
    return Failure(**values)


def _with_message(values: dict[str, Any]) -> dict[str, Any]:
    details = values.get("details", {})
    if not str(details.get("message", "-")).strip():  # refused because it was blank
        values["details"] = {key: value for key, value in details.items() if key != "message"}
    code = values.get("code")
    title = codes.title_of(code, codes.derive(code, values.get("type")).type)
    return {**values, "message": values.get("message") or f"{title}."}


def _with_valid_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with those that a failure would refuse moved to the details."""
    found: dict[str, Any] = {}
    refused: dict[str, Any] = {}
    for key, value in values.items():
        validate = FIELDS[key].valid
        valid = validate(value) if validate is not None and value is not None else value
        if valid is UNSET:
            refused[key] = value
        else:
            found[key] = valid
    if refused:
        found["details"] = {**values.get("details", {}), **refused}
    return found
