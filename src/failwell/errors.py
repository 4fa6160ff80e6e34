"""What tool authors raise or return: exceptions named for what happened, each carrying one `Failure`.

    ToolFailure
    ├── NotFound                the thing asked for does not exist
    │   └── Gone                it existed and was removed
    ├── Conflict                the current state does not allow it
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

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Never, Self

from msgspec import UNSET, UnsetType

from failwell import codes
from failwell._spelling import closest, names_slips, refuse_misspelt
from failwell.codes import Outcome, Type
from failwell.failure import (
    Failure,
    FieldProblem,
    Severity,
    as_tuple,
    missing_field,
    missing_field_message,
    with_graver_outcome,
)

_CLASS_ATTRIBUTES = (
    "type", "code", "recoverable", "retryable", "outcome", "severity", "suggestion", "http_status", "docs_url", "kind",
)  # fmt: skip
_KEYWORDS = (
    *_CLASS_ATTRIBUTES, "actions", "details", "fields", "retry_after", "tool", "action", "id",
)  # fmt: skip
_OWN_CLASSES = "failwell.errors"  # their names on the wire follow from code and type
_CLASS_VALUES = frozenset(_CLASS_ATTRIBUTES) - {"kind"}
_LONGEST_NAME = 80
_MOST_SLIPS = 2


class ToolFailure(Exception):
    """A tool call failed in a way the caller can act on.

    Give a sentence, or a whole `Failure`. What you leave out comes from the class, then from the code's row, then
    from the type. A guard, a protected server or a proxy, which know the tool, add the next step in words.
    """

    type: ClassVar[Type | None] = None
    code: ClassVar[str | None] = None
    recoverable: ClassVar[bool | None] = None
    retryable: ClassVar[bool | UnsetType | None] = UNSET
    outcome: ClassVar[Outcome | None] = None
    severity: ClassVar[Severity | None] = None
    suggestion: ClassVar[str | None] = None
    http_status: ClassVar[int | None] = None
    docs_url: ClassVar[str | None] = None
    kind: ClassVar[str | None] = None

    failure: Failure

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _refuse_misspelt(cls)
        if not _CLASS_VALUES.isdisjoint(vars(cls)):
            try:
                Failure(message=cls.__name__, **cls._from_class(None))
            except (TypeError, ValueError) as exc:
                raise type(exc)(f"{cls.__name__}: {exc}") from None
        if "kind" not in cls.__dict__ and cls.__module__ != _OWN_CLASSES:
            cls.kind = cls.__name__

    def __init__(
        self,
        what: str | Failure,
        /,
        *,
        code: str | None = None,
        suggestion: str | None = None,
        actions: Iterable[str] = (),
        details: Mapping[str, Any] | None = None,
        fields: Iterable[FieldProblem] = (),
        retry_after: float | None = None,
        recoverable: bool | None = None,
        retryable: bool | UnsetType | None = UNSET,
        outcome: Outcome | None = None,
        severity: Severity | None = None,
        tool: str | None = None,
        action: str | None = None,
        http_status: int | None = None,
        docs_url: str | None = None,
        id: str | None = None,
        type: Type | None = None,
        kind: str | None = None,
        **misspelt: Never,
    ) -> None:
        if misspelt:
            refuse_misspelt(self.__class__.__name__, misspelt, _KEYWORDS)
        given: dict[str, Any] = {
            "code": code,
            "suggestion": suggestion,
            "actions": actions if isinstance(actions, str) else tuple(actions),
            "details": dict(details) if details is not None and isinstance(details, Mapping) else details,
            "fields": tuple(fields),
            "retry_after": retry_after,
            "recoverable": recoverable,
            "outcome": outcome,
            "severity": severity,
            "tool": tool,
            "action": action,
            "http_status": http_status,
            "docs_url": docs_url,
            "id": id,
            "type": type,
            "kind": kind,
        }
        given = {name: value for name, value in given.items() if value is not None and value != () and value != {}}
        if retryable is not UNSET:
            given["retryable"] = retryable
        if isinstance(what, Failure):
            self.failure = what.replace(**given) if given else what
        else:
            self.failure = _new_failure(what, self._from_class(code) | given)
        super().__init__(self.failure.message)

    @classmethod
    def _from_class(cls, code: str | None) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name in _CLASS_ATTRIBUTES:
            value = getattr(cls, name)
            if value is not None and value is not UNSET:
                values[name] = value
        if code is not None and code != cls.code and codes.get(code) is not None:
            values.pop("outcome", None)  # a code that is given says itself what it means for the effect
        if cls.type is None and cls.kind is not None and codes.type_of(code or cls.code) is None:
            of_kind = codes.type_of_kind(cls.kind)
            if of_kind is not None:
                values["type"] = of_kind
        return values

    def __str__(self) -> str:
        return self.failure.message

    def __repr__(self) -> str:
        code = f", code={self.failure.code!r}" if self.failure.code else ""
        return f"{self.__class__.__name__}({self.failure.message!r}{code})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.__class__, self.failure, dict(self.__dict__))


def _new_failure(message: str, values: dict[str, Any]) -> Failure:
    """Return a failure; without words of its own it says what its code says, as a tool must not fail to fail."""
    if isinstance(message, str) and not message.strip():
        derived = codes.derive(values.get("code"), values.get("type"))
        message = f"{codes.title_of(values.get('code'), derived.type)}."
    return Failure(message=message, **values)


# Short names are left out: too many others resemble them.
_MISSPELT = ("recoverable", "retryable", "outcome", "severity", "suggestion", "http_status", "docs_url")


def _refuse_misspelt(cls: type) -> None:
    """Refuse a class attribute that is nearly one of ours and so would be ignored."""
    for name, value in vars(cls).items():
        if name.startswith("_") or callable(value) or isinstance(value, property | classmethod | staticmethod):
            continue
        meant = closest(name, _MISSPELT, most=1) if not hasattr(ToolFailure, name) else ()
        if meant and abs(len(name) - len(meant[0])) <= _MOST_SLIPS:
            raise TypeError(f"{cls.__name__} has no attribute {name!r}; did you mean {meant[0]!r}?")


def _rebuilt(cls: type[ToolFailure], failure: Failure, state: dict[str, Any]) -> ToolFailure:
    # Past __init__: a subclass may take other arguments.
    exc = cls.__new__(cls, failure.message)
    exc.args = (failure.message,)
    exc.__dict__.update(state)
    return exc


class NotFound(ToolFailure):
    """The thing asked for does not exist."""

    type = "NOT_FOUND"
    code = "NOT_FOUND"

    @classmethod
    def of(cls, what: str, name: object, **more: Any) -> Self:
        """Return the failure for a *what* (task, file, user) called *name* that does not exist."""
        return cls(_named(what, name, "does not exist", more), **more)


class Gone(NotFound):
    """It existed but was removed."""

    code = "GONE"


class Conflict(ToolFailure):
    """The current state does not allow it."""

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
    """It is in use by someone else."""

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
    """The input can't be parsed."""

    code = "PARSE_ERROR"


