"""The whole failure as a JSON object, with the version of this form: what our `_meta` key holds."""

from typing import Any

import msgspec

from failwell.dialects import open_part
from failwell.dialects.extras import read_failure
from failwell.failure import Failure

META_KEY = "dev.failwell/failure"
RETRY_KEY = "dev.failwell/retry"
VERSION = 1

_NAMES = frozenset(Failure.__struct_fields__)
_KNOWN = _NAMES | {"v"}
_ORIGINS = ("declared", "mapped", "read", "inferred")


def write(failure: Failure) -> dict[str, Any]:
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


def read(value: dict[str, Any] | None) -> Failure | None:
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
    rest = {key: item for key, item in value.items() if key in open_part.KEYS and key not in ("message", "details")}
    values = open_part.read(rest)
    values.pop("details", None)
    if isinstance(details, dict):
        values["details"] = details
    unknown = {key: item for key, item in value.items() if key not in _NAMES and key != "v"}
    if unknown:
        values["extra"] = {**unknown, **values.get("extra", {})}
    failure = read_failure(values, message)
    confidence = value.get("confidence")
    if value.get("origin") in _ORIGINS:
        is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
        return failure.replace(origin=value["origin"], confidence=confidence if is_number else None)
    return failure
