"""What tool authors raise: exceptions named for what happened, each carrying one `Failure`.

    ToolFailure
    ├── NotFound                the thing asked for does not exist
    │   └── Gone                it existed and was removed
    ├── Conflict                the present state stands against it
    │   ├── AlreadyExists
    │   ├── PreconditionFailed
    │   └── Locked
    ├── Invalid                 the input is wrong
    │   ├── MissingField
    │   ├── WrongType
    │   ├── WrongValue
    │   └── Unparsable
    ├── Denied                  the caller may not
    │   ├── Unauthenticated
    │   └── QuotaExhausted
    ├── Temporary               it may pass
    │   ├── RateLimited
    │   ├── TimedOut
    │   ├── NetworkFailure
    │   ├── Unavailable
    │   ├── BadGateway
    │   ├── SendFailed
    │   └── Busy
    └── Internal                the tool is broken

A subclass is a type of your own. Its behaviour comes from class attributes named like the fields of `Failure`.
"""

from typing import Any, Self

from failwell.failure import missing_field, missing_field_message
from failwell.tool_failure import ToolFailure as ToolFailure

_MOST_OF_A_NAME = 80


class NotFound(ToolFailure):
    """The thing asked for does not exist."""

    type = "NOT_FOUND"
    code = "NOT_FOUND"

    @classmethod
    def of(cls, what: str, name: object, **more: Any) -> Self:
        """Return the failure for a *what* (task, file, user) called *name* that does not exist."""
        return cls(_named(what, name, "does not exist", more), **more)


class Gone(NotFound):
    """It existed and was removed."""

    code = "GONE"


class Conflict(ToolFailure):
    """The present state stands against it."""

    type = "CONFLICT"
    code = "CONFLICT"


class AlreadyExists(Conflict):
    """There is one already."""

    code = "ALREADY_EXISTS"

    @classmethod
    def of(cls, what: str, name: object, **more: Any) -> Self:
        """Return the failure for a *what* (task, file, user) called *name* that exists already."""
        return cls(_named(what, name, "exists already", more), **more)


class PreconditionFailed(Conflict):
    """Something that must hold first does not."""

    code = "PRECONDITION_FAILED"


class Locked(Conflict):
    """Somebody else holds it."""

    code = "LOCKED"


class Invalid(ToolFailure):
    """The input is wrong."""

    type = "VALIDATION"
    code = "VALIDATION_FAILED"


class MissingField(Invalid):
    """A required field was not sent."""

    code = "MISSING_REQUIRED_FIELD"

    @classmethod
    def of(cls, field: str, **more: Any) -> Self:
        """Return the failure for a required field that was not sent."""
        return cls(missing_field_message(field), fields=(missing_field(field),), **more)


class WrongType(Invalid):
    """A field has the wrong type."""

    code = "INVALID_FIELD_TYPE"


class WrongValue(Invalid):
    """A field has a value that is not allowed."""

    code = "INVALID_FIELD_VALUE"


class Unparsable(Invalid):
    """The input is not in the format it should be."""

    code = "PARSE_ERROR"


class Denied(ToolFailure):
    """The caller may not do this."""

    type = "PERMISSION"
    code = "FORBIDDEN"


class Unauthenticated(Denied):
    """Nobody knows who the caller is."""

    code = "UNAUTHORIZED"


class QuotaExhausted(Denied):
    """The caller's quota is used up, and waiting does not help."""

    code = "QUOTA_EXHAUSTED"


class Temporary(ToolFailure):
    """It may pass."""

    type = "TRANSIENT"


class RateLimited(Temporary):
    """Too many requests."""

    code = "RATE_LIMITED"


class TimedOut(Temporary):
    """It took too long; nobody knows how far it got."""

    code = "TIMEOUT"
    kind = "TimeoutError"


class NetworkFailure(Temporary):
    """Something could not be reached."""

    code = "CONNECTION_FAILED"
    kind = "NetworkError"


class Unavailable(Temporary):
    """A service is down for the moment."""

    code = "SERVICE_UNAVAILABLE"


class BadGateway(Temporary):
    """A service behind this one failed."""

    code = "BAD_GATEWAY"


class SendFailed(Temporary):
    """A message could not be sent; nobody knows whether it went out."""

    code = "SEND_FAILED"


class Busy(Temporary):
    """The server is doing too much already; the call was not started."""

    code = "SERVER_BUSY"


class Internal(ToolFailure):
    """The tool is broken."""

    type = "INTERNAL"
    code = "INTERNAL_ERROR"


def quoted(value: object) -> str:
    """Return a value that a caller sent as short quoted text, safe inside a sentence."""
    text = " ".join((value if isinstance(value, str) else str(value)).split())
    short = text if len(text) <= _MOST_OF_A_NAME else text[: _MOST_OF_A_NAME - 1] + "…"
    return "'" + short.replace("'", "\\'") + "'"


def _named(what: str, name: object, happened: str, more: dict[str, Any]) -> str:
    """Return the sentence about a thing and its name; both go into the details of *more* too."""
    more["details"] = {"resource": what, "resource_id": name, **(more.get("details") or {})}
    return f"{what[:1].upper()}{what[1:]} {quoted(name)} {happened}."
