"""Failures in one call, for handlers that return them instead of raising."""

from collections.abc import Iterable, Mapping
from typing import Any

from failwell import catalog
from failwell.failure import Failure, Severity, as_tuple, missing_field, missing_field_message


def error(message: str, code: str | None = None) -> Failure:
    """Return a failure with nothing but a message, and a code if there is one."""
    return Failure(message=message, code=code)


def required(field: str) -> Failure:
    """Return the failure of a call that lacks a required field, and how to mend it."""
    return Failure(
        code="MISSING_REQUIRED_FIELD",
        message=missing_field_message(field),
        suggestion=f'Provide the "{field}" parameter and retry.',
        fields=(missing_field(field),),
    )


def tool_error(
    code: str,
    *,
    message: str | None = None,
    suggestion: str | None = None,
    actions: Iterable[str] = (),
    severity: Severity = "error",
    details: Mapping[str, Any] | None = None,
    retry_after: float | None = None,
) -> Failure:
    """Return a failure that says how to recover. The code may be any name; a catalog code brings its defaults."""
    row = catalog.get(code)
    return Failure(
        code=code,
        message=message or f"{row.title if row else code}.",
        suggestion=suggestion,
        actions=as_tuple("actions", actions),
        severity=severity,
        details=dict(details or {}),
        retry_after=retry_after,
    )