class Denied(ToolFailure):
    """The caller may not do this."""

    type = "PERMISSION"
    code = "FORBIDDEN"


class Unauthenticated(Denied):
    """The caller is not known: credentials are missing or wrong."""

    code = "UNAUTHORIZED"


class QuotaExhausted(Denied):
    """The caller's quota is used up, and waiting does not help."""

    code = "QUOTA_EXHAUSTED"


class Temporary(ToolFailure):
    """It may succeed later."""

    type = "TRANSIENT"


class RateLimited(Temporary):
    """Too many requests."""

    code = "RATE_LIMITED"


class TimedOut(Temporary):
    """It took too long; it is unknown how far it got."""

    code = "TIMEOUT"
    kind = "TimeoutError"


class NetworkFailure(Temporary):
    """The network failed; it is unknown whether the call took effect, unless *outcome* or *code* says so."""

    code = "CONNECTION_FAILED"
    kind = "NetworkError"
    outcome = "unknown"


class Unavailable(Temporary):
    """A service is down for the moment."""

    code = "SERVICE_UNAVAILABLE"


class BadGateway(Temporary):
    """A service behind this one failed."""

    code = "BAD_GATEWAY"


class SendFailed(Temporary):
    """A message could not be sent; it is unknown whether it went out."""

    code = "SEND_FAILED"


