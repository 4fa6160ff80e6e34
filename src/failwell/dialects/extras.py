"""What a payload held that we do not know: kept in `Failure.extra`, written back at the top of a JSON object."""

from collections.abc import Set
from typing import Any

from failwell import catalog
from failwell.dialects import open_part
from failwell.failure import Failure


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
        return _built(_with_message(open_part.checked(values)))


def _built(values: dict[str, Any]) -> Failure:
    code = values.get("code")
    if code is not None:
        values["code"] = catalog.canonical_code(code, values.get("tool"))
    return Failure(origin="read", **values)


def _with_message(values: dict[str, Any]) -> dict[str, Any]:
    details = values.get("details", {})
    if not str(details.get("message", "-")).strip():  # refused because it was blank
        values["details"] = {key: value for key, value in details.items() if key != "message"}
    code = values.get("code")
    title = catalog.title_of(code, catalog.derive(code, values.get("type")).type)
    return {**values, "message": values.get("message") or f"{title}."}