class Busy(Temporary):
    """The server is overloaded; the call was not started."""

    code = "SERVER_BUSY"


class Internal(ToolFailure):
    """The tool is broken."""

    type = "INTERNAL"
    code = "INTERNAL_ERROR"


def quoted(value: object) -> str:
    """Return a value that a caller sent as short quoted text, safe inside a sentence."""
    text = " ".join((value if isinstance(value, str) else str(value)).split())
    short = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    return "'" + short.replace("'", "\\'") + "'"


def _named(what: str, name: object, happened: str, more: dict[str, Any]) -> str:
    """Return the sentence about a thing and its name; both go into the details of *more* too."""
    more["details"] = {"resource": what, "resource_id": name, **(more.get("details") or {})}
    return f"{what[:1].upper()}{what[1:]} {quoted(name)} {happened}."


@names_slips
def error(message: str, code: str | None = None) -> Failure:
    """Return a failure that has only a message and, if you like, a code."""
    return Failure(message=message, code=code)


def required(field: str) -> Failure:
    """Return the failure of a call without a required field; it says how to fix the call."""
    return Failure(
        code="MISSING_REQUIRED_FIELD",
        message=missing_field_message(field),
        suggestion=f'Provide the "{field}" parameter and retry.',
        fields=(missing_field(field),),
    )


@names_slips
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
    row = codes.get(code)
    return Failure(
        code=code,
        message=message or f"{row.title if row else code}.",
        suggestion=suggestion,
        actions=as_tuple("actions", actions),
        severity=severity,
        details=dict(details or {}),
        retry_after=retry_after,
    )


# What is noted on exceptions that pass through.

_OUTCOME_MARK = "__failwell_outcome__"
_LONGEST_CHAIN = 20


def mark_outcome(exc: BaseException, outcome: Outcome) -> None:
    """Note on the exception of a last try what came of all tries."""
    BaseException.__setattr__(exc, _OUTCOME_MARK, outcome)  # the class's own `__setattr__` may refuse


def with_marked_outcome(failure: Failure, exc: BaseException) -> Failure:
    """Return the failure that an exception means with what was noted on it, its members or what it was raised from.

    What an author raised instead of what a try ended with stands.
    """
    for found in exception_chain(exc):
        if issubclass(type(found), ToolFailure):
            break
        failure = with_graver_outcome(failure, notes_on(found).get(_OUTCOME_MARK))
    return failure


def notes_on(exc: BaseException) -> dict[str, Any]:
    """Return what is noted on an exception, whatever its class makes of attributes."""
    found: dict[str, Any] = BaseException.__getattribute__(exc, "__dict__")
    return found


def exception_chain(exc: BaseException) -> Iterator[BaseException]:
    """Yield an exception, those of its group and what they were raised from."""
    waiting = [exc]
    for _ in range(_LONGEST_CHAIN):
        if not waiting:
            return
        found = waiting.pop()
        yield found
        waiting += _members(found)[:_LONGEST_CHAIN]
        before = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        if before is not None:
            waiting.append(before)


def _members(exc: BaseException) -> tuple[BaseException, ...]:
    return getattr(exc, "exceptions", ()) if issubclass(type(exc), BaseExceptionGroup) else ()
